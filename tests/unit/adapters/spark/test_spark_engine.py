"""The engine without Spark: passes over files find what passes over one listing find."""

import uuid
from types import SimpleNamespace

import pytest

from flinkstate.places.locations import canonical
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.adapters.spark import passes, reading
from orphangc.adapters.spark.spark_engine import SparkEngine
from orphangc.adapters.spark.spark_listing import ListedParts
from orphangc.adapters.spark.work_folder import ExchangeFile, WorkFolder
from orphangc.collect.listing.local_engine import LocalEngine
from orphangc.collect.mark.mark import _live_set
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.marked_listing import divided
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.errors import StorageUnreachableError
from orphangc.ports.engine import ListingHints
from support.builders import BASE, JOB, a_tombstone, an_object
from support.tombstone_tables import laid_as
from unit.adapters.spark.spark_here import HereCluster
from unit.adapters.spark.test_spark_listing import Counted
from unit.collect.listing.ordered_storage import MemorySpool
from unit.collect.listing.test_local_passes import a_survey_pass, shown
from unit.collect.observe.test_shared_checkpoints import opened, write

NAMES = [str(uuid.UUID(int=(n * 0x9E3779B97F4A7C15 << 64 | n) % 2**128)) for n in range(1, 400)]
KEYS = sorted(f"{JOB}/shared/{name}" for name in NAMES)
LIVE = LiveSet(
    UuidSet(uuid.UUID(name).bytes for name in NAMES[::2]),
    UuidSet(uuid.UUID(name).bytes for name in NAMES[::3]),
)
SETTINGS = {"listed": "50", "rows": "30", "streams": "2", "large": "9000"}


def silent(*_: object) -> None:
    """Show nothing."""


def engine(folder, patch: pytest.MonkeyPatch, **how) -> SparkEngine:
    """Return an engine whose executors are this process, after the listing."""
    settings = SETTINGS | {name: str(how.pop(name)) for name in ("broadcast",) if name in how}
    conf = SimpleNamespace(get=lambda name, default: settings.get(name.rpartition(".")[2], default))
    work = WorkFolder(canonical(str(folder / "work")))
    made = SparkEngine(SimpleNamespace(conf=conf), work, BASE)
    made._cluster = HereCluster(work, **how)
    listed = Counted(KEYS, page_size=10)
    storage = SimpleNamespace(
        is_ordered=True, list_requests=0, earlier_parts=tuple, server=listed.server
    )
    with patch.context() as meanwhile:
        meanwhile.setattr(reading, "opened", lambda _: listed)
        made.list_all(storage, ListingHints(), silent)
    return made


FORMS = [{}, {"broadcast": 40}]
"""The live set whole, and in slices that the listing is divided among."""


@pytest.mark.parametrize("how", [*FORMS, *({**each, "is_flaky": True} for each in FORMS)])
def test_many_tasks_survey_what_one_process_surveys(tmp_path, monkeypatch, how) -> None:
    """By the same functions; before the live set is known nothing is live, afterwards all is."""
    local = LocalEngine(MemorySpool(), BASE.name, streams=1)
    local.list_all(Counted(KEYS), ListingHints(), silent)
    spark = engine(tmp_path, monkeypatch, **how)
    for live in (LiveSet(), LIVE, LiveSet(LIVE.raw, LIVE.parsed)):
        found, expected = [], []
        for each in (spark, local):
            each.mark(live, Tombstones.empty())
        for _ in range(2):  # the second pass is given what the first one kept
            found.append(shown(spark.run(a_survey_pass(), silent)))
            expected.append(shown(local.run(a_survey_pass(), silent)))
        for each in (*found, *expected):
            each[0][JOB].only_in_raw_bytes.clear()  # a few of many, in the order of the parts
        assert found == expected
    assert len(spark._slices) == (9 if "broadcast" in how else 1)
    spark.close()
    assert not (tmp_path / "work").exists()


