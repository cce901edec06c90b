"""The checkpoint storages that real Flink left, unpacked, and the truth about each."""

import gzip
import json
import os
import tarfile
import time
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from support.grouped import grouped

ARCHIVE = Path(__file__).parents[1] / "fixtures"
NAMES = sorted(
    path.parent.relative_to(ARCHIVE).as_posix() for path in ARCHIVE.glob("*/*/tree.tar.xz")
)
BY_RELEASE = grouped(NAMES, by=lambda name: name.partition("/")[0])

_AGE_NS = 30 * 86_400 * 10**9
_IN_PLACE = ("changelog", "merge", "forst-async")
"""Scenarios whose layout nobody can judge while the job runs (R2): nothing of them may go then."""


@dataclass(frozen=True)
class Storage:
    name: str  # Flink release and scenario
    tree: Path  # where it was unpacked

    @cached_property
    def truth(self) -> dict[str, Any]:
        return json.loads(gzip.decompress((ARCHIVE / self.name / "truth.json.gz").read_bytes()))

    @cached_property
    def references(self) -> dict[str, dict[str, Any]]:
        return json.loads(gzip.decompress((ARCHIVE / "references.json.gz").read_bytes()))[self.name]

    def needs_others(self, job: str) -> bool | None:
        """Return whether a job's checkpoints need a file that is not its own, as Flink reads them.

        ``None`` if they do (FLINK-39964), and no ``_metadata`` is left that tells where it lies.
        """
        if self.names_of_others(job):
            return True
        folder = f"checkpoints/{job}/"
        is_lost = any(
            p.startswith(folder) for wrong in self.truth["misresolved"].values() for p in wrong
        )
        return None if is_lost else False

    def names_of_others(self, job: str) -> dict[str, int]:
        """Return how many files of others each checkpoint names, where anybody can tell."""
        folder = f"checkpoints/{job}/"
        found = Counter(
            {k: n for k, n in self.references["other_jobs"].items() if k.startswith(folder)}
        )
        read = {each["dir"] for each in self.truth["checkpoints"]}
        for right, wrong in self.truth["misresolved"].items():
            if right.rpartition("/")[0] in read:
                found.update(p.rpartition("/")[0] for p in wrong if p.startswith(folder))
        return dict(found)

    @property
    def live_job(self) -> str | None:
        """Return the job that runs in the picture."""
        return self.truth["live"] and self.truth["live"]["job"]

    @property
    def ended_jobs(self) -> list[str]:
        jobs = {path.name for path in (self.tree / "checkpoints").iterdir()}
        return sorted(jobs - {self.live_job})

    def untouchable(self) -> set[str]:
        """Return every file whose loss breaks a checkpoint or a running job."""
        return {path for kind in ("referenced", "pending", "unsafe") for path in self.truth[kind]}

    def removable(self) -> set[str]:
        return {*self.truth["orphaned"], *self.truth["flink_deleted_later"]}

    def collectable(self) -> set[str]:
        """Return the orphans that a collector must find: every one of every job that is over.

        Of the running job these are the flat ones stored before its oldest retained ``_metadata``,
        and of one that uses its files in place, none.
        """
        if self.live_job and self.name.partition("/")[2].startswith(_IN_PLACE):
            return set()
        return {
            path
            for path in self.truth["orphaned"]
            if self.live_job not in path.split("/") or (self._is_flat(path) and self._is_old(path))
        }

    def _is_flat(self, path: str) -> bool:
        parts = path.split("/")
        return len(parts) == 4 and parts[0] == "checkpoints" and parts[2] == "shared"

    def _is_old(self, path: str) -> bool:
        job = path.split("/")[1]
        return job != self.live_job or self._stored(path) < self._oldest_retained(job)

    def _stored(self, path: str) -> int:
        return (self.tree / path).stat().st_mtime_ns

    def _oldest_retained(self, job: str) -> int:
        folder = self.tree / "checkpoints" / job
        return min(path.stat().st_mtime_ns for path in folder.glob("chk-*/_metadata"))

    def missing(self, below: str) -> set[str]:
        """Return what the jobs' own checkpoints name below a folder and is not there."""
        own = [each for each in self.truth["checkpoints"] if each["dir"].startswith("checkpoints/")]
        return {path for each in own for path in each["missing"] if path.startswith(below)}


def unpack(name: str, folder: Path) -> Storage:
    """Return a storage whose newest object was stored 30 days ago.

    All store times are moved by one and the same span, so that no test depends on today's date
    and every difference stays what Flink made it.
    """
    with tarfile.open(ARCHIVE / name / "tree.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    tree = folder / "tree"
    files = [path for path in tree.rglob("*") if path.is_file()]
    shift = time.time_ns() - _AGE_NS - max(path.stat().st_mtime_ns for path in files)
    for path in files:
        stored = path.stat().st_mtime_ns + shift
        os.utime(path, ns=(stored, stored))
    return Storage(name, tree)
