"""Reads runs of entries of equal length in a named list, many at a time.

An incremental checkpoint names thousands of similar files: same length of local name, same code,
same length of path. If every length field of a run holds the same number, every entry has the same
size, and one slice with a step for each byte position checks a whole column at the speed of a copy.
The entry-by-entry reader accepts every entry that this module accepts: each byte is a length or
code equal to the first entry's, or text checked to be ASCII without zeros, or any plain number.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from flinkstate.buffers import Buffer
from flinkstate.layouts.format_versions import Tables
from flinkstate.layouts.record_layouts import RecordPart

_FIRST_WINDOW = 16
_LARGEST_WINDOW = 1024  # entries: at 150 bytes each they fit into the second-level cache
_FREE, _FIXED, _TEXT = "free", "fixed", "text"
_FORMS = {
    RecordPart.I8: (_FREE, 8),
    RecordPart.SCOPE: (_FIXED, 4),
    RecordPart.UTF: (_TEXT, 2),
    RecordPart.PATH: (_TEXT, 2),
    RecordPart.RELATIVE_NAME: (_TEXT, 2),
}
_REFERENCES = (RecordPart.PATH, RecordPart.RELATIVE_NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryShape:
    """Positions of the parts of an entry, for all entries of one size.

    Attributes:
        fixed: Offset and value of each byte that must equal the first entry's.
        texts: Offset and size of texts that name no file.
        reference: Offset and size of the path or relative name.
        part: Kind of the reference: path or relative name.

    """

    size: int
    fixed: tuple[tuple[int, bytes], ...]
    texts: tuple[tuple[int, int], ...]
    reference: tuple[int, int]
    part: RecordPart


def shape_at(data: Buffer, start: int, tables: Tables) -> EntryShape | None:
    """Return the shape of the entry at ``start``, or None if its kind cannot be read in runs.

    Args:
        data: Bytes of the whole file.
        start: Offset of an entry that has already been accepted.
        tables: Layouts of the file.

    """
    at = start + 2 + int.from_bytes(data[start : start + 2], "big")
    layout = tables.streams[data[at]]
    parts = [part for _, part in layout.fields]
    references = [part for part in parts if part in _REFERENCES]
    if not references or any(part not in _FORMS for part in parts):
        return None
    fixed = [start, start + 1, at]
    texts: dict[RecordPart, list[tuple[int, int]]] = {RecordPart.UTF: [(2, at - start - 2)]}
    at += 1
    for part in parts:
        form, size = _FORMS[part]
        if form is not _FREE:
            fixed.extend(range(at, at + size))
        at += size
        if form is _TEXT:
            length = int.from_bytes(data[at - size : at], "big")
            texts.setdefault(part, []).append((at - start, length))
            at += length
    return EntryShape(
        size=at - start,
        fixed=tuple((place - start, data[place : place + 1]) for place in fixed),
        texts=tuple(texts[RecordPart.UTF]),
        reference=texts[references[0]][0],
        part=references[0],
    )


def reference_runs(data: Buffer, start: int, shape: EntryShape, limit: int) -> Iterator[list[str]]:
    """Yield the references of the entries from ``start`` on, while they fit the shape.

    Windows grow, so that a short run costs little.

    Args:
        data: Bytes of the whole file.
        start: Offset of the first entry of the run.
        shape: Shape of the entries.
        limit: Maximum number of entries; the file holds enough bytes for them.

    """
    window = _FIRST_WINDOW
    while limit > 0:
        wanted = min(window, limit)
        count = _fitting(data, start, shape, wanted)
        references = _references(data, start, shape, count)
        if not references:
            return
        yield references
        if count < wanted:
            return
        start += count * shape.size
        limit -= count
        window = min(4 * window, _LARGEST_WINDOW)


def _fitting(data: Buffer, start: int, shape: EntryShape, count: int) -> int:
    for offset, value in shape.fixed:
        column = data[start + offset : start + count * shape.size : shape.size]
        if column != value * count:
            count -= len(column.lstrip(value))
    return count


def _references(data: Buffer, start: int, shape: EntryShape, count: int) -> list[str]:
    stop = start + count * shape.size
    columns = [
        data[start + place : stop : shape.size]
        for offset, length in shape.texts
        for place in range(offset, offset + length)
    ]
    if not _is_plain(b"".join(columns)):
        return []
    window = data[start:stop].decode("latin-1")
    offset, length = shape.reference
    references = [
        window[place : place + length] for place in range(offset, len(window), shape.size)
    ]
    joined = "".join(references)
    return references if joined.isascii() and "\0" not in joined else []


def _is_plain(text: bytes) -> bool:
    return text.isascii() and b"\0" not in text
