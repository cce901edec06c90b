"""The vectorised path, from keys to verdicts, says what the scalar functions say of each row."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, event, find, given, settings
from hypothesis import strategies as st

from orphangc.core.areas.recognise import recognise
from orphangc.core.columns.listing_columns import NO_ID, NO_TIME, Columns, Recogniser
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.columns.uuid_words import bytes_of
from orphangc.core.decision import kernel as kernel_module
from orphangc.core.decision.kernel import BoundsTable, kernel, verdict_batch
from orphangc.core.model.bounds import JobBounds
from orphangc.core.model.naming import artifact_name, place_of_folder, uuid_of
from orphangc.core.model.types import Action, ObjectKey, Reason, StoredObject
from orphangc.core.times.instants import microseconds_of
from orphangc.ports import LISTING_SCHEMA, VERDICT_SCHEMA
from support.builders import JOB, OTHER_JOB, OTHER_UUID, T0, UUID, a_tombstone, some_bounds
from support.oracle import Verdict, decide
from support.strategies import all_bounds, folders, instants, names, nearly_deleted
from support.tombstone_tables import Tombstone, at_key, each_of, from_table, laid_as, plus, table_of

ACTIONS, REASONS = tuple(Action), tuple(Reason)
THIRD_UUID = UUID[:8] + OTHER_UUID[8:]
"""Shares its first half with one of the others."""


def is_utf8(text: str) -> bool:
    return text.encode(errors="replace").decode() == text


def listed(objects: Sequence[StoredObject | str]) -> pa.RecordBatch:
    """Return a listing of objects and, as texts, of folders."""
    rows = [
        {"key": each.key, "size": each.size, "modified_at": each.modified_at, "etag": each.etag}
        if isinstance(each, StoredObject)
        else {"key": f"{each}/"}
        for each in objects
    ]
    return pa.RecordBatch.from_pylist(rows, schema=LISTING_SCHEMA)


hostile_keys = st.one_of(
    st.builds(lambda folder, name: f"{folder}/{name}" if folder else name, folders, names),
    st.builds(str.__add__, st.text(max_size=4), names),
    names.map(lambda name: name + "/"),
    st.sampled_from(["", "/", "_metadata", f"{JOB}/shared/", f"{JOB}/chk-7/_metadata"]),
).filter(is_utf8)


@given(
    st.lists(st.tuples(hostile_keys, st.booleans()), max_size=12), st.text(max_size=4), st.data()
)
def test_columns_say_of_every_key_what_the_grammar_says(rows, root_name, data) -> None:
    """R1: in any batch, sliced or not, of objects with folders between them."""
    first = data.draw(st.integers(0, len(rows)))
    last = data.draw(st.integers(first, len(rows)))
    table = {
        "key": [key for key, _ in rows],
        "size": [None if is_folder else 1 for _, is_folder in rows],
        "modified_at": [None] * len(rows),
        "etag": [None] * len(rows),
    }
    batch = pa.RecordBatch.from_pydict(table, schema=LISTING_SCHEMA).slice(first, last - first)
    keys = [key for key, is_folder in rows[first:last] if not is_folder]
    recogniser = Recogniser(root_name)
    for _ in range(2):  # asked, and then remembered
        columns = recogniser.columns(batch)
        assert columns.batch.column("key").to_pylist() == keys
        assert len(columns) == len(keys)
        for row, key in enumerate(keys):
            says_as_the_grammar(columns, row, key, root_name)


def says_as_the_grammar(columns: Columns, row: int, key: str, root_name: str) -> None:
    folder, _, name = key.rpartition("/")
    place = place_of_folder(folder, root_name)
    artifact = recognise(name, place)
    kind = columns.kinds[columns.kind[row]]
    assert (kind.place, kind.artifact) == (place, replace(artifact, uuid=None))
    assert bool(columns.is_artifact[row]) is (artifact.uuid is not None) is kind.is_artifact
    expected_id = NO_ID if artifact.checkpoint_id is None else artifact.checkpoint_id
    assert columns.checkpoint_id[row] == expected_id
    uuid = uuid_of(name)
    found = bytes_of(columns.hi[row : row + 1], columns.lo[row : row + 1])
    assert bool(columns.has_uuid[row]) is (uuid is not None)
    assert found == (bytes(16) if uuid is None else uuid)
    assert kind.head == (key[: len(key) - len(name)] if uuid is None else key[:-36])


heads = st.sampled_from(
    [
        *[f"{JOB}/shared/"] * 6,
        *[f"{JOB}/shared/{number}_" for number in (0, 40, 41, 42, 43, 2**63 - 1)],
        *[f"{OTHER_JOB}/shared/"] * 3,
        "shared/40_",
        f"{JOB}/shared/041_",
        f"{JOB}/shared/x",
        f"{JOB}/shared/op_1/",
        f"{OTHER_JOB}/taskowned/",
        f"{OTHER_JOB}/chk-7/",
        f"{OTHER_JOB}/chk-7/._metadata.inprogress.",
        f"{JOB}/shared/op_1/db/",
        f"{JOB}/dstl/",
        "",
    ]
)
uuids = st.sampled_from([UUID, OTHER_UUID, THIRD_UUID, bytes(16), b"\xff" * 16])
artifact_keys = st.builds(lambda head, uuid: head + artifact_name(None, uuid), heads, uuids)
other_keys = st.sampled_from(
    [f"{JOB}/shared/x", f"{JOB}/chk-7/_metadata", f"{JOB}/shared/_metadata"]
)
keys = st.sampled_from([artifact_keys] * 8 + [other_keys, hostile_keys]).flatmap(lambda each: each)
old, usually_laid = (st.just(T0 - timedelta(days=days)) for days in (30, 2))
story = st.sampled_from([T0 - timedelta(days=days) for days in (1, 2, 3, 30)])
"""The instants that a deletion is made of: ties."""
times = st.one_of(story, story, instants)
etags = st.sampled_from(["e1", "e1", "e2", None, "", "a" * 32, f"{'a' * 32}-7", "A" * 32])
stored_objects = st.builds(
    StoredObject,
    key=keys,
    size=st.sampled_from([1, 1, 0, 2**62]),
    modified_at=st.sampled_from([old] * 4 + [times, st.none()]).flatmap(lambda each: each),
    etag=etags,
)
twists = st.fixed_dictionaries(
    {},
    optional={
        "is_refused": st.booleans(),
        "is_report_only": st.booleans(),
        "cutoff": old | times,
        "quarantine_start": usually_laid | times,
        "newest_completed_at": usually_laid | times,
        "oldest_retained_checkpoint_id": st.sampled_from([43, 0, None, 2**63 - 1, 2**70]),
        "checkpoint_id_margin": st.sampled_from([0, 2, 2**64]),
    },
)
usual_bounds = twists.map(lambda facts: some_bounds(**facts))
ended_bounds = twists.map(
    lambda facts: some_bounds(**{**facts, "is_ended": True, "newest_completed_at": None})
)


@dataclass(frozen=True)
class World:
    """A listing, and everything that is known of it."""

    objects: list[StoredObject]
    live: LiveSet
    tombstones: dict[str, Tombstone]
    bounds: list[JobBounds]
    owners: list[int]

    def owner(self, key: str) -> int:
        """Return whose a key is: any function of its job directory will do."""
        place = place_of_folder(key.rpartition("/")[0], "root")
        directory = place.job_directory or ""
        return self.owners[sum(directory.encode()) % len(self.owners)]

    def scalar(self) -> list[Verdict]:
        verdicts = []
        for stored in self.objects:
            folder, _, name = stored.key.rpartition("/")
            verdict = decide(
                stored,
                recognise(name, place_of_folder(folder, "root")),
                live=self.live,
                bounds=self.bounds[self.owner(stored.key)],
                tombstone=self.tombstones.get(stored.key),
            )
            verdicts.append(verdict)
        return verdicts

    def vectorised(self) -> tuple[list[Verdict], pa.RecordBatch]:
        """Return what the columns, the look-ups and the kernel say."""
        columns = Recogniser("root").columns(listed(self.objects))
        since_us, has = laid_as(self.tombstones.values()).look_up(columns)
        of_kind = [self.owner(kind.head) for kind in columns.kinds]
        owner = np.array(of_kind, np.int32)[columns.kind]
        actions, reasons = kernel(
            columns,
            is_live=self.live.contains(columns.hi, columns.lo),
            since_us=since_us,
            has_tombstone=has,
            owner=owner,
            bounds=BoundsTable.of(self.bounds),
        )
        job_ids = [f"job {number}" for number in range(len(self.bounds))]
        batch = verdict_batch(columns, actions, reasons, owner=owner, job_ids=job_ids)
        pairs = zip(actions, reasons, strict=True)
        return [Verdict(ACTIONS[action], REASONS[reason]) for action, reason in pairs], batch


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Return a world in which most objects are orphans, and many have their own tombstone."""
    objects = draw(st.lists(stored_objects, min_size=1, max_size=6))
    others = draw(st.lists(stored_objects, max_size=3))
    laid = [
        a_tombstone(
            each,
            laid=draw(st.sampled_from([usually_laid] * 3 + [times]).flatmap(lambda each: each)),
        )
        for each in (*objects, *others)
        if draw(st.integers(0, 3))
    ]
    bounds = draw(st.lists(usual_bounds | ended_bounds | all_bounds(), min_size=1, max_size=2))
    some_uuids = st.builds(UuidSet, st.lists(uuids, max_size=2))
    return World(
        objects=objects,
        live=draw(st.builds(LiveSet) | st.builds(LiveSet, some_uuids, some_uuids)),
        tombstones={each.object.key: each for each in laid},
        bounds=bounds,
        owners=draw(st.lists(st.integers(0, len(bounds) - 1), min_size=1, max_size=3)),
    )


