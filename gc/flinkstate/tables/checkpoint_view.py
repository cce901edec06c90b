"""The contents of a checkpoint, as rows and slices for tables, tree and page."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from flinkstate.inspection.contents_json import MODE_WORDS
from flinkstate.state.contents import (
    CheckpointContents,
    KeyedStateContents,
    OperatorContents,
    Serializer,
)
from flinkstate.text.shown_text import KindText
from flinkstate.values.handles import StateMode


class PagePart(StrEnum):
    """Kind of state; the value names its colour and its pattern."""

    KEYED = "keyed"
    LIST = "list"
    UNION = "union"
    BROADCAST = "broadcast"
    RAW = "raw"
    CHANNEL = "channel"
    COORDINATOR = "coordinator"
    OTHER = "other"


PARTS: Mapping[PagePart, KindText] = {
    PagePart.KEYED: KindText("Keyed state", "split by key groups"),
    PagePart.LIST: KindText("List state", "its partitions are dealt out to the subtasks"),
    PagePart.UNION: KindText("Union list state", "every subtask gets all partitions"),
    PagePart.BROADCAST: KindText("Broadcast state", "every subtask gets a copy"),
    PagePart.RAW: KindText("Raw state", "bytes that only the operator understands"),
    PagePart.CHANNEL: KindText("Channel state", "records that were on their way"),
    PagePart.COORDINATOR: KindText("Coordinator state", "of the operator's part in the JobManager"),
    PagePart.OTHER: KindText("Headers", "of operator state, or of unknown sizes"),
}
"""Kinds of state in the order of a bar."""

_NO_NAMESPACE = "VoidNamespace"
_OF_MODE = {
    StateMode.SPLIT_DISTRIBUTE: PagePart.LIST,
    StateMode.UNION: PagePart.UNION,
    StateMode.BROADCAST: PagePart.BROADCAST,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRow:
    """One state of an operator.

    Attributes:
        name: Name that the job gave it; a description, for state without a name.
        bytes: Size in bytes; ``None`` if the state shares its files with others.
    """

    part: PagePart
    name: str
    is_named: bool = True
    kind: str
    partitions: int | None = None
    bytes: int | None
    serializers: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Segment of an operator's bar."""

    part: PagePart
    name: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorView:
    """One operator of a checkpoint.

    Attributes:
        states: States, named ones first.
        slices: Size of each kind of state, in the order of ``PARTS``; the sum is ``bytes``.
    """

    contents: OperatorContents
    label: str
    bytes: int
    states: tuple[StateRow, ...]
    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RescaledOperator:
    """One operator as people read it.

    Attributes:
        caption: What moves besides; "" if nothing does.
        rows: New subtask, its key groups, kind of the state, old subtask, size; the first two are
            "" in all but the first row of a subtask.
    """

    head: str
    problem: str = ""
    caption: str = ""
    subtasks: int = 0
    rows: tuple[tuple[str, str, str, str, str], ...] = ()

    def first_rows(self, subtasks: int) -> Iterator[tuple[str, str, str, str, str]]:
        """Yield the rows of the first subtasks."""
        for row in self.rows:
            subtasks -= bool(row[0])
            if subtasks < 0:
                return
            yield row


def label_of(contents: OperatorContents) -> str:
    """Return the label of an operator."""
    return contents.name or contents.uid or contents.id


def operator_views(contents: CheckpointContents) -> tuple[OperatorView, ...]:
    """Return the operators in the order of ``_metadata``."""
    return tuple(_view(each) for each in contents.operators)


def _view(contents: OperatorContents) -> OperatorView:
    rows = (*_keyed_rows(contents), *_operator_rows(contents), *_nameless_rows(contents))
    slices = [Slice(part=row.part, name=row.name, bytes=row.bytes) for row in rows if row.bytes]
    rest = contents.total_bytes - sum(each.bytes for each in slices)
    if rest > 0:
        slices.append(Slice(part=PagePart.OTHER, name=PARTS[PagePart.OTHER].label, bytes=rest))
    order = list(PARTS)
    return OperatorView(
        contents=contents,
        label=label_of(contents),
        bytes=contents.total_bytes,
        states=rows,
        slices=tuple(sorted(slices, key=lambda each: order.index(each.part))),
    )


def _keyed_rows(contents: OperatorContents) -> list[StateRow]:
    states = contents.keyed_states
    rows = [_keyed_row(each) for each in states or ()]
    is_whole = bool(rows) and all(each.bytes is not None for each in rows)
    if contents.keyed_kinds and not is_whole:
        together = "all keyed states" if rows else "keyed state"
        rows.append(
            StateRow(
                part=PagePart.KEYED,
                name=f"({together})",
                is_named=False,
                kind="names unknown" if states is None else "together",
                bytes=contents.keyed_bytes,
            )
        )
    return rows


def _keyed_row(state: KeyedStateContents) -> StateRow:
    return StateRow(
        part=PagePart.KEYED,
        name=state.name,
        kind=f"keyed {state.kind.value}{_entries(state)}",
        bytes=state.bytes,
        serializers=", ".join(
            text for each in state.serializers if (text := _serializer_text(each))
        ),
    )


def _entries(state: KeyedStateContents) -> str:
    return "" if state.entries is None else f", {state.entries:,} entries"


def _serializer_text(serializer: Serializer) -> str:
    words = _short(serializer.snapshot)
    match serializer.role:
        case "value":
            return words
        case "namespace" if words == _NO_NAMESPACE:
            return ""
        case role:
            return f"{role} {words}"


def _short(snapshot: str) -> str:
    return snapshot.replace("SerializerSnapshot", "")


def _operator_rows(contents: OperatorContents) -> list[StateRow]:
    return [
        StateRow(
            part=_OF_MODE[each.mode],
            name=each.name,
            kind=MODE_WORDS[each.mode],
            partitions=each.partitions,
            bytes=each.bytes,
            serializers=_short(each.serializer or ""),
        )
        for each in contents.operator_states
    ]


def _nameless_rows(contents: OperatorContents) -> list[StateRow]:
    every = (
        (PagePart.RAW, "raw operator state", contents.raw_operator_bytes),
        (PagePart.RAW, "raw keyed state", contents.raw_keyed_bytes),
        (PagePart.CHANNEL, "channel state", contents.channel_bytes),
        (PagePart.COORDINATOR, "coordinator state", contents.coordinator_bytes),
    )
    return [
        StateRow(part=part, name=f"({words})", is_named=False, kind=words, bytes=size)
        for part, words, size in every
        if size or (part is PagePart.COORDINATOR and size is not None)
    ]
