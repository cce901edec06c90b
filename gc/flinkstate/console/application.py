"""The commands of ``flinkstate``: each about one checkpoint or savepoint, or a few."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from flinkstate.console import options as o
from flinkstate.console.exit import complain_as, run_to_exit
from flinkstate.console.streams import open_streams
from flinkstate.errors import ExitCode
from flinkstate.tables.printing import (
    InspectOutput,
    Output,
    is_json,
    print_json,
    print_tables,
    show,
)

if TYPE_CHECKING:
    from flinkstate.files.host import Host

# ruff: noqa: PLC0415 - each command loads only what it needs

complain = partial(complain_as, "flinkstate")

app = typer.Typer(
    name="flinkstate",
    help="Reads and writes checkpoints and savepoints of Apache Flink, without Flink.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Declarations = Annotated[Path, typer.Option(help="Declarations file of the job's next version.")]


def _host() -> Host:
    from flinkstate.files.fsspec_folder import FSSPEC

    return FSSPEC


@app.command(epilog="Example: flinkstate inspect s3://bucket/checkpoints/JOB/chk-8 --output tree")
def inspect(
    *,
    checkpoints: Annotated[
        list[str], typer.Argument(help="Folders of checkpoints or savepoints, or _metadata files.")
    ],
    output: Annotated[
        InspectOutput | None,
        typer.Option(help="table (default on a terminal), tree, json (default elsewhere), jsonl."),
    ] = None,
    against: o.Against = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Look up every file: is it there, and as long?")
    ] = False,
    declarations: Annotated[
        Path | None, typer.Option(help="Declarations file: name operators by it.")
    ] = None,
    count_entries: Annotated[
        bool, typer.Option("--count-entries", help="Count bytes and entries of each keyed state.")
    ] = False,
    metadata_only: o.MetadataOnly = False,
    alias: o.AliasOption = None,
) -> None:
    """Show the operators, states and files of checkpoints and savepoints.

    Exit code 1: one cannot be read, or lacks a file. 4: that is unknown.
    """
    _inspect(
        checkpoints,
        output,
        aliases=alias or (),
        reads_state=not metadata_only,
        against=against,
        verifies=verify,
        declarations=declarations,
        counts_entries=count_entries,
    )


@app.command(epilog="Example: flinkstate rescale s3://bucket/savepoints/savepoint-1 --to 8")
def rescale(
    *,
    checkpoint: o.OneCheckpoint,
    to: Annotated[
        list[str],
        typer.Option(
            help="New parallelism: of every operator, or of the one with this id, uid or name."
            " Repeatable.",
            metavar="[OPERATOR=]N",
        ),
    ],
    output: Annotated[InspectOutput | None, typer.Option(help="As of inspect.")] = None,
) -> None:
    """Show which state each new subtask is given. Exit code 1: Flink refuses it. 4: unknown."""
    _inspect([checkpoint], output, reads_state=False, rescale_to=to)


def _inspect(checkpoints: list[str], output: InspectOutput | None, **questions: Any) -> None:
    from flinkstate.commands.inspect_checkpoint import (
        Questions,
        inspect_checkpoints,
        show_checkpoints,
    )

    default = InspectOutput.TABLE if sys.stdout.isatty() else InspectOutput.JSON
    inspected = inspect_checkpoints(checkpoints, Questions(**questions), _host())
    problems = show_checkpoints(inspected, output or default)
    for _, line in problems:
        complain(line)
    if problems:
        raise typer.Exit(min(code for code, _ in problems))


@app.command(
    epilog="Example: flinkstate extract s3://bucket/checkpoints/JOB/chk-7"
    " --operator my-source --state SourceReaderState --out state-1"
)
def extract(
    *,
    checkpoint: o.OneCheckpoint,
    operator: Annotated[str, typer.Option(help="Id, uid or name of the operator.")],
    state: Annotated[str, typer.Option(help="Name of the operator state.")],
    out: Annotated[Path, typer.Option(help="New folder for the bytes.")],
    subtask: Annotated[
        int | None, typer.Option(min=0, help="Write only the state of this subtask.")
    ] = None,
    alias: o.AliasOption = None,
    output: o.OutputOption = None,
) -> None:
    """Write the raw bytes of one operator state, one file per partition, and an index."""
    from flinkstate.commands.extract import extract_state, extracted_tables

    index = extract_state(
        checkpoint,
        _host(),
        operator=operator,
        state=state,
        subtask=subtask,
        out=out,
        alias=alias or (),
    )
    show(output, index, lambda: extracted_tables(index))


@app.command(
    epilog="Example: flinkstate declare s3://bucket/savepoints/savepoint-1 --out declarations.yaml"
)
def declare(
    *,
    checkpoint: o.OneCheckpoint,
    out: Annotated[Path, typer.Option(help="New file to write.")],
    alias: o.AliasOption = None,
) -> None:
    """Write the state declarations that a checkpoint implies; list what it does not record."""
    from flinkstate.commands.declare import declare_checkpoint

    for remark in declare_checkpoint(checkpoint, _host(), out=out, alias=alias or ()):
        complain(f"not declared: {remark}")


@app.command(
    epilog="Example: flinkstate unclaimed s3://bucket/savepoints/savepoint-1"
    " --declarations declarations.yaml"
)
def unclaimed(
    *,
    checkpoint: o.OneCheckpoint,
    declarations: Declarations,
    ignore_unclaimed_state: Annotated[
        bool,
        typer.Option("--ignore-unclaimed-state", help="Report unclaimed state, but exit 0."),
    ] = False,
    alias: o.AliasOption = None,
    output: o.OutputOption = None,
) -> None:
    """Find state that the job's next version no longer declares, before a deployment.

    Exit code 5: unclaimed state found. 1: none found, but the checkpoint lacks a file. 4: some
    state names could not be read, or some files not looked up.
    """
    _claims(
        checkpoint,
        output,
        declarations=declarations,
        prune_to=None,
        alias=alias,
        ignores=ignore_unclaimed_state,
    )


@app.command(
    epilog="Example: flinkstate prune s3://bucket/savepoints/savepoint-1"
    " --declarations declarations.yaml --to s3://bucket/savepoints/pruned-1"
)
def prune(
    *,
    checkpoint: o.OneCheckpoint,
    declarations: Declarations,
    to: Annotated[str, typer.Option(help="New folder for the copy.", metavar="DIR")],
    alias: o.AliasOption = None,
    output: o.OutputOption = None,
) -> None:
    """Write a copy of a checkpoint without the state that the job's next version does not declare.

    Exit code 1: nothing is written, for the checkpoint cannot be read, or lacks a file.
    """
    _claims(checkpoint, output, declarations=declarations, prune_to=to, alias=alias, ignores=True)


def _claims(
    checkpoint: str,
    output: Output | None,
    *,
    declarations: Path,
    prune_to: str | None,
    alias: list[str] | None,
    ignores: bool,
) -> None:
    from flinkstate.commands.unclaimed import find_unclaimed
    from flinkstate.commands.unclaimed_tables import (
        comparison_document,
        comparison_tables,
        comparison_warnings,
    )

    found = find_unclaimed(
        checkpoint, _host(), declarations=declarations, prune_to=prune_to, alias=alias or ()
    )
    if is_json(output):
        print_json(comparison_document(found))
    else:
        print_tables(comparison_tables(found))
    for warning in comparison_warnings(found):
        complain(warning)
    code = found.exit_code(ignores_unclaimed=ignores)
    if code is not ExitCode.DONE:
        raise typer.Exit(code)


def main() -> NoReturn:
    """Run the command line and exit with its code; no error of ours shows a traceback."""
    open_streams()
    run_to_exit(app, complain)
