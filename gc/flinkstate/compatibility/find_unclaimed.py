"""Finds unclaimed state, without a declaration, and declared state that is not stored."""

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from itertools import chain
from typing import Any

from flinkstate.compatibility.comparison import (
    AbsentOperator,
    ChangedState,
    DeclarationComparison,
    FindingKind,
    Findings,
    MissingState,
    OperatorRef,
    ReplacedOperator,
    Unclaimed,
    Uncompared,
)
from flinkstate.compatibility.declarations import (
    Declarations,
    DeclaredOperatorState,
    KeyedState,
    OperatorDeclaration,
    RedistributionMode,
)
from flinkstate.compatibility.infer import is_flinks_own, value_serializer
from flinkstate.state.contents import (
    CheckpointContents,
    KeyedStateContents,
    KeyedStateKind,
    OperatorContents,
)
from flinkstate.values.metadata_values import HandleKind, Metadata, Subtask

_SNAPSHOT = "Snapshot"
_NESTED = re.compile("[<(]")

_KEY_GROUPS = frozenset({HandleKind.KEY_GROUPS, HandleKind.KEY_GROUPS_SAVEPOINT})
"""Kinds of handles whose entries can be rewritten; not if a heap backend wrote its own format."""


def stateful_operators(metadata: Metadata) -> frozenset[str]:
    """Return the ids of the operators without which Flink refuses to restore a job.

    Any handle counts, even one without bytes that only keeps directories of merged files.

    Source: Flink 1.8-2.3, ``Checkpoints.loadAndValidateCheckpoint``,
    ``OperatorSubtaskState.hasState``.
    """
    return frozenset(
        each.id
        for each in metadata.operators
        if (each.coordinator is not None or any(map(_holds, each.subtasks or ())))
    )


def _holds(subtask: Subtask) -> bool:
    handles = (
        subtask.managed_operator,
        subtask.raw_operator,
        subtask.managed_keyed,
        subtask.raw_keyed,
    )
    return subtask.has_in_flight_data or any(each is not None for each in handles)


def compared(
    contents: CheckpointContents, declarations: Declarations, *, stateful: Collection[str]
) -> DeclarationComparison:
    """Compare the state in a checkpoint with declarations.

    Args:
        stateful: Result of ``stateful_operators`` for the same checkpoint.
    """
    stored = {each.id for each in contents.operators}
    declared = {each.stored_in(stored): each for each in declarations.operators}
    known = sorted(
        {name for each in contents.operators for name in (each.uid, each.name, each.id) if name}
    )
    found = [_of_operator(each, declared.get(each.id), stateful) for each in contents.operators]
    together: dict[str, Any] = {
        name: tuple(chain.from_iterable(getattr(each, name) for each in found))
        for name in (each.name for each in fields(Findings))
    }
    return DeclarationComparison(
        checkpoint_id=contents.checkpoint_id,
        absent=tuple(
            _absent_operator(each, known)
            for each in declarations.operators
            if each.stored_in(stored) is None
        ),
        **together,
    )


def _of_operator(
    operator: OperatorContents, declared: OperatorDeclaration | None, stateful: Collection[str]
) -> Findings:
    if declared is None:
        if operator.id not in stateful:
            return Findings()
        ref = OperatorRef(id=operator.id, uid=operator.uid, name=operator.name)
        whole = Unclaimed(kind=FindingKind.OPERATOR, operator=ref, bytes=operator.total_bytes)
        return Findings(unclaimed=(whole,))
    ref = OperatorRef(
        id=operator.id, uid=operator.uid or declared.uid, name=operator.name or declared.name
    )
    unclaimed = tuple(_unclaimed_of(operator, declared, ref))
    missing = tuple(_missing_states(operator, declared, unclaimed, ref))
    replaced = _replaced(operator, declared, unclaimed, missing=missing, ref=ref)
    return Findings(
        unclaimed=unclaimed,
        changed=tuple(_changed_of(operator, declared, ref)),
        replaced=() if replaced is None else (replaced,),
        uncompared=tuple(_uncompared_of(operator, ref)),
        missing=missing,
        serializers=tuple(_other_serializers(operator, declared, ref)),
    )


def _unclaimed_of(
    operator: OperatorContents, declared: OperatorDeclaration, ref: OperatorRef
) -> Iterator[Unclaimed]:
    names = {each.id for each in declared.operator_states}
    for state in operator.operator_states:
        if state.name not in names:
            yield Unclaimed(
                kind=FindingKind.OPERATOR_STATE,
                operator=ref,
                state=state.name,
                form=RedistributionMode.of(state.mode),
                bytes=state.bytes,
                partitions=state.partitions,
                parallelism=operator.parallelism,
            )
    names = {each.id for each in declared.keyed_states}
    for keyed in operator.keyed_states or ():
        if keyed.name not in names and not is_flinks_own(keyed):
            yield Unclaimed(
                kind=FindingKind.KEYED_STATE,
                operator=ref,
                state=keyed.name,
                form=keyed.kind,
                bytes=keyed.bytes,
                is_prunable=bool(operator.keyed_kinds)
                and _KEY_GROUPS.issuperset(operator.keyed_kinds),
            )
    if operator.coordinator_bytes is not None and not declared.coordinator:
        yield Unclaimed(
            kind=FindingKind.COORDINATOR_STATE, operator=ref, bytes=operator.coordinator_bytes
        )


