"""Where a soak's processes find what they need, and what the operator has said."""

from __future__ import annotations

import shutil
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Places:
    """Folders and files below one folder.

    Attributes:
        work: All of them lie here.
        layout: Name of the layout in which the jobs write their files.

    """

    work: Path
    layout: str = "flat"
    _ended: dict[str, int] = field(default_factory=dict)
    _given_up: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def base(self) -> Path:
        """Return the storage root."""
        return self.work / "ckpt"

    @property
    def savepoints(self) -> Path:
        """Return the folder of all savepoints."""
        return self.work / "savepoints"

    @property
    def state(self) -> Path:
        """Return the collectors' state location."""
        return self.work / "state"

    @property
    def registry(self) -> Path:
        """Return the folder that exporters write into, if there are any."""
        return self.work / "registry"

    @property
    def seen(self) -> Path:
        """Return the file that the watcher writes."""
        return self.work / "checkpoints.jsonl"

    @property
    def removals(self) -> Path:
        """Return the file that the witness writes."""
        return self.work / "removals.tsv"

    def end(self, job: str) -> None:
        """Say that a job is over, and never comes back."""
        with self._lock:
            self._ended[job] = time.time_ns()

    @property
    def ended(self) -> list[str]:
        """Return the jobs that are over."""
        with self._lock:
            return sorted(self._ended)

    def delete(self, checkpoint: Path) -> None:
        """Delete a checkpoint by hand, its metadata first."""
        self.give_up(checkpoint)
        (checkpoint / "_metadata").unlink()
        shutil.rmtree(checkpoint)

    def give_up(self, checkpoint: Path) -> None:
        """Say that a checkpoint is deleted by hand, or claimed by a job that will delete it."""
        with self._lock:
            self._given_up.append(str(checkpoint))

    def is_given_up(self, what: str) -> bool:
        """Return whether a checkpoint is given up, or one of a directory is."""
        with self._lock:
            return any(each == what or Path(each).parent == Path(what) for each in self._given_up)

    def was_alive(self, job: str, at: int) -> bool:
        """Whether nobody had said by then, in nanoseconds, that a job is over."""
        with self._lock:
            return at < self._ended.get(job, at + 1)
