"""How long tests wait follows from a measurement, never from less than the reference machine's."""

import os
import subprocess
import sys

import pytest

from support import speed

REFERENCE = speed.REFERENCE_SECONDS


@pytest.mark.parametrize(
    ("processor", "elapsed", "load", "expected"),
    [
        (1, 1, 0, 1),
        (0.5, 0.5, 0, 1),  # a faster machine gets no shorter limits
        (2, 2, 0, 2),
        (1, 3, 0, 3),
        (1, 1, 2.5, 2.5),  # crowded, though not in this moment
        (2, 6, 1, 6),
        (1, 1, 1000, speed.MOST),
    ],
)
def test_a_slow_or_crowded_machine_makes_limits_longer(processor, elapsed, load, expected):
    """Each adds to the other; the greatest factor bounds them both."""
    found = speed.slowness(processor=processor * REFERENCE, elapsed=elapsed * REFERENCE, load=load)
    assert found == pytest.approx(expected)


def test_it_is_measured_once_for_all_processes_of_a_session(monkeypatch):
    """Workers and the processes that they start go by what the first one found."""
    monkeypatch.setenv(speed.ENVIRONMENT, "")
    monkeypatch.delenv(speed.ENVIRONMENT)
    first = speed.factor()
    assert 1 <= first <= speed.MOST
    assert os.environ[speed.ENVIRONMENT] == f"{first:.2f}"
    monkeypatch.setenv(speed.ENVIRONMENT, "3.25")
    assert (speed.factor(), speed.scaled(2)) == (3.25, 6.5)
    told = "import speed; print(speed.factor())"
    done = subprocess.run(
        [sys.executable, "-c", told],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.path.dirname(speed.__file__)},  # noqa: PTH120
    )
    assert done.stdout.strip() == "3.25"
