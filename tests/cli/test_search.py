"""A search covers a storage: every ``_metadata`` of it counts, whatever names its folder."""

import os
import shlex
import time
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from cli.helpers import AT_ONCE, DAY, Bed, Planned, metadata, run, write
from cli.scheduled import swept
from cli.stories import ENDED, Story, make_story
from cli.stories_on_s3 import JOB_ID, S3Story, requests_to
from flinkstate.files import mounts
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.app.runner import run_root as running
from orphangc.app.wiring import searched_places
from orphangc.collect.observe import observation

B = f"{0xB:032x}"
OTHER = f"{0xC:032x}"

FOLDERS = (
    f"flink-red/{B}/chk-3",
    f"a/b/c/d/{B}/chk-3",
    "kept by hand",
    f"checkpoints-copy/{B}/shared/chk-3",
    f"{B}/taskowned/backup",
)
"""Folders beside the storage root that nothing names."""

AREAS = ("shared", "taskowned/x", "dstl")
"""Folders of a job that are listed, and not looked into before."""


def retained(story: Story, folder: str) -> Path:
    """Write a retained checkpoint of job B that claimed the first orphan of the storage root."""
    data = metadata(3, [*story.live, story.orphans[0]])
    return write(story.bed.folder / folder / "_metadata", data, 20 * DAY)


def key_of(story: Story, file: Path) -> str:
    return str(file.relative_to(story.bed.root))


def blocked(plan: Planned) -> set[str]:
    jobs = [{each["condition"] for each in job["blocked"]} for job in plan.document["jobs"]]
    return set.intersection(*jobs)


@pytest.mark.parametrize("folder", ["shared", "chk-8", ""])
def test_a_link_to_itself_stops_no_program(story, folder) -> None:
    """It leads nowhere, so no checkpoint is behind it; where one may be, nothing goes."""
    link = story.job.folder / folder / "me"
    link.symlink_to(link)
    plan = story.bed.plan()
    assert plan.ran.code in {0, 4}, plan.ran.err
    assert "Traceback" not in plan.ran.err
    assert not plan.removals() & {key_of(story, each) for each in story.live}


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_checkpoint_below_an_area_that_goes_before_it_is_read(
    story, monkeypatch, is_replaced
) -> None:
    """What replaced it beside is read; without a successor nothing is known, and nothing goes."""
    below = f"checkpoints/{story.job.id}/taskowned/h/{B}"
    old = retained(story, f"{below}/chk-3")
    listed = observation._list  # the moment right after the listing

    def replacing(*facts: Any) -> Any:
        found = listed(*facts)
        if is_replaced:
            retained(story, f"{below}/chk-4")
        old.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(observation, "_list", replacing)
    plan = story.bed.plan()
    removals = {key_of(story, story.orphans[1])} if is_replaced else set()
    assert (plan.ran.code, plan.removals()) == (0 if is_replaced else 4, removals)


@pytest.mark.parametrize("area", ["shared", "taskowned"])
def test_a_checkpoint_below_an_area_that_is_younger_than_the_plan_keeps_what_it_names(
    story, area
) -> None:
    """A sweep uses the plan's listing, which shows only that checkpoints are below that area."""
    below = f"checkpoints/{OTHER}/{area}"
    write(story.bed.folder / below / "h" / "_metadata", metadata(3, []), 20 * DAY)
    story.bed.cycle()
    plan = story.bed.plan()
    assert key_of(story, story.orphans[0]) in plan.removals()
    retained(story, f"{below}/{B}/chk-3")
    swept = story.bed.sweep(plan, "--delete")
    assert (swept.code, story.orphans[0].exists()) == (4, True), swept.err


@pytest.mark.parametrize("is_read", [False, True])
def test_a_job_whose_checkpoints_come_and_go_between_the_scans_blocks(
    tmp_path, monkeypatch, is_read
) -> None:
    """No cluster shows it, and a leftover of an earlier run is all that is read of it.

    Once a later one is read, the job is known.
    """
    bed = Bed(tmp_path / "volume", ("--ended-job", f"{1:032x}", "--closed-world", *AT_ONCE))
    story = make_story(bed)
    job = bed.job(2)
    job.checkpoint(1001 if is_read else 1)
    number, look = iter(range(2, 1000)), LocalStorage.folder

    def going_on(self: LocalStorage, prefix: str = "") -> Any:
        if prefix != job.id:
            return look(self, prefix)
        new = job.folder / f"chk-{next(number)}"
        new.mkdir()
        found = look(self, prefix)
        new.rmdir()
        return found

    monkeypatch.setattr(LocalStorage, "folder", going_on)
    monkeypatch.setattr(LocalStorage, "all_folders", lambda _: None)
    plan = bed.plan()
    assert plan.ran.code == 0, plan.ran.err
    (own,) = (each for each in plan.document["jobs"] if each["job_id"] == story.job.id)
    conditions = [each["condition"] for each in own["blocked"]]
    assert conditions == ([] if is_read else ["dependent_job"])


