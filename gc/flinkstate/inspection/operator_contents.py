"""Contents of an operator, from ``_metadata`` and the headers it refers to."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from flinkstate.entries.changelog_names import name_in_change, names_in_set
from flinkstate.errors import UnreadableMetadataError
from flinkstate.state.backend_headers import (
    KeyedHeader,
    OperatorHeader,
    keyed_contents,
    read_keyed_header,
    read_operator_header,
)
from flinkstate.state.contents import (
    KeyedStateContents,
    KeyedStateKind,
    OperatorContents,
    OperatorStateContents,
    StatePartitions,
    SubtaskKeyGroups,
)
from flinkstate.state.extents import Extent, Inline, size_of
from flinkstate.state.file_use import roles_of
from flinkstate.state.header_ranges import (
    Changes,
    Header,
    KeyedHeaders,
    keyed_headers,
    operator_header,
)
from flinkstate.state.key_groups import groups_of
from flinkstate.state.partitions import partition_sizes, states_of
from flinkstate.values.handles import (
    ChangelogHandle,
    IncrementalHandle,
    KeyedHandle,
    KeyGroupsHandle,
    OperatorStateHandle,
    StateMode,
)
from flinkstate.values.metadata_values import HandleKind, Operator, Subtask

HeaderBytes = Mapping[Header, bytes | str]
"""Bytes of each header, or the reason why it could not be read."""

_KEY_GROUPS_SAVEPOINT = 7

_Read = TypeVar("_Read", KeyedHeader, OperatorHeader, tuple[KeyedStateContents, ...])


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSurvey:
    """One operator, and the headers that name its states.

    Attributes:
        managed: Headers that together hold each operator state at least once.
    """

    operator: Operator
    directory: str
    keyed: tuple[KeyedHeaders, ...]
    managed: tuple[Header, ...]

    @property
    def headers(self) -> tuple[Header, ...]:
        """Return all headers to read."""
        return (*(header for each in self.keyed for header in each.every), *self.managed)


def survey_operator(operator: Operator, *, directory: str) -> OperatorSurvey:
    """Return the headers to read for an operator."""
    subtasks = operator.subtasks or ()
    return OperatorSurvey(
        operator=operator,
        directory=directory,
        keyed=tuple(
            keyed_headers(each.managed_keyed, directory)
            for each in subtasks
            if each.managed_keyed is not None
        ),
        managed=_covering(subtasks, directory),
    )


def _covering(subtasks: Iterable[Subtask], directory: str) -> tuple[Header, ...]:
    """Return few headers that cover each operator state: all subtasks write the same form."""
    known: set[str] = set()
    headers = []
    for subtask in subtasks:
        handle = subtask.managed_operator
        names = set() if handle is None else {state.name for state in handle.states}
        if handle is not None and names - known:
            known |= names
            headers.append(operator_header(handle, directory))
    return tuple(headers)


def operator_contents(survey: OperatorSurvey, found: HeaderBytes) -> OperatorContents:
    """Return the contents of an operator."""
    operator = survey.operator
    subtasks = operator.subtasks or ()
    kept: dict[str, set[Extent | Inline]] = {}
    for role, extent in roles_of(operator, survey.directory):
        kept.setdefault(role, set()).add(extent)
    size = {role: size_of(extents) for role, extents in kept.items()}
    inline = [each for extents in kept.values() for each in extents if isinstance(each, Inline)]
    keyed = [(each.index, each.managed_keyed) for each in subtasks if each.managed_keyed]
    coordinator = operator.coordinator
    coordinator_bytes = None if coordinator is None else len(coordinator.data)
    return _with_keyed_states(
        OperatorContents(
            id=operator.id,
            uid=operator.uid,
            name=operator.name,
            parallelism=operator.parallelism,
            max_parallelism=operator.max_parallelism,
            is_fully_finished=operator.is_fully_finished,
            operator_states=_operator_states(survey, found),
            key_groups=tuple(
                SubtaskKeyGroups(subtask=index, groups=groups_of(handle)) for index, handle in keyed
            ),
            keyed_kinds=tuple(dict.fromkeys(_kind(handle) for _, handle in keyed)),
            operator_bytes=size.get("operator", 0),
            keyed_bytes=size.get("keyed", 0),
            raw_operator_bytes=size.get("raw_operator", 0),
            raw_keyed_bytes=size.get("raw_keyed", 0),
            has_raw_operator=any(each.raw_operator is not None for each in subtasks),
            has_raw_keyed=any(each.raw_keyed is not None for each in subtasks),
            coordinator_bytes=coordinator_bytes,
            channel_bytes=size.get("channel", 0),
            inline_bytes=size_of(inline) + (coordinator_bytes or 0),
        ),
        survey.keyed,
        found,
    )


def _with_keyed_states(
    contents: OperatorContents, keyed: tuple[KeyedHeaders, ...], found: HeaderBytes
) -> OperatorContents:
    """Return the contents with every state that a subtask names, and why others are unknown."""
    reasons: list[str] = []
    states: dict[str, KeyedStateContents] = {}
    key_serializer = None
    has_read = False
    for header in (header for each in keyed for header in each.headers):
        read = _read(header, found, read_keyed_header)
        if isinstance(read, str):
            reasons.append(read)
            continue
        has_read = True
        key_serializer = key_serializer or read.key_serializer
        _add(states, map(keyed_contents, read.states))
    for changes in (changes for each in keyed for changes in each.changes):
        names = _names_in(changes, found)
        if isinstance(names, str):
            reasons.append(names)
            continue
        has_read = True
        _add(states, names)
    if len(states) == 1 and not reasons:
        states = {n: replace(each, bytes=contents.keyed_bytes) for n, each in states.items()}
    return replace(
        contents,
        keyed_states=None if reasons and not has_read else tuple(states.values()),
        keyed_unknown=_together(reasons),
        key_serializer=key_serializer,
    )


def _add(states: dict[str, KeyedStateContents], found: Iterable[KeyedStateContents]) -> None:
    """Add states; one that two subtasks describe as of two kinds is of an unknown one."""
    for state in found:
        known = states.setdefault(state.name, state)
        if known.kind is not state.kind:
            states[state.name] = replace(known, kind=KeyedStateKind.UNKNOWN)


def _names_in(changes: Changes, found: HeaderBytes) -> tuple[KeyedStateContents, ...] | str:
    flag = b"" if changes.flag is None else found[changes.flag]
    if flag not in (b"", b"\0"):
        return flag if isinstance(flag, str) else "names in compressed changes are unknown"
    if changes.flag is None:
        return _read(changes.content, found, lambda data: (name_in_change(data),))
    return _read(changes.content, found, names_in_set)


def _together(reasons: list[str]) -> str | None:
    distinct = list(dict.fromkeys(reasons))
    if not distinct:
        return None
    return distinct[0] + (f" (and {len(distinct) - 1} more)" if len(distinct) > 1 else "")


def _read(header: Header, found: HeaderBytes, read: Callable[[bytes], _Read]) -> _Read | str:
    data = found[header]
    if isinstance(data, str):
        return data
    try:
        return read(data)
    except UnreadableMetadataError as err:
        place = header.place
        where = place.path if isinstance(place, Extent) else "state in _metadata"
        return f"{where}: {err.reason} at byte {err.offset} of the header"


def _operator_states(
    survey: OperatorSurvey, found: HeaderBytes
) -> tuple[OperatorStateContents, ...]:
    shares: dict[tuple[str, StateMode], list[StatePartitions]] = {}
    for subtask in survey.operator.subtasks or ():
        if subtask.managed_operator is not None:
            for (name, mode), share in _shares(subtask, subtask.managed_operator):
                shares.setdefault((name, mode), []).append(share)
    serializers = _value_serializers(survey, found)
    return tuple(
        _operator_state(name, mode, sorted(each, key=lambda share: share.subtask), serializers)
        for (name, mode), each in shares.items()
    )


def _operator_state(
    name: str, mode: StateMode, shares: list[StatePartitions], serializers: Mapping[str, str]
) -> OperatorStateContents:
    sizes = [size for share in shares for size in share.sizes]
    known = [size for size in sizes if size is not None]
    return OperatorStateContents(
        name=name,
        mode=mode,
        partitions=len(sizes),
        bytes=sum(known) if len(known) == len(sizes) else None,
        subtasks=tuple(share.subtask for share in shares),
        shares=tuple(shares),
        serializer=serializers.get(name),
    )


def _shares(
    subtask: Subtask, handle: OperatorStateHandle
) -> list[tuple[tuple[str, StateMode], StatePartitions]]:
    sizes = partition_sizes(handle)
    return [
        (
            (state.name, state.mode),
            StatePartitions(subtask=subtask.index, offsets=state.offsets, sizes=sizes[state.name]),
        )
        for state in states_of(handle).values()
    ]


def _value_serializers(survey: OperatorSurvey, found: HeaderBytes) -> dict[str, str]:
    serializers: dict[str, str] = {}
    for header in survey.managed:
        read = _read(header, found, read_operator_header)
        if isinstance(read, str):
            continue
        for record in (*read.operator_states, *read.broadcast_states):
            for each in record.serializers:
                if each.role == "value":
                    serializers.setdefault(record.name, each.snapshot)
    return serializers


def _kind(handle: KeyedHandle) -> HandleKind:
    match handle:
        case IncrementalHandle():
            return HandleKind.INCREMENTAL
        case KeyGroupsHandle():
            is_savepoint = handle.code == _KEY_GROUPS_SAVEPOINT
            return HandleKind.KEY_GROUPS_SAVEPOINT if is_savepoint else HandleKind.KEY_GROUPS
        case ChangelogHandle():
            return HandleKind.CHANGELOG
        case _:
            return HandleKind.CHANGELOG_FILES
