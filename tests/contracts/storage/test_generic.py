"""The fsspec adapter on file systems that report too little, too much, or wrong facts."""

from datetime import UTC, datetime

import fsspec
import pytest
from fsspec.spec import AbstractFileSystem

from cli.stories_on_s3 import use_s3
from contracts.places import facts, listed, rows
from flinkstate.places.locations import canonical
from orphangc.adapters.files.fsspec_storage import FsspecStorage
from orphangc.adapters.files.translate import unreachable
from orphangc.collect.listing.storage_metadata import metadata_in
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.errors import StorageUnreachableError
from orphangc.ports import DeletionStatus, Folder

STAMP = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ROOT = {"name": "/r", "size": 0, "type": "directory"}


class ReportingFileSystem(AbstractFileSystem):
    """Reports the facts that a test sets."""

    def __init__(self, *infos: dict) -> None:
        super().__init__(skip_instance_cache=True)
        self.infos = {info["name"]: info for info in (ROOT, *infos)}
        self.removed: list[str] = []

    def ls(self, path: str, detail: bool = True, **_: object) -> list:  # noqa: ARG002, FBT001, FBT002
        return [i for i in self.infos.values() if i["name"].startswith(path.rstrip("/") + "/")]

    def info(self, path: str, **_: object) -> dict:
        if path not in self.infos:
            raise FileNotFoundError(path)
        return self.infos[path]

    def cat_file(self, path: str, **_: object) -> bytes:
        return self.infos[path]["data"]

    def rm_file(self, path: str) -> None:
        self.removed.append(path)

    def rm(self, path: str, **_: object) -> None:
        """Refuse: this verb expands, and may recurse."""
        raise AssertionError(path)


def opened(*infos: dict) -> tuple[FsspecStorage, ReportingFileSystem]:
    file_system = ReportingFileSystem(*infos)
    return FsspecStorage(canonical("test://h/r"), file_system=(file_system, "/r")), file_system


def a_file(name: str, **more: object) -> dict:
    return {"name": f"/r/{name}", "size": 3, "type": "file", **more}


@pytest.mark.parametrize(
    "reported",
    [
        {"mtime": STAMP.timestamp()},
        {"mtime": STAMP},
        {"LastModified": STAMP},
        {"last_modified": STAMP},
        {"updated": "2026-01-02T03:04:05Z"},
        {"created": STAMP},
        {"modificationTime": int(STAMP.timestamp() * 1000)},
    ],
)
def test_every_known_spelling_of_the_store_time_is_understood(reported):
    """Local, memory, S3, Azure, Google, WebHDFS."""
    storage, _ = opened(a_file("x", **reported))
    assert facts(storage, "x").modified_at == STAMP
    assert rows(storage)[0]["modified_at"] == STAMP


@pytest.mark.parametrize(
    "reported", [{}, {"mtime": None}, {"mtime": datetime(2026, 1, 2)}, {"updated": "yesterday"}]
)
def test_a_time_that_is_not_clear_is_unknown_and_keeps_the_file(reported):
    """A naive time could be off by half a day."""
    storage, file_system = opened(a_file("x", **reported))
    found = facts(storage, "x")
    assert found.modified_at is None
    assert storage.delete([found])[0].status is DeletionStatus.CHANGED
    assert file_system.removed == []


def test_a_file_whose_size_is_not_reported_is_no_folder_and_stays():
    """A row without a size is a folder's: the search of a storage would overlook a checkpoint."""
    key = "j/chk-1/_metadata"
    folders = [{"name": f"/r/{name}", "size": 0, "type": "directory"} for name in ("j", "j/chk-1")]
    storage, file_system = opened(*folders, a_file(key, size=None, mtime=STAMP))
    file_system.ls = lambda path, **_: [
        each for each in file_system.infos.values() if each["name"].rpartition("/")[0] == path
    ]
    found = metadata_in(storage, [], lambda *_: None)
    assert ([each.key for each in found.objects], found.links) == ([key], (key,))
    assert storage.delete([facts(storage, key)])[0].status is DeletionStatus.CHANGED
    assert file_system.removed == []


def test_an_untested_file_system_says_so_and_tells_no_time():
    """Plans are made, but nothing is deleted there (R27)."""
    storage, _ = opened()
    assert storage.is_tested is False
    assert storage.now().now is None


def test_a_link_is_not_entered_and_has_no_time():
    """Even where a file system gives the type of what it points to."""
    link = {"name": "/r/l", "type": "directory", "islink": True, "size": 9, "mtime": 1.0}
    storage, _ = opened(link, {"name": "/r/l/x", "type": "file", "size": 1})
    storage._fs.infos.pop("/r/l/x")
    assert [(row["key"], row["modified_at"]) for row in rows(storage)] == [("l", None)]


@pytest.mark.parametrize("kind", ["link", "symlink", "other"])
def test_what_is_neither_a_file_nor_a_folder_may_hide_one(kind):
    """SFTP's word, WebHDFS's, Arrow's: what a link leads to is never entered, nor overlooked."""
    storage, _ = opened({"name": "/r/l", "type": kind, "size": 0}, a_file("x"))
    assert storage.folder().closed == ("l",)


