"""Declarations that a checkpoint implies, and the state that they cannot declare."""

from flinkstate.compatibility.declarations import (
    Declarations,
    DeclaredOperatorState,
    KeyedState,
    KeyedStateType,
    OperatorDeclaration,
    RedistributionMode,
    is_timer,
)
from flinkstate.operator_ids import operator_id
from flinkstate.state.contents import (
    CheckpointContents,
    KeyedStateContents,
    KeyedStateKind,
    OperatorContents,
)

_VALUES = "value"
_DECLARABLE = frozenset(KeyedStateType)


def implied_by(contents: CheckpointContents) -> Declarations:
    """Return declarations of every state in a checkpoint whose name and kind are known."""
    return Declarations(version=1, operators=tuple(map(_operator, contents.operators)))


def undeclarable(operator: OperatorContents) -> tuple[str, ...]:
    """Return the state of an operator that ``implied_by`` leaves out, each with the reason."""
    found = []
    if operator.keyed_unknown is not None:
        known = "other keyed states" if operator.keyed_states else "names of the keyed states"
        found.append(f"{known} are unknown: {operator.keyed_unknown}")
    found += [
        f"keyed state {each.name!r} is of kind {each.kind}, or not plain text"
        for each in operator.keyed_states or ()
        if not (is_flinks_own(each) or _is_declarable(each))
    ]
    found += [
        f"operator state {each.name!r} is not plain text"
        for each in operator.operator_states
        if not _is_text(each.name)
    ]
    return tuple(found)


def is_flinks_own(state: KeyedStateContents) -> bool:
    """Return whether a keyed state is Flink's own and needs no declaration."""
    return state.kind is KeyedStateKind.TIMERS or is_timer(state.name)


def _operator(operator: OperatorContents) -> OperatorDeclaration:
    uid = operator.uid if operator.uid and _is_text(operator.uid) else None
    is_hashed = uid is None or operator_id(uid) == operator.id
    return OperatorDeclaration(
        uid=uid,
        id=operator.id if is_hashed else None,
        uid_hash=None if is_hashed else operator.id,
        name=operator.name if operator.name and _is_text(operator.name) else None,
        keyed_states=tuple(
            KeyedState(
                id=each.name, type=KeyedStateType(each.kind), serializer=value_serializer(each)
            )
            for each in operator.keyed_states or ()
            if _is_declarable(each)
        ),
        operator_states=tuple(
            DeclaredOperatorState(id=each.name, redistribution=RedistributionMode.of(each.mode))
            for each in operator.operator_states
            if _is_text(each.name)
        ),
        coordinator=operator.coordinator_bytes is not None,
    )


def _is_declarable(state: KeyedStateContents) -> bool:
    if is_flinks_own(state):
        return False
    return state.kind.value in _DECLARABLE and _is_text(state.name)


def _is_text(name: str) -> bool:
    """Return whether a file can hold the name: Java names may be empty or hold lone surrogates."""
    return bool(name) and name.encode("utf-8", "replace") == name.encode("utf-8", "surrogatepass")


def value_serializer(state: KeyedStateContents) -> str | None:
    """Return the serializer of the state's values, if it is known and a file can hold it."""
    for each in state.serializers:
        if each.role == _VALUES and _is_text(each.snapshot):
            return each.snapshot
    return None
