"""The soak in every layout of a storage, on folders and on a real S3 server; nothing live is lost.

Jobs run, and are collected by the rules of running jobs (R31 to R46); in the end all are over, all
that no checkpoint names goes (R35), and every checkpoint and savepoint restores, recomputed.
"""

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Self

import pytest

from contracts.conftest import radosgw_url
from contracts.servers import radosgw
from integration.harness.flinkbed.fixtures import require_flink
from safety.soak.bucket import Bucket
from safety.soak.collectors import Commands, careless
from safety.soak.layouts import LAYOUTS
from safety.soak.places import Places
from safety.soak.soak import Report, soak
from safety.soak.soak_scenario import Story
from safety.soak.test_soak import (
    CONTROL_SECONDS,
    SEED,
    assert_much_was_done,
    assert_nothing_was_lost,
)
from support import speed

__all__ = ["radosgw_url"]

pytestmark = pytest.mark.flink

_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "dev")
SECONDS = int(os.environ.get("ORPHANGC_SOAK_SECONDS", {"nightly": 1800}.get(_PROFILE, 30)))
OLD, NEW = "1.20.5", "2.3.0"


class Mode(NamedTuple):
    """One soak: which Flink, how its files are written, checkpoints at once, and where."""

    version: str  # of Flink
    layout: str  # name of the layout
    concurrent: int  # checkpoints that may be pending at once
    store: str  # ``local`` or ``s3``

    @classmethod
    def of(cls, name: str) -> Self:
        version, layout, concurrent, store = name.split("-")
        return cls(version, layout, int(concurrent), store)


# one a night, in this order (.ci/nightly): every layout, with one and with four at once, here and
# there. Not merged across checkpoints on an object store, where Flink itself loses files
# (tests/integration/flink/test_collect_layouts.py); nor ForSt's own files, which it opens before
# they are closed.
MODES = (
    "2.3.0-changelog-4-local",
    "1.20.5-flat-4-s3",
    "2.3.0-forst-1-local",
    "2.3.0-changelog-4-s3",
    "1.20.5-within-1-local",
    "2.3.0-flat-4-s3",
    "1.20.5-changelog-1-local",
    "2.3.0-sync_forst-4-s3",
    "2.3.0-heap-4-local",
    "1.20.5-changelog-4-s3",
    "2.3.0-across-1-local",
    "2.3.0-within-1-s3",
    "1.20.5-flat-4-local",
    "1.20.5-heap-4-s3",
    "2.3.0-forst-4-local",
    "1.20.5-flat-1-s3",
    "1.20.5-across-4-local",
    "2.3.0-heap-1-s3",
    "2.3.0-within-4-local",
    "2.3.0-flat-1-s3",
)


def _chosen() -> tuple[str, ...]:
    """Return the mode of this night, or all of them."""
    night = os.environ.get("ORPHANGC_NIGHT")
    return MODES if night is None else (MODES[int(night) % len(MODES)],)


def _soaked(request: pytest.FixtureRequest, name: str, work: Path, **told: object) -> Report:
    mode = Mode.of(name)
    require_flink(mode.version)
    bucket = None
    if mode.store == "s3":
        url = request.getfixturevalue("radosgw_url")
        made = f"soak-{uuid.uuid4().hex[:12]}"
        bucket = Bucket(url, made, radosgw.ACCESS_KEY, radosgw.SECRET_KEY)
    return soak(
        mode.version,
        work,
        seed=SEED,
        layout=mode.layout,
        concurrent=mode.concurrent,
        bucket=bucket,
        **told,  # type: ignore[arg-type]
    )


TONIGHT = [
    pytest.param(name, marks=pytest.mark.s3) if name.endswith("-s3") else name for name in _chosen()
]


# a control comes first: a part of a night ends without what comes last
@pytest.mark.nightly
@pytest.mark.timeout(speed.scaled(900))
@pytest.mark.parametrize("name", TONIGHT)
def test_a_careless_collector_is_caught_in_every_layout(
    name: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    record_property: Callable[[str, object], None],
) -> None:
    """By the watcher: who goes by age loses what a checkpoint needs, or one that comes."""

    def kinds(places: Places, _: str) -> list[Commands]:
        return [careless(places)]

    report = _soaked(
        request, name, tmp_path, seconds=CONTROL_SECONDS, kinds=kinds, tale=Story.only_stall
    )
    record_property("told", f"control of {name}, seed {SEED}: {report}")
    print(f"control of {name}: {report}")
    assert report.verdict.wrong


@pytest.mark.nightly
@pytest.mark.timeout(speed.scaled(3 * SECONDS + 900))
@pytest.mark.parametrize("name", TONIGHT)
def test_in_every_layout_nothing_live_is_lost(
    name: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    record_property: Callable[[str, object], None],
) -> None:
    """Killed, claimed, rescaled and collected for as long as a night gives."""
    report = _soaked(request, name, tmp_path, seconds=SECONDS)
    record_property("told", f"soak, {name}, seed {SEED}: {report}")
    print(f"{name}: {report}")
    assert_nothing_was_lost(report)
    has_log = LAYOUTS[Mode.of(name).layout].has_log
    # heap state leaves little, and nothing in shared/
    assert_much_was_done(report, least=1, is_rescaled=not has_log)
