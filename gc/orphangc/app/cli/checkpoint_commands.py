"""The commands that read single checkpoints: inspect, extract, declare, unclaimed."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flinkstate.console import options as c
from flinkstate.console.shared_commands import CheckpointCommands
from flinkstate.tables.printing import InspectOutput
from orphangc.app.cli.application import app
from orphangc.app.console import options as o
from orphangc.app.console.options import Values, gathered

if TYPE_CHECKING:
    from flinkstate.files.host import Host


_InspectOutput = Annotated[
    InspectOutput | None,
    typer.Option(
        help="table (default on a terminal), tree, json (default elsewhere), or jsonl: one"
        " document per line."
    ),
]
_Verify = Annotated[
    bool,
    typer.Option(
        "--verify", help="Look up every file: is it there, and as long as the checkpoint says?"
    ),
]
_Declarations = Annotated[
    Path | None,
    typer.Option(
        help="Declarations file: name the operators of a checkpoint before Flink 2.0 by it."
    ),
]
_CountEntries = Annotated[
    bool,
    typer.Option(
        "--count-entries",
        help="Count bytes and entries of each keyed state: from RocksDB's table files, or by"
        " reading a canonical savepoint whole.",
    ),
]


@app.command(
    epilog="Example: orphangc inspect s3://bucket/checkpoints/JOB/chk-8"
    " --against s3://bucket/checkpoints/JOB/chk-7 --html chk-8.html"
)
@gathered(
    "asked",
    against=c.Against,
    rescale_to=c.RescaleTo,
    verifies=_Verify,
    declarations=_Declarations,
    counts_entries=_CountEntries,
    metadata_only=c.MetadataOnly,
)
def inspect(
    *,
    checkpoints: Annotated[
        list[str], typer.Argument(help="Folders of checkpoints or savepoints, or _metadata files.")
    ],
    output: _InspectOutput = None,
    tree: Annotated[bool, typer.Option("--tree", help="Same as --output tree.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write an HTML page to this file.")] = None,
    asked: Values,
    alias: o.AliasOption = None,
) -> None:
    """Show the operators, states and files of checkpoints and savepoints.

    Exit code 1: one cannot be read, lacks a file, or cannot be rescaled so. 4: that is unknown.
    """
    from orphangc.app.render_checkpoint.checkpoint_html import write_page

    _COMMANDS.show_inspected(
        checkpoints,
        InspectOutput.TREE if tree else output,
        write_page=None if html is None else partial(write_page, html),
        aliases=alias or (),
        reads_state=not asked.pop("metadata_only"),
        rescale_to=asked.pop("rescale_to") or (),
        **asked,
    )


@app.command(hidden=True)
def page_part(
    *, checkpoint: c.OneCheckpoint, config: o.ConfigFile, alias: o.AliasOption = None
) -> None:
    """Print what a checkpoint holds as a part of a page, for the daemon."""
    from orphangc.app.config.load import load_configuration
    from orphangc.app.render_checkpoint.checkpoint_html import page_part

    load_configuration(config)  # for its storage_options
    sys.stdout.write(page_part(checkpoint, alias or ()))


def _host() -> Host:
    from orphangc.app.console.checkpoint_host import HOST

    return HOST


_COMMANDS = CheckpointCommands("orphangc", _host)
_COMMANDS.add_to(app)
