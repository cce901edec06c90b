"""The one parser of ``_metadata`` files, for passes that build a model or collect references.

Two passes read the same file: one builds the model, one only collects references. Every check that
decides whether a file is accepted is here or in ``field_readers``, once. A pass defines how to read
single fields (``steps``) and how to process a record (``record``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from flinkstate.buffers import Buffer
from flinkstate.errors import UnreadableMetadataError
from flinkstate.layouts.format_versions import (
    MAGIC,
    MASTER_MAGIC,
    MASTER_STATE,
    VARIANTS_IN,
    VERSIONS,
    Tables,
    tables_of,
)
from flinkstate.layouts.record_layouts import RecordLayout
from flinkstate.metadata.cursor import Cursor
from flinkstate.metadata.java_properties import read_properties
from flinkstate.values.metadata_values import CheckpointProperties, LayoutVariant

DEEPEST_NESTING = 16
"""Maximum depth of handles inside handles; Flink writes at most three levels."""

_SMALLEST_MASTER = 8 + MASTER_STATE.smallest
_OLD_VARIANTS = (LayoutVariant.FLINK_1_11, LayoutVariant.FLINK_1_14)
_PLAIN_NAME = re.compile(r"(?!\.{1,2}\Z)(?![\x00-\x20])[^/\\:]+(?<![\x00-\x20])")


def is_plain_name(name: str) -> bool:
    """Return whether a relative handle's name is one path component that Flink does not change.

    A name that ``Path`` would split, trim, resolve or read as a scheme could mean another file.
    Flink's own names are UUIDs.

    Source: Flink 1.11-2.3, ``RelativeFileStateHandle``, ``Path``.
    """
    return _PLAIN_NAME.fullmatch(name) is not None


@dataclass(slots=True)
class ReferenceLot:
    """References in file order, with duplicates.

    Attributes:
        paths: Absolute paths of files and of merged files.
        unregistered: Those of them outside every list of shared state.
        relative_names: Names of files in the directory of the metadata file.

    """

    paths: list[str] = field(default_factory=list)
    unregistered: list[str] = field(default_factory=list)
    relative_names: list[str] = field(default_factory=list)


class ReferenceSink(Protocol):
    """Takes references in lots, so that no list holds all of a large file."""

    def take(self, lot: ReferenceLot) -> None:
        """Take the next references in file order; the lot is not used again."""
        ...


_LARGEST_LOT = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataPass:
    """How one pass reads fields and processes records.

    Attributes:
        steps: Steps for the fields of each layout, as ``record`` needs them.
        record: Function that reads one record of a layout, behind its code.
        new_sink: Returns what takes the references of one attempt to read the file; ``None``: the
            records hold them.

    """

    steps: dict[RecordLayout, tuple[Any, ...]]
    record: Callable[[Parser, RecordLayout], Any]
    new_sink: Callable[[], ReferenceSink] | None = None


@dataclass(slots=True, kw_only=True)
class Parser:
    """State of one parse, with the findings of a collecting pass.

    Attributes:
        depth: Number of handles around the position.
        has_coordinator: Whether the operator being read has coordinator state.
        lot: References that wait to be given to ``sink``; only a collecting pass fills this and the
            fields below.
        is_in_shared: Whether the position is in a list of shared state.
        directories: Absolute paths of directories.
        ref_checkpoint_ids: Ids of older checkpoints whose files this one uses.

    """

    cursor: Cursor
    tables: Tables
    steps: dict[RecordLayout, tuple[Any, ...]]
    record: Callable[[Parser, RecordLayout], Any]
    depth: int = 0
    has_coordinator: bool = False
    handles: int = 0
    met: set[RecordLayout] = field(default_factory=set)
    lot: ReferenceLot = field(default_factory=ReferenceLot)
    sink: ReferenceSink | None = None
    is_in_shared: bool = False
    directories: list[str] = field(default_factory=list)
    ref_checkpoint_ids: list[int] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    stateful: list[str] = field(default_factory=list)

    def add_paths(self, paths: Sequence[str]) -> None:
        """Take paths of files; those outside lists of shared state are unregistered."""
        self.lot.paths.extend(paths)
        if not self.is_in_shared:
            self.lot.unregistered.extend(paths)
        if len(self.lot.paths) >= _LARGEST_LOT:
            self.end_lot()

    def add_relative_names(self, names: Sequence[str]) -> None:
        """Take names of files beside the metadata file."""
        self.lot.relative_names.extend(names)
        if len(self.lot.relative_names) >= _LARGEST_LOT:
            self.end_lot()

    def end_lot(self) -> None:
        """Give what waits to the sink."""
        lot, self.lot = self.lot, ReferenceLot()
        if self.sink is not None:
            self.sink.take(lot)
        self.cursor.let_go()

    def handle(self, layout: RecordLayout) -> Any:
        """Return one handle; its code has already been read."""
        self.depth += 1
        if self.depth > DEEPEST_NESTING:
            raise self.cursor.error(f"handles nested deeper than {DEEPEST_NESTING}")
        self.handles += 1
        self.met.add(layout)
        found = self.record(self, layout)
        self.depth -= 1
        return found

    def coded(self, slot: dict[int, RecordLayout], word: str) -> Any:
        """Return the handle of the next code, if the slot allows the code."""
        at = self.cursor.position
        code = self.cursor.u1()
        layout = slot.get(code)
        if layout is None:
            raise self.cursor.error(f"code {code} is no {word}", at=at)
        return self.handle(layout)


Reader = Callable[[Parser], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedMetadata:
    """Result of parsing a whole file; the pass defines the records."""

    parser: Parser
    checkpoint_id: int
    master_states: list[Any]
    operators: list[Any]
    properties: CheckpointProperties | None


def parse_metadata(data: Buffer, reading: MetadataPass) -> ParsedMetadata:
    """Parse every byte of the file strictly.

    Two layouts changed under version 3 without a sign in the file. The final layouts are tried
    first. An old layout counts only if it is the only one that fits to the last byte.

    Raises:
        UnreadableMetadataError: The bytes are not exactly one metadata file.

    Source: Flink 1.8-2.3, ``Checkpoints.loadCheckpointMetadata``, ``MetadataSerializers``.

    """
    version = _version(data)
    try:
        return _read_as(data, reading, version, LayoutVariant.FINAL)
    except UnreadableMetadataError as error:
        if version != VARIANTS_IN:
            raise
        return _only_old_reading(data, reading, error)


def _only_old_reading(
    data: Buffer, reading: MetadataPass, error: UnreadableMetadataError
) -> ParsedMetadata:
    """Return the result of the one old layout that fits, or raise the final layout's error."""
    readings: list[ParsedMetadata] = []
    for variant in _OLD_VARIANTS:
        try:
            readings.append(_read_as(data, reading, VARIANTS_IN, variant))
        except UnreadableMetadataError:
            continue
    if not readings:
        raise error
    if len(readings) > 1:
        raise UnreadableMetadataError(
            f"two old layouts fit, and the final one not: {error.reason}", offset=error.offset
        )
    return readings[0]


