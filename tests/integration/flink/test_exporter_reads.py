"""A registry snapshot of the plugin names no checkpoint whose files it may lack."""

from pathlib import Path

import pytest

from integration.harness.flinkbed.fixtures import NEWEST, require_flink
from integration.harness.flinkbed.plugin import run_probe

PROBE = Path(__file__).parents[1] / "harness" / "flinkbed" / "java" / "SubsumptionProbe.java"

pytestmark = [pytest.mark.flink, pytest.mark.ci]


@pytest.fixture(scope="module")
def retained() -> dict[str, str]:
    """The ids that the exporter says are retained, by what Flink did while it read."""
    require_flink(NEWEST)
    return dict(line.split("\t") for line in run_probe(NEWEST, PROBE).splitlines())


@pytest.mark.parametrize(
    ("story", "ids"),
    [("nothing", "1 2"), ("subsumed", "2"), ("all subsumed", "2"), ("subsumed slowly", "2")],
)
def test_a_checkpoint_that_is_subsumed_meanwhile_is_left_out(
    retained: dict[str, str], story: str, ids: str
) -> None:
    """Its files may be gone from the registry; nothing that was retained throughout is."""
    assert retained[story] == ids
