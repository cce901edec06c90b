"""A registry snapshot is one whole snapshot or none; two of them follow each other or do not."""

import gzip
import hashlib
import json
import time
import tracemalloc
import zlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from mmap import ACCESS_READ, mmap
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.core.exporter import registry_format
from orphangc.core.exporter.registry_format import read_snapshot, write_snapshot
from orphangc.core.exporter.registry_snapshot import (
    UNKNOWN_SETTINGS,
    EntryKind,
    IssuedCheckpoint,
    JobSettings,
    MergingSettings,
    RegistryEntries,
    RegistryEntry,
    RegistrySnapshot,
    RestoredCheckpoint,
    RetainedCheckpoint,
    check_successor,
    cycle_problem,
    oldest_retained,
    resolve,
)
from orphangc.core.model.types import JobId, Mode
from orphangc.errors import UnreadableSnapshotError
from support import builders
from support.exporters import entries_in

NOW = datetime(2026, 11, 21, 14, tzinfo=UTC)
JOB = JobId("4ae4a2986a0e1a49b0f165b58085d4b3")
DIRECTORY = f"s3://bucket/checkpoints/{JOB}"
UUIDS = ("9b2c1a52-6f1e-4a4e-9d0b-0a4c6f1e2d3c", "1c0ffee0-1111-4222-8333-444455556666")


ENTRIES = (
    RegistryEntry(f"shared/41_{UUIDS[0]}", EntryKind.FILE, 1234, 41, 44),
    RegistryEntry(f"shared/{UUIDS[1]}", EntryKind.SEGMENT, 0, 0, 0),
    RegistryEntry("s3://other/dir", EntryKind.DIRECTORY, None, None, None),
)
DIGEST = "6012f40d5b472984c69ac220dd7209ae7b2cb79e1e5f61c5b913921314a1de5d"


def a_retained(id_: int, *, is_savepoint: bool = False) -> RetainedCheckpoint:
    name = "savepoint-4ae4a2-0123456789ab" if is_savepoint else f"chk-{id_}"
    return RetainedCheckpoint(id=id_, is_savepoint=is_savepoint, path=f"{DIRECTORY}/{name}")


def a_snapshot(**changes: object) -> RegistrySnapshot:
    told = {
        "jm_epoch": "0e1f",
        "nonce": "n-16",
        "taken_at": NOW,
        "retained": (a_retained(42), a_retained(43), a_retained(7, is_savepoint=True)),
        "issued": (IssuedCheckpoint(id=45, at=NOW - timedelta(seconds=3)),),
        "restored": (RestoredCheckpoint(id=40, path="s3://old/chk-40", mode="CLAIM"),),
        "entries": RegistryEntries(ENTRIES),
        "sha256": DIGEST,
    }
    return builders.a_snapshot(**{**told, **changes})


def a_file(entries: list[str] | None = None, **header: object) -> bytes:
    """Return a snapshot as another exporter may write it: spaces, offsets, another key order."""
    fields = {
        "version": 1,
        "format": "orphangc-registry",
        "type": "header",
        "source": "derived",
        "flink_version": None,
        "job_id": JOB,
        "jm_epoch": "e",
        "sequence": 0,
        "nonce": "",
        "taken_at": "2026-11-21T15:00:00.123456789+01:00",
        "checkpoint_dir": DIRECTORY,
        "max_concurrent": None,
        "retained": [],
        "issued": [],
        "restored": [],
    }
    fields.update(header)
    body = "".join(f"{line}\n" for line in entries or []).encode()
    footer = {
        "sha256": hashlib.sha256(body).hexdigest(),
        "entries": len(entries or []),
        "type": "footer",
    }
    return json.dumps(fields).encode() + b"\n" + body + json.dumps(footer).encode()


def an_entry(**changes: object) -> str:
    fields = {
        "type": "entry",
        "path": "shared/x",
        "kind": "file",
        "size": 1,
        "created": 2,
        "last_used": 3,
        **changes,
    }
    return json.dumps({name: value for name, value in fields.items() if value != "absent"})


