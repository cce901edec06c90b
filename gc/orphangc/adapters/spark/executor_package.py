"""What executors must have in common with the driver: this package, and whom they ask."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

_ENDPOINTS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "FSSPEC_S3_ENDPOINT_URL")
"""Variables that make one URI mean another storage."""

_EARLIEST = (1980, 1, 1, 0, 0, 0)  # what a zip can date: equal packages make equal files


def _members(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
        name = f"{path}/{each.name}"
        if each.is_dir():
            if each.name != "__pycache__":
                yield from _members(each, name)
        else:
            yield name, each.read_bytes()


def digest_of_package() -> str:
    """Return the sha256 of the package's Python files as this process would import them."""
    digest = hashlib.sha256()
    for name, data in _members(files("orphangc"), "orphangc"):
        if name.endswith(".py"):
            digest.update(f"{name}\0{len(data)}\0".encode())
            digest.update(data)
    return digest.hexdigest()


def digest_of_endpoints() -> str:
    """Return what is equal where the environment names the same endpoints."""
    asked = "\n".join(f"{name}={os.environ.get(name, '')}" for name in _ENDPOINTS)
    return hashlib.sha256(asked.encode()).hexdigest()


def write_package(path: Path) -> None:
    """Write the package as a zip that Python can import from."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in _members(files("orphangc"), "orphangc"):
            archive.writestr(zipfile.ZipInfo(name, _EARLIEST), data, zipfile.ZIP_DEFLATED)
