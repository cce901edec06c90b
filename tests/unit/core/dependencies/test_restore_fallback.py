"""A job that is not over goes back to its newest checkpoint, and to none that is older."""

import pytest

from orphangc.core.columns.file_names import FileNames
from orphangc.core.dependencies.restore_fallback import is_restore_fallback
from support.builders import BASE, OTHER_JOB, a_root

PLACE = BASE.child(f"{OTHER_JOB}/chk-5")
INSIDE = {PLACE: FileNames(["a"])}


@pytest.mark.parametrize(
    ("checkpoint_id", "others", "answer"),
    [
        (5, [], True),
        (5, [a_root(4)], True),
        (5, [a_root(5)], True),
        (5, [a_root(6)], False),
        (None, [a_root(6)], True),
        (5, [a_root(6, is_savepoint=True)], True),
        (5, [a_root(6, files=INSIDE)], True),
        (5, [a_root(6, files=INSIDE), a_root(7)], True),
        (5, [a_root(9, folder=PLACE)], True),
    ],
)
def test_a_newer_one_that_names_nothing_of_it_replaces_it(checkpoint_id, others, answer) -> None:
    """A savepoint does not, for Flink never goes back to it; nor what lies at the same place."""
    assert is_restore_fallback(PLACE, checkpoint_id, others) is answer
