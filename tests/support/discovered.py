"""Resources as one discovery, and what its world blocks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from orphangc.core.discovery.discovered_facts import Discovery
from orphangc.core.discovery.discovered_world import DiscoveredWorld, world_of_discovery
from orphangc.core.discovery.sources.read_resources import (
    FileText,
    NamespaceDocuments,
    discovery_of,
)
from orphangc.core.discovery.texts.flink_options import Reading
from support.flink_resources import made_maps

ALL = "everything"
ROOT, SAVEPOINTS = "s3://prod/checkpoints", "s3://prod/savepoints"


def namespace(
    documents: Iterable[dict[str, Any]],
    maps: Mapping[str, Mapping[str, str | None]] | None = None,
    *,
    name: str = "flink",
    **more: Any,
) -> NamespaceDocuments:
    kinds: dict[str, list[dict[str, Any]]] = {}
    for each in documents:
        kinds.setdefault(each["kind"], []).append(each)
    return NamespaceDocuments(namespace=name, resources=kinds, config_maps=maps or {}, **more)


def found(
    documents: Iterable[dict[str, Any]],
    maps: Mapping[str, Mapping[str, str | None]] | None = None,
    *,
    reading: Reading | None = None,
    files: Sequence[FileText] = (),
) -> Discovery:
    """Return what is discovered of documents, of their ConfigMaps and of files.

    The operator has made an empty configuration for each cluster that runs, unless one is given.
    """
    shown = list(documents)
    made = {name: text for each in shown for name, text in made_maps(each).items()}
    return discovery_of([namespace(shown, {**made, **(maps or {})})], files, reading or Reading())


def blocks_of(world: DiscoveredWorld) -> tuple[str, ...]:
    """Return that everything is blocked, if anything cannot be read."""
    return (ALL,) if world.unclear else ()


def acknowledged(discovery: Discovery) -> list[str]:
    """Return the names of all parts that block, as a person gives them."""
    return [each.word for each in world_of_discovery(discovery).unclear]
