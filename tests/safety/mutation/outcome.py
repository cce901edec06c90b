"""What became of each mutant, and which survivors somebody has argued to be no different."""

import os
import re
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EQUIVALENTS = Path(__file__).with_name("equivalents.toml")
KILLED = ("killed", "timeout", "caught by type check")
"""mutmut's words for mutants that are dead. One that never ends fails its tests by time."""

_RESULT = re.compile(r"^\s*(?P<name>\S+__mutmut_[0-9]+): (?P<status>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Change:
    """What a mutant changes.

    Attributes:
        function: Where, such as ``orphangc.core.decision.judge._doubt_about``; a method with its
        class.
        before: The lines that it takes away, without what indents them.
        after: The lines that it puts there instead.

    """

    function: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A mutant that no test can kill."""

    change: Change  # what it changes
    why: str  # why nobody could tell


NOT_TRIED = "not checked"
"""mutmut's words for mutants that it had no time for."""


def mutmut(work: Path, *words: str, seconds: float | None = None) -> str:
    """Run mutmut in a laid out tree; return what it prints, raise what it fails with."""
    tools = Path(sys.executable).parent  # mypy among them
    environment = {
        **os.environ,
        "HYPOTHESIS_PROFILE": "dev",
        "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', '')}",
    }
    code, out, err = ended(
        [sys.executable, "-m", "mutmut", *words], cwd=work, env=environment, seconds=seconds
    )
    if code:
        raise RuntimeError(f"{' '.join(words)}: {(out + err)[-3000:]}")
    return out


def ended(
    command: Sequence[str], *, seconds: float | None = None, **options: Any
) -> tuple[int, str, str]:
    """Return exit code and output of a command; 0 where it was interrupted after so many seconds.

    The signal goes to its children too.
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with interruptible():
        process = subprocess.Popen(command, start_new_session=True, **pipes, **options)
    with process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate()
            return 0, out, err
        except BaseException:
            os.killpg(process.pid, signal.SIGINT)
            raise
    return process.returncode, out, err


@contextmanager
def interruptible() -> Iterator[None]:
    """Let processes that begin now heed SIGINT, also where a shell began this one to ignore it.

    A shell without job control does so with what it runs in the background.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def statuses(work: Path) -> Mapping[str, str]:
    found = _RESULT.finditer(mutmut(work, "results", "--all", "true"))
    return {hit["name"]: hit["status"] for hit in found}


def survivors(work: Path, found: Mapping[str, str]) -> Iterator[tuple[str, Change]]:
    for name, status in found.items():
        if status not in KILLED:
            yield name, change_of(name, mutmut(work, "show", name))


def change_of(name: str, diff: str) -> Change:
    lines = [line for line in diff.splitlines() if not line.startswith(("---", "+++"))]
    taken = (line[1:].strip() for line in lines if line.startswith("-"))
    put = (line[1:].strip() for line in lines if line.startswith("+"))
    return Change(function_of(name), "\n".join(taken), "\n".join(put))


def function_of(name: str) -> str:
    """Return the function that a mutant's name stands for.

    >>> function_of("flinkstate.places.locations.xǁLocationǁup__mutmut_3")
    'flinkstate.places.locations.Location.up'
    >>> function_of("orphangc.core.decision.judge.x__doubt_about__mutmut_16")
    'orphangc.core.decision.judge._doubt_about'
    """
    module, _, mangled = name.rpartition("__mutmut_")[0].rpartition(".")
    plain = mangled[2:].replace("ǁ", ".") if mangled.startswith("xǁ") else mangled[2:]
    return f"{module}.{plain}"


def equivalents(file: Path = EQUIVALENTS) -> Sequence[Equivalent]:
    """Return the mutants that have been argued to be no different."""
    entries = tomllib.loads(file.read_text(encoding="utf-8")).get("equivalent", [])
    return [
        Equivalent(Change(each["function"], each["before"], each["after"]), each["why"])
        for each in entries
    ]


def unexplained(
    found: Iterable[tuple[str, Change]], known: Iterable[Equivalent]
) -> list[tuple[str, Change]]:
    argued = {each.change for each in known}
    return [(name, change) for name, change in found if change not in argued]


def counted(found: Mapping[str, str]) -> Mapping[str, Counter[str]]:
    """Return how many mutants of each module met each end."""
    counts: dict[str, Counter[str]] = {}
    for name, status in found.items():
        module = name.partition(".x")[0].removeprefix("orphangc.core.")
        counts.setdefault(module, Counter())[status] += 1
    return counts