def refusal(data: bytes, **limits: int) -> str:
    with pytest.raises(UnreadableSnapshotError) as caught:
        read_snapshot(data, **limits)
    message = str(caught.value)
    assert message.startswith("cannot read registry snapshot at line ")
    assert "\n" not in message
    return message


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
counts = st.integers(0, 2**63 - 1)
maybe_counts = st.none() | counts
instants = st.datetimes(
    min_value=datetime(1970, 1, 2),
    max_value=datetime(2200, 1, 1),
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=-7, minutes=-30))]),
)
entries = st.builds(
    RegistryEntry, texts, st.sampled_from(EntryKind), maybe_counts, maybe_counts, maybe_counts
)
snapshots = st.builds(
    RegistrySnapshot,
    source=st.sampled_from(Mode),
    flink_version=st.none() | texts,
    job_id=st.just(JOB),
    jm_epoch=texts,
    sequence=counts,
    nonce=st.none() | texts,
    taken_at=instants,
    checkpoint_dir=st.sampled_from([DIRECTORY, "file:/c", "/c", "hdfs://nn/a b"]),
    max_concurrent=st.none() | st.integers(1, 9),
    retained=st.lists(st.builds(a_retained, counts, is_savepoint=st.booleans()), max_size=3).map(
        tuple
    ),
    issued=st.lists(st.builds(IssuedCheckpoint, id=counts, at=instants), max_size=3).map(tuple),
    restored=st.lists(
        st.builds(RestoredCheckpoint, id=counts, path=texts, mode=st.none() | texts), max_size=2
    ).map(tuple),
    entries=st.just(RegistryEntries()),
    settings=st.builds(
        JobSettings,
        state_backend=st.none() | texts,
        changelog=st.none() | st.booleans(),
        merging=st.none()
        | st.builds(
            MergingSettings, enabled=st.none() | st.booleans(), across=st.none() | st.booleans()
        ),
    ),
)


@given(snapshots, st.lists(entries, max_size=4), st.booleans())
def test_what_is_written_is_read_back(snapshot: RegistrySnapshot, named, compress) -> None:
    """Plain and packed; the same value gives the same bytes."""
    data = write_snapshot(snapshot, named, compress=compress)
    found = read_snapshot(data)
    assert found == replace(snapshot, entries=RegistryEntries(named), sha256=found.sha256)
    assert write_snapshot(found, entries_in(data), compress=compress) == data


CONTRACT_LINES = (
    '{"type":"header","format":"orphangc-registry","version":1,"source":"registry",'
    f'"flink_version":"1.20.5","job_id":"{JOB}","jm_epoch":"0e1f","sequence":17,'
    f'"nonce":"n-16","taken_at":"2026-11-21T14:00:00Z","checkpoint_dir":"{DIRECTORY}",'
    '"max_concurrent":1,"retained":['
    f'{{"id":42,"savepoint":false,"path":"{DIRECTORY}/chk-42"}},'
    f'{{"id":43,"savepoint":false,"path":"{DIRECTORY}/chk-43"}},'
    f'{{"id":7,"savepoint":true,"path":"{DIRECTORY}/savepoint-4ae4a2-0123456789ab"}}],'
    '"issued":[{"id":45,"at":"2026-11-21T13:59:57Z"}],'
    '"restored":[{"id":40,"path":"s3://old/chk-40","mode":"CLAIM"}]}\n'
    f'{{"type":"entry","path":"shared/41_{UUIDS[0]}","kind":"file","size":1234,'
    '"created":41,"last_used":44}\n'
    f'{{"type":"entry","path":"shared/{UUIDS[1]}","kind":"segment","size":0,'
    '"created":0,"last_used":0}\n'
    '{"type":"entry","path":"s3://other/dir","kind":"directory","size":null,'
    '"created":null,"last_used":null}'
)


def test_every_kind_and_every_spelling_of_a_folder_is_kept() -> None:
    """One kind would hide the guard of another, and one spelling the files of another."""
    one, other = UUIDS
    found = RegistryEntries(
        RegistryEntry(path, kind, None, None, None)
        for path, kind in (
            (f"s3://b/x/{one}", EntryKind.FILE),
            (f"s3a://b/x/{other}", EntryKind.FILE),
            ("s3://b/x/segment", EntryKind.SEGMENT),
            ("s3://b/x/plain", EntryKind.FILE),
        )
    )
    assert found.counts == {EntryKind.FILE: 3, EntryKind.SEGMENT: 1}
    (names,) = found.absolute(()).values()
    assert set(names) == {one, other, "segment", "plain"}


