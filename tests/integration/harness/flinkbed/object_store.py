"""Flink on an S3 server: a file system of the test bed's own, for no official one can be had here.

Flink's own S3 file systems are on no package index that the tests use. This one speaks the same
protocol to a real server, and begins a multipart upload for each file, as Flink's own do.
"""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integration.harness.flinkbed.distribution import compiled
from integration.harness.flinkbed.settings import as_numbers
from integration.harness.flinkbed.truth import UUID

_JAVA = Path(__file__).parent / "java"
_SERVICE = "META-INF/services/org.apache.flink.core.fs.FileSystemFactory"


def s3_jar(version: str, folder: Path) -> Path:
    """Return a jar for ``lib/`` that serves ``s3:``, made in a folder."""
    missing = [_JAVA / "FileSystemKind.java"] if as_numbers(version) >= (2,) else []
    jar = folder / "s3-files.jar"
    jar.write_bytes(compiled(version, _JAVA / "S3Files.java", *missing).read_bytes())
    with zipfile.ZipFile(jar, "a") as packed:
        packed.writestr(_SERVICE, "S3Files$Factory\n")
    return jar


def s3_settings(url: str, access_key: str, secret_key: str) -> dict[str, str]:
    """Return what the jar reads from Flink's configuration."""
    return {"s3.endpoint": url, "s3.access-key": access_key, "s3.secret-key": secret_key}


@dataclass(frozen=True)
class Bucket:
    """A bucket as its own client shows it, without orphangc."""

    client: Any  # client of boto3
    name: str  # name of the bucket

    def contents(self) -> Mapping[str, bytes]:
        """Return the objects by key; those that go meanwhile are left out."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name)
        keys = [each["Key"] for page in pages for each in page.get("Contents", ())]
        found = {key: self._read(key) for key in keys}
        return {key: data for key, data in found.items() if data is not None}

    def keys(self) -> set[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name)
        return {each["Key"] for page in pages for each in page.get("Contents", ())}

    def uploads(self) -> set[str]:
        """Return the keys of unfinished uploads."""
        found = self.client.list_multipart_uploads(Bucket=self.name).get("Uploads", ())
        return {each["Key"] for each in found}

    def named(self) -> set[str]:
        """Return every UUID in the bytes of any ``_metadata``."""
        texts = [
            data.decode("latin-1")
            for key, data in self.contents().items()
            if key.endswith("/_metadata")
        ]
        return {hit for text in texts for hit in UUID.findall(text)}

    def retained(self, job: str) -> list[str]:
        """Return the URIs of a job's checkpoints, oldest first."""
        keys = [key for key in self.keys() if f"/{job}/chk-" in key and key.endswith("/_metadata")]
        folders = [key.removesuffix("/_metadata") for key in keys]
        folders.sort(key=lambda folder: int(folder.rpartition("-")[2]))
        return [f"s3://{self.name}/{folder}" for folder in folders]

    def _read(self, key: str) -> bytes | None:
        try:
            data: bytes = self.client.get_object(Bucket=self.name, Key=key)["Body"].read()
        except self.client.exceptions.NoSuchKey:
            return None
        return data
