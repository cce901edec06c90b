"""The commands about the world that a deletion rests on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orphangc.errors import SettingsError
from orphangc.shell import options as o
from orphangc.shell.cli.application import world_commands
from orphangc.shell.cli.showing import is_json, print_json
from orphangc.shell.lazily import lazily

if TYPE_CHECKING:
    from orphangc.shell.world import acknowledging
else:  # each command loads what it needs alone
    acknowledging = lazily("orphangc.shell.world.acknowledging")

_FACT = 2
"""Names that state one fact: its condition, and what it is about."""


@world_commands.command(
    "acknowledge",
    epilog="Example: orphangc world acknowledge s3://bucket/checkpoints place_lost"
    " s3://other/savepoints",
)
def world_acknowledge(
    *,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="[ROOT] CONDITION WHAT",
            help="Storage root (none with --config), then the fact as the plan's message names it.",
        ),
    ],
    config: Annotated[
        Path | None, typer.Option(help="Configuration file whose storage roots it blocks.")
    ] = None,
    state: o.State = None,
    output: o.OutputOption = None,
) -> None:
    """Record that one fact of earlier cycles is over for good, so that it blocks no more."""
    if len(names) != _FACT + (config is None):
        raise SettingsError("give ROOT CONDITION WHAT, or --config FILE CONDITION WHAT")
    root = None if config is not None else names[0]
    condition, what = names[-_FACT:]
    given = acknowledging.acknowledge(condition, what, root=root, config=config, state=state)
    if is_json(output):
        print_json([each.model_dump(mode="json") for each in given])
    else:
        for each in given:
            typer.echo(f"acknowledged: {each.condition} {each.what}, by {each.by}")