def test_the_lines_are_those_of_the_contract() -> None:
    """Names, order and spelling, as the design page shows them."""
    *lines, footer, end = write_snapshot(a_snapshot(), ENTRIES).decode().split("\n")
    assert end == ""
    assert "\n".join(lines) == CONTRACT_LINES
    body = "".join(f"{line}\n" for line in lines[1:]).encode()
    digest = hashlib.sha256(body).hexdigest()
    assert footer == f'{{"type":"footer","entries":3,"sha256":"{digest}"}}'


TOLD = JobSettings(
    state_backend="HashMapStateBackend",
    changelog=False,
    merging=MergingSettings(enabled=None, across=False),
)


def test_version_2_adds_the_settings_of_the_job() -> None:
    """R55; who knows none writes version 1, which every collector reads."""
    header = json.loads(write_snapshot(a_snapshot(settings=TOLD), ENTRIES).splitlines()[0])
    assert header.pop("version") == 2
    added = {name: header.pop(name) for name in ("state_backend", "changelog", "file_merging")}
    assert added == {
        "state_backend": "HashMapStateBackend",
        "changelog": {"enabled": False},
        "file_merging": {"enabled": None, "across": False},
    }
    assert header | {"version": 1} == json.loads(CONTRACT_LINES.splitlines()[0])
    assert read_snapshot(a_file(**NOTHING_KNOWN)).settings == UNKNOWN_SETTINGS


NOTHING_KNOWN = {"version": 2, "state_backend": None, "changelog": None, "file_merging": None}


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"file_merging": False}, "file_merging: Input should be"),
        ({"file_merging": {"enabled": True}}, "file_merging.across: Field required"),
        (
            {"file_merging": {"enabled": True, "across": "false"}},
            "file_merging.across: Input should be a valid boolean",
        ),
        (
            {"file_merging": {"enabled": True, "across": 0}},
            "file_merging.across: Input should be a valid boolean",
        ),
        (
            {"file_merging": {"enabled": 1, "across": False}},
            "file_merging.enabled: Input should be a valid boolean",
        ),
        (
            {"file_merging": {"enabled": None, "across": None, "more": 1}},
            "file_merging.more: Extra inputs are not permitted",
        ),
        ({"changelog": {}}, "changelog.enabled: Field required"),
        ({"state_backend": ""}, "state_backend: String should have at least 1 character"),
        ({"state_backend": 7}, "state_backend: Input should be a valid string"),
        ({"more": 1}, "more: Extra inputs are not permitted"),
        ({"version": 3}, "version: Input should be less than or equal to 2"),
        ({"version": 2.0}, "version: Input should be a valid integer"),
        ({"version": 1}, "state_backend: Extra inputs are not permitted"),
    ],
)
def test_settings_of_another_form_are_refused(header: dict, reason: str) -> None:
    """A setting that is read as another one may say that files are dead which are not."""
    assert f"at line 1: {reason}" in refusal(a_file(**NOTHING_KNOWN | header))


def test_version_2_lacks_no_field() -> None:
    """What an exporter does not know it says: null."""
    assert "state_backend: Field required" in refusal(a_file(version=2))


def test_anything_else_may_write_the_format() -> None:
    """Another key order, spaces, an offset, nanoseconds, no last line feed, CR before LF."""
    snapshot = read_snapshot(a_file([an_entry(), an_entry(path="é") + "\r"]))
    assert snapshot.taken_at == datetime(2026, 11, 21, 14, 0, 0, 123456, tzinfo=UTC)
    assert snapshot.nonce is None
    assert sorted(path for _, path in snapshot.entries.paths()) == ["shared/x", "é"]
    packed = read_snapshot(gzip.compress(a_file([an_entry()])))
    assert packed.entries == RegistryEntries([RegistryEntry("shared/x", EntryKind.FILE, 1, 2, 3)])


def test_a_snapshot_without_entries_is_whole() -> None:
    """A job with heap state shares nothing."""
    assert len(read_snapshot(write_snapshot(a_snapshot(), ())).entries) == 0


