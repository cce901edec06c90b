"""What the model restates, held against the real functions; what it leaves out for speed, too."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import pytest

from orphangc.collect.mark.job_dependencies import dependencies_of
from orphangc.collect.mark.mark import cycle_evidence as real_cycle_evidence
from orphangc.collect.mark.mark import mark
from orphangc.collect.mark.missing import Missing
from orphangc.collect.mark.survey import Surveyed
from orphangc.collect.mark.survey_listing import ListingSurvey, gather_evidence
from orphangc.collect.observe.checkpoints import CheckpointScan, CheckpointsRead, _ids
from orphangc.collect.observe.observation import Observation
from orphangc.collect.observe.reported import Answers
from orphangc.core.cluster.job_facts import ClusterFacts
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.model.codes import Guard
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.ports import StoreTime
from orphangc.ports.engine import Listed
from safety.model_checking import actions
from safety.model_checking.clocks import ONE_BY_ONE, SIGMA, TICKING, ticking, with_slack
from safety.model_checking.explorer import explore, reachable
from safety.model_checking.flink import Mode, Scope
from safety.model_checking.scenario import Scenario
from safety.model_checking.scenarios import AT_ONCE, BOTH_ASKED, BY_TIME, IN_FULL, SLOWLY, claimed
from safety.model_checking.scenarios import rules as rules_without
from safety.model_checking.verdict import (
    Rules,
    Seen,
    artifact_of,
    at,
    cycle_evidence,
    directory,
    evidence,
    is_known,
    job_id,
    live_files,
    real_root,
    verdicts,
)
from safety.model_checking.world import Root, World
from support.builders import BASE

SETTINGS = StorageRootSettings(
    root=str(BASE),
    closed_world=True,
    allow_short_margins=True,
    grace_period=timedelta(0),
    quarantine_period=timedelta(0),
    quiet_period=timedelta(0),
    clock_skew=timedelta(0),
    checkpoint_id_margin=0,
)


COMPARED = (
    *(
        "ids_at_start",
        "ids_before",
        "ids_after",
        "before",
        "after",
        "depends_on",
        "is_origin_unread",
    ),
)


def scan_of(seen: Seen, numbers: Iterable[tuple[int, int]]) -> CheckpointScan:
    metadata = {
        f"{job_id(home)}/chk-{number}": StoredObject(
            key=ObjectKey(f"{job_id(home)}/chk-{number}/_metadata"), size=1, modified_at=None
        )
        for home, number in numbers
    }
    known = [i for i, job in enumerate(seen.jobs) if is_known(job, i, seen.listing)]
    return CheckpointScan(metadata, frozenset(map(job_id, known)), _ids(metadata, BASE.name))


def read_of(seen: Seen, ids: Iterable[tuple[int, int]], roots: Iterable[Root]) -> CheckpointsRead:
    """Return the same with what its roots say."""
    places = list(ids)
    read = tuple(real_root(root) for root in roots if root.place in places)
    return CheckpointsRead(scan_of(seen, places), read, ())


def observed(seen: Seen, rules: Rules) -> Observation:
    """Return the observation that the real code would have made of what a model's cycle saw."""
    jobs = evidence(seen, rules)
    roots = [root for job in seen.jobs for root in job.roots]
    start, first, second = (
        [(index, n) for index, job in enumerate(seen.jobs) for n in getattr(job, name)]
        for name in ("ids_at_start", "ids_before", "ids_after")
    )

    def told(name: str) -> Answers:
        facts = {job.job_id: each for job in jobs for each in getattr(job, name)}
        cluster = ClusterFacts(uri="u", flink_version="1.20.5", jobs=facts, cache_seconds=0)
        return Answers(settings=SETTINGS, clusters=(cluster,))

    exported = {job.job_id: job.exported for job in jobs if job.exported is not None}
    before, after = told("before"), told("after")
    return Observation(
        settings=SETTINGS,
        time=StoreTime(now=at(seen.now), local=at(seen.now - seen.skew), source=""),
        time_after=StoreTime(now=at(seen.until), local=at(seen.until - seen.skew), source=""),
        before=before,
        after=after,
        answers=replace(
            before,
            clusters=(*before.clusters, *after.clusters),
            snapshots=tuple(each for one in exported.values() for each in one.snapshots),
        ),
        at_start=(scan_of(seen, start),),
        first=(read_of(seen, first, roots),),
        second=(read_of(seen, second, roots),),
        elsewhere=(),
        elsewhere_unreadable=(),
        exported=exported,
        listed=Listed(objects=len(seen.listing)),
    )


