"""``.ci/nightly`` is a night, and each of its proofs ends by itself."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from safety.mutation.tree import modules_of_part
from support import night
from support.ending import ENVIRONMENT, Ending
from support.processes import finished

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]
NIGHTLY = (ROOT / ".ci" / "nightly").read_text()
MINUTES = {
    name: int(each) for name, each in re.findall(r"^proof (\w+) (\d+) ", NIGHTLY, re.MULTILINE)
}


def test_all_of_it_is_a_night() -> None:
    """Eight hours, if each proof takes all that it may; the script says how long exactly."""
    hours, minutes = divmod(sum(MINUTES.values()), 60)
    assert hours < 8
    assert f"{hours} h {minutes} min at the most" in NIGHTLY


def test_the_page_says_the_minutes_of_each_proof() -> None:
    """What may be broken off is written beside its figures."""
    page = (ROOT / "gc" / "SAFETY.md").read_text()
    said = re.search(r"^The limits, in minutes: (.*?)\.$", page, re.MULTILINE | re.DOTALL)
    assert said is not None
    found = re.findall(r"`(\w+)` (\d+)", said[1])
    assert {name: int(each) for name, each in found} == MINUTES


def nightly(folder: Path, percent: str) -> subprocess.CompletedProcess[str]:
    """Run the script with a ``timeout`` that starts nothing and prints what it was given."""
    stub = folder / "timeout"
    stub.write_text(f'#!/bin/sh\necho "started after ${ENVIRONMENT} s of $3: $*"\n')
    stub.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "ORPHANGC_NIGHT": "7",
        night.ENVIRONMENT: percent,
    }
    environment.pop("ORPHANGC_SOAK_SECONDS", None)
    script = str(ROOT / ".ci" / "nightly")
    return finished(["bash", script], env=environment)


@pytest.mark.parametrize(
    ("percent", "given"),
    [
        (
            100,
            [
                "--part 2/5",
                *("ORPHANGC_SOAK_SECONDS=1200", "ORPHANGC_SOAK_SECONDS=1800 ORPHANGC_NIGHT=7"),
            ],
        ),
        (10, ["--part 7/50", "ORPHANGC_SOAK_SECONDS=120"]),
        (1, ["--part 7/50", "ORPHANGC_SOAK_SECONDS=60"]),
    ],
)
def test_a_part_of_a_night_gives_each_proof_a_part_of_its_time(
    tmp_path: Path, percent: int, given: list[str]
) -> None:
    """What has begun by then has the same tenth of its minutes to end."""
    done = nightly(tmp_path, str(percent))
    assert done.returncode == 0, done.stdout
    found = re.findall(r"^started after (\d+) s of (\d+)s:", done.stdout, re.MULTILINE)
    searches = [54 * each * percent // 100 for each in MINUTES.values()]
    ends = [some + 6 * each for some, each in zip(searches, MINUTES.values(), strict=True)]
    assert [(int(some), int(end)) for some, end in found] == [*zip(searches, ends, strict=True)]
    assert [each for each in given if each not in done.stdout] == []


@pytest.mark.parametrize("percent", ["0", "101", "ten"])
def test_what_is_no_part_of_a_night_runs_nothing(tmp_path: Path, percent: str) -> None:
    """A night of 0 % would be green without a search."""
    done = nightly(tmp_path, percent)
    assert done.returncode == 2
    assert f"ORPHANGC_NIGHT_PERCENT is {percent}" in done.stdout
    assert "started" not in done.stdout


def test_a_search_has_its_share_of_the_night(monkeypatch: pytest.MonkeyPatch) -> None:
    """No less than what each submission does."""
    monkeypatch.delenv(night.ENVIRONMENT, raising=False)
    assert night.share(3_000, least=120) == 3_000
    monkeypatch.setenv(night.ENVIRONMENT, "10")
    assert night.share(3_000, least=120) == 300
    monkeypatch.setenv(night.ENVIRONMENT, "1")
    assert night.share(3_000, least=120) == 120


@pytest.mark.parametrize("seconds", [0, 3600])
def test_no_test_begins_when_the_time_is_over(pytester: pytest.Pytester, seconds: float) -> None:
    """It is skipped, and says why; a time that is not over changes nothing."""
    pytester.makepyfile("def test_one(): pass\ndef test_two(): pass\n")
    options = ("-n0", "-p", "no:randomly", "-p", "no:cacheprovider", "-rs")
    done = pytester.runpytest(*options, plugins=[Ending(seconds, clock=lambda: 0.0)])
    done.assert_outcomes(**({"passed": 2} if seconds else {"skipped": 2}))


def test_five_nights_mutate_every_module_once() -> None:
    """Each module of the core that has a function is in one part."""
    parts = [modules_of_part(number, 5) for number in range(5)]
    together = [each for part in parts for each in part]
    assert len(together) == len(set(together))
    assert set(together) >= {"judge", "kernel", "guards", "conditions", "rate"}
    assert min(map(len, parts)) > 0
    assert all(modules_of_part(number, 50) for number in range(50))  # none would mean all