WHOLE = a_snapshot()
PLAIN = write_snapshot(WHOLE, ENTRIES)
PACKED = write_snapshot(a_snapshot(), ENTRIES, compress=True)
HEADER_BYTES = PLAIN.index(b"\n") + 1
FOOTER = PLAIN.splitlines()[-1]
ONE_LINE = "one line is no header and footer"
NOT_THE_DIGEST = "the entries do not have the footer's sha256"
NOT_ONE_MEMBER = "the gzip member is cut short or followed by more"
ANOTHER_JOBS = "Value error, checkpoint_dir is the directory of another job"
NO_TIME = "a time must be written like 2026-01-31T23:59:59Z"
TWICE = "a key stands twice in one object"


def test_every_truncation_is_refused() -> None:
    """At every byte, plain and packed; the last line feed alone may be missing."""
    for data in (PLAIN, PACKED):
        for length in range(len(data)):
            if data[:length] == PLAIN[:-1]:
                assert read_snapshot(data[:length]) == WHOLE
            else:
                refusal(data[:length])


def test_the_parts_that_are_read_at_once_change_nothing(monkeypatch) -> None:
    """Lines and gzip's output end anywhere in a part: the value is the same, and each refusal."""
    cut = [data[:length] for data in (PLAIN, PACKED) for length in range(0, len(data), 11)]
    whole = [refusal(data) for data in cut]
    monkeypatch.setattr(registry_format, "_PART", 5)
    monkeypatch.setattr(registry_format, "_LOT", 2)
    assert [refusal(data) for data in cut] == whole
    assert read_snapshot(PLAIN) == read_snapshot(PACKED) == WHOLE
    assert NOT_ONE_MEMBER in refusal(PACKED + PACKED)
    assert "once unpacked" in refusal(PACKED, max_bytes=len(PLAIN) - 1)


def test_no_object_a_file_stays_in_memory(tmp_path) -> None:
    """Of a mapped snapshot of many files, 16 bytes a file and some for packing them."""
    names = (str(UUID(int=number << 70 | 1 << 40)) for number in range(40_000))
    named = [RegistryEntry(f"shared/{name}", EntryKind.FILE, 1, 2, 3) for name in names]
    (tmp_path / "file").write_bytes(write_snapshot(WHOLE, named))
    with (tmp_path / "file").open("rb") as file:
        data = mmap(file.fileno(), 0, access=ACCESS_READ)
    tracemalloc.start()
    try:
        entries = read_snapshot(data).entries
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(entries) == len(named)
    assert kept < 20 * len(named)
    assert most < 300 * len(named), "a lot of lines, whatever the number of files"


def flips(data: bytes) -> st.SearchStrategy[tuple[int, bytes]]:
    """Return damaged copies: one byte is another."""
    return st.tuples(st.integers(0, len(data) - 1), st.integers(1, 255)).map(
        lambda drawn: (
            drawn[0],
            data[: drawn[0]] + bytes([data[drawn[0]] ^ drawn[1]]) + data[drawn[0] + 1 :],
        )
    )


def read_or_none(data: bytes) -> RegistrySnapshot | None:
    try:
        return read_snapshot(data)
    except UnreadableSnapshotError:
        return None


@given(flips(PACKED))
def test_a_flipped_byte_in_a_packed_snapshot_changes_nothing(flip: tuple[int, bytes]) -> None:
    """Gzip's checksum covers the header too; only gzip's own time and flags are free."""
    assert read_or_none(flip[1]) in (None, WHOLE)


def test_no_flip_of_any_bit_touches_what_protects() -> None:
    """The same for every single bit of the file, without chance."""
    for position in range(len(PLAIN)):
        for bit in range(8):
            flipped = bytes([PLAIN[position] ^ 1 << bit])
            found = read_or_none(PLAIN[:position] + flipped + PLAIN[position + 1 :])
            if found is not None and position >= HEADER_BYTES:
                assert found == WHOLE
            elif found is not None:
                assert found.entries == WHOLE.entries
                assert oldest_retained(found) == 42
                assert [each.id for each in found.retained[:2]] == [42, 43]


@given(st.permutations(range(5)))
def test_lines_in_another_order_are_refused(order: list[int]) -> None:
    """Header first, footer last, entries as hashed."""
    lines = PLAIN.splitlines(keepends=True)
    if order != sorted(order):
        refusal(b"".join(lines[each] for each in order))


