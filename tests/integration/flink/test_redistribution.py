"""What a release of Flink assigns today is what is kept of it, and what we say."""

import pytest

from integration.harness.flinkbed.fixtures import require_flink
from integration.harness.flinkbed.redistribution import PARALLELISMS, ask, checkpoints, kept_answers
from unit.flinkstate.rescale.redistributed import answers, flinks

VERSION = "2.3.0"

pytestmark = pytest.mark.flink


def test_flink_still_assigns_as_it_is_kept_and_as_we_say() -> None:
    """By its own ``StateAssignmentOperation``, to 1 to 7 subtasks."""
    require_flink(VERSION)
    asked = checkpoints(VERSION)
    said = {name: flinks(told) for name, told in ask(VERSION, asked).items()}
    assert said == {name: flinks(told) for name, told in kept_answers(VERSION).items()}
    assert said == {name: answers(data, PARALLELISMS) for name, data in asked.items()}
