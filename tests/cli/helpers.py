"""A small checkpoint storage to plan and sweep, and the command line that does it."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq
import pytest
import typer.main

from orphangc.app.cli import main
from orphangc.core.cluster.job_facts import GLOBALLY_TERMINAL
from support.leaks import secret_in
from support.processes import finished
from support.rest_server import Reply, as_json, listing
from unit.flinkstate.metadata import by_hand as hand

typer.main.get_command = cache(typer.main.get_command)  # else made again for every run below

ENDED = ("--ended-job", "all", "--closed-world")
"""What an operator states so that orphans of ended jobs may go."""

AT_ONCE = ("--quarantine-period", "0", "--allow-short-margins")

HIGH_AVAILABILITY = {"key": "high-availability.type", "value": "kubernetes"}
DAY = timedelta(days=1)
UUID_1 = "00000000-0000-4000-8000-000000000001"
UUID_2 = "00000000-0000-4000-8000-000000000002"


@dataclass(frozen=True)
class Ran:
    """What one run of the command line did."""

    code: int
    out: str
    err: str

    def __post_init__(self) -> None:
        """Make sure that no command shows a secret, whatever the test is about."""
        assert secret_in((self.out + self.err).encode("utf-8", "replace")) is None

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def complaints(self) -> list[str]:
        """Return the lines on stderr that are neither logs nor usage."""
        return [line for line in self.err.splitlines() if line.startswith("orphangc: ")]


def run(*args: object) -> Ran:
    """Run the command line inside this process, as its entry point does."""
    out, err = io.StringIO(), io.StringIO()
    argv = sys.argv
    sys.argv = ["orphangc", *map(str, args)]
    try:
        with _own_signals(), redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.argv = argv
    return Ran(code, out.getvalue(), err.getvalue())


@contextmanager
def _own_signals() -> Iterator[None]:
    """Take back what a command does about signals; in the middle of another one, let it do none."""
    if threading.current_thread() is not threading.main_thread():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(signal, "signal", lambda *_: None)
            yield
        return
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)


def run_process(*args: object) -> Ran:
    command = [sys.executable, "-m", "orphangc", *map(str, args)]
    done = finished(command, stdin=subprocess.DEVNULL)
    return Ran(done.returncode, done.stdout, done.stderr)


def now() -> datetime:
    """Return this machine's time, which a local storage shares."""
    return datetime.now(UTC)  # noqa: TID251 - a test's story starts now


def millis_ago(age: timedelta = timedelta()) -> int:
    """Return the time that was some time ago as Flink's REST API writes it."""
    return int((now() - age).timestamp() * 1000)


def metadata(
    checkpoint_id: int,
    paths: Iterable[object],
    *,
    private: Iterable[object] = (),
    version: int = 4,
    properties: bytes = hand.NULL_PROPERTIES,
) -> bytes:
    """Return a ``_metadata`` that refers to the paths as shared files of RocksDB."""
    shared, misc = (
        hand.listed(
            *(
                hand.utf(f"{number:06}.sst") + hand.file_handle(str(path))
                for number, path in enumerate(each)
            )
        )
        for each in (paths, private)
    )
    keyed = hand.incremental(shared, meta=hand.bytes_handle(), private=misc)
    subtasks = hand.listed(hand.subtask(version, keyed=keyed))
    operators = hand.listed(hand.operator(version, subtasks))
    return hand.metadata(version, operators, checkpoint_id=checkpoint_id, properties=properties)


