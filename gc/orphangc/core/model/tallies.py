"""How much there is of something, and how old it is, for people."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

from orphangc.core.model.types import Action, Reason, Scope

_Key = TypeVar("_Key", bound=Hashable)


class AgeBucket(StrEnum):
    """How long ago an object was stored, when the cycle began; a tie is the older bucket."""

    UNDER_1_HOUR = "under_1h"
    HOURS_1_TO_24 = "1h_24h"
    DAYS_1_TO_3 = "1d_3d"
    DAYS_3_TO_7 = "3d_7d"
    DAYS_7_TO_30 = "7d_30d"
    DAYS_30_TO_90 = "30d_90d"
    OLDER = "older"
    UNKNOWN = "unknown"
    """No store time, zero, or further in the future than a listing takes."""


@dataclass(frozen=True, slots=True)
class Amount:
    """How many objects, and their bytes."""

    objects: int = 0
    bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        """Return both together."""
        return Amount(self.objects + other.objects, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What one job has of one kind of verdict at one age.

    Attributes:
        job_id: Owner of the directory; "" for objects in no known job's directory.
    """

    job_id: str
    scope: Scope
    action: Action
    reason: Reason
    age: AgeBucket
    amount: Amount


class Counted(Protocol):
    """Something that there is an amount of."""

    @property
    def amount(self) -> Amount:
        """Return how much there is of it."""


_Counted = TypeVar("_Counted", bound=Counted)


def summed(found: Iterable[_Counted], key: Callable[[_Counted], _Key]) -> dict[_Key, Amount]:
    """Return the amounts of cells or tallies, summed by the result of ``key``."""
    sums: dict[_Key, Amount] = {}
    for each in found:
        name = key(each)
        sums[name] = sums.get(name, Amount()) + each.amount
    return sums


def total(amounts: Iterable[Amount]) -> Amount:
    """Return all of some amounts together."""
    return sum(amounts, Amount())
