"""The commands of ``flinkstate``: each about one checkpoint or savepoint, or a few."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from flinkstate.console import options as o
from flinkstate.console.exit import complain_as, open_streams, run_to_exit
from flinkstate.console.shared_commands import CheckpointCommands
from flinkstate.tables.printing import InspectOutput

if TYPE_CHECKING:
    from flinkstate.files.host import Host

# ruff: noqa: PLC0415 - each command loads only what it needs

complain = partial(complain_as, "flinkstate")

app = typer.Typer(
    name="flinkstate",
    cls=o.CommandGroup,
    help="Reads and writes checkpoints and savepoints of Apache Flink, without Flink.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _host() -> Host:
    from flinkstate.files.fsspec_folder import FSSPEC

    return FSSPEC


commands = CheckpointCommands("flinkstate", _host)


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
    commands.show_inspected(
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
    commands.show_inspected([checkpoint], output, reads_state=False, rescale_to=to)


commands.add_to(app)


@app.command(
    epilog="Example: flinkstate prune s3://bucket/savepoints/savepoint-1"
    " --declarations declarations.yaml --to s3://bucket/savepoints/pruned-1"
)
def prune(
    *,
    checkpoint: o.OneCheckpoint,
    declarations: o.DeclarationsFile,
    to: Annotated[str, typer.Option(help="New folder for the copy.", metavar="DIR")],
    alias: o.AliasOption = None,
    output: o.OutputOption = None,
) -> None:
    """Write a copy of a checkpoint without the state that the job's next version does not declare.

    Exit code 1: nothing is written, for the checkpoint cannot be read, or lacks a file.
    """
    commands.unclaimed(
        checkpoint=checkpoint,
        declarations=declarations,
        ignore_unclaimed_state=True,
        prune_to=to,
        alias=alias,
        output=output,
    )


def main() -> NoReturn:
    """Run the command line and exit with its code; no error of ours shows a traceback."""
    open_streams()
    run_to_exit(app, complain)
