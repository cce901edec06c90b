"""Deleting in batches: each key gets the outcome that the storage bears out, whatever happens."""

import json
import os
import random
import signal
import sys
import threading
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orphangc.core.model import rate
from orphangc.core.model.types import Outcome
from orphangc.errors import LockHeldError, RefusedError, StorageUnreachableError
from orphangc.ports import DeletionStatus
from support import speed
from support.builders import JOB, OTHER_JOB
from unit.collect.delete.deleting import BadStorage, Behaviour, Scene, an_object, good, keys_of

DELETED, REFUSED = DeletionStatus.DELETED, DeletionStatus.REFUSED
UNKNOWN, FAILED = DeletionStatus.UNKNOWN, DeletionStatus.FAILED
AT_ONCE = pytest.mark.parametrize("at_once", [1, 8])


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch) -> None:
    """A pause takes a thousandth of its time."""
    monkeypatch.setattr(rate, "_FIRST_PAUSE", 0.0005)
    monkeypatch.setattr(rate, "_LONGEST_PAUSE", 0.03)


def at_first(*first, then=DELETED):
    """Return a behaviour that answers the first requests so, and later ones otherwise."""

    def behave(number, objects):
        return [first[number - 1] if number <= len(first) else then] * len(objects)

    return behave


# --- batches


@AT_ONCE
def test_everything_that_is_due_is_deleted_and_told_of_once(at_once) -> None:
    """In batches that the storage takes, whatever pieces the rows come in."""
    keys = keys_of(2_345)
    scene = Scene.of(keys, at_once=at_once)
    assert scene.delete(keys) is None
    assert scene.outcomes == dict.fromkeys(keys, "done")
    assert sorted(scene.storage.deleted) == keys
    assert max(map(len, scene.storage.requests)) <= 300


def test_a_batch_never_mixes_jobs() -> None:
    """What stops one of them must not find the other half deleted."""
    keys = keys_of(150) + keys_of(150, OTHER_JOB)
    scene = Scene.of(keys)
    scene.delete(keys)
    jobs = [{key.partition("/")[0] for key in request} for request in scene.storage.requests]
    assert jobs == [{JOB}, {OTHER_JOB}]


def test_nothing_due_is_no_look_and_no_request() -> None:
    scene = Scene.of([])
    assert scene.delete([]) is None
    assert (scene.looks.looks, scene.storage.requests, scene.recorded) == (0, [], [])


@AT_ONCE
def test_every_batch_is_looked_at_before_and_after(at_once) -> None:
    """R18, R22: and no look is older than the batch that it is for."""
    keys = keys_of(1_000)
    scene = Scene.of(keys, at_once=at_once)
    scene.delete(keys, a_batch=100)
    assert scene.looks.looks == 2 * len(scene.storage.requests) == 20


@AT_ONCE
def test_each_batch_is_written_down_before_it_is_deleted(at_once) -> None:
    """R23: a request without a journal would be a deletion without an explanation."""
    keys = keys_of(900)
    storage = BadStorage.of(keys, at_once=at_once)
    scene = Scene(storage)

    def written(_, objects):
        texts = [data for name, (data, _) in scene.files.found.items() if "/batch-" in name]
        written = {json.loads(line)["key"] for text in texts for line in text.splitlines()}
        assert {each.key for each in objects} <= written
        return good(0, objects)

    storage.behaviour = written
    assert scene.delete(keys) is None
    assert len(scene.journal("-done")) == len(scene.journal()) / 2 == 3


def test_what_the_journal_tells_can_be_read_again() -> None:
    """Times, numbers and nulls as they were."""
    keys = keys_of(2)
    scene = Scene.of(keys)
    scene.delete(keys)
    lines = scene.state.read_lines("run", "batch-000000").splitlines()
    row = json.loads(lines[0])
    assert (row["key"], row["size"], row["checkpoint_id"]) == (keys[0], 7, None)
    assert row["modified_at"].startswith("2026-10-01 00:00:00")
    done = [json.loads(x) for x in scene.state.read_lines("run", "batch-000000-done").splitlines()]
    assert [(each["key"], each["outcome"], each["error"]) for each in done] == [
        (key, "done", None) for key in keys
    ]


