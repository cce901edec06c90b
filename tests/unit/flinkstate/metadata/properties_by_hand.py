"""Properties of checkpoints, with the flags that a retention policy of Flink sets."""

from unit.flinkstate.metadata.golden_files import golden

_CHECKPOINT = golden("2.3.0/empty").data[-604:]
_FLAGS_AT = 258

RETAINED = (0, 0, 1, 1, 0)
"""Whether Flink deletes it upon CANCELED, FAILED, FINISHED, SUBSUMED, SUSPENDED."""
NEVER_RETAINED = (1, 1, 1, 1, 1)
"""Flags by default: ``CheckpointRetentionPolicy.NEVER_RETAIN_AFTER_TERMINATION``."""


def checkpoint_properties(flags: tuple[int, ...] = RETAINED) -> bytes:
    block = bytearray(_CHECKPOINT)
    block[_FLAGS_AT : _FLAGS_AT + len(flags)] = bytes(flags)
    return bytes(block)
