"""Searching every base for checkpoints; a sibling that cannot be reached ends no run."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from flinkstate.places.locations import Location
from orphangc.collect.observe.checkpoints import CheckpointScan, CheckpointsRead
from orphangc.errors import OrphanGcError
from orphangc.ports import Storage

_T = TypeVar("_T")

_AT_ONCE = 8
"""Number of siblings that are searched at the same time; a configuration may name dozens."""

NO_SCAN = CheckpointScan()
NOTHING_READ = CheckpointsRead(NO_SCAN, (), ())


@dataclass(slots=True)
class BaseSearch:
    """Asks every base the same, several times in one cycle.

    Attributes:
        siblings: Further storages, each of which may fail.
        unreached: Reason by location for siblings that failed once: these are asked no more.
    """

    own: Sequence[Storage]
    siblings: Sequence[Storage]
    unreached: dict[Location, str] = field(default_factory=dict)

    def ask(self, question: Callable[[Storage], _T], nothing: _T) -> tuple[_T, ...]:
        """Return the answer of each base, siblings last, or raise ``StorageUnreachableError``."""

        def asked(sibling: Storage) -> _T:
            if sibling.location in self.unreached:
                return nothing
            try:
                return question(sibling)
            except OrphanGcError as err:
                self.unreached[sibling.location] = str(err)
                return nothing

        answers = [question(base) for base in self.own]
        if not self.siblings[1:]:
            return (*answers, *map(asked, self.siblings))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return (*answers, *pool.map(asked, self.siblings))
