"""Retained checkpoints for storages of benchmarks: ``_metadata`` that names what is live."""

import random
import uuid
from collections.abc import Sequence

from flinkstate.metadata.writer import write_metadata
from flinkstate.values.handles import FileHandle, IncrementalHandle, KeyGroupRange, NamedHandle
from flinkstate.values.metadata_values import Metadata, Operator, Subtask

SUBTASKS = 16
_FIRST_ENTRY = b"\x00\x0a000000.sst"
_ANY = "latin-1"  # a character a byte
_DICE = random.Random(20240101)


def file_of(folder: str, subtask: int) -> str:
    """Return the name of a subtask's own file in ``<job>/chk-<n>``, a UUID of that folder alone."""
    own = "/".join(folder.split("/")[-2:])
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{own}/{subtask}"))


def new_uuid() -> str:
    return str(uuid.UUID(int=_DICE.getrandbits(128), version=4))


def metadata(directory: str, checkpoint_id: int, names: Sequence[str]) -> bytes:
    """Return the ``_metadata`` of an incremental checkpoint of one operator.

    It refers to ``names`` in ``shared/``, and to a file of each subtask in its own folder.
    """
    parts = [names[index::SUBTASKS] for index in range(SUBTASKS)]
    subtasks = tuple(
        _subtask(directory, checkpoint_id, part, index) for index, part in enumerate(parts)
    )
    operator = Operator(id="0" * 32, parallelism=SUBTASKS, max_parallelism=128, subtasks=subtasks)
    data = write_metadata(
        Metadata(
            format_version=3, checkpoint_id=checkpoint_id, master_states=(), operators=(operator,)
        )
    )
    parent = f"{directory}/shared/"
    found, at = [], 0
    for part in filter(None, parts):
        # a value for each of five million entries would take more than the plan
        first = parent + part[0]
        start = data.index(_FIRST_ENTRY, at)
        end = data.index(first.encode(), start)
        between = data[start + len(_FIRST_ENTRY) : end - 2].decode(_ANY)
        entries = "".join(
            f"\0\n{number:06d}.sst{between}{_length(parent + name)}{parent}{name}"
            for number, name in enumerate(part)
        )
        count = len(part).to_bytes(4, "big")
        found += [data[at : start - len(count)], count, entries.encode(_ANY)]
        at = end + len(first)
    return b"".join((*found, data[at:]))


def _length(text: str) -> str:
    return chr(len(text) >> 8) + chr(len(text) & 0xFF)


def _subtask(directory: str, checkpoint_id: int, names: Sequence[str], index: int) -> Subtask:
    folder = f"{directory}/chk-{checkpoint_id}"
    handles = tuple(
        NamedHandle(
            name=f"{0:06d}.sst", handle=FileHandle(path=f"{directory}/shared/{name}", size=1)
        )
        for name in names[:1]
    )
    keyed = IncrementalHandle(
        checkpoint_id=checkpoint_id,
        backend_id=new_uuid(),
        groups=KeyGroupRange(first=index, count=1),
        checkpointed_size=1,
        meta=FileHandle(path=f"{folder}/{file_of(folder, index)}", size=1),
        shared=handles,
        private=(),
        state_handle_id=new_uuid(),
        code=11,
    )
    return Subtask(index=index, managed_keyed=keyed)
