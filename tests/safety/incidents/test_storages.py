"""Retained checkpoints of another job in directories that nothing names (issue 29).

Each was found by an attack from outside: twenty-eight fleets whose resources, images, scripts and
arguments hid where a job stores. All of them are the same to a search of whole storages.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from cli.helpers import AT_ONCE, DAY, UUID_1, UUID_2, Bed, Job, metadata, write
from cli.redeploys import Redeploys, numbered
from cli.scheduled import Configured, settings_of
from cli.stories import Story
from cli.stories_on_s3 import JOB_ID, S3Story
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.errors import StorageUnreachableError
from safety.incidents import test_areas as of_areas
from safety.incidents import test_memory as of_memory
from safety.incidents.essential import must_be_there
from unit.flinkstate.metadata.properties_by_hand import checkpoint_properties

SEARCHES_STORAGES = True
forked = of_memory.forked

DIRECTORIES = ("red", "standalone/a/b/c", "${X}")
"""Directories of job B; ``cli/test_hidden_writers.py`` has what kept each out of every resource."""


def retaining(story: Story, directory: str) -> Job:
    """Return job B, whose retained checkpoint needs files of the storage root."""
    job = story.bed.job(2, below=story.bed.folder / directory)
    job.checkpoint(9, *story.live, story.orphans[0], age=10 * DAY)
    return job


@pytest.mark.parametrize("directory", DIRECTORIES)
@pytest.mark.answered_by("whole_storages")
def test_a_retained_checkpoint_that_no_resource_names_keeps_its_files(story, directory) -> None:
    """Three scheduled runs, exit codes 0, 0, 0; what no checkpoint needs goes."""
    other = retaining(story, directory)
    settings = settings_of(story, ended_job=[story.job.id, other.id], mode="delete")
    configured = Configured.of(story, settings)
    assert [configured.run().code for _ in range(3)] == [0, 0, 0]
    must_be_there(*story.live, story.orphans[0])
    assert not story.orphans[1].exists()


@pytest.mark.answered_by("whole_storages")
def test_a_copied_checkpoint_of_any_folder_keeps_its_files(story) -> None:
    """Also of a savepoint folder, a backup, and below shared/ of another place."""
    for number, folder in enumerate(("a b", "x/savepoint-1", "x/shared/y")):
        job = story.bed.job(5 + number, below=story.bed.folder / folder)
        job.checkpoint(1, story.orphans[0], age=10 * DAY)
    for _ in range(2):
        story.bed.cycle("--ended-job", "all")
    must_be_there(story.orphans[0])
    assert not story.orphans[1].exists()


@pytest.mark.parametrize(
    "name",
    [
        *("chk-8/_metadata.orig", "b/_metadata-9", "chk-9/old_metadata", "b/Metadata"),
        *("9.metadata", "chk-9/old/m", "chk-9/a/b/9"),
    ],
)
@pytest.mark.answered_by("metadata_of_another_name")
def test_a_metadata_that_a_person_set_aside_keeps_its_files(story, name) -> None:
    """Flink restores from a file of any name: a copy before a repair, or one that was renamed."""
    data = metadata(9, [story.orphans[0]])
    write(story.job.folder / name, data, 18 * DAY)
    for _ in range(2):
        story.bed.cycle()
    must_be_there(story.orphans[0])
    assert not story.orphans[1].exists()


@pytest.mark.parametrize("folder", ["/old", "copies/", "{}//chk-9"])
@pytest.mark.answered_by("nameless_folders")
def test_a_checkpoint_in_a_folder_without_a_name_keeps_its_files(on_s3: S3Story, folder) -> None:
    """A person copied it there. It stops nothing, and a copied state file there is a stranger's."""
    needed, free = sorted(on_s3.orphans)
    data = metadata(9, [f"s3a://{on_s3.bucket}/checkpoints/{needed}"])
    on_s3.put(f"{folder.format(JOB_ID)}/_metadata", data)
    stranger = f"/{free}"
    on_s3.put(stranger, b"copy")
    for _ in range(2):
        on_s3.sweep(on_s3.plan(), "--delete")
    assert on_s3.contents().keys() >= {needed, stranger}
    assert free not in on_s3.contents()


