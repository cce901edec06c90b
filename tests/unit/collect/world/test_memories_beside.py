"""What a storage root takes over from the memories of others."""

from datetime import UTC, datetime

import pytest

from flinkstate.places.locations import Location, canonical
from orphangc.adapters.open import open_state_files
from orphangc.collect.state.store import RootState
from orphangc.collect.world.memory_files import memory_folder, read_memory, write_memory
from orphangc.collect.world.recalling import recalled
from orphangc.core.memory.remembered import (
    RememberedCheckpoint,
    RememberedCluster,
    RememberedDirectory,
    RememberedPlace,
    WorldMemory,
)
from orphangc.core.memory.seen_cycles import STORAGE

ONE, OTHER, AROUND = map(canonical, ("s3://a/one", "s3://a/other", "s3://a"))
AT = datetime(2026, 11, 2, tzinfo=UTC)


@pytest.fixture
def files(tmp_path):
    return open_state_files(str(tmp_path / "state"))


def place(uri: str, kind: str = STORAGE, *, is_stated: bool = True) -> RememberedPlace:
    return RememberedPlace(
        uri=uri, kind=kind, first_seen_at=AT, seen_at=AT, checkpoints=1, is_stated=is_stated
    )


def directory(uri: str) -> RememberedDirectory:
    checkpoint = RememberedCheckpoint(uri=f"{uri}/chk-1", checkpoint_id=1, seen_at=AT)
    return RememberedDirectory(uri=uri, place=uri.rpartition("/")[0], checkpoints=(checkpoint,))


def remembering(files, root: Location, **facts: object) -> RootState:
    state = RootState(files, root)
    memory = WorldMemory(root=str(root), states=(str(root),), written_at=AT, **facts)
    write_memory(state, memory, read_memory(state), "0" * 16)
    return state


def test_storages_and_clusters_are_of_every_storage_root(files) -> None:
    """Other places and directories are of one, and so is what names its state."""
    cluster = RememberedCluster(uri="http://c:8081", answered_at=AT, alive=("1" * 32,))
    seen = {"places": (place("s3://b"), place("s3://a/one", "storage_root"))}
    remembering(files, ONE, clusters=(cluster,), directories=(directory("s3://a/one/j"),), **seen)
    own = remembering(files, OTHER, places=(place("s3://a"),))
    memory = recalled(own).memory
    assert {each.uri for each in memory.places} == {"s3://a", "s3://b"}
    assert (memory.clusters, memory.directories) == ((cluster,), ())
    assert memory.states == (str(OTHER),)


@pytest.mark.parametrize("has_stated", [True, False])
def test_a_statement_about_a_storage_counts_where_any_was_made(files, has_stated) -> None:
    """The first statement of a storage root covers all that is searched that day."""
    remembering(files, ONE, places=(place("s3://b"),))
    own = remembering(files, OTHER, places=(place("s3://a", is_stated=has_stated),))
    stated = {each.uri: each.is_stated for each in recalled(own).memory.places}
    assert stated == {"s3://a": has_stated, "s3://b": has_stated}


def test_a_storage_that_is_known_is_as_its_own_cycle_saw_it(files) -> None:
    remembering(files, ONE, places=(place("s3://b"),))
    own = remembering(files, OTHER, places=(place("s3://b", "extra_root"),))
    assert [each.kind for each in recalled(own).memory.places] == ["extra_root"]


@pytest.mark.parametrize("has_memory", [True, False])
def test_a_storage_root_by_another_name_begins_with_what_was_seen_of_it(files, has_memory) -> None:
    """One that has a memory knows which of it is over."""
    remembering(files, ONE, directories=(directory("s3://a/one/j"),))
    if has_memory:
        remembering(files, AROUND)
    found = recalled(RootState(files, AROUND)).memory.directories
    assert [each.uri for each in found] == ([] if has_memory else ["s3://a/one/j"])


def test_what_was_seen_through_a_link_bears_the_present_name(files, tmp_path) -> None:
    """Else all of it would be missing."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    link, real = (canonical(str(tmp_path / each)) for each in ("link", "real"))
    remembering(files, link, directories=(directory(f"{link}/j"),), savepoints=(f"{link}/s",))
    memory = recalled(RootState(files, real)).memory
    assert memory.directories == (directory(f"{real}/j"),)
    assert memory.savepoints == (f"{real}/s",)


def test_a_damaged_memory_of_another_storage_root_is_lifted_for_that_one(files) -> None:
    """Nothing is known of the world that both are of."""
    other = remembering(files, ONE)
    (name,) = files.names(memory_folder(other))
    files.write(f"{memory_folder(other)}/{name}", b"{}")
    problem = recalled(RootState(files, OTHER)).memory_problem
    assert problem is not None
    assert f"acknowledge s3://a/one memory_unreadable {other.folder}/world/" in problem
