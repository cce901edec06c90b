"""The live set: everything that a checkpoint, registry snapshot or pin refers to."""

import hashlib
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from orphangc.core.columns.sorted_uuids import distinct
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.columns.uuid_words import bytes_of

_Words = npt.NDArray[np.uint64]
_Mask = npt.NDArray[np.bool_]

_FEW = 1 << 16


@dataclass(slots=True)
class LiveSet:
    """UUIDs that are in use, from two independent oracles.

    Every flat artifact's name ends in a UUID, and UUIDs are unique, so the UUID of a referenced
    base name covers its path, its base name, and its id-less form alike (R5): aliases, moved
    trees and FLINK-39964's wrong directories included.

    Attributes:
        parsed: UUIDs of the parser's references, of registry entries, and of pins.
        raw: UUIDs in the checkpoints' raw bytes, which no parser bug can hide (R7).
    """

    parsed: UuidSet = field(default_factory=UuidSet)
    raw: UuidSet = field(default_factory=UuidSet)

    def __contains__(self, uuid: bytes) -> bool:
        """Return whether either oracle names the UUID."""
        return uuid in self.parsed or uuid in self.raw

    def contains(self, hi: _Words, lo: _Words) -> _Mask:
        """Return bool[n]: whether either oracle names each UUID."""
        is_live = self.parsed.contains(hi, lo)
        rest = ~is_live
        is_live[rest] = self.raw.contains(hi[rest], lo[rest])
        return is_live

    def extend_raw(self, hi: _Words, lo: _Words) -> None:
        """Add n UUIDs to ``raw``, less those that ``parsed`` names already.

        Nearly all of both is the same; memory need not contain it twice. Parse first.
        """
        rest = ~self.parsed.contains(hi, lo)
        self.raw.extend(hi[rest], lo[rest])

    def digest(self) -> str:
        """Return a sha256 over the sorted members: the identity of the evidence."""
        digest = hashlib.sha256()
        sources = (self.parsed.columns(), self.raw.columns())
        number = 256 if max(len(hi) for hi, _ in sources) > _FEW else 1
        cuts = [_cuts(hi, number) for hi, _ in sources]
        for first in range(number):  # in parts: a large union must not fill the memory
            parts = [slice(*cut[first : first + 2]) for cut in cuts]
            hi = [hi[part] for part, (hi, _) in zip(parts, sources, strict=True)]
            lo = [lo[part] for part, (_, lo) in zip(parts, sources, strict=True)]
            digest.update(bytes_of(*distinct(np.concatenate(hi), np.concatenate(lo))))
        return digest.hexdigest()


def _cuts(hi: _Words, number: int) -> list[int]:
    leading = np.arange(number, dtype=np.uint64) << np.uint64(56)
    return [*np.searchsorted(hi, leading).tolist(), len(hi)]
