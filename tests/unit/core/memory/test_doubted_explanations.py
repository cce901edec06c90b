"""What looks like Flink's own deletion of a checkpoint, and need not be one: each of these asks."""

from dataclasses import replace

import pytest

from orphangc.core.memory.compare_cycles import compared
from orphangc.core.memory.job_lives import is_over
from orphangc.core.memory.remembered import WorldMemory
from orphangc.core.memory.sighting import SeenJob, SeenReport, StoppingSavepoint
from unit.core.memory.memory_builders import (
    DELETED,
    EXTRA,
    JOB,
    NEXT,
    REST,
    ROOT,
    THIRD,
    a_directory,
    a_job,
    cycles,
    day,
    missed,
    seen,
)

DIRECTORY = f"{ROOT}/{JOB}"
EMPTIED = ("job_directory_emptied", DIRECTORY)
OTHER = a_directory(1, job=THIRD)
EVERY_END = (*DELETED, "FAILED")
SAVEPOINT = f"{EXTRA}/savepoint-aaaaaa-0123456789ab"
STOPPED = {SAVEPOINT: StoppingSavepoint(checkpoint_id=5, stored_at=day(0.5))}


def not_found(number: int, job: str = JOB) -> tuple[str, str]:
    return ("checkpoint_not_found", f"{ROOT}/{job}/chk-{number}")


def from_savepoint(by: str = REST, **changes: object) -> SeenJob:
    return a_job(NEXT, by=by, restored=SAVEPOINT, is_restored_from_savepoint=True, **changes)


SESSION = (a_job(), a_job(THIRD))
"""Two jobs of one session cluster."""


@pytest.mark.parametrize("before", [SESSION, SESSION[:1]], ids=["session", "application"])
@pytest.mark.parametrize(("stops", "asked"), [(STOPPED, []), ({}, [EMPTIED])])
def test_only_a_savepoint_that_says_so_shows_that_its_job_was_stopped_with_it(
    before, stops, asked
) -> None:
    """People take a savepoint, cancel the job, and start from it: the checkpoints stay."""
    after = (from_savepoint(), *before[1:])
    own = a_directory(6, job=NEXT)
    story = (
        seen(0, OTHER, a_directory(1), jobs=before),
        seen(1, OTHER, own, jobs=after, stops=stops),
    )
    assert missed(*story) == asked


def test_a_savepoint_that_may_be_of_two_jobs_shows_the_stop_of_neither() -> None:
    """Both ids begin with its six digits."""
    twin = a_directory(2, job="a" * 31 + "b")
    before = seen(0, OTHER, a_directory(1), twin, jobs=SESSION)
    after = seen(1, OTHER, twin, jobs=(from_savepoint(), SESSION[1]), stops=STOPPED)
    assert missed(before, after) == [EMPTIED]


@pytest.mark.parametrize(
    ("by", "asked"), [("http://other:8081", []), (REST, [EMPTIED]), ("kubernetes:flink", [EMPTIED])]
)
def test_a_savepoint_is_of_the_job_of_the_cluster_that_started_another_one_from_it(
    by, asked
) -> None:
    """Of many jobs two ids begin alike by chance; that cluster ran only one of them.

    HA metadata does not say which cluster runs a job.
    """
    twin, shown = a_directory(2, job="a" * 31 + "b"), a_job("a" * 31 + "b", by=by)
    before = seen(0, OTHER, a_directory(1), twin, jobs=(*SESSION, shown))
    after = seen(1, OTHER, twin, jobs=(from_savepoint(), SESSION[1], shown), stops=STOPPED)
    assert missed(before, after) == asked


def test_a_job_that_went_on_after_the_savepoint_was_not_stopped_with_it() -> None:
    """Where some task fails while the job stops, Flink restarts it from a checkpoint.

    Source: Flink 1.15-2.3, ``StopWithSavepointStoppingException``.
    """
    before = seen(0, OTHER, a_directory(9), jobs=SESSION)
    after = seen(1, OTHER, jobs=(from_savepoint(), SESSION[1]), stops=STOPPED)
    assert missed(before, after) == [EMPTIED]


