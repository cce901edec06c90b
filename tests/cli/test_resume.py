"""A plan that is killed while it lists, and given again: it goes on, and comes to the same."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.synth.running import Synth, synth_server
from cli.helpers import Ran, run_process
from support import speed
from support.processes import until

pytestmark = pytest.mark.usefixtures("kills")

KEYS = 90_000
PAGES = KEYS // 1000


@pytest.fixture(scope="module")
def s3() -> Synth:
    with synth_server(keys=KEYS, live=2000) as server:
        yield server


@pytest.fixture
def plan(s3, monkeypatch, tmp_path):
    """What plans the bucket into a folder."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)

    def arguments(out: Path) -> tuple[object, ...]:
        return ("plan", s3.uri, "--out", out, "--state", tmp_path / "state")

    return arguments


def verdicts(folder: Path) -> list[dict]:
    rows = pq.read_table(folder / "verdicts").to_pylist()
    return sorted(rows, key=lambda row: row["key"])


def listed_ranges(manifest: Path) -> int:
    return manifest.read_bytes().count(b"\n") if manifest.exists() else 0


def interrupted(s3: Synth, arguments: tuple[object, ...], out: Path, number: int) -> int:
    """Start a plan, end it by a signal when a few ranges are listed; return its exit code.

    The endpoint never shows the last part of the bucket, so that no plan ends before its signal.
    """
    s3.control(pages_hang_from=KEYS * 6 // 7)
    command = [sys.executable, "-m", "orphangc", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    manifest = out / ".listing" / "parts.jsonl"
    until(lambda: listed_ranges(manifest) > 15 or process.poll() is not None)
    process.send_signal(number)
    code = process.wait(speed.command())
    s3.control(pages_hang_from=0)
    return code


def events(ran: Ran) -> dict[str, dict]:
    lines = [json.loads(line) for line in ran.err.splitlines() if line.startswith("{")]
    return {line["event"]: line for line in lines}


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGKILL, -9), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.ci)],
)
def test_a_plan_that_was_killed_goes_on_and_comes_to_the_same(  # noqa: PLR0917 - fixtures
    s3, plan, tmp_path, number, code
) -> None:
    """It asks only for the ranges that are missing; every object gets the verdict it had got."""
    out, whole = tmp_path / "resumed", tmp_path / "whole"
    assert interrupted(s3, plan(out), out, number) == code
    assert [each.name for each in out.iterdir()] == [".listing"]
    ran = run_process(*plan(out))
    assert ran.code == 0, ran.err
    assert events(ran)["listing.resumed"]["objects"] > 0
    document = json.loads((out / "plan.json").read_text())
    assert document["list_requests"] < PAGES
    assert {each.name for each in out.iterdir()} == {"plan.json", "verdicts"}
    undisturbed = run_process(*plan(whole))
    assert undisturbed.code == 0, undisturbed.err
    expected = json.loads((whole / "plan.json").read_text())
    assert expected["list_requests"] >= PAGES
    assert verdicts(out) == verdicts(whole)
    for name in ("objects_listed", "bytes_listed", "tallies", "live_set_sha256", "roots"):
        assert document[name] == expected[name]


@pytest.mark.ci
def test_a_listing_of_another_storage_is_not_gone_on_with(s3, plan, tmp_path, monkeypatch) -> None:
    """The same URI on another endpoint is another bucket."""
    out = tmp_path / "plan"
    assert interrupted(s3, plan(out), out, signal.SIGKILL) == -9
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.url.replace("127.0.0.1", "localhost"))
    ran = run_process(*plan(out))
    assert ran.code == 0, ran.err
    assert "another root, version or endpoint" in events(ran)["listing.discarded"]["reason"]
    assert "listing.resumed" not in events(ran)
    assert len(verdicts(out)) == json.loads((out / "plan.json").read_text())["objects_listed"]


@pytest.mark.ci
def test_what_an_interrupted_plan_left_is_nothing_to_sweep(s3, plan, tmp_path) -> None:
    out = tmp_path / "plan"
    assert interrupted(s3, plan(out), out, signal.SIGKILL) == -9
    assert run_process("sweep", out).code == 2
    assert (out / ".listing").exists()


def test_a_folder_that_holds_more_than_a_listing_is_not_taken(plan, tmp_path) -> None:
    """A foreign file beside it: the folder is not ours alone."""
    out = tmp_path / "plan"
    (out / ".listing").mkdir(parents=True)
    (out / "notes.txt").write_text("mine")
    assert run_process(*plan(out)).code == 2
    assert (out / "notes.txt").exists()
