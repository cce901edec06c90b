"""The commands about the world: everything that a deletion relies on."""

from pathlib import Path
from typing import Annotated

import typer

from flinkstate.tables.printing import is_json, print_json, show
from flinkstate.text.shown_text import visible
from orphangc.app.cli.application import world_commands
from orphangc.app.console import options as o
from orphangc.app.console.options import SEARCHED, Values, gathered
from orphangc.errors import SettingsError

_FACT = 2
"""Number of names that state one fact: its condition, and its subject."""


@world_commands.command(
    "show",
    epilog="Example: orphangc world s3://bucket/checkpoints --extra-root s3://bucket/savepoints",
)
@gathered(
    "settings",
    *(*SEARCHED, "registry", "flink_rest", "kubernetes_ha", "zookeeper_ha", "alias", "pin"),
    "state",
)
def world_show(
    *,
    root: Annotated[str | None, typer.Argument(metavar="[ROOT]", help="Storage root.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="Configuration file; shows each of its storage roots.")
    ] = None,
    settings: Values,
    output: o.OutputOption = None,
) -> None:
    """Show every place that is searched or named, its contents, and what changed since earlier
    cycles.
    """
    from orphangc.app.commands.world.show import (
        document_of_call,
        world_document,
        world_of_call,
        worlds_of,
        worlds_shown,
    )
    from orphangc.app.config.validate import settings_from

    if (root is None) == (config is None):
        raise SettingsError("give either a storage root or --config")
    if config is not None:
        worlds = worlds_of(config)
        show(output, world_document(worlds), lambda: [*worlds_shown(worlds)])
        return
    found = world_of_call(settings_from({"root": root, **settings}))
    show(output, document_of_call(found), lambda: [*found.tables()])


@world_commands.command(
    "acknowledge",
    epilog="Example: orphangc world acknowledge s3://bucket/checkpoints place_lost"
    " s3://other/savepoints",
)
@gathered("settings", "state")
def world_acknowledge(
    *,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="[ROOT] CONDITION WHAT",
            help="Storage root (not with --config), then the fact as the plan's message names it.",
        ),
    ],
    config: Annotated[
        Path | None,
        typer.Option(help="Configuration file of the storage roots that the fact blocks."),
    ] = None,
    settings: Values,
    output: o.OutputOption = None,
) -> None:
    """Record that one fact of earlier cycles has ended for ever, so that it no longer blocks."""
    from orphangc.app.commands.world.show import acknowledge

    if len(names) != _FACT + (config is None):
        raise SettingsError("give ROOT CONDITION WHAT, or --config FILE CONDITION WHAT")
    root = None if config is not None else names[0]
    condition, what = names[-_FACT:]
    found = acknowledge(condition, what, root=root, config=config, state=settings["state"])
    if is_json(output):
        print_json([each.model_dump(mode="json") for each in found])
    else:
        for each in found:
            typer.echo(visible(f"acknowledged: {each.condition} {each.what}, by {each.by}"))