@pytest.mark.answered_by("metadata_of_another_name", "whole_storages")
def test_what_is_left_out_hides_no_neighbour_of_a_longer_name(on_s3: S3Story) -> None:
    """The copy of a number is broken, and left out as the plan says; another one is its tenfold."""
    needed, free = sorted(on_s3.orphans)
    data = metadata(9, [f"s3a://{on_s3.bucket}/checkpoints/{needed}"])
    for key, body in (("b/metadata-1", data[:-9]), ("b/metadata-10", data)):
        on_s3.client.put_object(Bucket=on_s3.bucket, Key=key, Body=body)
    stated = ("--search-except", f"s3://{on_s3.bucket}/b/metadata-1")
    for _ in range(2):
        on_s3.sweep(on_s3.plan(*stated), "--delete")
    assert needed in on_s3.contents()
    assert free not in on_s3.contents()


@pytest.mark.parametrize("folder", ["b/metadata", "{}/chk-8/copy", "/metadata"])
@pytest.mark.parametrize("is_checkpoint", [True, False])
@pytest.mark.answered_by("one_checkpoint_a_place")
def test_an_object_of_a_folders_name_hides_no_checkpoint_in_it(
    on_s3: S3Story, folder, is_checkpoint
) -> None:
    """Some clients mark a folder by an object of just its name, and a person may call one so."""
    needed, free = sorted(on_s3.orphans)
    place = folder.format(JOB_ID)
    data = metadata(9, [f"s3a://{on_s3.bucket}/checkpoints/{needed}"])
    on_s3.put(f"{place}/_metadata", data)
    on_s3.put(place, metadata(9, []) if is_checkpoint else b"")
    for _ in range(2):
        on_s3.sweep(on_s3.plan(), "--delete")
    assert needed in on_s3.contents()
    assert free not in on_s3.contents()


@pytest.mark.parametrize("is_inside", [True, False])
@pytest.mark.parametrize("name", ["kept{}/savepoint-1/_metadata", "b/metadata{}"])
@pytest.mark.answered_by("names_shown_once")
def test_a_name_that_spells_another_one_hides_no_checkpoint(story, name, is_inside) -> None:
    r"""A name of the byte FF is shown as ``\xff``, as is one of these four letters."""
    above = story.bed.root if is_inside else story.bed.folder
    for ending, needed in ((os.fsdecode(b"\xff"), story.orphans[0]), (r"\xff", story.live[0])):
        write(above / name.format(ending), metadata(9, [needed]), 18 * DAY)
    plans = []
    for _ in range(2):
        plans.append(story.bed.plan())
        story.bed.sweep(plans[-1], "--delete")
    must_be_there(story.orphans[0], *story.live)
    assert all("rename that one" in plan.ran.out + plan.ran.err for plan in plans)


@pytest.mark.answered_by("metadata_of_another_name")
def test_an_answer_without_a_beginning_makes_no_metadata_none(story, monkeypatch) -> None:
    """A proxy that answers with nothing shows no beginning, and a cycle remembers what it read."""
    write(story.bed.root / "b" / "_metadata-9", metadata(9, [story.orphans[0]]), 18 * DAY)
    part = LocalStorage.part
    with monkeypatch.context() as patch:
        patch.setattr(
            LocalStorage,
            "part",
            lambda own, key, *, start, size: (
                b"" if size == 4 else part(own, key, start=start, size=size)
            ),
        )
        for _ in range(2):
            story.bed.sweep(story.bed.plan(), "--delete")
    must_be_there(story.orphans[0])
    for _ in range(2):
        story.bed.cycle()
    must_be_there(story.orphans[0])
    assert not story.orphans[1].exists()


