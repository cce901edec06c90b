"""The losses of ``test_world`` on copies of storages that real Flink left."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli.scheduled import Configured
from flink_fixtures.unpacked import Storage, unpack
from safety.incidents.essential import must_be_there

CLAIMS = ("1.20.5/restore-claim", "2.3.0/restore-claim")


@dataclass(frozen=True)
class Split:
    """A storage whose claiming jobs lie in a storage root of their own."""

    storage: Storage  # as it was unpacked; the claiming jobs were moved from it
    second: Path  # the storage root of the claiming jobs
    claimers: tuple[str, ...]  # their ids

    @property
    def first(self) -> Path:
        return self.storage.tree / "checkpoints"

    def settings(self, root: Path, **more: Any) -> dict[str, Any]:
        """Return what a configuration file says of one of the storage roots."""
        run, tree = self.storage.truth["run_path"], self.storage.tree
        moved = [f"{run}/checkpoints/{job}={self.second / job}" for job in self.claimers]
        return {
            "root": str(root),
            "state": str(tree.parent / "state"),
            "closed_world": True,
            "ended_job": [path.parent.name for path in tree.parent.rglob("shared")],
            "extra_roots": [str(tree / "savepoints")],
            "empty_roots": [str(tree / "savepoints")],
            "alias": [*moved, f"{run}={tree}"],
            **dict.fromkeys(("quarantine_period", "grace_period", "clock_skew"), "0"),
            "quiet_period": "0",
            "allow_short_margins": True,
            "max_delete_share": 1.0,
            **more,
        }

    def shared(self) -> tuple[list[Path], list[Path]]:
        """Return the shared files of the jobs that claimed nothing: those in use, the others.

        The claiming jobs' metadata spells the names of those in use, whatever a parser makes of it.
        """
        claiming = [
            path.read_bytes()
            for job in self.claimers
            for path in (self.second / job).rglob("_metadata")
        ]
        needed, others = list[Path](), list[Path]()
        for path in self.first.glob("*/shared/*"):
            if path.parent.parent.name not in self.claimers:
                is_needed = any(path.name.encode() in data for data in claiming)
                (needed if is_needed else others).append(path)
        return needed, others

    def run(self, *roots: dict[str, Any]) -> None:
        """Run the storage roots until what is due is gone: a report, tombstones, deletions."""
        configured = Configured(self.storage.tree.parent)
        configured.content = {"mode": "delete", "plans": str(self.storage.tree.parent / "plans")}
        configured.content["storage_roots"] = list(roots)
        for _ in range(3):
            configured.run()


@pytest.fixture(params=CLAIMS)
def split(request, tmp_path) -> Split:
    storage = unpack(request.param, tmp_path)
    second = storage.tree / "second"
    claimers = tuple(job for job in storage.ended_jobs if storage.names_of_others(job))
    assert claimers
    for job in claimers:
        shutil.move(storage.tree / "checkpoints" / job, second / job)
    for path in (storage.tree / "checkpoints").glob("*/chk-*"):
        shutil.rmtree(path)  # claimed and subsumed, or removed by hand once the job was over
    return Split(storage, second, claimers)


@pytest.mark.answered_by("siblings")
def test_l1_a_claiming_job_in_the_second_storage_root_of_a_file_keeps_its_files(split) -> None:
    """And the orphans of the first go."""
    needed, others = split.shared()
    assert needed
    split.run(split.settings(split.first), split.settings(split.second))
    must_be_there(*needed)
    assert not any(path.exists() for path in others)


@pytest.mark.answered_by("condition:place_without_checkpoints")
def test_l2_a_claiming_job_on_a_file_system_that_is_not_mounted_keeps_its_files(split) -> None:
    """Its folder is there and empty."""
    needed, _ = split.shared()
    mounted = split.second.rename(split.storage.tree / "aside")
    split.second.mkdir()
    extra = [str(split.storage.tree / "savepoints"), str(split.second)]
    split.run(split.settings(split.first, extra_roots=extra))
    split.second.rmdir()
    mounted.rename(split.second)
    must_be_there(*needed)


@pytest.mark.answered_by("siblings")
def test_l4_a_single_job_directory_as_storage_root_keeps_what_its_neighbour_claimed(split) -> None:
    """The claiming jobs lie beside it again."""
    needed, others = split.shared()
    for job in split.claimers:
        shutil.move(split.second / job, split.first / job)
    storage = Split(split.storage, split.first, split.claimers)
    roots = sorted(path for path in split.first.iterdir() if path.name not in split.claimers)
    storage.run(*(storage.settings(root) for root in roots))
    must_be_there(*needed)
    assert not any(path.exists() for path in others)
