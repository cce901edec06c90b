"""Unfinished uploads that nothing completes any more, and those that something may (R50)."""

from dataclasses import replace

import pytest

from orphangc.collect.decide.judge_uploads import UploadRule
from orphangc.collect.decide.verdicts import JobView, decided_job
from orphangc.collect.mark.mark import Mark
from orphangc.core.areas.table import AREAS
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.bounds_of_job import area_facts_of, bounds_of_job
from orphangc.core.decision.judge import judge
from orphangc.core.model.naming import Owners, artifact_name
from orphangc.core.model.types import AreaName
from support.builders import (
    JOB,
    UUID,
    a_checkpoint,
    a_cycle,
    a_job,
    ago,
    an_ended_job,
    job_directory,
    some_facts,
)

NAME = artifact_name(None, bytes(range(16)))
NAMED = artifact_name(None, UUID)
MERGED = f"{JOB}/shared/job_{JOB}_op_{'d' * 32}_0_4/{NAME}"
DATABASE = f"{JOB}/shared/op_x/db/{NAME}"
OLD = ago("60d")
STARTED = (a_checkpoint(43, triggered_at=ago("20d")),)


def _pinned(key: str) -> UploadRule:
    rule = rule_of(RUNNING)
    return replace(rule, marked=replace(rule.marked, pinned=(key,)))


def rule_of(job) -> UploadRule:
    cycle = a_cycle()
    judgement = judge(job, cycle)
    bounds = bounds_of_job(job, judgement, cycle, None)
    view = JobView(job, judgement, bounds, area_facts_of(job, cycle))
    base = job_directory(JOB).parent
    owners = Owners(base, {job_directory(JOB): JOB})
    marked = Mark(LiveSet(UuidSet({UUID})), (), {}, owners)
    return UploadRule(marked, {JOB: decided_job(view)})


RUNNING = a_job(before=(some_facts(checkpoints=STARTED),), after=(some_facts(checkpoints=STARTED),))
SHOWN = (some_facts(checkpoints=STARTED, changelog_enabled=True, max_concurrent=4),)
REFUSED = a_job(before=SHOWN, after=SHOWN)
FUTURE = a_job(job_id="")


@pytest.mark.parametrize(
    ("key", "is_dead"),
    [
        (f"{JOB}/chk-42/{NAME}", True),
        (f"{JOB}/chk-42/_metadata", True),
        (f"{JOB}/chk-43/_metadata", False),
        (f"{JOB}/chk-44/_metadata", False),
        (f"{JOB}/chk-44/{NAME}", False),
        (f"{JOB}/shared/{NAME}", True),
        (f"{JOB}/shared/{NAMED}", False),
        (f"{JOB}/dstl/{NAME}", True),
        (f"{JOB}/taskowned/{NAME}", False),
        (MERGED, False),
        (DATABASE, False),
        (f"{JOB}/shared/_metadata", False),
        (f"{JOB}/chk-42/other", False),
        (f"savepoint-4ae4a2-0123456789ab/{NAME}", False),
        ("savepoint-4ae4a2-0123456789ab/_metadata", False),
        (f"elsewhere/{NAME}", False),
    ],
)
def test_an_upload_of_a_running_job_is_dead_only_by_the_rule_of_its_key(key, is_dead) -> None:
    """R50 (a), (c), (d): never a pending ``_metadata``, never what is written in place."""
    assert rule_of(RUNNING).is_dead(key, OLD) is is_dead


def test_the_control_of_a_pending_metadata_fails_without_the_rule_of_its_key(monkeypatch) -> None:
    """Section 6: it is a checkpoint that is being completed, whatever its age."""
    area = AREAS[AreaName.EXCLUSIVE]
    assert not rule_of(RUNNING).is_dead(f"{JOB}/chk-44/_metadata", OLD)
    monkeypatch.setitem(AREAS, AreaName.EXCLUSIVE, replace(area, objection=lambda *_: None))
    assert rule_of(RUNNING).is_dead(f"{JOB}/chk-44/_metadata", OLD)


@pytest.mark.parametrize("pin", ["", JOB, f"{JOB}/chk-42", f"{JOB}/chk-42/_metadata"])
def test_an_upload_at_or_below_a_pinned_place_is_never_dead(pin) -> None:
    """Nothing brings it back, and no listing shows the file that a pin would keep."""
    rule = _pinned(pin)
    assert not rule.is_dead(f"{JOB}/chk-42/_metadata", OLD)
    assert _pinned(f"{JOB}/chk-4").is_dead(f"{JOB}/chk-42/_metadata", OLD)


@pytest.mark.parametrize("begun_at", [ago("1h"), ago("71h"), ago("0s"), None])
def test_a_young_upload_is_never_dead(begun_at) -> None:
    """R9: of a running job also what was begun since the newest checkpoint."""
    assert not rule_of(RUNNING).is_dead(f"{JOB}/chk-42/_metadata", begun_at)
    assert not rule_of(an_ended_job()).is_dead(MERGED, begun_at)


def test_of_a_refused_job_only_uploads_of_spared_areas_are_dead() -> None:
    """R56."""
    rule = rule_of(REFUSED)
    assert rule.is_dead(f"{JOB}/chk-42/_metadata", OLD)
    assert rule.is_dead(f"{JOB}/dstl/{NAME}", OLD)
    assert not rule.is_dead(f"{JOB}/shared/{NAME}", OLD)
    assert not rule_of(FUTURE).is_dead(f"{JOB}/chk-42/_metadata", OLD)


@pytest.mark.parametrize(
    "key", [MERGED, DATABASE, f"{JOB}/taskowned/{NAME}", f"{JOB}/chk-9/_metadata"]
)
def test_of_an_ended_job_every_upload_is_dead(key) -> None:
    """R50 (b)."""
    assert rule_of(an_ended_job()).is_dead(key, OLD)
