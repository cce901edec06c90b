"""Each rule taken away: the explorer must find the loss, and shows the shortest way to it."""

import pytest

from safety.model_checking.clocks import UNSLACKED
from safety.model_checking.scenarios import FOUND, MUTANTS

pytestmark = pytest.mark.ci


@pytest.mark.parametrize("name", FOUND, ids=str)
def test_a_loss_is_found_without(name, tell) -> None:
    """The negative controls of the rules: R5, R8, R9, R12, R14, R15, R17, R18 and the gate."""
    explored = FOUND[name].explore()
    tell(f"without {name}", explored)
    assert explored.wrong is not None
    print(explored.story())


@pytest.mark.parametrize("name", MUTANTS, ids=str)
def test_a_loss_is_found_by_a_collector_that(name, tell) -> None:
    """More ways to weaken a collector, beyond the list."""
    explored = MUTANTS[name].explore()
    tell(f"a collector that {name}", explored)
    assert explored.wrong is not None
    print(explored.story())


@pytest.mark.parametrize("name", UNSLACKED, ids=str)
def test_a_loss_is_found_where_clocks_differ_without(name, tell) -> None:
    """The slack of R9 and of R16, R15's and R10's looks at clocks."""
    explored = UNSLACKED[name].explore()
    tell(f"without {name}", explored)
    assert explored.wrong is not None
    print(explored.story())
