"""Registry snapshots in files: what changed is read, and nothing else."""

from pathlib import Path

import pytest

from orphangc.app.wiring.compose import Read, load_snapshots
from orphangc.core.exporter.registry_format import write_snapshot
from orphangc.core.exporter.registry_snapshot import EntryKind, RegistryEntry
from support.builders import a_snapshot


def written(name: str) -> bytes:
    """Return a snapshot of one file; all of one length of name have one size."""
    return write_snapshot(
        a_snapshot(), [RegistryEntry(f"shared/{name}", EntryKind.FILE, 1, None, None)]
    )


@pytest.mark.parametrize("named", ["file", "folder"])
def test_a_file_that_the_listing_shows_unchanged_is_read_once(tmp_path: Path, named: str) -> None:
    """A later snapshot of the same size, which takes the file's place, is read."""
    file, read = tmp_path / "snapshots" / "a.jsonl", Read()
    file.parent.mkdir()
    file.write_bytes(written("old"))
    source = [str(file if named == "file" else file.parent)]
    (first,) = load_snapshots(source, read)
    (second,) = load_snapshots(source, read)
    assert second is first
    newer = file.with_name("newer")
    newer.write_bytes(written("new"))
    newer.rename(file)
    (third,) = load_snapshots(source, read)
    assert [path for _, path in third.entries.paths()] == ["shared/new"]