@pytest.mark.parametrize(
    ("link", "leads_to"),
    [
        ("red", "far/away/red"),
        ("x/red", "far/away/red"),
        ("red", "far/away"),
        ("red/chk-3", "far/away/red/chk-3"),
        ("logs/red", "far/away/red"),
        *((f"checkpoints/{1:032x}/{area}/red", "far/away/red") for area in AREAS),
    ],
)
def test_a_link_names_the_folder_that_it_leads_to(tmp_path, link, leads_to) -> None:
    """Whatever is around that folder."""
    bed = Bed(tmp_path / "volume", (*ENDED, *AT_ONCE))
    story = make_story(bed)
    data = metadata(3, [*story.live, story.orphans[0]])
    write(tmp_path / "far" / "away" / "red" / "chk-3" / "_metadata", data, 20 * DAY)
    (bed.folder / link).parent.mkdir(parents=True, exist_ok=True)
    (bed.folder / link).symlink_to(tmp_path / leads_to)
    plan = bed.plan()
    assert plan.ran.code == 0, plan.ran.err
    assert plan.removals() == {key_of(story, story.orphans[1])}


def test_a_link_in_another_storage_root_of_the_run_is_followed(tmp_path) -> None:
    """That root was listed for itself, and is not listed again."""
    story = make_story(Bed(tmp_path / "volume"))
    other = make_story(Bed(tmp_path / "volume" / "other"), 2)
    data = metadata(3, [*story.live, story.orphans[0]])
    red = write(tmp_path / "far" / "red" / "chk-3" / "_metadata", data, 20 * DAY).parent
    (other.job.folder / "taskowned" / "red").symlink_to(red)
    stated = {"ended_job": ["all"], "closed_world": True, "state": str(tmp_path / "state")}
    stated |= {"allow_short_margins": True, "max_delete_share": "1", "quiet_period": "0"}
    stated |= {"grace_period": "0", "quarantine_period": "0"}
    roots = [{"root": str(each.bed.root), **stated} for each in (other, story)]
    config = tmp_path / "orphangc.yaml"
    plans = str(tmp_path / "plans")
    config.write_text(
        yaml.safe_dump({"mode": "quarantine", "plans": plans, "storage_roots": roots})
    )
    assert run("run", "--config", config).code == 0
    first, second = run("run", "--config", config).json
    assert swept(first) == {"tombstone/done": len(other.orphans)}
    assert swept(second) == {"tombstone/done": 1}


def test_a_link_that_leads_out_of_sight_blocks_until_it_is_stated(story) -> None:
    """Behind it may be a mount that is absent."""
    (story.bed.folder / "red").symlink_to(story.bed.folder.parent / "not mounted")
    assert blocked(story.bed.plan()) == {"place_unreachable"}


def test_a_link_to_a_file_and_a_stated_link_block_nothing(story) -> None:
    """No checkpoint is behind them."""
    (story.bed.folder / "file").symlink_to(write(story.bed.folder / "a file", b"x", DAY))
    (story.bed.folder / "red").symlink_to(story.bed.folder.parent / "not mounted")
    plan = story.bed.plan("--search-except", story.bed.folder / "red")
    assert plan.removals() == {key_of(story, each) for each in story.orphans}


def test_a_folder_that_a_mount_hides_blocks_until_it_is_named(story, tmp_path, monkeypatch) -> None:
    table = tmp_path / "mountinfo"
    monkeypatch.setattr(mounts, "TABLE", table)
    volume, red = story.bed.folder, retained(story, f"red/{B}/chk-3").parents[2]
    top, inner = f"1 0 8:1 / {volume} rw - ext4 /dev/a rw", f"2 1 8:2 / {red} rw - ext4 /dev/b rw"
    table.write_text(top)
    assert not blocked(story.bed.plan())
    table.write_text(f"{top}\n{inner}")
    assert blocked(story.bed.plan()) >= {"place_unreachable"}
    plan = story.bed.plan("--extra-root", red)
    assert (plan.removals(), blocked(plan)) == ({key_of(story, story.orphans[1])}, set())