def _version(data: Buffer) -> int:
    cursor = Cursor(data)
    if int.from_bytes(cursor.take(4), "big") != MAGIC:
        raise cursor.error("no Flink metadata magic number", at=0)
    version = cursor.i4()
    if version not in VERSIONS:
        raise cursor.error(f"version {version} is unknown", at=4)
    return version


def _read_as(
    data: Buffer, reading: MetadataPass, version: int, variant: LayoutVariant
) -> ParsedMetadata:
    cursor = Cursor(data, 8)
    tables = tables_of(version, variant)
    parser = Parser(
        cursor=cursor,
        tables=tables,
        steps=reading.steps,
        record=reading.record,
        sink=None if reading.new_sink is None else reading.new_sink(),
    )
    checkpoint_id = cursor.i8()
    if checkpoint_id < 0:
        raise cursor.error(f"negative checkpoint id {checkpoint_id}", at=8)
    frame = ParsedMetadata(
        parser=parser,
        checkpoint_id=checkpoint_id,
        master_states=[_master(parser) for _ in range(cursor.count(_SMALLEST_MASTER))],
        operators=_operators(parser),
        properties=read_properties(cursor) if tables.has_properties else None,
    )
    if not cursor.at_end():
        raise cursor.error(f"{cursor.end - cursor.position} bytes behind the end")
    parser.end_lot()
    return frame


def _master(parser: Parser) -> Any:
    cursor = parser.cursor
    at = cursor.position
    if int.from_bytes(cursor.take(4), "big") != MASTER_MAGIC:
        raise cursor.error("no master state magic number", at=at)
    length = cursor.count(1)
    start = cursor.position
    state = parser.record(parser, MASTER_STATE)
    if cursor.position - start != length:
        raise cursor.error(
            f"master state of {cursor.position - start} bytes, its length says {length}", at=at
        )
    return state


def _operators(parser: Parser) -> list[Any]:
    return [_operator(parser) for _ in range(parser.cursor.count(parser.tables.operator.smallest))]


def _operator(parser: Parser) -> Any:
    before = parser.handles
    found = parser.record(parser, parser.tables.operator)
    if parser.handles > before:
        parser.stateful += parser.operators[-1:]
    return found