# --- what is looked at again


@AT_ONCE
def test_what_a_root_names_by_now_is_kept(at_once) -> None:
    """R18: a checkpoint completed since the cycle."""
    keys = keys_of(600)
    scene = Scene.of(keys, at_once=at_once)
    scene.looks.named = {keys[3], keys[599]}
    assert scene.delete(keys) is None
    assert {key for key, outcome in scene.outcomes.items() if outcome == "changed"} == {
        keys[3],
        keys[599],
    }
    assert set(scene.storage.objects) == {keys[3], keys[599]}


@AT_ONCE
@pytest.mark.parametrize("error", [RefusedError, LockHeldError, StorageUnreachableError])
def test_a_look_that_forbids_ends_everything(at_once, error) -> None:
    """What was not reached is planned: the next run decides anew."""
    keys = keys_of(2_000)
    scene = Scene.of(keys, at_once=at_once)
    scene.looks.fail(error("no more"), from_look=5)
    stopped = scene.delete(keys, a_batch=100)
    assert isinstance(stopped, error)
    counts = Counter(scene.outcomes.values())
    assert counts["planned"] + counts["done"] == 2_000
    assert set(scene.storage.deleted) == scene.done
    assert counts["done"] <= 200 * max(1, at_once)


def test_a_root_that_names_what_was_just_deleted_halts_everything() -> None:
    """R22: a proof failed; nothing goes until a person has looked."""
    keys = keys_of(1_000)
    scene = Scene.of(keys)
    scene.looks.find(keys[5], from_look=2)
    stopped = scene.delete(keys, a_batch=100)
    assert isinstance(stopped, RefusedError)
    assert keys[5] in scene.state.halted()
    assert Counter(scene.outcomes.values()) == {"done": 100, "planned": 900}


def test_a_look_after_that_fails_is_no_verdict_on_the_batch() -> None:
    """What was deleted is told; the look before the next batch stops."""
    keys = keys_of(200)
    scene = Scene.of(keys)
    scene.looks.fail(RefusedError("cannot read a root"), from_look=2)
    assert isinstance(scene.delete(keys, a_batch=100), RefusedError)
    assert Counter(scene.outcomes.values()) == {"done": 100, "planned": 100}


def test_a_journal_that_cannot_be_written_stops_before_the_request() -> None:
    """No deletion without a trace."""
    keys = keys_of(10)
    scene = Scene.of(keys)
    scene.fill_the_disk("/batch-")
    assert isinstance(scene.delete(keys), StorageUnreachableError)
    assert (scene.storage.requests, set(scene.outcomes.values())) == ([], {"planned"})


def test_outcomes_that_cannot_be_written_down_are_told_all_the_same() -> None:
    """They were planned once, although they were gone."""
    keys = keys_of(200)
    scene = Scene.of(keys)
    scene.fill_the_disk("-done")
    assert isinstance(scene.delete(keys, a_batch=100), StorageUnreachableError)
    assert Counter(scene.outcomes.values()) == {"done": 100, "planned": 100}
    assert len(scene.storage.deleted) == 100


# --- what the storage answers


@AT_ONCE
def test_keys_that_are_refused_for_now_are_asked_for_again(at_once) -> None:
    """Each time after another look, and more slowly."""
    keys = keys_of(600)

    def sometimes(number, objects):
        return [REFUSED if number <= 6 and at % 3 else DELETED for at in range(len(objects))]

    scene = Scene.of(keys, sometimes, at_once=at_once)
    assert scene.delete(keys) is None
    assert set(scene.outcomes.values()) == {"done"}
    assert sorted(scene.storage.deleted) == keys
    assert scene.limiter.rate.refused is not None


def test_a_refused_key_that_somebody_names_meanwhile_is_kept() -> None:
    """Every try has a look of its own."""
    keys = keys_of(10)
    scene = Scene.of(keys, at_first(REFUSED))
    scene.looks.find(keys[0], from_look=2)
    assert scene.delete(keys) is None
    assert Counter(scene.outcomes.values()) == {"changed": 1, "done": 9}
    assert keys[0] in scene.storage.objects


