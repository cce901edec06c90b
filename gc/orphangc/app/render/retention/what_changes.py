"""The one thing that would change each reason for which ``expire`` keeps a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping

from orphangc.core.lineage.checkpoint_fates import RetentionReason

CHANGES: Mapping[RetentionReason, str] = {
    RetentionReason.UNKNOWN_JOB: "--extra-root: search the place of its job's directory",
    RetentionReason.STOPPED: "orphangc plan says what stops the work on its job",
    RetentionReason.HELD: "what holds it gives it up: a pin, a resource, a job of its own state",
    RetentionReason.JOB_NOT_OVER: "the job ends, or --ended-job states that it has",
    RetentionReason.ORIGIN_UNKNOWN: (
        "--continued JOB=OLDER@ID, or JOB=nothing, states what the job began with"
    ),
    RetentionReason.NOT_COLLECTABLE: "--savepoints names the place of a self-contained savepoint",
    RetentionReason.MAKER_UNPROVEN: "a cycle that sees the job take it, while that runs",
    RetentionReason.STORE_TIME_UNKNOWN: "a storage that says when it was stored",
    RetentionReason.TOO_YOUNG: "--grace-period has passed since it was stored",
    RetentionReason.NO_POLICY: "--keep-last 1, or another policy",
    RetentionReason.ENDED_RECENTLY: "--ended-for has passed since the job's last sign of life",
    RetentionReason.LINEAGE_LIVES: "--dead names the job, and what may have continued it is over",
    RetentionReason.NO_SUCCESSOR: "--continued NEWER=OLDER@ID, if so it was; --dead gives it up",
    RetentionReason.SUCCESSOR_NEEDS_FILES: "the job is RUNNING, and names only files of its own",
    RetentionReason.KEEP_LAST: "a smaller --keep-last",
    RetentionReason.KEEP_WITHIN: "a shorter --keep-within",
    RetentionReason.KEEP_DAILY: "a smaller --keep-daily",
    RetentionReason.KEEP_WEEKLY: "a smaller --keep-weekly",
    RetentionReason.KEEP_MONTHLY: "a smaller --keep-monthly",
    RetentionReason.IN_QUARANTINE: "time; orphangc undelete brings it back before",
}
