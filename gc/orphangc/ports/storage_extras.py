"""What a storage can say beyond a listing: its inventory, and what no listing shows."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Protocol, runtime_checkable

import pyarrow as pa

from orphangc.core.documents.s3_inventory import Inventory


@runtime_checkable
class Inventoried(Protocol):
    """A storage whose listing is an inventory of it: older than now, by hours or days.

    All that it lists is a candidate at most. What is looked at one by one is as fresh as ever.

    Attributes:
        inventory: What stands in for the listing; ``objects`` are those of the last listing.

    """

    @property
    def inventory(self) -> Inventory:
        """Return what stands in for the listing."""
        ...


class HiddenKind(StrEnum):
    """What costs money and stands in no listing, or is no object of Flink's in one."""

    UPLOAD = "upload"
    """A multipart upload that was neither completed nor aborted; its parts cost."""
    NONCURRENT = "noncurrent"
    """A version that a newer one or a delete marker hides."""
    DELETE_MARKER = "delete_marker"
    """What a deletion leaves in a versioned bucket."""
    DIRECTORY_MARKER = "directory_marker"
    """An empty object that some tool made to look like a folder."""


HIDDEN_SCHEMA = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("size", pa.int64()),
        pa.field("at", pa.timestamp("us", tz="UTC")),
    ]
)
"""One row a hidden thing; ``size`` is null where nobody counted its bytes."""


class Extras(Protocol):
    """Tells what a listing does not show, for a report (R28); nothing of it is ever touched."""

    def uploads(self) -> Iterator[pa.RecordBatch]:
        """Yield the unfinished uploads below the storage root, as ``HIDDEN_SCHEMA``.

        Raises:
            NotReportedError: The store does not tell.
            StorageUnreachableError: Anything else; what was yielded before is a part.

        """
        ...

    def versions(self) -> Iterator[pa.RecordBatch]:
        """Yield noncurrent versions and delete markers; as costly as a listing, else alike."""
        ...
