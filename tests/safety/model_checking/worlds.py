"""Worlds to start from: what has happened before anything is explored."""

from safety.model_checking.flink import Scope, fresh_job
from safety.model_checking.world import PRIVATE, File, Job, Retained, Root, World

A, B, C = range(3)


def completed(number: int) -> tuple[str, ...]:
    """Return the steps of one checkpoint from its trigger to its end."""
    return (
        f"A: trigger {number}",
        f"A: task 0 uploads for {number}",
        f"A: task 0 acknowledges {number}",
        f"A: {number} completes",
    )


TWO_COPIES = (*completed(1), *completed(2), "A: task 0 hears that 1 is complete")
"""Checkpoint 2 began before anybody knew that 1 was complete: one table, two files (2.4). Whatever
comes next builds upon 1."""

SECTION_2_4 = (
    "A: trigger 1",
    "A: trigger 2",
    "A: task 0 uploads for 1",
    "A: task 0 acknowledges 1",
    "A: task 0 uploads for 2",
    "A: 1 completes",
    "A: task 0 acknowledges 2",
    "A: task 0 hears that 1 is complete",
    "A: trigger 3",
)
"""Its steps 1 to 4, two checkpoints at once."""

ONLY_IN_THE_OLDEST = ("A: table 1 appears", *completed(1), "A: table 0 disappears", *completed(2))
"""The oldest retained checkpoint alone needs a file."""


def _file(job: int, number: int, table: int) -> File:
    return (job, number, table)


_OLD, _NEW = _file(A, 1, 0), _file(A, 2, 1)


def ended() -> World:
    """Return job A, which is over and left two checkpoints, and B, which may start from one."""
    roots = (Root(A, 1, ((0, _OLD),), 2), Root(A, 2, ((0, _OLD), (1, _NEW)), 4))
    store = tuple(Retained(root.place, is_claimed=True) for root in roots)
    job = Job(following=3, next_table=2, latest=2, shown=(1, 2), store=store)
    return World(jobs=(job, Job()), files=((_OLD, 1), (_NEW, 3)), roots=roots)


def ended_twice() -> World:
    """Return A, B that claimed A's last checkpoint and is over, and C, which may start from B's."""
    own = _file(B, 3, 2)
    first = Root(A, 1, ((0, _OLD),), 2)
    last = Root(B, 3, ((1, _NEW), (2, own)), 6)
    jobs = (
        Job(following=3, next_table=2, latest=2, shown=(1,), store=(Retained((A, 1), True),)),  # noqa: FBT003
        Job(following=4, next_table=3, latest=3, shown=(3,), store=(Retained((B, 3), True),)),  # noqa: FBT003
        Job(),
    )
    return World(jobs=jobs, files=((_OLD, 1), (_NEW, 3), (own, 5)), roots=(first, last))


def moved_away() -> World:
    """Return a job that is over: its last root may be out of sight, an old one was left behind.

    The old one's ``_metadata`` could not be deleted when it was subsumed; its private file was.
    """
    needed = _file(A, 2, 1)
    roots = (
        Root(A, 1, ((PRIVATE, _file(A, 1, PRIVATE)), (0, _OLD)), 2),
        Root(A, 2, ((PRIVATE, _file(A, 2, PRIVATE)), (1, needed)), 4),
    )
    job = Job(following=3, next_table=2, latest=2, shown=(2,), store=(Retained((A, 2), True),))  # noqa: FBT003
    files = ((_OLD, 1), (needed, 3), (_file(A, 2, PRIVATE), 3))
    return World(jobs=(job,), files=files, roots=roots)


def left_behind() -> World:
    """Return a job that is over, and left two checkpoints far from each other: 1 and 5."""
    later = _file(A, 5, 1)
    roots = (Root(A, 1, ((0, _OLD),), 2), Root(A, 5, ((0, _OLD), (1, later)), 4))
    job = Job(following=6, next_table=2, latest=5, shown=(5,), store=(Retained((A, 5), True),))  # noqa: FBT003
    return World(jobs=(job,), files=((_OLD, 1), (later, 3)), roots=roots)


def third_is_next(scope: Scope) -> World:
    """Return a job whose next checkpoint is its third."""
    return World(jobs=(fresh_job(scope)._replace(following=3),))
