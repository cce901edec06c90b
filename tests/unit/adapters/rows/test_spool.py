"""A listing on disk: every finished row once, and nothing that is not whole."""

import random
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from structlog.testing import capture_logs

from orphangc.adapters.rows.resumable_listing import ListingIdentity, ResumableListing
from orphangc.adapters.rows.spool import ArrowSpool
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange, gaps, split_at
from orphangc.errors import OrphanGcError, RefusedError, SettingsError, StorageUnreachableError
from orphangc.ports import LISTING_SCHEMA
from support import speed
from unit.collect.listing.ordered_storage import a_page

NOW = datetime(2026, 11, 21, 14, tzinfo=UTC)
THIS = ListingIdentity(root="s3://bucket/cp", tool_version="1", fingerprint="f")
PARTS = split_at(EVERYTHING, ["b", "d", "f"])
KEYS = {"a": PARTS[0], "b": PARTS[0], "c": PARTS[1], "e": PARTS[2], "g": PARTS[3]}


def kept(folder: Path, *, identity=THIS, now: datetime | None = NOW) -> ResumableListing:
    return ResumableListing(folder, identity, clock=lambda: now)


def fill(spool: ArrowSpool, parts: list[KeyRange]) -> None:
    """List some ranges, the last one first."""
    for within in reversed(parts):
        part = spool.part()
        for key in (key for key, place in KEYS.items() if place == within):
            part.append(a_page([key]))
        part.finish(within)


def keys_of(spool: ArrowSpool) -> list[str]:
    return [key for batch in spool.batches() for key in batch.column("key").to_pylist()]


def interrupted(folder: Path, parts: list[KeyRange]) -> Path:
    """Return what a process leaves that is killed when so many ranges are finished."""
    with ArrowSpool(kept(folder / "running")) as spool:
        fill(spool, parts)
        torn = spool.part()
        torn.append(a_page(["torn"] * 9000))
        left = folder / "left"
        shutil.copytree(folder / "running", left)
    return left


def end_with(error: BaseException | None) -> None:
    if error is not None:
        raise error


@pytest.fixture(autouse=True)
def logs():
    with capture_logs() as found:
        yield found


# --- rows


def test_rows_come_in_the_order_of_their_ranges_and_as_often_as_asked() -> None:
    """Whatever order the ranges were finished in."""
    with ArrowSpool() as spool:
        assert spool.finished() == []
        fill(spool, PARTS)
        assert keys_of(spool) == list(KEYS)
        assert keys_of(spool) == list(KEYS)
        assert spool.rows == len(KEYS)
        assert sorted(spool.finished(), key=PARTS.index) == PARTS
        (batch,) = spool.batches()
        assert batch.schema == LISTING_SCHEMA
        assert batch.to_pylist() == a_page(KEYS).to_pylist()


def test_what_is_not_finished_was_never_there() -> None:
    """Half a range is no range."""
    with ArrowSpool() as spool:
        part = spool.part()
        part.append(a_page(["x"] * 20_000))
        assert (keys_of(spool), spool.rows, spool.finished()) == ([], 0, [])


def test_thousands_of_small_ranges_cost_neither_files_nor_batches() -> None:
    """A file for each range that is being listed at the same time, a batch for 16 k rows."""
    edges = [f"{number:04x}" for number in range(4096)]
    with ArrowSpool() as spool:
        for within in split_at(EVERYTHING, edges):
            part = spool.part()
            part.append(a_page([within.until or "g"] * 20))
            part.finish(within)
        folder = spool._open()
        assert len(list(folder.iterdir())) == 1
        sizes = [batch.num_rows for batch in spool.batches()]
        assert (sum(sizes), len(sizes)) == (4097 * 20, 5)


def test_streams_that_write_at_once_do_not_mix() -> None:
    """Each has a file of its own; blocks are written in between."""
    edges = [f"{number:03x}" for number in range(64)]
    with ArrowSpool() as spool:

        def list_one(within: KeyRange) -> None:
            part = spool.part()
            for _ in range(20):
                part.append(a_page([within.until or "z"] * 1000))
            part.finish(within)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(list_one, split_at(EVERYTHING, edges)))
        assert keys_of(spool) == sorted([*edges, "z"] * 20_000)
        assert len(list(spool._open().iterdir())) <= 8


def test_batches_are_bounded_however_large_the_rows_are() -> None:
    """Keys of a kilobyte: memory counts bytes."""
    with ArrowSpool() as spool:
        part = spool.part()
        for number in range(60):
            part.append(a_page([f"{number:04}{'x' * 1000}"] * 1000))
        part.finish(EVERYTHING)
        assert max(batch.nbytes for batch in spool.batches()) < 12 << 20


def test_a_temporary_spool_leaves_nothing_behind() -> None:
    """Nor is anything there before it is used."""
    with ArrowSpool() as spool:
        assert spool._folder is None
        fill(spool, PARTS)
        folder = spool._open()
    assert not folder.exists()


