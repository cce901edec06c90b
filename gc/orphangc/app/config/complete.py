"""Complete a configuration by what was discovered: each storage root with the whole world."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from flinkstate.places.locations import Alias, canonical, parse_alias
from orphangc.app.config.configuration import Configuration, DiscoverySettings, ScheduledRoot
from orphangc.app.config.load import with_defaults
from orphangc.app.config.validate import validated
from orphangc.core.discovery.discovered_world import DiscoveredWorld
from orphangc.core.discovery.remembered_facts import Succession


def completed(
    configuration: Configuration,
    world: DiscoveredWorld,
    over: Sequence[Succession],
    aliases: Sequence[Alias],
) -> Configuration:
    """Return a configuration with discovered storage roots, each with the whole world.

    Args:
        over: Jobs that their resources replaced.
        aliases: What other spellings of discovered places mean.

    Raises:
        SettingsError: A discovered storage root cannot be configured.
    """
    if aliases:
        configuration = _with_aliases(configuration, aliases)
    settings = configuration.discovery
    ended = tuple(each.job_id for each in over)
    own = {"state": settings.state, "closed_world": settings.closed_world}
    new = [
        validated(ScheduledRoot, {**settings.defaults, "root": uri, **own})
        for uri in world.storage_roots
    ]
    roots = [
        _with_world(each, world, settings, ended) for each in (*configuration.storage_roots, *new)
    ]
    found = with_defaults(
        configuration.model_copy(update={"storage_roots": tuple(roots)}), Path("discovery")
    )
    searched = tuple(_with_places(each, world) for each in found.storage_roots)
    return found.model_copy(update={"storage_roots": searched})


def _with_aliases(configuration: Configuration, aliases: Sequence[Alias]) -> Configuration:
    """Return a configuration in which paths mean places under their one spelling."""
    settings = configuration.discovery
    stated = [parse_alias(each) for each in settings.alias]
    meant = [Alias(each.source, canonical(str(each.target), aliases)) for each in stated]
    texts = tuple(f"{each.source}={each.target}" for each in (*meant, *aliases))
    known = settings.model_copy(update={"alias": tuple(dict.fromkeys(texts))})
    return configuration.model_copy(update={"discovery": known})


def _with_world(
    root: ScheduledRoot, world: DiscoveredWorld, settings: DiscoverySettings, ended: Sequence[str]
) -> ScheduledRoot:
    added = {
        "empty_roots": _not_around(root, settings.empty_roots),
        "flink_rest": world.clusters,
        "kubernetes_ha": [each for each in world.kubernetes_ha if each],
        "zookeeper_ha": world.zookeeper_ha,
        "alias": settings.alias,
        "pin": world.pins,
        "ended_job": ended,
    }
    update = {
        name: tuple(dict.fromkeys((*getattr(root, name), *values)))
        for name, values in added.items()
    }
    return root.model_copy(update=update)


def _with_places(root: ScheduledRoot, world: DiscoveredWorld) -> ScheduledRoot:
    """Return a storage root that searches every discovered place."""
    own, named = root.own_places, (*world.extra_roots, *world.known_roots)
    found = [each for each in named if canonical(each) not in own]
    return root.model_copy(
        update={
            "siblings": tuple(dict.fromkeys((*root.siblings, *found))),
            "named_by_flink": named,
            "without_checkpoints": _not_around(root, world.without_checkpoints),
            "unclear": tuple(each.block for each in world.unclear),
        }
    )


def _not_around(root: ScheduledRoot, places: Iterable[str]) -> tuple[str, ...]:
    """Return the places that are not, and do not contain, a storage root."""
    return tuple(each for each in places if not canonical(each).contains(root.location))
