"""Collectors that never rest: processes of the command line, in delete mode, margins short."""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import yaml

from integration.harness.command import NO_MARGINS
from orphangc.app.config.validate import settings_from
from orphangc.app.wiring.compose import state_of
from orphangc.collect.world.memory_files import read_memory
from orphangc.core.model.codes import Condition
from safety.soak.places import Places
from support import speed

_TESTS = Path(__file__).parents[2]
_SECONDS = 300
_KILLED_SHARE = 0.08
_KILLED_AFTER = (0.3, 4.0)
_LOCK_HELD = 11
_MARGINS = NO_MARGINS | {
    "registry_wait": "20s"  # for the exporter of a JobManager that was killed meanwhile
}
_RIGHT_CODES = {0, 3, 4, 10, 11}
"""Done; done but for some; refused; nobody answers, which is so while a JobManager is dead; locked.
Any other code is an error, but for 1 where a guard stopped a sweep that had begun to delete, and 2
where a run in between has found that what a person acknowledges blocks no more."""
_NOTHING_TO_ACKNOWLEDGE = "world", 2
_LOSSES = {Condition.CHECKPOINT_NOT_FOUND, Condition.JOB_DIRECTORY_EMPTIED}

Commands = Callable[[Path, random.Random], Iterator[Sequence[str]]]
"""The commands of a cycle, in a folder of its own; the next comes only if the last one exits 0."""


@dataclass(slots=True)
class Told:
    """What collectors did, by their exit codes and their own words."""

    codes: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    killed: int = 0
    cycles: int = 0
    deletions: int = 0
    errors: list[str] = field(default_factory=list)

    @property
    def lock_refusals(self) -> int:
        """Return how often a collector found another one at work."""
        return sum(n for each, n in self.codes.items() if each.endswith(f" {_LOCK_HELD}"))