def test_a_spool_that_does_not_hold_what_was_written_is_an_error() -> None:
    """A full disk, a damaged one: never a shorter listing."""
    for damage in (0, 30, -1):
        with ArrowSpool() as spool:
            fill(spool, PARTS)
            spool._free[0].flush()
            (file,) = spool._open().iterdir()
            data = file.read_bytes()
            file.write_bytes(data[:damage] if damage >= 0 else data[: len(data) // 2])
            with pytest.raises(OrphanGcError):
                keys_of(spool)


def test_rows_that_do_not_add_up_are_an_error() -> None:
    """What was counted when it was written is counted when it is read."""
    with ArrowSpool() as spool:
        fill(spool, PARTS)
        spool._parts[0] = spool._parts[0].model_copy(update={"rows": 2})
        with pytest.raises(OrphanGcError, match="1 rows of 2"):
            keys_of(spool)


# --- an interrupted listing


def test_finished_ranges_outlive_a_killed_process(tmp_path, logs) -> None:
    """The next run lists what is missing, and has every row once."""
    left = interrupted(tmp_path, PARTS[1:3])
    with ArrowSpool(kept(left)) as spool:
        assert gaps(spool.finished()) == [PARTS[0], PARTS[3]]
        fill(spool, [PARTS[0], PARTS[3]])
        assert keys_of(spool) == list(KEYS)
    assert [(each["event"], each["objects"]) for each in logs] == [("listing.resumed", 2)]
    with ArrowSpool(kept(left)) as again:
        assert gaps(again.finished()) == []
        assert keys_of(again) == list(KEYS)


def test_a_manifest_torn_anywhere_tells_only_of_whole_ranges(tmp_path) -> None:
    """After any byte; and the run that follows can itself be interrupted."""
    left = interrupted(tmp_path, PARTS)
    text = (left / "parts.jsonl").read_bytes()
    found = set()
    for length in [*range(0, len(text), 5), len(text) - 1]:
        (left / "parts.jsonl").write_bytes(text[:length])
        copy = tmp_path / f"copy-{length}"
        shutil.copytree(left, copy)
        with ArrowSpool(kept(copy)) as spool:
            found.add(len(spool.finished()))
            fill(spool, [part for part in PARTS if gaps(spool.finished(), part)])
            assert keys_of(spool) == list(KEYS)
        with ArrowSpool(kept(copy)) as spool:
            assert gaps(spool.finished()) == []
            assert keys_of(spool) == list(KEYS)
        shutil.rmtree(copy)
    assert found == {0, 1, 2, 3, 4}, "the last line is whole without its end"


def test_damaged_bytes_are_listed_again(tmp_path) -> None:
    """Any byte of any file that is another one: a range too few, never a wrong one."""
    left = interrupted(tmp_path, PARTS)
    drawn = random.Random(1)
    for file in sorted(left.iterdir()):
        data = file.read_bytes()
        for _ in range(60):
            at = drawn.randrange(len(data))
            file.write_bytes(
                data[:at] + bytes([data[at] ^ (1 << drawn.randrange(8))]) + data[at + 1 :]
            )
            copy = tmp_path / "copy"
            shutil.copytree(left, copy)
            with ArrowSpool(kept(copy)) as spool:
                fill(spool, [part for part in PARTS if gaps(spool.finished(), part)])
                assert keys_of(spool) == list(KEYS)
            shutil.rmtree(copy)
        file.write_bytes(data)


@pytest.mark.parametrize(
    ("written", "read"), [(b'"until":"b"', b'"until":"a"'), (b'"after":"b"', b'"after":"c"')]
)
def test_a_line_that_says_something_else_is_not_believed(tmp_path, written, read) -> None:
    """Another range than its rows are of: keys would be there twice, or not at all."""
    left = interrupted(tmp_path, PARTS)
    manifest = left / "parts.jsonl"
    manifest.write_bytes(manifest.read_bytes().replace(written, read))
    with ArrowSpool(kept(left)) as spool:
        assert len(spool.finished()) == 3
        fill(spool, [part for part in PARTS if gaps(spool.finished(), part)])
        assert keys_of(spool) == list(KEYS)


def test_a_lost_file_is_listed_again(tmp_path) -> None:
    """Also one that is too short."""
    left = interrupted(tmp_path, PARTS)
    for file in left.glob("*.arrow"):
        file.unlink()
    with ArrowSpool(kept(left)) as spool:
        assert spool.finished() == []


@pytest.mark.parametrize(
    ("identity", "now", "reason"),
    [
        (ListingIdentity(root="s3://other", tool_version="1", fingerprint="f"), NOW, "another"),
        (ListingIdentity(root="s3://bucket/cp", tool_version="2", fingerprint="f"), NOW, "another"),
        (ListingIdentity(root="s3://bucket/cp", tool_version="1", fingerprint="g"), NOW, "another"),
        (THIS, NOW + timedelta(hours=6, seconds=1), "6 hours"),
        (THIS, NOW - timedelta(seconds=1), "6 hours"),
        (THIS, None, "age"),
    ],
)
def test_a_listing_of_something_else_is_thrown_away(tmp_path, logs, identity, now, reason) -> None:  # noqa: PLR0917 - two fixtures, three facts
    """Another root, version or endpoint; too old, of the future, of an unknown age."""
    left = interrupted(tmp_path, PARTS)
    with ArrowSpool(kept(left, identity=identity, now=now)) as spool:
        assert spool.finished() == []
        fill(spool, PARTS)
        assert keys_of(spool) == list(KEYS)
    assert [each["event"] for each in logs] == ["listing.discarded"]
    assert reason in logs[0]["reason"]
    with ArrowSpool(kept(left, identity=identity, now=now)) as again:
        assert bool(again.finished()) == (now is not None)


def test_six_hours_are_not_too_old(tmp_path) -> None:
    """A limit holds its edge."""
    left = interrupted(tmp_path, PARTS)
    with ArrowSpool(kept(left, now=NOW + timedelta(hours=6))) as spool:
        assert len(spool.finished()) == 4


def test_a_resumed_listing_is_as_old_as_its_first_part(tmp_path) -> None:
    """However often it is interrupted."""
    left = interrupted(tmp_path, PARTS[:1])
    with ArrowSpool(kept(left, now=NOW + timedelta(hours=4))) as spool:
        fill(spool, PARTS[1:2] if spool.finished() else [])
    with ArrowSpool(kept(left, now=NOW + timedelta(hours=8))) as spool:
        assert spool.finished() == []


def test_ranges_that_overlap_are_thrown_away(tmp_path, logs) -> None:
    """The cause is unknown, and a key would occur twice."""
    left = interrupted(tmp_path, [*PARTS, KeyRange("a", "c")])
    with ArrowSpool(kept(left)) as spool:
        assert spool.finished() == []
    assert "overlaps" in logs[0]["reason"]


def test_two_runs_do_not_share_a_listing(tmp_path) -> None:
    """The second run gets an error, and the first one continues."""
    with ArrowSpool(kept(tmp_path / "p" / ".listing")) as first:
        fill(first, PARTS[:2])
        with (
            pytest.raises(SettingsError, match="another run"),
            ArrowSpool(kept(tmp_path / "p" / ".listing")) as second,
        ):
            second.finished()
        fill(first, PARTS[2:])
        assert keys_of(first) == list(KEYS)


@pytest.mark.parametrize(
    ("error", "is_kept"),
    [
        (StorageUnreachableError("gone"), True),
        (KeyboardInterrupt(), True),
        (SystemExit(143), True),
        (RefusedError("no"), False),
        (ValueError("bug"), False),
        (None, True),  # until the plan is written
    ],
)
def test_an_interrupted_listing_stays_and_a_refused_one_goes(tmp_path, error, is_kept) -> None:
    """With every folder that was made for it."""
    folder = tmp_path / "new" / "plan" / ".listing"
    with suppress(BaseException), ArrowSpool(kept(folder)) as spool:
        fill(spool, PARTS[:1])
        end_with(error)
    assert folder.exists() == is_kept
    assert (tmp_path / "new").exists() == is_kept


def test_nothing_stays_of_a_listing_without_a_finished_range(tmp_path) -> None:
    """There is nothing to go on with."""
    with suppress(OrphanGcError), ArrowSpool(kept(tmp_path / "plan" / ".listing")) as spool:
        spool.finished()
        end_with(StorageUnreachableError("gone"))
    assert list(tmp_path.iterdir()) == []


def test_a_stream_that_is_late_adds_nothing_to_a_closed_spool(tmp_path) -> None:
    """It may come back from a request when the next run has taken over."""
    late = threading.Event()
    with ArrowSpool(kept(tmp_path / ".listing")) as spool:
        fill(spool, PARTS[:1])
        part = spool.part()
        part.append(a_page(["c"]))
        thread = threading.Thread(target=lambda: late.wait(speed.patience()) and finish_late(part))
        thread.start()
    late.set()
    thread.join()
    with ArrowSpool(kept(tmp_path / ".listing")) as spool:
        assert spool.finished() == PARTS[:1]


def finish_late(part) -> None:
    with pytest.raises(RuntimeError, match="shutdown"):
        part.finish(PARTS[1])


def test_a_place_that_cannot_be_written_is_told(tmp_path) -> None:
    """A file stands in the way."""
    (tmp_path / "file").write_bytes(b"")
    with ArrowSpool(kept(tmp_path / "file" / ".listing")) as spool, pytest.raises(SettingsError):
        spool.finished()


def test_pages_of_any_size_are_joined_or_left(tmp_path) -> None:
    """Empty ones too, and one that is larger than a block."""
    with ArrowSpool(kept(tmp_path / ".listing")) as spool:
        part = spool.part()
        for size in (0, 1, 9000, 0, 3):
            part.append(a_page(["k"] * size))
        part.finish(EVERYTHING)
        assert (part.rows, len(keys_of(spool))) == (9004, 9004)
        assert pa.concat_tables([pa.Table.from_batches(spool.batches())]).num_rows == 9004
