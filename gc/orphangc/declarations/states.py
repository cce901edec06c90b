"""Names of kinds of state, for annotations; PyFlink's own classes of these names do as well."""

from __future__ import annotations

from typing import Generic, TypeVar

from orphangc.flink.compatibility.declarations import KeyedStateType, RedistributionMode

_T = TypeVar("_T")
_K = TypeVar("_K")
_V = TypeVar("_V")


class ValueState(Generic[_T]):
    """One value a key."""


class ListState(Generic[_T]):
    """A list, a key or a subtask."""


class MapState(Generic[_K, _V]):
    """A map a key."""


class ReducingState(Generic[_T]):
    """A value a key that new ones are reduced into."""


class AggregatingState(Generic[_K, _V]):
    """An accumulator a key: of what comes in, and what comes out."""


class BroadcastState(Generic[_K, _V]):
    """A map that is the same in every subtask."""


KEYED = {
    ValueState.__name__: KeyedStateType.VALUE,
    ListState.__name__: KeyedStateType.LIST,
    MapState.__name__: KeyedStateType.MAP,
    ReducingState.__name__: KeyedStateType.REDUCING,
    AggregatingState.__name__: KeyedStateType.AGGREGATING,
}
OPERATOR = {
    ListState.__name__: (RedistributionMode.SPLIT, RedistributionMode.UNION),
    BroadcastState.__name__: (RedistributionMode.BROADCAST,),
}
_NAMES = {*KEYED, *OPERATOR}


def kind_of(annotation: object) -> str | None:
    """Return the name of the kind of state that a class stands for, itself or by descent."""
    bases = annotation.__mro__ if isinstance(annotation, type) else ()
    return next((base.__name__ for base in bases if base.__name__ in _NAMES), None)
