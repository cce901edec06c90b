"""What one cycle saw and a later one does not: what blocks, what Flink's normal course explains."""

from dataclasses import replace

import pytest

from orphangc.core.lineage.continuation import Continuation, ContinuationSource, LineageMemory
from orphangc.core.memory.acknowledgement import Acknowledgement
from orphangc.core.memory.compare_cycles import compared
from orphangc.core.memory.remembered import RememberedDirectory, WorldMemory
from orphangc.core.memory.sighting import SeenJob, SeenPlace, SeenReport, Sighting
from orphangc.core.model.joined_facts import joined
from unit.core.memory.memory_builders import (
    DELETED,
    EXTRA,
    JOB,
    NEXT,
    REST,
    RETAINED,
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
"""Another job, so that the storage root never holds nothing."""


def said(condition: str, what: str, since: float) -> Acknowledgement:
    return Acknowledgement(
        condition=condition, what=what, since=day(since), at=day(since + 1), by="me@here"
    )


def test_subsumed_checkpoints_of_a_living_job_ask_nothing() -> None:
    assert missed(seen(0, a_directory(1, 2, 3)), seen(1, a_directory(40, 41))) == []
    assert missed(seen(0, a_directory(1, 2)), seen(1, a_directory(2))) == []


@pytest.mark.parametrize("status", ["FINISHED", "CANCELED"])
def test_a_job_that_ended_under_a_policy_that_deletes_asks_nothing(status) -> None:
    """REST shows the end, and the flags say that Flink deletes then."""
    over = a_job(alive=False, status=status)
    before = seen(0, OTHER, a_directory(1, flags=DELETED), jobs=(a_job(),))
    assert missed(before, seen(1, OTHER, jobs=(over,))) == []


def test_an_end_that_the_policy_does_not_delete_upon_asks() -> None:
    """RETAIN_ON_CANCELLATION keeps what a cancelled job leaves."""
    over = a_job(alive=False, status="CANCELED")
    before = seen(0, OTHER, a_directory(1), jobs=(a_job(),))
    assert missed(before, seen(1, OTHER, jobs=(over,))) == [EMPTIED]


def test_an_end_is_remembered_after_rest_has_forgotten_it() -> None:
    """The checkpoint goes a little later than the cycle that saw the end."""
    over = a_job(alive=False)
    between = seen(1, OTHER, a_directory(1), jobs=(over,))
    after = seen(2, OTHER, clusters={REST: True})
    assert missed(seen(0, OTHER, a_directory(1), jobs=(a_job(),)), between, after) == []


def test_a_checkpoint_of_a_later_run_under_the_same_id_is_not_covered_by_an_old_end() -> None:
    """The job came back after that end."""
    over = a_job(alive=False)
    again = seen(2, OTHER, a_directory(5), jobs=(a_job(),))
    last = seen(3, OTHER, clusters={REST: True})
    assert missed(seen(0, OTHER, a_directory(1)), seen(1, OTHER, jobs=(over,)), again, last) == [
        EMPTIED
    ]


def test_a_redeploy_from_a_retained_checkpoint_asks_nothing() -> None:
    """It claimed the checkpoint, and its own are searched and name files beside it."""
    after = a_job(NEXT, restored=f"{DIRECTORY}/chk-1")
    before = seen(0, OTHER, a_directory(1), jobs=(a_job(),))
    own = a_directory(2, job=NEXT, depends_on=(DIRECTORY,))
    assert missed(before, seen(1, OTHER, own, jobs=(after,))) == []


def test_a_redeploy_that_may_have_claimed_nothing_asks() -> None:
    """NO_CLAIM is Flink's default, and REST does not tell it (A4)."""
    after = a_job(NEXT, restored=f"{DIRECTORY}/chk-1")
    before = seen(0, OTHER, a_directory(1), jobs=(a_job(),))
    assert missed(before, seen(1, OTHER, a_directory(2, job=NEXT), jobs=(after,))) == [EMPTIED]


def test_a_restore_that_rest_shows_is_no_claim() -> None:
    """A job depends on what it was restored from, whether or not it names files there (A4)."""
    after = a_job(NEXT, restored=f"{DIRECTORY}/chk-1")
    own = a_directory(2, job=NEXT, depends_on=(DIRECTORY,)).model_copy(update={"names": ()})
    before = seen(0, OTHER, a_directory(1), jobs=(a_job(),))
    assert missed(before, seen(1, OTHER, own, jobs=(after,))) == [EMPTIED]


@pytest.mark.parametrize("directories", [(), (f"s3://elsewhere/{NEXT}",)])
def test_a_claim_by_another_job_of_a_searched_id_asks(directories) -> None:
    """Two clusters run jobs of one id, and only the other one's directory is searched (A3)."""
    claims = a_job(NEXT, restored=f"{DIRECTORY}/chk-1", directories=directories)
    twin = a_job(NEXT, by="http://twin:8081", directories=(f"{ROOT}/{NEXT}",))
    own = a_directory(2, job=NEXT, depends_on=(DIRECTORY,))
    before = seen(0, OTHER, a_directory(1), own, jobs=(claims, twin))
    assert missed(before, seen(1, OTHER, own, jobs=(claims, twin))) == [EMPTIED]


def test_another_cluster_of_the_same_id_stands_for_none_that_is_silent() -> None:
    """Both showed it before, though one directory alone is searched (A3)."""
    twin = a_job(NEXT, by="http://twin:8081")
    own = a_directory(2, job=NEXT)
    assert missed(seen(0, own, jobs=(a_job(NEXT), twin)), seen(1, own, jobs=(twin,))) == [
        ("cluster_silent", REST)
    ]


def test_a_claim_by_a_job_that_is_not_searched_asks() -> None:
    """Nothing shows what that job needs."""
    after = a_job(NEXT, restored=f"{DIRECTORY}/chk-1")
    before = seen(0, OTHER, a_directory(1), jobs=(a_job(),))
    assert missed(before, seen(1, OTHER, jobs=(after,))) == [EMPTIED]


def test_a_checkpoint_whose_files_a_searched_job_names_asks() -> None:
    """Where REST says nothing, that job may have claimed another one (A5): a person knows."""
    user = a_directory(2, job=NEXT, depends_on=(DIRECTORY,))
    story = seen(0, OTHER, a_directory(1)), seen(1, OTHER, user)
    assert missed(*story) == [EMPTIED]
    ((fact,), _) = cycles(*story)
    assert f"or that a job of {user.uri}, whose checkpoints name its files, claimed" in fact.message
    assert "name its cluster with --flink-rest, which shows the claim" in fact.message
    shown = a_job(NEXT, restored=f"{DIRECTORY}/chk-1")
    assert missed(story[0], seen(1, OTHER, user, jobs=(shown,))) == []
    ((fact,), _) = cycles(story[0], seen(1, OTHER))
    assert "nothing shows that Flink removed them: bring them back" in fact.message


def test_a_claim_by_reference_explains_one_checkpoint_only() -> None:
    """The newest; the others were retained beside it."""
    user = a_directory(2, job=NEXT, depends_on=(DIRECTORY,))
    assert missed(seen(0, OTHER, a_directory(1, 2, was_over=True)), seen(1, OTHER, user)) == [
        EMPTIED
    ]


CLAIMS_NEWER = a_job(NEXT, restored=f"{DIRECTORY}/chk-9")


@pytest.mark.parametrize(("known", "asked"), [(1, []), (20, [EMPTIED])])
def test_a_claim_of_a_newer_checkpoint_than_a_cycle_saw_asks_nothing(known, asked) -> None:
    """Chk-9 had subsumed chk-1 when it was claimed; of chk-20 it says nothing."""
    before = seen(0, OTHER, a_directory(known), jobs=(a_job(),))
    own = a_directory(30, job=NEXT, depends_on=(DIRECTORY,))
    assert missed(before, seen(1, OTHER, own, jobs=(CLAIMS_NEWER,))) == asked


@pytest.mark.parametrize(
    ("source", "fact"),
    [
        (ContinuationSource.REFERENCE, []),
        (ContinuationSource.REST, [("checkpoint_not_found", f"{DIRECTORY}/chk-9")]),
    ],
)
def test_a_claim_is_known_after_the_checkpoints_that_showed_it_have_expired(source, fact) -> None:
    """REST goes on to report the claimed one; that a job was restored from it is no claim."""
    report = SeenReport(
        job_id=JOB,
        by=REST,
        path=f"{DIRECTORY}/chk-9",
        directory=DIRECTORY,
        checkpoint_id=9,
        triggered_at=day(0),
    )
    edge = Continuation(older=DIRECTORY, newer=f"{ROOT}/{NEXT}", source=source, seen_at=day(1))
    rest = (a_job(alive=False, status="CANCELED"), CLAIMS_NEWER)
    left = a_directory(8, was_over=True)
    naming = a_directory(10, 11, job=NEXT, depends_on=(DIRECTORY,), stored=0.5)
    if source is ContinuationSource.REST:
        naming = naming.model_copy(update={"names": ()})
    known = LineageMemory(continuations=(edge,))
    story = [
        seen(0, OTHER, left, jobs=(a_job(),)),
        seen(1, OTHER, left, naming, jobs=rest, reports=(report,), lineage=known),
        seen(2, OTHER, left, a_directory(11, job=NEXT, stored=0.5), jobs=rest, reports=(report,)),
        seen(3, OTHER, left, a_directory(11, job=NEXT, stored=0.5), jobs=rest, reports=(report,)),
    ]
    assert [each for each in missed(*story) if each[0] == "checkpoint_not_found"] == fact


def test_such_a_claim_by_a_job_that_is_not_searched_asks() -> None:
    """Nothing shows what it needs."""
    before = seen(0, OTHER, a_directory(1), jobs=(a_job(),))
    assert missed(before, seen(1, OTHER, jobs=(CLAIMS_NEWER,))) == [EMPTIED]


def test_a_job_that_goes_on_from_a_newer_checkpoint_of_its_own_claims_nothing() -> None:
    """Though another directory of the same fixed id is searched."""
    twin = a_directory(1, place=EXTRA)
    after = a_job(restored=f"{DIRECTORY}/chk-9")
    before = seen(0, OTHER, twin, a_directory(1), jobs=(a_job(),))
    assert missed(before, seen(1, OTHER, twin, jobs=(after,))) == [EMPTIED]


def a_chain(*, place: str = ROOT, more: tuple[SeenJob, ...] = ()) -> list[Sighting]:
    """Return a claim by a job that is replaced before a cycle sees any checkpoint of it."""
    first, second = a_job(restored=None), a_job(NEXT, restored=f"{DIRECTORY}/chk-1")
    third = a_job("d" * 32, restored=f"{place}/{NEXT}/chk-5")
    return [
        seen(0, OTHER, a_directory(1), jobs=(first,)),
        seen(1, OTHER, a_directory(1), jobs=(second,)),
        seen(2, OTHER, a_directory(6, job="d" * 32, depends_on=(DIRECTORY,)), jobs=(third, *more)),
    ]


def test_a_claimer_that_was_claimed_from_in_turn_asks_nothing() -> None:
    """It is over, and what it retained would be found where its last checkpoint was."""
    assert missed(*a_chain()) == []


def test_a_claimer_in_a_place_that_is_not_searched_asks() -> None:
    """It may have retained another checkpoint there."""
    assert missed(*a_chain(place="s3://elsewhere/checkpoints")) == [EMPTIED]


def test_a_claimer_that_still_runs_somewhere_asks() -> None:
    """It has completed nothing that is searched."""
    assert missed(*a_chain(more=(a_job(NEXT, by="http://other:8081"),))) == [EMPTIED]


def test_a_claimer_whose_cluster_is_silent_asks() -> None:
    """It may run on there."""
    *before, last = a_chain()
    silent = replace(last, clusters={REST: False})
    assert EMPTIED in missed(*before, silent)


@pytest.mark.parametrize(
    ("flags", "asked"), [((*DELETED, "FAILED"), []), (DELETED, [EMPTIED]), (RETAINED, [EMPTIED])]
)
def test_a_successor_that_goes_on_from_its_own_checkpoint_tells_no_end(flags, asked) -> None:
    """Its REST history began anew: only a policy that deletes upon every end explains."""
    after = a_job(NEXT, restored=f"{ROOT}/{NEXT}/chk-3")
    before = seen(0, OTHER, a_directory(1, flags=flags), jobs=(a_job(),))
    assert missed(before, seen(1, OTHER, a_directory(4, job=NEXT), jobs=(after,))) == asked


def test_a_job_that_goes_on_from_its_own_checkpoint_has_not_ended() -> None:
    """It is no successor of itself."""
    after = a_job(started_at=day(1), restored=f"{DIRECTORY}/chk-1")
    flags = (*DELETED, "FAILED")
    before = seen(0, OTHER, a_directory(1, flags=flags), jobs=(a_job(started_at=day(0)),))
    assert missed(before, seen(1, OTHER, jobs=(after,))) == [EMPTIED]


def test_another_job_of_a_session_cluster_is_no_successor() -> None:
    """Two jobs ran there."""
    before = seen(0, OTHER, a_directory(1), jobs=(a_job(), a_job(THIRD)))
    after = seen(1, OTHER, jobs=(a_job(THIRD), a_job(NEXT)))
    assert missed(before, after) == [EMPTIED]


def test_a_directory_that_went_from_some_checkpoints_to_none_asks() -> None:
    before = seen(0, OTHER, a_directory(1, 2))
    assert missed(before, seen(1, OTHER)) == [EMPTIED]
    assert missed(before, seen(1, OTHER), seen(2, OTHER), seen(99, OTHER)) == [EMPTIED]


def test_a_directory_that_is_back_asks_nothing_any_more() -> None:
    """Whether or not another checkpoint is there by then."""
    before = seen(0, OTHER, a_directory(1, 2))
    assert missed(before, seen(1, OTHER), seen(2, OTHER, a_directory(1, 2))) == []
    assert missed(before, seen(1, OTHER), seen(2, OTHER, a_directory(3))) == []


def test_it_reaches_the_directory_and_those_whose_files_it_named() -> None:
    user = a_directory(1, depends_on=(f"{ROOT}/{NEXT}",))
    facts, _ = cycles(seen(0, OTHER, user), seen(1, OTHER))
    assert [each.reach for each in facts] == [frozenset({DIRECTORY, f"{ROOT}/{NEXT}"})]
    assert facts[0].concerns([f"{ROOT}/{NEXT}"])
    assert not facts[0].concerns([f"{ROOT}/{THIRD}"])


def test_a_single_checkpoint_of_an_ended_job_asks() -> None:
    """No newer one subsumed it."""
    before = seen(0, a_directory(1, 2, was_over=True))
    assert missed(before, seen(1, a_directory(2, was_over=True))) == [
        ("checkpoint_not_found", f"{DIRECTORY}/chk-1")
    ]


def test_the_newest_checkpoint_asks_though_older_ones_are_there() -> None:
    """Flink subsumes the oldest."""
    assert missed(seen(0, a_directory(1, 2)), seen(1, a_directory(1))) == [
        ("checkpoint_not_found", f"{DIRECTORY}/chk-2")
    ]


def test_a_place_that_holds_nothing_any_more_asks_once_and_blocks_all() -> None:
    """Not once more for each of its directories."""
    extra = a_directory(1, place=EXTRA)
    empty = SeenPlace(uri=EXTRA, kind="extra_root")
    facts, _ = cycles(seen(0, OTHER, extra), seen(1, OTHER, places=(empty,)))
    assert [(str(each.condition), each.what, each.reach) for each in facts] == [
        ("place_lost", EXTRA, None)
    ]
    assert " and holds none now: bring it back, or" in facts[0].message


def test_savepoints_that_all_went_ask_and_a_single_one_does_not() -> None:
    """People and the operator dispose of savepoints."""
    one, two = f"{EXTRA}/savepoint-1", f"{EXTRA}/savepoint-2"
    empty = SeenPlace(uri=EXTRA, kind="extra_root")
    assert missed(seen(0, OTHER, others=(one, two)), seen(1, OTHER, others=(two,))) == []
    assert missed(seen(0, OTHER, others=(one,)), seen(1, OTHER, places=(empty,))) == [
        ("place_lost", EXTRA)
    ]


def test_a_place_that_cannot_be_searched_is_not_lost() -> None:
    """Another condition blocks for that."""
    unreachable = SeenPlace(uri=EXTRA, kind="extra_root", checkpoints=None)
    extra = a_directory(1, place=EXTRA)
    assert missed(seen(0, OTHER, extra), seen(1, OTHER, places=(unreachable,))) == []
    _, memory = cycles(seen(0, OTHER, extra), seen(1, OTHER, places=(unreachable,)))
    assert len(memory.directories) == 2


def test_a_place_on_another_device_asks() -> None:
    """Until it is back; an unknown device never does."""
    extra = a_directory(1, place=EXTRA)
    before, other = seen(0, extra, devices={EXTRA: "nfs a:/x"}), {EXTRA: "ext4"}
    assert missed(before, seen(1, extra, devices=other)) == [("place_replaced", EXTRA)]
    assert missed(before, seen(1, extra)) == []
    back = seen(2, extra, devices={EXTRA: "nfs a:/x"})
    assert missed(before, seen(1, extra, devices=other), back) == []


def test_a_cluster_that_is_not_asked_any_more_asks() -> None:
    """Jobs of it were alive."""
    before = seen(0, OTHER, jobs=(a_job(NEXT),))
    assert missed(before, seen(1, OTHER)) == [("cluster_silent", REST)]
    assert missed(before, seen(1, OTHER, clusters={REST: False})) == [("cluster_silent", REST)]
    (unasked,), _ = cycles(before, seen(1, OTHER))
    assert "is not asked any more" in unasked.message


def test_a_cluster_without_living_jobs_may_go() -> None:
    """So may one whose jobs another cluster shows, or that are declared ended by their ids."""
    assert missed(seen(0, OTHER, jobs=(a_job(NEXT, alive=False),)), seen(1, OTHER)) == []
    before = seen(0, OTHER, jobs=(a_job(NEXT),))
    assert missed(before, seen(1, OTHER, jobs=(a_job(NEXT, by="http://new:8081"),))) == []
    assert missed(before, seen(1, OTHER, ended=(NEXT,))) == []


def test_a_statement_that_the_cluster_contradicted_does_not_account_for_its_job() -> None:
    """It was wrong when it was made; a statement that is made since does."""
    declared = frozenset({NEXT})
    before = seen(0, OTHER, jobs=(a_job(NEXT),))
    later = replace(seen(1, OTHER), declared_ended=declared)
    assert missed(before, later) == []
    assert missed(replace(before, declared_ended=declared), later) == [("cluster_silent", REST)]


def test_a_cluster_of_the_same_fixed_id_does_not_stand_for_another() -> None:
    """Both showed it before, and two directories have that id."""
    staging = "http://staging:8081"
    both = (a_job(NEXT), a_job(NEXT, by=staging))
    twins = (a_directory(1, job=NEXT), a_directory(1, job=NEXT, place=EXTRA))
    after = seen(1, *twins, jobs=(a_job(NEXT, by=staging),))
    assert missed(seen(0, *twins, jobs=both), after) == [("cluster_silent", REST)]


def a_report(checkpoint_id: int = 7) -> SeenReport:
    """Return a completed checkpoint at a path that this machine does not resolve."""
    folder = f"/opt/flink/checkpoints/{NEXT}"
    return SeenReport(
        job_id=NEXT,
        by=REST,
        path=f"{folder}/chk-{checkpoint_id}",
        directory=folder,
        checkpoint_id=checkpoint_id,
    )


def test_a_reported_checkpoint_that_is_not_found_asks_after_rest_forgot_it_too() -> None:
    """An hour later no cluster names it (L3)."""
    fact = ("checkpoint_not_found", f"/opt/flink/checkpoints/{NEXT}/chk-7")
    before = seen(0, OTHER, jobs=(a_job(NEXT),), reports=(a_report(),))
    assert missed(before) == [fact]
    assert missed(before, seen(1, OTHER, clusters={REST: True})) == [fact]


def test_a_reported_checkpoint_of_a_finished_job_asks_nothing() -> None:
    """Flink deleted it."""
    before = seen(0, OTHER, jobs=(a_job(NEXT),), reports=(a_report(),))
    assert missed(before, seen(1, OTHER, jobs=(a_job(NEXT, alive=False),))) == []


def test_a_reported_checkpoint_that_a_newer_one_subsumed_asks_nothing() -> None:
    """It went between the answer and the look."""
    folder = f"{ROOT}/{NEXT}"
    report = SeenReport(
        job_id=NEXT, by=REST, path=f"{folder}/chk-7", directory=folder, checkpoint_id=7
    )
    assert missed(seen(0, a_directory(8, job=NEXT), reports=(report,))) == []


def reported(checkpoint_id: int) -> SeenReport:
    folder = f"{ROOT}/{NEXT}"
    path = f"{folder}/chk-{checkpoint_id}"
    return SeenReport(
        job_id=NEXT, by=REST, path=path, directory=folder, checkpoint_id=checkpoint_id
    )


def test_a_job_faster_than_the_listing_asks_nothing() -> None:
    """What REST reports last completed after the listing, in every cycle (U8)."""
    job = (a_job(NEXT),)
    story = [
        seen(
            day,
            a_directory(1000 * day + 7, job=NEXT, stored=day),
            jobs=job,
            reports=(reported(1000 * day + 9),),
        )
        for day in range(4)
    ]
    for last in range(1, 5):
        assert missed(*story[:last]) == []


def test_a_reported_checkpoint_that_the_next_cycle_does_not_find_either_asks() -> None:
    """No newer one came, and it is not there."""
    shown = a_directory(7, job=NEXT)
    story = [seen(day, shown, jobs=(a_job(NEXT),), reports=(reported(9),)) for day in range(2)]
    assert missed(*story) == [("checkpoint_not_found", f"{ROOT}/{NEXT}/chk-9")]


def test_an_acknowledgement_covers_exactly_one_fact() -> None:
    """Not that of another directory, nor another condition."""
    before = seen(0, OTHER, a_directory(1))
    word = said(*EMPTIED, 0)
    assert missed(before, seen(1, OTHER), given=(word,)) == []
    assert missed(before, seen(1, OTHER), given=(said("place_lost", DIRECTORY, 0),)) == [EMPTIED]
    other = said("job_directory_emptied", f"{ROOT}/{NEXT}", 0)
    assert missed(before, seen(1, OTHER), given=(other,)) == [EMPTIED]


@pytest.mark.parametrize("ended", [0.5, 1, 9])
def test_an_end_is_before_the_life_that_a_later_cycle_saw_whatever_clock_dated_it(ended) -> None:
    """The clock of the cycle that saw the end was ahead, or both times are one."""
    over = a_job(alive=False, started_at=day(-1))
    again = a_job(started_at=day(0.9))
    story = [
        seen(0, OTHER, a_directory(7), jobs=(a_job(),)),
        seen(ended, OTHER, jobs=(over,)),
        seen(1, OTHER, a_directory(9, stored=0.95), jobs=(again,)),
    ]
    directory = ("job_directory_emptied", f"{ROOT}/{JOB}")
    assert missed(*story, seen(2, OTHER)) == [("cluster_silent", REST), directory]
    assert missed(*story, seen(2, OTHER, clusters={REST: True})) == [directory]


def test_a_later_loss_of_the_same_thing_asks_again() -> None:
    """It had come back meanwhile."""
    story = (seen(0, OTHER, a_directory(1)), seen(1, OTHER), seen(2, OTHER, a_directory(1)))
    assert missed(*story, seen(3, OTHER), given=(said(*EMPTIED, 0),)) == [EMPTIED]


def test_the_word_on_a_place_covers_what_lay_in_it() -> None:
    """One question for twelve jobs."""
    extra = a_directory(1, place=EXTRA)
    word = said("place_lost", EXTRA, 0)
    assert missed(seen(0, OTHER, extra), seen(1, OTHER), seen(2, OTHER), given=(word,)) == []


def test_an_acknowledged_report_covers_no_later_checkpoint() -> None:
    """The job runs on, and what it completes next may need other files."""
    word = said("checkpoint_not_found", f"/opt/flink/checkpoints/{NEXT}/chk-7", 0)
    story = [seen(n, OTHER, jobs=(a_job(NEXT),), reports=(a_report(7 + n),)) for n in range(3)]
    assert missed(story[0], given=(word,)) == []
    later = ("checkpoint_not_found", f"/opt/flink/checkpoints/{NEXT}/chk-9")
    assert missed(*story, given=(word,)) == [later]


def test_an_acknowledged_report_covers_no_later_run_at_its_path() -> None:
    """Ids begin anew, so another checkpoint may be reported where the first one was."""
    fact = ("checkpoint_not_found", a_report().path)
    story = []
    for at in (0, 40):
        report = replace(a_report(), triggered_at=day(at - 1))
        story.append(seen(at, OTHER, jobs=(a_job(NEXT),), reports=(report,)))
        story.append(seen(at + 1, OTHER, clusters={REST: True}))
    word = said(*fact, 0)
    assert missed(*story[:2], given=(word,)) == []
    assert missed(*story, given=(word,)) == [fact]


def test_two_writers_lose_nothing_of_each_other() -> None:
    start = compared(WorldMemory(), seen(0, OTHER)).memory
    left = compared(start, seen(1, OTHER, a_directory(1))).memory
    right = compared(start, seen(1.1, OTHER, a_directory(1, job=NEXT))).memory
    both = joined(left, right)
    assert both == joined(joined(right, left), start)
    facts = compared(both, seen(2, OTHER)).facts
    assert [each.what for each in facts] == [DIRECTORY, f"{ROOT}/{NEXT}"]


def test_what_one_writer_explained_away_does_not_come_back_from_another() -> None:
    """Its end is remembered with it."""
    start = cycles(seen(0, OTHER, a_directory(1, flags=DELETED), jobs=(a_job(),)))[1]
    over = seen(1, OTHER, jobs=(a_job(alive=False),))
    explained = compared(start, over).memory
    both = joined(start, explained)
    assert compared(both, seen(2, OTHER, clusters={REST: True})).facts == ()


def test_a_savepoint_is_remembered_until_a_listing_of_now_lacks_its_folder() -> None:
    """An older listing may lack it because it was made later (R33)."""
    memory, folders = WorldMemory(), frozenset({"s3://bucket/checkpoints/sp"})
    steps = [(folders, folders), (frozenset(), None), (frozenset(), folders)]
    for number, (whole, listed) in enumerate(steps):
        shown = replace(seen(number, OTHER), savepoints=whole, savepoint_folders=listed)
        memory = compared(memory, shown).memory
        assert memory.savepoints == tuple(folders)
    gone = replace(seen(4, OTHER), savepoint_folders=frozenset())
    assert compared(memory, gone).memory.savepoints == ()


def test_a_word_on_one_loss_forgets_no_later_one_at_its_path() -> None:
    """Another run wrote chk-1 again; that went too, before the cycle that read the word."""
    stays = a_directory(0)

    def and_then(sha256: str) -> RememberedDirectory:
        written = (*stays.checkpoints, *a_directory(1, sha256=sha256).checkpoints)
        return stays.model_copy(update={"checkpoints": written})

    facts, memory = cycles(seen(0, and_then("a")), seen(1, and_then("b")))
    (lost,) = facts
    given = said(str(lost.condition), lost.what, 0)
    for at in (2, 3):
        done = compared(memory, seen(at, stays), (given,))
        memory = done.memory
        left = {each.since for each in done.facts if not each.is_acknowledged}
        assert left == {day(1)}


@pytest.mark.parametrize(("left_out", "asked"), [((), []), ((EXTRA,), [("place_lost", EXTRA)])])
def test_a_place_in_a_searched_storage_is_searched_unless_it_is_left_out_of_it(
    left_out, asked
) -> None:
    """A person gives it with --extra-roots no more, and says that no checkpoint is there."""
    around = SeenPlace(uri="s3://other", kind="storage", left_out=left_out)
    before = seen(0, OTHER, others=(f"{EXTRA}/savepoint-1",))
    facts, _ = cycles(before, seen(1, OTHER, places=(around,)))
    assert [(str(each.condition), each.what) for each in facts] == asked
    assert all("is not named any more: give it again" in each.message for each in facts)
