"""Rows on disk: temporary rows, the spool of a listing, verdicts and outcomes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa

from orphangc.core.decision.kernel import VERDICT_SCHEMA
from orphangc.core.ranges.key_ranges import KeyRange

OUTCOME_SCHEMA = (
    VERDICT_SCHEMA.append(pa.field("outcome", pa.string(), nullable=False))
    .append(pa.field("error", pa.string()))
    .append(pa.field("version_id", pa.string()))
)
"""One row for each verdict of a plan that asked for something: what became of it."""


class TemporaryRows(Protocol):
    """Rows put aside on disk; picklable once it is closed."""

    def append(self, batch: pa.RecordBatch) -> None:
        """Add a batch; not after ``close``."""
        ...

    def close(self) -> None:
        """Take note that there are no more; may be called twice."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all that was appended, in order; closes; may be asked more than once."""
        ...


class TemporarySpace(Protocol):
    """Gives room for what is too much for memory, as long as a run lasts; picklable."""

    def rows(self, schema: pa.Schema) -> TemporaryRows:
        """Return an empty pile for rows of a schema."""
        ...


class OutcomeSink(Protocol):
    """Takes what became of each verdict, batch by batch."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Take a batch of ``OUTCOME_SCHEMA``."""
        ...


class SpoolPart(Protocol):
    """Takes the rows of one key range; used by one thread at a time.

    Attributes:
        rows: How many it has taken.

    """

    rows: int

    def append(self, batch: pa.RecordBatch) -> None:
        """Add a batch of ``LISTING_SCHEMA``."""
        ...

    def finish(self, within: KeyRange) -> None:
        """Take note that these are all rows of a range: from now on it is listed.

        A part that is not finished was never there.
        """
        ...


class Spool(Protocol):
    """Holds one listing on disk, so that memory does not grow with the bucket."""

    @property
    def rows(self) -> int:
        """Return how many rows the finished ranges have."""
        ...

    def part(self) -> SpoolPart:
        """Return a new part; may be called from several threads at once."""
        ...

    def finished(self) -> list[KeyRange]:
        """Return the ranges that are listed; also those of an interrupted run that left them."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield each row of the finished ranges once, in large batches; may be asked again."""
        ...


class VerdictSink(Protocol):
    """Takes verdicts, batch by batch; picklable once it is closed."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Take a batch of ``VERDICT_SCHEMA``."""
        ...

    def close(self) -> None:
        """Take note that there are no more; may be called twice."""
        ...
