"""Nothing live is ever deleted, whatever goes wrong: the real code against random histories."""

from __future__ import annotations

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
