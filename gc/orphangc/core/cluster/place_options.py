"""Flink's options that name a place: one list for REST, resources and configuration files.

All spellings of one option that are set count, for a reader cannot know which of them the running
version prefers.
Source: Flink 1.13-2.3, ``CheckpointingOptions``, ``SavepointConfigOptions``,
``StateRecoveryOptions``.
"""

CHECKPOINT_OPTIONS = (
    "execution.checkpointing.dir",
    "state.checkpoints.dir",
    "state.backend.fs.checkpointdir",
)
SAVEPOINT_OPTIONS = (
    "execution.checkpointing.savepoint-dir",
    "state.savepoints.dir",
    "savepoints.state.backend.fs.dir",
)
RESTORE_OPTIONS = ("execution.state-recovery.path", "execution.savepoint.path")
"""What a job is to be restored from: a checkpoint's folder, or its metadata file."""
