"""Rows on disk: the spool of a listing, verdicts and outcomes."""

from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from orphangc.core.decision.kernel import VERDICT_SCHEMA
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange

OUTCOME_SCHEMA = (
    VERDICT_SCHEMA.append(pa.field("outcome", pa.string(), nullable=False))
    .append(pa.field("error", pa.string()))
    .append(pa.field("version_id", pa.string()))
)
"""One row for each verdict that requested an action, with its outcome."""


class OutcomeSink(Protocol):
    """Stores the outcome of each verdict, batch by batch."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch of ``OUTCOME_SCHEMA``."""


class SpoolPart(Protocol):
    """Stores the rows of one key range; used by one thread at a time."""

    rows: int

    def append(self, batch: pa.RecordBatch) -> None:
        """Append a batch of ``LISTING_SCHEMA``."""

    def finish(self, within: KeyRange) -> None:
        """Record that these are all rows of a range: the range is listed from now on.

        The spool drops a part that is not finished.
        """


class Spool(Protocol):
    """Holds one listing on disk, so that memory does not grow with the bucket."""

    @property
    def rows(self) -> int:
        """Return how many rows the finished ranges have."""

    def part(self) -> SpoolPart:
        """Return a new part; may be called from several threads at once."""

    def finished(self) -> list[KeyRange]:
        """Return the listed ranges, those of an interrupted run included."""

    def batches(self, within: KeyRange = EVERYTHING) -> Iterator[pa.RecordBatch]:
        """Yield each row once of the finished ranges that share keys with a range.

        In large batches, by ascending ranges. May be called again.
        """


class VerdictSink(Protocol):
    """Stores verdicts, batch by batch; picklable once closed."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch of ``VERDICT_SCHEMA``."""

    def close(self) -> None:
        """Complete the files; may be called twice."""