@pytest.mark.parametrize("name", ["/r/", "/r//"])
def test_a_folder_without_a_name_is_an_error(name):
    """Of a bucket: no method of fsspec's lists it, and a person may have copied a checkpoint."""
    storage, _ = opened({"name": name, "size": 0, "type": "directory"}, a_file("x"))
    for look in (storage.folder, lambda: rows(storage)):
        with pytest.raises(StorageUnreachableError, match="without a name"):
            look()


def test_a_folder_of_a_bucket_without_a_name_is_an_error(moto_url, monkeypatch):
    """s3fs stands for what is in other object stores."""
    client = use_s3(monkeypatch, moto_url)
    client.create_bucket(Bucket="generic")
    for key in ("cp/a/", "cp/a/x", "cp/a//_metadata"):
        client.put_object(Bucket="generic", Key=key, Body=b"bytes")
    s3 = fsspec.filesystem("s3", endpoint_url=moto_url, skip_instance_cache=True)
    storage = FsspecStorage(canonical("oss://generic/cp"), file_system=(s3, "generic/cp"))
    assert storage.folder().folders == ("a",)
    for look in (lambda: storage.folder("a"), lambda: rows(storage)):
        with pytest.raises(StorageUnreachableError, match="cp/a has a folder without a name"):
            look()
    client.delete_object(Bucket="generic", Key="cp/a//_metadata")
    assert listed(storage) == ["a/x"]


def test_a_folder_that_cannot_be_found_and_is_there_is_an_error():
    """Some clients say so of what they may not list; Flink deletes folders, which then are gone."""
    storage, file_system = opened({"name": "/r/f", "size": 0, "type": "directory"})
    ls = file_system.ls

    def ls_of_root(path: str, **_: object) -> list:
        if path != "/r":
            raise FileNotFoundError(path)
        return ls(path)

    file_system.ls = ls_of_root
    for look in (lambda: storage.folder("f"), lambda: rows(storage)):
        with pytest.raises(StorageUnreachableError, match="/r/f"):
            look()
    file_system.infos.pop("/r/f")
    assert storage.folder("f") == Folder((), ())


def test_a_file_of_which_nothing_shows_a_change_is_read_each_time():
    """Without a time and an ETag, a checkpoint of the same size is no sign of the same bytes."""
    metadata = a_file("_metadata", data=b"one")
    storage, _ = opened(metadata)
    listed, reader = facts(storage, "_metadata"), CheckpointReader()
    first = reader.contents(storage, "", listed)
    metadata["data"] = b"two"
    assert reader.contents(storage, "", listed).sha256 != first.sha256


@pytest.mark.parametrize(("size", "data"), [(3, b"on"), (3, b"ones"), (3, b""), (None, b"one")])
@pytest.mark.parametrize("end", [2, 9])
def test_less_than_a_whole_part_is_an_error(size, data, end):
    """A cache or a gateway may give what it has, and what has no size has no end."""
    storage, file_system = opened(a_file("x", size=size))
    file_system.cat_file = lambda *_, start, end: data[start : end - 1]
    with pytest.raises(StorageUnreachableError, match=r"bytes came|no known size"):
        storage.part("x", start=0, size=end)
    with pytest.raises(StorageUnreachableError, match=r"bytes came|no known size"):
        storage.read("x", max_bytes=end)


@pytest.mark.parametrize("key", ["x*", "x?", "x[1]", "x{1}", "x\\1"])
def test_a_key_with_a_glob_character_is_refused(key):
    """It is unknown which file systems expand it."""
    storage, file_system = opened(a_file(key, mtime=STAMP))
    assert storage.delete([facts(storage, key)])[0].status is DeletionStatus.FAILED
    assert file_system.removed == []


def test_exactly_the_literal_path_is_removed():
    """One verb, one path."""
    storage, file_system = opened(a_file("x", mtime=STAMP), a_file("x1", mtime=STAMP))
    assert storage.delete([facts(storage, "x")])[0].status is DeletionStatus.DELETED
    assert file_system.removed == ["/r/x"]


def test_a_listing_of_something_else_is_an_error():
    """A name from elsewhere would become a key that means another file."""
    storage, file_system = opened()
    file_system.ls = lambda *_, **__: [{"name": "/other/x", "type": "file", "size": 1}]
    with pytest.raises(StorageUnreachableError, match="elsewhere"):
        rows(storage)


@pytest.mark.parametrize(
    "text",
    [
        "http://ops:HIDDEN@s3.example/b refused",
        "GET https://s3.example/b?X-Amz-Signature=HIDDEN&list-type=2",
        "?AWSAccessKeyId=HIDDEN&Expires=9&Signature=HIDDEN",
        "the key AKIAHIDDENHIDDENHIDD is unknown",
        "https://a.blob.example/c?sv=2024&sig=HIDDEN",
        "two\nlines, password=HIDDEN " + "and long " * 99,
    ],
)
def test_no_message_shows_a_secret_or_a_second_line(text):
    """What libraries say may quote whole requests."""
    message = str(unreachable("list s3://b", text))
    assert "HIDDEN" not in message
    assert "\n" not in message
    assert len(message) <= 300


def test_any_error_of_a_file_system_is_one_of_ours():
    """Whatever its library raises."""
    storage, file_system = opened()

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("token=SECRET\nis over")

    file_system.ls = fail
    with pytest.raises(StorageUnreachableError, match=r"token=\*\*\* is over"):
        listed(storage)
