"""What a release must agree on, and the sums of what it publishes.

``check TAG`` fails if the tag, the package, the chart and the changelog name different versions.
``sums FOLDER`` writes ``SHA256SUMS`` for the wheel, the source archive, the chart and the digests
of the images there, and fails if one of them is missing or is of another version.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).parents[1]


def version(top: Path = TOP) -> str:
    """Return the version of the package."""
    text = (top / "gc" / "orphangc" / "__init__.py").read_text()
    found = re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
    return found[1] if found else ""


def differences(tag: str, top: Path = TOP) -> Iterator[str]:
    """Yield each place that names another version than the tag."""
    wanted = tag.removeprefix("v")
    if version(top) != wanted:
        yield f"the package is {version(top)}, the tag {tag}"
    chart = (top / "helm" / "orphangc" / "Chart.yaml").read_text()
    for key in ("version", "appVersion"):
        found = re.search(rf'^{key}: "?([^"\s]+)"?', chart, re.MULTILINE)
        if found is None or found[1] != wanted:
            yield f"the chart's {key} is {found and found[1]}, the tag {tag}"
    changes = (top / "gc" / "CHANGELOG.md").read_text()
    if not re.search(rf"^## {re.escape(wanted)}\b", changes, re.MULTILINE):
        yield f"gc/CHANGELOG.md has no part {wanted}"


def parts(release: str) -> tuple[str, ...]:
    """Return the names of what a release publishes."""
    return (
        f"orphangc-{release}-py3-none-any.whl",
        f"orphangc-{release}.tar.gz",
        f"orphangc-{release}.tgz",
        "image-digests.txt",
    )


def sums(folder: Path, release: str) -> str:
    """Return a line for each part of a release: its SHA-256 and its name.

    Raises:
        SystemExit: A part is missing, or something else is there.

    """
    there = {each.name for each in folder.iterdir()} - {"SHA256SUMS"}
    if there != set(parts(release)):
        sys.exit(f"{folder} holds {sorted(there)}, not {sorted(parts(release))}")
    digests = (hashlib.sha256((folder / each).read_bytes()).hexdigest() for each in parts(release))
    return "".join(f"{d}  {n}\n" for d, n in zip(digests, parts(release), strict=True))


def main(command: str, where: str) -> None:
    """Run one of the two commands."""
    if command == "check":
        found = list(differences(where))
        sys.stderr.writelines(f"{each}\n" for each in found)
        sys.exit(1 if found else 0)
    if command != "sums":
        sys.exit(f"unknown command {command}")
    (Path(where) / "SHA256SUMS").write_text(sums(Path(where), version()))


if __name__ == "__main__":
    main(*sys.argv[1:])
