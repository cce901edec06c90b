"""Flink on an S3 server: a file system of the test bed's own, for no official one can be had here.

Flink's own S3 file systems are on no package index that the tests use. This one speaks the same
protocol to a real server, and begins a multipart upload for each file, as Flink's own do.
"""

import zipfile
from pathlib import Path

from integration.harness.flinkbed.distribution import compiled
from integration.harness.flinkbed.settings import as_numbers

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
