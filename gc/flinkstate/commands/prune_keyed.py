"""``--prune-to``: keyed state without the states that nothing declares, rewritten."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace

from flinkstate.commands.open_checkpoint import CheckpointFiles, OpenedCheckpoint
from flinkstate.compatibility.comparison import DeclarationComparison, FindingKind
from flinkstate.entries.full_snapshot import (
    PROBE_BYTES,
    group_probe,
    problem_of,
    read_full_snapshot,
)
from flinkstate.errors import FlinkStateError, UnreadableMetadataError
from flinkstate.state.backend_headers import read_keyed_header
from flinkstate.state.extents import Inline
from flinkstate.values.handles import (
    BytesHandle,
    KeyedHandle,
    KeyGroupOffsets,
    KeyGroupsHandle,
    RelativeHandle,
)
from flinkstate.values.metadata_values import Operator, Subtask

NEXT_STEP = (
    "restore it once, without snapshot compression, take a canonical savepoint, and prune that"
)

_TOGETHER = "its files hold all keyed states together"
_MAX_BYTES = 4 << 30
"""Maximum size of one subtask's keyed state; it is rewritten in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedPruning:
    """Keyed state that was rewritten.

    Attributes:
        handles: New handles, by operator id and index of the subtask.
        files: Names of the new files, beside the new ``_metadata``.
        kept: Why the keyed state of an operator stays as it is, by its id.
    """

    handles: dict[tuple[str, int], KeyedHandle] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)


def prune_keyed(
    checkpoint: OpenedCheckpoint,
    comparison: DeclarationComparison,
    write: Callable[[str, bytes], object],
) -> KeyedPruning:
    """Write the keyed state of operators without their unclaimed keyed states.

    All subtasks of an operator are rewritten, or none: a state that only some of them lack
    would come back at the next change of the parallelism.

    Raises:
        FlinkStateError: A state file cannot be read.
    """
    gone: dict[str, set[str]] = {}
    for each in comparison.unclaimed:
        if each.kind is FindingKind.KEYED_STATE and each.state is not None:
            gone.setdefault(each.operator.id, set()).add(each.state)
    found, source = KeyedPruning(), _KeyedSource(checkpoint.files)
    for operator in checkpoint.metadata.operators:
        if operator.id in gone:
            target = _KeyedTarget(found=found, write=write)
            _prune_operator(operator, gone[operator.id], source, target)
    return found


def unprunable(checkpoint: OpenedCheckpoint, operators: Collection[str]) -> dict[str, str]:
    """Return why keyed state of operators cannot be pruned, by id, as their first bytes show."""
    source = _KeyedSource(checkpoint.files)
    found = {}
    for operator in checkpoint.metadata.operators:
        if operator.id in operators:
            keyed = [each.managed_keyed for each in operator.subtasks or ()]
            problems = (source.problem(each) for each in keyed if each is not None)
            if (problem := next(filter(None, problems), None)) is not None:
                found[operator.id] = f"{problem}: {NEXT_STEP}"
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeyedTarget:
    found: KeyedPruning
    write: Callable[[str, bytes], object]

    def stored(self, handle: KeyGroupsHandle, data: bytes, index: KeyGroupOffsets) -> KeyedHandle:
        if isinstance(handle.delegate, BytesHandle):
            return replace(handle, groups=index, delegate=replace(handle.delegate, data=data))
        name = str(uuid.uuid4())
        self.write(name, data)
        self.found.files.append(name)
        return replace(handle, groups=index, delegate=RelativeHandle(name=name, size=len(data)))


def _prune_operator(
    operator: Operator, gone: Collection[str], source: _KeyedSource, target: _KeyedTarget
) -> None:
    found = target.found
    keyed = [(each, each.managed_keyed) for each in operator.subtasks or () if each.managed_keyed]
    if not all(isinstance(handle, KeyGroupsHandle) for _, handle in keyed):
        found.kept[operator.id] = f"{_TOGETHER}: {NEXT_STEP}"
        return
    try:  # twice, for a state must be gone in all subtasks or in none, and one may be large
        for _ in _written(operator, keyed, gone, source):
            pass
        for subtask, handle, data, index in _written(operator, keyed, gone, source):
            new = target.stored(handle, data, index)
            found.handles[operator.id, subtask.index] = new
    except UnreadableMetadataError as err:
        found.kept[operator.id] = f"{err.reason}: {NEXT_STEP}"


def _written(
    operator: Operator,
    keyed: list[tuple[Subtask, KeyedHandle]],
    gone: Collection[str],
    source: _KeyedSource,
) -> Iterator[tuple[Subtask, KeyGroupsHandle, bytes, KeyGroupOffsets]]:
    for subtask, handle in keyed:
        if isinstance(handle, KeyGroupsHandle) and any(each > 0 for each in handle.groups.offsets):
            snapshot = read_full_snapshot(
                source.bytes(handle), handle.groups, groups=operator.max_parallelism
            )
            yield subtask, handle, *snapshot.without(gone)


@dataclass(frozen=True, slots=True)
class _KeyedSource:
    files: CheckpointFiles

    def problem(self, handle: KeyedHandle) -> str | None:
        """Return why a handle cannot be pruned, as far as the beginning of its stream shows."""
        if not isinstance(handle, KeyGroupsHandle):
            return _TOGETHER
        start = min((each for each in handle.groups.offsets if each > 0), default=0)
        probe = group_probe(handle.groups)
        if start == 0:
            return None
        try:
            header = read_keyed_header(self._part(handle, 0, start))
            group = b"" if probe is None else self._part(handle, probe, PROBE_BYTES)
        except UnreadableMetadataError as err:
            return err.reason
        except FlinkStateError as err:
            return str(err)
        return problem_of(header, handle.groups, group)

    def _part(self, handle: KeyGroupsHandle, start: int, size: int) -> bytes:
        return self.files.within(self.files.place_of(handle.delegate), start, size) or b""

    def bytes(self, handle: KeyGroupsHandle) -> bytes:
        place = self.files.place_of(handle.delegate)
        if isinstance(place, Inline):
            return place.data
        size = _MAX_BYTES + 1 if place.size is None else place.size
        if place.size is not None and place.size > _MAX_BYTES:
            raise FlinkStateError(
                f"{place.path} has over {_MAX_BYTES} bytes: too large to be pruned"
            )
        data = self.files.within(place, 0, size)
        if data is None or (place.size is not None and len(data) < size):
            raise FlinkStateError(f"{place.path} is missing or cut short; nothing is written")
        return data
