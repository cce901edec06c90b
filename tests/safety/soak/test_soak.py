"""A real Flink is broken, restored and collected at once, for minutes; nothing live is lost."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from integration.harness.flinkbed.fixtures import VERSIONS, require_flink
from safety.soak.collectors import Commands, careless
from safety.soak.places import Places
from safety.soak.soak import Report, soak
from safety.soak.soak_scenario import Story
from support import speed

pytestmark = pytest.mark.flink

_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "dev")
_IS_NIGHTLY = _PROFILE == "nightly"
SECONDS = int(os.environ.get("ORPHANGC_SOAK_SECONDS", {"nightly": 1800}.get(_PROFILE, 30)))
SEED = int(os.environ.get("ORPHANGC_SOAK_SEED", "7"))
CONTROL_SECONDS = 20
# the oldest of CI's versions still has all three modes of restoring
_VERSIONS = VERSIONS if _IS_NIGHTLY else VERSIONS[:1]


class LostError(Exception):
    """Something live was lost."""


# --- a control comes first: a part of a night ends without what comes last


@pytest.mark.ci
def test_a_careless_collector_is_caught(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """By the watcher, and by the checkpoints that do not restore."""
    version = _VERSIONS[0]
    require_flink(version)

    def kinds(places: Places, _: str) -> list[Commands]:
        return [careless(places)]

    report = soak(
        version, tmp_path, seconds=CONTROL_SECONDS, seed=SEED, kinds=kinds, tale=Story.only_stall
    )
    record_property("told", f"soak's control: Flink {version}, seed {SEED}: {report}")
    print(report)
    assert report.verdict.wrong
    assert report.failed


# --- the soaks


@pytest.mark.nightly
@pytest.mark.timeout(speed.scaled(3 * SECONDS + 900))
@pytest.mark.parametrize("version", _VERSIONS)
def test_collectors_delete_all_the_time_and_nothing_live_is_lost(
    version: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Every retained checkpoint restores, to the last number, whatever was done to the jobs."""
    require_flink(version)
    report = soak(version, tmp_path, seconds=SECONDS, seed=SEED)
    record_property("told", f"soak: Flink {version}, seed {SEED}: {report}")
    print(report)
    assert_nothing_was_lost(report)
    assert_much_was_done(report)


@pytest.mark.nightly
@pytest.mark.timeout(speed.scaled(3 * SECONDS + 900))
def test_registries_let_collectors_delete_with_four_checkpoints_at_once(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """The same with evidence of running jobs that only their registries can give."""
    version = VERSIONS[-1]
    require_flink(version)
    report = soak(version, tmp_path, seconds=SECONDS, seed=SEED, has_registry=True)
    record_property("told", f"soak with registries: Flink {version}, seed {SEED}: {report}")
    print(report)
    assert_nothing_was_lost(report)
    assert_much_was_done(report)


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


def assert_much_was_done(report: Report, *, least: int = 10, is_rescaled: bool = True) -> None:
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