@given(st.sets(st.integers(0, 4), min_size=1))
def test_a_lost_line_is_refused(lost: set[int]) -> None:
    lines = PLAIN.splitlines(keepends=True)
    refusal(b"".join(line for each, line in enumerate(lines) if each not in lost))


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_reading(data: bytes) -> None:
    """They are refused in one way, also behind gzip's magic."""
    refusal(data)
    refusal(b"\x1f\x8b\x08" + data)


@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        (b"", 1, ONE_LINE),
        (b"\n", 1, ONE_LINE),
        (b"\n{}", 1, "no JSON: Expecting value at column 1"),
        (PLAIN[:HEADER_BYTES], 1, ONE_LINE),
        (PLAIN[: -len(FOOTER) - 1], 4, "the last line is no footer: the snapshot is partial"),
        (PLAIN + b"\n", 6, "no JSON: Expecting value at column 1"),
        (PLAIN + b" ", 6, "no JSON: Expecting value at column 1"),
        (PLAIN + PLAIN, 10, "the footer counts 3 entries, not 8"),
        (PLAIN.replace(b"\n", b"\n\n", 1), 6, "the footer counts 3 entries, not 4"),
        (b"\xef\xbb\xbf" + PLAIN, 1, "no JSON: Expecting value at column 1"),
        (PLAIN[:-1] + b"{}", 5, f"more text after column {len(FOOTER)}"),
        (PLAIN.replace(b'"created":41', b'"created":40'), 5, NOT_THE_DIGEST),
        (PLAIN.replace(b"}\n", b"}\r\n", 1).replace(b"}\n", b"}\r\n"), 5, NOT_THE_DIGEST),
        (PACKED + b"x", 1, NOT_ONE_MEMBER),
        (PACKED + PACKED, 1, NOT_ONE_MEMBER),
        (PACKED[:-1], 1, NOT_ONE_MEMBER),
        (gzip.compress(PACKED), 1, "no UTF-8 at byte 2"),
        (PLAIN.replace(b"0e1f", b"0e\xff"), 1, f"no UTF-8 at byte {PLAIN.index(b'0e1f') + 3}"),
        (b"[" * 100_000 + PLAIN, 1, "nested too deeply"),
        (b"[]" + PLAIN[HEADER_BYTES - 1 :], 1, "no JSON object"),
        (PLAIN.replace(b"17", b"NaN", 1), 1, "NaN is no JSON"),
        (PLAIN.replace(b'"registry",', b'"registry","version":1,', 1), 1, TWICE),
        (PLAIN.replace(b'"id":42,', b"", 1), 1, "retained.0.id: Field required"),
        (
            PLAIN.replace(b'"id":42', b'"id":41'),
            1,
            "Value error, retained checkpoint 41 lies in chk-42",
        ),
        (a_file(checkpoint_dir=f"s3://b/{'0' * 32}"), 1, ANOTHER_JOBS),
        (a_file(taken_at="2026-11-21"), 1, f"taken_at: Value error, {NO_TIME}"),
        (
            a_file(taken_at="0001-01-01T00:00:00+01:00"),
            1,
            "taken_at: Value error, the time is out of range",
        ),
    ],
)
def test_what_is_not_one_whole_snapshot_is_refused(data: bytes, line: int, reason: str) -> None:
    """With the line and the reason."""
    assert refusal(data) == f"cannot read registry snapshot at line {line}: {reason}"


def test_damaged_gzip_is_refused_with_what_zlib_says_of_it() -> None:
    """Somebody who knows gzip will recognise it."""
    damaged = PACKED[:2] + b"\xff" + PACKED[3:]
    assert refusal(damaged).startswith("cannot read registry snapshot at line 1: damaged gzip: ")
    assert "unknown compression method" in refusal(damaged)