def test_a_start_from_the_stopping_savepoint_of_another_job_tells_no_end() -> None:
    """A rollback: the job that ran here was cancelled, and its checkpoints stay."""
    before = seen(0, OTHER, a_directory(1, job=THIRD), jobs=(a_job(THIRD),))
    lost = ("job_directory_emptied", f"{ROOT}/{THIRD}")
    own = a_directory(6, job=NEXT)
    assert missed(before, seen(1, own, jobs=(from_savepoint(),), stops=STOPPED)) == [lost]


def test_what_flink_deletes_upon_every_end_asks_nothing_after_any_savepoint() -> None:
    """The job that ran here is over in one way or another."""
    before = seen(0, OTHER, a_directory(1, flags=EVERY_END), jobs=(a_job(),))
    after = seen(1, OTHER, a_directory(6, job=NEXT), jobs=(from_savepoint(),))
    assert missed(before, after) == []


@pytest.mark.parametrize(("stored", "asked"), [(0.5, []), (-2, [EMPTIED])])
def test_a_job_of_one_id_is_stopped_only_with_a_savepoint_of_its_current_run(stored, asked) -> None:
    """An older one may be of an earlier run; this one was cancelled."""
    stops = {SAVEPOINT: StoppingSavepoint(checkpoint_id=5, stored_at=day(stored))}
    again = a_job(started_at=day(0.6), restored=SAVEPOINT, is_restored_from_savepoint=True)
    before = seen(0, OTHER, a_directory(1), jobs=(a_job(),))
    assert missed(before, seen(1, OTHER, jobs=(again,), stops=stops)) == asked


def test_a_leftover_of_a_higher_id_subsumes_nothing() -> None:
    """It was stored by an earlier run of the same fixed id, long before."""
    left = a_directory(4711, stored=-300)
    own = a_directory(5)
    both = own.model_copy(update={"checkpoints": (*left.checkpoints, *own.checkpoints)})
    assert missed(seen(0, both, jobs=(a_job(),)), seen(1, left, jobs=(a_job(),))) == [not_found(5)]


def test_a_checkpoint_of_unknown_store_time_subsumes_nothing() -> None:
    """The storage gives none, or an older memory has none."""
    newer = a_directory(2, stored=1)
    timeless = newer.model_copy(
        update={
            "checkpoints": tuple(
                e.model_copy(update={"stored_at": None}) for e in newer.checkpoints
            )
        }
    )
    assert missed(seen(0, a_directory(1)), seen(1, newer)) == []
    assert missed(seen(0, a_directory(1)), seen(1, timeless)) == [not_found(1)]


def test_copied_checkpoints_of_a_folder_that_is_no_job_directory_subsume_none() -> None:
    """Their ids are of different jobs."""
    copies = a_directory(1, 2, job="", place=EXTRA, depends_on=(DIRECTORY,))
    left = a_directory(2, job="", place=EXTRA, depends_on=(DIRECTORY,))
    lost = ("checkpoint_not_found", f"{copies.uri}/chk-1")
    assert missed(seen(0, OTHER, copies), seen(1, OTHER, left)) == [lost]


def reported(number: int, triggered: float) -> SeenReport:
    """Return a completed checkpoint of a directory that is searched."""
    return SeenReport(
        job_id=JOB,
        by=REST,
        path=f"{DIRECTORY}/chk-{number}",
        directory=DIRECTORY,
        checkpoint_id=number,
        triggered_at=day(triggered),
    )


def test_a_leftover_of_a_higher_id_subsumes_no_reported_checkpoint_either() -> None:
    """Neither when it is reported first, nor later."""
    left = a_directory(4711, stored=-300)
    story = [seen(n, left, jobs=(a_job(),), reports=(reported(5, 0),)) for n in (1, 2)]
    silent = seen(3, left, jobs=(a_job(),))
    assert missed(*story) == [not_found(5)]
    assert missed(*story, silent) == [not_found(5)]
    newer = a_directory(6, stored=2.5)
    found = newer.model_copy(update={"checkpoints": (*left.checkpoints, *newer.checkpoints)})
    assert missed(*story, seen(3, found, jobs=(a_job(),))) == []