def write(path: Path, data: bytes, age: timedelta) -> Path:
    """Write a file that was stored ``age`` ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    at = (now() - age).timestamp()
    os.utime(path, (at, at))
    return path


@dataclass(frozen=True)
class Job:
    id: str
    folder: Path

    def shared(self, name: str | None = None, *, age: timedelta = 30 * DAY) -> Path:
        chosen = name or str(uuid.uuid4())
        return write(self.folder / "shared" / chosen, f"state {chosen}".encode(), age)

    def checkpoint(
        self,
        number: int,
        *paths: object,
        age: timedelta = 20 * DAY,
        version: int = 4,
        private: Iterable[object] = (),
        properties: bytes = hand.NULL_PROPERTIES,
    ) -> Path:
        place = self.folder / f"chk-{number}" / "_metadata"
        data = metadata(number, paths, private=private, version=version, properties=properties)
        return write(place, data, age)


@dataclass
class Bed:
    """A storage root and a state location beside it."""

    folder: Path  # holds both, and the plans
    options: tuple[object, ...] = ()  # given to every plan
    plans: int = 0
    root: Path = field(init=False)
    state: Path = field(init=False)

    def __post_init__(self) -> None:
        self.root = self.folder / "checkpoints"
        self.state = self.folder / "state"

    def job(self, number: int = 1, *, below: Path | None = None) -> Job:
        job_id = f"{number:032x}"
        return Job(job_id, (below or self.root) / job_id)

    def plan(self, *options: object) -> Planned:
        self.plans += 1
        out = self.folder / f"plan-{self.plans}"
        ran = run("plan", self.root, "--state", self.state, "--out", out, *self.options, *options)
        return Planned(ran, out)

    def sweep(self, plan: Planned, *options: object) -> Ran:
        return run("sweep", plan.path, *options)

    def cycle(self, *options: object, delete: bool = True) -> tuple[Planned, Ran]:
        plan = self.plan(*options)
        assert plan.ran.code == 0, plan.ran.err
        return plan, self.sweep(plan, *(["--delete"] if delete else []))


@dataclass(frozen=True)
class Planned:
    ran: Ran
    path: Path

    @property
    def document(self) -> dict[str, Any]:
        return json.loads((self.path / "plan.json").read_text())

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        rows = pq.read_table(self.path / "verdicts").to_pylist()
        return {row["key"]: row for row in rows}

    def verdict(self, file: Path) -> tuple[str, str]:
        key = str(file.relative_to(self.document["root"]))
        return self.rows[key]["action"], self.rows[key]["reason"]

    def job(self, job: Job) -> dict[str, Any]:
        return next(each for each in self.document["jobs"] if each["job_id"] == job.id)

    def refusal(self, job: Job) -> str | None:
        refused = self.job(job)["refused"]
        return None if refused is None else refused["guard"]

    def blocks(self, job: Job) -> list[str]:
        return [each["condition"] for each in self.job(job)["blocked"]]

    def removals(self) -> set[str]:
        return {key for key, row in self.rows.items() if row["action"] in {"tombstone", "delete"}}


def outcomes(plan: Planned) -> dict[str, str]:
    rows = pq.read_table(plan.path / "outcomes.parquet").to_pylist()
    return {row["key"]: row["outcome"] for row in rows}


def contents(folder: Path) -> dict[str, tuple[str, int] | None]:
    """Return everything below a folder: digest and store time of files, ``None`` for folders."""
    found: dict[str, tuple[str, int] | None] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        is_folder = path.is_dir() and not path.is_symlink()
        found[name] = None if is_folder else (_digest(path), path.lstat().st_mtime_ns)
    return found


def _digest(path: Path) -> str:
    return str(path.readlink()) if path.is_symlink() else sha256(path.read_bytes()).hexdigest()


STARTING = {"state_backend": "Unknown", "checkpoint_storage": "Unknown"}
"""What a job shows of its layout before it has an execution graph."""


def flink(
    job: Job,
    *,
    completed: int | None,
    max_concurrent: int = 1,
    status: str = "RUNNING",
    started_ms: int = 1_000,
    ended_ms: int | None = None,
    version: str = "2.3.0",
    restored: tuple[int, Path | None] | None = None,
    restored_ms: int | None = None,
    restores_savepoint: bool = False,
    state_backend: str = "EmbeddedRocksDBStateBackend",
    checkpoint_storage: str = "FileSystemCheckpointStorage",
    triggered_ms: int = 2_000,
    answered_ms: int = 3_000,
    acknowledged_ms: int = 2_500,
    changelog: bool = False,
    savepoint: Literal["none", "shown", "hidden"] = "none",
) -> dict[str, Reply]:
    """Return the routes of a cluster that runs one job, whose newest checkpoint is given, if any.

    It has high availability: whether there is metadata of it, each story says. A job that is over
    ended just now, unless another time is given.
    A pending savepoint may be hidden: Flink's history is short, its counter is not.
    """
    number = completed or 0
    one = {
        "id": number,
        "status": "COMPLETED",
        "is_savepoint": False,
        "trigger_timestamp": triggered_ms,
        "latest_ack_timestamp": acknowledged_ms,
        "external_path": f"file:{job.folder}/chk-{number}",
        "discarded": False,
    }
    newest = None if completed is None else one
    pending = one | {"id": number + 1, "status": "IN_PROGRESS", "is_savepoint": True}
    shown = [pending] if savepoint == "shown" else []
    source = restored and {
        "id": restored[0],
        "is_savepoint": restores_savepoint,
        "external_path": restored[1] and f"file:{restored[1]}",
        **({} if restored_ms is None else {"restore_timestamp": restored_ms}),
    }
    return {
        "/config": as_json({"refresh-interval": 0, "flink-version": version}),
        "/jobmanager/config": as_json([HIGH_AVAILABILITY]),
        **listing((job.id, status)),
        f"/jobs/{job.id}": as_json(
            {
                "jid": job.id,
                "state": status,
                "now": answered_ms,
                "start-time": started_ms,
                "end-time": -1 if status not in GLOBALLY_TERMINAL else ended_ms or millis_ago(),
                "timestamps": {"INITIALIZING": started_ms, "CREATED": started_ms + 1},
            }
        ),
        f"/jobs/{job.id}/checkpoints": as_json(
            {
                "counts": {"in_progress": int(savepoint != "none"), "completed": number},
                "latest": {"completed": newest, "savepoint": None, "restored": source},
                "history": [*shown, *([newest] if newest else [])],
            }
        ),
        f"/jobs/{job.id}/checkpoints/config": as_json(
            {
                "interval": 2_000,
                "timeout": 60_000,
                "max_concurrent": max_concurrent,
                "state_backend": state_backend,
                "checkpoint_storage": checkpoint_storage,
                "state_changelog_enabled": changelog,
            }
        ),
    }
