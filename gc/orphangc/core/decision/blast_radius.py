"""Limits on how much of one job may go at once (R20)."""

from __future__ import annotations

import math


def share_problem(
    job_id: str, *, removals: int, artifacts: int, share: float, what: str = "files in shared/"
) -> str | None:
    """Return why too large a part of a job's files would go, ``None`` if it would not.

    Args:
        artifacts: Number of objects that could go at all: the files of areas with a proven rule.
            Other objects, which never go, must not make the part look small.
        share: The largest part that may go, from 0 to 1.
    """
    if removals <= share * artifacts:
        return None
    needed = math.ceil(100 * removals / artifacts) / 100 if artifacts else 1
    return (
        f"{removals} of {artifacts} {what} would go, more than {share:.0%}: look at them"
        f" in the plan, then --max-delete-share {job_id}={needed:g} allows it for this job alone"
    )