def _changed_of(
    operator: OperatorContents, declared: OperatorDeclaration, ref: OperatorRef
) -> Iterator[ChangedState]:
    modes = {each.id: each.redistribution for each in declared.operator_states}
    forms = {each.name: RedistributionMode.of(each.mode) for each in operator.operator_states}
    yield from _differing(FindingKind.OPERATOR_STATE, forms, modes, ref)
    types = {each.id: each.type for each in declared.keyed_states}
    kinds = {each.name: each.kind for each in _of_known_kind(operator)}
    yield from _differing(FindingKind.KEYED_STATE, kinds, types, ref)


def _differing(
    kind: FindingKind,
    stored: Mapping[str, StrEnum],
    declared: Mapping[str, StrEnum],
    ref: OperatorRef,
) -> Iterator[ChangedState]:
    for name, form in stored.items():
        wanted = declared.get(name)
        if wanted is not None and wanted.value != form.value:
            yield ChangedState(
                kind=kind, operator=ref, state=name, stored=form.value, declared=wanted.value
            )


def _other_serializers(
    operator: OperatorContents, declared: OperatorDeclaration, ref: OperatorRef
) -> Iterator[ChangedState]:
    stored = {each.name: value_serializer(each) for each in operator.keyed_states or ()}
    hints = {each.id: each.serializer for each in declared.keyed_states}
    areas = [(FindingKind.KEYED_STATE, stored, hints)]
    stored = {each.name: each.serializer for each in operator.operator_states}
    hints = {each.id: each.serializer for each in declared.operator_states}
    areas.append((FindingKind.OPERATOR_STATE, stored, hints))
    for kind, names, wanted in areas:
        for state, name in names.items():
            hint = wanted.get(state)
            if name is not None and hint is not None and serializers_differ(name, hint):
                yield ChangedState(kind=kind, operator=ref, state=state, stored=name, declared=hint)


def serializers_differ(stored: str | None, hint: str | None) -> bool:
    """Return whether both sides name the class of a serializer's snapshot, and not the same one.

    A hint in other words (``pickle``, ``long``) is not compared. Nested classes that could not be
    read are left out, and so compare with anything.
    """
    if stored is None or hint is None or not _NESTED.split(hint)[0].endswith(_SNAPSHOT):
        return False
    if "<" in stored and "<" in hint:
        return stored != hint
    return stored.partition("<")[0] != hint.partition("<")[0]


def _uncompared_of(operator: OperatorContents, ref: OperatorRef) -> Iterator[Uncompared]:
    if operator.keyed_unknown is not None:
        why = f"names of keyed states: {operator.keyed_unknown}"
        yield Uncompared(operator=ref, why=why, hides_names=True)
    for keyed in operator.keyed_states or ():
        if keyed.kind is KeyedStateKind.UNKNOWN:
            why = f"the type of keyed state {keyed.name!r} is unknown"
            yield Uncompared(operator=ref, why=why, hides_names=False)
    raw = {"operator": operator.has_raw_operator, "keyed": operator.has_raw_keyed}
    for word, is_there in raw.items():
        if is_there:
            why = f"raw {word} state carries no names"
            yield Uncompared(operator=ref, why=why, hides_names=False)


def _of_known_kind(operator: OperatorContents) -> Iterator[KeyedStateContents]:
    for each in operator.keyed_states or ():
        if each.kind is not KeyedStateKind.UNKNOWN:
            yield each


def _replaced(
    operator: OperatorContents,
    declared: OperatorDeclaration,
    unclaimed: Sequence[Unclaimed],
    *,
    missing: Sequence[MissingState],
    ref: OperatorRef,
) -> ReplacedOperator | None:
    """Return the finding that another operator took over the uid, if the state suggests it.

    The rule applies if no stored state is declared and no declared state is stored. It also
    applies, once the new operator has written a checkpoint, to union list state beside a
    coordinator: sources that keep union list states have no coordinator.
    """
    left = [each for each in unclaimed if each.state is not None]
    has_coordinator = declared.coordinator or operator.coordinator_bytes is not None
    leaves_union = any(each.form == RedistributionMode.UNION for each in left)
    if not (leaves_union and has_coordinator) and not _share_nothing(operator, declared):
        return None
    has_happened = bool(_declared_names(declared) & _stored_names(operator)) or (
        declared.coordinator and operator.coordinator_bytes is not None
    )
    return ReplacedOperator(
        operator=ref,
        left=tuple(each.state for each in left if each.state is not None),
        bytes=sum(each.bytes or 0 for each in left),
        missing=tuple(sorted({each.state for each in missing})),
        has_happened=has_happened,
        # without missing states there is no state to be stated as new
        is_stated_new=all(each.is_stated_new for each in missing)
        and (bool(missing) or has_happened or declared.new),
    )


def _share_nothing(operator: OperatorContents, declared: OperatorDeclaration) -> bool:
    stored, wanted = _stored_names(operator), _declared_names(declared)
    is_known = operator.keyed_unknown is None
    return is_known and bool(stored) and bool(wanted) and not stored & wanted


def _stored_names(operator: OperatorContents) -> set[str]:
    keyed = (each.name for each in operator.keyed_states or () if not is_flinks_own(each))
    return {each.name for each in operator.operator_states}.union(keyed)


def _declared_names(declared: OperatorDeclaration) -> set[str]:
    return {each.id for each in declared.operator_states}.union(
        each.id for each in declared.keyed_states
    )


def _absent_operator(declared: OperatorDeclaration, known: Sequence[str]) -> AbsentOperator:
    wanted = [name for name in (declared.uid, declared.name, declared.id) if name]
    return AbsentOperator(
        label=declared.label,
        id=declared.operator_id,
        nearest=_nearest(wanted, known),
        is_stated_new=declared.new,
    )


def _missing_states(
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
    close = (difflib.get_close_matches(name, known, n=1) for name in wanted)
    return next((found[0] for found in close if found), None)