NO_ENTRIES = {
    "not the fields of an entry": [
        *[{each: "absent"} for each in ("kind", "path", "size", "created", "last_used")],
        *[{"type": "header"}, {"type": "footer"}, {"type": None}, {"more": 1}],
    ],
    "path must be a text, and not empty": [{"path": ""}, {"path": None}, {"path": 7}],
    "'utf-8' codec can't encode character '\\ud800' in position 7: surrogates not allowed": [
        {"path": "shared/\ud800"}
    ],
    "kind 'symlink' is unknown": [{"kind": "symlink"}],
    "kind 'FILE' is unknown": [{"kind": "FILE"}],
    "kind None is unknown": [{"kind": None}],
    "kind ['file'] is unknown": [{"kind": ["file"]}],
    "NaN is no JSON": [{"size": float("nan")}],
    "Infinity is no JSON": [{"size": float("inf")}],
    "size, created and last_used must be whole numbers, not negative": [
        *[{"size": each} for each in (-1, 1.0, "1", True)],
        *[{"created": -1}, {"created": 2**63}, {"last_used": False}, {"last_used": {}}],
    ],
}


@pytest.mark.parametrize(
    ("changes", "reason"), [(each, why) for why, all_ in NO_ENTRIES.items() for each in all_]
)
def test_a_line_that_is_no_entry_is_refused_with_the_reason(changes: dict, reason: str) -> None:
    """Although the footer vouches for it: an unknown entry may protect what we cannot see."""
    good = an_entry()
    message = refusal(a_file([good, an_entry(**changes), good]))
    assert message == f"cannot read registry snapshot at line 3: {reason}"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "null",
        "[]",
        "7",
        '"entry"',
        "{",
        "{}",
        "[" * 100_000,
        '{"type":"entry","path":"a","path":"b","kind":"file","size":1,"created":2,"last_used":3}',
        an_entry() + an_entry(),
        an_entry() + " x",
        an_entry() + "X",
        an_entry() + "\f",
        an_entry() + "\N{NO-BREAK SPACE}",
        an_entry(size=7).replace("7", "9" * 5000),
        an_entry(path="tab\x01").replace("\\u0001", "\x01"),
    ],
)
def test_a_line_that_is_not_one_plain_object_is_refused(line: str) -> None:
    """No guessing what was meant; of two equal keys neither counts."""
    assert "at line 2: " in refusal(a_file([line, an_entry()]))


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"version": 0},
        {"version": "1"},
        {"version": True},
        {"version": 1.0},
        {"format": "orphangc"},
        {"type": "footer"},
        {"source": "guess"},
        {"job_id": JOB.upper()},
        {"job_id": JOB[:-1]},
        {"job_id": f"{JOB}\n"},
        {"job_id": None},
        {"jm_epoch": ""},
        {"jm_epoch": None},
        {"sequence": -1},
        {"sequence": 1.0},
        {"sequence": True},
        {"sequence": 2**63},
        {"sequence": float("nan")},
        {"nonce": 5},
        {"taken_at": "2026-11-21T14:00:00"},
        {"taken_at": "2026-11-21"},
        {"taken_at": "2026-13-21T14:00:00Z"},
        {"taken_at": "0001-01-01T00:00:00+01:00"},
        {"taken_at": 1795261858},
        {"taken_at": "1795261858"},
        {"taken_at": None},
        {"checkpoint_dir": ""},
        {"checkpoint_dir": "relative"},
        {"checkpoint_dir": f"s3://bucket/{'0' * 32}"},
        {"max_concurrent": 0},
        {"max_concurrent": "1"},
        {"retained": None},
        {"retained": {}},
        {"retained": [{"id": 1, "savepoint": False}]},
        {"retained": [{"id": -1, "savepoint": False, "path": "x"}]},
        {"retained": [{"id": 1, "savepoint": 0, "path": "x"}]},
        {"retained": [{"id": 1, "savepoint": False, "path": "chk-2"}]},
        {"retained": [{"id": 1, "savepoint": False, "path": "x", "more": 1}]},
        {"issued": [{"id": 1, "at": "now"}]},
        {"issued": [{"id": "1", "at": "2026-11-21T14:00:00Z"}]},
        {"restored": [{"id": 1, "path": "", "mode": "CLAIM"}]},
        {"restored": [{"id": 1, "path": "x"}]},
        {"more": 1},
    ],
)
def test_a_header_that_is_not_version_1_is_refused(changes: dict) -> None:
    """Every field, its type, its range, and no other field."""
    assert "at line 1: " in refusal(a_file([an_entry()], **changes))