@pytest.mark.answered_by("metadata_of_another_name", "whole_storages")
def test_a_metadata_that_was_set_aside_beside_the_storage_root_keeps_its_files(story) -> None:
    """What another program gives such a name is no checkpoint, and stops nothing."""
    data = metadata(9, [story.orphans[0]])
    write(story.bed.folder / "backup" / "2026-11-01-metadata", data, 18 * DAY)
    for name, other in (("v1.metadata.json", b"{}"), ("_metadata.lock", b"")):
        write(story.bed.folder / "tables" / name, other, 18 * DAY)
        write(story.job.folder / "chk-8" / name, other, 18 * DAY)
    for _ in range(2):
        story.bed.cycle()
    must_be_there(story.orphans[0])
    assert not story.orphans[1].exists()


@pytest.mark.parametrize("is_named", [True, False], ids=["extra root", "by files alone"])
@pytest.mark.answered_by("silence_everywhere + changes_of_jobs_beside")
def test_r34_a_job_that_writes_its_log_elsewhere_is_not_quiet(story, is_named) -> None:
    """It is said to be over; the base of its log is not in the storage root, which is still."""
    log = story.bed.folder / "log" / story.job.id / "dstl"
    named = write(log / UUID_1, b"log", 30 * DAY)
    newest = write(log / UUID_2, b"log", 0 * DAY)
    story.job.checkpoint(9, *story.live, named, age=18 * DAY)
    waiting = write(story.job.folder / "taskowned" / UUID_2, b"base", 25 * DAY)
    base = log.parents[1]
    places = ("--extra-root", base, "--empty-root", base) if is_named else ()
    for _ in range(2):
        story.bed.cycle(*places)
    must_be_there(waiting)
    write(newest, b"log", 25 * DAY)
    for _ in range(2):
        story.bed.cycle(*places)
    assert not waiting.exists(), "it is still everywhere"


@pytest.mark.answered_by("whole_storages", "origins_that_no_cycle_saw")
def test_r43_what_a_clone_beside_the_storage_root_began_with_stays(tmp_path) -> None:
    """Nothing names its folder, and its JobManager may begin again with any older checkpoint."""
    with ExitStack() as stack:
        chain = Redeploys.made(tmp_path, stack, count=2)
        clone = Job(numbered(9), tmp_path / "tests" / numbered(9))
        clone.checkpoint(30, clone.shared(), age=DAY)
        chain.expired("--ended-for", "0")
        must_be_there(chain.folder_of("0/5") / "_metadata")
        chain.expired("--ended-for", "0", "--ended-job", clone.id)
        assert chain.names() == {"0/5", "0/6", "1/5", "1/6"}, "not still for the quiet period"


def unlisted(patch: pytest.MonkeyPatch, is_hidden: Callable[[str, str], bool]) -> None:
    """Let a listing of some folders of some storages fail."""
    listing = LocalStorage.objects

    def objects(self: LocalStorage, prefix: str = "") -> Iterator[pa.RecordBatch]:
        if is_hidden(self.location.path, prefix):
            raise StorageUnreachableError("no page came")
        yield from listing(self, prefix)

    patch.setattr(LocalStorage, "objects", objects)


def hide(what: str, story: Story, other: Job, patch: pytest.MonkeyPatch) -> None:
    """Hide something that an earlier cycle saw."""
    bed = story.bed
    match what:
        case "a directory":
            other.folder.rename(bed.folder.parent / f"aside-{bed.folder.name}")
        case "the storage":
            unlisted(patch, lambda place, _: place == str(bed.folder))
        case "a folder of it":
            unlisted(patch, lambda _, prefix: prefix == other.folder.parent.name)
        case "a checkpoint":
            (other.folder / "chk-9" / "_metadata").write_bytes(b"cut")
        case "the wide search":
            bed.options += ("--search", "places")
        case "the state":
            shutil.rmtree(bed.state)
        case "what was read":
            shutil.rmtree(bed.state / "read-checkpoints")


