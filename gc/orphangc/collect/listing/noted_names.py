"""Notes what may be a ``_metadata``, and links, while they are listed: no pass has to find them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from flinkstate.places.checkpoint_names import (
    BY_A_UUID,
    CHECKPOINT_FOLDER,
    METADATA_WORD,
    may_be_metadata,
)
from orphangc.core.model.types import StoredObject
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.ports import Spool, SpoolPart


class NotingSpool:
    """A spool that notes what is appended to its parts.

    Attributes:
        objects: What may be a ``_metadata`` in the parts of this run, in no order.
        links: Keys of links in these, as ``links_in`` has them.
    """

    def __init__(self, spool: Spool) -> None:
        """Take the spool that keeps the rows."""
        self.objects: list[StoredObject] = []
        self.links: list[str] = []
        self._spool = spool

    @property
    def rows(self) -> int:
        """Return the number of rows; see ``Spool``."""
        return self._spool.rows

    def finished(self) -> list[KeyRange]:
        """Return the listed ranges; see ``Spool``."""
        return self._spool.finished()

    def part(self) -> SpoolPart:
        """Return a new part; see ``Spool``."""
        return _NotingPart(self._spool.part(), self)

    def batches(self, within: KeyRange = EVERYTHING) -> Iterator[pa.RecordBatch]:
        """Yield rows; see ``Spool``."""
        return self._spool.batches(within)


class _NotingPart:
    def __init__(self, part: SpoolPart, noted: NotingSpool) -> None:
        self._part = part
        self._noted = noted
        self.rows = 0

    def append(self, batch: pa.RecordBatch) -> None:
        self._part.append(batch)
        self.rows = self._part.rows
        self._noted.objects += metadata_objects(batch)
        self._noted.links += links_in(batch)

    def finish(self, within: KeyRange) -> None:
        self._part.finish(within)


def metadata_objects(batch: pa.RecordBatch) -> list[StoredObject]:
    """Return the objects of a batch of a listing that may be a ``_metadata``; folders are none."""
    pattern = f"{METADATA_WORD}|{CHECKPOINT_FOLDER}/[^/]+$"
    holds = pc.match_substring_regex(batch.column("key"), pattern)
    if not pc.any(holds).as_py():
        return []
    found = batch.filter(pc.and_(holds, batch.column("size").is_valid()))
    is_by_a_uuid = pc.match_substring_regex(found.column("key"), BY_A_UUID)
    has_word = pc.match_substring(found.column("key"), METADATA_WORD)
    rows = found.filter(pc.or_(has_word, pc.invert(is_by_a_uuid))).to_pylist()
    return [StoredObject(**row) for row in rows if may_be_metadata(row["key"])]


def links_in(batch: pa.RecordBatch) -> list[str]:
    """Return the keys of what is neither a file nor a folder: links, which no listing follows."""
    times = batch.column("modified_at")
    if not times.null_count:
        return []
    is_link = pc.and_(batch.column("size").is_valid(), times.is_null())
    found: list[str] = batch.column("key").filter(is_link).to_pylist()
    return found
