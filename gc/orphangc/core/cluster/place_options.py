"""Flink's options that name a place: one list for REST, resources and configuration files.

All spellings of one option that are set count, for a reader cannot know which of them the running
version prefers. Checkpoints are written below the first two; a storage that another option names is
one of Flink's as well, in which a job's code may keep them.
Source: Flink 1.13-2.3, ``CheckpointingOptions``, ``SavepointConfigOptions``,
``StateRecoveryOptions``, ``HighAvailabilityOptions``, ``JobResultStoreOptions``,
``FsStateChangelogOptions``, ``ForStOptions``, ``CoreOptions``.
"""

from collections.abc import Collection, Iterator

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
HA_OPTIONS = (
    "high-availability.storageDir",
    "high-availability.zookeeper.storageDir",
    "recovery.zookeeper.storageDir",
    "job-result-store.storage-path",
)
CLUSTER_ID_OPTIONS = (
    "high-availability.cluster-id",
    "high-availability.zookeeper.path.namespace",
    "recovery.zookeeper.path.namespace",
)
"""Names of the path of a cluster in ZooKeeper, the present one first."""
ZOOKEEPER_ROOT_OPTIONS = ("high-availability.zookeeper.path.root", "recovery.zookeeper.path.root")
"""Names of the path around it, the present one first; its default is ``/flink``."""
HA_TYPE_OPTIONS = ("high-availability.type", "high-availability", "recovery.mode")
"""Names of the kind of high availability, the present one first."""
NO_HA = frozenset({"none", "standalone"})
"""Words for no high availability, of any case; so does Flink take it if no option is set.

Source: Flink 1.13-2.3, ``HighAvailabilityMode.fromConfig``.
"""
CHANGELOG_OPTIONS = ("state.changelog.dstl.dfs.base-path", "dstl.dfs.base-path")
FORST_OPTIONS = ("state.backend.forst.primary-dir", "state.backend.forst.remote-dir")
FOLDER_OPTIONS = (
    *CHECKPOINT_OPTIONS,
    *SAVEPOINT_OPTIONS,
    *HA_OPTIONS,
    *CHANGELOG_OPTIONS,
    *FORST_OPTIONS,
)
RESTORE_OPTIONS = ("execution.state-recovery.path", "execution.savepoint.path")
"""What a job is to be restored from: a checkpoint's folder, or its metadata file."""
NO_PLACES = frozenset({"<checkpoint-not-externally-addressable>", "KUBERNETES_OPERATOR_LAST_STATE"})
"""Words in place of a path: a checkpoint in memory, and a restore by HA metadata alone.

Source: Flink 1.13-2.3, ``NonPersistentMetadataCheckpointStorageLocation.EXTERNAL_POINTER``;
operator 1.10-1.16, ``AbstractJobReconciler.LAST_STATE_DUMMY_SP_PATH``.
"""
DEFAULT_SCHEME = "fs.default-scheme"
FORST_WORDS = frozenset({"checkpoint-dir", "local", "local-dir"})
"""Values of ForSt's directory that name no place.

Source: Flink 2.0-2.3, ``ForStOptions``, ``ForStStateBackend``.
"""


OptionTexts = Collection[tuple[str, str]]
"""Options with their texts, each spelling and each source of one option by itself."""


def named_folders(options: OptionTexts) -> Iterator[tuple[str, str]]:
    """Yield each option that names a folder, with every path that its text may mean."""
    for option, text in options:
        if option in FOLDER_OPTIONS and is_path(option, said := text.strip()):
            yield from ((option, path) for path in with_file_system(said, default_schemes(options)))


def is_path(option: str, text: str) -> bool:
    """Return whether the text of an option that names a folder is a path."""
    return bool(text) and not (option in FORST_OPTIONS and text.lower() in FORST_WORDS)


def named_origins(options: OptionTexts) -> Iterator[str]:
    """Yield every path that options may mean from which a job is to be restored."""
    for option, text in options:
        if option in RESTORE_OPTIONS and (said := text.strip()):
            yield from restored_from(said, default_schemes(options))


def default_schemes(options: OptionTexts) -> list[str]:
    """Return the default file systems that options name, each once."""
    found = (text.strip() for option, text in options if option == DEFAULT_SCHEME)
    return list(dict.fromkeys(filter(None, found)))


def with_file_system(text: str, defaults: Collection[str]) -> tuple[str, ...]:
    """Return every path that a text may mean: Flink's default file system has those without one.

    Args:
        defaults: Values of ``fs.default-scheme``, each the URI of a file system.

    Source: Flink 1.13-2.3, ``FileSystem.getUnguardedFileSystem``: it has scheme and authority.
    """
    if not defaults or not text.startswith("/"):
        return (text,)
    return tuple(each.rstrip("/") + text for each in defaults)


def restored_from(text: str, defaults: Collection[str]) -> tuple[str, ...]:
    """Return every path that a text may mean from which a job is to be restored, if it is one."""
    return () if text in NO_PLACES else with_file_system(text, defaults)
