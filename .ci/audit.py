"""Looks at what is installed: pinned, consistent, and under licences that may be shipped.

Needs nothing but this machine. Known vulnerabilities are not looked up: pip-audit asks an advisory
service on the network for that, which is no package index; run it where one can be reached.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path

TOP = Path(__file__).parents[1]
_PINNED = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;#]+)")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NOT_LOCKED = {"orphangc", "pip", "setuptools", "wheel"}
_SHIPPED = re.compile(r"MIT|BSD|Apache|PSF|Python Software|MPL|Mozilla|ISC|Zlib", re.IGNORECASE)
_NEVER_SHIPPED = re.compile(r"\b(A|L)?GPL|General Public", re.IGNORECASE)


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


def named(requirements: Iterable[str]) -> set[str]:
    """Return the names of requirements."""
    return {normal(match[0]) for each in requirements if (match := _NAME.match(each))}


def licence_of(facts: Mapping[str, str]) -> str:
    """Return what a distribution says of its licence, "" if nothing."""
    every = getattr(facts, "get_all")("Classifier") or []  # noqa: B009 - an e-mail message's
    found = [each.rpartition(" :: ")[2] for each in every if each.startswith("License ::")]
    named_licences = "; ".join(each for each in found if each != "OSI Approved")
    text = facts.get("License-Expression") or named_licences or facts.get("License") or ""
    return " ".join(text.split())[:80]


def needed(installed: Mapping[str, metadata.Distribution], wanted: Iterable[str]) -> set[str]:
    """Return the installed distributions that some names need, themselves included."""
    found: set[str] = set()
    pending = list(wanted)
    while pending:
        name = pending.pop()
        if name in installed and name not in found:
            found.add(name)
            needs = installed[name].requires or []
            pending += named(each for each in needs if "extra ==" not in each)
    return found


def problems() -> Iterator[str]:
    """Yield what is wrong, a line each; print the licences."""
    pins = locked((TOP / "requirements.lock").read_text().splitlines())
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    shipped = named(project["dependencies"]).union(
        *(named(each) for name, each in extras.items() if name != "dev")
    )
    for name in sorted(shipped.union(named(extras["dev"])) - pins.keys()):
        yield f"{name} is needed and not in requirements.lock"
    installed = {normal(each.metadata["Name"]): each for each in metadata.distributions()}
    for name in sorted(needed(installed, shipped | named(extras["dev"])) - _NOT_LOCKED):
        version = installed[name].version
        if pins.get(name) != version:
            yield f"{name} {version} is installed, and {pins.get(name)} is locked"
    licences: dict[str, list[str]] = {}
    for name in sorted(needed(installed, shipped)):
        licence = licence_of(installed[name].metadata)
        licences.setdefault(licence, []).append(name)
        if not _SHIPPED.search(licence) or _NEVER_SHIPPED.search(licence):
            yield f"{name} is shipped under {licence or 'no licence that it names'!r}"
    for licence, names in sorted(licences.items()):
        print(f"{licence}: {', '.join(names)}")
    checked = subprocess.run(
        [sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False
    )
    if checked.returncode:
        yield from checked.stdout.splitlines()


if __name__ == "__main__":
    found = list(problems())
    for line in found:
        print(f"error: {line}")
    sys.exit(bool(found))
