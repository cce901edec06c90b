"""The memory in the state location: written by many, read strictly, never lost."""

import hashlib

import pytest

from flinkstate.places.locations import canonical
from orphangc.collect.state.memory_documents import DamagedMemoryError
from orphangc.collect.state.store import RootState
from orphangc.collect.world.memory_files import (
    MemoryRead,
    keep_acknowledgement,
    read_acknowledgements,
    read_memory,
    set_aside,
    write_memory,
)
from orphangc.collect.world.recalling import not_kept, recalled
from orphangc.core.memory.acknowledgement import Acknowledgement
from orphangc.core.memory.compare_cycles import compared
from orphangc.core.memory.remembered import WorldMemory
from orphangc.core.world.known_states import known_state
from orphangc.errors import StorageUnreachableError
from support.builders import BASE
from unit.collect.state.places import SteppedFiles
from unit.core.memory.memory_builders import NEXT, T0, a_directory, a_job, day, seen

ONE, TWO = "1" * 16, "2" * 16


def a_state() -> RootState:
    return RootState(SteppedFiles(), BASE)


def a_memory(*directories, at: float = 0) -> WorldMemory:
    sighting = seen(at, *directories, jobs=(a_job(),))
    left = compared(WorldMemory(states=("s",)), sighting).memory
    return left.model_copy(update={"root": str(BASE)})


def names(state: RootState) -> list[str]:
    return state.files.names(f"{state.folder}/world")


def test_what_one_cycle_writes_the_next_one_reads() -> None:
    state, memory = a_state(), a_memory(a_directory(1, 2))
    assert read_memory(state).memory == WorldMemory()
    write_memory(state, memory, MemoryRead(WorldMemory(), ()), ONE)
    assert read_memory(state).memory == memory


def test_a_writer_replaces_what_it_read_and_nothing_else() -> None:
    """Two at once leave two files, and the next reader both their facts."""
    state = a_state()
    write_memory(state, a_memory(a_directory(1)), MemoryRead(WorldMemory(), ()), ONE)
    before = read_memory(state)
    write_memory(state, a_memory(a_directory(1, 2), at=1), before, ONE)
    write_memory(state, a_memory(a_directory(3, job=NEXT), at=1), before, TWO)
    both = read_memory(state)
    assert len(both.names) == 2
    assert [each.newest_id for each in both.memory.directories] == [2, 3]
    write_memory(state, both.memory, both, TWO)
    assert len(names(state)) == 1


@pytest.mark.parametrize("damage", ["a flipped bit", "a cut", "emptied", "a foreign name"])
def test_a_damaged_memory_is_never_an_empty_one(damage) -> None:
    state = a_state()
    write_memory(state, a_memory(a_directory(1)), MemoryRead(WorldMemory(), ()), ONE)
    path = f"{state.folder}/world/{names(state)[0]}"
    data = state.files.read(path)
    if damage == "a foreign name":
        path = f"{state.folder}/world/notes.txt"
    altered = {"a flipped bit": data.replace(b"chk-1", b"chk-2"), "a cut": data[:-9]}
    state.files.write(path, altered.get(damage, b""))
    with pytest.raises(DamagedMemoryError, match=path):
        read_memory(state)
    assert path in recalled(state).memory_problem
    set_aside(state, path)
    assert recalled(state).memory_problem is None


@pytest.mark.parametrize("content", [b"{}", b'{"root": 1}', b"[" * 9999, b'{"schema_version": 2}'])
def test_a_memory_that_bears_its_own_digest_is_read_strictly_all_the_same(content) -> None:
    """A newer version's, or forged."""
    state = a_state()
    digest = hashlib.sha256(content).hexdigest()
    name = f"20261101T000000000000Z-{ONE}-{digest}.json"
    state.files.write(f"{state.folder}/world/{name}", content)
    with pytest.raises(DamagedMemoryError):
        read_memory(state)


def test_the_memory_of_another_storage_root_is_refused() -> None:
    """Somebody copied a folder."""
    state = a_state()
    other = RootState(state.files, canonical("s3://other/root"))
    write_memory(state, a_memory(), MemoryRead(WorldMemory(), ()), ONE)
    name = names(state)[0]
    data = state.files.read(f"{state.folder}/world/{name}")
    other.files.write(f"{other.folder}/world/{name}", data)
    with pytest.raises(DamagedMemoryError, match="another storage root"):
        read_memory(other)


def test_a_persons_word_is_kept_and_read_strictly() -> None:
    """One that cannot be read blocks too."""
    state = a_state()
    word = Acknowledgement(condition="place_lost", what="x", since=T0, at=day(1), by="me@here")
    keep_acknowledgement(state, word)
    keep_acknowledgement(state, word)
    assert read_acknowledgements(state) == (word,)
    state.files.write(f"{state.folder}/acknowledged/other.json", b"{")
    with pytest.raises(DamagedMemoryError, match=r"other\.json"):
        read_acknowledgements(state)


def test_a_damaged_memory_is_not_written_over() -> None:
    """Only a person lifts it."""
    state = a_state()
    state.files.write(f"{state.folder}/world/x", b"")
    before = recalled(state)
    assert not_kept(state, before, a_memory()) == before.memory_problem
    assert names(state) == ["x"]


