"""The base names that one checkpoint refers to in one folder, as compact as a live set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from orphangc.core.columns.sorted_uuids import SortedUuids, distinct, in_order
from orphangc.core.columns.uuid_words import UUID_LENGTH, bytes_of, texts_of, uuid_tails, words_of
from orphangc.core.model.naming import ANY_UUID, artifact_name, parse_artifact_name, uuid_of

_Words = npt.NDArray[np.uint64]
_Ids = npt.NDArray[np.int64]

_NO_ID, _NOT_FLAT = -1, -2
_BLOCK = 1 << 16
_TEXT_BYTES = 96
"""Bytes of a name in a set besides its characters."""


class FileNames:
    """A frozen set of base names: 24 bytes for each flat artifact, 16 where none carries an id.

    Attributes:
        hi: uint64[n], first halves of the UUIDs of its n flat artifact names, in order.
        lo: uint64[n], second halves.
        checkpoint_ids: int64[n], -1 for a name without one; ``None`` if no name carries one.
    """

    __slots__ = ("checkpoint_ids", "hi", "lo", "others")

    hi: _Words
    lo: _Words
    checkpoint_ids: _Ids | None
    others: frozenset[str]

    def __init__(self, names: Iterable[str] = ()) -> None:
        """Take these names, each once."""
        rest = iter(names)
        columns = NameColumns()
        for lot in iter(lambda: list(islice(rest, _BLOCK)), []):
            _add_lot(lot, lambda head: ("", head), lambda _: columns)
        self._take(columns)

    @classmethod
    def from_columns(cls, columns: NameColumns) -> FileNames:
        """Return the names that were gathered, each once, and leave nothing in the columns."""
        found = cls.__new__(cls)
        cls._take(found, columns)
        return found

    def _take(self, columns: NameColumns) -> None:
        """Sort what was gathered, each once; a column after the other, for they may be large."""
        has_ids = any(ids is not None for ids in columns.ids)
        lengths = list(map(len, columns.hi))
        ids = None
        if has_ids:
            ids = np.concatenate(
                [
                    np.empty(0, np.int64),
                    *(
                        (
                            np.full(length, _NO_ID, np.int64) if part is None else part
                            for part, length in zip(columns.ids, lengths, strict=True)
                        )
                    ),
                ]
            )
        columns.ids.clear()
        hi, lo = _popped(columns.hi), _popped(columns.lo)
        rows = in_order(hi, lo) if ids is None else np.lexsort((ids, lo, hi))
        hi = hi[rows]
        lo = lo[rows]
        is_new = np.ones(len(hi), np.bool_)
        is_new[1:] = (hi[1:] != hi[:-1]) | (lo[1:] != lo[:-1])
        if ids is not None:
            ids = ids[rows]
            is_new[1:] |= ids[1:] != ids[:-1]
        if not is_new.all():
            hi, lo, ids = hi[is_new], lo[is_new], None if ids is None else ids[is_new]
        self.hi, self.lo, self.checkpoint_ids = hi, lo, ids
        self.others = frozenset(columns.others)

    @property
    def uuids(self) -> tuple[_Words, _Words]:
        """Return the UUID that each name ends in (``uuid_of``), flat artifact or not (R5)."""
        hi, lo = self._other_uuids()
        if not len(hi):
            return self.hi, self.lo  # no copy: there may be millions
        return np.concatenate((self.hi, hi)), np.concatenate((self.lo, lo))

    def sorted_uuids(self) -> tuple[SortedUuids, SortedUuids]:
        """Return the same to look them up: those of flat artifacts without a copy, and others."""
        return SortedUuids(self.hi, self.lo), SortedUuids(*distinct(*self._other_uuids()))

    def _other_uuids(self) -> tuple[_Words, _Words]:
        ends = [uuid for name in self.others if (uuid := uuid_of(name)) is not None]
        return words_of(b"".join(ends))

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


class NameColumns:
    """Base names that are being gathered, for one ``FileNames``.

    Attributes:
        hi: First halves of the UUIDs of flat artifact names, uint64 each.
        ids: Checkpoint ids of the same names, int64 each; ``None`` where none of a part has one.
    """

    __slots__ = ("hi", "ids", "lo", "others")

    def __init__(self) -> None:
        """Start with no name."""
        self.hi: list[_Words] = []
        self.lo: list[_Words] = []
        self.ids: list[_Ids | None] = []
        self.others: set[str] = set()

    def extend(self, other: NameColumns) -> None:
        """Take over what another one gathered."""
        self.hi += other.hi
        self.lo += other.lo
        self.ids += other.ids
        self.others |= other.others


class PathColumns:
    """Paths that are being gathered: their base names, by folder as it is spelled.

    Attributes:
        folders: Names by the text up to the last slash, "" where there is none.
    """

    __slots__ = ("folders",)

    def __init__(self) -> None:
        """Start with no path."""
        self.folders: dict[str, NameColumns] = {}

    def add(self, paths: Sequence[str]) -> None:
        """Take some paths."""
        for start in range(0, len(paths), _BLOCK):
            _add_lot(
                paths[start : start + _BLOCK],
                _split,
                lambda folder: self.folders.setdefault(folder, NameColumns()),
            )

    def by_folder(self) -> dict[str, FileNames]:
        """Return the base names by folder, and leave nothing here."""
        found = {folder: FileNames.from_columns(each) for folder, each in self.folders.items()}
        self.folders.clear()
        return found

    def names(self) -> FileNames:
        """Return all base names, each once, and leave nothing here."""
        columns = NameColumns()
        for each in self.folders.values():
            columns.extend(each)
        self.folders.clear()
        return FileNames.from_columns(columns)


def _split(path: str) -> tuple[str, str]:
    start = path.rfind("/") + 1
    return path[:start], path[start:]


def _add_lot(
    texts: Sequence[str],
    split: Callable[[str], tuple[str, str]],
    columns_of: Callable[[str], NameColumns],
) -> None:
    try:
        data = pa.array(texts, pa.binary())
    except UnicodeEncodeError:  # half a surrogate pair: no artifact's name, and no Arrow text
        for folder, name in (split(text) for text in texts if not _is_utf8(text)):
            columns_of(folder).others.add(name)
        _add_lot(list(filter(_is_utf8, texts)), split, columns_of)
        return
    has_uuid, hi, lo = uuid_tails(data)
    for row in np.flatnonzero(~has_uuid).tolist():
        folder, name = split(texts[row])
        columns_of(folder).others.add(name)
    if not has_uuid.any():
        return
    encoded = pc.binary_slice(data.filter(pa.array(has_uuid)), 0, -UUID_LENGTH).dictionary_encode()
    heads = [split(head.decode()) for head in encoded.dictionary.to_pylist()]
    _add_uuids(heads, encoded.indices.to_numpy(), (hi[has_uuid], lo[has_uuid]), columns_of)


def _add_uuids(
    heads: Sequence[tuple[str, str]],
    head_of: npt.NDArray[np.int32],
    uuids: tuple[_Words, _Words],
    columns_of: Callable[[str], NameColumns],
) -> None:
    """Add names that end in UUIDs.

    Args:
        head_of: int32[n], row of ``heads`` for each UUID.
        uuids: uint64[n] twice, the halves of the UUIDs.
    """
    ids = np.fromiter((_id_before_uuid(before) for _, before in heads), np.int64)
    numbers: dict[str, int] = {}
    folder_of = np.fromiter((numbers.setdefault(each, len(numbers)) for each, _ in heads), np.int64)
    for folder, number in numbers.items():
        is_in = folder_of[head_of] == number if len(numbers) > 1 else slice(None)
        some, hi, lo = head_of[is_in], uuids[0][is_in], uuids[1][is_in]
        columns, is_flat = columns_of(folder), ids[some] != _NOT_FLAT
        if not is_flat.all():
            rest = zip(some[~is_flat].tolist(), texts_of(hi[~is_flat], lo[~is_flat]), strict=True)
            columns.others.update(heads[head][1] + text for head, text in rest)
        own_ids = ids[some[is_flat]]
        columns.hi.append(hi[is_flat])
        columns.lo.append(lo[is_flat])
        columns.ids.append(own_ids if (own_ids != _NO_ID).any() else None)


def _id_before_uuid(before: str) -> int:
    parsed = parse_artifact_name(before + ANY_UUID)
    if parsed is None:
        return _NOT_FLAT
    return _NO_ID if parsed[0] is None else parsed[0]


def _popped(parts: list[_Words]) -> _Words:
    """Return the parts as one column, and keep none of them."""
    whole = np.concatenate([np.empty(0, np.uint64), *parts])
    parts.clear()
    return whole


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
