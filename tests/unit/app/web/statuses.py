"""Statuses as a daemon has them, as scenarios: fresh, well, in trouble, large."""

from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from orphangc.app.config.configuration import ScheduledRoot
from orphangc.app.status.status_store import RootStatus, Status
from orphangc.core.documents.plan import BlockedPart, RefusedPart, Tally
from orphangc.core.documents.run_record import (
    DuePart,
    JobRecord,
    Phase,
    PhaseRecord,
    RunRecord,
    RunResult,
    SweptPart,
    TombstonesPart,
    totals_after,
)
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.shown import RunMode
from orphangc.core.model.types import Action, JobState, Mode, Outcome, Reason, Scope
from orphangc.core.world.known_world import (
    ClosedWorld,
    KnownCluster,
    PlaceKind,
    SearchedPlace,
    World,
    WorldChange,
)
from unit.app.render.plan_builder import (
    ACTIONS,
    DAMAGED,
    NOT_SEEN,
    NOW,
    OPEN_WORLD,
    ORDERS,
    PAYMENTS,
    ROOT,
    SESSIONS,
)
from unit.app.status import records

OTHER_ROOT = "s3://acme-flink-staging-eu/checkpoints"
GB = 10**9


@dataclass
class Source:
    """A daemon's memory that a test puts together."""

    now: Status
    alive: bool = True
    asked: list = field(default_factory=list)

    def status(self) -> Status:
        self.asked.append("status")
        return self.now

    def is_alive(self) -> bool:
        """Return whether the scheduler works."""
        self.asked.append("is_alive")
        return self.alive


