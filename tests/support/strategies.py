"""Every input that the core may meet, likely and unlikely alike."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.model.bounds import NEVER, Bound, BoundName, JobBounds
from orphangc.core.model.job_folders import FOLDERS
from orphangc.core.model.naming import Artifact, artifact_name
from orphangc.core.model.types import DirectoryLayout, JobId, ObjectKey, StoredObject
from support.builders import JOB, OTHER_JOB, OTHER_UUID, T0, UUID
from support.tombstone_tables import Tombstone

MAX_ID = 2**63 - 1

uuids = st.one_of(st.sampled_from([UUID, OTHER_UUID]), st.binary(min_size=16, max_size=16))
checkpoint_ids = st.one_of(st.integers(0, 60), st.integers(0, MAX_ID))
"""Mostly about the size of those that are retained."""

instants = st.one_of(
    st.sampled_from([T0, NEVER, NEVER + timedelta(microseconds=1), T0 - timedelta(days=3)]),
    st.timedeltas(timedelta(days=-30), timedelta(days=2)).map(lambda span: T0 + span),
    st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
)
"""About now, exactly at a bound, or absurd; ties are likely."""

flat_artifacts = st.builds(
    lambda checkpoint_id, uuid: Artifact(
        DirectoryLayout.FLAT if checkpoint_id is None else DirectoryLayout.FLAT_WITH_ID,
        uuid=uuid,
        checkpoint_id=checkpoint_id,
    ),
    st.none() | checkpoint_ids,
    uuids,
)
other_artifacts = st.sampled_from(
    [
        Artifact(each)
        for each in DirectoryLayout
        if each not in {DirectoryLayout.FLAT, DirectoryLayout.FLAT_WITH_ID}
    ]
)
artifacts = st.one_of(flat_artifacts, flat_artifacts, other_artifacts)

stored_objects = st.builds(
    StoredObject,
    key=st.sampled_from([ObjectKey(f"{JOB}/shared/{artifact_name(None, UUID)}"), ObjectKey("x")]),
    size=st.sampled_from([0, 1, 1234, 2**62]),
    modified_at=st.none() | instants,
    etag=st.sampled_from([None, "e1", "e2"]),
)

uuid_sets = st.builds(UuidSet, st.sets(uuids, max_size=3))
live_sets = st.builds(LiveSet, parsed=uuid_sets, raw=uuid_sets)

some_bound = st.builds(Bound, st.sampled_from(BoundName), st.none() | instants)
known_bound = st.builds(Bound, st.sampled_from(BoundName), instants)


@st.composite
def all_bounds(draw: st.DrawFn) -> JobBounds:
    """Return the bounds of a job; what is usual is likely, so that deletions happen at all."""
    is_ended = draw(st.booleans())
    usual = st.lists(known_bound, min_size=1, max_size=3)
    return JobBounds(
        is_refused=draw(st.sampled_from([False, False, False, True])),
        is_ended=is_ended,
        bounds=tuple(draw(st.one_of(usual, usual, st.lists(some_bound, max_size=3)))),
        oldest_retained_checkpoint_id=draw(st.none() | checkpoint_ids),
        checkpoint_id_margin=draw(st.integers(0, 5)),
        quarantine_start=draw(instants),
        newest_completed_at=None if is_ended else draw(instants),
    )


def tombstones_of(stored: StoredObject) -> st.SearchStrategy[Tombstone]:
    return st.builds(
        Tombstone,
        object=st.just(stored),
        job_id=st.just(JobId(JOB)),
        since=instants,
        plan_id=st.just("plan-1"),
    )


@st.composite
def cases(draw: st.DrawFn) -> dict[str, object]:
    """Return everything that ``decide`` is asked with; the tombstone is often the object's own."""
    stored = draw(stored_objects)
    changed = st.builds(lambda other: replace(other, key=stored.key), stored_objects).flatmap(
        tombstones_of
    )
    return {
        "stored": stored,
        "artifact": draw(artifacts),
        "live": draw(live_sets),
        "bounds": draw(all_bounds()),
        "tombstone": draw(st.one_of(st.none(), tombstones_of(stored), changed)),
    }


