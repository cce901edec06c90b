"""A small world that cycles see and remember: what is not said is as it should be."""

from datetime import UTC, datetime, timedelta

from orphangc.core.lineage.continuation import LineageMemory
from orphangc.core.memory.acknowledgement import Acknowledgement
from orphangc.core.memory.compare_cycles import compared
from orphangc.core.memory.remembered import RememberedCheckpoint, RememberedDirectory, WorldMemory
from orphangc.core.memory.seen_cycles import LostFact
from orphangc.core.memory.sighting import (
    SeenJob,
    SeenPlace,
    SeenReport,
    Sighting,
    StoppingSavepoint,
)

T0 = datetime(2026, 11, 1, tzinfo=UTC)
ROOT = "s3://bucket/checkpoints"
EXTRA = "s3://other/savepoints"
JOB, NEXT, THIRD = "a" * 32, "b" * 32, "c" * 32
RETAINED = ("FINISHED", "SUBSUMED")
DELETED = ("CANCELED", "FINISHED", "SUBSUMED", "SUSPENDED")
REST = "http://orders:8081"


def day(number: float) -> datetime:
    return T0 + timedelta(days=number)


def a_directory(
    *ids: int,
    job: str = JOB,
    place: str = ROOT,
    at: float = 0,
    flags: tuple[str, ...] | None = RETAINED,
    depends_on: tuple[str, ...] = (),
    was_over: bool = False,
    stored: float = 0,
    sha256: str = "",
    is_self_contained: bool = False,
) -> RememberedDirectory:
    """Return a job directory that holds these checkpoints, stored a second apart."""
    uri = f"{place}/{job}"
    return RememberedDirectory(
        uri=uri,
        job_id=job,
        place=place,
        depends_on=depends_on,
        names=depends_on,
        was_over=was_over,
        checkpoints=tuple(
            RememberedCheckpoint(
                uri=f"{uri}/chk-{each}",
                checkpoint_id=each,
                seen_at=day(at),
                deleted_on=flags,
                stored_at=day(stored) + timedelta(seconds=each),
                sha256=sha256,
                is_self_contained=is_self_contained,
            )
            for each in ids
        ),
    )


def a_job(job: str = JOB, *, by: str = REST, alive: bool = True, **changes: object) -> SeenJob:
    """Return a running job, as its cluster shows it: configured to store below the root.

    One that was restored began after the first checkpoints were stored, another one before.
    """
    values: dict[str, object] = {
        "status": "RUNNING" if alive else "FINISHED",
        "started_at": day(0.001 if "restored" in changes else -1),
        "stores_in": (f"{ROOT}/{job}",),
        **changes,
    }
    return SeenJob(job_id=job, by=by, is_alive=alive, **values)  # type: ignore[arg-type]


def seen(
    at: float,
    *directories: RememberedDirectory,
    jobs: tuple[SeenJob, ...] = (),
    clusters: dict[str, bool] | None = None,
    places: tuple[SeenPlace, ...] = (),
    hidden: tuple[str, ...] = (),
    others: tuple[str, ...] = (),
    reports: tuple[SeenReport, ...] = (),
    ended: tuple[str, ...] = (),
    devices: dict[str, str] | None = None,
    stops: dict[str, StoppingSavepoint] | None = None,
    discarded: dict[str, datetime] | None = None,
    lineage: LineageMemory | None = None,
) -> Sighting:
    """Return what a cycle of one day sees; the storage root is always searched."""
    found = [each for each in directories if each.place not in hidden]
    stamped = [
        each.model_copy(
            update={
                "checkpoints": tuple(
                    one.model_copy(update={"seen_at": day(at)}) for one in each.checkpoints
                )
            }
        )
        for each in found
    ]
    counted = [
        SeenPlace(
            uri=uri,
            kind="storage_root" if uri == ROOT else "extra_root",
            device=(devices or {}).get(uri),
            checkpoints=sum(len(each.checkpoints) for each in stamped if each.place == uri)
            + len(others) * (uri == EXTRA),
        )
        for uri in sorted(
            {ROOT, *(each.place for each in found), *(() if not others else (EXTRA,))}
        )
    ]
    known = {each.uri for each in places}
    return Sighting(
        at=day(at),
        root=ROOT,
        places=(*(each for each in counted if each.uri not in known), *places),
        directories=tuple(stamped),
        present=frozenset({*others, *(one.uri for each in stamped for one in each.checkpoints)}),
        jobs=jobs,
        clusters={each.by: True for each in jobs if each.by.startswith("http")} | (clusters or {}),
        reports=reports,
        declared_ended=frozenset(ended),
        stops=stops or {},
        discarded=discarded or {},
        lineage=lineage or LineageMemory(),
    )


def cycles(
    *sightings: Sighting, given: tuple[Acknowledgement, ...] = ()
) -> tuple[tuple[LostFact, ...], WorldMemory]:
    """Return what the last of several cycles misses, and what it leaves to the next one."""
    memory = WorldMemory()
    facts: tuple[LostFact, ...] = ()
    for each in sightings:
        done = compared(memory, each, given)
        facts, memory = done.facts, done.memory
    return facts, memory


def missed(*sightings: Sighting, given: tuple[Acknowledgement, ...] = ()) -> list[tuple[str, str]]:
    """Return condition and name of what the last of several cycles misses and what blocks."""
    facts, _ = cycles(*sightings, given=given)
    return [(str(each.condition), each.what) for each in facts if not each.is_acknowledged]
