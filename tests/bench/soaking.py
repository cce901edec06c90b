"""A soak's parts: a planner that plans all the time, and what was right or wrong of it.

Nothing here believes orphangc: a checkpoint's files are the UUIDs in its bytes, as the tracker of
``safety/soak`` reads them.
"""

import json
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa

from integration.harness.flinkbed.truth import UUID, uuids_in
from orphangc.app.wiring.compose import opened, start_of
from orphangc.collect.cycle import run_cycle
from orphangc.core.decision.evidence import Check, CycleEvidence, JobEvidence
from orphangc.core.decision.guards import GUARDS
from orphangc.core.decision.judge import Judgement, judge_all
from orphangc.core.model.codes import Guard
from orphangc.core.model.settings import StorageRootSettings
from orphangc.errors import OrphanGcError
from safety.soak.reference_tracker import Flag, lines_of, metadata

REGISTRY, DERIVED = "registry", "derived, no gate"
_POLL_SECONDS = 0.03  # instead of the two that the product waits between looks for a nonce
_PATIENCE = timedelta(seconds=600)  # of the product's, so 300 looks
_PLANNED = {"tombstone", "delete"}
_LIFTED = {Guard.GATE, Guard.UNSTABLE_ROOT}
"""What registry mode does without; taken from derived mode, it must be seen to lose state."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where a soak's processes find what they need."""

    base: Path  # the storage root
    registry: Path  # what exporters write into
    work: Path  # everything else

    @property
    def checkpoints(self) -> Path:
        return self.work / "checkpoints.jsonl"

    @property
    def cycles(self) -> Path:
        return self.work / "cycles.jsonl"

    @property
    def ended(self) -> list[str]:
        file = self.work / "ended"
        return file.read_text().split() if file.is_file() else []

    def end(self, job: str) -> None:
        said = self.work / "ended.new"
        said.write_text("\n".join([*self.ended, job]))
        said.rename(self.work / "ended")


@dataclass(slots=True)
class _Sink:
    """Keeps the keys of what would go."""

    keys: list[str] = field(default_factory=list)

    def write(self, batch: pa.RecordBatch) -> None:
        rows = zip(*(batch.column(each).to_pylist() for each in ("key", "action")), strict=True)
        self.keys += [key for key, action in rows if action in _PLANNED]

    def close(self) -> None:
        """Do nothing."""


def plan_on(places: Places, modes: Sequence[str], stop: Flag) -> None:
    """Plan in each mode in turn until told to stop, every margin 0; nothing is ever deleted."""
    with places.cycles.open("w", buffering=1) as lines:
        while not stop.is_set():
            for mode in modes:
                lines.write(json.dumps(_cycle(places, mode)) + "\n")


def _settings(places: Places, mode: str) -> StorageRootSettings:
    zero = timedelta(0)
    return StorageRootSettings(
        root=str(places.base),
        state=str(places.work / "state"),
        grace_period=zero,
        allow_short_margins=True,
        clock_skew=zero,
        checkpoint_id_margin=0,
        quiet_period=zero,
        closed_world=True,
        ended_job=tuple(places.ended),
        registry=(str(places.registry),) if mode == REGISTRY else (),
        registry_wait=_PATIENCE,
    )


def _cycle(places: Places, mode: str) -> dict[str, Any]:
    """Make one plan; return what it would remove and whom it refused."""
    settings = _settings(places, mode)
    sinks: list[_Sink] = []

    def open_sink() -> _Sink:
        sinks.append(_Sink())
        return sinks[-1]

    judged = _Judging(lifts=mode == DERIVED)
    began = time.time_ns()
    start = start_of(settings)
    try:
        with (
            opened(start, lambda *_: None, is_planning=True) as environment,
            mock.patch("orphangc.collect.decide.judged_cycle.judge_all", judged),
        ):
            cycle = run_cycle(
                replace(environment, wait=lambda _: time.sleep(_POLL_SECONDS)),
                tombstones=start.state.tombstones(),
                halted=None,
                open_sink=open_sink,
                before=start.before,
            )
    except OrphanGcError as err:
        return {"mode": mode, "began": began, "decided": time.time_ns(), "refused": [str(err)]}
    decided = time.time_ns()
    keys = sorted(key for sink in sinks for key in sink.keys)
    needed = _needed_now(places.base, keys)
    judgements = cycle.known.judged.values()
    return {
        "mode": mode,
        "began": began,
        "decided": decided,
        "keys": keys,
        "needed": needed,
        "unstable": sorted(judged.unstable),
        "refused": [each.refused.message for each in judgements if each.refused],
        "jobs": len(cycle.known.judged),
        "blocked": sorted({str(b.condition) for each in judgements for b in each.blocked}),
    }


