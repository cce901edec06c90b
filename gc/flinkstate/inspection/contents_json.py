"""Contents of a checkpoint as the part ``contents`` of the JSON document of ``inspect``."""

from typing import Any

from flinkstate.state.contents import (
    CheckpointContents,
    KeyedStateContents,
    OperatorContents,
    OperatorStateContents,
)
from flinkstate.state.extents import Inline, size_of
from flinkstate.state.file_use import all_extents, files_of_operator
from flinkstate.values.handles import StateMode
from flinkstate.values.metadata_values import Metadata, Operator

_Document = dict[str, Any]

MODE_WORDS = {
    StateMode.SPLIT_DISTRIBUTE: "list",
    StateMode.UNION: "union list",
    StateMode.BROADCAST: "broadcast",
}
"""Names of the redistribution modes for people."""


def describe_contents(
    contents: CheckpointContents, metadata: Metadata, *, directory: str
) -> _Document:
    """Return the document, with operators in the order of ``_metadata``.

    ``keyed_states`` is null if no name could be read. ``keyed_unknown`` gives the reason why there
    may be more states than it names, and is null if there are no more.
    """
    extents = all_extents(metadata, directory=directory)
    inline = size_of(each for each in extents if isinstance(each, Inline))
    stored = size_of(extents) - inline
    return {
        "bytes": {"total": stored + inline, "stored": stored, "inline": inline},
        "operators": [
            _operator(each, operator, directory)
            for each, operator in zip(contents.operators, metadata.operators, strict=True)
        ],
    }


def _operator(contents: OperatorContents, operator: Operator, directory: str) -> _Document:
    keyed = contents.keyed_states
    return {
        "id": contents.id,
        "uid": contents.uid,
        "name": contents.name,
        "bytes": {
            "total": contents.total_bytes,
            "operator": contents.operator_bytes,
            "keyed": contents.keyed_bytes,
            "raw_operator": contents.raw_operator_bytes,
            "raw_keyed": contents.raw_keyed_bytes,
            "coordinator": contents.coordinator_bytes,
            "channel": contents.channel_bytes,
            "inline": contents.inline_bytes,
        },
        "operator_states": [_operator_state(each) for each in contents.operator_states],
        "keyed_states": None if keyed is None else [_keyed_state(each) for each in keyed],
        "keyed_unknown": contents.keyed_unknown,
        "key_serializer": contents.key_serializer,
        "keyed_snapshots": [kind.value for kind in contents.keyed_kinds],
        "key_groups": [
            {"subtask": each.subtask, "first": each.groups.first, "count": each.groups.count}
            for each in contents.key_groups
        ],
        "files": [
            {"path": each.path, "bytes": each.bytes, "roles": list(each.roles)}
            for each in files_of_operator(operator, directory=directory)
        ],
    }


def _operator_state(state: OperatorStateContents) -> _Document:
    return {
        "name": state.name,
        "kind": MODE_WORDS[state.mode],
        "mode": state.mode.name,
        "partitions": state.partitions,
        "bytes": state.bytes,
        "serializer": state.serializer,
        "subtasks": [
            {"subtask": share.subtask, "offsets": list(share.offsets), "sizes": list(share.sizes)}
            for share in state.shares
        ],
    }


def _keyed_state(state: KeyedStateContents) -> _Document:
    return {
        "name": state.name,
        "kind": state.kind.value,
        "bytes": state.bytes,
        "entries": state.entries,
        "serializers": {each.role: each.snapshot for each in state.serializers},
    }