@pytest.mark.parametrize("where", ["", "x"])
def test_a_folder_whose_name_is_no_text_lets_nothing_go(story, where) -> None:
    """Its keys are shown escaped, and cannot be read: a checkpoint that cannot be read."""
    other = retained(story, "red").parent
    above = story.bed.folder / where
    above.mkdir(exist_ok=True)
    other.rename(above / os.fsdecode(b"x\xe9"))
    plan = story.bed.plan()
    assert plan.ran.code == 4 or blocked(plan) == {"place_unreachable"}
    assert plan.ran.code == 0 or not plan.removals()


def test_the_search_of_places_sees_what_is_named_alone(story) -> None:
    """Which is what its statement says."""
    retained(story, FOLDERS[0])
    plan = story.bed.plan("--search", "places")
    assert plan.removals() == {key_of(story, each) for each in story.orphans}


def test_a_file_that_was_claimed_in_a_searched_storage_is_found_there(tmp_path) -> None:
    """R8: beside the storage root, where no setting names it; it is damaged once a file is gone."""
    bed = Bed(tmp_path / "new", AT_ONCE)
    claimed = bed.job(2, below=tmp_path / "old" / "checkpoints").shared()
    job = bed.job()
    job.checkpoint(8, job.shared(), claimed)
    assert bed.plan().refusal(job) is None
    claimed.unlink()
    assert bed.plan().refusal(job) == "damaged_latest_root"


def test_a_checkpoint_may_spell_the_storage_root_without_its_link(tmp_path) -> None:
    """R8: its files are there by either name."""
    real = Bed(tmp_path / "real").job()
    real.checkpoint(8, real.shared())
    bed = Bed(tmp_path / "link", AT_ONCE)
    bed.folder.symlink_to(tmp_path / "real")
    assert bed.plan().refusal(real) is None
    next((real.folder / "shared").iterdir()).unlink()
    assert bed.plan().refusal(real) == "damaged_latest_root"


def test_a_lost_checkpoint_that_spells_the_storage_root_without_its_link_blocks(tmp_path) -> None:
    """Its folder is on a mount that is absent in the next run."""
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    story = make_story(Bed(tmp_path / "link", (*ENDED, *AT_ONCE)))
    named = [each.resolve() for each in (*story.live, story.orphans[0])]
    write(real / "red" / B / "chk-3" / "_metadata", metadata(3, named), 20 * DAY)
    story.bed.plan()
    (real / "red" / B).rename(tmp_path / "elsewhere")
    assert blocked(story.bed.plan()) == {"job_directory_emptied"}


def red(on_s3: S3Story, key: str, **more: Any) -> None:
    named = min(on_s3.orphans)
    data = metadata(3, [f"s3://{on_s3.bucket}/checkpoints/{named}"])
    on_s3.client.put_object(Bucket=on_s3.bucket, Key=key, Body=data, **more)


@pytest.mark.parametrize("folder", [f"{FOLDERS[0]}/", "z z/é/_metadata/", "checkpoints0/", ""])
def test_a_checkpoint_in_the_bucket_keeps_what_it_names(on_s3, folder) -> None:
    """At any depth and under any name; at the top it has no folder."""
    red(on_s3, f"{folder}_metadata")
    assert on_s3.plan().removals() == {max(on_s3.orphans)}


def test_a_bucket_of_a_log_that_is_gone_blocks_until_it_is_left_out(on_s3) -> None:
    """Whether the job writes there is unknown until it is said that the bucket is no more."""
    log = f"s3://{on_s3.bucket}-no-more/log/{JOB_ID}"
    on_s3.put(f"{JOB_ID}/chk-9/_metadata", on_s3.checkpoint(9, f"{log}/dstl/{uuid.uuid4()}"))
    (job,) = on_s3.plan().document["jobs"]
    assert "not_quiet" in {each["condition"] for each in job["blocked"]}
    stated = ("--search-except", f"s3://{on_s3.bucket}-no-more", "--empty-root", log)
    (job,) = on_s3.plan(*stated).document["jobs"]
    assert not job["blocked"]


