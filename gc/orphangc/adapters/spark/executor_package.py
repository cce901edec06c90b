"""What executors must share with the driver: our packages."""

import hashlib
import zipfile
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

PACKAGES = ("flinkstate", "orphangc")

_EARLIEST = (1980, 1, 1, 0, 0, 0)  # earliest date of a zip: equal packages make equal files


def _files() -> Iterator[tuple[str, bytes]]:
    for name in PACKAGES:
        yield from _members(files(name), name)


def _members(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
        name = f"{path}/{each.name}"
        if each.is_dir():
            if each.name != "__pycache__":
                yield from _members(each, name)
        else:
            yield name, each.read_bytes()


def digest_of_package() -> str:
    """Return the sha256 of the Python files that this process would import as our packages."""
    digest = hashlib.sha256()
    for name, data in _files():
        if name.endswith(".py"):
            digest.update(f"{name}\0{len(data)}\0".encode())
            digest.update(data)
    return digest.hexdigest()


def write_package(path: Path) -> None:
    """Write our packages as a zip that Python can import from."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in _files():
            archive.writestr(zipfile.ZipInfo(name, _EARLIEST), data, zipfile.ZIP_DEFLATED)
