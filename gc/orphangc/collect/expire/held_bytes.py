"""Bytes that only some checkpoints hold: one more pass over the listing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from orphangc.core.columns.marked_listing import MarkedRows
from orphangc.core.columns.sorted_uuids import Numbers, SortedUuids, least_type, numbered
from orphangc.core.decision.evidence import Checkpoint
from orphangc.ports.engine import ListingPass

_Words = npt.NDArray[np.uint64]

_NONE = np.empty(0, np.int8)
_SHARED = -1
"""Group of a file that several groups name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFiles:
    """Every file that a checkpoint names, with the one group that names it; picklable.

    Attributes:
        group: Of n integers, the only group whose checkpoints name each; -1 if several do.
    """

    uuids: SortedUuids
    group: Numbers

    @classmethod
    def of(cls, checkpoints: Iterable[tuple[Checkpoint, int]]) -> NamedFiles:
        """Return the files of some checkpoints, each with the group that it belongs to."""
        every = [*checkpoints]
        (files,) = cls.divided([each for each, _ in every], [[group for _, group in every]])
        return files

    @classmethod
    def divided(
        cls, checkpoints: Sequence[Checkpoint], divisions: Iterable[Sequence[int]]
    ) -> list[NamedFiles]:
        """Return the files of some checkpoints for each division of them into groups.

        The UUIDs, the same object in all of them, are sorted once.

        Args:
            divisions: Group of each checkpoint, for each division.
        """
        named = [
            (number, *names.uuids)
            for number, checkpoint in enumerate(checkpoints)
            for names in checkpoint.files.values()
        ]
        uuids, maker, starts = numbered(named, len(checkpoints))
        if not len(starts):
            return [cls(uuids=uuids, group=_NONE) for _ in divisions]
        return [cls(uuids=uuids, group=_only(groups, maker, starts)) for groups in divisions]

    def without(self, checkpoints: Iterable[Checkpoint]) -> NamedFiles:
        """Return these files, where those that other checkpoints name belong to no group."""
        return self.without_uuids(
            names.uuids for checkpoint in checkpoints for names in checkpoint.files.values()
        )

    def without_uuids(
        self, uuids: Iterable[tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]]
    ) -> NamedFiles:
        """Return these files, where some UUIDs belong to no group."""
        group = self.group.copy()
        for hi, lo in uuids:
            at, is_there = self.uuids.find(hi, lo)
            group[at[is_there]] = _SHARED
        return NamedFiles(uuids=self.uuids, group=group)

    def are_of_one_group(self, hi: npt.NDArray[np.uint64], lo: npt.NDArray[np.uint64]) -> bool:
        """Return whether each of some UUIDs is named by one group alone."""
        at, is_there = self.uuids.find(hi, lo)
        return bool(is_there.all() and (self.group[at] != _SHARED).all())


def _only(groups: Sequence[int], maker: Numbers, starts: npt.NDArray[np.intp]) -> Numbers:
    group = np.array(groups, least_type(max(groups) + 1))[maker]
    least, most = np.minimum.reduceat(group, starts), np.maximum.reduceat(group, starts)
    least[least != most] = _SHARED
    return least


@dataclass(slots=True)
class HeldBytes:
    """Bytes by group of the files that only this group names."""

    size: npt.NDArray[np.int64]
    objects: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBytesPass(ListingPass[list[HeldBytes]]):
    """Sums the bytes of every division of the checkpoints into groups, in one pass."""

    divisions: Sequence[tuple[NamedFiles, int]]
    phase: str = field(default="lineages")

    def begin(self) -> list[HeldBytes]:
        """See ``ListingPass``."""
        return [
            HeldBytes(np.zeros(count, np.int64), np.zeros(count, np.int64))
            for _, count in self.divisions
        ]

    def add(self, found: list[HeldBytes], rows: MarkedRows) -> None:
        """See ``ListingPass``."""
        columns = rows.columns
        sizes = np.asarray(columns.batch.column("size").fill_null(0))[columns.has_uuid]
        hi, lo = columns.hi[columns.has_uuid], columns.lo[columns.has_uuid]
        found_in: SortedUuids | None = None
        for (files, _), total in zip(self.divisions, found, strict=True):
            if files.uuids is not found_in:
                found_in = files.uuids
                at, is_there = found_in.find(hi, lo)
                at, held = at[is_there], sizes[is_there]
            group = files.group[at]
            is_only = group != _SHARED
            np.add.at(total.size, group[is_only], held[is_only])
            np.add.at(total.objects, group[is_only], 1)

    def together(self, found: Iterable[list[HeldBytes]]) -> list[HeldBytes]:
        """See ``ListingPass``."""
        total = self.begin()
        for part in found:
            for mine, each in zip(total, part, strict=True):
                mine.size += each.size
                mine.objects += each.objects
        return total