def test_the_world_names_the_buckets_that_are_not_searched(on_s3) -> None:
    """They are information: whether their checkpoints refer here is what a person states."""
    other = f"{on_s3.bucket}-of-another-team"
    on_s3.client.create_bucket(Bucket=other)
    ran = run("world", on_s3.root, "--state", f"s3://{on_s3.bucket}/state")
    assert f"s3://{other}" in ran.json["buckets"]["unsearched"]
    assert f"s3://{on_s3.bucket}" not in ran.json["buckets"]["unsearched"]
    assert ran.json["buckets"]["problem"] is None
    shown = run(
        "world", on_s3.root, "--state", f"s3://{on_s3.bucket}/state", "--output", "table"
    ).out
    assert f"s3://{other}" in shown.replace("\n", "")


@pytest.fixture
def reads(monkeypatch) -> list[str]:
    """Return the keys of each ``_metadata`` beside the storage root that is read."""
    keys: list[str] = []
    read = LocalStorage.read

    def reading(self: LocalStorage, key: Any, **more: Any) -> bytes | None:
        if str(key).endswith("_metadata") and self.location.name != "checkpoints":
            keys.append(str(key))
        return read(self, key, **more)

    monkeypatch.setattr(LocalStorage, "read", reading)
    return keys


def test_what_an_earlier_cycle_read_is_not_read_again(story, reads) -> None:
    """Until it is another object; what it names counts all the while."""
    other = retained(story, FOLDERS[0])
    write(story.bed.folder / "lake" / "_metadata", PARQUET, 20 * DAY)
    kept = {key_of(story, story.orphans[1])}
    assert story.bed.plan().removals() == kept
    assert sorted(reads) == [str(other.relative_to(story.bed.folder)), "lake/_metadata"]
    reads.clear()
    for _ in range(2):
        assert story.bed.plan().removals() == kept
    assert reads == []
    write(other, metadata(3, story.orphans), 19 * DAY)
    assert story.bed.plan().removals() == set()
    assert reads == [str(other.relative_to(story.bed.folder))]


