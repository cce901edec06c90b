"""The invariant, over every state: no readable ``_metadata`` names what a collector deleted."""

from __future__ import annotations

import os

import pytest

from model.clocks import TICKING, TICKING_LONG
from model.scenarios import ANSWERED, LARGE, MENDED, SAFE

IS_NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
EXPLORED = [*SAFE, *ANSWERED, *MENDED, *TICKING]
EXPLORED += [*LARGE, *TICKING_LONG] if IS_NIGHTLY else []


@pytest.mark.parametrize("scenario", EXPLORED, ids=[each.name for each in EXPLORED])
def test_no_way_leads_to_a_loss(scenario, tell) -> None:
    """Every interleaving within the scope; the figures stand below the tests' summary."""
    explored = scenario.explore()
    tell(scenario.name, explored)
    assert explored.wrong is None, explored.story()