def test_a_state_that_is_not_the_one_of_an_earlier_plan_is_lost() -> None:
    """Until a person says otherwise; the same one is not, nor is a plan without any.

    A plan with the lost one after that word shows that it was used again, and has gone again.
    """
    state = a_state()
    assert recalled(state).is_new
    write_memory(state, a_memory(), MemoryRead(WorldMemory(), ()), ONE)
    assert not recalled(state).is_new
    assert recalled(state, known_state(("s", "t"), T0, "plan 1")).state_problem is None
    assert recalled(state, known_state((), T0, "plan 1")).state_problem is None
    lost = recalled(state, known_state(("t",), T0, "plan 1"))
    assert "plan 1" in lost.state_problem
    (fact,) = lost.standing
    word = Acknowledgement(
        condition=fact.condition, what=fact.what, since=fact.since, at=day(1), by="me@here"
    )
    keep_acknowledgement(state, word)
    assert recalled(state, known_state(("t",), T0, "plan 1")).state_problem is None
    assert recalled(state, known_state(("t",), day(1), "plan 2")).state_problem is None
    assert recalled(state, known_state(("t",), day(9), "plan 9")).state_problem is not None
    assert recalled(state, known_state(("u",), T0, "plan 1")).state_problem is not None


@pytest.mark.parametrize(("at", "is_lost"), [(None, False), (T0, False), (day(1), True)])
def test_a_state_that_a_plan_knows_at_a_later_time_was_set_back(at, is_lost) -> None:
    """Of a plan that does not say when, nothing is known."""
    state = a_state()
    write_memory(state, a_memory(), MemoryRead(WorldMemory(), ()), ONE)
    assert recalled(state).memory.written_at == T0
    found = recalled(state, known_state(("s",), day(2), "plan 1", at))
    assert [each.since for each in found.standing] == ([day(1)] if is_lost else [])


def lost_memory(state: RootState) -> None:
    for name in names(state):
        state.files.remove(f"{state.folder}/world/{name}")


def acknowledge_the_loss(state: RootState, problem) -> None:
    """Keep a person's word on the one fact that a lost memory is."""
    (fact,) = problem.standing
    word = Acknowledgement(
        condition=fact.condition, what=fact.what, since=fact.since, at=day(1), by="me@here"
    )
    keep_acknowledgement(state, word)


def kept(state: RootState, *directories, at: float = 0) -> None:
    before = recalled(state)
    left = a_memory(*directories, at=at).model_copy(update={"states": before.memory.states})
    assert not_kept(state, before, left) is None


def test_a_memory_that_was_removed_is_lost_until_a_person_says_so() -> None:
    """Tombstones and history stay; cycles that follow make it no known memory again."""
    state = a_state()
    kept(state, a_directory(1))
    for at in (1, 2):
        lost_memory(state)
        found = recalled(state)
        assert f"{state.folder}/world" in found.state_problem
        assert "world acknowledge" in found.state_problem
        kept(state, at=at)
        assert recalled(state).state_problem == found.state_problem
    acknowledge_the_loss(state, found)
    kept(state, at=3)
    assert recalled(state).state_problem is None
    lost_memory(state)
    again = recalled(state)
    assert again.state_problem is not None, "a later loss is another fact"
    assert again.standing[0].what != found.standing[0].what


def test_a_state_of_a_version_without_a_memory_has_lost_none() -> None:
    """It holds tombstones and a bound root; its next cycle is the first one that remembers."""
    state = a_state()
    state.bind()
    state.files.write(f"{state.folder}/tombstones/000000000001-x.parquet", b"")
    assert (recalled(state).state_problem, recalled(state).memory_problem) == (None, None)
    kept(state, a_directory(1))
    assert recalled(state).state_problem is None


def test_a_first_cycle_that_two_runs_begin_at_once_loses_nothing() -> None:
    """Both leave a memory, and the marker of either is borne out by the union."""
    state = a_state()
    one, two = recalled(state), recalled(state)
    for before in (one, two):
        left = a_memory().model_copy(update={"states": before.memory.states})
        assert not_kept(state, before, left) is None
    assert recalled(state).state_problem is None
    assert len(names(state)) == 2


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 9999, b'{"root": "x", "state": "s"}'])
def test_a_damaged_marker_blocks_until_a_person_sets_it_aside(content) -> None:
    """It may have been the one of a memory that is gone."""
    state = a_state()
    kept(state)
    name = f"{state.folder}/remembers.json"
    state.files.write(name, content)
    assert name in recalled(state).memory_problem
    set_aside(state, name)
    assert recalled(state).memory_problem is None


def test_a_damaged_memory_that_was_set_aside_is_not_lost_a_second_time() -> None:
    """A person has said so once."""
    state = a_state()
    kept(state, a_directory(1))
    name = f"{state.folder}/world/{names(state)[0]}"
    state.files.write(name, b"")
    set_aside(state, name)
    found = recalled(state)
    assert (found.memory_problem, found.state_problem) == (None, None)


@pytest.mark.parametrize("times", [1, 99])
def test_a_file_that_another_writer_replaces_meanwhile_is_not_damaged(times) -> None:
    """It is read again; where that happens at each try, nothing is known for now."""
    state = a_state()
    write_memory(state, a_memory(a_directory(1)), MemoryRead(WorldMemory(), ()), ONE)
    left = [TWO] * times

    def replace(verb: str, name: str) -> None:
        if verb == "read" and name.startswith(f"{state.folder}/world/") and left:
            state.files.before = lambda _verb, _name: None
            write_memory(state, a_memory(a_directory(len(left))), read_memory(state), left.pop())
            state.files.before = replace

    state.files.before = replace
    if times == 1:
        assert [each.newest_id for each in read_memory(state).memory.directories] == [1]
        return
    with pytest.raises(StorageUnreachableError, match="changes all the time"):
        read_memory(state)
