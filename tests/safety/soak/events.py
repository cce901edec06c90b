"""Who is alive in a soak's story, and what has happened."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Line:
    """Jobs of which each goes on where its predecessor was, at some checkpoint of it.

    Attributes:
        job: The one that is alive.
        parallelism: Of it.

    """

    job: str
    parallelism: int


@dataclass(slots=True)
class Deeds:
    """What has happened.

    Attributes:
        kills: By process.
        restores: By mode, and whether from a savepoint.
        rescales: Restores with another parallelism.
        savepoints: By format, and whether the job ended with it.
        pruned: Checkpoints that the operator deleted.
        stalls: Times that acknowledgements were held back without further harm.
        checkpoints: That completed, by Flink's count.
        damaged: Checkpoints that could not be restored meanwhile, and which files of each are gone.
        unexplained: Jobs that did not come back although nothing that their checkpoint names by
            path is gone, and Flink's reason.

    """

    kills: Counter[str] = field(default_factory=Counter)
    restores: Counter[str] = field(default_factory=Counter)
    rescales: int = 0
    savepoints: Counter[str] = field(default_factory=Counter)
    pruned: int = 0
    stalls: int = 0
    checkpoints: int = 0
    damaged: dict[str, set[str]] = field(default_factory=dict)
    unexplained: dict[str, str] = field(default_factory=dict)
