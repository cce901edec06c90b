"""A checkpoint that a cycle has seen may be hidden at any time: no cycle deletes its files."""

from safety.model_checking.forgetting import explored


def test_hiding_a_checkpoint_that_a_cycle_has_seen_loses_nothing() -> None:
    """Whatever its job does before and after."""
    found = explored()
    print(found.story())
    assert found.wrong is None, found.story()
    assert found.states > 1_000


def test_a_loss_is_found_without_the_memory() -> None:
    """A checkpoint, a cycle that sees it, the hiding, another cycle."""
    found = explored(remembers=False)
    print(found.story())
    assert found.wrong is not None
    assert len(found.trace) == 4
