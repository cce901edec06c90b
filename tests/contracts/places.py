"""Places to store things, seen from outside: no test trusts an adapter to check an adapter."""

import json
import shutil
import urllib.request
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import boto3
import fsspec
import requests
from azure.storage.blob import BlobServiceClient
from botocore.config import Config
from fsspec.implementations.local import LocalFileSystem

from contracts.servers import azurite
from flinkstate.places.locations import canonical
from orphangc.adapters.files.fsspec_storage import FsspecStorage
from orphangc.adapters.files.state_files import FsspecStateFiles
from orphangc.adapters.open import open_state_files, open_storage
from orphangc.ports import StateFiles, Storage
from support import speed

MANY = 1205
"""More than one page of 1000, and not a whole number of them."""

FILLED = sorted(
    f"j/chk-{number:04}/x" if number % 2 else f"j/file-{number:04}" for number in range(MANY)
)
"""Over a page of keys, and of names on one level: 602 folders and 603 objects."""


def rows(storage, prefix: str = "") -> list[dict]:
    return [row for batch in storage.objects(prefix) for row in batch.to_pylist()]


def listed(storage, prefix: str = "") -> list[str]:
    """Return the keys of a listing, folders left out, sorted; duplicates stay."""
    return sorted(row["key"] for row in rows(storage, prefix) if row["size"] is not None)


def facts(storage, key: str):
    (found,) = storage.stat([key])
    assert found is not None
    return found


_AT_ONCE = 100
"""From so many objects on, moto writes all at one request (``servers/moto_with_filling.py``)."""


class Place:
    """A storage root and a state location of one kind, opened as the program opens them."""

    has_folders = True
    has_special_keys = False
    kind = ""
    uri: str
    state_uri: str

    def put(self, key: str, data: bytes = b"bytes") -> object:
        raise NotImplementedError

    def put_all(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.put(key)

    def open(self, uri: str | None = None, *, shows_all: bool = False) -> Storage:
        return open_storage(uri or self.uri, shows_all=shows_all)

    def open_state(self) -> StateFiles:
        return open_state_files(self.state_uri)


class CloudPlace(Place):
    """A prefix of a bucket or a container, written to by several threads."""

    has_folders = False

    def put_all(self, keys: Iterable[str]) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(self.put, keys))


class FolderPlace(Place):
    """A local folder, through the adapter for local folders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "root"
        self.folder.mkdir()
        self.uri = str(self.folder)
        self.state_uri = str(folder / "state")
        self.missing_uri = str(folder / "missing")

    def put(self, key: str, data: bytes = b"bytes") -> None:
        path = self.folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def get(self, key: str) -> bytes:
        return (self.folder / key).read_bytes()

    def remove(self, key: str) -> None:
        (self.folder / key).unlink()

    def keys(self) -> set[str]:
        return {
            str(path.relative_to(self.folder))
            for path in self.folder.rglob("*")
            if not path.is_dir()
        }

    def remove_root(self) -> None:
        shutil.rmtree(self.folder)


class GenericPlace(FolderPlace):
    """A local folder, through the adapter for all that fsspec knows."""

    def open(self, uri: str | None = None, *, shows_all: bool = False) -> Storage:
        del shows_all
        path = uri or self.uri
        return FsspecStorage(canonical(path), file_system=(LocalFileSystem(), path))

    def open_state(self) -> StateFiles:
        place = (LocalFileSystem(), self.state_uri)
        return FsspecStateFiles(canonical(self.state_uri), file_system=place)


class MemoryPlace(Place):
    """fsspec's memory."""

    def __init__(self) -> None:
        self._fs = fsspec.filesystem("memory")
        self._root = f"/{uuid.uuid4()}"
        self._fs.makedirs(f"{self._root}/root")
        self.uri = f"memory:/{self._root}/root"
        self.state_uri = f"memory:/{self._root}/state"
        self.missing_uri = f"memory:/{self._root}/missing"

    def put(self, key: str, data: bytes = b"bytes") -> None:
        self._fs.pipe_file(f"{self._root}/root/{key}", data)

    def get(self, key: str) -> bytes:
        return self._fs.store[f"{self._root}/root/{key}"].getvalue()

    def remove(self, key: str) -> None:
        del self._fs.store[f"{self._root}/root/{key}"]

    def keys(self) -> set[str]:
        start = f"{self._root}/root/"
        return {path.removeprefix(start) for path in self._fs.store if path.startswith(start)}

    def remove_root(self) -> None:
        for key in self.keys():
            self.remove(key)
        self._fs.pseudo_dirs[:] = [d for d in self._fs.pseudo_dirs if self._root not in d]


