"""What lies in a checkpoint directory, told by nothing but names, bytes and file times."""

import os
import re
from pathlib import Path

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_FOLDERS = r"(?:shared|dstl|taskowned|db|job_[^/\x00-\x1f]+)"
_SHARED = re.compile(rf"file:(/[^\x00-\x1f]+/{_FOLDERS}/(?:[0-9]+_)?{UUID.pattern})")


def entries(folder: str | Path) -> list[str]:
    """Return the paths of what lies in a folder; a folder that went away, or is none, has none."""
    try:
        return [entry.path for entry in os.scandir(folder)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def uuids_in(path: str) -> list[str] | None:
    try:
        return sorted(set(UUID.findall(Path(path).read_bytes().decode("latin-1"))))
    except FileNotFoundError:
        return None


def gone_from(checkpoint: Path) -> set[Path]:
    """Return the files that a checkpoint's bytes name by path and that are not there.

    Those of its own folder are left out.
    """
    text = (checkpoint / "_metadata").read_bytes().decode("latin-1")
    return {path for path in map(Path, _SHARED.findall(text)) if not path.exists()}


def retained(job_dir: Path) -> list[Path]:
    found = [metadata.parent for metadata in job_dir.glob("chk-*/_metadata")]
    return sorted(found, key=lambda folder: int(folder.name.removeprefix("chk-")))


def named_in_metadata(tree: Path) -> set[str]:
    texts = (path.read_bytes().decode("latin-1") for path in tree.rglob("_metadata"))
    return {hit for text in texts for hit in UUID.findall(text)}


def shared_files(job_dir: Path) -> set[Path]:
    return {path for path in (job_dir / "shared").rglob("*") if path.is_file()}


def older_than_retained(job_dir: Path) -> set[Path]:
    """Return the shared files stored before the oldest retained ``_metadata`` was."""
    oldest = min((folder / "_metadata").stat().st_mtime_ns for folder in retained(job_dir))
    return {path for path in shared_files(job_dir) if path.stat().st_mtime_ns < oldest}


def orphans(job_dir: Path, *, tree: Path) -> set[Path]:
    """Return the shared files that no later state needs.

    No ``_metadata`` under the tree names them, and they are older than the oldest retained
    one. Sound for RocksDB with one checkpoint at a time; call it while no job runs, or
    expect files that Flink is about to delete itself.
    """
    named = named_in_metadata(tree)
    return {path for path in older_than_retained(job_dir) if path.name not in named}
