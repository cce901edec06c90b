"""What state a checkpoint holds, operator by operator: names, kinds, and bytes, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from orphangc.flink.values.handles import KeyGroupRange, StateMode
from orphangc.flink.values.metadata_values import HandleKind


class KeyedStateKind(StrEnum):
    """What a keyed state is to the job.

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
        subtask: Its index.
        offsets: Byte offsets into the subtask's operator state file, in the order of the file.
        sizes: Bytes of each, None where the size of the file is unknown.

    """

    subtask: int
    offsets: tuple[int, ...]
    sizes: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorStateContents:
    """One managed operator state over all subtasks.

    Attributes:
        name: As the job registered it.
        mode: How it is redistributed.
        partitions: How many, over all subtasks.
        bytes: Of all partitions, None where a size is unknown.
        subtasks: Indices of those that list the state, even with no partition, ascending.
        shares: The partitions, subtask by subtask, in the order of ``subtasks``.
        serializer: What wrote the values, as in ``Serializer``; None if it could not be read.

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
    """What wrote a part of a keyed state.

    Attributes:
        role: ``key``, ``namespace``, ``value``, or ``user_key``.
        snapshot: Class of its snapshot without Flink's package, nested ones in angle brackets
            (``MapSerializerSnapshot<StringSerializerSnapshot, LongSerializerSnapshot>``), the
            type in parentheses where it is written down (``PojoSerializerSnapshot(a.Order)``);
            nested ones are left out where they cannot be read.

    """

    role: str
    snapshot: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedStateContents:
    """One managed keyed state, with the same name in all subtasks.

    Attributes:
        name: As the job registered it.
        kind: What it is to the job.
        serializers: In the order of the file.
        bytes: All of the operator's keyed bytes if it is the only one; None where several
            states share the files, which say nothing of single states.

    """

    name: str
    kind: KeyedStateKind
    serializers: tuple[Serializer, ...] = ()
    bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskKeyGroups:
    """The key groups of a subtask's keyed state."""

    subtask: int
    groups: KeyGroupRange


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorContents:
    """What state one operator holds.

    Bytes are those of distinct files, segments and inline blobs: a file that two subtasks
    name counts once. Handles of unknown size count nothing.

    Attributes:
        id: 32 hex digits.
        uid: As the job set it, None before Flink 2.0 or if not set.
        name: As the job set it, None before Flink 2.0 or if not set.
        parallelism: Of the job that wrote the checkpoint.
        max_parallelism: Number of key groups.
        is_fully_finished: Whether it will never run again; there is no state then.
        operator_states: Managed ones, in the order of first mention.
        keyed_states: Managed ones whose names were read, in the order of first mention;
            empty if there is no managed keyed state; None if there is and no name of it
            could be read.
        keyed_unknown: Why there may be more keyed states than ``keyed_states`` names; None if
            there are not. **Whoever concludes from a name's absence must look here.**
        key_serializer: Snapshot class of the key's serializer, as in ``Serializer``; None if
            unknown.
        key_groups: Of each subtask with managed keyed state.
        keyed_kinds: How the managed keyed state was written, each once.
        operator_bytes: Of managed operator state, headers included.
        keyed_bytes: Of managed keyed state.
        raw_operator_bytes: Of raw operator state.
        raw_keyed_bytes: Of raw keyed state.
        has_raw_operator: Whether there is raw operator state, of whatever size.
        has_raw_keyed: Whether there is raw keyed state, of whatever size.
        coordinator_bytes: Of the coordinator's state, None if there is none.
        channel_bytes: Of in-flight data.
        inline_bytes: How many of all these lie in ``_metadata`` itself.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointContents:
    """What state a checkpoint or savepoint holds, in the order of its ``_metadata``."""

    checkpoint_id: int
    format_version: int
    operators: tuple[OperatorContents, ...]
