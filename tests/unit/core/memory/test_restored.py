"""Which restored checkpoints of a job are remembered."""

from orphangc.core.memory.remembered import MOST_RESTORED, newest_restored

OWN = "file:/root/own"
ORIGIN = "file:/root/other/chk-6"


def test_a_job_that_fails_over_often_does_not_forget_its_origin() -> None:
    own = [f"{OWN}/chk-{number}" for number in range(10, 60)]
    assert newest_restored([ORIGIN, *own], [OWN]) == (ORIGIN, *own[-MOST_RESTORED:])


def test_each_is_kept_once_and_origins_are_not_without_number() -> None:
    others = [f"file:/root/{number}/chk-6" for number in range(50)]
    assert newest_restored([*others, *others], [OWN]) == tuple(others[-MOST_RESTORED:])
