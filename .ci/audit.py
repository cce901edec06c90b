"""Looks at what is installed: pinned, consistent, unaltered, under licences that may be shipped.

Needs nothing but this machine. Known vulnerabilities and versions that were withdrawn are not
looked up: pip-audit asks an advisory service on the network for the one, an index tells the other;
neither is to be had offline, so run them where one can be reached.
"""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

TOP = Path(__file__).parents[1]
_PINNED = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;#]+)")
_OURS = "orphangc"
_NOT_LOCKED = {_OURS, "pip", "setuptools", "wheel"}
_SHIPPED = re.compile(
    r"MIT( License)?|MIT-0|0BSD|BSD-[23]-Clause|(3-Clause )?BSD License|Apache-2\.0"
    r"|Apache Software License|PSF-2\.0|Python Software Foundation License|ISC( License \(ISCL\))?"
    r"|Zlib|CC0-1\.0|Unlicense|MPL-2\.0|Mozilla Public License 2\.0 \(MPL 2\.0\)"
)
"""Whole names, of SPDX and of the classifiers that came before: a part of one says nothing."""


def normal(name: str) -> str:
    """Return a project's name as the index compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(lines: Iterable[str]) -> dict[str, str]:
    """Return version by name; raise ``SystemExit`` at a line that pins nothing."""
    pins: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        match = _PINNED.match(text)
        if match is None or normal(match[1]) in pins:
            raise SystemExit(f"requirements.lock:{number}: {text!r} pins nothing, or again")
        pins[normal(match[1])] = match[2]
    return pins


def may_be_shipped(licence: str) -> bool:
    """Return whether all that a licence asks for at once, in one of its choices, is known."""
    choices = (re.split(r" AND |; ", choice) for choice in licence.split(" OR "))
    return any(all(_SHIPPED.fullmatch(part) for part in choice) for choice in choices)


def licence_of(facts: Mapping[str, str]) -> str:
    """Return what a distribution says of its licence, "" if nothing."""
    every = getattr(facts, "get_all")("Classifier") or []  # noqa: B009 - an e-mail message's
    found = [each.rpartition(" :: ")[2] for each in every if each.startswith("License ::")]
    named_licences = "; ".join(each for each in found if each != "OSI Approved")
    text = facts.get("License-Expression") or named_licences or facts.get("License") or ""
    return " ".join(text.split())[:80]


def needed(installed: Mapping[str, metadata.Distribution], wanted: Iterable[str]) -> set[str]:
    """Return the installed distributions that requirements need, themselves included.

    What an extra needs is needed where the extra is asked for, and nowhere else.
    """
    found: set[tuple[str, str]] = set()
    pending = [Requirement(each) for each in wanted]
    while pending:
        requirement = pending.pop()
        name = normal(requirement.name)
        new = {(name, extra) for extra in ("", *requirement.extras)} - found
        if name not in installed or not new:
            continue
        found |= new
        for each in map(Requirement, installed[name].requires or ()):
            extras = [extra for _, extra in new]
            if each.marker is None or any(each.marker.evaluate({"extra": e}) for e in extras):
                pending.append(each)
    return {name for name, _ in found}


def altered(distribution: metadata.Distribution) -> Iterator[str]:
    """Yield what of a distribution is not as its wheel recorded it."""
    if distribution.read_text("direct_url.json") is not None:
        yield "is of no index"
    if distribution.files is None:
        yield "has no record of its files"
    for file in distribution.files or ():
        if file.hash is None or file.hash.mode != "sha256":
            continue  # what pip itself writes, and compiled files
        path = Path(str(file.locate()))
        digest = hashlib.sha256(path.read_bytes()).digest() if path.is_file() else b""
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
            yield f"has another {file} than its wheel"


def strays(installed: Iterable[metadata.Distribution]) -> Iterator[str]:
    """Yield the files that every start of Python would run, and that no distribution brought."""
    folder = Path(sysconfig.get_path("purelib"))
    known = {
        Path(str(file.locate())).resolve()
        for each in installed
        for file in each.files or ()
        if file.suffix == ".pth"
    }
    for path in sorted((*folder.glob("*.pth"), *folder.glob("*customize.py"))):
        if path.resolve() not in known:
            yield f"{path.name} is of no distribution"


def problems() -> Iterator[str]:
    """Yield what is wrong, a line each; print the licences."""
    pins = locked((TOP / "requirements.lock").read_text().splitlines())
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    shipped = [*project["dependencies"]]
    shipped += [each for name, every in extras.items() if name != "dev" for each in every]
    every = [*shipped, *extras["dev"]]
    for name in sorted({normal(Requirement(each).name) for each in every} - pins.keys()):
        yield f"{name} is needed and not in requirements.lock"
    installed = {normal(each.metadata["Name"]): each for each in metadata.distributions()}
    all_needed = needed(installed, every)
    for name in sorted(all_needed - _NOT_LOCKED):
        version = installed[name].version
        if pins.get(name) != version:
            yield f"{name} {version} is installed, and {pins.get(name)} is locked"
        yield from (f"{name} {problem}" for problem in altered(installed[name]))
    for name in sorted(pins.keys() - all_needed - _NOT_LOCKED):
        yield f"{name} is locked, and nothing needs it"
    yield from strays(installed.values())
    yield from _licences(installed, needed(installed, shipped))
    checked = subprocess.run(
        [sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False
    )
    if checked.returncode:
        yield from checked.stdout.splitlines()


def _licences(
    installed: Mapping[str, metadata.Distribution], shipped: Iterable[str]
) -> Iterator[str]:
    """Yield what may not be shipped; print what may, and under what."""
    licences: dict[str, list[str]] = {}
    for name in sorted(shipped):
        licence = licence_of(installed[name].metadata)
        licences.setdefault(licence, []).append(name)
        if not may_be_shipped(licence):
            yield f"{name} is shipped under {licence or 'no licence that it names'!r}"
    for licence, names in sorted(licences.items()):
        print(f"{licence}: {', '.join(names)}")


if __name__ == "__main__":
    found = list(problems())
    for line in found:
        print(f"error: {line}")
    sys.exit(bool(found))