def test_a_file_that_is_written_in_place_with_its_old_time_is_read_again(story, reads) -> None:
    """Size, inode and time are the same then, as after ``cp --preserve``."""
    other = retained(story, FOLDERS[0])
    assert story.bed.plan().removals() == {key_of(story, story.orphans[1])}
    found = other.stat()
    other.write_bytes(metadata(3, [*story.live, story.orphans[1]]))
    os.utime(other, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert (other.stat().st_size, other.stat().st_ino) == (found.st_size, found.st_ino)
    assert story.bed.plan().removals() == {key_of(story, story.orphans[0])}
    assert len(reads) == 2


@pytest.mark.parametrize("harm", ["gone", "damaged", "empty", "of another version"])
def test_a_memory_of_readings_that_is_lost_costs_a_reading_alone(
    story, reads, monkeypatch, harm
) -> None:
    """No verdict rests on it."""
    other = retained(story, FOLDERS[0])
    before = story.bed.plan().removals()
    (pack,) = story.bed.state.glob("read-checkpoints/*")
    reads.clear()
    match harm:
        case "gone":
            pack.unlink()
        case "damaged":
            pack.write_bytes(pack.read_bytes()[:-1] + b"?")
        case "empty":
            pack.write_bytes(b"")
        case _:
            monkeypatch.setattr(searched_places, "__version__", "0.0.1")
    assert story.bed.plan().removals() == before
    assert reads == [str(other.relative_to(story.bed.folder))]


def test_what_changed_a_moment_ago_is_read_each_time(story, reads) -> None:
    """A later write within one step of the file system's clock would look the same."""
    other = retained(story, FOLDERS[0])
    other.touch()
    for _ in range(2):
        story.bed.plan()
    assert len(reads) == 2


PARQUET = b"PAR1" + bytes(64) + b"PAR1"


def test_summaries_of_a_lake_are_counted_and_are_no_checkpoints(story) -> None:
    """Spark writes one beside each table; its footer may be encrypted."""
    lake = story.bed.folder / "lake"
    for number in range(3):
        data = PARQUET.replace(b"PAR1", b"PARE") if number else PARQUET
        write(lake / f"table-{number}" / "_metadata", data, 20 * DAY)
    plan = story.bed.plan()
    assert plan.removals() == {key_of(story, each) for each in story.orphans}
    (storage,) = plan.document["world"]["storages"]
    assert (storage["uri"], storage["tables"]) == (str(story.bed.folder), 3)
    assert storage["checkpoints"] == 2


@pytest.mark.parametrize("folder", ["lake/table", ""])
@pytest.mark.parametrize("data", [b"", b"PAR1", PARQUET[:-1], b"PARE" + PARQUET[4:], b"{}"])
def test_what_cannot_be_read_to_its_end_may_be_a_checkpoint(story, data, folder) -> None:
    """So it refuses all; the refusal has the option that leaves out what is of another program."""
    write(story.bed.folder / folder / "_metadata", data, 20 * DAY)
    plan = story.bed.plan()
    assert plan.refusal(story.job) == "unreadable_root"
    said = plan.job(story.job)["refused"]["message"]
    option, file = shlex.split(said.partition("leave it out with ")[2].partition(";")[0])
    plan = story.bed.plan(option, file)
    assert plan.removals() == {key_of(story, each) for each in story.orphans}


def test_a_damaged_checkpoint_in_a_folder_of_flinks_is_not_left_out_by_a_hint(story) -> None:
    """Its bytes may name any file, and no other program makes such a folder."""
    write(story.bed.folder / "red" / B / "chk-3" / "_metadata", b"damaged", 20 * DAY)
    said = story.bed.plan().job(story.job)["refused"]["message"]
    assert "--search-except" not in said


@pytest.mark.parametrize("times", [1, 99])
def test_a_listed_checkpoint_that_is_not_there_is_read_again(story, monkeypatch, times) -> None:
    """Nothing is beside its folder. What is listed on and on, and never read, refuses all (R6)."""
    other, read, asked = retained(story, FOLDERS[0]), LocalStorage.read, list[str]()

    def reading(self: LocalStorage, key: Any, **more: Any) -> bytes | None:
        if not str(other).endswith(f"/{key}"):
            return read(self, key, **more)
        asked.append(key)
        return read(self, key, **more) if len(asked) > times else None

    monkeypatch.setattr(LocalStorage, "read", reading)
    monkeypatch.setattr(LocalStorage, "stat", lambda _, keys: [None for _ in keys])
    plan = story.bed.plan()
    if times == 1:
        assert plan.removals() == {key_of(story, story.orphans[1])}
    else:
        assert plan.refusal(story.job) == "unreadable_root"


def test_a_prefix_without_checkpoints_is_not_searched(story) -> None:
    """By a statement, which the world shows; it never covers a place that is searched."""
    write(story.bed.folder / "lake" / "table" / "_metadata", b"no", 20 * DAY)
    lake = str(story.bed.folder / "lake")
    plan = story.bed.plan("--search-except", lake)
    assert plan.removals() == {key_of(story, each) for each in story.orphans}
    assert plan.document["world"]["storages"][0]["left_out"] == [lake]
    assert story.bed.plan("--search-except", story.bed.folder).ran.code == 2


@pytest.fixture
def second(on_s3) -> str:
    """Return another bucket, in which job B retains a checkpoint that claimed an orphan."""
    bucket = f"{on_s3.bucket}-2"
    on_s3.client.create_bucket(Bucket=bucket)
    data = metadata(3, [f"s3://{on_s3.bucket}/checkpoints/{min(on_s3.orphans)}"])
    on_s3.client.put_object(Bucket=bucket, Key=f"deep/down/{B}/chk-3/_metadata", Body=data)
    return bucket


def name_it(on_s3: S3Story, bucket: str) -> None:
    """Let a checkpoint of the storage root name a file in a bucket, and be there no more."""
    path = f"s3://{bucket}/origin/{OTHER}/shared/{uuid.uuid4()}"
    on_s3.put(f"{JOB_ID}/chk-9/_metadata", on_s3.checkpoint(9, path))


def test_a_bucket_that_a_path_names_is_searched(on_s3, second) -> None:
    """The path is in another folder than what is found."""
    name_it(on_s3, second)
    plan = on_s3.plan()
    assert plan.removals() == {max(on_s3.orphans)}
    storages = {each["uri"]: each for each in plan.document["world"]["storages"]}
    assert storages[f"s3://{second}/"]["checkpoints"] == 1
    assert plan.document["world"]["closed_world"]["covers"] == list(storages)


def test_a_bucket_that_nothing_names_is_the_limit_of_the_statement(on_s3, second) -> None:
    """No storage shows what is in another one: what its checkpoint needs is lost (SAFETY)."""
    assert second
    assert on_s3.plan().removals() == on_s3.orphans


def test_a_storage_that_appears_later_is_not_covered_until_it_is_stated(on_s3, second) -> None:
    """It is searched all the same; the message has the command."""
    assert blocks(on_s3.plan()) == {}
    name_it(on_s3, second)
    for _ in range(2):
        plan = on_s3.plan()
        said = blocks(plan)
        assert set(said) == {"closed_world"}
        assert f"s3://{second}/ is searched since" in said["closed_world"]
    assert plan.removals() == {max(on_s3.orphans)}
    command = shlex.split(said["closed_world"].partition("Run: ")[2])
    assert run(*command[1:]).code == 0
    for _ in range(2):
        assert blocks(on_s3.plan()) == {}


def test_a_storage_that_cannot_be_searched_blocks_though_nothing_names_it_now(
    on_s3, second
) -> None:
    """An earlier cycle searched it; a person may leave it out."""
    name_it(on_s3, second)
    assert blocks(on_s3.plan()) == {}
    on_s3.put(f"{JOB_ID}/chk-10/_metadata", on_s3.checkpoint(10))
    key = f"checkpoints/{JOB_ID}/chk-9/_metadata"
    on_s3.client.delete_object(Bucket=on_s3.bucket, Key=key)
    on_s3.client.delete_object(Bucket=second, Key=f"deep/down/{B}/chk-3/_metadata")
    on_s3.client.delete_bucket(Bucket=second)
    said = blocks(on_s3.plan())
    assert f"s3://{second}/ could not be searched to its end" in said["place_unreachable"]
    assert "nothing names it any more: if its name was mistyped" in said["place_unreachable"]
    lift = said["place_unreachable"].split()[-2:]
    assert lift == ["--search-except", f"s3://{second}/"]
    assert "place_unreachable" not in blocks(on_s3.plan(*lift))


def test_a_mistyped_pin_stops_its_own_plan_alone(on_s3) -> None:
    """Nothing but the option named it, and nothing was seen in it."""
    assert blocks(on_s3.plan()) == {}
    mistyped = ("--state", f"s3://{on_s3.bucket}/state", "--pin", "s3://mistyped/savepoint-1")
    assert run("plan", on_s3.root, *mistyped).code == 4
    assert blocks(on_s3.plan()) == {}


def test_a_storage_is_remembered_though_a_pin_named_it(on_s3, second) -> None:
    assert blocks(on_s3.plan("--pin", f"s3://{second}/deep")) == {}
    on_s3.client.delete_object(Bucket=second, Key=f"deep/down/{B}/chk-3/_metadata")
    on_s3.client.delete_bucket(Bucket=second)
    said = blocks(on_s3.plan())
    lift = said["place_unreachable"].split()[-2:]
    assert lift == ["--search-except", f"s3://{second}/"]
    for _ in range(2):
        assert "place_unreachable" not in blocks(on_s3.plan(*lift))
    assert "place_unreachable" in blocks(on_s3.plan())


def test_a_storage_that_a_pin_and_a_checkpoint_name_is_remembered(on_s3) -> None:
    """The pin is known before any checkpoint is read, and none of both may name it later."""
    missing = f"{on_s3.bucket}-2"
    assert blocks(on_s3.plan()) == {}
    name_it(on_s3, missing)
    pinned = ("--state", f"s3://{on_s3.bucket}/state", "--pin", f"s3://{missing}/savepoint-1")
    assert run("plan", on_s3.root, *pinned).code == 4
    on_s3.put(f"{JOB_ID}/chk-10/_metadata", on_s3.checkpoint(10))
    key = f"checkpoints/{JOB_ID}/chk-9/_metadata"
    on_s3.client.delete_object(Bucket=on_s3.bucket, Key=key)
    assert "place_unreachable" in blocks(on_s3.plan())


def blocks(plan: Planned) -> dict[str, str]:
    return {
        each["condition"]: each["message"]
        for job in plan.document["jobs"]
        for each in job["blocked"]
    }


def two_roots(on_s3: S3Story) -> Path:
    """Return a configuration with a second storage root: a live file, a checkpoint, two orphans."""
    names = [f"second/{OTHER}/shared/{uuid.UUID(int=number)}" for number in range(1, 4)]
    for name in names:
        on_s3.client.put_object(Bucket=on_s3.bucket, Key=name, Body=name.encode())
    time.sleep(1.1)  # one store time for all would be a copied tree
    complete(on_s3, 1, names[0])
    none = dict.fromkeys(("grace_period", "quarantine_period", "quiet_period", "clock_skew"), "0")
    shared = {"state": f"s3://{on_s3.bucket}/state", "ended_job": ["all"], "closed_world": True}
    shared |= {"allow_short_margins": True, "max_delete_share": "1", **none}
    roots = [{"root": root, **shared} for root in (on_s3.root, f"s3://{on_s3.bucket}/second")]
    config = on_s3.folder / "orphangc.yaml"
    plans = str(on_s3.folder / "plans")
    config.write_text(
        yaml.safe_dump({"mode": "quarantine", "plans": plans, "storage_roots": roots})
    )
    return config


def complete(on_s3: S3Story, number: int, *names: str) -> None:
    data = metadata(number, [f"s3://{on_s3.bucket}/{name}" for name in names])
    key = f"second/{OTHER}/chk-{number}/_metadata"
    on_s3.client.put_object(Bucket=on_s3.bucket, Key=key, Body=data)


@pytest.mark.ci
@pytest.mark.parametrize("is_named", [False, True])
def test_a_checkpoint_that_completes_after_the_shared_listing_counts(
    on_s3, monkeypatch, is_named
) -> None:
    """It names an orphan, and a file that the listing lacks, which is not missing for that."""
    config = two_roots(on_s3)
    live, orphan, _ = (f"second/{OTHER}/shared/{uuid.UUID(int=number)}" for number in range(1, 4))
    assert run("run", "--config", config).code == 0
    run_root = running.run_root

    def changing(settings: Any, *more: Any) -> Any:
        if settings.root.endswith("/second") and is_named:
            new = f"second/{OTHER}/shared/{uuid.uuid4()}"
            on_s3.client.put_object(Bucket=on_s3.bucket, Key=new, Body=b"new")
            complete(on_s3, 2, live, orphan, new)
            time.sleep(1.1)  # a job that writes now has not ended
        return run_root(settings, *more)

    monkeypatch.setattr(running, "run_root", changing)
    time.sleep(1.1)  # S3 has whole seconds only
    first, second = run("run", "--config", config).json
    assert swept(first) == {"tombstone/done": len(on_s3.orphans)}
    assert swept(second) == {"tombstone/done": 1 if is_named else 2}
    assert (second["refusals"], second["missing_objects"]) == ({}, 0)


def test_storage_roots_in_one_bucket_search_it_once_in_a_run(on_s3, s3_server) -> None:
    """The listing serves the second one, too; each sees what is beside both."""
    config = two_roots(on_s3)
    red(on_s3, f"between/{B}/chk-3/_metadata")
    with requests_to(s3_server) as requested:
        ran = run("run", "--config", config)
    assert [each["objects_listed"] for each in ran.json] == [7, 4], ran.err
    asked = [parse_qs(urlsplit(path).query) for path in requested]
    pages = [each for each in asked if "list-type" in each and "max-keys" not in each]
    whole = [each for each in pages if "prefix" not in each]
    assert len(whole) == 2, "what is before and after the first storage root"
    ran = run("world", "--config", config, "--output", "json")
    (storage,) = ran.json["storages"]
    assert (storage["uri"], storage["checkpoints"]) == (f"s3://{on_s3.bucket}/", 4)


@pytest.mark.parametrize("is_in_root", [True, False])
def test_what_flink_has_not_finished_to_write_to_gs_stops_nothing(story, is_in_root) -> None:
    """A JobManager that is killed leaves a folder called as the ``_metadata`` will be."""
    top = story.bed.root if is_in_root else story.bed.folder
    place = f".inprogress/bucket/checkpoints/{story.job.id}/chk-9/_metadata"
    part = write(top / place / str(uuid.uuid4()), b"part", 0 * DAY)
    for _ in range(2):
        plan, _swept = story.bed.cycle()
    assert [each["job_id"] for each in plan.document["jobs"]] == [story.job.id]
    assert part.exists()
    assert not any(each.exists() for each in story.orphans)
