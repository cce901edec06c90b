"""A plan is what it was signed as, to the last field, and reads back as itself."""

import hashlib
import json
from collections import Counter
from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from orphangc.collect.decide.assemble_plan import area_parts, evidence_of, job_part, root_part
from orphangc.core.areas.area import AreaFacts
from orphangc.core.decision.judge import Blocked, Judgement, Refusal
from orphangc.core.documents.plan import (
    MOST_MISSING,
    BoundsPart,
    ExtrasPart,
    ExtraStatus,
    HiddenPart,
    Plan,
    ReportedPart,
    Tally,
    tallies_of,
)
from orphangc.core.documents.s3_inventory import Inventory
from orphangc.core.documents.self_sustained_record import NamedPart, UsageCheckPart
from orphangc.core.model.bounds import Bound, BoundName
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import (
    Action,
    AreaName,
    EvidenceSource,
    ForeignKind,
    JobState,
    Mode,
    Reason,
    Scope,
)
from orphangc.core.world.known_world import (
    ClosedWorld,
    KnownCluster,
    OutsidePath,
    PlaceKind,
    SearchedPlace,
    SearchedStorage,
    World,
    WorldChange,
)
from support.builders import (
    JOB,
    NAME,
    T0,
    a_cycle,
    a_hold,
    a_job,
    a_root,
    a_snapshot,
    ago,
    an_ended_job,
)
from support.grouped import for_each, grouped

FILE = f"{JOB}/shared/{NAME}"
STOPPED = Judgement(
    Refusal(Guard.GATE, "two at once"), (Blocked(Condition.CLOSED_WORLD, "nobody stated"),)
)


def a_part(job=None, judgement=STOPPED):
    job = job or a_job()
    return job_part(
        job,
        judgement,
        bounds=(Bound(BoundName.GRACE_PERIOD, ago("72h")), Bound(BoundName.OLDEST_OWN_ROOT, None)),
        cutoff=datetime(1970, 1, 1, tzinfo=UTC),
        oldest_retained_checkpoint_id=42,
        missing=[f"{FILE}2", FILE],
        evidence=evidence_of(job, a_cycle(), ["http://flink:8081"]),
        looks=(
            UsageCheckPart(value=None, why="two at once"),
            UsageCheckPart(
                kind=ForeignKind.SNAPSHOT,
                place="s3://bucket/savepoint-1",
                value=False,
                why="chk-43 still names 1 file of it",
                restored_from=True,
                references=1,
                bytes=1234,
                sample=("s3://bucket/savepoint-1/x",),
                named_by=(NamedPart(uri="s3://bucket/chk-43", checkpoint_id=43, references=1),),
                also_named_by=("s3://bucket/savepoint-2",),
            ),
        ),
    )


