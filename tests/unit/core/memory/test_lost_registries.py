"""Registry snapshots that are gone: which losses block, which are explained, and for how long."""

from dataclasses import replace

import pytest

from orphangc.core.memory.acknowledgement import Acknowledgement
from orphangc.core.memory.remembered import RememberedRegistry, WorldMemory
from orphangc.core.memory.sighting import Sighting
from orphangc.core.model.joined_facts import joined
from unit.core.memory.memory_builders import (
    JOB,
    NEXT,
    ROOT,
    THIRD,
    a_job,
    cycles,
    day,
    missed,
    seen,
)

FOLDER, OTHER = "s3://bucket/registry", "s3://bucket/exports"
NEEDED = f"{ROOT}/{JOB}"


def a_registry(job: str = NEXT, *, location: str = FOLDER, **changes: object) -> RememberedRegistry:
    """Return the snapshots of a job whose registry names files of another one."""
    values = {
        "uri": f"{location}/{job}",
        "location": location,
        "job_id": job,
        "home": f"s3://elsewhere/{job}",
        "directories": (NEEDED,),
        "taken_at": day(0),
        "seen_at": day(0),
        **changes,
    }
    return RememberedRegistry(**values)  # type: ignore[arg-type]


def exporting(sighting: Sighting, *registries: RememberedRegistry) -> Sighting:
    stamped = (
        each.model_copy(update={"seen_at": sighting.at, "taken_at": sighting.at})
        for each in registries
    )
    return replace(
        sighting,
        registries=tuple(stamped),
        registry_jobs=frozenset(each.uri for each in registries),
    )


LOST = ("place_lost", f"{FOLDER}/{NEXT}")


def test_a_jobs_folder_that_is_gone_blocks_whom_its_entries_name() -> None:
    """In each cycle, and nothing but what they name."""
    first = exporting(seen(0), a_registry(), a_registry(THIRD))
    later = [exporting(seen(at), a_registry(THIRD)) for at in (1, 2, 30)]
    assert missed(first, *later) == [LOST]
    (fact,), memory = cycles(first, *later)
    assert (fact.reach, fact.since) == ({NEEDED}, day(0))
    assert fact.concerns([NEEDED])
    assert not fact.concerns([f"{ROOT}/{THIRD}"])
    assert [(each.condition, each.what) for each in memory.standing] == [LOST]


def test_a_path_that_names_no_place_may_mean_any_directory() -> None:
    """So all of the storage root waits."""
    (fact,), _ = cycles(exporting(seen(0), a_registry(is_all_known=False)), seen(1))
    assert fact.reach is None


def test_a_registry_folder_that_is_gone_is_one_fact() -> None:
    """A fleet of hundreds asks for one acknowledgement."""
    first = exporting(seen(0), *(a_registry(f"{number:032x}") for number in range(9)))
    (fact,), _ = cycles(first, seen(1))
    assert (fact.what, fact.reach) == (FOLDER, {NEEDED})
    assert "and 6 more" in fact.message


def test_what_is_back_asks_for_nothing() -> None:
    """And blocks again when it goes again."""
    with_it = [exporting(seen(at), a_registry()) for at in (0, 2)]
    assert missed(with_it[0], seen(1), with_it[1]) == []
    assert missed(with_it[0], seen(1), with_it[1], seen(3)) == [("place_lost", FOLDER)]


def test_an_acknowledged_loss_is_that_one_only() -> None:
    """A job that exports again later may be lost again."""
    word = Acknowledgement(
        condition="place_lost", what=FOLDER, since=day(0), at=day(1), by="me@here"
    )
    first = exporting(seen(0), a_registry())
    assert missed(first, seen(1), seen(2), given=(word,)) == []
    again = exporting(seen(3), a_registry())
    assert missed(first, seen(1), seen(2), again, given=(word,)) == []
    lost = missed(first, seen(1), seen(2), again, seen(4), given=(word,))
    assert lost == [("place_lost", FOLDER)]


def test_a_job_that_is_over_needs_its_registry_no_more() -> None:
    """If it was seen over after its newest snapshot; a cluster may have forgotten it since."""
    home = (a_registry().home,)
    over = seen(1, jobs=(a_job(NEXT, alive=False, stores_in=home),))
    first = exporting(seen(0, jobs=(a_job(NEXT, stores_in=home),)), a_registry())
    assert missed(first, over) == []
    stays = replace(exporting(over, a_registry()), registries=(a_registry(),))
    assert missed(first, stays, seen(9, clusters={a_job().by: True})) == []


@pytest.mark.parametrize("stores_in", [(), (f"s3://staging/{NEXT}",)])
def test_a_job_of_its_id_that_is_over_elsewhere_explains_no_lost_registry(stores_in) -> None:
    """Another cluster ran it."""
    over = seen(1, jobs=(a_job(NEXT, alive=False, stores_in=stores_in),))
    assert missed(exporting(seen(0), a_registry()), over) == [("place_lost", FOLDER)]


def test_a_job_that_is_alive_again_needs_it() -> None:
    """Its end was that of an earlier run."""
    over = exporting(seen(1, jobs=(a_job(NEXT, alive=False),)), a_registry())
    runs = exporting(seen(2, jobs=(a_job(NEXT),)), a_registry())
    assert missed(over, runs, seen(3, jobs=(a_job(NEXT),))) == [("place_lost", FOLDER)]


def test_a_statement_counts_for_its_own_cycle() -> None:
    first = exporting(seen(0), a_registry())
    assert missed(first, seen(1, ended=(NEXT,))) == []
    assert missed(first, seen(1, ended=(NEXT,)), seen(2)) == [("place_lost", FOLDER)]


@pytest.mark.parametrize(
    ("home", "lost"), [(f"s3://elsewhere/{NEXT}", []), ("s3://third/x", [("place_lost", FOLDER)])]
)
def test_the_same_job_may_export_elsewhere_and_another_one_of_its_id_may_not(home, lost) -> None:
    """Clusters may share one fixed id; their directories differ."""
    first = exporting(seen(0), a_registry())
    moved = exporting(seen(1), a_registry(location=OTHER, home=home))
    assert missed(first, moved) == lost


def test_two_memories_remember_the_registries_of_both() -> None:
    """Their order does not matter, and the later sighting wins."""
    one = WorldMemory(registries=(a_registry(), a_registry(THIRD)))
    two = WorldMemory(registries=(a_registry(seen_at=day(1)),))
    both = joined(one, two).registries
    assert both == joined(two, one).registries
    assert [(each.job_id, each.seen_at) for each in both] == [(NEXT, day(1)), (THIRD, day(0))]
