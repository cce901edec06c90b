"""What is remembered of a storage root survives, or its loss is noticed and keeps files longer."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flinkstate.places.locations import canonical
from orphangc.collect.state import store
from orphangc.collect.state.store import RootState
from orphangc.core.columns.tombstones import Tombstones
from orphangc.errors import OrphanGcError, RefusedError, StorageUnreachableError
from support.builders import BASE, JOB, NAME, NAME_WITH_ID, a_tombstone, ago, an_object
from support.tombstone_tables import at_key, each_of, laid_as
from unit.collect.state.places import PLACES, Place


@pytest.fixture(params=PLACES)
def place(request, tmp_path) -> Place:
    return PLACES[request.param](tmp_path / "state")


@pytest.fixture
def state(place: Place) -> RootState:
    return RootState(place.files, BASE)


def some_tombstones(*names: str) -> Tombstones:
    return laid_as(a_tombstone(an_object(name)) for name in names)


def keys_of(tombstones: Tombstones) -> set[str]:
    return {each.object.key for each in each_of(tombstones)}


def newest(state: RootState) -> str:
    folder = f"{state.folder}/tombstones"
    return f"{folder}/{state.files.names(folder)[-1]}"


@pytest.mark.parametrize("other", ["s3://bucket/checkpoints2", "s3://bucket", "/checkpoints"])
def test_every_storage_root_has_a_folder_of_its_own(place: Place, other: str) -> None:
    """Losses 1.2 (Loki#8359), 1.4: one location serves many roots, and none sees another's."""
    state, stranger = RootState(place.files, BASE), RootState(place.files, canonical(other))
    assert state.folder != stranger.folder
    state.bind()
    stranger.bind()
    state.keep_tombstones(some_tombstones(NAME))
    state.halt("why", ago("1h"))
    state.start_run("r", ago("1h"))
    assert keys_of(stranger.tombstones()) == set()
    assert stranger.halted() is None
    assert stranger.interrupted_runs() == []


@pytest.mark.parametrize("spelling", ["s3a://bucket/checkpoints/", "s3://bucket//checkpoints"])
def test_two_spellings_of_one_root_share_their_state(state: RootState, spelling: str) -> None:
    """Losses 1.1: a trailing slash is no other root."""
    state.bind()
    same = RootState(state.files, canonical(spelling))
    same.bind()
    assert same.folder == state.folder


@pytest.mark.parametrize("content", [b'{"root": "s3://other/ck"}', b"", b"{", b"null"])
def test_a_folder_that_says_it_is_another_roots_is_refused(
    state: RootState, place: Place, content: bytes
) -> None:
    """Losses 1.2: bind state to its root; what cannot be read is not ours either."""
    state.bind()
    state.bind()
    place.damage(f"{state.folder}/root.json", content)
    with pytest.raises(RefusedError, match="another storage root"):
        state.bind()


def test_without_any_generation_there_are_no_tombstones(state: RootState) -> None:
    assert keys_of(state.tombstones()) == set()


def test_tombstones_come_back_as_they_were_laid(state: RootState) -> None:
    """R17: size, ETag and time to the microsecond are what a deletion is checked against."""
    laid = [
        a_tombstone(an_object(NAME)),
        a_tombstone(an_object(NAME_WITH_ID, etag=None), laid=ago("1h")),
        replace(
            a_tombstone(an_object("x", modified_at=None, size=0)),
            plan_id="p" * 64,
            since=datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        ),
        a_tombstone(an_object("ü/ \n%41*", size=2**62, etag='"W/x"')),
    ]
    state.keep_tombstones(laid_as(laid))
    found = state.tombstones()
    assert {each.object.key: each for each in each_of(found)} == {
        each.object.key: each for each in laid
    }
    assert all(at_key(found, each.object.key) == each for each in laid)


def test_the_newest_generation_replaces_all(state: RootState) -> None:
    """A tombstone that is not written again is gone: revived, or its object is."""
    state.keep_tombstones(some_tombstones(NAME, NAME_WITH_ID))
    state.keep_tombstones(some_tombstones(NAME))
    assert keys_of(state.tombstones()) == {an_object(NAME).key}
    state.keep_tombstones(Tombstones.empty())
    assert keys_of(state.tombstones()) == set()


def test_generations_are_ordered_beyond_ten_and_only_a_few_are_kept(state: RootState) -> None:
    """Ten sorts before nine unless it is padded."""
    for number in range(12):
        state.keep_tombstones(some_tombstones(f"n{number}"))
        assert keys_of(state.tombstones()) == {an_object(f"n{number}").key}
    assert len(state.files.names(f"{state.folder}/tombstones")) == 3


DAMAGES = {
    "empty": lambda _: b"",
    "cut short": lambda data: data[:-1],
    "half": lambda data: data[: len(data) // 2],
    "longer": lambda data: data + b"\0",
    "other bytes": lambda data: b"x" * len(data),
    "text": lambda _: b"no tombstones\n",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_newest_generation_never_means_no_tombstones(
    state: RootState, place: Place, damage: str
) -> None:
    """Losses 1.2 (JuiceFS#6479): an error is no answer; not even the older one is taken instead."""
    state.keep_tombstones(some_tombstones(NAME))
    state.keep_tombstones(some_tombstones(NAME, NAME_WITH_ID))
    name = newest(state)
    place.damage(name, DAMAGES[damage](state.files.read(name)))
    with pytest.raises(OrphanGcError, match="damaged"):
        state.tombstones()


def test_no_single_damaged_byte_goes_unnoticed(tmp_path) -> None:
    """A flipped bit in a time would end a quarantine early; Parquet alone does not notice."""
    place = PLACES["memory"](tmp_path)
    state = RootState(place.files, BASE)
    state.keep_tombstones(some_tombstones(NAME, NAME_WITH_ID))
    name = newest(state)
    data = state.files.read(name)
    for at in range(len(data)):
        place.damage(name, data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        with pytest.raises(OrphanGcError, match="damaged"):
            state.tombstones()


def test_a_generation_of_other_columns_is_damaged(state: RootState, tmp_path) -> None:
    """A whole Parquet file of another program is not ours, whatever its name."""
    state.keep_tombstones(some_tombstones(NAME))
    pq.write_table(pa.table({"key": ["x"]}), tmp_path / "foreign")
    state.files.write(newest(state), (tmp_path / "foreign").read_bytes())
    with pytest.raises(OrphanGcError, match="damaged"):
        state.tombstones()


def test_a_generation_that_vanishes_is_damaged(state: RootState, monkeypatch) -> None:
    """Listed and not there: another process works in our folder."""
    state.keep_tombstones(some_tombstones(NAME))
    monkeypatch.setattr(type(state.files), "read", lambda _self, _name: None)
    with pytest.raises(OrphanGcError, match="damaged"):
        state.tombstones()


def test_a_run_that_began_and_never_ended_is_seen(state: RootState) -> None:
    """R23: an interrupted run left a journal to look at."""
    for run_id in ("20261121T140000Z-aa", "20261121T150000Z-bb"):
        state.start_run(run_id, ago("1h"))
    state.finish_run("20261121T140000Z-aa", {"exit_code": 0})
    state.close_run("20261121T140000Z-aa")
    assert state.interrupted_runs() == ["20261121T150000Z-bb"]
    state.close_run("20261121T150000Z-bb")
    assert state.interrupted_runs() == []
    state.close_run("never-begun")


def test_the_journal_keeps_every_line_in_order(state: RootState) -> None:
    """R23: every decision *before* acting; times are spelled, not lost."""
    lines = [{"key": an_object().key, "at": ago("1h")}, {"key": "ü\n", "etag": None}]
    state.write_journal("run", "batch-0", lines)
    text = state.files.read(f"{state.folder}/runs/run/batch-0.jsonl").decode()
    assert [json.loads(line) for line in text.splitlines()] == [
        {"key": f"{JOB}/shared/{NAME}", "at": str(ago("1h"))},
        {"key": "ü\n", "etag": None},
    ]


def test_an_outcome_stands_beside_its_run_and_in_the_history(state: RootState) -> None:
    """``GET /runs`` reads the history; a person reads the run's folder."""
    state.finish_run("run", {"exit_code": 3, "deleted": 7})
    for name in ("runs/run/outcome.json", "history/run.json"):
        found = json.loads(state.files.read(f"{state.folder}/{name}"))
        assert found == {"exit_code": 3, "deleted": 7}


def test_what_is_kept_of_runs_has_a_bound(state: RootState, monkeypatch) -> None:
    """All but the newest go, some at once; a sweep takes the journal of a crashed one over."""
    monkeypatch.setattr(store, "_RUNS_KEPT", 3)
    monkeypatch.setattr(store, "_FORGOTTEN_AT_ONCE", 2)
    state.start_run("run-0", ago("1h"))
    for number in range(9):
        state.write_journal(f"run-{number}", "evidence", [{}])
        state.finish_run(f"run-{number}", {"number": number})
    kept = ["run-0", "run-6", "run-7", "run-8"]
    assert state.files.names(f"{state.folder}/history") == [f"{each}.json" for each in kept]
    assert [n for n in range(9) if state.journal_names(f"run-{n}")] == [0, 6, 7, 8]
    state.close_run("run-0")
    state.finish_run("run-9", {})
    assert state.journal_names("run-0") == []
    if state.files.location.scheme == "file":
        folders = state.files.names(f"{state.folder}/runs")
        assert folders == ["run-7", "run-8", "run-9"], "a folder that holds nothing goes as well"


def test_an_old_run_that_cannot_be_removed_is_left_to_a_later_one(
    state: RootState, monkeypatch
) -> None:
    """The run that ended did what it was to do."""
    monkeypatch.setattr(store, "_RUNS_KEPT", 1)
    state.finish_run("run-0", {})

    def remove(_: str) -> None:
        raise StorageUnreachableError("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(state.files, "remove", remove)
        state.finish_run("run-1", {})
    assert state.files.names(f"{state.folder}/history") == ["run-0.json", "run-1.json"]
    state.finish_run("run-2", {})
    assert state.files.names(f"{state.folder}/history") == ["run-2.json"]


def test_a_halt_stands_until_a_person_clears_it(state: RootState) -> None:
    """R17, R22: a proof failed; all collection of this root stops, with the reason."""
    assert state.halted() is None
    state.halt('chk-7 lost "a file"', ago("1h"))
    again = RootState(state.files, BASE).halted()
    assert again == f'halted at {ago("1h").isoformat()}: chk-7 lost "a file"'
    state.clear_halt()
    assert state.halted() is None
    state.clear_halt()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"null", b"\xff", b'"x"', b"1"])
def test_a_halt_that_cannot_be_read_is_a_halt(
    state: RootState, place: Place, content: bytes
) -> None:
    """Every doubt keeps the files."""
    state.halt("why", ago("1h"))
    place.damage(f"{state.folder}/halted.json", content)
    assert state.halted()
