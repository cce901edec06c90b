"""Nothing live is ever deleted, whatever goes wrong: the real code against random histories."""

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from safety.simulation.machine import Machine
from support import night

EXAMPLES = {"dev": 12, "ci": 36, "nightly": night.share(2_000, least=36)}
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "dev")

pytestmark = pytest.mark.timeout(7_200 if PROFILE == "nightly" else 600)


def test_nothing_live_is_ever_deleted(record_property) -> None:
    """The invariants and, at the end of every history, liveness."""
    chosen = settings(
        max_examples=EXAMPLES[PROFILE],
        stateful_step_count=14,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Machine, settings=chosen)
    record_property("told", f"state machine: {Machine.tally.told()}")
    assert Machine.tally.done["deletions"]


@pytest.mark.parametrize("number", [2, 1])
def test_jobs_that_claim_from_each_other_stop_only_for_what_nothing_shows(number: int) -> None:
    """What searches found: with two, a job keeps none but claimed files; with one, what was
    claimed twice between two cycles is missed.
    """
    state = Machine()
    bucket = {"is_versioned": False, "is_coarse": False}
    state.begin(slack=0, order=0, number=number, is_exporting=True, has_ha=True, **bucket)
    state.two_cycles(after=[])
    for _ in range(4 if number == 2 else 1):
        state.claim(which=0)
    state.two_cycles(after=[])
    for which in (4, 0, 0, 0):
        state.claim(which=which)
        state.no_proof_has_failed()
        state.nothing_live_is_gone()
    state.teardown()