def a_plan(**changes: object) -> Plan:
    facts: dict[str, object] = {
        "tool_version": "1.0.0",
        "root": "s3://bucket/checkpoints",
        "scopes": (AreaName.SHARED,),
        "created_at": T0,
        "engine": "local",
        "bounds": BoundsPart(
            cutoff=ago("72h"),
            grace_period_seconds=259_200.0,
            quarantine_period_seconds=86_400.0,
            checkpoint_id_margin=1,
            clock_skew_seconds=900.0,
        ),
        "jobs": (a_part(),),
        "roots": (root_part(a_root(42)),),
        "tallies": (
            Tally(
                scope=Scope.SHARED,
                action=Action.DELETE,
                reason=Reason.QUARANTINE_OVER,
                objects=3,
                bytes=300,
            ),
            Tally(
                scope=Scope.SHARED, action=Action.KEEP, reason=Reason.TOO_YOUNG, objects=7, bytes=1
            ),
        ),
        "objects_listed": 10,
        "bytes_listed": 301,
        "list_requests": 4,
        "duration_seconds": 1.5,
        "live_set_sha256": "a" * 64,
        "reported": (
            ReportedPart(
                scope=Scope.TASKOWNED,
                job_id=JOB,
                objects=2,
                bytes=20,
                unreferenced_objects=1,
                unreferenced_bytes=10,
                oldest_modified_at=ago("3d"),
            ),
        ),
        "inventory": Inventory(uri="s3://reports/manifest.json", created_at=T0, objects=7),
        "listed_at": T0,
        "remembered_at": T0,
        "extras": ExtrasPart(
            uploads=ExtraStatus.COUNTED,
            versions=ExtraStatus.NOT_ASKED,
            problems=("timed out",),
            areas=(
                HiddenPart(
                    scope=Scope.SHARED,
                    job_id=JOB,
                    uploads=1,
                    upload_bytes=2,
                    uploads_of_unknown_size=3,
                    oldest_upload_at=T0,
                    noncurrent_versions=4,
                    noncurrent_bytes=5,
                    delete_markers=6,
                    directory_markers=7,
                ),
            ),
        ),
        "world": World(
            places=(
                SearchedPlace(
                    uri="s3://bucket/checkpoints",
                    kind=PlaceKind.STORAGE_ROOT,
                    device="s3://bucket",
                    job_directories=1,
                    checkpoints=2,
                    newest_checkpoint_at=T0,
                    since=ago("9d"),
                ),
            ),
            storages=(
                SearchedStorage(
                    uri="s3://bucket",
                    named_by=("the settings",),
                    keys=3,
                    checkpoints=2,
                    newest_checkpoint_at=T0,
                    problem="no answer",
                ),
            ),
            outside=(OutsidePath(uri="s3://old/a", named_by=("s3://b/chk-1",), jobs=(JOB,)),),
            clusters=(
                KnownCluster(
                    uri="http://jobmanager:8081", jobs=(JOB,), answers=False, problem="no answer"
                ),
            ),
            changed=(WorldChange(condition="place_lost", what="s3://old", since=T0),),
            closed_world=ClosedWorld(stated=True, covers=("s3://bucket/checkpoints",)),
        ),
        "warnings": ("an alias missing?",),
        "verdict_files": {"part-0.parquet": "b" * 64},
        "settings": StorageRootSettings(
            root="s3://bucket/checkpoints", pin=("s3://bucket/x",), inventory="s3://reports/daily"
        ),
    }
    return Plan(**{**facts, **changes})


def leaves(value: object, path: tuple = ()) -> list[tuple]:
    """Return the path of every plain value in a JSON document; empty lists count as one."""
    if isinstance(value, dict):
        return [leaf for key, each in value.items() for leaf in leaves(each, (*path, key))]
    if isinstance(value, list) and value:
        return [leaf for at, each in enumerate(value) for leaf in leaves(each, (*path, at))]
    return [path]


def tampered(document: dict, path: tuple) -> dict:
    """Return the document with one value changed to another of its kind."""
    copy = json.loads(json.dumps(document))
    place = copy
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = _another(place[path[-1]], path[-1])
    return copy


OTHER_WORDS = {
    "expiry": {
        "root": "s3://b/x",
        "created_at": "2001-01-01T00:00:00Z",
        "policy": None,
        "lineages": [],
        "unneeded_bytes": 0,
        "unneeded_objects": 0,
        "expiring_bytes": 0,
        "expiring_objects": 0,
    },
    "unneeded": {"checkpoints": 1, "lineages": 1, "objects": 1, "bytes": 1, "last_life_at": None},
    "kind": "directory",
    "engine": "spark",
    "mode": "registry",
    "state": "ended",
    "source": "operator",
    "scope": "other",
    "action": "revive",
    "reason": "orphan",
    "root": "s3://bucket/elsewhere",
    "grace_period": "999h",
    "quarantine_period": "999h",
    "clock_skew": "999s",
    "quiet_period": "999h",
    "registry_wait": "1s",
    "inventory_max_age": "1s",
    "uploads": "forbidden",
    "versions": "failed",
    "search": "places",
    "owner": "f" * 32,
}
OTHER_ENDS = {
    "state": "s3://elsewhere/state",
    "ended_job": ["all"],
    "merged_within": ["all"],
    "alias": ["s3://x=s3://y"],
    "flink_rest": ["http://x"],
    "accept_flink_version": ["1.18.1-amzn-0"],
    "kubernetes_ha": ["flink"],
    "zookeeper_ha": ["zk:2181/flink"],
    "unsafe_acknowledge_root": [f"s3://b/x={'0' * 64}"],
    "scope": ["taskowned"],
    "blocked": [],
    "areas": [{"area": "merged", "rule": "R35", "kept_because": None}],
    "held_back": {"checkpoint": 5, "objects": 1, "bytes": 2},
    "max_deletes": 1,
    "state_self_sustained": True,
    "value": True,
    "bytes": 1,
    "named_by": [{"uri": "s3://b/x", "checkpoint_id": 1, "references": 1}],
    "sequence": 1,
    "sibling_statements": [{"places": ["s3://b"], "ended_job": ["all"], "merged_within": []}],
    "at": "2001-01-01T00:00:00Z",
    "taken_at": "2001-01-01T00:00:00Z",
}


