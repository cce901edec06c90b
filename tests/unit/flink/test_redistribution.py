"""What new subtasks get, against what Flink's own ``StateAssignmentOperation`` assigns."""

from __future__ import annotations

import pytest

from integration.flinkbed.redistribution import (
    PARALLELISMS,
    VERSIONS,
    checkpoints,
    kept_answers,
)
from unit.flink.redistributed import answers, flinks


@pytest.mark.parametrize("version", VERSIONS)
def test_everybody_gets_what_flink_assigns(version: str) -> None:
    """Of every real checkpoint, and of made ones, to 1 to 7 subtasks."""
    kept = kept_answers(version)
    asked = checkpoints(version)
    assert kept.keys() == asked.keys()
    wrong = [
        name for name, data in asked.items() if answers(data, PARALLELISMS) != flinks(kept[name])
    ]
    assert wrong == []
