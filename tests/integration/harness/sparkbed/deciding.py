"""The same generated rows before the rule, the kernel and Spark: three answers, row by row.

Worlds that Hypothesis drew are put together into one listing; each keeps its own jobs and UUIDs, so
that one live set, one set of tombstones and one pass serve all.
"""

import hashlib
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, Phase, given, settings

from flinkstate.places.locations import Location
from orphangc.adapters.spark.spark_engine import opened_spark_engine
from orphangc.adapters.spark.work_folder import SentVerdicts
from orphangc.collect.decide.verdicts import DecidedJob, DecidePass
from orphangc.core.areas.area import AreaFacts
from orphangc.core.areas.recognise import recognise
from orphangc.core.areas.table import area_at
from orphangc.core.columns.listing_columns import Recogniser
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.kernel import BoundsTable, kernel, verdict_batch
from orphangc.core.model.bounds import JobBounds
from orphangc.core.model.naming import (
    Artifact,
    FilePlace,
    Owners,
    artifact_name,
    place_of_folder,
    uuid_of,
)
from orphangc.core.model.types import AreaName, JobState, ObjectKey, StoredObject
from properties.test_kernel import World, listed, worlds
from support.builders import JOB, OTHER_JOB, ago, some_bounds
from support.oracle import decide
from support.tombstone_tables import Tombstone, laid_as

__all__ = ["Fate", "Generated", "drawn", "on_spark", "spark_fates"]

ROOT = Location("file", "", "/root")
_UUID_LETTERS = 36
_ROWS_OF_A_PART = 97


_FACTS = (
    AreaFacts(state=JobState.ENDED, is_end_proven=True),
    AreaFacts(state=JobState.ENDED, is_end_proven=True, has_write_ahead_sink=True),
    AreaFacts(state=JobState.ENDED),
    AreaFacts(state=JobState.RUNNING, completed_id=42),
    AreaFacts(
        state=JobState.RUNNING, completed_id=42, newest_trigger=ago("4d"), not_merged_within=None
    ),
    AreaFacts(state=JobState.UNKNOWN),
)


_SPARED = frozenset({AreaName.EXCLUSIVE, AreaName.CHANGELOG})
"""Areas that are judged though their job is refused."""


class Fate(NamedTuple):
    """What is said of one object; two of one key differ in what the listing says of them."""

    key: str
    size: int | None
    modified_at: datetime | None
    etag: str | None
    job_id: str
    action: str
    reason: str


@dataclass(frozen=True)
class Generated:
    """A listing, and everything that is known of it."""

    objects: list[StoredObject]  # in the order of the listing; a key may come twice
    live: LiveSet  # UUIDs in use
    tombstones: dict[str, Tombstone]  # by key
    jobs: dict[str, JobBounds]  # bounds by job id
    facts: dict[str, AreaFacts]  # facts that the rules of areas ask for, by job id
    others: JobBounds  # what all that is no such job's is compared with

    def bounds_at(self, place: FilePlace, artifact: Artifact) -> JobBounds:
        """Return what one object is compared with: its area's rule may keep it whatever else."""
        area = area_at(place)
        bounds = self.jobs.get(place.job_id, self.others)
        if place.job_id not in self.jobs:
            is_closed = area is not None and area.name is not AreaName.SHARED
        else:
            facts = self.facts[place.job_id]
            is_closed = area is not None and area.objection(facts, place) is not None
            if area is not None and artifact.uuid is not None and not is_closed:
                is_refused = bounds.is_refused and area.name not in _SPARED
                further = (*bounds.bounds, *area.bounds_of(facts))
                bounds = replace(bounds, is_refused=is_refused, bounds=further)
        return replace(bounds, is_report_only=bounds.is_report_only or is_closed)

    def rule(self) -> Iterator[Fate]:
        for stored in self.objects:
            folder, _, name = stored.key.rpartition("/")
            place = place_of_folder(folder, ROOT.name)
            job_id = place.job_id if place.job_id in self.jobs else ""
            artifact = recognise(name, place)
            verdict = decide(
                stored,
                artifact,
                live=self.live,
                bounds=self.bounds_at(place, artifact),
                tombstone=self.tombstones.get(stored.key),
            )
            facts = (stored.key, stored.size, stored.modified_at, stored.etag)
            yield Fate(*facts, job_id, verdict.action.value, verdict.reason.value)

    def columns(self) -> Iterator[Fate]:
        columns = Recogniser(ROOT.name).columns(listed(self.objects))
        since_us, has = laid_as(self.tombstones.values()).look_up(columns)
        of_kind = [
            kind.place.job_id if kind.place.job_id in self.jobs else "" for kind in columns.kinds
        ]
        bounds = [
            self.bounds_at(
                kind.place, replace(kind.artifact, uuid=b"" if kind.is_artifact else None)
            )
            for kind in columns.kinds
        ]
        owner = columns.kind
        verdicts = kernel(
            columns,
            is_live=self.live.contains(columns.hi, columns.lo),
            since_us=since_us,
            has_tombstone=has,
            owner=owner,
            bounds=BoundsTable.of(bounds),
        )
        yield from fates_of(verdict_batch(columns, *verdicts, owner=owner, job_ids=of_kind))


