"""A bridge to PyFlink: declared fields become state in ``open``, from one declaration.

>>> class CountOrders:                        # a KeyedProcessFunction
...     seen: ValueState[int] = keyed_state("orders-seen")
...     def open(self, runtime_context):
...         open_state(self, runtime_context)
...     def process_element(self, value, ctx):
...         self.seen.update((self.seen.value() or 0) + 1)

PyFlink is imported when state is opened, not before: a manifest is made without it.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from flinkstate.compatibility.declarations import KeyedStateType
from flinkstate.declarations.declaration_errors import DeclarationError
from flinkstate.declarations.descriptors import KeyedStateDescriptor
from flinkstate.declarations.fields import declared_fields

_TYPES = {"int": "LONG", "str": "STRING", "float": "DOUBLE", "bool": "BOOLEAN"}
"""PyFlink's types of plain values; everything else is pickled."""


def open_state(
    function: object, runtime_context: Any, *, types: Mapping[str, Any] | None = None
) -> None:
    """Ask the runtime context for every keyed state that a function's fields declare.

    The state is assigned to the field. Annotations give the types: ``int`` (64 bits), ``str``,
    ``float`` and ``bool`` are Flink's own, other values are pickled.

    Args:
        runtime_context: What PyFlink gives to ``open``.
        types: PyFlink's type information by a state's id, where annotations do not give it: one,
            or for a map a pair.

    Raises:
        DeclarationError: A field declares operator state, which PyFlink does not offer, or a kind
            of keyed state that needs a function of the job: open that one in the job.
    """
    for field in declared_fields(type(function)):
        descriptor = field.descriptor
        if not isinstance(descriptor, KeyedStateDescriptor) or descriptor.type not in _OPENERS:
            raise DeclarationError(
                f"{field.label} declares {descriptor.kind}, which cannot be opened from an"
                " annotation: open it in the job, and declare it by a descriptor",
                operator=type(function).__name__,
                state=descriptor.id,
            )
        chosen = (types or {}).get(descriptor.id)
        state = _OPENERS[descriptor.type](runtime_context, descriptor, chosen)
        setattr(function, field.name, state)


def _states() -> Any:
    return import_module("pyflink.datastream.state")


def _value(context: Any, descriptor: KeyedStateDescriptor, chosen: Any) -> Any:
    (value,) = _types_of(descriptor, chosen, 1)
    return context.get_state(_states().ValueStateDescriptor(descriptor.id, value))


def _list(context: Any, descriptor: KeyedStateDescriptor, chosen: Any) -> Any:
    (element,) = _types_of(descriptor, chosen, 1)
    return context.get_list_state(_states().ListStateDescriptor(descriptor.id, element))


def _map(context: Any, descriptor: KeyedStateDescriptor, chosen: Any) -> Any:
    key, value = _types_of(descriptor, chosen, 2)
    return context.get_map_state(_states().MapStateDescriptor(descriptor.id, key, value))


_OPENERS: Mapping[KeyedStateType, Callable[[Any, KeyedStateDescriptor, Any], Any]] = {
    KeyedStateType.VALUE: _value,
    KeyedStateType.LIST: _list,
    KeyedStateType.MAP: _map,
}


def _types_of(descriptor: KeyedStateDescriptor, chosen: Any, count: int) -> tuple[Any, ...]:
    """Return PyFlink's type information of a state's values, as chosen or as annotated."""
    if chosen is not None:
        return tuple(chosen) if count > 1 else (chosen,)
    known = import_module("pyflink.common.typeinfo").Types
    texts = _split(descriptor.value_type or "")
    names = texts if len(texts) == count else [""] * count
    return tuple(getattr(known, _TYPES.get(each, "PICKLED_BYTE_ARRAY"))() for each in names)


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for each in text:
        depth += (each == "[") - (each == "]")
        if each == "," and not depth:
            parts.append("")
        else:
            parts[-1] += each
    return [part.strip() for part in parts]