KEPT = replace(reported(1, -0.1), is_living=True)
"""Report after the listing that the first of two checkpoints is not discarded."""


def kept(report: SeenReport, *, then: object = None, **changes: object) -> list:
    """Return what is asked where an older checkpoint is gone and its cluster shows it kept."""
    after = then or a_directory(2)
    last = seen(1, OTHER, after, jobs=(a_job(**changes),), reports=(report,))
    return missed(seen(0, OTHER, a_directory(1, 2), jobs=(a_job(),)), last)


def test_a_checkpoint_that_its_cluster_shows_kept_is_not_subsumed() -> None:
    """Though a newer one is there: the job retains several, and the job may be over as well."""
    assert set(kept(KEPT)) == {not_found(1)}
    over = replace(KEPT, is_living=False)
    assert set(kept(over, alive=False, status="CANCELED")) == {not_found(1)}


def test_no_end_and_no_claim_explains_what_the_cluster_of_a_living_job_shows_kept() -> None:
    """A job that claims nothing, in Flink's legacy mode, names files of the directory too."""
    user = a_directory(3, job=NEXT, depends_on=(DIRECTORY,))
    legacy = a_job(NEXT, by="http://next:8081", restored=f"{DIRECTORY}/chk-1")
    for report, asked in ((KEPT, {not_found(1)}), (replace(KEPT, is_living=False), set())):
        last = seen(1, user, a_directory(2), jobs=(a_job(), legacy), reports=(report,))
        first = seen(0, OTHER, a_directory(1, 2), user, jobs=(a_job(), legacy))
        assert {each for each in missed(first, last) if each == not_found(1)} == asked


def test_a_later_checkpoint_that_is_kept_at_the_path_of_an_earlier_one_shows_nothing_of_it() -> (
    None
):
    """The job began empty under the same id, and completed one of that path after the listing."""
    assert kept(replace(KEPT, triggered_at=day(0.9))) == []


def test_one_that_was_shown_kept_before_the_listing_too_was_there_then() -> None:
    """It did not complete after the listing, so that no later cycle finds it (R12)."""
    own, jobs = a_directory(2), (a_job(),)
    assert missed(seen(0, own, jobs=jobs, reports=(KEPT,))) == []
    stayed = replace(KEPT, was_shown_before=True)
    newest = reported(9, 0)
    for reports in ((stayed, newest), (newest, stayed)):
        assert missed(seen(0, own, jobs=jobs, reports=reports)) == [not_found(1)]


def test_a_reported_checkpoint_that_is_still_shown_kept_is_not_subsumed() -> None:
    """A newer one completes meanwhile, and this one is not there; once REST discards it, it is."""
    jobs, newer = (a_job(),), a_directory(2, stored=0.5)
    first = seen(0, a_directory(0), jobs=jobs, reports=(KEPT,))
    assert missed(first, seen(1, newer, jobs=jobs, reports=(KEPT,))) == [not_found(1)]
    assert missed(first, seen(1, newer, jobs=jobs)) == []


def second_run(**changes: object) -> SeenJob:
    """Return the job as it was started again, empty, under the same id."""
    return a_job(started_at=day(0.5), **changes)


@pytest.mark.parametrize("flags", [DELETED, EVERY_END])
def test_the_end_of_a_later_run_covers_no_checkpoint_of_an_earlier_one(flags) -> None:
    """That one was retained when its run was cancelled under another policy."""
    first = a_directory(9, flags=flags)
    before = seen(1, OTHER, first, jobs=(second_run(),))
    over = a_job(alive=False, status="CANCELED", started_at=day(0.5))
    assert missed(before, seen(2, OTHER, jobs=(over,))) == [EMPTIED]