def test_a_key_that_is_refused_for_ever_is_given_up_and_has_not_failed() -> None:
    """All others go."""
    keys = keys_of(50)

    def spiteful(_, objects):
        return [REFUSED if each.key == keys[7] else DELETED for each in objects]

    scene = Scene.of(keys, spiteful)
    assert "20 times in a row" in str(scene.delete(keys))
    assert Counter(scene.outcomes.values()) == {"done": 49, "planned": 1}
    assert scene.outcomes[keys[7]] == "planned"
    assert sum(keys[7] in request for request in scene.storage.requests) == 20


@AT_ONCE
@pytest.mark.parametrize("lost", ["lost", UNKNOWN])
def test_what_has_no_answer_is_done_once(at_once, lost) -> None:
    """The answer was lost: the object is gone because of us. Or the request: it is sent again."""
    keys = keys_of(900)
    scene = Scene.of(keys, at_first(lost, lost), at_once=at_once)
    assert scene.delete(keys) is None
    assert scene.outcomes == dict.fromkeys(keys, "done")
    assert sorted(scene.storage.deleted) == keys


def test_what_somebody_else_deleted_is_gone_and_not_done() -> None:
    """Also between a refusal and the next try: a refusal touches nothing."""
    keys = keys_of(3)

    def behave(number, objects):
        if number == 1:
            del scene.storage.objects[keys[0]]
            return [REFUSED] * 3
        return [DELETED] * len(objects)

    scene = Scene.of(keys, behave)
    scene.storage._result = refusing(scene.storage)
    assert scene.delete(keys) is None
    assert scene.outcomes == {keys[0]: "gone", keys[1]: "done", keys[2]: "done"}


def refusing(storage: BadStorage):
    """Return the storage's way to make a result, for keys that may have vanished."""
    usual = BadStorage._result
    return lambda wanted, status: usual(storage, wanted, status)


def test_an_object_that_changed_after_a_lost_request_is_changed() -> None:
    """It is another one: neither done nor failed."""
    keys = keys_of(2)

    def behave(number, objects):
        if number == 1:
            scene.storage.objects[keys[0]] = replace(an_object(keys[0]), size=8)
            return [UNKNOWN] * 2
        return [DELETED] * len(objects)

    scene = Scene.of(keys, behave)
    assert scene.delete(keys) is None
    assert scene.outcomes == {keys[0]: "changed", keys[1]: "done"}


def test_what_is_gone_when_it_is_asked_for_may_have_been_ours() -> None:
    """A client of NFS, or a proxy, repeats a request of which the answer was lost: none is there.

    And whoever deleted it, a root names what is gone: a proof has failed.
    """
    keys = keys_of(3)
    scene = Scene.of(keys)

    def repeated(_, objects):
        scene.storage.objects.clear()
        scene.looks.named = {keys[1]}
        return [DeletionStatus.GONE] * len(objects)

    scene.storage.behaviour = repeated
    assert isinstance(scene.delete(keys), RefusedError)
    assert keys[1] in scene.state.halted()
    assert scene.outcomes == dict.fromkeys(keys, "gone")


def test_a_lost_deletion_of_what_a_root_names_by_now_halts_everything() -> None:
    """R22 holds for what may be gone as well."""
    keys = keys_of(4)
    scene = Scene.of(keys, at_first("lost"))
    scene.looks.find(keys[0], from_look=3)
    assert isinstance(scene.delete(keys), RefusedError)
    assert keys[0] in scene.state.halted()
    assert scene.outcomes == dict.fromkeys(keys, "done")


