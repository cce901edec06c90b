"""Classes that declare state, written without deferred annotations."""

import dataclasses
from typing import Annotated, Generic, TypeVar

from flinkstate.declarations import ListState, MapState, ValueState, keyed_state, operator_state

T = TypeVar("T")
K = TypeVar("K")


class Slotted:
    """Has no room for defaults."""

    __slots__ = ("__hidden", "seen")
    seen: Annotated[ValueState[int], keyed_state("seen")]
    __hidden: Annotated[ListState[str], operator_state()]


@dataclasses.dataclass(slots=True)
class Record:
    """A data class keeps defaults elsewhere."""

    size: int = 3
    seen: ValueState[int] = keyed_state()  # noqa: RUF009 - a marker is no value


class Items(Generic[T]):
    """Leaves open what it holds."""

    items: ListState[T] = keyed_state("items")


class Pairs(Items[K], Generic[K, T]):
    """Fills one variable with another."""

    pairs: MapState[K, T] = keyed_state("pairs")


class Named(Pairs[str, "Order"]):
    """Fills both, one with what is defined further down."""


class Lost(Items["Nowhere"]):
    """Substitutes an undefined type."""


class Order:
    """What is held."""


class Foreign:
    """Uses classes that are not ours."""

    class ValueState(Generic[T]):
        """As another library calls it."""

    class Special(ValueState[T]):
        """Descends from it."""

    one: ValueState[int] = keyed_state()
    two: Special[int] = keyed_state()
