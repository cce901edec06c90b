"""Names of keyed states in the changes of a changelog: what a state is, before its first change.

A set of changes is grouped by key group, and the group of metadata, -1, comes first.

Source: Flink 1.15-2.3, ``StateChangeFormat.write``, ``AbstractStateChangeLogger`` (``METADATA``),
``StateMetaInfoSnapshotReadersWriters``.
"""

from flinkstate.metadata.cursor import Cursor
from flinkstate.state.backend_headers import KEYED_KINDS, keyed_contents
from flinkstate.state.contents import KeyedStateContents
from flinkstate.state.header_ranges import METADATA_GROUP
from flinkstate.state.key_groups import MAX_PARALLELISM
from flinkstate.state.state_meta_info import StateRecord, StateRecordKind

_METADATA_CODE = 8
_VERSIONS = (6, 7)
_SMALLEST_OPTION = 4


def names_in_set(data: bytes) -> tuple[KeyedStateContents, ...]:
    """Return the states that a set of changes introduces; ``data`` begins with the set.

    Raises:
        UnreadableMetadataError: The bytes are no such set, or end before its metadata does.
    """
    cursor = Cursor(data)
    groups = cursor.i4()
    if groups == 0:
        return ()
    count, group = cursor.i4(), cursor.i4()
    if not (
        1 <= groups <= MAX_PARALLELISM + 1
        and count >= 1
        and METADATA_GROUP <= group < MAX_PARALLELISM
    ):
        raise cursor.error(f"{groups} groups, {count} changes of key group {group}", at=0)
    if group != METADATA_GROUP:
        return ()
    found = []
    for _ in range(count):
        at = cursor.position
        size = cursor.i4()
        if size < 0 or size > cursor.end - cursor.position:
            raise cursor.error(f"a change of {size} bytes", at=at)
        found.append(name_in_change(data[cursor.position : cursor.position + size]))
        cursor.position += size
    return tuple(found)


def name_in_change(data: bytes) -> KeyedStateContents:
    """Return the state that one change of metadata introduces, without its serializers.

    Raises:
        UnreadableMetadataError: The bytes are no such change.
    """
    cursor = Cursor(data)
    code, version = cursor.u1(), cursor.i4()
    if code != _METADATA_CODE or version not in _VERSIONS:
        raise cursor.error(f"change of code {code}, version {version}", at=0)
    name, at = cursor.utf(), cursor.position
    kind = cursor.i4()
    if kind not in KEYED_KINDS:
        raise cursor.error(f"a state of kind {kind} here", at=at)
    options = {cursor.utf(): cursor.utf() for _ in range(cursor.count(_SMALLEST_OPTION))}
    record = StateRecord(name=name, kind=StateRecordKind(kind), options=options, serializers=())
    return keyed_contents(record)