def test_a_storage_that_never_answers_is_given_up_and_looked_at_a_last_time() -> None:
    """Five batches in a row: what is gone is done, what is there has failed, the rest planned."""
    keys = keys_of(1_000)

    def silent(number, objects):
        return [("lost" if at % 2 and number < 3 else UNKNOWN) for at in range(len(objects))]

    scene = Scene.of(keys, silent)
    stopped = scene.delete(keys, a_batch=100)
    assert isinstance(stopped, StorageUnreachableError)
    assert "5 batches in a row" in str(stopped)
    recorded = {o: {k for k, each in scene.outcomes.items() if each == o} for o in Outcome}
    assert recorded["done"] == set(scene.storage.deleted)
    assert recorded["failed"] | recorded["planned"] == set(scene.storage.objects)
    assert len(recorded["done"]) == 100
    assert 200 <= len(recorded["failed"]) < 500 < len(recorded["planned"])


def test_what_cannot_even_be_looked_at_has_failed_and_says_that_it_may_be_gone() -> None:
    """Nobody is told that it is still there."""
    keys = keys_of(10)
    scene = Scene.of(keys, at_first(then="lost"))
    scene.storage.can_look = False
    scene.looks.fail(RefusedError("x"), from_look=3)
    scene.delete(keys)
    assert set(scene.outcomes.values()) == {"failed"}
    assert all("whether it is gone cannot be seen" in row["error"] for row in scene.recorded)


def test_requests_that_are_refused_as_a_whole_fail_and_end_it_after_five() -> None:
    """No credentials: the sixth request would be refused as well."""
    keys = keys_of(1_000)

    def denied(_number, _objects):
        raise StorageUnreachableError("cannot delete in s3://b: AccessDenied")

    scene = Scene.of(keys, denied)
    stopped = scene.delete(keys, a_batch=100)
    assert "AccessDenied" in str(stopped)
    assert Counter(scene.outcomes.values()) == {"failed": 500, "planned": 500}
    assert len(scene.storage.requests) == 5


def test_four_failures_and_a_success_go_on() -> None:
    """In a row means in a row."""
    keys = keys_of(1_000)

    def mostly(number, objects):
        return [DELETED if number % 5 == 0 else FAILED] * len(objects)

    scene = Scene.of(keys, mostly)
    assert scene.delete(keys, a_batch=100) is None
    assert Counter(scene.outcomes.values()) == {"failed": 800, "done": 200}


@pytest.mark.parametrize("a_batch", [20, 500])
def test_a_store_that_refuses_for_ever_ends_it_and_nothing_has_failed(a_batch) -> None:
    """A refusal touches nothing: all is planned, also if the same keys are refused each time."""
    keys = keys_of(500)
    scene = Scene.of(keys, at_first(then=REFUSED))
    stopped = scene.delete(keys, a_batch=a_batch)
    assert "20 times in a row" in str(stopped)
    assert set(scene.outcomes.values()) == {"planned"}
    assert len(scene.storage.objects) == 500


# --- endings


def failing_after_ten(scene: Scene, at: int, error: BaseException) -> Behaviour:
    """Return what deletes ten objects of one request, and raises in the midst of it."""

    def behave(number, objects):
        if number == at:
            for each in objects[:10]:
                scene.storage.deleted.append(each.key)
                del scene.storage.objects[each.key]
            raise error
        return good(number, objects)

    return behave


@AT_ONCE
def test_a_fault_of_ours_is_raised_and_every_key_is_told_of(at_once) -> None:
    """The batch that met with it is looked at: what it deleted is done."""
    keys = keys_of(1_000)

    scene = Scene.of(keys, at_once=at_once)
    scene.storage.behaviour = failing_after_ten(scene, 3, KeyError("a bug"))
    with pytest.raises(KeyError):
        scene.delete(keys, a_batch=100)
    assert set(scene.outcomes) == set(keys)
    assert scene.done == set(scene.storage.deleted)


def test_a_fault_of_ours_in_one_batch_stops_the_others_that_are_under_way() -> None:
    """They end in order, and none of them sends a request more."""
    both, stopped = threading.Barrier(2), []

    def before(look: int) -> None:
        if look <= 2:
            if both.wait(speed.patience()) == 0:
                raise KeyError("a bug")
            stopped.append(scene.limiter.stopped.wait(speed.patience()))

    keys = keys_of(200)
    scene = Scene.of(keys, at_once=2)
    scene.looks.before = before
    with pytest.raises(KeyError):
        scene.delete(keys, a_batch=100)
    assert stopped == [True]
    assert scene.storage.requests == []


