"""What a listing does not show, looked up in the storage before it counts as missing (R8).

An inventory is hours or days old, and a listing that was gone on with is so in part. A name that
it lacks says nothing by itself: the file may be younger. And a root may be newer than the listing,
or on its way out: Flink deletes what only a subsumed checkpoint needed before its ``_metadata``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta

import numpy as np
import numpy.typing as npt

from orphangc.core.evidence import Root
from orphangc.core.inventory import Inventory
from orphangc.core.live import UuidSet
from orphangc.core.model import ObjectKey, StoredObject
from orphangc.core.names import METADATA_NAME
from orphangc.core.uris import Location
from orphangc.core.uuids import texts_of
from orphangc.errors import RefusedError
from orphangc.ports import Inventoried, Storage
from orphangc.runs.missing import Missing

__all__ = ["confirmed", "inventory_of", "missing_of_lasting"]

_SETTLED = timedelta(hours=24)
"""What was stored so long before an inventory was begun is in it: the rest may be or not, for an
inventory is no snapshot."""

_AT_ONCE = 1000


def inventory_of(storage: Storage) -> Inventory | None:
    """Return what stands in for the storage's listing, ``None`` if it is really listed."""
    return storage.inventory if isinstance(storage, Inventoried) else None


def confirmed(missing: Missing, storage: Storage, *, is_resumed: bool = False) -> Missing:
    """Return what is missing from the storage as it is now, of what its listing lacks.

    Where the listing is wholly of this cycle, that is what it lacks.

    Args:
        missing: What the listing lacks.
        storage: That was listed.
        is_resumed: Whether a part of the listing is older than this cycle.

    Raises:
        RefusedError: A file is there that is so old that the inventory should show it: it covers
            only a part of the storage root.

    """
    inventory = inventory_of(storage)
    if inventory is None and not is_resumed:
        return missing
    heads: dict[str, UuidSet] = {}
    for head, uuids in missing.heads.items():
        hi, lo = uuids.columns()
        lacking = _are_absent([head + text for text in texts_of(hi, lo)], storage, inventory)
        heads[head] = UuidSet()
        heads[head].extend(hi[lacking], lo[lacking])
    others = sorted(missing.others)
    are_absent = _are_absent(others, storage, inventory).tolist()
    absent = (key for key, is_absent in zip(others, are_absent, strict=True) if is_absent)
    return Missing(heads, frozenset(absent))


def missing_of_lasting(
    missing: Missing, roots: Iterable[Root], storage: Storage, *, passing: Collection[Location]
) -> list[str]:
    """Return the keys that roots refer to and nothing shows, of roots that last.

    Args:
        missing: What the listing lacks.
        roots: Of one job.
        storage: That was listed.
        passing: Folders of the roots that were not there both before and after the listing.

    """
    base = storage.location
    lacking = [r for r in roots if r.folder not in passing and missing.of([r], base)]
    keys = {root.folder: base.key_of(root.folder) for root in lacking}
    asked = [ObjectKey(f"{key}/{METADATA_NAME}") for key in keys.values() if key is not None]
    gone = {
        key.removesuffix(f"/{METADATA_NAME}")
        for key, stored in zip(asked, storage.stat(asked) if asked else (), strict=True)
        if stored is None
    }
    return missing.of([root for root in lacking if keys[root.folder] not in gone], base)


def _are_absent(
    keys: Sequence[str], storage: Storage, inventory: Inventory | None
) -> npt.NDArray[np.bool_]:
    """Return bool[n]: whether each key is absent from the storage."""
    absent: list[bool] = []
    for start in range(0, len(keys), _AT_ONCE):
        for stored in storage.stat([ObjectKey(key) for key in keys[start : start + _AT_ONCE]]):
            absent.append(stored is None)
            if inventory is not None and stored is not None:
                _check_age(stored, inventory)
    return np.array(absent, np.bool_)


def _check_age(stored: StoredObject, inventory: Inventory) -> None:
    """Raise if the inventory should show a file that it lacks."""
    if stored.modified_at is not None and stored.modified_at < inventory.created_at - _SETTLED:
        raise RefusedError(
            f"inventory {inventory.uri} does not show {stored.key}, which is older: it covers only"
            " a part of the storage root; nothing was planned"
        )
