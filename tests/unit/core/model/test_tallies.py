"""Amounts add up, each under what the reader asks for."""

from dataclasses import replace

from orphangc.core.model.tallies import AgeBucket, Amount, Cell, summed
from orphangc.core.model.types import Action, Reason, Scope
from support.builders import JOB, OTHER_JOB

CELL = Cell(
    job_id=JOB,
    scope=Scope.SHARED,
    action=Action.KEEP,
    reason=Reason.TOO_YOUNG,
    age=AgeBucket.UNDER_1_HOUR,
    amount=Amount(1, 10),
)
CELLS = [
    CELL,
    replace(CELL, job_id=OTHER_JOB, amount=Amount(2, 200)),
    replace(CELL, age=AgeBucket.OLDER, amount=Amount(4, 4000)),
]


def test_cells_are_summed_by_whatever_is_asked() -> None:
    """Objects and bytes never mix."""
    assert summed(CELLS, lambda cell: cell.job_id) == {
        JOB: Amount(5, 4010),
        OTHER_JOB: CELLS[1].amount,
    }
    assert summed(CELLS, lambda cell: cell.scope) == {Scope.SHARED: Amount(7, 4210)}
    assert summed([], lambda cell: cell.job_id) == {}