@settings(max_examples=4 * settings.default.max_examples)
@given(worlds())
def test_the_kernel_says_what_decide_says(world: World) -> None:
    """Design, section 7: one rule; the scalar one is the oracle."""
    expected = world.scalar()
    for each in expected:
        event(f"{each.action} {each.reason}")
    found, batch = world.vectorised()
    assert found == expected
    batch.validate(full=True)
    assert batch.schema.equals(VERDICT_SCHEMA)
    assert batch.to_pylist() == [
        row_of(world, stored, verdict)
        for stored, verdict in zip(world.objects, expected, strict=True)
    ]


@settings(max_examples=4 * settings.default.max_examples)
@given(st.lists(nearly_deleted(), min_size=1, max_size=5))
def test_the_kernel_breaks_ties_as_decide_does(cases: list[dict]) -> None:
    """The same of objects that would be deleted but for a few things: every one its own bounds."""
    objects, expected = [], []
    for case in cases:
        name = artifact_name(case["artifact"].checkpoint_id, case["artifact"].uuid)
        stored = replace(case["stored"], key=ObjectKey(f"{JOB}/shared/{name}"))
        objects.append(stored)
        facts = {each: case[each] for each in ("live", "bounds", "tombstone")}
        expected.append(decide(stored, case["artifact"], **facts))
    is_same = [c["tombstone"].object.is_same_as(c["stored"]) for c in cases]
    since = [microseconds_of(case["tombstone"].since) for case in cases]
    actions, reasons = kernel(
        Recogniser("").columns(listed(objects)),
        is_live=np.array([case["artifact"].uuid in case["live"] for case in cases]),
        since_us=np.where(is_same, since, NO_TIME),
        has_tombstone=np.ones(len(cases), np.bool_),
        owner=np.arange(len(cases), dtype=np.int32),
        bounds=BoundsTable.of([case["bounds"] for case in cases]),
    )
    assert [
        Verdict(ACTIONS[action], REASONS[reason])
        for action, reason in zip(actions, reasons, strict=True)
    ] == expected


