"""Is a job's state self-sustained: may the snapshot that it was restored from go?"""

from __future__ import annotations

from orphangc.core.evidence import JobEvidence
from orphangc.core.judge import Judgement

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
    if job.feeds:
        return False
    folders = {folder for root in job.own_roots for folder in root.files}
    return all(any(own.contains(folder) for own in job.directories) for folder in folders)