def _another(value: object, name: object) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value / 2 if name == "max_delete_share" else value + 1
    if value is None or value == []:
        return OTHER_ENDS.get(str(name), OTHER_WORDS.get(str(name), ["s3://new/x"]))
    if isinstance(name, int):
        areas = {each.value: "shared" for each in AreaName} | {"shared": "taskowned"}
        return areas.get(str(value), f"{value}2")
    if name == "kind" and value == PlaceKind.STORAGE_ROOT:
        return PlaceKind.SIBLING
    if "T" in str(value) and str(value).endswith("Z"):
        return "2001-01-01T00:00:00Z"
    return OTHER_WORDS.get(str(name), f"{value}2")


DOCUMENT = json.loads(a_plan().signed().model_dump_json())
SIGNED = [path for path in leaves(DOCUMENT) if path not in {("plan_id",), ("schema_version",)}]


def test_a_signed_plan_bears_the_digest_of_all_the_rest() -> None:
    """Design, section 4: a plan binds root, bounds, live set, tool version."""
    plan = a_plan()
    signed = plan.signed()
    assert plan.plan_id == ""
    assert signed.plan_id == signed.digest() == plan.digest()
    assert len(signed.plan_id) == 64
    assert signed.signed() == signed


@for_each("path", grouped(SIGNED, by=lambda path: path[0]))
def test_whatever_is_changed_in_a_plan_the_digest_differs(path: tuple) -> None:
    """Design, section 4: ``sweep`` refuses a plan that does not match; no field is left out."""
    try:
        changed = Plan.model_validate(tampered(DOCUMENT, path))
    except ValidationError as err:
        pytest.fail(f"the test must change {path} to something valid: {err}")
    assert changed.plan_id == DOCUMENT["plan_id"]
    assert changed.digest() != changed.plan_id


def test_every_field_of_a_plan_is_signed_but_its_own_identity() -> None:
    """A field that is added later is signed too, or this test says so."""
    assert {path[0] for path in leaves(DOCUMENT)} == set(Plan.model_fields)
    assert {path[0] for path in SIGNED} == set(Plan.model_fields) - {"plan_id", "schema_version"}


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_a_plan_of_another_schema_is_not_read(version: object) -> None:
    """Its fields may mean something else."""
    with pytest.raises(ValidationError, match="schema_version"):
        Plan.model_validate({**DOCUMENT, "schema_version": version})


def test_an_unknown_field_is_not_read() -> None:
    """What we do not understand we do not carry out."""
    with pytest.raises(ValidationError, match="Extra inputs"):
        Plan.model_validate({**DOCUMENT, "surprise": 1})
    job = {**DOCUMENT["jobs"][0], "surprise": 1}
    with pytest.raises(ValidationError, match="Extra inputs"):
        Plan.model_validate({**DOCUMENT, "jobs": [job]})


def test_a_verdict_file_is_signed_by_name_and_hash() -> None:
    """Design, section 4: the verdicts are part of the plan."""
    plan = a_plan().signed()
    for files in ({}, {"part-0.parquet": "c" * 64}, {"part-1.parquet": "b" * 64}):
        assert plan.model_copy(update={"verdict_files": files}).digest() != plan.plan_id


def test_anyone_can_compute_the_identity_of_a_plan() -> None:
    """Of the file: without ``plan_id``, keys in order, no spaces; a later release must, too."""
    plan = a_plan(warnings=("Grüße",)).signed()
    content = json.loads(plan.model_dump_json())
    content.pop("plan_id")
    spelled = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert hashlib.sha256(spelled.encode("ascii")).hexdigest() == plan.plan_id


def test_the_order_of_verdict_files_is_no_part_of_the_identity() -> None:
    """They are written at once, and any of them may be the first."""
    files = {f"part-{number}.parquet": str(number) * 64 for number in range(5)}
    turned = dict(reversed(files.items()))
    assert a_plan(verdict_files=files).digest() == a_plan(verdict_files=turned).digest()


def test_a_plan_reads_back_as_itself() -> None:
    """``plan.json`` is what a sweep starts from, microseconds included."""
    plan = a_plan(created_at=T0.replace(microsecond=1)).signed()
    again = Plan.model_validate_json(plan.model_dump_json())
    assert again == plan
    assert again.digest() == plan.plan_id
    indented = Plan.model_validate_json(plan.model_dump_json(indent=1))
    assert indented.digest() == plan.plan_id


