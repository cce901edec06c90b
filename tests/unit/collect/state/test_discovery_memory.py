"""The memory of discoveries: what is gone is not empty, and what is in use is never old."""

import hashlib
import os

import pytest

from flinkstate.places.locations import canonical
from orphangc.adapters.files.state_files import LocalStateFiles
from orphangc.collect.state.discovery_memory import (
    FOLDER,
    MARKER,
    forget_discovery,
    read_discovery_memory,
    write_discovery_memory,
)
from orphangc.collect.state.memory_documents import DamagedMemoryError
from orphangc.core.discovery.remembered_facts import DiscoveryMemory, memory_of
from support.discovered import found
from support.flink_resources import a_deployment

MEMORY = memory_of(found([a_deployment()]))


@pytest.fixture
def files(tmp_path) -> LocalStateFiles:
    return LocalStateFiles(canonical(str(tmp_path)))


def written(files) -> list[str]:
    write_discovery_memory(MEMORY, read_discovery_memory(files))
    return files.names(FOLDER)


def test_nothing_was_discovered_where_nothing_was_ever_written(files) -> None:
    """A new state location is empty."""
    assert read_discovery_memory(files).memory == DiscoveryMemory()
    written(files)
    assert read_discovery_memory(files).memory == MEMORY


def test_a_memory_that_is_gone_is_not_an_empty_one(files) -> None:
    """Until a person acknowledges that it is lost."""
    for name in written(files):
        files.remove(f"{FOLDER}/{name}")
    with pytest.raises(DamagedMemoryError, match="is gone"):
        read_discovery_memory(files)
    forget_discovery(files)
    assert read_discovery_memory(files).memory == DiscoveryMemory()


def test_a_memory_without_its_marker_gets_one(files) -> None:
    """An earlier release wrote none."""
    written(files)
    files.remove(MARKER)
    written(files)
    assert files.read(MARKER) is not None


def test_an_unchanged_memory_is_written_again(files, tmp_path) -> None:
    """A rule of the store by which old files expire does not find it."""
    (name,) = written(files)
    paths = [tmp_path / FOLDER / name, tmp_path / MARKER]
    for path in paths:
        os.utime(path, (0, 0))
    assert written(files) == [name]
    assert all(path.stat().st_mtime > 0 for path in paths)


@pytest.mark.parametrize("content", [b"{", b'{"version": 1}', b'{"resource": []}', b"[" * 9999])
def test_a_damaged_memory_blocks_whatever_its_name_confirms(files, content) -> None:
    """A newer version's, or forged; and so does one that its name does not confirm."""
    (name,) = written(files)
    files.write(f"{FOLDER}/{name}", content)
    with pytest.raises(DamagedMemoryError, match="is not what was written"):
        read_discovery_memory(files)
    files.remove(f"{FOLDER}/{name}")
    files.write(f"{FOLDER}/{hashlib.sha256(content).hexdigest()}.json", content)
    with pytest.raises(DamagedMemoryError, match="cannot be understood"):
        read_discovery_memory(files)
