"""What a review found in concurrent deletion, as tests: each once went wrong."""

import pytest

from orphangc.errors import StorageUnreachableError
from unit.collect.delete.deleting import BadStorage, Scene, keys_of


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