class S3Place(CloudPlace):
    """A prefix of a bucket, filled through boto3."""

    has_special_keys = True

    def __init__(self, url: str, access_key: str, secret_key: str, *, prefix: str = "cp/") -> None:
        self.url = url
        self.bucket = f"b{uuid.uuid4().hex[:20]}"
        self.prefix = prefix
        self.client = boto3.client(
            "s3",
            endpoint_url=url,
            aws_access_key_id=access_key,
            aws_secret_access_key=secret_key,
            region_name="us-east-1",
            config=Config(max_pool_connections=16, retries={"mode": "standard"}),
        )
        self.client.create_bucket(Bucket=self.bucket)
        self.uri = f"s3://{self.bucket}/{prefix}".rstrip("/")
        self.state_uri = f"s3://{self.bucket}/state"
        self.missing_uri = f"s3://missing-{uuid.uuid4().hex[:20]}"

    def put(self, key: str, data: bytes = b"bytes") -> str | None:
        answer = self.client.put_object(Bucket=self.bucket, Key=self.prefix + key, Body=data)
        return answer.get("VersionId")

    def put_all(self, keys: Iterable[str]) -> None:
        keys = [*keys]
        if self.kind == "moto" and len(keys) >= _AT_ONCE:
            self._fill(keys)
        else:
            super().put_all(keys)

    def _fill(self, keys: Iterable[str]) -> None:
        body = json.dumps([self.prefix + key for key in keys]).encode()
        request = urllib.request.Request(f"{self.url}/fill?bucket={self.bucket}", data=body)
        with urllib.request.urlopen(request, timeout=speed.answer()):
            pass

    def get(self, key: str) -> bytes:
        return self.client.get_object(Bucket=self.bucket, Key=self.prefix + key)["Body"].read()

    def remove(self, key: str) -> None:
        self.client.delete_object(Bucket=self.bucket, Key=self.prefix + key)

    def keys(self) -> set[str]:
        found: set[str] = set()
        for page in self.client.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=self.prefix, PaginationConfig={"PageSize": 1000}
        ):
            found.update(row["Key"].removeprefix(self.prefix) for row in page.get("Contents", ()))
        return found

    def remove_root(self) -> None:
        for row in self.client.list_objects_v2(Bucket=self.bucket).get("Contents", ()):
            self.client.delete_object(Bucket=self.bucket, Key=row["Key"])
        self.client.delete_bucket(Bucket=self.bucket)

    def enable_versions(self) -> None:
        self.client.put_bucket_versioning(
            Bucket=self.bucket, VersioningConfiguration={"Status": "Enabled"}
        )

    def versions(self, key: str) -> dict[str, Any]:
        return self.client.list_object_versions(Bucket=self.bucket, Prefix=self.prefix + key)


