"""Explanation of one object's verdict: every comparison, and every checkpoint that names it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from flinkstate.places.locations import Location
from orphangc.core.areas.recognise import ha_remark, recognise
from orphangc.core.areas.table import area_at
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.uuid_words import words_of
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.documents.plan import Plan
from orphangc.core.model.naming import place_of_folder, uuid_of
from orphangc.core.model.types import DirectoryLayout


@dataclass(slots=True)
class OneVerdict:
    """Receives the verdicts of a cycle and keeps the one of a key."""

    key: str
    row: dict[str, Any] | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Keep the row if the batch has it."""
        found = batch.filter(pc.equal(batch.column("key"), self.key))
        if found.num_rows:
            self.row = found.to_pylist()[0]

    def close(self) -> None:
        """Nothing was opened."""


def explain(
    key: str,
    row: dict[str, Any],
    *,
    plan: Plan,
    checkpoints: Iterable[Checkpoint],
    tombstone: Mapping[str, Any] | None,
    base: Location,
) -> dict[str, Any]:
    """Return why the object has its verdict, as a document.

    Args:
        row: Verdict of the object, ``VERDICT_SCHEMA``.
        tombstone: Its tombstone, ``TOMBSTONE_SCHEMA``; ``None`` without one.
    """
    folder, _, name = key.rpartition("/")
    place = place_of_folder(folder, base.name)
    artifact = recognise(name, place)
    area = None if artifact.uuid is None else area_at(place)
    job = plan.job_of(row["job_id"], base.child(folder))
    return {
        "key": key,
        "uri": str(base.child(key)),
        "verdict": {"action": row["action"], "reason": row["reason"]},
        "object": {name: row[name] for name in ("size", "modified_at", "etag")},
        "scheme": {
            "scope": place.scope,
            "layout": artifact.layout,
            "checkpoint_id": artifact.checkpoint_id,
            "uuid": None if artifact.uuid is None else artifact.uuid.hex(),
            "area": None if area is None else area.name,
            "named_by": None if area is None else area.named_by,
            "remark": ha_remark(name) if artifact.layout is DirectoryLayout.UNRECOGNISED else None,
        },
        "referenced_by": [
            {"root": str(checkpoint.folder), "checkpoint_id": checkpoint.checkpoint_id, "how": how}
            for checkpoint in checkpoints
            if (how := _how(checkpoint, base.child(folder), name)) is not None
        ],
        "tombstone": None
        if tombstone is None
        else {name: tombstone[name] for name in ("since", "plan_id")},
        "bounds": plan.bounds.model_dump(mode="json"),
        "job": None if job is None else job.model_dump(mode="json", exclude={"missing"}),
    }


def _how(checkpoint: Checkpoint, folder: Location, name: str) -> str | None:
    if name in checkpoint.files.get(folder, ()):
        return "path"
    if any(name in names for names in checkpoint.files.values()):
        return "base name"
    uuid = uuid_of(name)
    if uuid is None:
        return None
    if any(_names_uuid(names, uuid) for names in checkpoint.files.values()):
        return "uuid"
    return "raw bytes" if uuid in checkpoint.raw else None


def _names_uuid(names: FileNames, uuid: bytes) -> bool:
    (hi,), (lo,) = words_of(uuid)
    all_hi, all_lo = names.uuids
    return bool(((all_hi == hi) & (all_lo == lo)).any())