def fates_of(rows: pa.RecordBatch | pa.Table) -> Iterator[Fate]:
    for row in rows.to_pylist():
        yield Fate(**{name: row[name] for name in Fate._fields})


def drawn(count: int) -> Generated:
    """Return so many worlds, always the same ones, in one."""
    found: list[World] = []

    @settings(
        max_examples=count,
        database=None,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(worlds())
    def draw(world: World) -> None:
        found.append(world)

    draw()
    return _together(found)


def _together(drawn_worlds: Sequence[World]) -> Generated:
    objects: list[StoredObject] = []
    parsed, raw = UuidSet(), UuidSet()
    tombstones: dict[str, Tombstone] = {}
    jobs: dict[str, JobBounds] = {}
    facts: dict[str, AreaFacts] = {}
    for number, world in enumerate(drawn_worlds):
        own = partial(_own_key, number)
        objects += [replace(each, key=own(each.key)) for each in world.objects]
        parsed.update(_own_uuid(number, uuid) for uuid in world.live.parsed)
        raw.update(_own_uuid(number, uuid) for uuid in world.live.raw)
        for each in world.tombstones.values():
            stored = replace(each.object, key=own(each.object.key))
            tombstones[stored.key] = replace(each, object=stored)
        jobs[_own_job(number, JOB)] = world.bounds[0]
        jobs[_own_job(number, OTHER_JOB)] = world.bounds[-1]
        facts[_own_job(number, JOB)] = _FACTS[number % len(_FACTS)]
        facts[_own_job(number, OTHER_JOB)] = _FACTS[(number + 1) % len(_FACTS)]
    return Generated(objects, LiveSet(parsed, raw), tombstones, jobs, facts, some_bounds())


def _own_job(number: int, job_id: str) -> str:
    return hashlib.md5(f"{number} {job_id}".encode(), usedforsecurity=False).hexdigest()


def _own_uuid(number: int, uuid: bytes) -> bytes:
    first = int.from_bytes(uuid[:8], "big") ^ number
    return first.to_bytes(8, "big") + uuid[8:]


def _own_key(number: int, key: str) -> ObjectKey:
    """Return a key with its world's own job directories and, if it ends in one, UUID."""
    for job_id in (JOB, OTHER_JOB):
        key = key.replace(job_id, _own_job(number, job_id))
    uuid = uuid_of(key.rpartition("/")[2])
    if uuid is None:
        return ObjectKey(key)
    return ObjectKey(key[:-_UUID_LETTERS] + artifact_name(None, _own_uuid(number, uuid)))


def spark_fates(runner: Callable[..., object], generated: Generated, folder: Path) -> list[Fate]:
    """Return what Spark says of each object, by way of the process that keeps the session."""
    (folder / "generated").write_bytes(pickle.dumps(generated))
    ran = runner("--decide", folder)
    assert getattr(ran, "code", None) == 0, ran
    tables = [pq.read_table(file) for file in sorted((folder / "verdicts").rglob("*.parquet"))]
    return [fate for table in tables for fate in fates_of(table)]


def on_spark(folder: Path, work: Location | None) -> None:
    """Let the pass that decides go over what a folder holds, and write the verdicts there.

    The listing is put in place of one; all the rest is the engine's own.
    """
    generated: Generated = pickle.loads((folder / "generated").read_bytes())
    rows = listed(generated.objects)
    with opened_spark_engine(ROOT, work) as engine:
        pieces = engine._folder
        files = [
            pieces.write_rows("listed", [rows.slice(start, _ROWS_OF_A_PART)])
            for start in range(0, rows.num_rows, _ROWS_OF_A_PART)
        ]
        engine._listed.parts = files
        engine.mark(generated.live, laid_as(generated.tombstones.values()))
        deciding = DecidePass(
            owners=Owners(ROOT, {}),
            jobs={
                job_id: DecidedJob(
                    job_id,
                    bounds,
                    generated.facts[job_id],
                    _SPARED if bounds.is_refused else frozenset(),
                )
                for job_id, bounds in generated.jobs.items()
            },
            outside_jobs=generated.others,
            areas=frozenset(AreaName),
            open_sink=partial(SentVerdicts, pieces),
        )
        sinks = engine.run(deciding, lambda *_: None).sinks
        for number, sink in enumerate(sinks):
            sink.fetch(folder / "verdicts" / str(number))
