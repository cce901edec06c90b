"""What becomes of a fact in a cycle that does not see it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from orphangc.core.memory.remembered import KEPT_AFTER_END, RememberedPlace
from orphangc.core.memory.sighting import SeenPlace, Sighting
from unit.core.memory.memory_builders import EXTRA, ROOT, T0, a_directory, cycles, day, missed, seen
from unit.core.memory.test_lost_facts import OTHER, said

FULL = seen(0, OTHER, a_directory(1, place=EXTRA))


def test_it_is_missed_or_explained_and_what_was_explained_is_forgotten_in_the_end() -> None:
    """Another writer may still know it until then; what is missed is never forgotten."""
    place = RememberedPlace(uri=ROOT, kind="storage_root", first_seen_at=T0, seen_at=T0)
    assert [*place.unseen(day(99), is_missed=True)] == [place]
    (explained,) = place.unseen(day(1), is_missed=False)
    assert explained == place.model_copy(update={"resolved_at": day(1)})
    last, later = day(1) + KEPT_AFTER_END, day(1.001) + KEPT_AFTER_END
    assert [*explained.unseen(last, is_missed=False)] == [explained]
    assert [*explained.unseen(later, is_missed=False)] == []
    assert [*explained.unseen(later, is_missed=True)] == [explained]


@pytest.mark.parametrize("checkpoints", [(), (0,), (None,)])
def test_a_place_is_missed_in_each_cycle_until_it_is_back(checkpoints) -> None:
    """Whether it is not named, named and empty, or named and cannot be searched at first."""
    named = tuple(SeenPlace(uri=EXTRA, kind="extra_root", checkpoints=n) for n in checkpoints)
    story = [FULL, seen(1, OTHER, places=named), seen(2, OTHER), seen(30, OTHER)]
    assert missed(*story) == [("place_lost", EXTRA)]
    assert missed(*story, seen(31, OTHER, a_directory(1, place=EXTRA))) == []


@pytest.mark.parametrize("is_named", [True, False])
def test_a_place_that_a_person_gave_up_is_remembered_while_it_is_named(is_named) -> None:
    """It is known since when it was searched first."""
    empty = (SeenPlace(uri=EXTRA, kind="extra_root"),) * is_named
    later = (seen(at, OTHER, places=empty) for at in (1, 20))
    _, memory = cycles(FULL, *later, given=(said("place_lost", EXTRA, 0),))
    assert ([e.first_seen_at for e in memory.places if e.uri == EXTRA] == [day(0)]) is is_named


def test_a_storage_that_is_left_out_is_remembered_and_needs_no_statement() -> None:
    """Once it is left out no more, it is searched again, and no statement covers it."""
    own = SeenPlace(uri="s3://bucket/", kind="storage", is_stated=True)
    left = SeenPlace(uri="s3://mistyped/", kind="storage", left_out=("s3://mistyped/",))

    def cycle(at: float, *places: SeenPlace) -> Sighting:
        return replace(seen(at, OTHER, places=places), is_world_closed=True)

    story = [cycle(0, own), cycle(1, own, left), cycle(20, own, left)]
    _, memory = cycles(*story)
    assert missed(*story) == []
    assert [each.resolved_at for each in memory.places if each.uri == left.uri] == [None]
    again = cycle(21, own, replace(left, left_out=()))
    assert missed(*story, again) == [("closed_world", left.uri)]


@pytest.mark.parametrize(("at", "later"), [(-2, 1), (0, 1), (1, 86_400_000_000)])
def test_a_memory_is_later_than_the_one_before_whatever_the_clock_says(at, later) -> None:
    """Else a clock that went back, or another host's, shows a state that was set back."""
    _, memory = cycles(FULL, seen(at, OTHER))
    assert memory.written_at == T0 + timedelta(microseconds=later)
