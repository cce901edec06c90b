"""The storage root by the name of a second mount: what is named by it is the same."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from cli.helpers import DAY, Bed, metadata, write
from cli.redeploys import Redeploys
from cli.test_search import B, blocked
from flinkstate.files import mounts


@pytest.fixture
def second(tmp_path, monkeypatch) -> Path:
    """The folder where a table of mounts shows the storage root again."""
    table, again = tmp_path / "mountinfo", tmp_path / "second"
    lines = (
        f"1 0 8:1 {shown} {at} rw - ext4 /dev/a rw"
        for shown, at in (("/", "/"), (Bed(tmp_path).root, again))
    )
    table.write_text("\n".join(lines))
    monkeypatch.setattr(mounts, "TABLE", table)
    return again


@pytest.mark.parametrize("what", ["", "{job}/shared", "{job}/shared/{orphan}"])
def test_a_pin_keeps_its_files_whatever_mount_it_names_them_by(story, second, what) -> None:
    """Nothing else refers to them."""
    orphan = story.orphans[0]
    pin = second / what.format(job=story.job.id, orphan=orphan.name)
    assert story.bed.plan("--pin", pin).verdict(orphan) == ("keep", "referenced")


def test_nothing_of_the_collector_is_written_into_the_storage_root(story, second) -> None:
    """A second mount leads there as well."""
    own = story.bed.state
    story.bed.state = second / "orphangc"
    assert story.bed.plan().ran.code == 2
    story.bed.state = own
    assert story.bed.plan("--out", second / "plan").ran.code == 2


def test_a_lost_checkpoint_that_named_files_by_the_second_mount_blocks(story, second) -> None:
    """Its folder is on a mount that is absent in the next run."""
    named = [second / each.relative_to(story.bed.root) for each in story.live]
    folder = story.bed.folder / "red" / B
    write(folder / "chk-3" / "_metadata", metadata(3, named), 20 * DAY)
    story.bed.plan()
    folder.rename(story.bed.folder.parent / f"{story.bed.folder.name} elsewhere")
    assert blocked(story.bed.plan()) == {"job_directory_emptied"}


def test_a_pinned_checkpoint_does_not_expire(tmp_path, second) -> None:
    """Whatever mount the pin names it by."""
    with ExitStack() as stack:
        chain = Redeploys.made(tmp_path, stack, count=3)
        pin = second / chain.folder_of("0/5").relative_to(chain.bed.root)
        chain.expired("--ended-for", "0", "--keep-last", "1", "--pin", pin)
        assert "0/5" in chain.names()
        assert "0/6" not in chain.names()
