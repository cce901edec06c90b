"""Where a soak's processes find what they need, and what the operator has said."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Places:
    """Folders and files below one folder.

    Attributes:
        work: All of them lie here.

    """

    work: Path
    _ended: dict[str, int] = field(default_factory=dict)
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

    def was_alive(self, job: str, at: int) -> bool:
        """Whether nobody had said by then, in nanoseconds, that a job is over."""
        with self._lock:
            return at < self._ended.get(job, at + 1)