@dataclass(slots=True)
class Collectors:
    """Each in a thread of its own, a cycle after the other, until told to stop."""

    places: Places  # what they collect
    kinds: Sequence[Commands]  # one collector each
    seed: int  # of their luck
    told: Told = field(default_factory=Told)  # what they did
    is_sparing: bool = False  # whether none of them is killed
    _stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Have them collect as long as the block lasts."""
        threads = [
            threading.Thread(target=self._go_on, args=(kind, random.Random(self.seed + n)))
            for n, kind in enumerate(self.kinds)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join(2 * speed.scaled(_SECONDS))

    def wait_for(self, cycles: int, seconds: float) -> None:
        end, goal = time.monotonic() + seconds, self.told.cycles + cycles
        while self.told.cycles < goal and time.monotonic() < end:
            time.sleep(0.1)

    def _go_on(self, kind: Commands, chance: random.Random) -> None:
        try:
            while not self._stop.is_set():
                with self._lock:
                    folder = self.places.work / "cycles" / str(next(self._numbers))
                folder.mkdir(parents=True)
                for command in kind(folder, chance):
                    if self._run(command, folder, chance) != 0:
                        break
                with self._lock:
                    self.told.cycles += 1
        except Exception as err:  # noqa: BLE001 - told by the soak, which fails
            with self._lock:
                self.told.errors.append(repr(err))

    def _run(self, command: Sequence[str], folder: Path, chance: random.Random) -> int | None:
        """Run a command under watch; return its code, or ``None`` if it was killed."""
        places = self.places.removals, self.places.base  # of an object store its server tells
        line = [sys.executable, "-m", "safety.soak.deletion_tracer", *map(str, places)]
        path = [str(_TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
        with (folder / f"{command[1]}.err").open("w") as stderr:
            process = subprocess.Popen(
                [*line, *command],
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env={**os.environ, **self.places.environment, "PYTHONPATH": os.pathsep.join(path)},
            )
            end = speed.scaled(_SECONDS)
            is_victim = not self.is_sparing and chance.random() < _KILLED_SHARE
            if is_victim:
                end = chance.uniform(*_KILLED_AFTER)
            try:
                out = process.communicate(timeout=end)[0]
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                with self._lock:
                    self.told.killed += is_victim
                    if not is_victim:
                        self.told.errors.append(f"{command[1]} did not end in time")
                return None
        self._note(command[1], process.returncode, out, folder)
        return process.returncode

    def _note(self, verb: str, code: int, out: str, folder: Path) -> None:
        (folder / f"{verb}.out").write_text(out)
        document = _document(out)
        was_stopped = code == 1 and any(_stops(document))
        with self._lock:
            self.told.codes[f"{verb} {code}{' (stopped)' if was_stopped else ''}"] += 1
            self.told.refusals.update(set(_refusals(document)))
            self.told.deletions += _deletions(document)
            is_right = code in _RIGHT_CODES or (verb, code) == _NOTHING_TO_ACKNOWLEDGE
            if not is_right and not was_stopped:
                errors = (folder / f"{verb}.err").read_text()
                self.told.errors.append(f"{verb} exits {code} in {folder}: {errors[-1500:]}")


def _document(out: str) -> Any:
    try:
        return json.loads(out)
    except ValueError:
        return None


def _refusals(value: Any) -> Iterator[str]:
    """Yield the guards and conditions that a document names."""
    if isinstance(value, dict):
        for name in ("guard", "condition"):
            if isinstance(value.get(name), str):
                yield value[name]
    for each in _parts(value):
        yield from _refusals(each)


def _stops(value: Any) -> Iterator[str]:
    """Yield why guards stopped what had begun."""
    if isinstance(value, dict) and isinstance(value.get("stopped"), str):
        yield value["stopped"]
    for each in _parts(value):
        yield from _stops(each)


def _deletions(value: Any) -> int:
    """Return how many deletions a document tells of, a sweep's or a run's."""
    if isinstance(value, dict):
        if isinstance(swept := value.get("delete/done"), dict):
            return int(swept["objects"])
        if (value.get("action"), value.get("outcome")) == ("delete", "done"):
            return int(value["objects"])
    return sum(map(_deletions, _parts(value)))


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def scheduled(places: Places, rest: str) -> Commands:
    """Return a collector that plans and sweeps in one pass, as a CronJob does."""

    def commands(folder: Path, _: random.Random) -> Iterator[Sequence[str]]:
        config = folder / "orphangc.yaml"
        root = _evidence(places, rest) | {"root": places.root, "state": str(places.state)}
        content = {
            "mode": "delete",
            "plans": str(places.work / "plans"),
            "storage_roots": [_MARGINS | root],
        }
        config.write_text(yaml.safe_dump(content))
        yield "orphangc", "run", "--config", str(config), "--output", "json"

    return commands


def by_hand(places: Places, rest: str) -> Commands:
    """Return a person's: acknowledge what is given up, make a plan, wait a little, carry it out."""

    def commands(folder: Path, chance: random.Random) -> Iterator[Sequence[str]]:
        yield from _acknowledgements(places)
        plan = str(folder / "plan")
        options = [*_as_options(_MARGINS | _evidence(places, rest)), "--state", str(places.state)]
        yield "orphangc", "plan", places.root, *options, "--out", plan, "--output", "json"
        time.sleep(chance.uniform(0, 2))
        yield "orphangc", "sweep", plan, "--delete", "--output", "json"

    return commands


def _acknowledgements(places: Places) -> Iterator[Sequence[str]]:
    """Yield a command for each loss that blocks, where the operator gave up what is lost."""
    base, state = places.root, str(places.state)
    known = state_of(settings_from({"root": base, "state": state}))
    for fact in read_memory(known).memory.standing:
        if fact.condition in _LOSSES and places.is_given_up(fact.what):
            words = "world", "acknowledge", base, fact.condition, fact.what
            yield "orphangc", *words, "--state", state


def careless(places: Places) -> Commands:
    """Return a collector that goes by age alone: the negative control."""

    def commands(_: Path, __: random.Random) -> Iterator[Sequence[str]]:
        yield "safety.soak.naive_collector", "clean", places.root

    return commands


def _evidence(places: Places, rest: str) -> dict[str, Any]:
    return {
        "flink_rest": [rest],
        "extra_roots": [str(places.savepoints)],
        "empty_roots": [str(places.savepoints)],
        "ended_job": places.ended,
        "registry": [str(places.registry)] if places.registry.is_dir() else [],
        "merged_within": ["all"] if places.layout.name == "within" else [],
        **places.options,
    }


def _as_options(settings: dict[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            yield option
        else:
            for each in value if isinstance(value, list) else [value]:
                yield from (option, str(each))
