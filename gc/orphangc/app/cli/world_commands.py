"""The commands about the world: everything that a deletion relies on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flinkstate.tables.printing import is_json, print_json, show
from flinkstate.text.shown_text import visible
from orphangc.app.cli.application import world_commands
from orphangc.app.console import options as o
from orphangc.errors import SettingsError

_NOT_SETTINGS = frozenset({"config", "output"})
_FACT = 2
"""Number of names that state one fact: its condition, and its subject."""


@world_commands.command(
    "show",
    hidden=True,
    epilog="Example: orphangc world s3://bucket/checkpoints --extra-root s3://bucket/savepoints",
)
def world_show(  # noqa: PLR0913 - one parameter an option
    *,
    root: Annotated[str | None, typer.Argument(metavar="[ROOT]", help="Storage root.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="Configuration file; shows each of its storage roots.")
    ] = None,
    extra_roots: o.ExtraRoots = None,
    empty_roots: o.EmptyRoots = None,
    search: o.Search = o.default_of("search"),
    search_except: o.SearchExcept = None,
    closed_world: o.ClosedWorld = False,
    registry: o.Registry = None,
    flink_rest: o.FlinkRestOption = None,
    kubernetes_ha: o.KubernetesHaOption = None,
    zookeeper_ha: o.ZooKeeperHaOption = None,
    alias: o.AliasOption = None,
    pin: o.Pin = None,
    state: o.State = None,
    output: o.OutputOption = None,
) -> None:
    """Show every place that is searched or named, its contents, and what changed since earlier
    cycles.
    """
    values = dict(locals())
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
        show(output, world_document(worlds), lambda: worlds_shown(worlds))
        return
    settings = settings_from({k: v for k, v in values.items() if k not in _NOT_SETTINGS})
    found = world_of_call(settings)
    show(output, document_of_call(found), lambda: [*found.tables()])


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
            help="Storage root (not with --config), then the fact as the plan's message names it.",
        ),
    ],
    config: Annotated[
        Path | None,
        typer.Option(help="Configuration file of the storage roots that the fact blocks."),
    ] = None,
    state: o.State = None,
    output: o.OutputOption = None,
) -> None:
    """Record that one fact of earlier cycles has ended for ever, so that it no longer blocks."""
    from orphangc.app.commands.world.acknowledge import acknowledge

    if len(names) != _FACT + (config is None):
        raise SettingsError("give ROOT CONDITION WHAT, or --config FILE CONDITION WHAT")
    root = None if config is not None else names[0]
    condition, what = names[-_FACT:]
    found = acknowledge(condition, what, root=root, config=config, state=state)
    if is_json(output):
        print_json([each.model_dump(mode="json") for each in found])
    else:
        for each in found:
            typer.echo(visible(f"acknowledged: {each.condition} {each.what}, by {each.by}"))
