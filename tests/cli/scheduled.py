"""Storage roots that are run by a configuration file, by hand or by a daemon."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from cli.helpers import Ran, now, run
from cli.stories import Story
from orphangc.ports import StoreTime
from support import speed
from support.processes import until

STALLING = """\
import os, sys, time

ready = [os.environ["TEST_STALL"]] if "TEST_STALL" in os.environ else []

def stall(event, args):
    if event == "os.remove" and len(str(args[0])) == 36:
        try:
            sign = ready.pop()
        except IndexError:  # another thread was first
            return
        if "TEST_STALL_ONCE" in os.environ:
            try:
                open(sign + ".once", "x").close()
            except FileExistsError:
                return
        open(sign, "w").close()
        while os.path.exists(sign):
            time.sleep(0.02)

sys.addaudithook(stall)
"""
"""A ``sitecustomize`` that holds up the first deletion of a shared file until its sign is gone.

With ``TEST_STALL_ONCE`` only of the first process that comes so far: those that follow come to
their end, for every holder.
"""


def settings_of(story: Story, **more: Any) -> dict[str, Any]:
    """Return the settings of the storage root of an ended job, whose orphans may go at once."""
    bed = story.bed
    return {
        "root": str(bed.root),
        "state": str(bed.state),
        "closed_world": True,
        "ended_job": ["all"],
        "quarantine_period": "0",
        "allow_short_margins": True,
        **more,
    }


@dataclass
class Configured:
    folder: Path  # holds it, and the plans
    content: dict[str, Any] = field(default_factory=dict)  # what it says

    @classmethod
    def of(cls, story: Story, *roots: dict[str, Any], **more: Any) -> Configured:
        folder = story.bed.folder
        content = {"mode": "delete", "plans": str(folder / "plans"), "http": {"port": 0}}
        return cls(folder, content | {"storage_roots": roots or (settings_of(story),)} | more)

    @property
    def path(self) -> Path:
        path = self.folder / "orphangc.yaml"
        content = json.loads(json.dumps(self.content))
        path.write_text(yaml.safe_dump(content))
        return path

    def run(self, *options: object) -> Ran:
        """Run the storage roots inside this process."""
        return run("run", "--config", self.path, *options)

    def records(self) -> list[dict[str, Any]]:
        found = sorted((self.folder / "state").glob("*/records/*.json"))
        return [json.loads(each.read_text()) for each in found]


def events(err: str, name: str) -> list[dict[str, Any]]:
    whole = (line for line in err.splitlines(keepends=True) if line.endswith("\n"))
    lines = [json.loads(line) for line in whole if line.startswith("{")]
    return [line for line in lines if line["event"] == name]


def swept(record: dict[str, Any]) -> dict[str, int]:
    return {f"{each['action']}/{each['outcome']}": each["objects"] for each in record["swept"]}


def results(record: dict[str, Any]) -> dict[str, str]:
    return {each["phase"]: each["result"] for each in record["phases"]}


@dataclass
class Clock:
    """The clock of a machine, and of the local storages on it."""

    at: datetime

    def __call__(self) -> datetime:
        return self.at

    def passes(self, **much: float) -> None:
        self.at += timedelta(**much)

    @property
    def store_time(self) -> StoreTime:
        return StoreTime(now=self.at, local=self.at, source="clock of this host")

    def stamp(self, path: Path) -> Path:
        os.utime(path, (self.at.timestamp(), self.at.timestamp()))
        return path


@contextmanager
def fake_clock(monkeypatch: Any) -> Iterator[Clock]:
    """Let everything that reads a clock read this one."""
    clock = Clock(now())
    monkeypatch.setattr(
        "orphangc.adapters.files.local_storage.store_time", lambda *_: clock.store_time
    )
    modules = ("runner.run_root", "runner.make_plan", "runner.sweep_plan")
    for module in (*modules, "wiring.compose", "wiring.searched_places"):
        monkeypatch.setattr(f"orphangc.app.{module}.now", clock)
    yield clock


@dataclass
class Started:
    process: subprocess.Popen[bytes]  # the process
    err: Path  # file that takes its stderr

    @property
    def log(self) -> str:
        return self.err.read_text()

    @property
    def url(self) -> str:
        return until(lambda: re.search(r'"address": "([^"]+)"', self.log))[1]

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(self.url + path, timeout=speed.answer()) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as err:
            with err:
                return err.code, err.read().decode()

    def metric(self, name: str, **labels: str) -> float | None:
        for line in self.get("/metrics")[1].splitlines():
            head, _, value = line.rpartition(" ")
            if head.partition("{")[0] == name and all(
                f'{key}="{each}"' in head for key, each in labels.items()
            ):
                return float(value)
        return None

    def children(self) -> list[int]:
        task = Path(f"/proc/{self.process.pid}/task")
        found = (_text(each).split() for each in task.glob("*/children"))
        return [int(pid) for pids in found for pid in pids if _is_run(int(pid))]

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=speed.command())


@contextmanager
def started(*args: object, err: Path, stall: Path | None = None) -> Iterator[Started]:
    """Start the command line; kill what is left of it in the end."""
    extra = {}
    if stall is not None:
        folder = stall.parent / "site"
        folder.mkdir(exist_ok=True)
        (folder / "sitecustomize.py").write_text(STALLING)
        extra = {"PYTHONPATH": str(folder), "TEST_STALL": str(stall)}
    with err.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "orphangc", *map(str, args)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=file,
            env={**os.environ, **extra},
        )
    try:
        yield Started(process, err)
    finally:
        if stall is not None:
            stall.unlink(missing_ok=True)
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _text(path: Path) -> str:
    """Return what a file of ``/proc`` says, nothing once its thread has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""


def _is_run(pid: int) -> bool:
    try:
        return b"--child" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