_story = st.sampled_from([T0 - timedelta(days=days) for days in (1, 2, 3, 30)])
"""The very instants that ``nearly_deleted`` is made of: ties."""

_twists = {
    "modified_at": st.one_of(_story, st.none() | instants),
    "etag": st.sampled_from([None, "e1", "e2"]),
    "known_at": st.one_of(_story, instants),
    "since": st.one_of(_story, instants),
    "checkpoint_id": st.one_of(st.sampled_from([None, 39, 40, 41, 42]), checkpoint_ids),
    "live": live_sets,
    "is_refused": st.just(value=True),
    "is_ended": st.just(value=True),
    "bounds": st.lists(some_bound, max_size=2).map(tuple),
    "oldest": st.none() | checkpoint_ids,
    "margin": st.integers(0, 50),
    "quarantine_start": st.one_of(_story, instants),
    "newest": st.one_of(_story, instants),
}


@st.composite
def nearly_deleted(draw: st.DrawFn) -> dict[str, object]:
    """Return a case that is deleted unless a few things, drawn at random, forbid it."""
    names_of_twists = draw(st.sets(st.sampled_from(sorted(_twists)), max_size=3))
    twists = {name: draw(_twists[name]) for name in names_of_twists}
    old = T0 - timedelta(days=30)
    known = StoredObject(
        key=ObjectKey(f"{JOB}/shared/{artifact_name(None, UUID)}"),
        size=1,
        modified_at=twists.get("known_at", old),
        etag="e1",
    )
    stored = replace(
        known, modified_at=twists.get("modified_at", old), etag=twists.get("etag", "e1")
    )
    is_ended = "is_ended" in twists
    checkpoint_id = twists.get("checkpoint_id", 7)
    layout = DirectoryLayout.FLAT if checkpoint_id is None else DirectoryLayout.FLAT_WITH_ID
    usual = (Bound(BoundName.GRACE_PERIOD, T0 - timedelta(days=3)),)
    return {
        "stored": stored,
        "artifact": Artifact(layout, uuid=UUID, checkpoint_id=checkpoint_id),
        "live": twists.get("live", LiveSet(parsed=UuidSet({OTHER_UUID}))),
        "bounds": JobBounds(
            is_refused="is_refused" in twists,
            is_ended=is_ended,
            bounds=(*usual, *twists.get("bounds", ())),
            oldest_retained_checkpoint_id=twists.get("oldest", 42),
            checkpoint_id_margin=twists.get("margin", 1),
            quarantine_start=twists.get("quarantine_start", T0 - timedelta(days=1)),
            newest_completed_at=None if is_ended else twists.get("newest", T0),
        ),
        "tombstone": Tombstone(
            object=known,
            job_id=JobId(JOB),
            since=twists.get("since", T0 - timedelta(days=2)),
            plan_id="p",
        ),
    }


any_case = st.one_of(nearly_deleted(), nearly_deleted(), cases())

# --- names and keys

flat_names = st.builds(artifact_name, st.none() | checkpoint_ids, uuids)

_spoilt = st.builds(
    lambda name, at, what: name[: at % (len(name) + 1)] + what + name[at % (len(name) + 1) :],
    flat_names,
    st.integers(0, 60),
    st.sampled_from(["\n", "/", "0", "٤", "A", "_", "-", "\0", " ", "é", "%41", "*", "\ud800", ""]),
)
_cut = st.builds(lambda name, at: name[: at % len(name)], flat_names, st.integers(0, 60))
_led = st.builds(str.__add__, st.sampled_from(["0", "00", "+", "-", "\u0664", " "]), flat_names)
names = st.one_of(flat_names, _spoilt, _cut, _led, flat_names.map(str.upper), st.text(max_size=60))

_parts = st.one_of(
    st.sampled_from(
        [
            JOB,
            OTHER_JOB,
            JOB.upper(),
            *FOLDERS.values(),
            "chk-7",
            "chk-07",
            "savepoint-4ae4a2-0123456789ab",
            f"job_{JOB}_op_{OTHER_JOB}_0_4",
            "op_x__1_4__attempt_0",
            "",
            ".",
            "db",
        ]
    ),
    st.text(max_size=8),
)
folders = st.lists(_parts, max_size=6).map("/".join)
