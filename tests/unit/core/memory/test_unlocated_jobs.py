"""Jobs that were restored from here, and that their clusters forget before anything is found."""

from dataclasses import replace
from typing import Any

import pytest

from orphangc.core.memory.compare_cycles import compared
from orphangc.core.memory.remembered import RememberedDirectory, WorldMemory
from orphangc.core.memory.sighting import SeenPlace, Sighting
from unit.core.memory.memory_builders import (
    EXTRA,
    JOB,
    NEXT,
    REST,
    ROOT,
    THIRD,
    a_directory,
    a_job,
    cycles,
    missed,
    seen,
)

HERE = f"{ROOT}/{JOB}"
OTHER = "http://other:8081"
FACT = ("checkpoint_not_found", f"{OTHER}/jobs/{NEXT}")
UNKNOWN: dict[str, Any] = {"by": OTHER, "stores_in": ()}
FROM_HERE = UNKNOWN | {"restored": f"{HERE}/chk-9", "needs": (HERE,)}
BOTH = {REST: True, OTHER: True}


def forgotten(*, then: tuple[RememberedDirectory, ...] = (), **said: Any) -> tuple[Sighting, ...]:
    """Return a cycle that sees a restored job, and one whose clusters answer without it."""
    own = a_job(JOB, directories=(HERE,))
    other = a_job(NEXT, **(FROM_HERE | said))
    return (
        seen(0, a_directory(9), jobs=(own, other)),
        seen(1, a_directory(10), *then, jobs=(own,), clusters=BOTH),
    )


def test_a_job_that_is_shown_asks_nothing() -> None:
    """What it was restored from is read then, or refuses the cycle."""
    assert missed(forgotten()[0]) == []


def test_a_forgotten_one_blocks_what_it_was_restored_from() -> None:
    facts, memory = cycles(*forgotten())
    assert [(str(each.condition), each.what) for each in facts] == [FACT]
    assert facts[0].reach == {HERE}
    assert "restored from s3://bucket/checkpoints" in facts[0].message
    assert [(each.condition, each.what) for each in memory.standing] == [FACT]


def test_it_is_remembered_for_as_long_as_it_is_missed() -> None:
    """Longer than what asks for nothing."""
    own = a_job(JOB, directories=(HERE,))
    later = (seen(at, a_directory(10), jobs=(own,), clusters=BOTH) for at in (9, 18))
    assert missed(*forgotten(), *later) == [FACT]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"stores_in": (f"{ROOT}/{NEXT}",)}, id="it is configured to store here"),
        pytest.param({"needs": ()}, id="it started empty, or from a canonical savepoint"),
        pytest.param({"needs": ("s3://a/b",), "by": "kubernetes:flink/x"}, id="HA says no origin"),
    ],
)
def test_one_whose_checkpoints_would_be_found_asks_nothing(said) -> None:
    """Or that needs no file of another job."""
    assert missed(*forgotten(**said)) == []


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"stores_in": (f"s3://elsewhere/{NEXT}",)}, id="configured"),
        pytest.param(
            {"stores_in": (f"{ROOT}/{NEXT}",), "directories": (f"s3://elsewhere/{NEXT}",)},
            id="its code says otherwise",
        ),
    ],
)
def test_one_that_stores_in_no_searched_place_asks(said) -> None:
    """Flink's own answer counts for more than the configuration."""
    assert missed(*forgotten(**said)) == [FACT]


@pytest.mark.parametrize("is_found", [True, False])
def test_one_whose_checkpoint_ha_metadata_alone_showed_asks_until_it_is_found(is_found) -> None:
    """It may name any file; the namespace that forgot it goes on to answer."""
    of_ha = {"by": "kubernetes:flink", "needs": ("",), "restored": None}
    found = (a_directory(3, job=NEXT, place=EXTRA),) if is_found else ()
    expected = [] if is_found else [(FACT[0], f"kubernetes:flink/jobs/{NEXT}")]
    first, second = forgotten(then=found, **of_ha)
    answers = {**second.clusters, "kubernetes:flink": True}
    assert missed(first, replace(second, clusters=answers)) == expected


def test_one_whose_checkpoints_are_found_asks_nothing() -> None:
    """In a place that is searched since."""
    found = a_directory(3, job=NEXT, place=EXTRA)
    assert missed(*forgotten(then=(found,))) == []


