"""The invariant, over every state: no readable ``_metadata`` names what a collector deleted."""

import pytest

from safety.model_checking.clocks import TICKING, TICKING_LONG
from safety.model_checking.scenarios import ANSWERED, LARGE, MENDED, SAFE

LARGER = {
    "clocks: registry by time, all differ",
    "tombstones: two collectors that crash",
    "clocks: derived, the store's machines differ",
    "registry by ids: two at once",
    "registry by ids: two retained",
    "registry in full: slow listings, deaths",
    "NO_CLAIM of an ended job's checkpoint",
    "derived: Flink 1.14, two retained",
    "derived: a checkpoint left behind, deaths",
}
"""Of several seconds each: of the class ``ci``."""
LARGEST = {
    "derived: slow listings, deaths",
    "derived: a checkpoint left behind, ids begin anew",
    "derived: CLAIM of a checkpoint left behind, of the same job",
}
"""Of a quarter of a minute and more: of the class ``nightly``."""
MARKS = {
    **dict.fromkeys(LARGER, (pytest.mark.ci,)),
    **dict.fromkeys(LARGEST, (pytest.mark.nightly,)),
}
EXPLORED = [
    *(
        pytest.param(each, id=each.name, marks=MARKS.get(each.name, ()))
        for each in (*SAFE, *ANSWERED, *MENDED, *TICKING)
    ),
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


def test_what_is_larger_is_explored_by_that_name() -> None:
    """A name that changes leaves no scenario in the wrong class."""
    assert {each.name for each in (*SAFE, *ANSWERED, *MENDED, *TICKING)} >= MARKS.keys()