def test_a_tombstone_counts_as_five_live_files(tmp_path, monkeypatch) -> None:
    """Of what an executor holds at once: it takes five times the memory."""
    spark = engine(tmp_path, monkeypatch, broadcast=len(LIVE.parsed) + len(LIVE.raw))
    spark.mark(LIVE, Tombstones.empty())
    assert len(spark._slices) == 1
    spark.mark(LiveSet(), laid_as([a_tombstone(an_object(name)) for name in NAMES]))
    assert len(spark._slices) == -(-5 * len(KEYS) // (len(LIVE.parsed) + len(LIVE.raw)))


def test_each_slice_is_read_once_by_the_tasks_that_look_its_rows_up(tmp_path, monkeypatch) -> None:
    """Each file of the listing needed all of them, which grew with the square of the bucket."""
    spark = engine(tmp_path, monkeypatch, broadcast=40)
    spark.mark(LIVE, Tombstones.empty())
    read, original = [], WorkFolder.read_packed

    def reading(folder: WorkFolder, file: ExchangeFile) -> object:
        read.append(file)
        return original(folder, file)

    monkeypatch.setattr(WorkFolder, "read_packed", reading)
    for _ in range(2):
        spark.run(a_survey_pass(), silent)
    assert sorted(each.name for each in read) == sorted(each.file.name for each in spark._slices)
    assert len(spark._slices) == 9


def test_a_row_that_came_to_another_slice_is_looked_up_in_none(tmp_path, monkeypatch) -> None:
    """It would not be found there, and deleted though it is live."""
    spark = engine(tmp_path, monkeypatch, broadcast=40)
    spark.mark(LIVE, Tombstones.empty())
    monkeypatch.setattr(passes, "divided", lambda rows, count: divided(rows, count)[::-1])
    with pytest.raises(StorageUnreachableError, match="wrong part of the live set"):
        spark.run(a_survey_pass(), silent)


def test_a_listing_is_divided_without_loss(tmp_path, monkeypatch) -> None:
    """A row fewer than was listed would have no verdict, and be in no count."""
    spark = engine(tmp_path, monkeypatch, broadcast=40)
    spark.mark(LIVE, Tombstones.empty())
    monkeypatch.setattr(passes, "divided", lambda rows, count: divided(rows.slice(1), count))
    with pytest.raises(StorageUnreachableError, match="were lost while they were divided"):
        spark.run(a_survey_pass(), silent)


def test_nothing_is_divided_if_nothing_is_listed(tmp_path, monkeypatch) -> None:
    """A bucket that was emptied: everything that checkpoints name is missing."""
    spark = engine(tmp_path, monkeypatch, broadcast=40)
    spark._listed = ListedParts()
    spark.mark(LIVE, Tombstones.empty())
    assert spark.run(a_survey_pass(), silent).objects == 0


@pytest.mark.parametrize("how", FORMS)
def test_a_pass_that_lost_a_part_is_none(tmp_path, monkeypatch, how) -> None:
    """Its objects would be missing in every count, and have no verdict."""
    spark = engine(tmp_path, monkeypatch, **how)
    spark.mark(LIVE, Tombstones.empty())
    spark._cluster.lost = 1
    with pytest.raises(StorageUnreachableError, match="lost a task"):
        spark.run(a_survey_pass(), silent)


@pytest.mark.parametrize("how", FORMS)
@pytest.mark.parametrize("what", ["listed", "values"])
def test_a_damaged_file_ends_the_pass(tmp_path, monkeypatch, what, how) -> None:
    """A listing or a live set that another process altered proves nothing."""
    spark = engine(tmp_path, monkeypatch, **how)
    spark.mark(LIVE, Tombstones.empty())
    spark._groups = spark._grouped(silent)  # which divides the listing
    for path in (tmp_path / "work" / what).iterdir():
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    with pytest.raises(StorageUnreachableError, match="was altered"):
        spark.run(a_survey_pass(), silent)


@pytest.mark.parametrize("is_flaky", [False, True])
def test_executors_read_the_large_checkpoints_and_the_driver_the_others(
    tmp_path, monkeypatch, is_flaky
) -> None:
    """Both oracles say of each what they say of one that this process reads, also when merged."""
    for number, names in ((3, NAMES[:200]), (4, NAMES[100:300]), (5, NAMES[:2])):
        write(tmp_path / "storage", *names, f"9_{names[0]}", number=number)
    storage = opened(tmp_path / "storage")
    expected = CheckpointReader().collect(LocalStorage(storage.location))
    spark = engine(tmp_path, monkeypatch, is_flaky=is_flaky)
    reader = CheckpointReader()
    for _ in range(2):  # each is read once
        found = reader.collect(storage, spark)
        assert found == expected
    assert storage.reads == 1
    assert [len(each) for each in spark._cluster.given[-1:]] == [2]
    live = [_live_set(of_checkpoints(each), (), UuidSet()) for each in (found, expected)]
    assert live[0] == live[1]
    left = list((tmp_path / "work" / "values").iterdir())
    assert len(left) == (2 if is_flaky else 0)  # of the other attempts; they go with the folder


def of_checkpoints(read) -> SimpleNamespace:
    """Return what is observed of a world that holds these checkpoints alone."""
    answers = SimpleNamespace(snapshots=())
    return SimpleNamespace(
        checkpoints=read.checkpoints, answers=answers, unreadable=read.unreadable
    )


@pytest.mark.parametrize("lacks", ["the right to read it", "the object"])
def test_the_driver_reads_what_executors_cannot(tmp_path, monkeypatch, lacks) -> None:
    """Their environment may hold other credentials: that is no unreadable checkpoint."""

    def refused(*_: object, **__: object) -> None:
        raise StorageUnreachableError("no credentials")

    write(tmp_path / "storage", *NAMES)
    write(tmp_path / "other", *NAMES, number=4)
    elsewhere = opened(tmp_path / "other")
    if lacks == "the right to read it":
        monkeypatch.setattr(elsewhere, "read", refused)
    monkeypatch.setattr(reading, "opened", lambda _: elsewhere)
    spark = engine(tmp_path, monkeypatch)
    (found,) = CheckpointReader().collect(opened(tmp_path / "storage"), spark).checkpoints
    assert found.checkpoint_id == 3
    assert {*NAMES} <= {name for names in found.files.values() for name in names}


def test_a_checkpoint_that_was_altered_on_the_way_is_none(tmp_path, monkeypatch) -> None:
    """It would name other files than the one that is stored."""
    write(tmp_path / "storage", *NAMES)
    spark = engine(tmp_path, monkeypatch)
    write_packed = WorkFolder.write_packed

    def altered(folder: WorkFolder, value: object) -> ExchangeFile:
        file = write_packed(folder, value)
        path = tmp_path / "work" / file.name
        path.write_bytes(path.read_bytes()[:-1] + b"x")
        return file

    monkeypatch.setattr(WorkFolder, "write_packed", altered)
    with pytest.raises(StorageUnreachableError, match="was altered"):
        CheckpointReader().collect(opened(tmp_path / "storage"), spark)