def row_of(world: World, stored: StoredObject, verdict: Verdict) -> dict[str, object]:
    folder, _, name = stored.key.rpartition("/")
    place = place_of_folder(folder, "root")
    return {
        "job_id": f"job {world.owner(stored.key)}",
        "key": stored.key,
        "scope": place.scope.value,
        "size": stored.size,
        "modified_at": stored.modified_at,
        "etag": stored.etag,
        "checkpoint_id": recognise(name, place).checkpoint_id,
        "action": verdict.action.value,
        "reason": verdict.reason.value,
    }


@pytest.mark.parametrize("reason", Reason)
def test_the_worlds_reach_every_reason(reason: Reason) -> None:
    """Otherwise two empty answers would agree."""
    quiet = settings(max_examples=3000, database=None, phases=[Phase.generate])
    find(worlds(), lambda world: any(v.reason is reason for v in world.scalar()), settings=quiet)


def test_a_kernel_that_is_off_by_one_id_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the worlds show a kernel that takes one id too many for old."""
    right, most = kernel_module._newest_older_id, kernel_module._MOST

    def off_by_one(bounds: JobBounds) -> int:
        return min(right(bounds) + 1, most)

    monkeypatch.setattr(kernel_module, "_newest_older_id", off_by_one)
    quiet = settings(max_examples=3000, database=None, phases=[Phase.generate])
    find(worlds(), lambda world: world.vectorised()[0] != world.scalar(), settings=quiet)


@given(st.lists(st.builds(a_tombstone, stored_objects, laid=instants), max_size=12), st.data())
def test_tombstones_are_a_dictionary_by_key(laid: list[Tombstone], data: st.DataObject) -> None:
    """R17: whatever directories share a UUID, and whichever way they were put together."""
    cut = data.draw(st.integers(0, len(laid)))
    known = {each.object.key: each for each in laid}
    table = table_of(laid_as(laid[cut:]))
    for tombstones in (laid_as(laid), plus(laid_as(laid[:cut]), table)):
        assert {each.object.key: each for each in each_of(tombstones)} == known
        assert len(tombstones) == len(known)
        assert table_of(from_table(table_of(tombstones))) == table_of(tombstones)
        chosen = data.draw(st.lists(st.sampled_from([*known, "absent"]), max_size=8))
        rows = tombstones.rows_of(pa.array(chosen, pa.string()))
        by_row = tombstones.keys().to_pylist()
        assert [by_row[row] if row >= 0 else "absent" for row in rows] == chosen
        assert [at_key(tombstones, key) for key in chosen] == [known.get(key) for key in chosen]
        mask = np.array([hash(key) % 2 == 0 for key in by_row], np.bool_)
        half = [key for key, is_kept in zip(by_row, mask, strict=True) if is_kept]
        assert tombstones.restricted(mask).keys().to_pylist() == half
        batches = tombstones.to_batches(mask)
        assert [key for batch in batches for key in batch.column("key").to_pylist()] == half


@given(st.lists(stored_objects, max_size=8), st.lists(stored_objects, max_size=8), instants)
def test_a_tombstone_is_found_by_key_and_counts_for_the_same_object(objects, others, at) -> None:
    """R18: size, ETag and time agree, and nothing that is unknown equals anything else."""
    laid = {each.key: a_tombstone(each, laid=at) for each in (*objects[::2], *others)}
    columns = Recogniser("").columns(listed(objects))
    since_us, has = laid_as(laid.values()).look_up(columns)
    for stored, since, has_one in zip(objects, since_us, has, strict=True):
        tombstone = laid.get(stored.key)
        assert bool(has_one) is (tombstone is not None)
        is_same = tombstone is not None and tombstone.object.is_same_as(stored)
        assert since == (microseconds_of(at) if is_same else NO_TIME)
