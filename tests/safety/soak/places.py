"""Where a soak's processes find what they need, and what the operator has said."""

import re
import shutil
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from integration.harness.flinkbed.truth import UUID, gone_from, named_in_metadata, retained
from safety.soak.bucket import Bucket, Prefix
from safety.soak.layouts import LAYOUTS, Layout

Place = Path | str
"""A checkpoint or savepoint: a folder, or a URI of an object store."""

_JOB = re.compile(r"/([0-9a-f]{32})/")


@dataclass(frozen=True, slots=True)
class Places:
    """Folders and files below one folder."""

    work: Path  # all of them lie here
    layout: Layout = LAYOUTS["flat"]  # how the jobs write their files
    _ended: dict[str, int] = field(default_factory=dict)
    _given_up: list[str] = field(default_factory=list)
    _finished: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def base(self) -> Path:
        """Return the storage root, where it is a folder."""
        return self.work / "ckpt"

    @property
    def savepoints(self) -> Place:
        return self.work / "savepoints"

    @property
    def root(self) -> str:
        """Return the storage root, as it is given to a collector."""
        return str(self.base)

    @property
    def flink_root(self) -> str:
        """Return the storage root, as Flink names it."""
        return f"file://{self.base}"

    @property
    def trees(self) -> Iterable[Path | Prefix]:
        """Return where checkpoints and savepoints appear."""
        return self.base, self.work / "savepoints"

    @property
    def environment(self) -> Mapping[str, str]:
        """Return what a collector finds in its environment."""
        return {}

    @property
    def options(self) -> Mapping[str, Any]:
        """Return settings of a collector that only this kind of storage has."""
        return {}

    @property
    def state(self) -> Path:
        return self.work / "state"

    @property
    def registry(self) -> Path:
        """Return the folder that exporters write into, if there are any."""
        return self.work / "registry"

    @property
    def seen(self) -> Path:
        return self.work / "checkpoints.jsonl"

    @property
    def removals(self) -> Path:
        return self.work / "removals.tsv"

    def make(self) -> None:
        self.base.mkdir()
        (self.work / "savepoints").mkdir()

    def retained(self, job: str) -> list[Place]:
        return [*retained(self.base / job)]

    def beside(self, checkpoint: Place) -> list[Place]:
        return [*retained(Path(checkpoint).parent)]

    def checkpoints(self) -> set[Place]:
        trees = (self.base, self.work / "savepoints")
        return {metadata.parent for tree in trees for metadata in tree.rglob("_metadata")}

    def gone_from(self, checkpoint: Place) -> set[str]:
        return {str(path) for path in gone_from(Path(checkpoint))}

    def exists(self, path: str) -> bool:
        """Return whether a file is there, named as Flink's errors name it."""
        return Path(path).exists()

    def unnamed(self, named: set[str]) -> set[str]:
        """Return the files that bear a UUID which no checkpoint names, nor who asks."""
        known = named | named_in_metadata(self.base) | named_in_metadata(self.work / "savepoints")
        found = (path for path in self.base.rglob("*") if path.is_file())
        return {str(path) for path in found if is_unnamed(path.name, known)}

    def end(self, job: str) -> None:
        """Say that a job is over, and never comes back."""
        with self._lock:
            self._ended.setdefault(job, time.time_ns())

    def finish(self, job: str) -> None:
        """Say the same of one that stopped with a savepoint: Flink deletes its checkpoints."""
        self.end(job)
        with self._lock:
            self._finished.add(job)

    @property
    def ended(self) -> list[str]:
        with self._lock:
            return sorted(self._ended)

    def delete(self, checkpoint: Place) -> None:
        self.give_up(checkpoint)
        (Path(checkpoint) / "_metadata").unlink()
        shutil.rmtree(checkpoint)

    def give_up(self, checkpoint: Place) -> None:
        """Say that a checkpoint is deleted by hand, or claimed by a job that will delete it."""
        with self._lock:
            self._given_up.append(str(checkpoint))

    def is_given_up(self, what: str) -> bool:
        """Return whether a checkpoint is given up, one of a directory is, or a job is over."""
        it = Path(what)
        with self._lock:
            is_job = it.parent.name == "jobs" and it.name in self._ended
            is_job |= not self._finished.isdisjoint({it.name, it.parent.name})
            return is_job or any(it in {Path(each), Path(each).parent} for each in self._given_up)

    def was_alive(self, path: str, at: int) -> bool:
        """Whether nobody had said by then, in nanoseconds, that a file's job is over."""
        hit = _JOB.search(path)
        with self._lock:
            return hit is not None and at < self._ended.get(hit[1], at + 1)


def is_unnamed(name: str, known: set[str]) -> bool:
    hit = UUID.search(name)
    return hit is not None and hit[0] not in known


@dataclass(frozen=True, slots=True)
class BucketPlaces(Places):
    """The same, with storage root and savepoints in a bucket."""

    bucket: Bucket = field(kw_only=True)  # the bucket, without anyone between
    # where collectors find the server: every deletion that passes is written down
    collected_at: str = field(kw_only=True)

    @property
    def savepoints(self) -> Place:
        return f"{self.bucket.uri}/savepoints"

    @property
    def root(self) -> str:
        return f"{self.bucket.uri}/ckpt"

    @property
    def flink_root(self) -> str:
        return self.root

    @property
    def trees(self) -> Iterable[Path | Prefix]:
        return (Prefix(self.bucket, ""),)

    @property
    def environment(self) -> Mapping[str, str]:
        """Return endpoint and keys."""
        return self.bucket.environment | {"AWS_ENDPOINT_URL": self.collected_at}

    @property
    def options(self) -> Mapping[str, Any]:
        """Return that dead uploads are aborted, and the least slack that S3 allows.

        Its times have whole seconds, rounded down: without slack a file of the log that was stored
        in the second of a trigger would seem older than it.
        """
        return {"abort_uploads": True, "clock_skew": "1s"}

    def make(self) -> None:
        self.bucket.make()

    def retained(self, job: str) -> list[Place]:
        return [*self.bucket.retained(f"ckpt/{job}")]

    def beside(self, checkpoint: Place) -> list[Place]:
        return [*self.bucket.retained(self.bucket.key(str(checkpoint)).rpartition("/")[0])]

    def checkpoints(self) -> set[Place]:
        keys = self.bucket.keys("")
        folders = {key.removesuffix("/_metadata") for key in keys if key.endswith("/_metadata")}
        return {f"{self.bucket.uri}/{folder}" for folder in folders}

    def gone_from(self, checkpoint: Place) -> set[str]:
        return self.bucket.gone_from(str(checkpoint))

    def exists(self, path: str) -> bool:
        """Return whether an object is there: Flink's errors name bucket and key."""
        return self.bucket.has(path.removeprefix(f"/{self.bucket.name}/"))

    def unnamed(self, named: set[str]) -> set[str]:
        """Return the objects that bear a UUID which no checkpoint names, nor who asks.

        A directory whose objects all have one time seems to be copied, and is kept (R10): so ends a
        job that dies in the second of its first checkpoint.
        """
        known = named | self.bucket.named()
        times: dict[str, set[int]] = {}
        found = set()
        for key, stored, _ in self.bucket.rows("ckpt/"):
            times.setdefault(key.split("/")[1], set()).add(stored)
            if is_unnamed(key.rpartition("/")[2], known):
                found.add(key)
        return {f"{self.bucket.uri}/{key}" for key in found if len(times[key.split("/")[1]]) > 1}

    def delete(self, checkpoint: Place) -> None:
        self.give_up(checkpoint)
        self.bucket.delete_folder(self.bucket.key(str(checkpoint)))