def sample(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Seen, Rules]]:
    """Return what the cycles of a scenario saw, every way that they saw it."""
    found: dict[tuple[Seen, Rules], None] = {}

    def noted(seen, tombstones, rules):
        found[seen, rules] = None
        return verdicts(seen, tombstones, rules)

    monkeypatch.setattr(actions, "verdicts", noted)
    replace(scenario, conduct=replace(scenario.conduct, stops_early=False)).explore()
    return list(found)


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(name="derived", scope=Scope(checkpoints=2, deaths=1), conduct=SLOWLY),
        Scenario(name="registry", scope=Scope(checkpoints=2), conduct=IN_FULL),
        pytest.param(
            ticking("clocks", with_slack(IN_FULL), clocks=((SIGMA, -SIGMA),), scope=ONE_BY_ONE),
            marks=pytest.mark.ci,
        ),
        claimed(BOTH_ASKED, Mode.CLAIM, 3),
        claimed(replace(SLOWLY, asked=(0,)), Mode.CLAIM, 4, name="CLAIM, not asked for"),
    ],
    ids=lambda each: each.name,
)
def test_the_evidence_is_what_the_real_mark_makes_of_the_same_observation(
    scenario, monkeypatch
) -> None:
    """``collect.mark.mark.mark`` and ``gather_evidence``, for every observation there is."""
    seen_by_all = sample(scenario, monkeypatch)
    assert len(seen_by_all) > 5
    for seen, rules in seen_by_all[:: max(1, len(seen_by_all) // 60)]:
        marked = mark(observed(seen, rules), [BASE])
        named = live_files(seen)
        held = {
            job_id(index): UuidSet(
                artifact_of(f).uuid for f, _ in seen.listing if f in named and f[0] == index
            )
            for index in range(len(seen.jobs))
        }
        shown = ListingSurvey(
            surveyed=Surveyed(held=held),
            missing=Missing(),
            missing_of_latest={},
            needed=dependencies_of(marked, SETTINGS, held),
        )
        real = gather_evidence(marked, SETTINGS, shown)
        for mine in evidence(seen, rules):
            theirs = real[mine.key]
            for name in COMPARED:
                assert getattr(theirs, name) == getattr(mine, name), (name, seen)
            assert {r.folder for r in theirs.own_checkpoints} == {
                r.folder for r in mine.own_checkpoints
            }
            assert (theirs.state, theirs.exported) == (mine.state, mine.exported)
            assert theirs.directories == (directory("abc".index(mine.key[0])),)
            assert theirs.snapshots == mine.snapshots
        for file, _ in seen.listing:
            assert (artifact_of(file).uuid in marked.live) == (file in named)
        settings = SETTINGS.model_copy(update={"clock_skew": rules.margins.clock_skew})
        theirs_of_all = real_cycle_evidence(
            replace(observed(seen, rules), settings=settings), is_tested_storage=True, halted=None
        )
        mine_of_all = cycle_evidence(seen, rules)
        assert theirs_of_all == replace(mine_of_all, prove_with=theirs_of_all.prove_with)


def lost_by(scenario: Scenario) -> set[frozenset[object]]:
    return {world.lost for world in reachable([scenario.first()], scenario.steps)}


@pytest.mark.parametrize(
    "conduct",
    [
        SLOWLY,
        replace(AT_ONCE, rules=rules_without(Guard.GATE, concurrent=2, has_names_with_ids=True)),
        BY_TIME,
    ],
    ids=["derived", "without the gate", "registry"],
)
def test_what_is_left_out_early_would_have_deleted_nothing(conduct) -> None:
    """``stops_early`` changes no set of deleted files."""
    scope = Scope(
        checkpoints=3 if conduct is BY_TIME else 2, concurrent=conduct.rules.concurrent % 3
    )
    scope = replace(scope, deaths=1)
    quick = Scenario(name="", scope=scope, conduct=conduct)
    whole = replace(quick, conduct=replace(conduct, stops_early=False))
    assert lost_by(quick) == lost_by(whole)
    assert len(lost_by(quick)) > 1


def test_where_clocks_differ_collectors_do_delete() -> None:
    """The slack keeps what it must, and not everything."""
    deleted: set[frozenset[object]] = set()

    def noted(world: World) -> None:
        deleted.add(world.lost)

    explore(TICKING[0].starts(), TICKING[0].steps, noted)
    assert len(deleted) > 1
