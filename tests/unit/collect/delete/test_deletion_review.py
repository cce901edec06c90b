"""What a review found in concurrent deletion, as tests: each once went wrong."""

import os
import signal
import threading

import pytest

from orphangc.errors import StorageUnreachableError
from support import speed
from unit.collect.delete.deleting import BadStorage, Scene, good, keys_of


@pytest.mark.parametrize("at_once", [1, 8])
def test_a_request_that_broke_off_is_looked_after_too(at_once: int) -> None:
    """R22: what it deleted before it broke off may be named by a root that is there by now."""
    keys = keys_of(10)
    storage = BadStorage.of(keys, at_once=at_once)

    def delete(objects):
        for each in objects[:5]:
            del storage.objects[each.key]
        raise StorageUnreachableError("stale handle")

    storage.delete = delete
    scene = Scene(storage)
    scene.looks.find(keys[0], from_look=2)
    stopped_by = scene.delete(keys)
    assert keys[0] in str(stopped_by)
    assert keys[0] in (scene.state.halted() or "")


def test_what_failed_and_is_still_there_halts_nothing() -> None:
    """A checkpoint may well name an object that was not deleted."""
    keys = keys_of(10)
    storage = BadStorage.of(keys)

    def delete(_objects):
        raise StorageUnreachableError("access denied")

    storage.delete = delete
    scene = Scene(storage)
    scene.looks.find(keys[0], from_look=2)
    scene.delete(keys)
    assert scene.state.halted() is None


def test_outcomes_that_cannot_be_written_down_spare_nobody_the_look_after() -> None:
    """R22 matters more than the journal."""
    keys = keys_of(10)
    scene = Scene.of(keys)
    scene.fill_the_disk("-done.jsonl")
    scene.looks.find(keys[0], from_look=2)
    scene.delete(keys)
    assert keys[0] in (scene.state.halted() or "")


class _SignalledError(SystemExit):
    pass


def test_a_signal_ends_it_only_when_everything_is_told_of() -> None:
    """The lock is given back afterwards: nothing may go on without it."""
    handled = threading.Event()

    def on_signal(*_):
        handled.set()
        raise _SignalledError(143)

    keys = keys_of(4000)
    storage = BadStorage.of(keys, at_once=8, batch_size=100)

    def slowly(number, objects):
        if number == 5:
            os.kill(os.getpid(), signal.SIGTERM)
        if number >= 5:  # those under way end after the signal was seen
            assert handled.wait(speed.patience())
        return good(number, objects)

    storage.behaviour = slowly
    scene = Scene(storage)
    before = signal.signal(signal.SIGTERM, on_signal)
    try:
        with pytest.raises(_SignalledError):
            scene.delete_in_a_run(keys, a_batch=100)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not any(each.name == "run" for each in threading.enumerate())
    recorded = scene.outcomes
    assert sorted(recorded) == keys
    assert sorted(storage.deleted) == sorted(
        key for key, what in recorded.items() if what == "done"
    )


def test_a_disk_that_fills_up_while_outcomes_are_told_is_an_error() -> None:
    """Else a file of a part of the outcomes would be published as all of them."""
    keys = keys_of(600)
    scene = Scene.of(keys, at_once=8, batch_size=100)

    class Full(list):
        def __iadd__(self, rows):
            if len(self) >= 200:
                raise OSError(28, "No space left on device")
            self.extend(rows)
            return self

    scene.recorded = Full()
    with pytest.raises(OSError, match="space"):
        scene.delete(keys, a_batch=100)