@pytest.mark.parametrize("field", sorted(json.loads(PLAIN.split(b"\n")[0])))
def test_every_header_field_is_needed(field: str) -> None:
    """A missing one is not a default; a doubled one is not the last."""
    header, _, rest = PLAIN.partition(b"\n")
    fields = json.loads(header)
    value = json.dumps(fields[field])
    doubled = header[:-1] + f',"{field}":{value}}}'.encode()
    assert "twice" in refusal(doubled + b"\n" + rest)
    del fields[field]
    assert f"{field}: " in refusal(json.dumps(fields).encode() + b"\n" + rest)


@pytest.mark.parametrize(
    "changes",
    [
        {"entries": 2},
        {"entries": 4},
        {"entries": "3"},
        {"entries": 3.0},
        {"entries": -3},
        {"sha256": "0" * 64},
        {"sha256": None},
        {"type": "entry"},
        {"complete": True},
    ],
)
def test_a_footer_that_does_not_vouch_is_refused(changes: dict) -> None:
    *lines, footer = PLAIN.splitlines(keepends=True)
    footer = json.dumps({**json.loads(footer), **changes}).encode()
    assert "at line 5: " in refusal(b"".join(lines) + footer)


@pytest.mark.parametrize("form", ["plain", "packed"])
def test_more_than_the_limit_is_refused(form: str) -> None:
    """Measured unpacked, so a small bomb is found before it has grown."""
    data, unpacked = (PLAIN, "") if form == "plain" else (PACKED, " once unpacked")
    limit = len(PLAIN) - 1
    assert refusal(data, max_bytes=limit) == (
        f"cannot read registry snapshot at line 1: more than {limit} bytes{unpacked}"
    )
    assert read_snapshot(data, max_bytes=len(PLAIN)) == WHOLE


def test_a_gzip_bomb_is_not_unpacked() -> None:
    """A hundred megabytes in a hundred kilobytes take no more memory than the limit."""
    packer = zlib.compressobj(wbits=31)
    bomb = packer.compress(bytes(100_000_000)) + packer.flush()
    tracemalloc.start()
    try:
        assert "once unpacked" in refusal(bomb, max_bytes=1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"taken_at": datetime(2026, 1, 1)}, "a time must be aware"),
        ({"sequence": -1}, "."),
        ({"job_id": "x"}, "."),
        ({"jm_epoch": ""}, "."),
        ({"checkpoint_dir": "relative"}, "."),
        ({"max_concurrent": 0}, "."),
        ({"retained": (RetainedCheckpoint(id=1, is_savepoint=False, path="chk-2"),)}, "."),
        ({"issued": (IssuedCheckpoint(id=1, at=datetime(2026, 1, 1)),)}, "."),
    ],
)
def test_what_could_not_be_read_back_is_not_written(changes: dict, words: str) -> None:
    """The writer refuses what the reader would; a time without offset is none of one instant."""
    with pytest.raises(ValueError, match=words):
        write_snapshot(a_snapshot(**changes), ())


@pytest.mark.parametrize(("path", "size"), [("", 1), ("a", -1), ("a\ud800", 1)])
def test_an_entry_that_could_not_be_read_back_is_not_written(path: str, size: int) -> None:
    with pytest.raises(ValueError, match=r"."):
        write_snapshot(a_snapshot(), [RegistryEntry(path, EntryKind.FILE, size, 1, 1)])


def test_times_are_in_utc_whatever_this_machines_time_zone_is(monkeypatch) -> None:
    """Their spelling is part of the contract, and stands in what an operator reads."""
    monkeypatch.setenv("TZ", "XST-3")
    time.tzset()
    try:
        assert write_snapshot(a_snapshot(), ENTRIES) == PLAIN
        assert read_snapshot(PLAIN).taken_at.isoformat() == "2026-11-21T14:00:00+00:00"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("retained", "oldest"),
    [
        ((), None),
        ((a_retained(42),), 42),
        ((a_retained(43), a_retained(42)), 42),
        ((a_retained(7, is_savepoint=True), a_retained(42)), 42),
        ((a_retained(7, is_savepoint=True),), None),
    ],
)
def test_savepoints_do_not_count_as_retained(retained: tuple, oldest: int | None) -> None:
    """Flink subsumes past them."""
    assert oldest_retained(a_snapshot(retained=retained)) == oldest