@dataclass(slots=True)
class _Judging:
    """``judge_all``, in derived mode without the guards that registry mode lifts."""

    lifts: bool
    unstable: set[str] = field(default_factory=set)

    def __call__(
        self, jobs: Sequence[JobEvidence], cycle: CycleEvidence
    ) -> Mapping[str, Judgement]:
        if not self.lifts:
            return judge_all(jobs, cycle)
        found = judge_all(jobs, cycle, guards=_guards_without({Guard.GATE}))
        self.unstable = {key for key, each in found.items() if each.refused is not None}
        return judge_all(jobs, cycle, guards=_guards_without(_LIFTED))


def _guards_without(lifted: Collection[Guard]) -> dict[Guard, Check]:
    return {guard: check for guard, check in GUARDS.items() if guard not in lifted}


def _needed_now(base: Path, keys: Iterable[str]) -> list[str]:
    """Return which of the candidates a ``_metadata`` names that is there when all is decided."""
    keys = list(keys)
    if not keys:
        return []
    named = {name for path, _, _ in metadata(base) for name in uuids_in(path) or ()}
    return [key for key in keys if _uuid(key) in named]


def _uuid(key: str) -> str:
    hit = UUID.search(key.rpartition("/")[2])
    assert hit, key
    return hit[0]


@dataclass(slots=True)
class Tally:
    """What one mode did."""

    cycles: int = 0  # plans made
    seconds: float = 0  # they took
    judged: int = 0  # jobs' directories that were judged, all plans together
    # those that were refused, by the reason with numbers and ids left out
    refused: Counter[str] = field(default_factory=Counter)
    # distinct objects that some plan would remove
    candidates: set[str] = field(default_factory=set)
    # those that a checkpoint needs which was there then, or written later, and why
    wrong: dict[str, str] = field(default_factory=dict)
    # those of them for which only the gate had been disabled
    wrong_though_stable: set[str] = field(default_factory=set)
    # conditions of deletion that some plan did not meet
    blocked: Counter[str] = field(default_factory=Counter)


def tallies(places: Places) -> tuple[int, dict[str, Tally]]:
    """Return how many checkpoints were seen, and what each mode did."""
    last: dict[str, tuple[int, str]] = {}
    seen = 0
    for what, path, written, _, names, *_ in lines_of(places.checkpoints):
        if what != "there":
            continue  # a plan is no deletion: it may choose what a checkpoint named that is gone
        seen += 1
        for name in names:
            last[name] = max(last.get(name, (0, "")), (written, path))
    found: dict[str, Tally] = {}
    for line in lines_of(places.cycles):
        _count(found.setdefault(line["mode"], Tally()), line, last)
    return seen, found


def _count(tally: Tally, line: Mapping[str, Any], last: Mapping[str, tuple[int, str]]) -> None:
    tally.cycles += 1
    tally.seconds += (line["decided"] - line["began"]) / 1e9
    tally.judged += line.get("jobs", 0)
    tally.refused.update(map(_without_numbers, line["refused"]))
    tally.blocked.update(line.get("blocked", ()))
    for key in line.get("keys", ()):
        tally.candidates.add(key)
        written, path = last.get(_uuid(key), (0, ""))
        if written > line["decided"] or key in line["needed"]:
            tally.wrong[key] = path
            if key.partition("/")[0] not in line["unstable"]:
                tally.wrong_though_stable.add(key)


def _without_numbers(message: str) -> str:
    words = (UUID.sub("…", word) for word in message.split())
    return " ".join("…" if any(c.isdigit() for c in word) else word for word in words)
