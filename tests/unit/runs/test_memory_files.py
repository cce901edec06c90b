"""The memory in the state location: written by many, read strictly, never lost."""

import hashlib

import pytest

from builders import BASE
from orphangc.core.uris import canonical
from orphangc.core.world.acknowledged import Acknowledgement
from orphangc.core.world.known_states import known_state
from orphangc.core.world.remembered import WorldMemory
from orphangc.core.world.remembering import compared
from orphangc.runs.state import RootState
from orphangc.runs.world.memory_files import (
    DamagedMemoryError,
    MemoryRead,
    keep_acknowledgement,
    read_acknowledgements,
    read_memory,
    set_aside,
    write_memory,
)
from orphangc.runs.world.recalling import not_kept, recalled
from unit.core.world.memory_builders import NEXT, T0, a_directory, a_job, day, seen
from unit.runs.places import SteppedFiles

ONE, TWO = "1" * 16, "2" * 16


def a_state() -> RootState:
    """Return an empty state location."""
    return RootState(SteppedFiles(), BASE)


def a_memory(*directories, at: float = 0) -> WorldMemory:
    """Return what a cycle leaves that saw these directories."""
    sighting = seen(at, *directories, jobs=(a_job(),))
    left = compared(WorldMemory(states=("s",)), sighting).memory
    return left.model_copy(update={"root": str(BASE)})


def names(state: RootState) -> list[str]:
    """Return the files of the memory."""
    return state.files.names(f"{state.folder}/world")


def test_what_one_cycle_writes_the_next_one_reads() -> None:
    """To the last bit."""
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
    """It names the file."""
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
    """Until a person says otherwise; the same one is not, nor is a plan without any."""
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
    assert recalled(state, known_state(("t",), day(9), "plan 9")).state_problem is None
    assert recalled(state, known_state(("u",), day(2), "plan 2")).state_problem is not None