class AzurePlace(CloudPlace):
    """A prefix of a container, filled through Azure's own client."""

    def __init__(self, url: str, *, prefix: str = "cp/") -> None:
        self.container = f"c{uuid.uuid4().hex[:20]}"
        self.prefix = prefix
        account = BlobServiceClient.from_connection_string(
            azurite.connection_string(url), retry_total=0
        )
        self.client = account.get_container_client(self.container)
        self.client.create_container()
        top = f"abfs://{self.container}@{azurite.ACCOUNT}.dfs.core.windows.net"
        self.uri = f"{top}/{prefix}".rstrip("/")
        self.flink_uri = self.uri.replace("abfs:", "wasbs:").replace(".dfs.", ".blob.")
        self.state_uri = f"{top}/state"
        self.missing_uri = f"abfs://missing-{uuid.uuid4().hex[:20]}/x"

    def put(self, key: str, data: bytes = b"bytes") -> None:
        self.client.upload_blob(self.prefix + key, data, overwrite=True)

    def get(self, key: str) -> bytes:
        return self.client.download_blob(self.prefix + key).readall()

    def remove(self, key: str) -> None:
        self.client.delete_blob(self.prefix + key)

    def keys(self) -> set[str]:
        found = self.client.list_blob_names(name_starts_with=self.prefix)
        return {name.removeprefix(self.prefix) for name in found}

    def remove_root(self) -> None:
        self.client.delete_container()

    def hold(self, key: str) -> None:
        """Let nobody delete an object."""
        self.client.get_blob_client(self.prefix + key).acquire_lease()

    def open(self, uri: str | None = None, *, shows_all: bool = False) -> Storage:
        storage = open_storage(uri or self.uri, shows_all=shows_all)
        storage.page_size = 1000  # 5000 by default: so that a test has more than one
        return storage

    def open_state(self) -> StateFiles:
        return open_state_files(self.state_uri)


class GcsPlace(CloudPlace):
    """A prefix of a bucket of Google Cloud Storage, filled by its JSON API."""

    has_special_keys = True

    def __init__(self, url: str, *, prefix: str = "cp/") -> None:
        self.bucket = f"b{uuid.uuid4().hex[:20]}"
        self.prefix = prefix
        self.base = f"{url}/storage/v1/b"
        self.upload = f"{url}/upload/storage/v1/b/{self.bucket}/o"
        self.client = requests.Session()
        self._ask("POST", self.base, params={"project": "tests"}, json={"name": self.bucket})
        self.uri = f"gs://{self.bucket}/{prefix}".rstrip("/")
        self.flink_uri = self.uri
        self.state_uri = f"gs://{self.bucket}/state"
        self.missing_uri = f"gs://missing-{uuid.uuid4().hex[:20]}/x"

    def _ask(self, method: str, url: str, **more: Any) -> requests.Response:
        answer = self.client.request(method, url, timeout=speed.answer(), **more)
        answer.raise_for_status()
        return answer

    def _of(self, key: str) -> str:
        return f"{self.base}/{self.bucket}/o/{quote(self.prefix + key, safe='')}"

    def put(self, key: str, data: bytes = b"bytes") -> None:
        named = {"uploadType": "media", "name": self.prefix + key}
        self._ask("POST", self.upload, params=named, data=data)

    def get(self, key: str) -> bytes:
        return self._ask("GET", self._of(key), params={"alt": "media"}).content

    def remove(self, key: str) -> None:
        self._ask("DELETE", self._of(key))

    def keys(self) -> set[str]:
        return {name.removeprefix(self.prefix) for name in self._names(self.prefix)}

    def _names(self, prefix: str) -> Iterator[str]:
        wanted = {"prefix": prefix}
        while True:
            page = self._ask("GET", f"{self.base}/{self.bucket}/o", params=wanted).json()
            yield from (each["name"] for each in page.get("items", ()))
            if not page.get("nextPageToken"):
                return
            wanted["pageToken"] = page["nextPageToken"]

    def remove_root(self) -> None:
        for name in list(self._names("")):
            self._ask("DELETE", f"{self.base}/{self.bucket}/o/{quote(name, safe='')}")
        self._ask("DELETE", f"{self.base}/{self.bucket}")

    def enable_versions(self) -> None:
        versioning = {"versioning": {"enabled": True}}
        self._ask("PATCH", f"{self.base}/{self.bucket}", json=versioning)
