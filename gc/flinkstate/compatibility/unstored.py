"""Finds declared state that is not stored: it is new or misspelt."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from flinkstate.compatibility.comparison import (
    AbsentOperator,
    FindingKind,
    MissingState,
    OperatorRef,
    Unclaimed,
)
from flinkstate.compatibility.declarations import (
    DeclaredOperatorState,
    KeyedState,
    OperatorDeclaration,
)
from flinkstate.state.contents import OperatorContents


def absent_operator(declared: OperatorDeclaration, known: Sequence[str]) -> AbsentOperator:
    """Return a declared operator that is not stored, with the most similar stored one.

    Args:
        known: Uids, names and ids of all stored operators, in order.
    """
    wanted = [name for name in (declared.uid, declared.name, declared.id) if name]
    return AbsentOperator(
        label=declared.label,
        id=declared.operator_id,
        nearest=_nearest(wanted, known),
        is_stated_new=declared.new,
    )


def missing_states(
    operator: OperatorContents,
    declared: OperatorDeclaration,
    unclaimed: Sequence[Unclaimed],
    ref: OperatorRef,
) -> Iterator[MissingState]:
    """Yield the declared states that are not stored; no keyed ones if stored names are unknown."""
    stored = {each.name for each in operator.operator_states}
    areas: list[tuple[FindingKind, set[str], Sequence[DeclaredOperatorState | KeyedState]]] = [
        (FindingKind.OPERATOR_STATE, stored, declared.operator_states)
    ]
    if operator.keyed_unknown is None:
        stored = {each.name for each in operator.keyed_states or ()}
        areas.append((FindingKind.KEYED_STATE, stored, declared.keyed_states))
    for kind, names, states in areas:
        left = sorted(each.state for each in unclaimed if each.kind is kind and each.state)
        for each in states:
            if each.id not in names:
                yield MissingState(
                    kind=kind,
                    operator=ref,
                    state=each.id,
                    nearest=_nearest([each.id], left),
                    is_stated_new=each.new,
                )


def _nearest(wanted: Sequence[str], known: Sequence[str]) -> str | None:
    """Return the known name most similar to the first wanted name that resembles any."""
    close = (difflib.get_close_matches(name, known, n=1) for name in wanted)
    return next((found[0] for found in close if found), None)