def test_a_signal_that_interrupts_a_request_leaves_every_key_told_of() -> None:
    """Where one thread does everything, it may come in the middle of anything."""
    keys = keys_of(500)

    scene = Scene.of(keys)
    scene.storage.behaviour = failing_after_ten(scene, 2, SystemExit(143))
    with pytest.raises(SystemExit):
        scene.delete(keys, a_batch=100)
    counts = Counter(scene.outcomes.values())
    assert counts == {"done": 110, "failed": 90, "planned": 300}
    assert scene.done == set(scene.storage.deleted)


def test_a_stop_lets_what_is_under_way_end_and_begins_nothing_more() -> None:
    """Several batches at a time: a signal reaches the thread that waits for them."""
    keys = keys_of(3_000)
    begun, may_end = threading.Event(), threading.Event()

    def slow(number, objects):
        begun.set()
        assert may_end.wait(speed.patience())
        return good(number, objects)

    scene = Scene.of(keys, slow, at_once=4)
    thread = threading.Thread(target=scene.delete, args=(keys,), kwargs={"a_batch": 100})
    thread.start()
    assert begun.wait(speed.patience())
    scene.limiter.stopped.set()
    may_end.set()
    thread.join(speed.patience())
    counts = Counter(scene.outcomes.values())
    assert 100 <= counts["done"] <= 400
    assert counts["done"] + counts["planned"] == 3_000
    assert scene.done == set(scene.storage.deleted)


def test_a_real_signal_waits_for_what_is_under_way() -> None:
    """The waiting thread is interrupted; the batches are not, and all of them are recorded."""
    keys = keys_of(3_000)
    usual = signal.signal(signal.SIGUSR1, lambda *_: sys.exit(143))
    sent = threading.Event()

    def slow(number, objects):
        if number == 5 and not sent.is_set():
            sent.set()
            os.kill(os.getpid(), signal.SIGUSR1)
        assert not sent.is_set() or scene.limiter.stopped.wait(speed.patience())
        return good(number, objects)

    scene = Scene.of(keys, slow, at_once=4)
    try:
        with pytest.raises(SystemExit) as ended:
            scene.delete_in_a_run(keys, a_batch=100)
    finally:
        signal.signal(signal.SIGUSR1, usual)
    assert ended.value.code == 143
    counts = Counter(scene.outcomes.values())
    assert counts["done"] + counts["planned"] == 3_000
    assert 0 < counts["done"] < 1_500
    assert scene.done == set(scene.storage.deleted)
    assert not [each for each in threading.enumerate() if each.name == "run"]


# --- everything at random


FAULTS = ["lost", UNKNOWN, REFUSED, FAILED, DELETED, DELETED, DELETED]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1, 4]), st.floats(0, 0.9))
def test_whatever_the_store_does_no_outcome_is_wrong_and_no_key_is_lost(
    seed, at_once, badness
) -> None:
    """Done: gone, and by us. Gone: by another process. Everything else is still there."""
    dice = random.Random(seed)
    keys = keys_of(400)

    def behave(_, objects):
        if dice.random() < badness / 4:
            raise StorageUnreachableError("cannot delete")
        mood = dice.choice(FAULTS) if dice.random() < badness else None
        return [
            mood or (dice.choice(FAULTS) if dice.random() < badness / 5 else DELETED)
            for _ in objects
        ]

    scene = Scene.of(keys, behave, at_once=at_once)
    strangers = set(dice.sample(keys, 20))
    for key in strangers:
        del scene.storage.objects[key]
    scene.delete(keys, a_batch=50)
    assert set(scene.outcomes) == set(keys)
    recorded = {o: {k for k, each in scene.outcomes.items() if each == o} for o in Outcome}
    assert recorded["done"] == set(scene.storage.deleted)
    assert recorded["gone"] <= strangers
    assert recorded["failed"] <= set(scene.storage.objects) | strangers
    assert recorded["planned"] <= set(scene.storage.objects) | strangers
    assert len(scene.storage.deleted) == len(set(scene.storage.deleted))
