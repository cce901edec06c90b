"""A block stays until what is missed is back: no later cycle explains away what one asked for."""

import pytest

from orphangc.core.memory.sighting import StoppingSavepoint
from unit.core.memory.memory_builders import (
    DELETED,
    JOB,
    NEXT,
    REST,
    ROOT,
    THIRD,
    a_directory,
    a_job,
    day,
    missed,
    seen,
)

DIRECTORY = f"{ROOT}/{JOB}"
EMPTIED = ("job_directory_emptied", DIRECTORY)
OTHER = a_directory(1, job=THIRD)
EVERY_END = (*DELETED, "FAILED")


@pytest.mark.parametrize(("claimed", "cycles"), [(9, 1), (9, 2), (9, 5), (10, 3)])
def test_a_claim_never_explains_the_one_beside_it(claimed, cycles) -> None:
    """Neither of the newest that is missed, nor of a newer one, where a job retains two (A17)."""
    claims = a_job(NEXT, restored=f"{DIRECTORY}/chk-{claimed}")
    own = a_directory(31, job=NEXT, depends_on=(DIRECTORY,))
    after = [seen(1 + n, OTHER, own, jobs=(claims,)) for n in range(cycles)]
    assert missed(seen(0, OTHER, a_directory(8, 9), jobs=(a_job(),)), *after) == [EMPTIED]


def test_a_directory_of_a_job_that_was_over_stays_one_while_it_is_missed() -> None:
    """A cycle that cannot tell the end does not make it a living one."""
    after = [seen(1 + n, a_directory(2)) for n in range(3)]
    assert missed(seen(0, a_directory(1, 2, was_over=True)), *after) == [
        ("checkpoint_not_found", f"{DIRECTORY}/chk-1")
    ]


@pytest.mark.parametrize(("flags", "asked"), [(EVERY_END, []), (DELETED, [EMPTIED])])
def test_a_statement_explains_what_flink_deletes_upon_every_end(flags, asked) -> None:
    """The job may as well have failed (A1)."""
    before = seen(0, OTHER, a_directory(1, flags=flags), jobs=(a_job(),))
    after = [seen(n, OTHER, clusters={REST: True}, ended=(JOB,)) for n in (1, 2)]
    assert missed(before, *after) == asked


def test_a_statement_explains_nothing_in_a_later_cycle_that_is_without_it() -> None:
    """Only its own cycle relies upon it (A1b)."""
    before = seen(0, OTHER, a_directory(1, flags=EVERY_END), jobs=(a_job(),))
    stated = seen(1, OTHER, clusters={REST: True}, ended=(JOB,))
    again = [seen(n, OTHER, clusters={REST: True}) for n in (2, 3)]
    assert missed(before, stated) == []
    assert missed(before, stated, *again) == [EMPTIED]


@pytest.mark.parametrize(("flags", "asked"), [(EVERY_END, []), (DELETED, [EMPTIED])])
def test_a_job_that_starts_empty_tells_no_end_of_the_one_before(flags, asked) -> None:
    """That one may have failed, and left its checkpoints (A2)."""
    before = seen(0, OTHER, a_directory(1, flags=flags), jobs=(a_job(),))
    assert missed(before, seen(1, OTHER, jobs=(a_job(NEXT),))) == asked


@pytest.mark.parametrize("fixed_id", [f"{2:032x}", "ffffffffc3df62e5" + "0" * 16])
def test_a_savepoint_of_another_fixed_id_tells_no_end(fixed_id) -> None:
    """Its name starts with six digits that fixed ids share; every other hash is negative (A14)."""
    fixed = a_directory(1, job=fixed_id)
    old, beside = a_job(fixed.job_id), a_job(THIRD)
    start = f"{ROOT}/savepoint-{fixed_id[:6]}-0123456789ab"
    after = a_job(NEXT, restored=start, is_restored_from_savepoint=True)
    stops = {start: StoppingSavepoint(checkpoint_id=5, stored_at=day(0.5))}
    before = seen(0, OTHER, fixed, jobs=(old, beside))
    assert missed(before, seen(1, OTHER, jobs=(after, beside), stops=stops)) == [
        ("job_directory_emptied", fixed.uri)
    ]


def test_a_savepoint_of_another_job_of_the_application_tells_no_end() -> None:
    """Flink 2.3 computes the ids of an application's jobs from one: they begin alike."""
    first, second = "5d2f1c0e9a8b7c6d5e4f3a2b1c0d9e8f", "5d2f1c0e99f325435e4f3a2b1b754765"
    own = a_directory(1, job=first)
    start = f"{ROOT}/savepoint-5d2f1c-0123456789ab"
    stops = {start: StoppingSavepoint(checkpoint_id=5, stored_at=day(0.5))}
    forked = a_job(NEXT, restored=start, is_restored_from_savepoint=True)
    before = seen(0, OTHER, own, jobs=(a_job(first), a_job(second)))
    after = seen(1, OTHER, jobs=(a_job(second), forked), stops=stops)
    assert missed(before, after) == [("job_directory_emptied", own.uri)]


def test_a_statement_about_the_job_of_a_silent_cluster_is_not_remembered_either() -> None:
    """The cluster is missed again by a cycle that is without it."""
    before = seen(0, OTHER, jobs=(a_job(NEXT),))
    assert missed(before, seen(1, OTHER, ended=(NEXT,))) == []
    assert missed(before, seen(1, OTHER, ended=(NEXT,)), seen(2, OTHER)) == [
        ("cluster_silent", REST)
    ]