def tally(reason, size, *, objects=None, scope=Scope.SHARED) -> Tally:
    """Return a tally of some size; objects of 64 MB unless said otherwise."""
    count = max(1, size // (64 * 10**6)) if objects is None else objects
    action = ACTIONS.get(reason, Action.KEEP)
    return Tally(scope=scope, action=action, reason=reason, objects=count, bytes=size)


def amounts(*, live=0, young=0, orphan=0, quarantine=0, due=0, refused=0, other=0):
    """Return the tallies of so many gigabytes of each kind."""
    sizes = {
        Reason.REFERENCED: live,
        Reason.TOO_YOUNG: young,
        Reason.ORPHAN: orphan,
        Reason.IN_QUARANTINE: quarantine,
        Reason.QUARANTINE_OVER: due,
        Reason.JOB_REFUSED: refused,
        Reason.UNRECOGNISED: other,
    }
    return tuple(tally(reason, int(size * GB)) for reason, size in sizes.items() if size)


def a_job(job_id=ORDERS, **changes) -> JobRecord:
    """Return a running job that nothing stops."""
    facts = {
        "job_id": job_id,
        "directories": (f"{ROOT}/{job_id}",),
        "state": JobState.RUNNING,
        "mode": Mode.DERIVED,
        "oldest_retained_checkpoint_id": 4180,
        "retained_checkpoint_ids": (4180, 4181, 4182),
        "amounts": amounts(live=57, young=8, orphan=3, quarantine=4, due=21),
        "state_self_sustained": True,
    }
    return JobRecord(**{**facts, **changes})


def added(jobs) -> tuple[Tally, ...]:
    sums: dict = {}
    for each in (t for job in jobs for t in job.amounts):
        key = (each.scope, each.action, each.reason)
        objects, size = sums.get(key, (0, 0))
        sums[key] = (objects + each.objects, size + each.bytes)
    return tuple(
        Tally(scope=scope, action=action, reason=reason, objects=objects, bytes=size)
        for (scope, action, reason), (objects, size) in sorted(sums.items())
    )


def a_world(*, changed=(), places=(), **changes) -> World:
    """Return a world of one storage root, an extra root and a cluster."""
    own = SearchedPlace(
        uri=ROOT,
        kind=PlaceKind.STORAGE_ROOT,
        device="s3://acme-flink-prod-eu",
        job_directories=2,
        checkpoints=6,
        newest_checkpoint_at=NOW - timedelta(minutes=14),
        since=NOW - timedelta(days=30),
    )
    extra = SearchedPlace(
        uri="s3://acme-flink-prod-eu/savepoints",
        kind=PlaceKind.EXTRA_ROOT,
        job_directories=0,
        checkpoints=0,
    )
    facts = {
        "places": (own, extra, *places),
        "clusters": (
            KnownCluster(uri="http://orders.flink:8081", jobs=(ORDERS,), answers=True),
            KnownCluster(uri="k8s://flink", jobs=(), answers=False),
        ),
        "changed": tuple(changed),
        "closed_world": ClosedWorld(stated=True, covers=(ROOT,)),
    }
    return World(**{**facts, **changes})


def a_record(number=0, *, jobs=None, before=None, **changes) -> RunRecord:
    """Return the record of a run that was done; ``number`` runs of six hours ago."""
    jobs = (a_job(), a_job(PAYMENTS)) if jobs is None else tuple(jobs)
    started = NOW - timedelta(hours=6 * number, minutes=12)
    sums = added(jobs)
    facts = {
        "run_id": f"{started:%Y%m%dT%H%M%S}-{number:08x}",
        "root": ROOT,
        "tool_version": "0.1.0",
        "started_at": started,
        "ended_at": started + timedelta(seconds=97),
        "phases": (
            PhaseRecord(
                phase=Phase.PLAN, result=RunResult.DONE, started_at=started, duration_seconds=64
            ),
            PhaseRecord(
                phase=Phase.SWEEP,
                result=RunResult.DONE,
                started_at=started + timedelta(seconds=64),
                duration_seconds=33,
            ),
        ),
        "plan_id": f"{number:064x}",
        "plan_folder": f"/var/lib/orphangc/plans/{number}",
        "objects_listed": sum(each.objects for each in sums),
        "bytes_listed": sum(each.bytes for each in sums),
        "list_requests": 1204,
        "roots_read": 3 * len(jobs),
        "amounts": sums,
        "jobs": jobs,
        "world": a_world(),
        "missing_objects": sum(job.missing_objects for job in jobs),
    }
    record = records.a_record(**{**facts, **changes})
    totals = totals_after(before.totals if before else record.totals, record)
    return record.model_copy(update={"totals": totals})


def without_plan(number=0, **changes) -> RunRecord:
    """Return the record of a run that came to nothing."""
    facts = {
        "jobs": (),
        "world": None,
        "plan_id": None,
        "plan_folder": None,
        "phases": (),
        "result": RunResult.FAILED,
        "exit_code": 1,
    }
    return a_record(number, **{**facts, **changes})


def a_root(*records, settings=None, **changes) -> RootStatus:
    """Return a storage root with its records, newest first."""
    given = {"root": ROOT, "mode": RunMode.DELETE, **(settings or {})}
    facts = {
        "settings": ScheduledRoot(**given),
        "records": records,
        "next_run_at": NOW + timedelta(hours=5, minutes=48),
    }
    return RootStatus(**{**facts, **changes})


def a_status(*roots, **changes) -> Status:
    """Return the status of a daemon that has been up for some days."""
    facts = {
        "version": "0.1.0",
        "now": NOW,
        "started_at": NOW - timedelta(days=9),
        "not_ready": None,
        "roots": roots or (a_root(a_record()),),
    }
    return Status(**{**facts, **changes})


# --- the stories


def fresh() -> Status:
    """Return a daemon that was started a moment ago, with everything as shipped."""
    root = a_root(settings={"mode": RunMode.REPORT}, next_run_at=NOW + timedelta(minutes=4))
    return a_status(root, started_at=NOW - timedelta(seconds=40))


def reporting() -> Status:
    """Return a daemon after its first report: nothing was said yet of what it cannot know."""
    unclear = {"blocked": (OPEN_WORLD, NOT_SEEN), "state": JobState.UNKNOWN}
    jobs = (
        a_job(**unclear, amounts=amounts(live=57, young=8, orphan=28)),
        a_job(
            PAYMENTS,
            **unclear,
            amounts=amounts(live=22, young=4, orphan=9),
            state_self_sustained=False,
        ),
        a_job(SESSIONS, **unclear, amounts=amounts(live=14, young=1, orphan=41)),
    )
    record = a_record(jobs=jobs, mode=RunMode.REPORT, effective_mode=RunMode.REPORT)
    return a_status(a_root(record, settings={"mode": RunMode.REPORT}))


def well(runs=40) -> Status:
    """Return a daemon that deletes, over ten days, and has nothing to complain of."""
    random = Random(7)
    records, before = [], None
    for number in reversed(range(runs)):
        grown = 1 + 0.004 * (runs - number)
        jobs = (
            a_job(
                amounts=amounts(
                    live=57 * grown,
                    young=8 + random.random(),
                    orphan=3,
                    quarantine=4 + 2 * random.random(),
                    due=2,
                )
            ),
            a_job(
                PAYMENTS,
                amounts=amounts(
                    live=31 * grown, young=4, orphan=1, quarantine=2 + random.random(), due=1
                ),
            ),
            a_job(
                SESSIONS,
                state=JobState.ENDED,
                amounts=amounts(live=9, quarantine=max(0.1, number * 0.4)),
                retained_checkpoint_ids=(88,),
            ),
        )
        swept = (
            SweptPart(action=Action.DELETE, outcome=Outcome.DONE, objects=47, bytes=3 * GB),
            SweptPart(action=Action.TOMBSTONE, outcome=Outcome.DONE, objects=62, bytes=4 * GB),
        )
        tombstones = TombstonesPart(
            objects=160,
            bytes=7 * GB,
            oldest_at=NOW - timedelta(hours=30),
            due=tuple(
                DuePart(
                    day=(NOW + timedelta(days=n)).date(), objects=40 + 9 * n, bytes=(3 - n) * GB
                )
                for n in (0, 1, 2)
            ),
        )
        before = a_record(number, jobs=jobs, swept=swept, tombstones=tombstones, before=before)
        records.insert(0, before)
    return a_status(a_root(*records))


def troubled() -> Status:
    """Return a daemon with much that needs a person."""
    unreadable = RefusedPart(
        guard=Guard.UNREADABLE_ROOT,
        message=f"cannot read {ROOT}/{SESSIONS}/chk-4180/_metadata: unexpected end at byte 1204;"
        " nothing will be planned for removal",
    )
    halted = BlockedPart(
        condition=Condition.HALTED,
        message=f"run 20261120T081455-7f2e: {PAYMENTS}/shared/41_9b2c1a52 was in use",
    )
    first = a_record(
        1,
        jobs=(
            a_job(refused=unreadable, amounts=amounts(refused=93), state_self_sustained=None),
            a_job(
                SESSIONS, refused=unreadable, amounts=amounts(refused=55), state_self_sustained=None
            ),
        ),
        result=RunResult.REFUSED,
        exit_code=4,
    )
    locked = without_plan(
        0,
        result=RunResult.LOCKED,
        exit_code=11,
        error="s3://acme-flink-ops/orphangc/lock is held by orphangc-cronjob-28901, pid 1, since"
        " 2026-11-21T13:02:11Z",
    )
    second = a_record(
        0,
        root=OTHER_ROOT,
        run_id="20261121T143212-00beef00",
        jobs=(
            a_job(
                PAYMENTS,
                blocked=(halted,),
                state_self_sustained=False,
                directories=(f"{OTHER_ROOT}/{PAYMENTS}",),
            ),
            a_job(
                "e" * 32,
                refused=DAMAGED,
                missing_objects=2,
                amounts=amounts(refused=18),
                directories=(f"{OTHER_ROOT}/{'e' * 32}",),
                state_self_sustained=None,
            ),
        ),
        swept=(
            SweptPart(action=Action.DELETE, outcome=Outcome.FAILED, objects=12, bytes=GB),
            SweptPart(action=Action.DELETE, outcome=Outcome.DONE, objects=300, bytes=20 * GB),
        ),
        result=RunResult.SOME_DELETES_FAILED,
        exit_code=3,
        world=a_world(
            changed=(
                WorldChange(
                    condition=Condition.CLUSTER_SILENT,
                    what="http://payments.flink.svc.cluster.local:8081",
                    since=NOW - timedelta(hours=7),
                ),
                WorldChange(
                    condition=Condition.PLACE_LOST,
                    what="s3://acme-flink-archive/savepoints",
                    since=NOW - timedelta(days=2),
                    acknowledged=True,
                ),
            ),
            places=(
                SearchedPlace(
                    uri=OTHER_ROOT, kind=PlaceKind.SIBLING, job_directories=None, checkpoints=None
                ),
            ),
        ),
        warnings=("checkpoints were read, but nothing in the listing is referred to: an alias?",),
    )
    third = without_plan(
        0,
        root="s3://acme-flink-dr/checkpoints",
        run_id="20261121T143212-00dead00",
        result=RunResult.UNREACHABLE,
        exit_code=10,
        error="cannot list s3://acme-flink-dr/checkpoints: AccessDenied",
    )
    return a_status(
        a_root(replace_id(locked, "a"), replace_id(locked, "b", hours=1), first),
        a_root(second, settings={"root": OTHER_ROOT}),
        a_root(third, settings={"root": "s3://acme-flink-dr/checkpoints"}),
    )


def replace_id(record: RunRecord, suffix: str, hours: int = 0) -> RunRecord:
    """Return the same record under another id, and some hours earlier."""
    earlier = timedelta(hours=hours)
    changes = {
        "run_id": f"{record.run_id}{suffix}",
        "started_at": record.started_at - earlier,
        "ended_at": record.ended_at - earlier,
    }
    return record.model_copy(update=changes)


def crowded(roots=5, jobs=4) -> Status:
    """Return a daemon over several roots with long names, and many jobs."""
    random = Random(11)
    found = []
    for place in range(roots):
        bucket = f"acme-very-long-bucket-name-{place}-eu-central-1-production"
        uri = f"s3://{bucket}/platform/flink/{'team-' * 6}{place}/checkpoints"
        story = [
            a_job(
                f"{random.getrandbits(128):032x}",
                amounts=amounts(
                    live=random.uniform(1, 900),
                    young=random.uniform(0, 90),
                    orphan=random.uniform(0, 20),
                    quarantine=random.uniform(0, 60),
                    due=random.uniform(0, 200),
                    other=random.uniform(0, 3),
                ),
                state_self_sustained=random.choice((True, True, False, None)),
            )
            for _ in range(jobs)
        ]
        records = [
            a_record(number, jobs=story, root=uri, run_id=f"20261121T1432{number:02}-{place:08x}")
            for number in range(6)
        ]
        found.append(a_root(*records, settings={"root": uri}))
    return a_status(*found)


STORIES = {
    "fresh": fresh,
    "reporting": reporting,
    "well": well,
    "troubled": troubled,
    "crowded": crowded,
}