@pytest.mark.parametrize(
    ("path", "directory", "resolved"),
    [
        ("shared/x", "s3://b/j", "s3://b/j/shared/x"),
        ("shared/x", "s3://b/j/", "s3://b/j/shared/x"),
        ("s3://o/shared/x", "s3://b/j", "s3://o/shared/x"),
        ("file:/c/x", "s3://b/j", "file:/c/x"),
        ("file:///c/x", "s3://b/j", "file:///c/x"),
        ("/c/x", "file:/b/j", "/c/x"),
        ("shared/a:b", "s3://b/j", "s3://b/j/shared/a:b"),
        ("a:b", "s3://b/j", "s3://b/j/a:b"),
        ("x", "s3://b/X", "s3://b/X/x"),
    ],
)
def test_a_path_is_relative_to_the_job_directory_or_absolute(
    path: str, directory: str, resolved: str
) -> None:
    """A scheme needs its slash: a colon alone is part of a name."""
    assert resolve(path, directory) == resolved


SECOND = {"sequence": 18, "nonce": "n-17", "taken_at": NOW + timedelta(minutes=5)}
LIMITS = {
    "now": NOW + timedelta(minutes=6),
    "max_age": timedelta(minutes=10),
    "clock_skew": timedelta(minutes=2),
}


def successor(**changes: object) -> RegistrySnapshot:
    return a_snapshot(**{**SECOND, **changes})


def test_a_later_snapshot_of_the_same_life_follows() -> None:
    """Same job, source, epoch and directory; sequence and time forward; fresh."""
    assert check_successor(a_snapshot(), successor(), **LIMITS) is None
    assert check_successor(a_snapshot(), successor(taken_at=NOW), **LIMITS) is None
    as_far_ahead_as_may_be = successor(taken_at=LIMITS["now"] + LIMITS["clock_skew"])
    assert check_successor(a_snapshot(), as_far_ahead_as_may_be, **LIMITS) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"job_id": JobId("0" * 32)}, "two jobs"),
        ({"source": Mode.DERIVED}, "two sources"),
        ({"jm_epoch": "0e20"}, "started again"),
        ({"checkpoint_dir": "s3://b/else"}, "directory"),
        ({"sequence": 17}, "does not follow 17"),
        ({"sequence": 16}, "does not follow 17"),
        ({"taken_at": NOW - timedelta(microseconds=1)}, "before snapshot 17"),
        ({"taken_at": LIMITS["now"] + timedelta(minutes=2, seconds=1)}, "in the future"),
        ({"retained": (a_retained(41),)}, "went back from 42 to 41"),
        ({"retained": ()}, "went back from 42 to None"),
    ],
)
def test_what_does_not_follow_voids_the_cycle(changes: dict, reason: str) -> None:
    """R15, each condition alone."""
    assert reason in (check_successor(a_snapshot(), successor(**changes), **LIMITS) or "")


UNREPEATED = "the registry snapshot does not repeat the nonce"


def test_a_stale_snapshot_voids_the_cycle() -> None:
    """An exporter that stopped says nothing of what was uploaded since."""
    limits = {**LIMITS, "now": NOW + timedelta(minutes=15)}
    assert check_successor(a_snapshot(), successor(), **limits) is None
    limits["now"] += timedelta(microseconds=1)
    assert "older than" in (check_successor(a_snapshot(), successor(), **limits) or "")


@pytest.mark.parametrize(
    ("first", "second", "problem"),
    [
        ({}, {"nonce": "N"}, None),
        ({"nonce": None}, {"nonce": "N"}, None),
        ({}, {"nonce": "other"}, UNREPEATED),
        ({"nonce": "N"}, {"nonce": "N"}, "the nonce was known before the listing ended"),
        ({}, {"nonce": None}, UNREPEATED),
        ({}, {"nonce": None, "sequence": 190}, UNREPEATED),
        (
            {"source": Mode.DERIVED},
            {"nonce": "N", "source": Mode.DERIVED},
            "a derived snapshot knows no more than the roots that it came from",
        ),
    ],
)
def test_the_second_snapshot_must_be_newer_than_the_listing(
    first: dict, second: dict, problem: str | None
) -> None:
    """R14: it repeats the nonce; a derived one is no registry."""
    assert cycle_problem(a_snapshot(**first), successor(**second), nonce="N") == problem
