"""What a job's evidence amounts to, and how much of it fits into a sentence."""

from dataclasses import replace

import pytest

from flinkstate.text.shown_text import some
from orphangc.core.decision.evidence import mode_of
from orphangc.core.exporter.exporter_answer import Exported
from orphangc.core.model.types import Mode
from support.builders import a_checkpoint, a_hold, a_job, a_root, a_snapshot, some_facts


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", 2, "c"], "a, 2, c"),
        (["a", 2, "c", "d"], "a, 2, c and 1 more"),
        (range(10), "0, 1, 2 and 7 more"),
    ],
)
def test_of_many_the_first_three_are_named_and_the_others_counted(values, text: str) -> None:
    """Each once, in the order in which they were found."""
    assert some(values) == text


def test_of_long_ones_fewer_are_named() -> None:
    """The errors of clusters, of which each is a sentence."""
    assert some(["a", "b"], 1) == "a and 1 more"
    assert some(["a", "b"], 2) == "a, b"


def test_an_exporter_that_has_told_nothing_yet_is_a_registry_all_the_same() -> None:
    """R15: never back to roots, in silence."""
    silent = Exported(job_id=a_job().job_id)
    assert mode_of(a_job(exported=silent)) is Mode.REGISTRY
    derived, told = a_snapshot(source=Mode.DERIVED), a_snapshot()
    assert mode_of(a_job(snapshots=(derived, told))) is Mode.REGISTRY
    assert mode_of(a_job(snapshots=(derived,))) is Mode.DERIVED


@pytest.mark.parametrize(
    ("before", "after", "latest"),
    [
        ({42, 43}, {42, 43}, 43),
        ({42, 43}, {42, 43, 44}, 43),
        ({42, 43}, {42, 44}, 42),
        ({42}, {43, 44}, 44),
        (set(), {43, 44}, 44),
        ({42, 43}, set(), 43),
        (set(), set(), None),
    ],
)
def test_the_latest_checkpoint_is_the_newest_that_stood_all_the_time(before, after, latest) -> None:
    """Others may have files that no listing has shown yet, or be on their way out."""
    roots = (a_root(42), a_root(44), a_root(43), a_root(4711, age="100d"))
    seen = {"ids_before": frozenset({*before, 4711}), "ids_after": frozenset({*after, 4711})}
    shown = (some_facts(checkpoints=tuple(a_checkpoint(each) for each in (44, 43, 42))),)
    job = a_job(own_checkpoints=roots, **seen, after=shown)
    assert (job.latest and job.latest.checkpoint_id) == latest
    assert job.has_standing_latest == (latest in before & after)


def test_a_checkpoint_that_was_left_behind_bounds_nothing_of_a_job_seen_running() -> None:
    """R9, decision 19: the proof needs k*, the newest that was there before the first reading."""
    left = a_root(5, age="365d")
    job = a_job(
        own_checkpoints=(left, *a_job().own_checkpoints), ids_at_start=frozenset({5, 42, 43})
    )
    assert [root.checkpoint_id for root in job.bounding_checkpoints] == [43]
    completed_since = replace(job, own_checkpoints=(*job.own_checkpoints, a_root(44, age="1s")))
    assert [root.checkpoint_id for root in completed_since.bounding_checkpoints] == [43]


@pytest.mark.parametrize(
    "changes",
    [
        {"before": (), "after": ()},
        {"before": (), "after": (), "held_before": (a_hold(43),), "held_after": (a_hold(43),)},
        {"snapshots": (a_snapshot(),)},
        {"ids_at_start": frozenset()},
        {"ids_at_start": frozenset({44})},
    ],
    ids=["nobody shows it", "suspended", "registry mode", "no k*", "k* was not read"],
)
def test_where_nothing_proves_that_k_is_retained_every_own_root_bounds(changes) -> None:
    """The oldest is the margin."""
    job = a_job(own_checkpoints=(a_root(5, age="365d"), *a_job().own_checkpoints), **changes)
    assert job.bounding_checkpoints == job.own_checkpoints
