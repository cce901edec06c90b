"""Delete markers of crashed runs, which only their journals record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from orphangc.collect.delete.journal import MARKER_SCHEMA, markers_of
from orphangc.collect.state.store import RootState
from orphangc.collect.sweep.shards import Cuts, Shards, shard_of
from orphangc.ports import TemporarySpace


@dataclass(slots=True)
class Recovered:
    """Delete markers by shard.

    What a crashed run deleted is ``gone`` to the next one; but only with its marker's version id
    can it be brought back.
    """

    markers: Shards

    @classmethod
    def of(
        cls, state: RootState, run_ids: Iterable[str], cuts: Cuts, scratch: TemporarySpace
    ) -> Recovered:
        """Return the markers that the journals of these runs record."""
        markers = Shards(scratch, MARKER_SCHEMA, cuts)
        for run_id in run_ids:
            for batch in markers_of(state, run_id):
                markers.write(batch)
        markers.close()
        return cls(markers)

    def versions(self, number: int, keys: pa.Array) -> pa.Array:
        """Return the marker's version id of each key of a shard, null where none is known."""
        known = shard_of([self.markers], number, MARKER_SCHEMA)
        return known["version_id"].take(pc.index_in(keys, value_set=known["key"]))
