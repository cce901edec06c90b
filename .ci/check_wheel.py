"""Looks at a built wheel: complete, nothing else in it, metadata that an index accepts.

    python .ci/check_wheel.py DIST        # a folder with one wheel and its source archive

What ``twine check`` would say of the README needs a renderer that is not locked here; a README in
Markdown has no errors that an index refuses.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

from packaging.metadata import Metadata

TOP = Path(__file__).parents[1]
_PACKAGES = ("flinkstate", "orphangc")
_COMMANDS = ("flinkstate = flinkstate.__main__:main", "orphangc = orphangc.__main__:main")
_NEEDED = ("METADATA", "entry_points.txt", "licenses/LICENSE")


def sources(root: Path) -> set[str]:
    """Return the files of our packages below a source root, as a wheel names them."""
    return {
        each.relative_to(root).as_posix()
        for name in _PACKAGES
        for each in (root / name).rglob("*")
        if each.is_file() and "__pycache__" not in each.parts
    }


def _differences(wanted: AbstractSet[str], found: AbstractSet[str], archive: Path) -> Iterator[str]:
    yield from (f"{archive.name} lacks {each}" for each in sorted(wanted - found))
    yield from (f"{archive.name} has {each} too" for each in sorted(found - wanted))


def wheel_problems(wheel: Path, wanted: AbstractSet[str]) -> Iterator[str]:
    """Yield what is wrong with a wheel that should hold these files of our packages."""
    with zipfile.ZipFile(wheel) as packed:
        names = [each for each in packed.namelist() if not each.endswith("/")]
        names = [each for each in names if ".data/data/share/" not in each]  # for shells
        about = {each.partition("/")[2]: each for each in names if ".dist-info/" in each}
        yield from _differences(wanted, set(names) - set(about.values()), wheel)
        missing = [each for each in _NEEDED if each not in about]
        if missing:
            yield from (f"{wheel.name} lacks {each}" for each in missing)
            return
        installed = packed.read(about["entry_points.txt"]).decode()
        if lacking := [each for each in _COMMANDS if each not in installed]:
            yield f"{wheel.name} does not install the command: {', '.join(lacking)}"
        text = packed.read(about["METADATA"])
    yield from metadata_problems(text, wheel)


def metadata_problems(text: bytes, wheel: Path) -> Iterator[str]:
    """Yield what an index would refuse, and a version other than the one in the name."""
    try:
        facts = Metadata.from_email(text)
    except ExceptionGroup as group:
        yield from (f"{wheel.name}: {each}" for each in group.exceptions)
        return
    if facts.description_content_type != "text/markdown" or not (facts.description or "").strip():
        yield f"{wheel.name} shows no README"
    if f"-{facts.version}-" not in wheel.name:
        yield f"{wheel.name} holds version {facts.version}"


def archive_problems(archive: Path, wanted: AbstractSet[str]) -> Iterator[str]:
    """Yield what a source archive lacks of our packages; it has tests and documents, too."""
    with tarfile.open(archive) as packed:
        files = {each.name.partition("/")[2] for each in packed if each.isfile()}
    ours = tuple(f"gc/{name}/" for name in _PACKAGES)
    found = {each.removeprefix("gc/") for each in files if each.startswith(ours)}
    yield from _differences(wanted, found, archive)


def problems(dist: Path, top: Path = TOP) -> Iterator[str]:
    """Yield what is wrong with a folder of one wheel and one source archive."""
    wanted = sources(top / "gc")
    wheels, archives = sorted(dist.glob("*.whl")), sorted(dist.glob("*.tar.gz"))
    if len(wheels) != 1 or len(archives) != 1:
        yield f"{dist} has {len(wheels)} wheels and {len(archives)} source archives, not 1 of each"
        return
    yield from wheel_problems(wheels[0], wanted)
    yield from archive_problems(archives[0], wanted)


if __name__ == "__main__":
    found_problems = list(problems(Path(sys.argv[1])))
    for line in found_problems:
        print(f"error: {line}")
    sys.exit(bool(found_problems))
