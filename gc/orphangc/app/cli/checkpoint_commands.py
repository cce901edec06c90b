"""The commands that read single checkpoints: inspect, extract, declare, unclaimed."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from flinkstate.console import options as c
from flinkstate.tables.printing import InspectOutput, is_json, print_json, print_tables, show
from orphangc.app.cli.application import app
from orphangc.app.console import options as o
from orphangc.app.console.exit import complain
from orphangc.errors import ExitCode


@app.command(
    epilog="Example: orphangc inspect s3://bucket/checkpoints/JOB/chk-8"
    " --against s3://bucket/checkpoints/JOB/chk-7 --html chk-8.html"
)
def inspect(  # noqa: PLR0913 - one parameter an option
    *,
    checkpoints: Annotated[
        list[str], typer.Argument(help="Folders of checkpoints or savepoints, or _metadata files.")
    ],
    output: Annotated[
        InspectOutput | None,
        typer.Option(
            help="table (default on a terminal), tree, json (default elsewhere), or jsonl: one"
            " document per line."
        ),
    ] = None,
    tree: Annotated[bool, typer.Option("--tree", help="Same as --output tree.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write an HTML page to this file.")] = None,
    against: c.Against = None,
    rescale_to: c.RescaleTo = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="Look up every file: is it there, and as long as the checkpoint says?"
        ),
    ] = False,
    declarations: Annotated[
        Path | None,
        typer.Option(
            help="Declarations file: name the operators of a checkpoint before Flink 2.0 by it."
        ),
    ] = None,
    count_entries: Annotated[
        bool,
        typer.Option(
            "--count-entries",
            help="Count bytes and entries of each keyed state: from RocksDB's table files, or by"
            " reading a canonical savepoint whole.",
        ),
    ] = False,
    metadata_only: c.MetadataOnly = False,
    alias: o.AliasOption = None,
) -> None:
    """Show the operators, states and files of checkpoints and savepoints.

    Exit code 1: one cannot be read, lacks a file, or cannot be rescaled so. 4: that is unknown.
    """
    from flinkstate.commands.inspect_checkpoint import (
        Questions,
        inspect_checkpoints,
        show_checkpoints,
    )
    from orphangc.app.console.checkpoint_host import HOST
    from orphangc.app.render_checkpoint.checkpoint_html import write_page

    chosen = InspectOutput.TREE if tree else output
    chosen = chosen or (InspectOutput.TABLE if sys.stdout.isatty() else InspectOutput.JSON)
    questions = Questions(
        aliases=alias or (),
        reads_state=not metadata_only,
        against=against,
        rescale_to=rescale_to or (),
        verifies=verify,
        declarations=declarations,
        counts_entries=count_entries,
    )
    problems = show_checkpoints(
        inspect_checkpoints(checkpoints, questions, HOST),
        chosen,
        write_page=None if html is None else partial(write_page, html),
    )
    for _, line in problems:
        complain(line)
    if problems:
        raise typer.Exit(min(code for code, _ in problems))


@app.command(hidden=True)
def page_part(
    *, checkpoint: c.OneCheckpoint, config: o.ConfigFile, alias: o.AliasOption = None
) -> None:
    """Print what a checkpoint holds as a part of a page, for the daemon."""
    from orphangc.app.config.load import load_configuration
    from orphangc.app.render_checkpoint.checkpoint_html import page_part

    load_configuration(config)  # for its storage_options
    sys.stdout.write(page_part(checkpoint, alias or ()))


@app.command(
    epilog="Example: orphangc extract s3://bucket/checkpoints/JOB/chk-7"
    " --operator my-source --state SourceReaderState --out state-1"
)
def extract(
    *,
    checkpoint: c.OneCheckpoint,
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
    from orphangc.app.console.checkpoint_host import HOST

    index = extract_state(
        checkpoint,
        HOST,
        operator=operator,
        state=state,
        subtask=subtask,
        out=out,
        alias=alias or (),
    )
    show(output, index, lambda: extracted_tables(index))


@app.command(
    epilog="Example: orphangc declare s3://bucket/savepoints/savepoint-1 --out declarations.yaml"
)
def declare(
    *,
    checkpoint: c.OneCheckpoint,
    out: Annotated[Path, typer.Option(help="New file to write.")],
    alias: o.AliasOption = None,
) -> None:
    """Write the state declarations that a checkpoint implies; list what it does not record.

    The Flink plugin reads them: `ignore` drops a state only if declarations of that operator (by
    its id, uid or uid hash) were read and do not hold it; all other unclaimed state is reported
    and kept.
    """
    from flinkstate.commands.declare import declare_checkpoint
    from orphangc.app.console.checkpoint_host import HOST

    for remark in declare_checkpoint(checkpoint, HOST, out=out, alias=alias or ()):
        complain(f"not declared: {remark}")


@app.command(
    epilog="Example: orphangc unclaimed s3://bucket/savepoints/savepoint-1"
    " --declarations declarations.yaml --prune-to s3://bucket/savepoints/pruned-1"
)
def unclaimed(
    *,
    checkpoint: c.OneCheckpoint,
    declarations: Annotated[
        Path, typer.Option(help="Declarations file of the job's next version.")
    ],
    ignore_unclaimed_state: Annotated[
        bool,
        typer.Option("--ignore-unclaimed-state", help="Report unclaimed state, but exit 0."),
    ] = False,
    verify: Annotated[
        bool,
        typer.Option(help="Look up every file of the checkpoint first; exit 1 if one is missing."),
    ] = True,
    prune_to: Annotated[
        str | None,
        typer.Option(
            help="New folder for a copy of the checkpoint without the unclaimed state.",
            metavar="DIR",
        ),
    ] = None,
    alias: o.AliasOption = None,
    output: o.OutputOption = None,
) -> None:
    """Find state that the job's next version no longer declares, before a deployment.

    Exit code 5: unclaimed state found. 1: none found, but the checkpoint lacks a file. 4: some
    state names could not be read, or some files not looked up.
    """
    from flinkstate.commands.unclaimed import find_unclaimed
    from flinkstate.commands.unclaimed_tables import (
        comparison_document,
        comparison_tables,
        comparison_warnings,
    )
    from orphangc.app.console.checkpoint_host import HOST

    found = find_unclaimed(
        checkpoint,
        HOST,
        declarations=declarations,
        prune_to=prune_to,
        verifies=verify,
        alias=alias or (),
    )
    if is_json(output):
        print_json(comparison_document(found))
    else:
        print_tables(comparison_tables(found))
    for warning in comparison_warnings(found):
        complain(warning)
    code = found.exit_code(ignores_unclaimed=ignore_unclaimed_state)
    if code is not ExitCode.DONE:
        raise typer.Exit(code)
