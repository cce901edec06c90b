"""What is configured by hand beside what is discovered: the union counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orphangc.core.discovery.discovered_world import DiscoveredWorld
from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.model.locations import canonical
from orphangc.core.model.settings import StorageRootSettings


class SettingDifference(FrozenPart):
    """A value that only one side names.

    Attributes:
        setting: Name of the setting.
        value: The value.
        only_in: ``configuration`` or ``discovery``.

    """

    setting: str
    value: str
    only_in: str


def differences(
    by_hand: Sequence[StorageRootSettings], world: DiscoveredWorld
) -> tuple[SettingDifference, ...]:
    """Return what only the configuration names, and what only discovery names."""
    if not by_hand:
        return ()
    roots = tuple(str(canonical(each.root)) for each in by_hand)
    extra = tuple(str(canonical(uri)) for each in by_hand for uri in each.extra_roots)
    pairs = (
        ("root", roots, (*world.storage_roots, *(r for r in roots if r in world.known_roots))),
        ("extra_roots", extra, world.extra_roots),
        ("flink_rest", _all(by_hand, "flink_rest"), world.clusters),
        ("kubernetes_ha", _all(by_hand, "kubernetes_ha"), world.kubernetes_ha),
        ("zookeeper_ha", _all(by_hand, "zookeeper_ha"), world.zookeeper_ha),
    )
    return tuple(each for name, hand, found in pairs for each in _compared(name, hand, found))


def _all(by_hand: Sequence[StorageRootSettings], name: str) -> tuple[str, ...]:
    return tuple(value for each in by_hand for value in getattr(each, name))


def _compared(name: str, hand: Sequence[str], found: Sequence[str]) -> Iterator[SettingDifference]:
    one, other = ({each.rstrip("/") for each in values} for values in (hand, found))
    for value in sorted(one - other):
        yield SettingDifference(setting=name, value=value, only_in="configuration")
    for value in sorted(other - one):
        yield SettingDifference(setting=name, value=value, only_in="discovery")
