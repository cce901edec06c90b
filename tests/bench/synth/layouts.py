"""A storage as Flink leaves it, of any size: job directories with retained checkpoints.

It has so many keys in all, and is the same each time for the same arguments.
"""

from dataclasses import dataclass
from hashlib import md5

import numpy as np

from bench.checkpoints import SUBTASKS, metadata
from bench.synth.keyspace import Ages, KeySpace, Run, Stored

BUCKET, ROOT = "bench", "checkpoints"
_FIRST_RETAINED = 41


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a storage is to be."""

    keys: int  # all together, roots too
    jobs: int = 1  # job directories, of about equal size
    live: int = 1000  # files of each job that its retained checkpoints name
    retained: int = 2  # checkpoints of each job that are retained
    ages: Ages
    seed: int = 1


def layout(wanted: Wanted) -> KeySpace:
    """Return the storage: names that are UUIDs, as Flink writes them today."""
    runs: list[Run] = []
    objects: list[Stored] = []
    for number in range(wanted.jobs):
        job = md5(f"{wanted.seed} {number}".encode()).hexdigest()
        share = wanted.keys // wanted.jobs + (number < wanted.keys % wanted.jobs)
        keys = share - wanted.retained * (SUBTASKS + 1)
        run = Run(f"{ROOT}/{job}/shared/".encode(), keys, wanted.seed)
        runs.append(run)
        objects += _roots(job, run, wanted)
    return KeySpace(runs, objects)


def _roots(job: str, run: Run, wanted: Wanted) -> list[Stored]:
    """Return the retained checkpoints that name ``wanted.live`` files of ``shared/``, evenly."""
    directory = f"{ROOT}/{job}"
    names = run.names(np.arange(wanted.live) * run.count // max(wanted.live, 1))
    numbers = range(_FIRST_RETAINED, _FIRST_RETAINED + wanted.retained)
    data = {number: metadata(f"s3://{BUCKET}/{directory}", number, names) for number in numbers}
    return [
        Stored(f"{directory}/chk-{number}/{name}".encode(), wanted.ages.newest, body)
        for number in numbers
        for name, body in (
            ("_metadata", data[number]),
            *((f"meta-{index}", b"meta") for index in range(SUBTASKS)),
        )
    ]