def test_half_a_character_is_spelled_out() -> None:
    """Java's texts may hold one; a file of UTF-8 cannot, nor can a digest be made of it."""
    plan = a_plan(warnings=("a\ud800b", "Grüße", "plain"), root="s3://bucket/\udfff").signed()
    assert plan.warnings == ("a\\ud800b", "Grüße", "plain")
    assert plan.root == "s3://bucket/\\udfff"
    assert Plan.model_validate_json(plan.model_dump_json()).digest() == plan.plan_id


def test_no_credentials_are_ever_in_a_plan() -> None:
    """The plan is shown, kept, and sent around."""
    settings = StorageRootSettings(
        root="s3://bucket/checkpoints", flink_rest=("https://user:hunter2@flink:8081",)
    )
    plan = a_plan(settings=settings).signed()
    assert "hunter2" not in plan.model_dump_json()
    assert "user" not in plan.model_dump_json()
    again = Plan.model_validate_json(plan.model_dump_json())
    assert again.settings.flink_rest == ("https://flink:8081",)
    assert again.digest() == plan.plan_id


def test_a_job_is_shown_with_what_its_liveness_rests_on() -> None:
    """Design, section 4: the fields of a job."""
    part = a_part()
    assert (part.job_id, part.state, part.mode) == (JOB, JobState.RUNNING, Mode.DERIVED)
    assert part.directories == (f"s3://bucket/checkpoints/{JOB}",)
    assert part.retained_checkpoint_ids == (42, 43)
    assert part.oldest_retained_checkpoint_id == 42
    assert part.missing == (FILE, f"{FILE}2")
    assert [(each.name, each.at) for each in part.bounds] == [
        ("grace_period", ago("72h")),
        ("oldest_own_root", None),
    ]
    assert part.refused is not None
    assert (part.refused.guard, part.refused.message) == ("gate", "two at once")
    assert [each.condition for each in part.blocked] == ["closed_world"]
    assert (part.live_objects, part.listed_objects) == (60, 100)


def test_a_job_that_nothing_stops_shows_null_and_nothing() -> None:
    """Design, section 4: ``refused: null``."""
    part = a_part(judgement=Judgement())
    assert part.refused is None
    assert part.blocked == ()


@pytest.mark.parametrize("answer", [True, False, None])
def test_the_first_look_of_a_job_says_whether_its_state_is_self_sustained(answer) -> None:
    """It is at everything; those at single places follow, and nobody looked at a job without."""
    looks = (
        UsageCheckPart(value=answer, why="at all"),
        UsageCheckPart(place="s3://bucket/x", value=answer is not True, why="at one place"),
    )
    facts = {"bounds": (), "cutoff": T0, "oldest_retained_checkpoint_id": 42}
    part = job_part(a_job(), Judgement(), missing=(), evidence=(), looks=looks, **facts)
    assert (part.state_self_sustained, part.looks) == (answer, looks)
    part = job_part(a_job(), Judgement(), missing=(), evidence=(), **facts)
    assert (part.state_self_sustained, part.looks) == (None, ())


def test_a_hold_without_a_checkpoint_yet_is_evidence_too() -> None:
    """The job was started, and completed none so far."""
    hold = a_hold()
    job = a_job(own_checkpoints=(), held_before=(hold,), held_after=(hold,))
    parts = evidence_of(job, a_cycle(), [])
    assert [(each.source, each.uri, each.sequence, each.taken_at) for each in parts] == [
        (EvidenceSource.KUBERNETES, hold.uri, None, T0)
    ]


def test_savepoints_are_not_among_the_retained_checkpoints() -> None:
    """Section 2.7: the minimum over non-savepoint checkpoints; unknown kind counts as one."""
    roots = (a_root(41, is_savepoint=True), a_root(42, is_savepoint=None), a_root(43))
    assert a_part(a_job(own_checkpoints=roots)).retained_checkpoint_ids == (42, 43)


