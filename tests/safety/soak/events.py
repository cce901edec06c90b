"""Who is alive in a soak's story, and what has happened."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Line:
    """Jobs of which each goes on where its predecessor was, at some checkpoint of it."""

    job: str  # the one that is alive
    parallelism: int  # of it


@dataclass(slots=True)
class Deeds:
    """What has happened."""

    kills: Counter[str] = field(default_factory=Counter)  # by process
    restores: Counter[str] = field(default_factory=Counter)  # by mode, and whether from a savepoint
    rescales: int = 0  # restores with another parallelism
    # by format, and whether the job ended with it
    savepoints: Counter[str] = field(default_factory=Counter)
    pruned: int = 0  # checkpoints that the operator deleted
    stalls: int = 0  # times that acknowledgements were held back without further harm
    checkpoints: int = 0  # that completed, by Flink's count
    # checkpoints that could not be restored meanwhile, and which files of each are gone
    damaged: dict[str, set[str]] = field(default_factory=dict)
    # jobs that did not come back although nothing that their checkpoint names by path is gone,
    # and Flink's reason
    unexplained: dict[str, str] = field(default_factory=dict)