HIDDEN = (
    *("a directory", "the storage", "a folder of it", "a checkpoint", "the wide search"),
    *("the state", "what was read"),
)


@pytest.mark.parametrize("what", HIDDEN)
def test_hiding_anything_of_a_storage_deletes_nothing_more(story, monkeypatch, what) -> None:
    """A bucket's listing, a folder, a checkpoint, the wide search, a memory."""
    other = retaining(story, "hidden")
    story.bed.options += ("--ended-job", other.id)
    assert story.bed.cycle()[1].code == 0
    hide(what, story, other, monkeypatch)
    for _ in range(3):
        plan = story.bed.plan()
        if plan.ran.code == 0:
            story.bed.sweep(plan, "--delete")
    must_be_there(*story.live, story.orphans[0])


@pytest.mark.answered_by("condition:checkpoint_not_found")
def test_a_forgotten_job_that_stores_where_no_search_looks_keeps_what_it_needs(
    forked: of_memory.Forked,
) -> None:
    """The storage is searched but for a part, which a person took for another program's."""
    left = forked.story.bed.folder / "unknown"
    forked.other.routes |= of_memory.storing_in(left)
    forked.story.bed.options += ("--search-except", left)
    forked.story.bed.plan(*forked.asked())
    forked.other.routes = of_memory.nothing()
    plan = forked.cycles_after()
    must_be_there(forked.story.orphans[0])
    assert plan.blocks(forked.story.job) == ["checkpoint_not_found"]


@pytest.mark.answered_by("markers_of_expiries", "whole_storages")
def test_r44_a_storage_root_in_another_one_sees_the_markers_beside_it(tmp_path) -> None:
    """A checkpoint beside it, which the storage root around both expired, names a file here."""
    with ExitStack() as stack:
        chain = Redeploys.made(tmp_path, stack, count=3)
        inner = Job("e" * 32, chain.bed.root / "team" / ("e" * 32))
        own, file = inner.shared(age=95 * DAY), inner.shared(UUID_1, age=95 * DAY)
        inner.checkpoint(1, own, age=95 * DAY)
        chain.jobs[1].checkpoint(14, file, age=91 * DAY, properties=checkpoint_properties())
        over = ("--ended-job", inner.id)
        pins = [option for n in ("0/5", "0/6") for option in ("--pin", chain.folder_of(n))]
        chain.expired("--ended-for", "0", "--keep-last", "3", *pins, *over)
        assert not (chain.jobs[1].folder / "chk-14" / "_metadata").exists()
        chain.bed.root, chain.bed.state = inner.folder.parent, chain.bed.folder / "another"
        chain.collected("--max-delete-share", "1", *over)
    must_be_there(file)


@pytest.mark.parametrize("is_named", [True, False], ids=["extra root", "beside"])
@pytest.mark.answered_by("silence_everywhere + changes_of_jobs_beside")
def test_r38_a_claimer_that_is_said_to_be_over_and_writes_on_is_not(tmp_path, is_named) -> None:
    """Its database reads what it claimed here, and writes into a directory that no run lists."""
    bed = Bed(tmp_path, AT_ONCE)
    claimed, claimer = bed.job(), bed.job(2, below=bed.folder / "red")
    working = Path("shared", "op_x__1_4__attempt_0", "db")
    named, read = (write(claimed.folder / working / e, b"", 40 * DAY) for e in (UUID_1, UUID_2))
    claimed.checkpoint(9, named, age=30 * DAY)
    claimer.checkpoint(12, named, age=10 * DAY)
    newest = write(claimer.folder / working / UUID_1, b"", 0 * DAY)
    options = ["--closed-world", "--ended-job", claimed.id, "--ended-job", claimer.id]
    options += ["--extra-root", str(bed.folder / "red")] if is_named else []
    for _ in range(2):
        bed.cycle(*options)
    must_be_there(named, read)
    write(newest, b"", 9 * DAY)
    for _ in range(2):
        bed.cycle(*options)
    assert not read.exists(), "it is still everywhere"


