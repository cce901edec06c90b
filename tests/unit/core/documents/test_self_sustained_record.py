"""A yes needs two looks with a newer completed checkpoint between, or the job's end."""

import pytest

from orphangc.core.documents.self_sustained_record import (
    RememberedUsageCheck,
    UsageCheckPart,
    answer_of,
    merged,
    remembered,
)
from orphangc.core.model.types import ForeignKind
from support.builders import T0, span

SNAPSHOT = "s3://bucket/savepoint-1"


def a_look(*, value, place="", **changes) -> UsageCheckPart:
    kind = ForeignKind.SNAPSHOT if place else None
    return UsageCheckPart(kind=kind, place=place, value=value, why="because", **changes)


def story(*chapters, is_ended=False) -> list[RememberedUsageCheck]:
    """Return what is remembered after each (value, newest checkpoint id), an hour each."""
    told: list[RememberedUsageCheck] = []
    before: tuple[RememberedUsageCheck, ...] = ()
    for hour, (value, newest) in enumerate(chapters):
        before = remembered(
            before,
            [a_look(value=value)],
            at=T0 + hour * span("1h"),
            newest_checkpoint_id=newest,
            is_ended=is_ended,
        )
        told.append(before[0])
    return told


@pytest.mark.parametrize(
    ("chapters", "answers"),
    [
        ([(True, 7)], [None]),
        ([(True, 7), (True, 7)], [None, None]),
        ([(True, 7), (True, 8)], [None, True]),
        ([(True, 7), (True, 8), (True, 8)], [None, True, True]),
        ([(False, 7), (True, 8)], [False, None]),
        ([(True, 7), (False, 8), (True, 9), (True, 10)], [None, False, None, True]),
        ([(True, 7), (None, 8), (True, 9), (True, 10)], [None, None, None, True]),
        ([(True, 7), (True, 8), (False, 9)], [None, True, False]),
        ([(True, 7), (True, 3), (True, 4)], [None, None, True]),  # ids began anew
        ([(True, 7), (True, None)], [None, None]),
        ([(None, None)], [None]),
    ],
)
def test_a_second_look_after_a_newer_checkpoint_confirms(chapters, answers):
    """A no needs none; a look that cannot tell begins the count anew."""
    assert [look.answer for look in story(*chapters)] == answers


def test_of_an_ended_job_one_look_is_enough():
    """No newer checkpoint can come."""
    assert [look.answer for look in story((True, 7), is_ended=True)] == [True]
    assert [look.answer for look in story((None, 7), is_ended=True)] == [None]


def test_an_end_confirms_only_while_it_is_proven():
    """The job may have been started again, and be restored from that very place."""
    (first,) = remembered((), [a_look(value=True)], at=T0, newest_checkpoint_id=7, is_ended=True)
    later = {"at": T0 + span("1h"), "is_ended": False}
    (look,) = remembered((first,), [a_look(value=True)], newest_checkpoint_id=7, **later)
    assert (first.answer, look.answer) == (True, None)
    (look,) = remembered((first,), [a_look(value=True)], newest_checkpoint_id=8, **later)
    assert look.answer is True


def test_since_is_the_first_look_in_a_row():
    """Whatever was seen between begins anew."""
    told = story((False, 7), (False, 8), (True, 9), (True, 10), (True, 11))
    hours = [(look.since - T0) // span("1h") for look in told]

    assert story((True, 7), (True, 7))[1].since == T0, "no newer checkpoint begins nothing anew"
    assert hours == [0, 0, 2, 2, 2]
    assert [look.since_checkpoint_id for look in told] == [7, 7, 9, 9, 9]
    assert [look.confirmed_at for look in told[2:]] == [None, T0 + span("3h"), T0 + span("3h")]
    assert "second look, after checkpoint 9" in told[2].reason
    assert told[3].reason == "because"


@pytest.mark.parametrize(
    ("values", "answer"),
    [((True, True), True), ((True, False), False), ((None, False), False), ((True, None), None)],
)
def test_a_job_is_self_sustained_if_every_look_says_so(values, answer):
    """A no of any place is a no."""
    assert answer_of([story((value, 7), is_ended=True)[0] for value in values]) is answer
    assert answer_of([]) is None


def test_a_place_that_this_run_did_not_ask_of_has_no_answer_from_an_earlier_one() -> None:
    """Another job may need it since; what cycles saw as an origin is asked of in each."""
    looks = [
        a_look(value=True),
        a_look(value=True, place=SNAPSHOT, restored_from=True),
        a_look(value=True, place="s3://bucket/another"),
    ]
    first = remembered((), looks, at=T0, newest_checkpoint_id=7, is_ended=False)
    second = remembered(first, looks[:2], at=T0, newest_checkpoint_id=8, is_ended=False)
    assert [each.place for each in second] == ["", SNAPSHOT]
    third = remembered(second, looks[:1], at=T0, newest_checkpoint_id=9, is_ended=False)
    assert [each.place for each in third] == [""]


def test_a_snapshot_that_others_need_may_not_go():
    """This job needs it no more, and another does."""
    (look,) = remembered(
        (),
        [a_look(value=True, place=SNAPSHOT, also_named_by=("f" * 32,))],
        at=T0,
        newest_checkpoint_id=7,
        is_ended=True,
    )

    assert (look.answer, look.is_safe_to_delete) == (True, False)
    assert "f" * 32 in look.reason


def test_of_two_memories_the_newer_look_at_each_place_counts():
    """Those of scheduled runs, and those of the command."""
    early, late = story((True, 7), (True, 8))

    assert merged([early], [late]) == merged([late], [early]) == (late,)
    assert merged([], [early]) == (early,)


def test_of_two_looks_at_the_same_instant_the_first_memory_counts() -> None:
    """That of the runs: what the command remembers is only added to it."""
    (scheduled,), (asked,) = story((None, 7)), story((True, 7))

    assert merged([scheduled], [asked]) == (scheduled,)
