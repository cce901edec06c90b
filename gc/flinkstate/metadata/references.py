"""The fast pass over ``_metadata``: collects only the references of the checkpoint."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar, cast

from flinkstate.buffers import Buffer
from flinkstate.layouts.format_versions import ALL_LAYOUTS
from flinkstate.layouts.handle_layouts import RECORD_LISTS
from flinkstate.layouts.record_layouts import RecordLayout, RecordPart
from flinkstate.metadata.bulk_entries import EntryShape, reference_runs, shape_at
from flinkstate.metadata.field_readers import READERS, read_range, read_subtasks
from flinkstate.metadata.parser import (
    MetadataPass,
    Parser,
    Reader,
    ReferenceLot,
    ReferenceSink,
    is_plain_name,
    parse_metadata,
)
from flinkstate.values.metadata_values import HandleKind, MetadataFacts

_NAMED = RECORD_LISTS[RecordPart.NAMED_STREAMS]
_SHORTEST_RUN = 8
_LONGEST_PAUSE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceFacts(MetadataFacts):
    """What one metadata file says of itself, without the names of its files.

    Attributes:
        handles: Number of handles of all kinds, nested ones included.
        directories: Absolute paths of directories that Flink deletes as a whole.
        ref_checkpoint_ids: Ids of older checkpoints that must be kept as long (version 7).

    """

    handles: int
    directories: Sequence[str]
    kinds: frozenset[HandleKind]
    ref_checkpoint_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class References(ReferenceFacts):
    """The same with the names of its files.

    Attributes:
        paths: Absolute paths of files and of merged files, in file order, with duplicates.
        relative_names: Names of files in the directory of the metadata file, one path
            component each, in file order, with duplicates.
        unregistered_paths: Paths outside every list of shared state: exactly those that Flink's
            shared state registry does not know.

    Source: Flink 1.15-2.3, ``IncrementalRemoteKeyedStateHandle.registerSharedStates``: it registers
    its shared state only, neither its private state nor its meta data. No other handle of the
    RocksDB and heap backends registers files.
    """

    paths: Sequence[str]
    relative_names: Sequence[str]
    unregistered_paths: frozenset[str]


class _Lots(list[ReferenceLot]):
    take = list[ReferenceLot].append


def read_references(data: Buffer) -> References:
    """Return the references of a ``_metadata`` file; see ``pack_references``."""
    facts, lots = pack_references(data, _Lots)
    return References(
        **{each.name: getattr(facts, each.name) for each in fields(ReferenceFacts)},
        paths=tuple(path for lot in lots for path in lot.paths),
        relative_names=tuple(name for lot in lots for name in lot.relative_names),
        unregistered_paths=frozenset(path for lot in lots for path in lot.unregistered),
    )


_Sink = TypeVar("_Sink", bound=ReferenceSink)


def pack_references(data: Buffer, new_sink: Callable[[], _Sink]) -> tuple[ReferenceFacts, _Sink]:
    """Return the facts of a ``_metadata`` file, and give the names of its files to a sink.

    It refuses exactly the files that ``read_metadata`` refuses, because it uses the same parser
    with cheaper steps.

    Args:
        data: Bytes of the whole file, in memory or mapped.
        new_sink: Returns the sink for one attempt to read the file: layouts of old releases may
            need several.

    Returns:
        The facts, and the sink of the attempt that read the file.

    Raises:
        UnreadableMetadataError: The bytes are not exactly one metadata file; its references are
            unknown.

    Source: Flink 1.8-2.3, ``Checkpoints.loadCheckpointMetadata``.

    """
    frame = parse_metadata(data, replace(_COLLECTING, new_sink=new_sink))
    parser = frame.parser
    facts = ReferenceFacts(
        checkpoint_id=frame.checkpoint_id,
        format_version=parser.tables.version,
        is_savepoint=None if frame.properties is None else frame.properties.is_savepoint,
        handles=parser.handles,
        directories=tuple(parser.directories),
        kinds=_kinds(parser),
        ref_checkpoint_ids=tuple(parser.ref_checkpoint_ids),
        deleted_on=None if frame.properties is None else frame.properties.deleted_on,
        is_of_a_stop=frame.properties is not None and frame.properties.is_of_a_stop,
        is_unclaimed=frame.properties is not None and frame.properties.unclaimed,
        operators=frozenset(parser.operators),
        stateful=frozenset(parser.stateful),
    )
    return facts, cast("_Sink", parser.sink)


def _kinds(parser: Parser) -> frozenset[HandleKind]:
    kinds = {layout.kind for layout in parser.met if layout.kind is not None}
    return frozenset(kinds | ({HandleKind.DIRECTORY} if parser.directories else set()))


def _pass_over(parser: Parser, layout: RecordLayout) -> None:
    for read in parser.steps[layout]:
        read(parser)


def _keeping(part: RecordPart, keep: Callable[[Parser, Any], None]) -> Reader:
    """Return a reader that keeps the value of the full pass, unless it is None."""
    read = READERS[part]

    def collect(parser: Parser) -> None:
        found = read(parser)
        if found is not None:
            keep(parser, found)

    return collect


def _keyed_list(parser: Parser) -> None:
    """Read over a list whose elements may be one byte each: gathered, they take eight."""
    for _ in range(parser.cursor.count(RecordPart.KEYED.smallest)):
        READERS[RecordPart.KEYED](parser)


def _subtasks(parser: Parser) -> None:
    """Read over subtasks, of which a finished one is four bytes: gathered, it takes a hundred."""
    for _ in read_subtasks(parser) or ():
        pass


def _named_streams(parser: Parser) -> None:
    """Read over a named list, in runs of entries with one shape.

    The shape of the last entry is tried on the next entries. A list without runs must not pay for
    the attempts: each failed attempt doubles the number of entries before the next one.
    """
    cursor = parser.cursor
    left = cursor.count(_NAMED.smallest)
    shape: EntryShape | None = None
    pause, patience = 0, 1
    while left:
        start = cursor.position
        parser.record(parser, _NAMED)
        left -= 1
        if pause or left < _SHORTEST_RUN:
            pause = max(0, pause - 1)
            continue
        if shape is None or cursor.position - start != shape.size:
            shape = shape_at(cursor.data, start, parser.tables) or shape
        taken = 0 if shape is None else _take_run(parser, shape, left)
        left -= taken
        patience = 1 if taken else min(2 * patience, _LONGEST_PAUSE)
        pause = patience - 1


def _shared_streams(parser: Parser) -> None:
    outside, parser.is_in_shared = parser.is_in_shared, True
    _named_streams(parser)
    parser.is_in_shared = outside


def _step(name: str, part: RecordPart) -> Reader:
    if name == "shared" and part is RecordPart.NAMED_STREAMS:
        return _shared_streams
    return _REPLACED.get(part) or READERS[part]


def _take_run(parser: Parser, shape: EntryShape, left: int) -> int:
    cursor = parser.cursor
    start = cursor.position
    limit = min(left, (cursor.end - start) // shape.size)
    for references in reference_runs(cursor.data, start, shape, limit):
        if not _keep(parser, shape, references):
            break
        cursor.position += len(references) * shape.size
    taken = (cursor.position - start) // shape.size
    parser.handles += taken
    return taken


def _keep(parser: Parser, shape: EntryShape, references: list[str]) -> bool:
    if shape.part is RecordPart.PATH:
        parser.add_paths(references)
        return True
    if all(map(is_plain_name, references)):
        parser.add_relative_names(references)
        return True
    return False


_REPLACED: dict[RecordPart, Reader] = {
    RecordPart.I8: lambda parser: parser.cursor.skip(8),
    RecordPart.OPERATOR_ID: _keeping(
        RecordPart.OPERATOR_ID, lambda parser, found: parser.operators.append(found)
    ),
    RecordPart.PATH: _keeping(RecordPart.PATH, lambda parser, found: parser.add_paths((found,))),
    RecordPart.DIRECTORY: _keeping(
        RecordPart.DIRECTORY, lambda parser, found: parser.directories.append(found)
    ),
    RecordPart.RELATIVE_NAME: _keeping(
        RecordPart.RELATIVE_NAME, lambda parser, found: parser.add_relative_names((found,))
    ),
    RecordPart.REFERENCE: _keeping(
        RecordPart.REFERENCE, lambda parser, found: parser.ref_checkpoint_ids.append(found)
    ),
    RecordPart.BLOB: lambda parser: parser.cursor.skip(parser.cursor.count(1)),
    RecordPart.LONGS: lambda parser: parser.cursor.skip(8 * parser.cursor.count(8)),
    RecordPart.KEY_GROUP_RANGE: read_range,
    RecordPart.KEY_GROUP_OFFSETS: lambda parser: parser.cursor.skip(8 * read_range(parser)[1]),
    RecordPart.KEYED_LIST: _keyed_list,
    RecordPart.NAMED_STREAMS: _named_streams,
    RecordPart.SUBTASKS: _subtasks,
}


_COLLECTING = MetadataPass(
    steps={
        layout: tuple(_step(name, part) for name, part in layout.fields) for layout in ALL_LAYOUTS
    },
    record=_pass_over,
)
