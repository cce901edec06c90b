"""One local folder under several names: links, and several mounts of one file system."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from flinkstate.errors import SettingsError
from flinkstate.files import mounts
from flinkstate.files.paths import is_inside, overlap, spellings
from flinkstate.places.locations import canonical
from support.processes import finished

TABLE = """\
1 0 8:1 / / rw - ext4 /dev/a rw
2 1 8:1 /data/flink /flink rw - ext4 /dev/a rw
3 1 8:1 /data/flink/job/shared /pin rw - ext4 /dev/a rw
4 1 8:2 / /data/flink/disk rw - ext4 /dev/b rw
5 1 8:2 /deep /disk rw - ext4 /dev/b rw
6 1 0:50 / /nfs rw - nfs4 server:/export rw
7 1 0:51 / /nfs-a rw - nfs4 server:/export/a rw
8 1 0:50 / /nfs-b rw - nfs4 server:/export/b rw
9 1 8:9 / /flinkless rw - ext4 /dev/c rw
"""


@pytest.fixture
def table(tmp_path, monkeypatch) -> Path:
    """A mount table that shows some folders twice."""
    path = tmp_path / "mountinfo"
    path.write_text(TABLE)
    monkeypatch.setattr(mounts, "TABLE", path)
    return path


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("place", "names"),
    [
        ("/data/flink/job", {"/data/flink/job", "/flink/job"}),
        ("/pin/x", {"/data/flink/job/shared/x", "/flink/job/shared/x", "/pin/x"}),
        ("/disk/x", {"/data/flink/disk/deep/x", "/disk/x"}),
        ("/nfs-a/x", {"/nfs/a/x", "/nfs-a/x"}),
        ("/flinkless/x", {"/flinkless/x"}),
        ("s3://bucket/x", {"s3://bucket/x"}),
    ],
)
def test_a_folder_has_a_name_by_each_mount_that_shows_it(place, names) -> None:
    """Of which none is the true one."""
    assert spellings(canonical(place)) == {canonical(each) for each in names}


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("one", "other", "are_one"),
    [
        ("/data", "/flink", True),
        ("/flink", "/pin", True),
        ("/data/flink", "/disk/x", True),
        ("/nfs", "/nfs-b", True),
        ("/nfs-a", "/nfs-b", False),
        ("/flink", "/flinkless", False),
        ("/flink/other", "/pin", False),
    ],
)
def test_places_overlap_whatever_mounts_name_them(one, other, are_one) -> None:
    """From either side."""
    assert overlap(canonical(one), canonical(other)) is are_one
    assert overlap(canonical(other), canonical(one)) is are_one


@pytest.mark.parametrize("content", [None, "", "2 1 8:1 / /flink rw - ext4 /dev/a rw\n"])
def test_what_cannot_be_compared_is_refused(table, content) -> None:
    """It may be any folder."""
    table.unlink() if content is None else table.write_text(content)
    with pytest.raises(SettingsError, match="mount"):
        spellings(canonical("/data"))


def test_a_bucket_and_a_folder_never_meet(table) -> None:
    """So nothing need be known of the folder."""
    table.unlink()
    bucket, folder = canonical("s3://bucket/x"), canonical("/x")
    assert not overlap(bucket, folder)
    assert not is_inside(folder, bucket)


def test_a_machine_of_another_kind_mounts_no_folder_twice(table, monkeypatch) -> None:
    """Only Linux has the table."""
    table.unlink()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert spellings(canonical("/no folder")) == {canonical("/no folder")}


@pytest.mark.parametrize("shown", ["", "job/shared"])
def test_a_folder_that_this_machine_mounts_twice_is_one(tmp_path, shown) -> None:
    """The table is the kernel's."""
    if shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("this user may mount nothing here")
    root, second = tmp_path / "root", tmp_path / "second"
    (root / "job" / "shared").mkdir(parents=True)
    second.mkdir()
    program = (
        "import sys; from flinkstate.files.paths import local, overlap;"
        "from pathlib import Path; print(overlap(*(local(Path(e)) for e in sys.argv[1:])))"
    )
    mount = 'mount --bind "$1" "$2" || exit 77; second=$2; shift 2; exec "$@" "$second"'
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, "sh"]
    done = finished([*command, root / shown, second, sys.executable, "-c", program, root])
    if done.returncode == 77:
        pytest.skip(f"this machine lets nobody mount: {done.stderr.strip()}")
    assert done.stdout.strip() == "True", done.stderr
