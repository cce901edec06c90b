"""``inspect``: the contents of checkpoints as documents, tables, trees and a page."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from flinkstate.commands.declarations_file import read_declarations
from flinkstate.commands.open_checkpoint import (
    CheckpointFiles,
    OpenedCheckpoint,
    named_by,
    read_checkpoint,
    read_named,
)
from flinkstate.commands.rescale import (
    Rescaling,
    rescaled_document,
    rescaled_tables,
    rescaling_from,
    rescaling_problems,
)
from flinkstate.commands.verify import verify_files
from flinkstate.compatibility.declarations import Declarations
from flinkstate.entries.full_snapshot import read_full_snapshot
from flinkstate.entries.key_group import StateEntries
from flinkstate.entries.sst_properties import TAIL_BYTES, read_properties
from flinkstate.errors import ExitCode, FlinkStateError, UnreadableMetadataError
from flinkstate.files.host import Host
from flinkstate.files.paths import absolute, aliases_from
from flinkstate.inspection.compare import CheckpointComparison, Side, compared
from flinkstate.inspection.contents_json import describe_contents
from flinkstate.inspection.metadata_json import describe
from flinkstate.places.locations import Alias
from flinkstate.state.contents import CheckpointContents, KeyedStateContents, OperatorContents
from flinkstate.state.extents import Extent
from flinkstate.tables.checkpoint_tables import (
    checkpoint_tables,
    checkpoint_tree,
    comparison_tables,
)
from flinkstate.tables.printing import InspectOutput, print_tables
from flinkstate.text.redaction import redacted
from flinkstate.text.shown_text import counted
from flinkstate.values.handles import IncrementalHandle, KeyedHandle, KeyGroupsHandle
from flinkstate.values.metadata_values import Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Options of ``inspect`` that hold for every checkpoint.

    Attributes:
        aliases: Replacements in paths inside ``_metadata``, as ``FROM=TO``.
        rescale_to: Parallelisms for which the state of each subtask is shown, as ``[OPERATOR=]N``.
    """

    aliases: Sequence[str] = ()
    reads_state: bool = True
    against: str | None = None
    rescale_to: Sequence[str] = ()
    verifies: bool = False
    declarations: Path | None = None
    counts_entries: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """One inspected checkpoint.

    Attributes:
        problems: What is wrong with it, one line each, with the exit code.
    """

    document: dict[str, Any]
    checkpoint: OpenedCheckpoint | None = None
    comparison: CheckpointComparison | None = None
    problems: tuple[tuple[ExitCode, str], ...] = ()


def inspect_checkpoints(
    uris: Sequence[str], questions: Questions, host: Host
) -> Iterator[Inspected]:
    """Yield the contents of each checkpoint; one that cannot be read yields a document with
    ``error``.

    Raises:
        FlinkStateError: An alias is invalid, or the checkpoint to compare with cannot be read.
    """
    aliases = aliases_from(questions.aliases)
    rescaling = rescaling_from(questions.rescale_to)
    against = None
    if questions.against is not None:
        against = read_named(
            absolute(questions.against),
            host,
            aliases,
            reads_state=questions.reads_state,
            outcome="nothing is shown",
        )
    declared = questions.declarations
    asked = _Asked(
        questions=questions,
        host=host,
        aliases=aliases,
        rescaling=rescaling,
        against=against,
        declared=None if declared is None else read_declarations(declared),
    )
    return (_inspected(uri, asked) for uri in uris)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    questions: Questions
    host: Host
    aliases: tuple[Alias, ...]
    rescaling: Rescaling
    against: OpenedCheckpoint | None
    declared: Declarations | None = None


