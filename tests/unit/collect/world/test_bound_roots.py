"""Which storage roots a state location serves."""

import json
from datetime import UTC, datetime

import pytest

from flinkstate.places.locations import canonical
from orphangc.adapters.open import open_state_files
from orphangc.collect.state.store import RootState
from orphangc.collect.world.memory_files import (
    MARKER,
    MEMORY,
    bound_roots,
    read_memory,
    write_memory,
)
from orphangc.core.memory.remembered import WorldMemory

ONE, OTHER = canonical("s3://bucket/one"), canonical("/data/other")


@pytest.fixture
def files(tmp_path):
    return open_state_files(str(tmp_path / "state"))


def test_every_bound_root_is_found_and_nothing_else(files) -> None:
    """A folder of another name, and one that no run has bound, name no storage root."""
    for root in (ONE, OTHER):
        RootState(files, root).bind()
    files.write(f"{'0' * 32}/halted.json", b"{}")
    files.write("notes/root.json", json.dumps({"root": "/x"}).encode())
    assert {each.root for each in bound_roots(files)} == {ONE, OTHER}


def planned(files, root) -> RootState:
    state = RootState(files, root)
    memory = WorldMemory(
        root=str(root), states=("a",), written_at=datetime(2026, 11, 2, tzinfo=UTC)
    )
    write_memory(state, memory, read_memory(state), "0" * 16)
    return state


@pytest.mark.parametrize("lost", [None, MARKER, MEMORY])
def test_a_root_that_was_planned_only_is_found_by_whatever_remembers_it(files, lost) -> None:
    """A plan binds nothing, and yet its jobs may have claimed files of another storage root."""
    state = planned(files, ONE)
    if lost is not None:
        kept = [f"{state.folder}/{MARKER}"]
        inside = [
            f"{state.folder}/{MEMORY}/{each}" for each in files.names(f"{state.folder}/world")
        ]
        for name in kept if lost == MARKER else inside:
            files.remove(name)
    assert [each.root for each in bound_roots(files)] == [ONE]


def test_a_memory_that_does_not_say_whose_it_is_is_that_of_an_unknown_root(files) -> None:
    """Its storage root is unknown, which is not the same as none."""
    files.write(f"{RootState(files, ONE).folder}/{MARKER}", b"{")
    assert [each.root for each in bound_roots(files)] == [None]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"root": 1}', b'{"root": "x"}', b'{"root": "s3://bucket/two"}'],
)
def test_a_folder_that_does_not_say_whose_it_is_is_no_folder_without_an_owner(
    files, content
) -> None:
    """Its storage root is unknown, which is not the same as none."""
    state = RootState(files, ONE)
    files.write(f"{state.folder}/root.json", content)
    (found,) = bound_roots(files)
    assert found.root is None
    assert str(found.folder).endswith(state.folder)


def test_an_absent_state_location_serves_none(files) -> None:
    """It is made when something is first written there."""
    assert list(bound_roots(files)) == []
