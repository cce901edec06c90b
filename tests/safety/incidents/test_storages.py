"""Retained checkpoints of another job in directories that nothing names (issue 29).

Each was found by an attack from outside: twenty-eight fleets whose resources, images, scripts and
arguments hid where a job stores. All of them are the same to a search of whole storages.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pyarrow as pa
import pytest

from cli.helpers import DAY, Job
from cli.redeploys import Redeploys, numbered
from cli.scheduled import Configured, settings_of
from cli.stories import Story
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.errors import StorageUnreachableError
from safety.incidents.essential import must_be_there

SEARCHES_STORAGES = True

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
