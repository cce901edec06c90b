"""The base names that one checkpoint refers to in one folder, as compact as a live set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from orphangc.core.columns.uuid_words import UUID_LENGTH, bytes_of, uuid_tails, words_of
from orphangc.core.model.naming import artifact_name, parse_artifact_name, uuid_of

_Words = npt.NDArray[np.uint64]
_Ids = npt.NDArray[np.int64]

_NO_ID = -1
_ANY_UUID = artifact_name(None, bytes(16))
_BLOCK = 1 << 16
_TEXT_BYTES = 96
"""Bytes of a name in a set besides its characters."""


class FileNames:
    """A frozen set of base names: 24 bytes for each flat artifact, 16 where none carries an id.

    Attributes:
        hi: uint64[n], first halves of the UUIDs of its n flat artifact names, in order.
        lo: uint64[n], second halves.
        checkpoint_ids: int64[n], -1 for a name without one; ``None`` if no name carries one.
        others: All other names.

    """

    __slots__ = ("checkpoint_ids", "hi", "lo", "others")

    hi: _Words
    lo: _Words
    checkpoint_ids: _Ids | None
    others: frozenset[str]

    def __init__(self, names: Iterable[str] = ()) -> None:
        """Take these names, each once."""
        others: set[str] = set()
        rest = iter(names)
        parts = [_artifacts(lot, others) for lot in iter(lambda: list(islice(rest, _BLOCK)), [])]
        parts.append((np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.int64)))
        hi, lo, ids = (np.concatenate(column) for column in zip(*parts, strict=True))
        rows = np.lexsort((ids, lo, hi))
        hi, lo, ids = hi[rows], lo[rows], ids[rows]
        is_new = np.ones(len(hi), np.bool_)
        is_new[1:] = (hi[1:] != hi[:-1]) | (lo[1:] != lo[:-1]) | (ids[1:] != ids[:-1])
        self.hi, self.lo = hi[is_new], lo[is_new]
        self.checkpoint_ids = ids[is_new] if (ids != _NO_ID).any() else None
        self.others = frozenset(others)

    @classmethod
    def from_names(cls, names: Iterable[str]) -> FileNames:
        """Return these names, each once."""
        return cls(names)

    @property
    def uuids(self) -> tuple[_Words, _Words]:
        """Return the UUID that each name ends in (``uuid_of``), flat artifact or not (R5)."""
        ends = [uuid for name in self.others if (uuid := uuid_of(name)) is not None]
        hi, lo = words_of(b"".join(ends))
        return np.concatenate((self.hi, hi)), np.concatenate((self.lo, lo))

    @property
    def nbytes(self) -> int:
        """Return the bytes of memory that the names take, roughly."""
        columns = (self.hi, self.lo, _or_empty(self.checkpoint_ids))
        texts = sum(len(name) + _TEXT_BYTES for name in self.others)
        return sum(each.nbytes for each in columns) + texts

    def heads(self) -> Iterator[tuple[str, _Words, _Words]]:
        """Yield the prefixes of artifact names, "" or ``41_``, and their UUIDs in order."""
        if self.checkpoint_ids is None:
            yield "", self.hi, self.lo
            return
        rows = np.argsort(self.checkpoint_ids, kind="stable")
        ids, starts = np.unique(self.checkpoint_ids[rows], return_index=True)
        for number, part in zip(ids.tolist(), np.split(rows, starts[1:]), strict=True):
            yield "" if number == _NO_ID else f"{number}_", self.hi[part], self.lo[part]

    def __contains__(self, name: object) -> bool:
        """Return whether exactly this name is there."""
        if not isinstance(name, str):
            return False
        parsed = parse_artifact_name(name)
        if parsed is None:
            return name in self.others
        checkpoint_id = _NO_ID if parsed[0] is None else parsed[0]
        (hi,), (lo,) = words_of(parsed[1])
        rows = slice(np.searchsorted(self.hi, hi), np.searchsorted(self.hi, hi, side="right"))
        is_it = self.lo[rows] == lo
        if self.checkpoint_ids is None:
            return bool(is_it.any()) and checkpoint_id == _NO_ID
        return bool((is_it & (self.checkpoint_ids[rows] == checkpoint_id)).any())

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(self.hi) + len(self.others)

    def __iter__(self) -> Iterator[str]:
        """Yield each name once: artifacts in the order of their UUIDs, then the others."""
        for start in range(0, len(self.hi), _BLOCK):
            part = slice(start, start + _BLOCK)
            data = bytes_of(self.hi[part], self.lo[part])
            uuids = [data[at : at + 16] for at in range(0, len(data), 16)]
            ids: list[int] = [_NO_ID] * len(uuids)
            if self.checkpoint_ids is not None:
                ids = self.checkpoint_ids[part].tolist()
            for number, uuid in zip(ids, uuids, strict=True):
                yield artifact_name(None if number == _NO_ID else number, uuid)
        yield from sorted(self.others)

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same names."""
        if not isinstance(other, FileNames):
            return NotImplemented
        return self.others == other.others and all(
            np.array_equal(one, another)
            for one, another in (
                (self.hi, other.hi),
                (self.lo, other.lo),
                (_or_empty(self.checkpoint_ids), _or_empty(other.checkpoint_ids)),
            )
        )

    def __hash__(self) -> int:
        """Return the same for equal sets."""
        return hash((self.hi.tobytes(), self.lo.tobytes(), self.others))

    def __repr__(self) -> str:
        """Return how many there are; there may be millions."""
        return f"<{len(self)} file names>"


def _or_empty(ids: _Ids | None) -> _Ids:
    return np.empty(0, np.int64) if ids is None else ids


def _artifacts(names: list[str], others: set[str]) -> tuple[_Words, _Words, _Ids]:
    """Return UUIDs and checkpoint ids of flat artifact names; the other names join ``others``."""
    try:
        texts = pa.array(names, pa.binary())
    except UnicodeEncodeError:  # half a surrogate pair: no artifact's name, and no Arrow text
        others.update(name for name in names if not _is_utf8(name))
        return _artifacts(list(filter(_is_utf8, names)), others)
    has_uuid, hi, lo = uuid_tails(texts)
    heads = pc.binary_slice(texts.filter(pa.array(has_uuid)), 0, -UUID_LENGTH).dictionary_encode()
    parsed = [
        parse_artifact_name(head.decode() + _ANY_UUID) for head in heads.dictionary.to_pylist()
    ]
    ids = np.fromiter((_NO_ID if not p or p[0] is None else p[0] for p in parsed), np.int64)
    is_flat = np.zeros(len(names), np.bool_)
    number = heads.indices.to_numpy()
    is_flat[has_uuid] = np.fromiter((p is not None for p in parsed), np.bool_)[number]
    others.update(names[row] for row in np.flatnonzero(~is_flat).tolist())
    return hi[is_flat], lo[is_flat], ids[number][is_flat[has_uuid]]


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