def test_the_end_of_a_run_covers_its_own_checkpoints_after_a_failover() -> None:
    """Another JobManager went on from one of them."""
    flags, on = EVERY_END, a_job(started_at=day(1.2), restored=f"{DIRECTORY}/chk-1")
    story = [
        seen(0, OTHER, a_directory(1, flags=flags), jobs=(a_job(),)),
        seen(1.5, OTHER, a_directory(1, flags=flags), jobs=(on,)),
    ]
    over = a_job(alive=False, status="CANCELED", started_at=day(1.2), restored=on.restored)
    assert missed(*story, seen(2, OTHER, jobs=(over,))) == []


@pytest.mark.parametrize(("minutes", "asked"), [(5, [EMPTIED]), (20, [])])
def test_a_checkpoint_about_the_start_of_a_second_run_may_be_of_the_first(minutes, asked) -> None:
    """The clocks of storage and JobManager may differ by a quarter of an hour."""
    stored = 0.5 + minutes / (24 * 60)
    own = a_directory(1, flags=DELETED, stored=stored)
    story = [seen(0, OTHER, jobs=(a_job(),)), seen(1, OTHER, own, jobs=(second_run(),))]
    over = a_job(alive=False, status="CANCELED", started_at=day(0.5))
    assert missed(*story, seen(2, OTHER, jobs=(over,))) == asked


@pytest.mark.parametrize(("ended", "asked"), [(0.5, [EMPTIED]), (1.5, [])])
def test_the_end_of_an_earlier_run_covers_no_checkpoint_of_a_later_one(ended, asked) -> None:
    """The cluster of the first run shows it for long; no cluster shows the second one."""
    own = a_directory(1, flags=DELETED, stored=0.9)
    over = a_job(alive=False, status="CANCELED", ended_at=day(ended))
    assert missed(seen(1, OTHER, own), seen(2, OTHER, jobs=(over,))) == asked


@pytest.mark.parametrize(("started", "is_same"), [(0.5, True), (0.2, False)])
def test_an_end_without_a_time_is_one_of_the_run_that_was_seen(started, is_same) -> None:
    """Flink shows none of a job that was cancelled while it waited for resources."""
    at = {"started_at": day(started), "ended_at": day(started)}
    over = a_job(alive=False, status="CANCELED", **at)
    _, memory = cycles(seen(1, jobs=(second_run(),)), seen(2, jobs=(over,)))
    assert [is_over(each) for each in memory.jobs] == [is_same]


def test_a_second_run_subsumes_no_checkpoint_of_the_first() -> None:
    """It began empty, and its ids pass those of what the first one left."""
    left = a_directory(9)
    story = [
        seen(0, left, jobs=(a_job(),)),
        seen(1, left, jobs=(second_run(),)),
        seen(2, a_directory(10, stored=1.5), jobs=(second_run(),)),
    ]
    assert missed(*story) == [not_found(9)]


def test_a_run_that_no_cycle_saw_end_is_an_earlier_one_too() -> None:
    """The cycle that saw what it left saw no job; the next one sees the second run alone."""
    after = seen(2, a_directory(10, stored=1.5), jobs=(second_run(),))
    assert missed(seen(0, a_directory(9)), after) == [not_found(9)]


@pytest.mark.parametrize(
    ("placed", "asked"),
    [
        ({"stores_in": ()}, [EMPTIED]),
        ({"stores_in": (f"s3://staging/{JOB}",)}, [EMPTIED]),
        ({"directories": (f"s3://staging/{JOB}",)}, [EMPTIED]),
        ({"stores_in": (), "restored": f"{DIRECTORY}/chk-1"}, [EMPTIED]),
        ({"stores_in": (DIRECTORY,)}, []),
        ({"directories": (DIRECTORY,), "stores_in": (f"s3://staging/{JOB}",)}, []),
    ],
)
def test_the_end_of_a_job_in_a_cluster_counts_only_for_its_own_directory(placed, asked) -> None:
    """Many clusters may run jobs of one id, and only one of them stores here."""
    over = a_job(alive=False, **placed)
    assert missed(seen(0, OTHER, a_directory(1)), seen(1, OTHER, jobs=(over,))) == asked


