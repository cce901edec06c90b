"""What the daemon knows, in memory."""

from __future__ import annotations

import threading

import pytest

from orphangc.app.config.configuration import Configuration, ScheduledRoot
from orphangc.app.status.board import StatusStore
from orphangc.app.telemetry.metrics import Metrics
from orphangc.core.documents.run_record import RunResult, Totals, totals_after
from orphangc.core.world import ClosedWorld, World
from unit.app.status.records import ROOT, T0, a_phase, a_record


@pytest.fixture
def board() -> StatusStore:
    """Know one storage root, and nothing of it."""
    roots = (ScheduledRoot(root=ROOT, schedule="6h"),)
    configuration = Configuration(storage_roots=roots)
    return StatusStore(configuration, Metrics(roots, "1"))


def whole(number: int, **more: object):
    """Return a record as it was written down."""
    record = a_record(number, **more)
    return record.model_copy(update={"totals": totals_after(Totals(), record)})


def test_it_is_not_ready_before_the_records_were_read(board) -> None:
    """And says why."""
    assert ROOT in (board.status().not_ready or "")
    board.load(ROOT, [], "no such bucket")
    assert "no such bucket" in (board.status().not_ready or "")
    assert not board.is_loaded
    board.load(ROOT, [], None)
    assert board.status().not_ready is None
    assert board.is_loaded


def test_a_run_that_was_written_down_proves_that_the_state_can_be_read(board) -> None:
    """One that was not, does not."""
    board.ended(ROOT, a_record(1))
    assert board.status().not_ready
    board.ended(ROOT, whole(2))
    assert board.status().not_ready is None


def test_records_stand_newest_first_and_once(board) -> None:
    """Whoever wrote them, and however often they are read."""
    board.load(ROOT, [a_record(3), a_record(1)], None)
    board.ended(ROOT, whole(4))
    board.load(ROOT, [whole(4), a_record(3), a_record(2)], None)
    (root,) = board.status().roots
    assert [each.run_id[-1] for each in root.records] == ["4", "3", "2", "1"]
    assert root.newest is root.records[0]


def test_of_missed_runs_in_a_row_the_newest_stands_for_all(board) -> None:
    """Every one of them is counted."""
    missed = {"result": RunResult.MISSED, "phases": (a_phase(RunResult.MISSED),)}
    board.load(ROOT, [a_record(1)], None)
    for number in (2, 3, 4):
        board.tell(a_record(number, **missed))
    (root,) = board.status().roots
    assert [each.run_id[-1] for each in root.records] == ["4", "1"]
    labels = {"root": ROOT, "phase": "plan", "result": "missed"}
    assert board.metrics.registry.get_sample_value("orphangc_runs_total", labels) == 3


def test_a_run_that_goes_on_is_shown(board) -> None:
    """Until it has ended, with a record or without."""
    board.began(ROOT)
    assert board.status().roots[0].running_since is not None
    board.ended(ROOT, None)
    assert board.status().roots[0].running_since is None


def test_it_is_not_ready_where_no_root_can_be_reached_or_it_ends(board) -> None:
    """One run that fails otherwise is no reason."""
    board.load(ROOT, [], None)
    board.ended(ROOT, a_record(1, result=RunResult.FAILED))
    assert board.status().not_ready is None
    board.ended(ROOT, a_record(2, result=RunResult.UNREACHABLE))
    assert board.status().not_ready == "no storage root could be reached in its last run"
    board.is_ending = True
    assert "ending" in (board.status().not_ready or "")


def test_it_tells_what_the_others_tell_it(board) -> None:
    """When the next run is, whether the scheduler lives."""
    board.next_run_of = lambda _: T0
    board.alive = lambda: True
    status = board.status()
    assert status.roots[0].next_run_at == T0
    assert board.is_alive()


def test_it_can_be_asked_while_it_is_told(board) -> None:
    """From many threads."""
    threads = [
        threading.Thread(target=lambda n=number: board.ended(ROOT, whole(n))) for number in range(9)
    ]
    for each in threads:
        each.start()
        board.status()
    for each in threads:
        each.join()
    assert len(board.status().roots[0].records) == 9


def test_only_the_newest_plan_keeps_its_world_in_memory(board) -> None:
    """Dozens of roots see dozens of places each, fifty records long."""
    world = World(places=(), closed_world=ClosedWorld(stated=False, covers=()))
    planned = {"plan_id": "p", "world": world}
    board.load(ROOT, [a_record(number, **planned) for number in (1, 2)], None)
    board.ended(ROOT, a_record(3, plan_id=None))
    (root,) = board.status().roots
    assert [each.world for each in root.records] == [None, world, None]
