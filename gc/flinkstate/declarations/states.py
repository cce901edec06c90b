"""Kinds of state for annotations; PyFlink's own classes of these names also serve."""

from typing import Generic, TypeVar

from flinkstate.compatibility.declarations import KeyedStateType, RedistributionMode

_T = TypeVar("_T")
_K = TypeVar("_K")
_V = TypeVar("_V")


class ValueState(Generic[_T]):
    """One value for each key."""


class ListState(Generic[_T]):
    """A list for each key or subtask."""


class MapState(Generic[_K, _V]):
    """A map for each key."""


class ReducingState(Generic[_T]):
    """A value for each key, into which new values are reduced."""


class AggregatingState(Generic[_K, _V]):
    """An accumulator for each key, with the types of its input and output."""


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
    """Return the kind of state that a class or one of its base classes names."""
    bases = annotation.__mro__ if isinstance(annotation, type) else ()
    return next((base.__name__ for base in bases if base.__name__ in _NAMES), None)
