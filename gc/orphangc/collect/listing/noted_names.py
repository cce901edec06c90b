"""Notes what may be a ``_metadata``, and links, while they are listed: no pass has to find them."""

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from flinkstate.places.checkpoint_names import (
    BY_A_UUID,
    CHECKPOINT_FOLDER,
    METADATA_WORD,
    may_be_metadata,
)
from orphangc.core.model.types import StoredObject


@dataclass(frozen=True, slots=True)
class NotedNames:
    """What was noted in the rows of this run, in no order.

    Attributes:
        objects: What may be a ``_metadata``.
        links: Keys of links, as ``links_in`` has them.
    """

    objects: list[StoredObject] = field(default_factory=list)
    links: list[str] = field(default_factory=list)

    def note(self, batch: pa.RecordBatch) -> None:
        """Note what is in a batch of a listing."""
        self.objects.extend(metadata_objects(batch))
        self.links.extend(links_in(batch))


def metadata_objects(batch: pa.RecordBatch) -> list[StoredObject]:
    """Return the objects of a batch of a listing that may be a ``_metadata``; folders are none."""
    pattern = f"(?i:{METADATA_WORD})|{CHECKPOINT_FOLDER}/"
    holds = pc.match_substring_regex(batch.column("key"), pattern)
    if not pc.any(holds).as_py():
        return []
    found = batch.filter(pc.and_(holds, batch.column("size").is_valid()))
    is_by_a_uuid = pc.match_substring_regex(found.column("key"), BY_A_UUID)
    has_word = pc.match_substring(found.column("key"), METADATA_WORD, ignore_case=True)
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