@pytest.mark.parametrize("place", ["inside", "beside", "over"])
@pytest.mark.answered_by("jobs_beside", not_for=["inside", "over"])
def test_r38_what_the_database_of_a_claimer_reads_stays_wherever_it_writes(tmp_path, place) -> None:
    """ForSt works on in the files that it claimed, and no checkpoint names all of them."""
    bed = Bed(tmp_path, AT_ONCE)
    claimed = bed.job()
    working = claimed.folder / "shared" / "op_x__1_4__attempt_0" / "db"
    named, read = (write(working / name, b"state", 40 * DAY) for name in (UUID_1, UUID_2))
    claimed.checkpoint(9, named, age=30 * DAY)
    claimer = bed.job(2, below=bed.root if place == "inside" else bed.folder / "red")
    claimer.checkpoint(12, named, age=10 * DAY)
    over = [word for job in (claimed, claimer) for word in ("--ended-job", job.id)]
    for _ in range(2):
        bed.cycle("--closed-world", *(over if place == "over" else over[:2]))
    must_be_there(named, *([read] if place != "over" else []))
    assert read.exists() is (place != "over")


@pytest.mark.parametrize("completed", [None, 3])
@pytest.mark.parametrize("is_declared", [False, True])
@pytest.mark.answered_by("writers_that_the_search_alone_shows")
def test_r33_a_job_that_the_search_alone_shows_completes_a_savepoint(
    undeclared, completed, is_declared
) -> None:
    """No cluster shows it and its directory is beside the root; it counts a pending savepoint.

    It writes on, whatever a statement says.
    """
    story, folder = of_areas.with_savepoints(undeclared)
    writer = story.bed.job(5, below=story.bed.folder / "other")
    state, pending = writer.shared(age=0 * DAY), of_areas.stored(folder)
    if completed is not None:
        writer.checkpoint(completed, state)
    if is_declared:
        bed = replace(story.bed, options=(*story.bed.options, "--ended-job", writer.id))
        story = replace(story, bed=bed)
    for number in (8, 28):
        of_areas.collected_while_it_runs(story, number)
    write(folder / "_metadata", metadata(9, [pending]), 0 * DAY)
    must_be_there(pending)


@pytest.mark.parametrize("is_declared", [False, True])
@pytest.mark.parametrize("named_by", ["nothing", "extra root", "extra root alone"])
@pytest.mark.parametrize("has_log", [False, True])
@pytest.mark.answered_by("silence_everywhere + changes_of_jobs_beside")
def test_r43_what_a_job_beside_begins_with_stays_while_it_writes(
    tmp_path, named_by, is_declared, has_log
) -> None:
    """It stood still for long, began again with an older checkpoint, and has completed none since.

    No cluster shows it. Its own checkpoint is old, and so may be the statement that it is over.
    """
    with ExitStack() as stack:
        chain = Redeploys.made(tmp_path, stack)
        again = Job(numbered(7), tmp_path / "other" / numbered(7))
        log = tmp_path / ("changes" if has_log else "other") / again.id / "dstl"
        state = write(log / UUID_1, b"", 200 * DAY) if has_log else again.shared(age=200 * DAY)
        again.checkpoint(3, state, age=200 * DAY)
        write((log if has_log else again.folder / "shared") / UUID_2, b"", timedelta(minutes=1))
        named = () if named_by == "nothing" else ("--extra-roots", again.folder.parent)
        named += ("--search", "places") if "alone" in named_by else ()
        over = ("--ended-job", again.id) if is_declared else ()
        origin = chain.folder_of("0/6") / "_metadata"
        chain.expired("--ended-for", "0", "--keep-last", "3", *named, *over)
    must_be_there(origin)


