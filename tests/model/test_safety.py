"""The invariant, over every state: no readable ``_metadata`` names what a collector deleted."""

from __future__ import annotations

import pytest

from model.clocks import TICKING, TICKING_LONG
from model.scenarios import ANSWERED, LARGE, MENDED, SAFE

EXPLORED = [
    *(pytest.param(each, id=each.name) for each in (*SAFE, *ANSWERED, *MENDED, *TICKING)),
    *(
        pytest.param(each, id=each.name, marks=pytest.mark.nightly)
        for each in (*LARGE, *TICKING_LONG)
    ),
]


@pytest.mark.parametrize("scenario", EXPLORED)
def test_no_way_leads_to_a_loss(scenario, tell) -> None:
    """Every interleaving within the scope; the figures stand below the tests' summary."""
    explored = scenario.explore()
    tell(scenario.name, explored)
    assert explored.wrong is None, explored.story()
