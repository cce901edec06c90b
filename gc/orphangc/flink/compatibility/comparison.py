"""What a comparison of a checkpoint with declarations found, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FindingKind(StrEnum):
    """What is unclaimed."""

    OPERATOR = "operator"
    OPERATOR_STATE = "operator_state"
    KEYED_STATE = "keyed_state"
    COORDINATOR_STATE = "coordinator_state"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorRef:
    """Which operator: its id, and uid and name where they are known."""

    id: str
    uid: str | None
    name: str | None

    @property
    def label(self) -> str:
        """Return what a person knows it by."""
        return self.uid or self.name or self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclaimed:
    """State that nothing declares.

    Attributes:
        kind: What of it.
        operator: Whose.
        state: Name of a single state; None for a whole operator and for a coordinator's.
        form: Redistribution of an operator state, type of a keyed one; else None.
        bytes: None if unknown: files of keyed state say nothing of single states.
        is_prunable: Whether a ``_metadata`` without it can be written.

    """

    kind: FindingKind
    operator: OperatorRef
    state: str | None = None
    form: str | None = None
    bytes: int | None
    is_prunable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedState:
    """A state that is declared in another form than it is stored in: Flink refuses to restore it.

    Source: Flink 1.8-2.3, ``DefaultOperatorStateBackend.checkStateNameAndMode``,
    ``RegisteredKeyValueStateBackendMetaInfo.checkStateMetaInfo``.
    """

    kind: FindingKind
    operator: OperatorRef
    state: str
    stored: str
    declared: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacedOperator:
    """An operator whose uid was given to another one, which finds nothing of its own in it.

    Flink sees nothing wrong: it restores the operator, and the states that it registers are
    empty. A source so starts from where its settings say, over again or behind what is new.

    Attributes:
        operator: Which.
        left: Stored states that are left unread.
        bytes: Of those, as far as known.
        missing: Declared states that are not stored, and so start empty.
        has_happened: Whether the checkpoint holds something of the new operator too.
        is_stated_new: Whether the declaration says that all that starts empty is new.

    """

    operator: OperatorRef
    left: tuple[str, ...]
    bytes: int
    missing: tuple[str, ...]
    has_happened: bool
    is_stated_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingState:
    """A declared state that a stored operator lacks: a new one, or a slip of the pen.

    Attributes:
        kind: Keyed or operator state.
        operator: Whose.
        state: Its name.
        nearest: The unclaimed state of the same kind with the name most like it, if any is.
        is_stated_new: Whether the declaration says so.

    """

    kind: FindingKind
    operator: OperatorRef
    state: str
    nearest: str | None
    is_stated_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncompared:
    """What of a declared operator's state cannot be compared, and why.

    Attributes:
        operator: Whose.
        why: In words.
        hides_names: Whether state that nothing declares may hide in it: names exist, and were
            not read. Raw state has none to read, and of a state of unknown type the name is
            known: both will be so in every checkpoint of the job, and hide nothing.

    """

    operator: OperatorRef
    why: str
    hides_names: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentOperator:
    """A declared operator that the checkpoint does not hold: a new one, or a slip of the pen.

    Attributes:
        label: Uid or id as declared.
        id: Operator id.
        nearest: The stored operator with the name most like it, if any is.
        is_stated_new: Whether the declaration says so.

    """

    label: str
    id: str
    nearest: str | None
    is_stated_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclarationComparison:
    """What a checkpoint holds and what is declared, side by side; in the order of the file."""

    checkpoint_id: int
    unclaimed: tuple[Unclaimed, ...]
    changed: tuple[ChangedState, ...]
    replaced: tuple[ReplacedOperator, ...]
    uncompared: tuple[Uncompared, ...]
    absent: tuple[AbsentOperator, ...]
    missing: tuple[MissingState, ...]

    @property
    def is_clean(self) -> bool:
        """Return whether every state whose name is known is declared as it is stored."""
        return not (self.unclaimed or self.changed)

    @property
    def is_complete(self) -> bool:
        """Return whether every name that there is could be read."""
        return not any(each.hides_names for each in self.uncompared)

    @property
    def misnamed(self) -> tuple[AbsentOperator, ...]:
        """Return the absent operators that may be the unclaimed ones under another uid.

        Who leaves the unclaimed ones out then loses what the job still needs.
        """
        if not any(each.kind is FindingKind.OPERATOR for each in self.unclaimed):
            return ()
        return tuple(each for each in self.absent if not each.is_stated_new)

    @property
    def misnamed_states(self) -> tuple[MissingState, ...]:
        """Return the missing states that may be unclaimed ones under another name.

        Of the same operator, and of the same kind.
        """
        left = {(each.operator, each.kind) for each in self.unclaimed}
        return tuple(
            each
            for each in self.missing
            if not each.is_stated_new and (each.operator, each.kind) in left
        )
