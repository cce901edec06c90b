"""The registry of a job's state: open until the job is submitted, frozen from then on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from threading import Lock
from typing import TypeVar

from flinkstate.compatibility.declarations import Declarations, OperatorDeclaration
from flinkstate.declarations.declaration_errors import (
    DeclarationError,
    RegistryFrozenError,
    StateConflictError,
    UndeclaredStateError,
    check_text,
)
from flinkstate.declarations.descriptors import (
    KeyedStateDescriptor,
    OperatorStateDescriptor,
    StateDescriptor,
)
from flinkstate.declarations.fields import declared_fields

_HASH = re.compile("[0-9a-f]{32}")
_D = TypeVar("_D", KeyedStateDescriptor, OperatorStateDescriptor)


class StateRegistry:
    """Declared state of one job; may be used by many threads at once.

    ``operator`` announces an operator by its uid and returns the object that declares its state.
    ``submit`` freezes the registry and returns the manifest. A declaration that races with it is
    either in the manifest or refused.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._operators: dict[str, OperatorStates] = {}
        self._uids: dict[str, str] = {}
        self._manifest: Declarations | None = None

    def operator(
        self,
        uid: str,
        *,
        uid_hash: str | None = None,
        name: str | None = None,
        has_coordinator: bool = False,
    ) -> OperatorStates:
        """Announce an operator; return the object that declares its state.

        Args:
            uid_hash: Uid hash that the job sets, from which Flink restores the operator first.
            has_coordinator: Whether its coordinator on the JobManager keeps state.

        Raises:
            RegistryFrozenError: The job is submitted.
            StateConflictError: The uid or the uid hash is another operator's.
            DeclarationError: The uid is empty, it or the name is no text, or the uid hash is not of
                32 hex digits.
        """
        check_text("an operator's uid", uid, operator=repr(uid))
        if name is not None:
            check_text(f"the name of operator {uid!r}", name, operator=uid)
        if not uid:
            raise DeclarationError("an operator needs a uid to find its state by", operator=uid)
        if uid_hash is not None and not _HASH.fullmatch(uid_hash):
            raise DeclarationError(
                f"the uid hash of operator {uid!r} is not of 32 hex digits 0-9 a-f: {uid_hash!r}",
                operator=uid,
            )
        with self._lock:
            if self._manifest is not None:
                raise RegistryFrozenError(
                    f"operator {uid!r} is announced after the job's submission:"
                    f" announced are {_listed(self._operators)}",
                    operator=uid,
                )
            if uid in self._operators:
                raise StateConflictError(f"operator {uid!r} is announced twice", operator=uid)
            states = OperatorStates(
                self, uid, uid_hash=uid_hash, name=name, has_coordinator=has_coordinator
            )
            for each in states.declared().ids:
                if self._uids.setdefault(each, uid) != uid:
                    raise StateConflictError(
                        f"operators {self._uids[each]!r} and {uid!r} have one id, {each}",
                        operator=uid,
                    )
            self._operators[uid] = states
            return states

    @property
    def is_frozen(self) -> bool:
        """Return whether the job is submitted."""
        return self._manifest is not None

    def submit(self) -> Declarations:
        """Freeze the registry and return the manifest; later calls return the same one."""
        with self._lock:
            if self._manifest is None:
                operators = tuple(each.declared() for each in self._operators.values())
                self._manifest = Declarations(version=1, operators=operators)
            return self._manifest

    def add(self, uid: str, declared: dict[str, _D], descriptor: _D) -> None:
        """Add a state to an operator's table.

        Raises:
            RegistryFrozenError: The job is submitted.
            StateConflictError: The id is declared already.
        """
        with self._lock:
            if self._manifest is not None:
                raise RegistryFrozenError(
                    f"{descriptor.kind} {descriptor.id!r} of operator {uid!r} is declared"
                    f" after the job's submission: declare it before; declared are"
                    f" {_listed(declared)}",
                    operator=uid,
                    state=descriptor.id,
                )
            if known := declared.get(descriptor.id):
                both = {known.kind, descriptor.kind}
                how = "twice" if len(both) == 1 else f"as {known.kind} and as {descriptor.kind}"
                raise StateConflictError(
                    f"operator {uid!r} declares state {descriptor.id!r} {how}",
                    operator=uid,
                    state=descriptor.id,
                )
            declared[descriptor.id] = descriptor


class OperatorStates:
    """Declared state of one operator."""

    def __init__(
        self,
        registry: StateRegistry,
        uid: str,
        *,
        uid_hash: str | None,
        name: str | None,
        has_coordinator: bool,
    ) -> None:
        self.uid = uid
        self._uid_hash = uid_hash
        self._registry = registry
        self._name = name
        self._has_coordinator = has_coordinator
        self._keyed: dict[str, KeyedStateDescriptor] = {}
        self._operator: dict[str, OperatorStateDescriptor] = {}

    def declare(self, *descriptors: StateDescriptor) -> None:
        """Declare states; if one is refused, those before it stay declared.

        Raises:
            RegistryFrozenError: The job is submitted.
            StateConflictError: An id is declared already, as keyed or as operator state.
        """
        for descriptor in descriptors:
            if isinstance(descriptor, KeyedStateDescriptor):
                self._registry.add(self.uid, self._keyed, descriptor)
            else:
                self._registry.add(self.uid, self._operator, descriptor)

    def declare_fields(self, cls: type) -> None:
        """Declare the state of a class's fields (``declared_fields``).

        Raises:
            DeclarationError: A field cannot be understood; other errors as in ``declare``.
        """
        self.declare(*(field.descriptor for field in declared_fields(cls)))

    def keyed_state(self, state_id: str) -> KeyedStateDescriptor:
        """Return a declared keyed state.

        Raises:
            UndeclaredStateError: It is not declared.
        """
        if state_id not in self._keyed:
            raise self._undeclared("keyed", state_id, self._keyed)
        return self._keyed[state_id]

    def operator_state(self, state_id: str) -> OperatorStateDescriptor:
        """Return a declared operator state.

        Raises:
            UndeclaredStateError: It is not declared.
        """
        if state_id not in self._operator:
            raise self._undeclared("operator", state_id, self._operator)
        return self._operator[state_id]

    def declared(self) -> OperatorDeclaration:
        """Return the operator's part of the manifest, states in the order of declaration."""
        return OperatorDeclaration(
            uid=self.uid,
            uid_hash=self._uid_hash,
            name=self._name,
            coordinator=self._has_coordinator,
            keyed_states=tuple(each.declared() for each in self._keyed.values()),
            operator_states=tuple(each.declared() for each in self._operator.values()),
        )

    def _undeclared(
        self, word: str, state_id: str, declared: Iterable[str]
    ) -> UndeclaredStateError:
        return UndeclaredStateError(
            f"operator {self.uid!r} declares no {word} state {state_id!r};"
            f" it declares {_listed(declared)}",
            operator=self.uid,
            state=state_id,
        )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
