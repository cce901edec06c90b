"""State declared before a job runs, in Python: the idea of Flink's FLIP-22 for PyFlink-like jobs.

Flink learns of a state when the running job first asks for it. A declaration states before
submission which states a job keeps, of which types, under which queryable names, and how each is
redistributed. The manifest of a job is the declarations file that ``orphangc unclaimed`` compares
with a checkpoint.

A class declares its states on its fields. The annotations may be these, or PyFlink's classes of
the same names:

>>> from flinkstate.declarations import ListState, MapState, StateRegistry, ValueState
>>> from flinkstate.declarations import keyed_state, operator_state, value_state
>>> class CountOrders:
...     seen: ValueState[int] = keyed_state("orders-seen", queryable_name="orders")
...     _by_day: MapState[str, int] = keyed_state()
...     offsets: ListState[int] = operator_state(redistribution="union")

An operator is announced by its uid. Its states come from the fields, from descriptors, or both:

>>> registry = StateRegistry()
>>> orders = registry.operator("count-orders")
>>> orders.declare_fields(CountOrders)
>>> orders.declare(value_state("last-order", "str", serializer="pickle"))

Submission freezes the registry and gives the manifest:

>>> manifest = registry.submit()
>>> [(each.id, each.type.value, each.serializer) for each in manifest.operators[0].keyed_states]
... # doctest: +NORMALIZE_WHITESPACE
[('orders-seen', 'value', 'int'), ('by_day', 'map', 'str, int'),
 ('last-order', 'value', 'pickle')]
>>> orders.declare(value_state("too-late"))  # doctest: +NORMALIZE_WHITESPACE
Traceback (most recent call last):
flinkstate.declarations.declaration_errors.RegistryFrozenError: keyed value state 'too-late' of
operator 'count-orders' is declared after the job's submission: declare it before; declared are
'orders-seen', 'by_day', 'last-order'

The running job finds declared state by its id, and no other:

>>> orders.keyed_state("orders-seen").queryable_name
'orders'
>>> orders.operator_state("offset")  # doctest: +NORMALIZE_WHITESPACE
Traceback (most recent call last):
flinkstate.declarations.declaration_errors.UndeclaredStateError: operator 'count-orders' declares no
operator state 'offset'; it declares 'offsets'

``check_restore`` takes each operator state's redistribution from the manifest, and refuses a
checkpoint that says otherwise.
"""

from flinkstate.declarations.declaration_errors import (
    DeclarationError,
    RegistryFrozenError,
    RestoreMismatchError,
    StateConflictError,
    UndeclaredStateError,
)
from flinkstate.declarations.descriptors import (
    KeyedStateDescriptor,
    OperatorStateDescriptor,
    StateDescriptor,
    aggregating_state,
    broadcast_state,
    list_state,
    map_state,
    operator_list_state,
    reducing_state,
    union_list_state,
    value_state,
)
from flinkstate.declarations.fields import (
    DeclaredField,
    declared_fields,
    keyed_state,
    operator_state,
)
from flinkstate.declarations.registry import OperatorStates, StateRegistry
from flinkstate.declarations.restoring import RestoredState, check_restore
from flinkstate.declarations.states import (
    AggregatingState,
    BroadcastState,
    ListState,
    MapState,
    ReducingState,
    ValueState,
)

__all__ = [
    "AggregatingState",
    "BroadcastState",
    "DeclarationError",
    "DeclaredField",
    "KeyedStateDescriptor",
    "ListState",
    "MapState",
    "OperatorStateDescriptor",
    "OperatorStates",
    "ReducingState",
    "RegistryFrozenError",
    "RestoreMismatchError",
    "RestoredState",
    "StateConflictError",
    "StateDescriptor",
    "StateRegistry",
    "UndeclaredStateError",
    "ValueState",
    "aggregating_state",
    "broadcast_state",
    "check_restore",
    "declared_fields",
    "keyed_state",
    "list_state",
    "map_state",
    "operator_list_state",
    "operator_state",
    "reducing_state",
    "union_list_state",
    "value_state",
]