def _inspected(uri: str, asked: _Asked) -> Inspected:
    questions, aliases = asked.questions, asked.aliases
    try:
        checkpoint = read_checkpoint(
            uri, asked.host, aliases=aliases, reads_state=questions.reads_state
        )
    except UnreadableMetadataError as err:
        return _failed(uri, err, offset=err.offset, reason=err.reason)
    except FlinkStateError as err:
        return _failed(uri, err)
    if asked.declared is not None:
        checkpoint = named_by(checkpoint, asked.declared)
    doubts: list[str] = []
    if questions.counts_entries:
        checkpoint, doubts = with_entries(checkpoint)
    directory = str(checkpoint.folder)
    document = describe(checkpoint.metadata, directory=directory)
    at = checkpoint.stored_at
    document |= {"job_id": checkpoint.job_id, "stored_at": None if at is None else at.isoformat()}
    document["contents"] = describe_contents(
        checkpoint.contents, checkpoint.metadata, directory=directory
    )
    comparison, problems = None, [(ExitCode.REFUSED, f"{directory}: {each}") for each in doubts]
    if asked.against is not None:
        comparison = compared(_side(checkpoint, aliases), _side(asked.against, aliases))
        document["against"] = asdict(comparison)
    if questions.rescale_to:
        document["rescaled_to"] = rescaled_document(checkpoint.metadata, asked.rescaling)
        problems += [
            (ExitCode.FAILED if is_refused else ExitCode.REFUSED, f"{directory}: {why}")
            for is_refused, why in rescaling_problems(document["rescaled_to"])
        ]
    if questions.verifies:
        verified = verify_files(checkpoint, asked.host)
        document["verified"] = verified.document
        problems += [(verified.exit_code, f"{directory}: {line}") for line in verified.lines()]
    return Inspected(
        document=document, checkpoint=checkpoint, comparison=comparison, problems=tuple(problems)
    )


def _failed(uri: str, err: FlinkStateError, **more: object) -> Inspected:
    directory, error = redacted(absolute(uri)), redacted(str(err))
    return Inspected(
        document={
            "directory": directory,
            "error": error,
            "exit_code": int(ExitCode.FAILED),
            **more,
        },
        problems=((ExitCode.FAILED, f"{directory}: {error}"),),
    )


def _side(checkpoint: OpenedCheckpoint, aliases: tuple[Alias, ...]) -> Side:
    return Side(
        metadata=checkpoint.metadata,
        operators=checkpoint.contents.operators,
        directory=str(checkpoint.folder),
        aliases=aliases,
    )


def show_checkpoints(
    every: Iterable[Inspected],
    output: InspectOutput,
    *,
    write_page: Callable[[Sequence[Inspected]], object] | None = None,
) -> list[tuple[ExitCode, str]]:
    """Print checkpoints, each in one line as soon as it is read, or all together at the end.

    Returns:
        What is wrong with them, one line each, with the exit code.

    Raises:
        OSError: The page cannot be written.
    """
    kept: list[Inspected] = []
    problems: list[tuple[ExitCode, str]] = []
    is_streamed = output is InspectOutput.JSONL
    for each in every:
        if is_streamed:
            sys.stdout.write(json.dumps(each.document) + "\n")
        if write_page is not None or not is_streamed:
            kept.append(each)
        problems += each.problems
    if not is_streamed:
        _print_together(kept, output)
    if write_page is not None:
        write_page(kept)
    return problems


def _print_together(every: Sequence[Inspected], output: InspectOutput) -> None:
    if output is InspectOutput.JSON:
        documents = [each.document for each in every]
        whole = documents if len(documents) > 1 else documents[0]
        # without indentation C code writes it, several times as fast: a document may be large
        sys.stdout.write(json.dumps(whole, indent=1 if sys.stdout.isatty() else None) + "\n")
    else:
        render = checkpoint_tables if output is InspectOutput.TABLE else checkpoint_tree
        print_tables([part for each in every for part in _shown(each, render)])


def _shown(
    inspected: Inspected,
    render: Callable[[dict[str, Any], CheckpointContents], list[RenderableType]],
) -> Iterator[RenderableType]:
    if inspected.checkpoint is None:
        return
    yield from render(inspected.document, inspected.checkpoint.contents)
    verified = inspected.document.get("verified")
    if verified and not (verified["damaged"] or verified["unseen"]):
        yield Text(f"{counted(verified['files'], 'file')} verified: there, and as long as it says")
    if inspected.comparison is not None:
        yield from comparison_tables(inspected.comparison)
    if (rescaled := inspected.document.get("rescaled_to")) is not None:
        yield from rescaled_tables(rescaled)


