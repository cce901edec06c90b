"""The device of a place."""

from pathlib import Path

import pytest

from flinkstate.places.locations import canonical
from orphangc.adapters.files import mount_table
from orphangc.adapters.files.mount_table import device_in, device_of, hidden_in, store_time

TABLE = """\
22 1 0:20 / / rw,relatime shared:1 - overlay overlay rw
30 22 8:1 / /mnt/with\\040blank rw - ext4 /dev/sda1 rw
31 22 0:50 / /mnt/nfs rw - nfs4 server:/export/one rw
32 31 0:51 / /mnt/nfs rw - nfs4 server:/export/two rw
33 22 0:52 / /mnt/smb rw shared:9 - cifs //server/share rw
a line of another form
34 22 0:53 / /mnt/bad - x
"""


@pytest.mark.parametrize(
    ("path", "device"),
    [
        ("/", "overlay at /"),
        ("/mnt/other/x", "overlay at /"),
        ("/mnt/with blank/x", "ext4 at /mnt/with blank"),
        ("/mnt/nfs/deep", "nfs4 server:/export/two"),
        ("/mnt/nfs2", "overlay at /"),
        ("/mnt/smb", "cifs //server/share"),
        ("/mnt/bad", "overlay at /"),
    ],
)
def test_the_last_mount_at_the_deepest_folder_holds_a_place(path, device) -> None:
    """So an unmounted folder has another device than the mounted one had."""
    assert device_in(TABLE, Path(path)) == device


def test_without_a_line_for_the_top_nothing_is_known() -> None:
    """Rather no device than a wrong one."""
    assert device_in("", Path("/x")) is None


def test_what_a_server_shows_below_its_export_hides_nothing() -> None:
    """Another file system there does, and so does one below it."""
    below = [
        "35 32 0:54 / /mnt/nfs/one rw - nfs4 server:/export/two/one rw",
        "36 32 0:55 / /mnt/nfs/two rw - nfs4 server:/export/one/two rw",
        "37 35 8:2 / /mnt/nfs/one/three rw - ext4 /dev/sdb rw",
    ]
    table = TABLE + "\n".join(below)
    assert hidden_in(table, "/mnt/nfs") == ["/mnt/nfs/two", "/mnt/nfs/one/three"]
    assert hidden_in(table, "/mnt/with blank") == []


def test_a_bucket_is_a_device() -> None:
    """This machine knows the devices of its own folders."""
    assert device_of(canonical("s3://bucket/deep/er")) == "s3://bucket"
    assert device_of(canonical("/tmp")) is not None


def test_a_machine_without_the_table_knows_no_device(monkeypatch) -> None:
    monkeypatch.setattr("flinkstate.files.mounts.TABLE", Path("/no such file"))
    assert device_of(canonical("/tmp")) is None


def test_the_table_is_read_once_whatever_is_mounted_below(monkeypatch, tmp_path) -> None:
    """A machine of many containers has thousands of mounts."""
    mounts = "".join(f"9 1 0:9 / {tmp_path}/{n} rw - ext4 /dev/sda rw\n" for n in range(9))
    texts = iter([mounts])
    monkeypatch.setattr(mount_table, "table_text", lambda: next(texts))
    assert store_time(canonical(str(tmp_path)), None).source.endswith("(unknown)")
