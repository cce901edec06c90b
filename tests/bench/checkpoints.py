"""Retained checkpoints for storages of benchmarks: ``_metadata`` that names what is live."""

import random
import uuid
from collections.abc import Sequence

from flinkstate.metadata.writer import write_metadata
from flinkstate.values.handles import FileHandle, IncrementalHandle, KeyGroupRange, NamedHandle
from flinkstate.values.metadata_values import Metadata, Operator, Subtask

SUBTASKS = 16
_DICE = random.Random(20240101)


def new_uuid() -> str:
    """Return a name as Flink gives files."""
    return str(uuid.UUID(int=_DICE.getrandbits(128), version=4))


def metadata(directory: str, checkpoint_id: int, names: Sequence[str]) -> bytes:
    """Return the ``_metadata`` of an incremental checkpoint of one operator.

    It refers to ``names`` in ``shared/``, and to ``meta-<subtask>`` in its own folder.

    Args:
        directory: URI of the job directory.
        checkpoint_id: Its own.
        names: Base names.

    """
    subtasks = tuple(_subtask(directory, checkpoint_id, names, index) for index in range(SUBTASKS))
    operator = Operator(id="0" * 32, parallelism=SUBTASKS, max_parallelism=128, subtasks=subtasks)
    return write_metadata(
        Metadata(
            format_version=3, checkpoint_id=checkpoint_id, master_states=(), operators=(operator,)
        )
    )


def _subtask(directory: str, checkpoint_id: int, names: Sequence[str], index: int) -> Subtask:
    handles = tuple(
        NamedHandle(
            name=f"{number:06d}.sst", handle=FileHandle(path=f"{directory}/shared/{name}", size=1)
        )
        for number, name in enumerate(names[index::SUBTASKS])
    )
    keyed = IncrementalHandle(
        checkpoint_id=checkpoint_id,
        backend_id=new_uuid(),
        groups=KeyGroupRange(first=index, count=1),
        checkpointed_size=1,
        meta=FileHandle(path=f"{directory}/chk-{checkpoint_id}/meta-{index}", size=1),
        shared=handles,
        private=(),
        state_handle_id=new_uuid(),
        code=11,
    )
    return Subtask(index=index, managed_keyed=keyed)