_AT_ONCE = 16
_TABLE = ".sst"
_NO_FORMAT = "its entries are counted in canonical savepoints, and in RocksDB's own snapshots"

Entries = dict[str, StateEntries]
"""Number and size of the entries, by the name of a state."""


def with_entries(checkpoint: OpenedCheckpoint) -> tuple[OpenedCheckpoint, list[str]]:
    """Return a checkpoint with the entries of each keyed state, and why some are not known.

    In an incremental snapshot each table file belongs to one state, and says how many entries it
    has. A key that was written or deleted again has one in several files, until RocksDB compacts
    them. Any other snapshot is read whole.
    """
    contents, doubts = [], []
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        counting = _Counting(checkpoint.files, pool)
        for each, operator in zip(
            checkpoint.contents.operators, checkpoint.metadata.operators, strict=True
        ):
            try:
                contents.append(_counted(each, counting.of_operator(operator)))
            except FlinkStateError as err:
                contents.append(each)
                label = each.uid or each.name or each.id
                doubts.append(f"entries of keyed state of operator {label} are unknown: {err}")
    whole = replace(checkpoint.contents, operators=tuple(contents))
    return replace(checkpoint, contents=whole), doubts


def _counted(contents: OperatorContents, entries: Entries) -> OperatorContents:
    if contents.keyed_states is None:
        return contents
    return replace(
        contents, keyed_states=tuple(_with(each, entries) for each in contents.keyed_states)
    )


def _with(state: KeyedStateContents, entries: Entries) -> KeyedStateContents:
    found = entries.get(state.name, StateEntries())
    return replace(state, bytes=found.bytes, entries=found.count)


class _Counting:
    def __init__(self, files: CheckpointFiles, pool: ThreadPoolExecutor) -> None:
        self._files = files
        self._pool = pool

    def of_operator(self, operator: Operator) -> Entries:
        """Return the entries of an operator's keyed states; ``FlinkStateError`` if a file cannot be
        read, or has another format.
        """
        found: Entries = {}
        tables: set[Extent] = set()
        for subtask in operator.subtasks or ():
            handle = subtask.managed_keyed
            if isinstance(handle, IncrementalHandle):
                tables.update(self._tables(handle))
            elif handle is not None:
                _add(found, self._of_snapshot(handle, operator.max_parallelism))
        for each in self._pool.map(self._of_table, sorted(tables)):
            _add(found, each)
        return found

    def _tables(self, handle: IncrementalHandle) -> Iterator[Extent]:
        for each in (*handle.shared, *handle.private):
            place = self._files.place_of(each.handle)
            if each.name.endswith(_TABLE) and isinstance(place, Extent):
                yield place
            elif each.name.endswith(_TABLE):
                raise FlinkStateError("a table file is inside _metadata")

    def _of_table(self, place: Extent) -> Entries:
        if place.size is None:
            raise FlinkStateError(f"the size of {place.path} is unknown")
        tail = min(place.size, TAIL_BYTES)
        data = self._files.within(place, place.size - tail, tail)
        if data is None:
            raise FlinkStateError(f"{place.path} is missing")
        found = read_properties(data, size=place.size)
        return {found.column_family: StateEntries(count=found.entries, bytes=place.size)}

    def _of_snapshot(self, handle: KeyedHandle, groups: int) -> Entries:
        if not isinstance(handle, KeyGroupsHandle):
            raise FlinkStateError(_NO_FORMAT)
        if not any(each > 0 for each in handle.groups.offsets):
            return {}
        place = self._files.place_of(handle.delegate)
        if place.size is None:
            raise FlinkStateError(f"the size of {place.path} is unknown")
        data = self._files.within(place, 0, place.size)
        if data is None:
            raise FlinkStateError("a file of it is missing")
        return read_full_snapshot(data, handle.groups, groups=groups).entries()


def _add(found: Entries, more: Entries) -> None:
    for name, entries in more.items():
        found[name] = found.get(name, StateEntries()) + entries