def test_a_directory_of_its_id_is_its_own_only_where_one_job_has_that_id() -> None:
    """A fixed id names many jobs."""
    first, second = forgotten(then=(a_directory(3, job=NEXT, place=EXTRA),))
    third = a_job(NEXT, by="http://third:8081", directories=(f"{EXTRA}/{NEXT}",))
    shown = seen(1, *second.directories, jobs=(*second.jobs, third), clusters=BOTH)
    both = a_directory(4, job=NEXT, place="s3://third/checkpoints")
    two = seen(1, *second.directories, both, jobs=(*second.jobs, third), clusters=BOTH)
    assert missed(first, shown) == []
    assert missed(first, two) == [FACT]


@pytest.mark.parametrize(("status", "expected"), [("FINISHED", []), ("CANCELED", [FACT])])
def test_one_that_is_shown_finished_left_nothing(status, expected) -> None:
    """Upon any other end Flink may retain checkpoints."""
    first, second = forgotten()
    over = a_job(NEXT, alive=False, status=status, by=OTHER, stores_in=())
    ended = seen(1, a_directory(10), jobs=(*second.jobs, over))
    assert missed(first, ended) == expected


def test_what_a_job_restored_from_it_shows_where_it_stored() -> None:
    """Its successor was restored from a checkpoint in a searched place."""
    first, second = forgotten()
    heir = a_job(THIRD, by=OTHER, restored=f"{ROOT}/{NEXT}/chk-2", needs=(f"{ROOT}/{NEXT}",))
    assert missed(first, seen(1, a_directory(10), jobs=(*second.jobs, heir))) == []


@pytest.mark.parametrize("needs", [("",), ("/mnt/checkpoints/" + JOB,)])
def test_what_is_unread_or_spelled_otherwise_may_be_anything_here(needs) -> None:
    """A mount path is no searched place, and may show the same files."""
    (fact,), _ = cycles(*forgotten(needs=needs))
    assert fact.reach is None


def test_what_was_restored_elsewhere_concerns_nothing_here() -> None:
    """Another storage root is searched, and judged on its own."""
    elsewhere = f"{EXTRA}/{JOB}"
    place = SeenPlace(uri=EXTRA, kind="sibling", checkpoints=4)
    first, second = forgotten(restored=f"{elsewhere}/chk-9", needs=(elsewhere,))
    done = compared(WorldMemory(), first)
    later = seen(1, a_directory(10), jobs=second.jobs, clusters=BOTH, places=(place,))
    assert compared(done.memory, later).facts == ()


def test_a_copied_checkpoint_that_spells_paths_otherwise_blocks_everything() -> None:
    """Which directory ``/mnt/...`` is nothing shows."""
    named, spelled = f"{ROOT}/{JOB}", f"/mnt/checkpoints/{JOB}"
    for depends_on, reach in (((named,), {named, f"{EXTRA}/{NEXT}"}), ((named, spelled), None)):
        copy = a_directory(3, job=NEXT, place=EXTRA, depends_on=depends_on)
        stays = a_directory(3, job=THIRD, place=EXTRA)
        (fact,), _ = cycles(seen(0, copy, stays), seen(1, stays))
        assert (str(fact.condition), fact.reach) == ("job_directory_emptied", reach)


@pytest.mark.parametrize(
    ("said", "reach"),
    [
        pytest.param(FROM_HERE, {HERE}, id="restored from here"),
        pytest.param(
            FROM_HERE | {"stores_in": (f"{ROOT}/{NEXT}",)}, {HERE, f"{ROOT}/{NEXT}"}, id="stored"
        ),
        pytest.param(UNKNOWN, None, id="nothing is known of it"),
        pytest.param(FROM_HERE | {"needs": ("",)}, None, id="its origin was not read"),
        pytest.param(FROM_HERE | {"stores_in": (f"/mnt/{NEXT}",)}, None, id="spelled otherwise"),
    ],
)
def test_a_silent_cluster_blocks_what_its_jobs_are_known_by(said, reach) -> None:
    """Everything where something of one job is unknown."""
    own = a_job(JOB, directories=(HERE,))
    first = seen(0, a_directory(9), jobs=(own, a_job(NEXT, **said)))
    (fact,), _ = cycles(first, seen(1, a_directory(10), jobs=(own,)))
    assert (str(fact.condition), fact.reach) == ("cluster_silent", reach)
