"""The child processes of the daemon: each run is one, so its memory and its crash are its own.

A child holds the other end of a pipe as its stdin. When the daemon dies, the pipe closes, and the
child stops in order.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
from pydantic import BaseModel, TypeAdapter, ValidationError

from orphangc.app.config.configuration import ScheduledRoot
from orphangc.core.documents.run_record import RunRecord
from orphangc.errors import OrphanGcError

log = structlog.get_logger()

_RECORDS = TypeAdapter(list[RunRecord])
_PAGE_CHARACTERS = 4_000_000
"""Bound of what a page shows of a checkpoint."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Result of a child that ran a storage root.

    Attributes:
        code: Exit code; a negative one is the signal that killed the child.
        record: Record that the child printed; ``None`` if it is absent or incomplete.
    """

    code: int
    record: RunRecord | None


@dataclass(frozen=True, slots=True)
class Known:
    """Records of one storage root, newest first, or why they cannot be read."""

    records: Sequence[RunRecord] = ()
    error: str | None = None


class FoundRoots(BaseModel):
    """Storage roots that a configuration names or discovers."""

    storage_roots: tuple[ScheduledRoot, ...] = ()
    problem: str | None = None


@dataclass(slots=True)
class Children:
    """Starts children, and stops those that run.

    Attributes:
        page_seconds: How long a page may wait for a checkpoint to be read.
    """

    config: Path
    options: Sequence[str] = ()
    page_seconds: float = 20
    _running: dict[int, subprocess.Popen[str]] = field(default_factory=dict)
    _is_over: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def end(self) -> None:
        """Start no further run, and stop those in progress: they finish their batch."""
        with self._lock:
            self._is_over = True
            for process in self._running.values():
                process.terminate()

    def run(self, root: str) -> Ended | None:
        """Return the result of a run of a storage root; ``None`` if no run may start now."""
        words = ("--only", root, "--child", "--output", "json")
        with self._counted("run", *words) as process:
            if process is None:
                return None
            out, code = _waited_for(process)
        return Ended(code, _only_record(out))

    @contextmanager
    def _counted(self, *words: str) -> Iterator[subprocess.Popen[str] | None]:
        """Yield a child that the end of the daemon stops; ``None`` if none may start now."""
        with self._lock:
            process = None if self._is_over else self._start(*words)
            if process is not None:
                self._running[process.pid] = process
        try:
            yield process
        finally:
            if process is not None:
                with self._lock:
                    del self._running[process.pid]

    def page_part(self, checkpoint: str, aliases: Sequence[str]) -> str:
        """Return a checkpoint as a part of a page in bounded time, or raise ``OrphanGcError``."""
        words = [*(word for each in aliases for word in ("--alias", each)), "--", checkpoint]
        with self._counted("page-part", *words) as process:
            if process is None:
                raise OrphanGcError("the daemon is ending")
            killer = threading.Timer(self.page_seconds, process.kill)  # it only reads
            killer.daemon = True
            killer.start()
            out, code = _waited_for(process, most=_PAGE_CHARACTERS)
            is_late = killer.finished.is_set()
            killer.cancel()
        if is_late:
            raise OrphanGcError(f"it could not be read within {self.page_seconds:g} s")
        if len(out) >= _PAGE_CHARACTERS:
            raise OrphanGcError("it is too large for a page")
        if code:
            raise OrphanGcError(f"reading it failed with exit code {code}; the log says why")
        return out

    def known(self) -> dict[str, Known]:
        """Return the records of each storage root; empty if the child failed."""
        out, code = _waited_for(self._start("records"))
        try:
            content: dict[str, Any] = json.loads(out)
            return {
                root: Known(_RECORDS.validate_python(each["records"]), each["error"])
                for root, each in content.items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as err:
            log.warning("records.unread", exit_code=code, reason=type(err).__name__)
            return {}

    def storage_roots(self) -> FoundRoots:
        """Return the storage roots of the configuration, discovered ones included."""
        out, code = _waited_for(self._start("roots"))
        try:
            found = FoundRoots.model_validate_json(out)
        except (ValidationError, ValueError) as err:
            found = FoundRoots(problem=f"it failed with exit code {code} ({type(err).__name__})")
        if found.problem is not None:
            log.warning("discovery.failed", exit_code=code, reason=found.problem)
        return found

    def keep(self, record: RunRecord) -> RunRecord:
        """Write a record for a run that left none; return it with its totals if it was written."""
        process = self._start("records", "--keep")
        assert process.stdin is not None  # noqa: S101 - asked for
        try:
            process.stdin.write(json.dumps([record.model_dump(mode="json")]))
            process.stdin.close()
        except OSError:
            log.warning("record.not_written", run_id=record.run_id)
        out, _ = _waited_for(process)
        return _only_record(out) or record

    def _start(self, command: str, *arguments: str) -> subprocess.Popen[str]:
        options = ("--config", str(self.config), *arguments)
        return subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-m", "orphangc", *self.options, command, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C of a terminal reaches only the daemon
        )


def _waited_for(process: subprocess.Popen[str], most: int = -1) -> tuple[str, int]:
    assert process.stdout is not None  # noqa: S101 - asked for
    assert process.stdin is not None  # noqa: S101
    try:
        out = process.stdout.read(most)
        process.stdout.close()  # a child that prints more ends
        return out, process.wait()
    finally:
        process.stdout.close()
        if not process.stdin.closed:
            process.stdin.close()


def _only_record(text: str) -> RunRecord | None:
    try:
        (record,) = _RECORDS.validate_json(text)
    except (ValidationError, ValueError):
        return None
    return record


def signal_name(code: int) -> str:
    """Return the name of the signal in an exit code of a child."""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
