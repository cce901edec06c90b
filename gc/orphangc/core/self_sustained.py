"""Is a job's state self-sustained: may the snapshot that it was restored from go?"""

from __future__ import annotations

from orphangc.core.evidence import JobEvidence
from orphangc.core.judge import Judgement
from orphangc.core.uris import Location, place_of

__all__ = ["is_state_self_sustained"]


def is_state_self_sustained(job: JobEvidence, judgement: Judgement) -> bool | None:
    """Return whether all that the job's retained checkpoints refer to lies in its own directories.

    A job restored in NO_CLAIM or LEGACY mode, or one that claimed another's checkpoint, refers to
    that snapshot's files until its own checkpoints have replaced them all.

    Returns:
        ``None`` where it cannot be known: the job has no checkpoint yet, or a guard voided what
        is known of it.

    """
    if judgement.refused is not None or not job.own_roots:
        return None
    if job.feeds or _needs_what_it_was_restored_from(job):
        return False
    folders = {folder for root in job.own_roots for folder in root.files}
    return all(_is_own(folder, job) for folder in (*folders, *_exported_places(job)))


def _is_own(place: Location | None, job: JobEvidence) -> bool:
    return place is not None and any(own.contains(place) for own in job.directories)


def _needs_what_it_was_restored_from(job: JobEvidence) -> bool:
    """Return whether the job has completed nothing of its own since it was restored.

    Older checkpoints of its own directory are no way back then.
    """
    newest = max((root.checkpoint_id for root in job.own_roots), default=-1)
    restored = [
        (each.restored.id, each.restored.external_path) for each in job.facts if each.restored
    ]
    restored += [(each.id, each.path) for one in job.snapshots for each in one.restored]
    return any(at >= newest and not _is_own(place_of(path), job) for at, path in restored)


def _exported_places(job: JobEvidence) -> list[Location | None]:
    """Return what the newest registry snapshot keeps outside paths of the job directory."""
    if not job.snapshots:
        return []
    newest = job.snapshots[-1]
    paths = (*(e.path for e in newest.entries), *(e.path for e in newest.retained))
    return [place_of(path) for path in paths if path.startswith("/") or ":/" in path]
