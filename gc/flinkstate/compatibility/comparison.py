"""Results of a comparison of a checkpoint with declarations, as values."""

from dataclasses import dataclass
from enum import StrEnum


class FindingKind(StrEnum):
    """Kinds of unclaimed state."""

    OPERATOR = "operator"
    OPERATOR_STATE = "operator_state"
    KEYED_STATE = "keyed_state"
    COORDINATOR_STATE = "coordinator_state"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorRef:
    """Reference to an operator: its id, and its uid and name if known."""

    id: str
    uid: str | None
    name: str | None

    @property
    def label(self) -> str:
        """Return its name for messages."""
        return self.uid or self.name or self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclaimed:
    """Stored state without a declaration.

    Attributes:
        state: Name of a single state; None for a whole operator and for coordinator state.
        form: Redistribution of an operator state, type of a keyed state; else None.
        bytes: Size in bytes; None if unknown, because files of keyed state do not separate states.
        is_prunable: Whether a checkpoint without the state can be written. Entries of keyed state
            can be left out of canonical savepoints and of full RocksDB snapshots.
    """

    kind: FindingKind
    operator: OperatorRef
    state: str | None = None
    form: str | None = None
    bytes: int | None
    is_prunable: bool = True
    partitions: int | None = None
    parallelism: int | None = None

    @property
    def multiplies(self) -> bool:
        """Return whether each restore multiplies the state while nothing reads it.

        Every subtask restores all partitions of a union state, and writes them into its next
        snapshot, whether the job registers the state or not.

        Source: Flink 1.8-2.3, ``RoundRobinOperatorStateRepartitioner``,
        ``DefaultOperatorStateBackendSnapshotStrategy``.
        """
        return self.form == "union" and bool(self.partitions) and (self.parallelism or 1) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedState:
    """A state whose declared form, or declared serializer, differs from the stored one.

    Flink refuses to restore another form. Of another serializer it migrates the state or refuses
    it: only the classes themselves decide that.

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
    """An operator whose uid now belongs to another operator, which finds no state of its own.

    Flink reports no error: it restores the operator, and the states that it registers are empty.
    A source then starts at the position of its settings: it repeats or skips records.

    Attributes:
        bytes: Known size of these states.
        has_happened: Whether the checkpoint also holds state of the new operator.
        is_stated_new: Whether the declaration states that all empty states are new.
    """

    operator: OperatorRef
    left: tuple[str, ...]
    bytes: int
    missing: tuple[str, ...]
    has_happened: bool
    is_stated_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingState:
    """A declared state that a stored operator lacks: a new state, or a spelling mistake.

    Attributes:
        nearest: Most similar name of an unclaimed state of the same kind, if there is any.
    """

    kind: FindingKind
    operator: OperatorRef
    state: str
    nearest: str | None
    is_stated_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncompared:
    """State of a declared operator that cannot be compared, with the reason.

    Attributes:
        hides_names: Whether it may hold unclaimed state, because its names exist and were not
            read. Raw state has no names, and the name of a state of unknown type is known: both
            hide nothing, and occur in every checkpoint of the job.
    """

    operator: OperatorRef
    why: str
    hides_names: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentOperator:
    """A declared operator that the checkpoint lacks: a new operator, or a spelling mistake."""

    label: str
    id: str
    nearest: str | None
    is_stated_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Differences between stored and declared state of operators.

    Attributes:
        changed: States of another form.
        serializers: States of another serializer.
    """

    unclaimed: tuple[Unclaimed, ...] = ()
    changed: tuple[ChangedState, ...] = ()
    replaced: tuple[ReplacedOperator, ...] = ()
    uncompared: tuple[Uncompared, ...] = ()
    missing: tuple[MissingState, ...] = ()
    serializers: tuple[ChangedState, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclarationComparison(Findings):
    """Comparison of stored and declared state, in the order of the file."""

    checkpoint_id: int
    absent: tuple[AbsentOperator, ...]

    @property
    def is_clean(self) -> bool:
        """Return whether every stored state with a known name is declared in its stored form."""
        return not (self.unclaimed or self.changed)

    @property
    def is_complete(self) -> bool:
        """Return whether every stored name could be read."""
        return not any(each.hides_names for each in self.uncompared)

    @property
    def misnamed(self) -> tuple[AbsentOperator, ...]:
        """Return the absent operators that may be unclaimed ones under another uid.

        Pruning the unclaimed operators would then remove state that the job still needs.
        """
        if not any(each.kind is FindingKind.OPERATOR for each in self.unclaimed):
            return ()
        return tuple(each for each in self.absent if not each.is_stated_new)

    @property
    def misnamed_states(self) -> tuple[MissingState, ...]:
        """Return the missing states that may be unclaimed ones under another name.

        A missing state matches unclaimed states of the same operator and kind.
        """
        left = {(each.operator, each.kind) for each in self.unclaimed}
        return tuple(
            each
            for each in self.missing
            if not each.is_stated_new and (each.operator, each.kind) in left
        )