@pytest.mark.parametrize("is_declared", [False, True])
@pytest.mark.answered_by("silence_everywhere + changes_of_jobs_beside")
def test_r43_what_a_job_that_stores_elsewhere_by_now_begins_with_stays(
    tmp_path, is_declared
) -> None:
    """Its directory of checkpoints was changed, not its id: another one of that name changes."""
    with ExitStack() as stack:
        chain = Redeploys.made(tmp_path, stack)
        before = Job(numbered(7), chain.bed.root / numbered(7))
        before.checkpoint(3, before.shared(age=200 * DAY), age=200 * DAY)
        now = Job(before.id, tmp_path / "other" / before.id)
        now.checkpoint(31, now.shared(age=timedelta(minutes=1)), age=timedelta(minutes=1))
        over = ("--ended-job", before.id) if is_declared else ()
        origin = chain.folder_of("0/6") / "_metadata"
        chain.expired("--ended-for", "0", "--keep-last", "3", *over)
    must_be_there(origin)


@pytest.mark.parametrize("name", ["old_metadata", "metadata.bak", "1", "old/1"])
@pytest.mark.answered_by("metadata_of_another_name")
def test_a_metadata_that_was_renamed_in_its_place_keeps_its_files(undeclared, name) -> None:
    """A person gave it a name of their own while the job ran on, which subsumed its checkpoint."""
    story, folder = undeclared, undeclared.job.folder / "chk-7"
    own, shared = write(folder / UUID_1, b"state", 20 * DAY), story.job.shared()
    (folder / name).parent.mkdir(exist_ok=True)
    story.job.checkpoint(7, *story.live, shared, own).rename(folder / name)
    story.job.checkpoint(8, *story.live, age=19 * DAY)
    of_areas.collected_while_it_runs(story, 8)
    must_be_there(own, shared)
    assert not any(each.exists() for each in story.orphans)


@pytest.mark.answered_by("metadata_of_another_name", "whole_storages")
def test_a_savepoint_beside_whose_metadata_was_renamed_keeps_its_files(story) -> None:
    """It lies in the storage of the job, where nothing names it."""
    data = metadata(9, [story.orphans[0]])
    write(story.bed.folder / "b" / "savepoint-000001-00000000000a" / "m.bak", data, 18 * DAY)
    for _ in range(2):
        story.bed.cycle()
    must_be_there(story.orphans[0])
    assert not story.orphans[1].exists()


@pytest.mark.parametrize("place", ["in a job directory", "in an extra root"])
@pytest.mark.answered_by("metadata_of_another_name")
def test_a_metadata_that_a_person_copies_before_a_sweep_keeps_its_files(story, place) -> None:
    """The listing of the plan does not show the copy: only what the sweep scans does."""
    savepoints = story.bed.folder / "savepoints"
    write(savepoints / "s" / "_metadata", metadata(1, []), 30 * DAY)
    options = ("--search", "places", "--extra-root", savepoints)
    story.bed.cycle(*options)
    plan = story.bed.plan(*options)
    folder = story.job.folder if place == "in a job directory" else savepoints
    write(folder / "b" / "old_metadata", metadata(9, [story.orphans[0]]), 18 * DAY)
    story.bed.sweep(plan, "--delete")
    must_be_there(story.orphans[0])


@pytest.mark.parametrize("search", ["places", "storage"])
@pytest.mark.answered_by("metadata_of_another_name")
def test_a_renamed_metadata_directly_in_an_extra_root_keeps_its_files(story, search) -> None:
    """The extra root is the folder of one savepoint, which a person repaired."""
    folder = story.bed.folder / "savepoint-000001-00000000000a"
    write(folder / "m.bak", metadata(9, [story.orphans[0]]), 18 * DAY)
    write(folder / "_metadata", metadata(9, []), 18 * DAY)
    for _ in range(2):
        story.bed.cycle("--search", search, "--extra-root", folder)
    must_be_there(story.orphans[0])
    assert not story.orphans[1].exists()
