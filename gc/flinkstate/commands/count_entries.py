"""``inspect --count-entries``: bytes and entries of each keyed state, where files say so."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from flinkstate.commands.open_checkpoint import CheckpointFiles, OpenedCheckpoint
from flinkstate.entries.full_snapshot import read_full_snapshot
from flinkstate.entries.key_group import StateEntries
from flinkstate.entries.sst_properties import TAIL_BYTES, read_properties
from flinkstate.errors import FlinkStateError
from flinkstate.state.contents import KeyedStateContents, OperatorContents
from flinkstate.state.extents import Extent
from flinkstate.values.handles import IncrementalHandle, KeyedHandle, KeyGroupsHandle
from flinkstate.values.metadata_values import Operator

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
    """Counts the entries of operators."""

    def __init__(self, files: CheckpointFiles, pool: ThreadPoolExecutor) -> None:
        self._files = files
        self._pool = pool

    def of_operator(self, operator: Operator) -> Entries:
        """Return the entries of an operator's keyed states.

        Raises:
            FlinkStateError: A file cannot be read, or has another format.
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