def test_a_cluster_that_stored_in_a_directory_before_says_when_its_job_is_over() -> None:
    """Its history names no checkpoint any more."""
    was, over = a_job(directories=(DIRECTORY,)), a_job(alive=False, stores_in=())
    before = seen(0, OTHER, a_directory(1), jobs=(was,))
    assert missed(before, seen(1, OTHER, jobs=(over,))) == []


def test_a_living_job_of_an_unknown_place_may_be_that_of_a_directory() -> None:
    """Another cluster shows it over: the job has moved."""
    over = a_job(alive=False, stores_in=(DIRECTORY,))
    moved = a_job(by="http://new:8081", stores_in=())
    before = seen(0, OTHER, a_directory(1))
    assert missed(before, seen(1, OTHER, jobs=(over, moved))) == [EMPTIED]


def test_another_checkpoint_at_the_same_path_is_not_the_remembered_one() -> None:
    """And both are asked about for as long as it takes."""
    before = seen(0, a_directory(1, sha256="a"), jobs=(a_job(),))
    after = [seen(n, a_directory(1, sha256="b", stored=0.5), jobs=(a_job(),)) for n in (1, 2, 3)]
    assert missed(before, *after) == [not_found(1)]
    assert missed(before, *after, before) == [not_found(1)]
    assert missed(before, seen(1, a_directory(1, sha256="a"), jobs=(a_job(),))) == []


def test_a_stateless_restart_that_writes_the_same_path_again_asks_nothing() -> None:
    """Flink deleted the first run's checkpoint when that run was cancelled."""
    before = seen(0, a_directory(1, sha256="a", flags=EVERY_END), jobs=(a_job(),))
    own = a_directory(1, sha256="b", flags=EVERY_END, stored=0.6)
    assert missed(before, seen(1, own, jobs=(second_run(),))) == []


def test_a_memory_without_the_new_facts_is_read_and_explains_nothing_by_them() -> None:
    """An end covers what is known to be of its run, and a savepoint alone is no stop."""
    _, memory = cycles(seen(0, OTHER, a_directory(1, flags=EVERY_END), jobs=(a_job(),)))
    document = memory.model_dump(mode="json")
    for directory in document["directories"]:
        for each in directory["checkpoints"]:
            for name in ("stored_at", "sha256", "is_self_contained"):
                del each[name]
    for job in document["jobs"]:
        for name in ("began_at", "began_anew", "ended_from", "ended_as_before"):
            del job[name]
    older = WorldMemory.model_validate(document)
    over = a_job(alive=False, status="CANCELED")
    facts = compared(older, seen(1, OTHER, jobs=(over,))).facts
    assert [(str(each.condition), each.what) for each in facts] == [EMPTIED]
    newer = seen(1, OTHER, a_directory(2, stored=0.5), jobs=(a_job(),))
    assert compared(older, newer).facts == ()


@pytest.mark.parametrize(
    ("path", "triggered", "asked"),
    [
        (f"{DIRECTORY}/chk-2", -0.1, []),
        (f"{DIRECTORY}/chk-1", -0.1, [not_found(2)]),
        (f"{DIRECTORY}/chk-2", 0.9, [not_found(2)]),
    ],
    ids=["this one", "another one", "a later one at the same path"],
)
def test_a_checkpoint_that_its_cluster_shows_discarded_asks_nothing(path, triggered, asked) -> None:
    """Flink says that it deleted exactly this one."""
    before = seen(0, a_directory(1, 2), jobs=(a_job(),))
    after = seen(1, a_directory(1), jobs=(a_job(),), discarded={path: day(triggered)})
    assert missed(before, after) == asked


CLAIMS = a_job(NEXT, restored=f"{DIRECTORY}/chk-1")


def claimed(after: object, *, is_self_contained: bool = True, job: SeenJob = CLAIMS) -> list:
    """Return what is asked after another job started from a checkpoint that is gone since."""
    first = a_directory(1, is_self_contained=is_self_contained)
    shown = () if after is None else (after,)
    return missed(seen(0, OTHER, first, jobs=(a_job(),)), seen(1, OTHER, *shown, jobs=(job,)))


