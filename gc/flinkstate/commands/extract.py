"""``extract``: write the raw bytes of one operator state, one file per partition, for debugging."""

import json
import shutil
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from flinkstate.commands.open_checkpoint import CheckpointFiles, read_named
from flinkstate.errors import FlinkStateError, SettingsError
from flinkstate.files.host import Host
from flinkstate.files.paths import aliases_from, local_target, refuse_inside
from flinkstate.rescale.extraction import FoundPartition, find_operator, find_partitions
from flinkstate.state.extents import Extent, Inline

INDEX = "index.json"
_CHUNK_BYTES = 8 << 20
_PREFIX_BYTES = 5
_STATES_COMPRESSION = 6
_VERSIONS = range(1, _STATES_COMPRESSION + 1)


def extract_state(
    uri: str,
    host: Host,
    *,
    operator: str,
    state: str,
    subtask: int | None,
    out: Path,
    alias: Sequence[str],
) -> dict[str, Any]:
    """Write the partitions of an operator state into a new folder; return its index.

    A partition's bytes are what the state's serializer wrote, up to the start of the next partition
    (``partition_sizes``). If ``compressed`` is true they are a Snappy stream. The index holds the
    position of each in storage; ``source`` is null for bytes in ``_metadata``.

    Raises:
        SettingsError: The folder is a URI, exists, or is inside the checkpoint's folder; or there
            is no such operator or state.
        FlinkStateError: A file is missing, shorter than its partitions, or cannot be read. The new
            folder is then removed.
    """
    local_target(out)  # before anything is read
    checkpoint = read_named(uri, host, aliases_from(alias), reads_state=False)
    if out.exists() or out.is_symlink():
        raise SettingsError(f"{out} exists and is left as it is: give a new folder")
    refuse_inside(checkpoint.folder, out)
    owner = find_operator(checkpoint.metadata, operator)
    found = find_partitions(owner, state, subtask=subtask)
    partial = out.with_name(f".{out.name}-{uuid.uuid4().hex}.partial")
    partial.mkdir(parents=True)
    try:
        document = {
            "checkpoint_id": checkpoint.metadata.checkpoint_id,
            "directory": str(checkpoint.folder),
            "operator": {"id": owner.id, "uid": owner.uid, "name": owner.name},
            "state": state,
            "partitions": [_written(each, checkpoint.files, partial) for each in found],
        }
        (partial / INDEX).write_text(json.dumps(document, indent=1) + "\n")
        partial.rename(out)
    except BaseException:
        shutil.rmtree(partial)
        raise
    return document


def extracted_tables(document: dict[str, Any]) -> list[RenderableType]:
    """Return an index as a table."""
    table = Table("file", "subtask", "partition", "mode", "offset", "bytes", "compressed")
    for each in document["partitions"]:
        compressed = {True: "yes", False: "no", None: "unknown"}[each["compressed"]]
        figures = (str(each[name]) for name in ("subtask", "partition", "mode", "offset", "length"))
        table.add_row(each["file"], *figures, compressed)
    return [table]


def _written(found: FoundPartition, files: CheckpointFiles, folder: Path) -> dict[str, Any]:
    place = files.place_of(found.delegate)
    path, start = (None, 0) if isinstance(place, Inline) else (place.path, place.start or 0)
    name = f"{found.kind}-{found.subtask}-{found.number}.bin"
    length = 0
    with (folder / name).open("xb") as file:
        for chunk in _chunks(found, files):
            length += file.write(chunk)
    if found.size not in {None, length}:
        raise FlinkStateError(
            f"partition {found.number} of subtask {found.subtask} has {length} bytes"
            f" instead of {found.size} in {path or '_metadata'}"
        )
    return {
        "file": name,
        "kind": found.kind,
        "mode": found.mode.name,
        "subtask": found.subtask,
        "partition": found.number,
        "offset": found.offset,
        "length": length,
        "compressed": _is_compressed(found, files),
        "source": path,
        "source_offset": found.offset + start,
    }


def _chunks(found: FoundPartition, files: CheckpointFiles) -> Iterator[bytes]:
    at, left = found.offset, found.size
    while left is None or left > 0:
        size = _CHUNK_BYTES if left is None else min(left, _CHUNK_BYTES)
        chunk = _part(found, files, at, size)
        yield chunk
        at += len(chunk)
        left = None if left is None else left - len(chunk)
        if len(chunk) < size:
            return


def _is_compressed(found: FoundPartition, files: CheckpointFiles) -> bool | None:
    """Return whether a state is compressed; ``None`` for raw state, which the job writes itself.

    Source: Flink 1.18-2.3, ``OperatorBackendSerializationProxy`` version 6; none before is.
    """
    prefix = _part(found, files, 0, _PREFIX_BYTES)
    version = int.from_bytes(prefix[:4])
    if found.kind == "raw" or len(prefix) < _PREFIX_BYTES or version not in _VERSIONS:
        return None
    return version == _STATES_COMPRESSION and prefix[4] == 1


def _part(found: FoundPartition, files: CheckpointFiles, at: int, size: int) -> bytes:
    place = files.place_of(found.delegate)
    data = files.within(place, at, size)
    if data is None and isinstance(place, Extent):
        raise FlinkStateError(f"{place.path} is missing: the checkpoint is not whole")
    return data or b""
