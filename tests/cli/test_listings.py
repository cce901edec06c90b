"""How often the commands list: counted by the endpoint, request by request."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.synth.running import Synth, synth_server
from cli.helpers import Ran, run
from orphangc.adapters.open import open_storage

KEYS, LIVE = 20_000, 19_000
ORPHANS = 900
"""At least: a few of the rest are checkpoints and what is exclusively theirs."""
PAGES = KEYS // 1000
RANGES = 64
"""What a listing is cut into at most before it begins: two for each of its streams."""
WITHOUT_MARGINS = {"quarantine_period": "0", "allow_short_margins": True}


@pytest.fixture(scope="module")
def server() -> Iterator[Synth]:
    with synth_server(keys=KEYS, live=LIVE) as server:
        yield server


@pytest.fixture
def bucket(server: Synth, monkeypatch) -> Synth:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    server.control(reset=1)
    return server


def listings(bucket: Synth) -> tuple[int, int]:
    """Return how many listings were asked for, and how many of them below a ``shared/``."""
    stats = bucket.stats()
    return stats.get("requests_list", 0), stats.get("requests_list_shared", 0)


def counted(bucket: Synth, *arguments: object) -> tuple[Ran, int, int]:
    before = listings(bucket)
    ran = run(*arguments)
    assert ran.code == 0, ran.err
    total, shared = listings(bucket)
    return ran, total - before[0], shared - before[1]


def test_a_run_lists_the_bucket_once(bucket: Synth, tmp_path: Path) -> None:
    """Whatever it does: report, lay tombstones, delete."""
    root = {"root": bucket.uri, "state": str(tmp_path / "state"), **WITHOUT_MARGINS}
    root |= {"closed_world": True, "ended_job": ["all"]}
    config = tmp_path / "orphangc.yaml"
    content = {"mode": "delete", "plans": str(tmp_path / "plans"), "storage_roots": [root]}
    config.write_text(yaml.safe_dump(content))
    for done in ({}, {"tombstone/done": KEYS - LIVE}, {"delete/done": KEYS - LIVE}):
        time.sleep(1.1)  # S3 has whole seconds only
        ran, total, shared = counted(bucket, "run", "--config", config)
        (record,) = ran.json
        swept = {f"{e['action']}/{e['outcome']}": e["objects"] for e in record["swept"]}
        assert swept.keys() == done.keys(), swept
        assert shared <= 1.01 * PAGES + RANGES
        assert total <= shared + 60  # the job directories, for the names of their checkpoints


def test_a_saved_plan_is_swept_without_a_listing_of_shared(bucket: Synth, tmp_path: Path) -> None:
    """Only pages that show the facts of many candidates, in place of a request for each of them;
    ``--relist`` is the old way.
    """
    options = ("--state", tmp_path / "state", "--closed-world", "--ended-job", "all")
    margins = ("--quarantine-period", "0", "--allow-short-margins")
    for number, word in enumerate(("tombstone/done", "delete/done")):
        time.sleep(1.1)  # S3 has whole seconds only
        out = tmp_path / f"plan-{number}"
        counted(bucket, "plan", bucket.uri, "--out", out, *options, *margins)
        swept, total, shared = counted(bucket, "sweep", out, "--delete")
        assert swept.json["counts"][word]["objects"] > ORPHANS
        assert shared <= PAGES + 8
        assert total <= shared + 60
    assert bucket.stats().get("requests_head", 0) < ORPHANS / 2
    time.sleep(1.1)
    counted(bucket, "plan", bucket.uri, "--out", tmp_path / "last", *options, *margins)
    _, _, shared = counted(bucket, "sweep", tmp_path / "last", "--relist")
    assert shared >= (LIVE - 1) // 1000


@pytest.mark.ci
def test_the_storage_roots_of_a_run_share_one_listing(tmp_path: Path, monkeypatch) -> None:
    """The first one lists the bucket; the others look at their job directories alone."""
    keys, state = 80_000, str(tmp_path / "state")
    with synth_server(keys=keys, jobs=2) as bucket:
        for name, value in bucket.environment.items():
            monkeypatch.setenv(name, value)
        jobs = open_storage(bucket.uri).folder("").folders
        roots = [{"root": f"{bucket.uri}/{job}", "state": state} for job in jobs]
        config, plans = tmp_path / "orphangc.yaml", tmp_path / "plans"
        content = {"mode": "report", "plans": str(plans), "storage_roots": roots}
        config.write_text(yaml.safe_dump(content))
        ran, _, shared = counted(bucket, "run", "--config", config)
    assert [each["objects_listed"] for each in ran.json] == [keys / 2] * 2
    made = {each["root"]: each for each in map(loaded, plans.glob("*/*/plan.json"))}
    first, *others = (made[each["root"]]["list_requests"] for each in roots)
    assert first > keys / 2 / 1000
    assert not list(plans.glob("orphangc-*")), "what was shared ends with the run"
    assert all(each < 30 for each in others), others
    assert shared <= keys / 1000 + RANGES, "nor does one list what another one's jobs need"


def loaded(plan: Path) -> dict[str, Any]:
    return json.loads(plan.read_text())
