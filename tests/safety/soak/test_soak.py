"""A real Flink is broken, restored and collected at once, for minutes; nothing live is lost.

In every layout of a storage, on folders and on a real S3 server. Jobs run, and are collected by the
rules of running jobs (R31 to R46), with registries or without; in the end all are over, all that no
checkpoint names goes (R35), and every checkpoint and savepoint restores, recomputed.
"""

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Self

import pytest

from contracts.conftest import radosgw_url
from contracts.servers import radosgw
from integration.harness.flinkbed.fixtures import VERSIONS, require_flink
from safety.soak.bucket import Bucket
from safety.soak.collectors import Commands, careless
from safety.soak.layouts import LAYOUTS
from safety.soak.places import Places
from safety.soak.soak import Report, soak
from safety.soak.soak_scenario import Story
from support import speed

__all__ = ["radosgw_url"]

pytestmark = pytest.mark.flink

_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "dev")
SECONDS = int(os.environ.get("ORPHANGC_SOAK_SECONDS", {"nightly": 1800}.get(_PROFILE, 30)))
SEED = int(os.environ.get("ORPHANGC_SOAK_SEED", "7"))
CONTROL_SECONDS = 20


class LostError(Exception):
    """Something live was lost."""


class Mode(NamedTuple):
    """One soak: which Flink, how its files are written, checkpoints at once, and where."""

    version: str  # of Flink
    layout: str  # name of the layout
    concurrent: int  # checkpoints that may be pending at once
    # ``local``, ``s3``, or ``registry``: local, with evidence that only registries can give
    store: str

    @classmethod
    def of(cls, name: str) -> Self:
        version, layout, concurrent, store = name.split("-")
        return cls(version, layout, int(concurrent), store)


# the oldest of CI's versions still has all three modes of restoring
EACH = (*(f"{version}-flat-1-local" for version in VERSIONS), f"{VERSIONS[-1]}-flat-4-registry")
"""Soaks of each night."""
# one a night, in this order (.ci/nightly): every layout, with one and with four at once, here and
# there. Not merged across checkpoints on an object store, where Flink itself loses files
# (tests/integration/flink/test_collect_layouts.py); nor ForSt's own files, which it opens before
# they are closed.
MODES = (
    "2.3.0-changelog-4-local",
    "1.20.5-flat-4-s3",
    "2.3.0-forst-1-local",
    "2.3.0-changelog-4-s3",
    "1.20.5-within-1-local",
    "2.3.0-flat-4-s3",
    "1.20.5-changelog-1-local",
    "2.3.0-sync_forst-4-s3",
    "2.3.0-heap-4-local",
    "1.20.5-changelog-4-s3",
    "2.3.0-across-1-local",
    "2.3.0-within-1-s3",
    "1.20.5-flat-4-local",
    "1.20.5-heap-4-s3",
    "2.3.0-forst-4-local",
    "1.20.5-flat-1-s3",
    "1.20.5-across-4-local",
    "2.3.0-heap-1-s3",
    "2.3.0-within-4-local",
    "2.3.0-flat-1-s3",
)


def _tonight() -> list[object]:
    """Return the mode of this night, or all of them."""
    night = os.environ.get("ORPHANGC_NIGHT")
    chosen = MODES if night is None else (MODES[int(night) % len(MODES)],)
    return [
        pytest.param(name, id=f"tonight {name}", marks=[pytest.mark.s3] * name.endswith("-s3"))
        for name in chosen
    ]


TONIGHT = _tonight()


@pytest.fixture
def soaked(
    tmp_path: Path, request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Callable[..., Report]:
    """Return what soaks in the mode of a name, and tells the figures."""

    def of(name: str, seconds: float, **told: object) -> Report:
        mode = Mode.of(name)
        require_flink(mode.version)
        bucket = None
        if mode.store == "s3":
            url = request.getfixturevalue("radosgw_url")
            made = f"soak-{uuid.uuid4().hex[:12]}"
            bucket = Bucket(url, made, radosgw.ACCESS_KEY, radosgw.SECRET_KEY)
        report = soak(
            mode.version,
            tmp_path,
            seconds=seconds,
            seed=SEED,
            layout=mode.layout,
            concurrent=mode.concurrent,
            bucket=bucket,
            has_registry=mode.store == "registry",
            **told,  # type: ignore[arg-type]
        )
        what = "soak's control" if told else "soak"
        record_property("told", f"{what}, {name}, seed {SEED}: {report}")
        print(f"{what}, {name}: {report}")
        return report

    return of


# --- a control comes first: a part of a night ends without what comes last


def without_care(places: Places, _: str) -> list[Commands]:
    return [careless(places)]


@pytest.mark.ci
def test_a_careless_collector_is_caught(soaked: Callable[..., Report]) -> None:
    """By the watcher, and by the checkpoints that do not restore."""
    report = soaked(EACH[0], CONTROL_SECONDS, kinds=without_care, tale=Story.only_stall)
    assert report.verdict.wrong
    assert report.failed


@pytest.mark.nightly
@pytest.mark.timeout(speed.scaled(900))
@pytest.mark.parametrize("name", TONIGHT)
def test_a_careless_collector_is_caught_in_every_layout(
    name: str, soaked: Callable[..., Report]
) -> None:
    """By the watcher: who goes by age loses what a checkpoint needs, or one that comes."""
    report = soaked(name, CONTROL_SECONDS, kinds=without_care, tale=Story.only_stall)
    assert report.verdict.wrong


# --- the soak


@pytest.mark.nightly
@pytest.mark.timeout(speed.scaled(3 * SECONDS + 900))
@pytest.mark.parametrize("name", [*EACH, *TONIGHT])
def test_collectors_delete_all_the_time_and_nothing_live_is_lost(
    name: str, soaked: Callable[..., Report]
) -> None:
    """Every retained checkpoint restores, to the last number, whatever was done to the jobs."""
    report = soaked(name, SECONDS)
    assert_nothing_was_lost(report)
    # heap state leaves little, and nothing in shared/
    least, has_log = 10 if name in EACH else 1, LAYOUTS[Mode.of(name).layout].has_log
    assert_much_was_done(report, least=least, is_rescaled=not has_log)


def assert_nothing_was_lost(report: Report) -> None:
    """Neither by the watcher's account, nor by Flink's, nor by the jobs' own.

    Raises:
        LostError: Something was.

    """
    lost = {
        "removed and needed": report.verdict.wrong,
        "removed and no file that may go": report.verdict.strange,
        "not restored, or not right": report.failed,
        "wrong results": report.wrong_results,
    }
    if any(lost.values()):
        raise LostError({what: found for what, found in lost.items() if found})
    assert report.told.errors == []
    assert report.deeds.unexplained == {}


def assert_much_was_done(report: Report, *, least: int, is_rescaled: bool) -> None:
    """A soak in which nothing was collected, or nobody stood in another's way, proves nothing."""
    deeds, told = report.deeds, report.told
    assert report.verdict.right >= least
    assert told.deletions <= len(report.verdict.removed), "the witness saw less than was told"
    assert report.left == set()
    assert told.lock_refusals
    assert min(deeds.kills["taskmanager"], deeds.kills["jobmanager"]) >= 1
    assert deeds.restores.total() >= 3
    assert deeds.savepoints
    assert bool(deeds.rescales) is is_rescaled
    assert report.restored >= 3
    assert report.records