@pytest.mark.parametrize(("is_full", "asked"), [(True, []), (False, [EMPTIED])])
def test_a_full_checkpoint_whose_successor_has_gone_on_asks_nothing(is_full, asked) -> None:
    """It needs no file of any other folder; of an incremental one nothing may be claimed."""
    own = a_directory(2, job=NEXT, stored=0.7)
    assert claimed(own, is_self_contained=is_full) == asked


def test_a_full_one_asks_while_its_successor_has_completed_nothing_since() -> None:
    """It shows nothing, or a leftover of an earlier run alone."""
    assert claimed(None) == [EMPTIED]
    assert claimed(a_directory(900, job=NEXT, stored=-30)) == [EMPTIED]


def test_a_full_one_asks_where_the_successor_started_from_another_one() -> None:
    """Nothing shows what became of this one."""
    own = a_directory(2, job=NEXT, stored=0.7)
    assert claimed(own, job=a_job(NEXT, restored=f"{ROOT}/{THIRD}/chk-1")) == [EMPTIED]


def test_a_full_one_whose_job_has_a_successor_from_its_savepoint_asks_nothing() -> None:
    """That one claimed the savepoint, so that nothing says whether the job was stopped with it."""
    own = a_directory(6, job=NEXT, stored=0.7)
    assert claimed(own, job=from_savepoint()) == []
    assert claimed(own, job=from_savepoint(), is_self_contained=False) == [EMPTIED]


@pytest.mark.parametrize(("by", "asked"), [("http://other:8081", []), (REST, [EMPTIED])])
def test_a_full_one_asks_where_the_savepoint_may_be_of_another_job_of_its_cluster(
    by, asked
) -> None:
    """Both ids begin with its six digits."""
    own, twin = a_directory(6, job=NEXT, stored=0.7), a_job("a" * 31 + "b", by=by)
    story = (
        seen(0, OTHER, a_directory(1, is_self_contained=True), jobs=(a_job(), twin)),
        seen(1, OTHER, own, jobs=(from_savepoint(), twin)),
    )
    assert missed(*story) == asked


def test_a_full_one_asks_where_no_cluster_showed_its_job_and_another_one_showed_a_twin() -> None:
    """The savepoint may be of either: a job that is moved to another cluster begins with one."""
    own, twin = a_directory(6, job=NEXT, stored=0.7), a_job("a" * 31 + "b", by="http://other:8081")
    story = (
        seen(0, OTHER, a_directory(1, is_self_contained=True), jobs=(twin,)),
        seen(1, OTHER, own, jobs=(from_savepoint(), twin)),
    )
    assert missed(*story) == [EMPTIED]


def test_a_full_one_whose_successor_was_succeeded_in_turn_asks_nothing() -> None:
    """No cycle has seen a checkpoint of the one between them."""
    third = a_job("d" * 32, restored=f"{ROOT}/{NEXT}/chk-5")
    story = [
        seen(0, OTHER, a_directory(1, is_self_contained=True), jobs=(a_job(),)),
        seen(1, OTHER, a_directory(1, is_self_contained=True), jobs=(CLAIMS,)),
        seen(2, OTHER, a_directory(6, job="d" * 32, stored=1.5), jobs=(third,)),
    ]
    assert missed(*story) == []


def test_a_claim_explains_no_checkpoint_that_was_stored_after_it() -> None:
    """Another run of the id wrote the path again, and the job that claimed from it goes on."""
    user = a_directory(5, job=NEXT, depends_on=(DIRECTORY,))
    claims = a_job(NEXT, started_at=day(0.5), restored=f"{DIRECTORY}/chk-1")
    for stored, asked in ((0, []), (0.75, [EMPTIED])):
        again = a_directory(1, stored=stored)
        story = [seen(n, OTHER, user, *own, jobs=(claims,)) for n, own in ((1, [again]), (2, []))]
        assert missed(*story) == asked
