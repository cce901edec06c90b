"""Both passes over the same bytes, with what must hold between them."""

import re
from collections import Counter
from typing import Any

import pytest

from flinkstate.metadata.reader import read_metadata
from flinkstate.metadata.references import References, read_references
from flinkstate.metadata.writer import write_metadata
from flinkstate.state.referenced_files import directories_of, handles_of
from flinkstate.uuid_scan import uuid_lots
from flinkstate.values.handles import FileHandle, IncrementalHandle, RelativeHandle, SegmentHandle
from flinkstate.values.metadata_values import Metadata
from orphangc.errors import UnreadableMetadataError

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def outcome(read: Any, data: bytes) -> Any:
    """What a pass gives: its value, or the error as (reason, offset)."""
    try:
        return read(data)
    except UnreadableMetadataError as error:
        return error.reason, error.offset


def refuse(data: bytes) -> UnreadableMetadataError:
    """Expect both passes to refuse, for the same reason at the same place."""
    with pytest.raises(UnreadableMetadataError) as full:
        read_metadata(data)
    with pytest.raises(UnreadableMetadataError) as fast:
        read_references(data)
    assert (full.value.reason, full.value.offset) == (fast.value.reason, fast.value.offset)
    return full.value


def accept(data: bytes) -> tuple[Metadata, References]:
    """Expect both passes to accept, and to agree with each other and with the bytes."""
    metadata, references = read_metadata(data), read_references(data)
    check_agreement(data, metadata, references)
    return metadata, references


def agree(data: bytes) -> bool:
    """Check that both passes say the same of any bytes; return whether they accept."""
    full, fast = outcome(read_metadata, data), outcome(read_references, data)
    if isinstance(full, tuple):
        assert full == fast
        reason, offset = full
        assert reason
        assert 0 <= offset <= len(data)
        return False
    assert isinstance(fast, References)
    check_agreement(data, full, fast)
    return True


def check_agreement(data: bytes, metadata: Metadata, references: References) -> None:
    handles = list(handles_of(metadata.operators))
    paths = [each.path for each in handles if isinstance(each, FileHandle | SegmentHandle)]
    names = [each.name for each in handles if isinstance(each, RelativeHandle)]
    subtasks = [each for operator in metadata.operators for each in operator.subtasks or ()]
    ids = [each.ref_checkpoint_id for each in subtasks if each.ref_checkpoint_id is not None]
    assert list(references.paths) == paths
    assert list(references.relative_names) == names
    assert references.unregistered_paths == unregistered_in(handles, paths)
    assert list(dict.fromkeys(references.directories)) == directories_of(metadata)
    assert references.handles == len(handles)
    assert references.operators == {each.id for each in metadata.operators}
    stateful = {each.id for each in metadata.operators if next(handles_of((each,)), None)}
    assert references.stateful == stateful
    assert references.checkpoint_id == metadata.checkpoint_id
    assert references.format_version == metadata.format_version
    assert references.ref_checkpoint_ids == tuple(ids)
    properties = metadata.properties
    assert references.is_savepoint == (None if properties is None else properties.is_savepoint)
    assert write_metadata(metadata) == data
    assert uuids_in([*paths, *names]) <= raw_uuid_set(data)


def unregistered_in(handles: list[Any], paths: list[str]) -> frozenset[str]:
    """Return the paths outside every list of shared state, counted out of the model."""
    left = Counter(paths)
    for snapshot in (each for each in handles if isinstance(each, IncrementalHandle)):
        left.subtract(
            each.path
            for each in handles_of(snapshot.shared)
            if isinstance(each, FileHandle | SegmentHandle)
        )
    return frozenset(path for path, number in left.items() if number)


def raw_uuid_set(data: bytes) -> set[bytes]:
    found = b"".join(uuid_lots(data))
    assert len(found) % 16 == 0
    return {found[at : at + 16] for at in range(0, len(found), 16)}


def uuids_in(texts: list[str]) -> set[bytes]:
    found = (match for text in texts for match in UUID.findall(text))
    return {bytes.fromhex(match.replace("-", "")) for match in found}
