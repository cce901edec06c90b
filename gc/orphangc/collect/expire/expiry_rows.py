"""A plan of ``expire``: one row for each ``_metadata``, the plan of its cycle around them."""

from collections.abc import Iterable, Mapping

import pyarrow as pa

from flinkstate.places.checkpoint_names import METADATA_NAME, may_be_metadata
from flinkstate.places.locations import Location, canonical
from orphangc.collect.cycle import Cycle
from orphangc.core.documents.lineage_report import LineageCheckpointPart, LineageReport
from orphangc.core.documents.plan import Plan, Tally
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.ports import VERDICT_SCHEMA


def stored_metadata(cycle: Cycle) -> dict[str, StoredObject]:
    """Return each stored or quarantined ``_metadata`` by the folder of its checkpoint.

    In the storage root its key is relative to that, elsewhere it is its URI.
    """
    found: dict[str, StoredObject] = {}
    base = cycle.mark.owners.base
    for read in (*cycle.seen.first, *cycle.seen.second):
        for checkpoint in read.checkpoints:
            found.setdefault(
                str(checkpoint.folder),
                StoredObject(
                    key=_key(checkpoint.folder, base), size=0, modified_at=checkpoint.modified_at
                ),
            )
    for each in cycle.remembered.expired:
        if each.is_in_quarantine:
            found.setdefault(
                each.uri,
                StoredObject(
                    key=ObjectKey(f"{each.uri}/{METADATA_NAME}" if each.base else each.key),
                    size=each.size,
                    modified_at=each.stored_at,
                ),
            )
    for folder, listed in cycle.seen.second[0].scan.readable:
        found[str(base.child(folder))] = listed
    return found


def _key(folder: Location, base: Location | None = None) -> ObjectKey:
    below = None if base is None else base.key_of(folder)
    place = str(folder) if below is None else below
    is_file = may_be_metadata(folder.path)  # one of another name stands for itself
    return ObjectKey(place if is_file else f"{place}/{METADATA_NAME}".lstrip("/"))


def rows_of(
    checkpoints: Iterable[LineageCheckpointPart], stored: Mapping[str, StoredObject]
) -> pa.RecordBatch:
    """Return the verdicts on some checkpoints, ``VERDICT_SCHEMA``."""
    return pa.RecordBatch.from_pylist(
        [
            {
                "job_id": each.job_id,
                "key": facts.key,
                "scope": each.kind.value,
                "size": facts.size,
                "modified_at": facts.modified_at,
                "etag": facts.etag,
                "checkpoint_id": each.checkpoint_id,
                "action": each.action.value,
                "reason": each.reason.value,
            }
            for each in checkpoints
            for facts in (stored.get(each.uri) or _unknown(each),)
        ],
        schema=VERDICT_SCHEMA,
    )


def _unknown(checkpoint: LineageCheckpointPart) -> StoredObject:
    """Return the facts of a checkpoint at a place that is reported, and not searched."""
    key = _key(canonical(checkpoint.uri))
    return StoredObject(key=key, size=0, modified_at=checkpoint.stored_at)


def expiry_plan(cycle: Cycle, report: LineageReport, rows: pa.RecordBatch) -> Plan:
    """Return the unsigned plan of ``expire``: that of its cycle, with verdicts on checkpoints."""
    cell = ["scope", "action", "reason"]
    sums = pa.table(rows).group_by(cell).aggregate([("size", "sum"), ([], "count_all")])
    tallies = [
        Tally(objects=each.pop("count_all"), bytes=each.pop("size_sum"), **each)
        for each in sums.sort_by([(name, "ascending") for name in cell]).to_pylist()
    ]
    changes = {
        "tallies": tuple(tallies),
        "expiry": report,
        "unneeded": None,
        "objects_listed": rows.num_rows,
        "bytes_listed": sum(each.bytes for each in tallies),
        "reported": (),
        "extras": None,
    }
    return cycle.plan.model_copy(update=changes)
