"""What the daemon knows, in memory."""

import threading
from datetime import timedelta

import pytest

from orphangc.app.config.configuration import Configuration, ScheduledRoot
from orphangc.app.status.status_store import StatusStore
from orphangc.app.telemetry.metrics import Metrics
from orphangc.core.documents.run_record import RunResult, Totals, totals_after
from orphangc.core.world.known_world import ClosedWorld, World
from unit.app.status.records import ROOT, T0, a_phase, a_record


@pytest.fixture
def store() -> StatusStore:
    """Know one storage root, and nothing of it."""
    roots = (ScheduledRoot(root=ROOT, schedule="6h"),)
    configuration = Configuration(storage_roots=roots)
    return StatusStore(configuration, Metrics(roots, "1"))


def whole(number: int, **more: object):
    record = a_record(number, **more)
    return record.model_copy(update={"totals": totals_after(Totals(), record)})


def test_it_is_not_ready_before_the_records_were_read(store) -> None:
    assert ROOT in (store.status().not_ready or "")
    store.load(ROOT, [], "no such bucket")
    assert "no such bucket" in (store.status().not_ready or "")
    assert not store.is_loaded
    store.load(ROOT, [], None)
    assert store.status().not_ready is None
    assert store.is_loaded


def test_only_reading_the_records_makes_it_ready(store) -> None:
    """A run that was written down proves nothing of those before: their jobs are not known yet."""
    store.ended(ROOT, whole(2))
    assert store.status().not_ready
    assert store.status().roots[0].unread
    assert not store.is_loaded
    store.load(ROOT, [whole(2), a_record(1, plan_id="p")], None)
    assert store.status().not_ready is None
    assert store.status().roots[0].unread is None


def test_the_newest_plan_is_kept_however_many_runs_made_none_since(store) -> None:
    """What it says of jobs is the latest known."""
    failed = {"result": RunResult.FAILED, "phases": (a_phase(RunResult.FAILED),)}
    runs = [a_record(number, **failed) for number in range(2, 60)]
    store.load(ROOT, [*reversed(runs), a_record(1, plan_id="p")], None)
    store.ended(ROOT, a_record(60, **failed))
    (root,) = store.status().roots
    assert root.newest_plan == a_record(1, plan_id="p")
    assert len(root.records) == 51


def test_records_stand_newest_first_and_once(store) -> None:
    """By every writer, and however often they are read."""
    store.load(ROOT, [a_record(3), a_record(1)], None)
    store.ended(ROOT, whole(4))
    store.load(ROOT, [whole(4), a_record(3), a_record(2)], None)
    (root,) = store.status().roots
    assert [each.run_id[-1] for each in root.records] == ["4", "3", "2", "1"]
    assert root.newest is root.records[0]


def test_what_a_clock_that_was_ahead_has_dated_is_not_the_newest_for_ever(store) -> None:
    """What is asked of a job is answered from the plan of the last run: ids say which that is."""
    ahead = a_record(1, plan_id="ahead", started_at=T0 + timedelta(days=9))
    store.load(ROOT, [a_record(2, plan_id="last"), ahead], None)
    (root,) = store.status().roots
    assert root.newest_plan == a_record(2, plan_id="last")


def test_a_run_whose_record_is_read_before_the_run_has_ended_here_stands_once(store) -> None:
    """Its process writes the record, a read takes it, and only then the process ends."""
    store.load(ROOT, [whole(4), a_record(3)], None)
    store.ended(ROOT, whole(4))
    (root,) = store.status().roots
    assert [each.run_id[-1] for each in root.records] == ["4", "3"]


def test_a_run_of_another_process_is_the_newest_from_the_next_read_on(store) -> None:
    """On the page and in the metrics; a read that fails, or shows older runs, changes nothing."""
    store.load(ROOT, [], None)
    store.ended(ROOT, whole(2, result=RunResult.FAILED))
    store.load(ROOT, [whole(3, plan_id="p", missing_objects=7), whole(2)], None)
    store.load(ROOT, [whole(1, plan_id="o", missing_objects=1)], None)
    store.load(ROOT, [], "no such bucket")
    (root,) = store.status().roots
    assert (root.newest, root.unread) == (whole(3, plan_id="p", missing_objects=7), None)
    labels = {"root": ROOT}
    assert store.metrics.registry.get_sample_value("orphangc_missing_objects", labels) == 7


def test_of_missed_runs_in_a_row_the_newest_stands_for_all(store) -> None:
    """Every one of them is counted."""
    missed = {"result": RunResult.MISSED, "phases": (a_phase(RunResult.MISSED),)}
    store.load(ROOT, [a_record(1)], None)
    for number in (2, 3, 4):
        store.add(a_record(number, **missed))
    (root,) = store.status().roots
    assert [each.run_id[-1] for each in root.records] == ["4", "1"]
    labels = {"root": ROOT, "phase": "plan", "result": "missed"}
    assert store.metrics.registry.get_sample_value("orphangc_runs_total", labels) == 3


def test_a_run_that_goes_on_is_shown(store) -> None:
    """Until it has ended, with a record or without."""
    store.began(ROOT)
    assert store.status().roots[0].running_since is not None
    store.ended(ROOT, None)
    assert store.status().roots[0].running_since is None


def test_it_is_not_ready_where_no_root_can_be_reached_or_it_ends(store) -> None:
    """One run that fails otherwise is no reason."""
    store.load(ROOT, [], None)
    store.ended(ROOT, a_record(1, result=RunResult.FAILED))
    assert store.status().not_ready is None
    store.ended(ROOT, a_record(2, result=RunResult.UNREACHABLE))
    assert store.status().not_ready == "no storage root could be reached in its last run"
    store.is_ending = True
    assert "ending" in (store.status().not_ready or "")


def test_it_reports_what_the_others_record(store) -> None:
    """When the next run is, whether the scheduler lives."""
    store.next_run_of = lambda _: T0
    store.is_alive = lambda: True
    status = store.status()
    assert status.roots[0].next_run_at == T0
    assert store.is_alive()


def test_it_can_be_read_while_it_is_written(store) -> None:
    threads = [
        threading.Thread(target=lambda n=number: store.ended(ROOT, whole(n))) for number in range(9)
    ]
    for each in threads:
        each.start()
        store.status()
    for each in threads:
        each.join()
    assert len(store.status().roots[0].records) == 9


def test_only_the_newest_plan_keeps_its_world_in_memory(store) -> None:
    """Dozens of roots see dozens of places each, fifty records long."""
    world = World(places=(), closed_world=ClosedWorld(stated=False, covers=()))
    planned = {"plan_id": "p", "world": world}
    store.load(ROOT, [a_record(number, **planned) for number in (1, 2)], None)
    store.ended(ROOT, a_record(3, plan_id=None))
    (root,) = store.status().roots
    assert [each.world for each in root.records] == [None, world, None]