def test_the_evidence_names_every_source_once() -> None:
    """Design, section 4: metadata, snapshot, rest, kubernetes, operator."""
    hold = (a_hold(41, 42),)
    job = an_ended_job(
        own_checkpoints=(a_root(42),), snapshots=(a_snapshot(),), held_before=hold, held_after=hold
    )
    parts = evidence_of(job, a_cycle(), ["http://a", "http://b"])
    assert [(each.source, each.uri, each.sequence, each.taken_at) for each in parts] == [
        (EvidenceSource.METADATA, f"s3://bucket/checkpoints/{JOB}/chk-42", 42, ago("10d")),
        (EvidenceSource.SNAPSHOT, f"s3://bucket/checkpoints/{JOB}", 17, ago("5m")),
        (EvidenceSource.REST, "http://a", None, T0),
        (EvidenceSource.REST, "http://b", None, T0),
        (EvidenceSource.KUBERNETES, hold[0].uri, 42, T0),
        (EvidenceSource.OPERATOR, "ended-job", None, None),
    ]


def test_a_root_is_shown_with_how_many_files_it_needs() -> None:
    """Design, section 4: the fields of a root."""
    root = a_root(42, names=(NAME, f"41_{NAME}"))
    assert root_part(root).model_dump() == {
        "uri": f"s3://bucket/checkpoints/{JOB}/chk-42",
        "job_id": JOB,
        "checkpoint_id": 42,
        "format_version": 4,
        "references": 2,
        "sha256": f"{42:064x}",
    }


def test_tallies_keep_objects_and_bytes_together_in_a_stable_order() -> None:
    """Design, section 4: their sums equal the listing."""
    delete = (Scope.SHARED, Action.DELETE, Reason.QUARANTINE_OVER)
    young = (Scope.SHARED, Action.KEEP, Reason.TOO_YOUNG)
    other = (Scope.EXCLUSIVE, Action.KEEP, Reason.REPORT_ONLY)
    counted = Counter({young: 2, delete: 1, other: 4})
    sizes = Counter({delete: 10, other: 0, young: 30})
    tallies = tallies_of(counted, sizes)
    assert tallies == tallies_of(Counter(dict(reversed(counted.items()))), sizes)
    assert [(each.scope, each.action, each.objects, each.bytes) for each in tallies] == [
        (Scope.EXCLUSIVE, Action.KEEP, 4, 0),
        (Scope.SHARED, Action.DELETE, 1, 10),
        (Scope.SHARED, Action.KEEP, 2, 30),
    ]


def test_a_plan_adds_up_by_action() -> None:
    """What the limits are made of."""
    plan = a_plan()
    assert plan.objects(Action.DELETE) == 3
    assert plan.objects(Action.DELETE, Action.KEEP) == 10
    assert plan.objects(Action.REVIVE) == 0


def test_all_jobs_are_refused_only_if_there_are_any_and_each_one_is() -> None:
    """Design, section 3: exit 4 only if all were refused."""
    refused, content = a_part(), a_part(judgement=Judgement())
    assert a_plan(jobs=(refused, refused)).are_all_refused
    assert not a_plan(jobs=(refused, content)).are_all_refused
    assert not a_plan(jobs=()).are_all_refused


def test_a_plan_names_a_thousand_missing_keys_and_counts_all() -> None:
    """Issue 13, point 9: a lost bucket would fill it with millions."""
    job = a_job()
    part = job_part(
        job,
        Judgement(),
        bounds=(),
        cutoff=T0,
        oldest_retained_checkpoint_id=None,
        missing=(f"shared/{number:05}" for number in range(10_000)),
        evidence=(),
    )
    assert part.missing == tuple(f"shared/{number:05}" for number in range(MOST_MISSING))
    assert (part.missing_count, part.missing_objects) == (10_000, 10_000)


@pytest.mark.parametrize(
    ("spared", "is_wholly_refused"), [(frozenset(), True), (frozenset({AreaName.EXCLUSIVE}), False)]
)
def test_an_area_of_a_refused_job_says_so_unless_its_rule_withstands(
    spared, is_wholly_refused
) -> None:
    """R56: the refusal itself is the job's."""
    judgement = Judgement(Refusal(Guard.GATE, "four at once"), spared=spared)
    facts = AreaFacts(state=JobState.RUNNING, completed_id=42)
    shown = {AreaName.SHARED, AreaName.EXCLUSIVE}
    parts = area_parts(facts, shown, set(AreaName), judgement)
    kept = {each.area: each.kept_because for each in parts}
    assert kept[AreaName.SHARED] == "refused: gate"
    assert kept[AreaName.EXCLUSIVE] == ("refused: gate" if is_wholly_refused else None)
    job = a_part(judgement=judgement).model_copy(update={"areas": parts})
    assert job.is_wholly_refused is is_wholly_refused
    assert a_plan(jobs=(job,)).is_wholly_refused is is_wholly_refused
    assert a_plan(jobs=(job,)).are_all_refused
