"""``.ci/nightly`` is a night, and each of its proofs ends by itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from safety.mutation.tree import modules_of_part
from support.ending import ENVIRONMENT, Ending, ending

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


@pytest.mark.parametrize("seconds", [0, 3600])
def test_no_test_begins_when_the_time_is_over(pytester: pytest.Pytester, seconds: float) -> None:
    """It is skipped, and says why; a time that is not over changes nothing."""
    pytester.makepyfile("def test_one(): pass\ndef test_two(): pass\n")
    options = ("-n0", "-p", "no:randomly", "-p", "no:cacheprovider", "-rs")
    done = pytester.runpytest(*options, plugins=[Ending(seconds, clock=lambda: 0.0)])
    done.assert_outcomes(**({"passed": 2} if seconds else {"skipped": 2}))


def test_the_environment_sets_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, every test runs."""
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert ending() is None
    monkeypatch.setenv(ENVIRONMENT, "90")
    chosen = ending()
    assert chosen is not None
    assert chosen.seconds == 90


def test_five_nights_mutate_every_module_once() -> None:
    """Each module of the core that has a function is in one part."""
    parts = [modules_of_part(number, 5) for number in range(5)]
    together = [each for part in parts for each in part]
    assert len(together) == len(set(together))
    assert set(together) >= {"judge", "kernel", "guards", "conditions", "rate"}
    assert min(map(len, parts)) > 0
