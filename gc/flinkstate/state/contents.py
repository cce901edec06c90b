"""State in a checkpoint by operator, as values: names, kinds and bytes."""

from dataclasses import dataclass
from enum import StrEnum

from flinkstate.values.handles import KeyGroupRange, StateMode
from flinkstate.values.metadata_values import HandleKind


class KeyedStateKind(StrEnum):
    """Kinds of keyed state.

    Source: Flink 1.8-2.3, ``StateDescriptor.Type`` (lower case here); ``TIMERS`` are
    ``StateMetaInfoSnapshot.BackendStateType.PRIORITY_QUEUE``.
    """

    VALUE = "value"
    LIST = "list"
    MAP = "map"
    REDUCING = "reducing"
    FOLDING = "folding"
    AGGREGATING = "aggregating"
    TIMERS = "timers"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePartitions:
    """One subtask's partitions of one operator state.

    Attributes:
        offsets: Byte offsets into the subtask's operator state file, in the order of the file.
        sizes: Size of each partition in bytes, None if the size of the file is unknown.
    """

    subtask: int
    offsets: tuple[int, ...]
    sizes: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorStateContents:
    """One managed operator state over all subtasks.

    Attributes:
        bytes: Size of all partitions, None if a size is unknown.
        subtasks: Ascending indices of subtasks that list the state, even without partitions.
        shares: Partitions of each subtask, in the order of ``subtasks``.
    """

    name: str
    mode: StateMode
    partitions: int
    bytes: int | None
    subtasks: tuple[int, ...]
    shares: tuple[StatePartitions, ...] = ()
    serializer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Serializer:
    """Serializer of a part of a keyed state.

    Attributes:
        role: Part that it writes: ``key``, ``namespace``, ``value``, or ``user_key``.
        snapshot: Class of its snapshot without Flink's package, nested classes in angle brackets
            (``MapSerializerSnapshot<StringSerializerSnapshot, LongSerializerSnapshot>``), the
            type in parentheses if it is stored (``PojoSerializerSnapshot(a.Order)``). Nested
            classes that cannot be read are left out.
    """

    role: str
    snapshot: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedStateContents:
    """One managed keyed state, with the same name in all subtasks.

    Attributes:
        bytes: All keyed bytes of the operator if this is its only state, or those that were
            counted. None if several states share the files, which do not separate them.
        entries: Number of entries, if they were counted.
    """

    name: str
    kind: KeyedStateKind
    serializers: tuple[Serializer, ...] = ()
    bytes: int | None = None
    entries: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskKeyGroups:
    """The key groups of a subtask's keyed state."""

    subtask: int
    groups: KeyGroupRange


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorContents:
    """State of one operator.

    Sizes count distinct files, segments and inline blobs: a file that two subtasks name counts
    once. A handle of unknown size counts as 0.

    Attributes:
        uid: Uid that the job set; None before Flink 2.0 or if not set.
        name: Name that the job set; None before Flink 2.0 or if not set.
        max_parallelism: Number of key groups.
        operator_states: Managed operator states, in the order of first mention.
        keyed_states: Managed keyed states whose names were read, in the order of first mention;
            empty if there is no managed keyed state; None if there is some and no name could be
            read.
        keyed_unknown: Reason why there may be more keyed states than ``keyed_states`` names; None
            if there are not. **A conclusion from the absence of a name must check this field.**
        operator_bytes: Size of managed operator state, headers included.
        coordinator_bytes: Size of the coordinator's state, None if there is none.
        inline_bytes: Size of the part of all these in ``_metadata`` itself.
    """

    id: str
    uid: str | None
    name: str | None
    parallelism: int
    max_parallelism: int
    is_fully_finished: bool = False
    operator_states: tuple[OperatorStateContents, ...] = ()
    keyed_states: tuple[KeyedStateContents, ...] | None = ()
    keyed_unknown: str | None = None
    key_serializer: str | None = None
    key_groups: tuple[SubtaskKeyGroups, ...] = ()
    keyed_kinds: tuple[HandleKind, ...] = ()
    operator_bytes: int = 0
    keyed_bytes: int = 0
    raw_operator_bytes: int = 0
    raw_keyed_bytes: int = 0
    has_raw_operator: bool = False
    has_raw_keyed: bool = False
    coordinator_bytes: int | None = None
    channel_bytes: int = 0
    inline_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """Return the size of all state of the operator."""
        known = (self.operator_bytes, self.keyed_bytes, self.raw_operator_bytes)
        return sum((*known, self.raw_keyed_bytes, self.channel_bytes, self.coordinator_bytes or 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointContents:
    """State in a checkpoint or savepoint, in the order of its ``_metadata``."""

    checkpoint_id: int
    format_version: int
    operators: tuple[OperatorContents, ...]
