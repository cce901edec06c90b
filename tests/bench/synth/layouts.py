"""Storages as Flink leaves them, of any size: job directories with retained checkpoints.

Every layout has so many keys in all, names the same share of its files in the retained checkpoints
of each job, and is the same each time for the same arguments.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import md5
from itertools import pairwise

import numpy as np

from bench.checkpoints import SUBTASKS, file_of, metadata
from bench.synth.keyspace import Ages, KeySpace, Run, Stored

BUCKET, ROOT = "bench", "checkpoints"
_FIRST_RETAINED = 41
_FIRST_ID = 95
"""Ids of two, three and more digits: their order as text is not their order as numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a storage is to be."""

    keys: int  # all together, roots too
    jobs: int = 1  # job directories, of about equal size
    live: int = 1000  # files of each job that its retained checkpoints name
    retained: int = 2  # checkpoints of each job that are retained
    per_checkpoint: int = 1000  # files that one checkpoint made, of ``<id>_<uuid>`` names
    ages: Ages
    seed: int = 1


def layout(name: str, wanted: Wanted) -> KeySpace:
    runs: list[Run] = []
    objects: list[Stored] = []
    for number in range(wanted.jobs):
        job, (own, others) = job_made(name, number, wanted)
        runs += own
        objects += [*others, *_roots(job, own, wanted)]
    return KeySpace(runs, objects)


def job_made(name: str, number: int, wanted: Wanted) -> tuple[str, tuple[list[Run], list[Stored]]]:
    job = md5(f"{wanted.seed} {number}".encode()).hexdigest()
    share = wanted.keys // wanted.jobs + (number < wanted.keys % wanted.jobs)
    keys = share - wanted.retained * (SUBTASKS + 1)
    return job, LAYOUTS[name](f"{ROOT}/{job}/", keys, wanted)


_Made = tuple[list[Run], list[Stored]]


def _uuid(directory: str, keys: int, wanted: Wanted) -> _Made:
    """Names that are UUIDs, as Flink writes them today."""
    return [Run(f"{directory}shared/".encode(), keys, wanted.seed)], []


def _id(directory: str, keys: int, wanted: Wanted) -> _Made:
    head, full = f"{directory}shared/", wanted.per_checkpoint
    counts = [full] * (keys // full) + [keys % full] * (keys % full > 0)
    return [
        Run(f"{head}{_FIRST_ID + number}_".encode(), count, wanted.seed)
        for number, count in enumerate(counts)
    ], []


def _both(directory: str, keys: int, wanted: Wanted) -> _Made:
    """Half of each: a folder that was written before and after a change of names."""
    marked, _ = _id(directory, keys // 2, wanted)
    head = f"{directory}shared/".encode()
    others = [run.head.removeprefix(head).decode() for run in marked]
    return marked + _around(others, Run(head, keys - keys // 2, wanted.seed)), []


def _around(names: Iterable[str], run: Run) -> list[Run]:
    """Return a run cut into pieces between which these names have their place."""
    cuts = sorted({0, 2**48, *(_cut(name) for name in names)})
    ends = [run.count * cut // 2**48 for cut in cuts]
    return [
        Run(run.head, end - start, run.seed, *span)
        for span, (start, end) in zip(pairwise(cuts), pairwise(ends), strict=True)
        if end > start
    ]


def _cut(name: str) -> int:
    """Return the least first 48 bits of a UUID that stands behind a name."""

    def text(first48: int) -> str:
        digits = f"{first48:012x}"
        return f"{digits[:8]}-{digits[8:]}"

    return bisect_left(range(2**48), name, key=text)


def _mixed(directory: str, keys: int, wanted: Wanted) -> _Made:
    """Four in five in ``shared/``, one in fifty in ``taskowned/``, the rest in ``chk-<n>/``."""
    owned = keys // 50
    folders = keys * 18 // 100 // 100
    runs = [Run(f"{directory}chk-{100 + n}/".encode(), 100, wanted.seed) for n in range(folders)]
    if owned:
        runs.append(Run(f"{directory}taskowned/".encode(), owned, wanted.seed))
    shared = Run(f"{directory}shared/".encode(), keys - owned - folders * 100, wanted.seed)
    return [shared, *runs], []


LAYOUTS: dict[str, Callable[[str, int, Wanted], _Made]] = {
    "uuid": _uuid,
    "id": _id,
    "both": _both,
    "mixed": _mixed,
}
"""What each is, its docstring says."""


def _roots(job: str, runs: list[Run], wanted: Wanted) -> list[Stored]:
    """Return the retained checkpoints that name ``wanted.live`` files of ``shared/``, evenly."""
    directory, names = f"{ROOT}/{job}", live_names(runs, wanted.live)
    numbers = range(_FIRST_RETAINED, _FIRST_RETAINED + wanted.retained)
    data = {number: metadata(f"s3://{BUCKET}/{directory}", number, names) for number in numbers}
    return [
        Stored(f"{directory}/chk-{number}/{name}".encode(), wanted.ages.newest, body)
        for number in numbers
        for name, body in (
            ("_metadata", data[number]),
            *((file_of(f"{directory}/chk-{number}", index), b"meta") for index in range(SUBTASKS)),
        )
    ]


def live_names(runs: list[Run], live: int) -> list[str]:
    """Return the names of so many files of ``shared/``, evenly."""
    shared = [run for run in runs if b"/shared/" in run.head]
    total = sum(run.count for run in shared)
    names: list[str] = []
    before = 0
    for run in shared:
        first, last = (-(-at * live // total) for at in (before, before + run.count))
        wanted = np.arange(first, last) * total // live - before if live else np.empty(0, int)
        prefix = run.head.rpartition(b"/")[2].decode()
        names += [prefix + name for name in run.names(wanted)]
        before += run.count
    return names
