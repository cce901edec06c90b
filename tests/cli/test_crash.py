"""A run that dies anywhere: what is left is whole, and the next run finishes the work."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli import crash_driver
from cli.helpers import outcomes
from orphangc.adapters.rows.outcome_files import OutcomeFiles
from support import speed
from support.processes import until

TESTS = Path(__file__).parents[1]
pytestmark = pytest.mark.usefixtures("kills")


def driver(*args: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, crash_driver.__file__, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )


def crashed_everywhere(mode: str, folder: Path, stride: int = 1) -> dict:
    """Kill the command before every step, or one in some; return what the driver found."""
    process = driver(mode, folder, stride)
    out, err = process.communicate(timeout=speed.scaled(200))
    assert process.returncode == 0, err
    found = json.loads(out)
    assert found["failures"] == []
    assert found["said"][0] == 0, found["said"]
    return found


@pytest.mark.parametrize("stride", [13, pytest.param(1, marks=pytest.mark.nightly)])
def test_a_sweep_killed_before_any_step_of_its_deletions_is_finished_by_the_next(
    tmp_path, stride: int
) -> None:
    """Nothing referenced is lost, each deletion is in the journal, the lock is taken over at once.

    Before every step, the crashes also hit between two deletions; before one in thirteen, at least
    ahead of the first and behind the last.
    """
    found = crashed_everywhere("delete", tmp_path, stride)
    assert found["steps"] > 30
    left = {end["left"] for end in found["ends"]}
    assert left == {0, 1, 2, 3, 4} if stride == 1 else {0, 4} <= left
    assert {end["runs"] for end in found["ends"]} == {1}


LARGER = [pytest.param(9, marks=pytest.mark.ci), pytest.param(1, marks=pytest.mark.nightly)]


@pytest.mark.parametrize("stride", LARGER)
def test_a_sweep_killed_before_any_step_of_its_tombstones_is_finished_by_the_next(
    tmp_path, stride: int
) -> None:
    """The tombstones are all there or none is; nothing is deleted without a quarantine."""
    found = crashed_everywhere("tombstone", tmp_path, stride)
    assert found["steps"] > 20
    assert {end["left"] for end in found["ends"]} == {4}
    assert {end["runs"] for end in found["ends"]} == {1, 2}


@pytest.mark.parametrize("stride", LARGER)
def test_a_plan_killed_before_any_step_leaves_nothing_that_could_be_swept(
    tmp_path, stride: int
) -> None:
    """And the next one finds the storage as it was."""
    found = crashed_everywhere("plan", tmp_path, stride)
    assert found["steps"] > 5
    assert {end["left"] for end in found["ends"]} == {4}
    assert {end["runs"] for end in found["ends"]} == {2}


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.ci)],
)
def test_a_signalled_sweep_ends_in_order(story, number, code, tmp_path) -> None:
    """Exit 143 or 130: the batch ends with its check, and the lock is given back."""
    story.bed.cycle()
    plan = story.bed.plan()
    ready = tmp_path / "ready"
    process = driver("stall", plan.path, ready)
    until(lambda: ready.exists() or process.poll() is not None)
    process.send_signal(number)
    ready.unlink()
    _, err = process.communicate(timeout=speed.command())
    assert process.returncode == code, err
    assert "Traceback" not in err
    assert outcomes(plan) == dict.fromkeys(plan.removals(), "done")
    locks = [path.read_bytes() for path in story.bed.state.glob("*/lock/*.json")]
    assert not any(b"token" in each for each in locks)
    _, swept = story.bed.cycle()
    assert (swept.code, any(path.exists() for path in story.orphans)) == (0, False)
    history = [json.loads(p.read_text()) for p in story.bed.state.glob("*/history/*.json")]
    (signalled,) = [each for each in history if each["stopped"]]
    assert signalled["plan_id"] == plan.document["plan_id"]
    assert signalled["counts"]["delete/done"]["objects"] == 2


def test_a_signal_at_the_very_end_leaves_the_outcome_that_is_named(story, monkeypatch) -> None:
    """It came while the outcome was published: only that file has the versions to undelete."""
    story.bed.cycle()
    plan, set_aside = story.bed.plan(), OutcomeFiles._set_aside

    def signalled(self) -> None:
        set_aside(self)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(OutcomeFiles, "_set_aside", signalled)
    swept = story.bed.sweep(plan, "--delete")
    assert (swept.code, "2 objects were deleted, which" in swept.err) == (143, True)
    assert list(story.bed.state.rglob("open/*.json")) == []
    assert outcomes(plan) == dict.fromkeys(plan.removals(), "done")


def test_a_plan_folder_without_a_plan_cannot_be_swept(story) -> None:
    """``plan.json`` is written last."""
    plan = story.bed.plan()
    (plan.path / "plan.json").unlink()
    assert story.bed.sweep(plan).code == 2
