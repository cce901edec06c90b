"""What plans and sweeps find."""

from deploy.stories.story import DAY, GIB, ROOT, Case, found, found_pushed, of_root, pushed

FINDINGS = (
    Case(
        "OrphangcHalted",
        "a root is halted",
        {of_root("halted"): "0x3 1x100", of_root("halted", root="s3://other/root"): "0x100"},
        "1h",
        (
            found(
                f"Nothing of {ROOT} is deleted until a person has found out why and has"
                " lifted the halt."
            ),
        ),
    ),
    Case("OrphangcHalted", "it is halted no more", {of_root("halted"): "1x5 0x100"}, "1h"),
    Case(
        "OrphangcMissingLiveFile",
        "files are missing",
        {of_root("missing_objects"): "0x3 3x100"},
        "1h",
        (
            found(
                f"3 files that checkpoints or savepoints of {ROOT} refer to are missing; what"
                " refers to them cannot be restored."
            ),
        ),
    ),
    Case("OrphangcMissingLiveFile", "none is", {of_root("missing_objects"): "0x100"}, "1h"),
    Case(
        "OrphangcExpiredInUse",
        "a job was restored from a checkpoint in quarantine",
        {of_root("quarantined_checkpoints_in_use"): "0x3 2x100"},
        "1h",
        (
            found(
                f"2 checkpoints of {ROOT} expired and are named by something, or were"
                " restored from."
            ),
        ),
    ),
    Case(
        "OrphangcExpiredInUse",
        "none is",
        {of_root("quarantined_checkpoints_in_use"): "0x100"},
        "1h",
    ),
    Case(
        "OrphangcUnreadableRoot",
        "a first push tells of it: there was no sample before",
        {pushed("refused_jobs", guard="unreadable_root"): "_x3 2x100"},
        "1h",
        (
            found_pushed(
                f"A _metadata file of {ROOT} cannot be read, so it might name any file:"
                " nothing is deleted there (jobs refused: 2)."
            ),
        ),
    ),
    Case(
        "OrphangcUnreadableRoot",
        "a root that is acknowledged as broken is no news",
        {
            of_root("refused_jobs", guard="unreadable_root"): "0x100",
            of_root("refused_jobs", guard="acknowledged_root"): "1x100",
        },
        "1h",
    ),
    Case(
        "OrphangcRefused",
        "two guards refused jobs",
        {
            of_root("refused_jobs", guard="gate"): "2x100",
            of_root("refused_jobs", guard="registry"): "1x100",
            of_root("refused_jobs", guard="clock_skew"): "0x100",
        },
        "1h",
        (
            found(
                f"The guard gate refused jobs of {ROOT} (2); everything of theirs is kept.",
                guard="gate",
            ),
            found(
                f"The guard registry refused jobs of {ROOT} (1); everything of theirs is kept.",
                guard="registry",
            ),
        ),
    ),
    Case(
        "OrphangcRefused",
        "lasting facts and unmet conditions refuse or block, and nobody need do anything",
        {
            of_root("refused_jobs", guard="unproven_layout"): "1x100",
            of_root("refused_jobs", guard="acknowledged_root"): "1x100",
            of_root("refused_jobs", guard="closed_world"): "5x100",
            of_root("refused_jobs", guard="gate"): "1x5 0x100",
        },
        "1h",
    ),
    Case(
        "OrphangcBlocked",
        "too large a share would go",
        {of_root("refused_jobs", guard="max_delete_share"): "1x100"},
        "1h",
        (
            found(
                f"The condition max_delete_share blocks jobs of {ROOT} (1); their orphans are"
                " kept until a person has checked.",
                guard="max_delete_share",
            ),
        ),
    ),
    Case(
        "OrphangcBlocked",
        "the state location is gone: nothing goes any more until a person says so",
        {of_root("refused_jobs", guard="state_lost"): "0x3 4x100"},
        "1h",
        (
            found(
                f"The condition state_lost blocks jobs of {ROOT} (4); their orphans are"
                " kept until a person has checked.",
                guard="state_lost",
            ),
        ),
    ),
    Case(
        "OrphangcBlocked",
        "settings and passing states block by themselves",
        {
            of_root("refused_jobs", guard="closed_world"): "5x100",
            of_root("refused_jobs", guard="not_quiet"): "1x100",
        },
        "1h",
    ),
    Case(
        "OrphangcDeleteErrors",
        "a pushed sweep failed to delete",
        {pushed("swept_objects_total", action="delete", outcome="failed"): f"4x20 11x{DAY}"},
        "24h",
        (found_pushed(f"7 deletions of {ROOT} failed within 1d."),),
    ),
    Case(
        "OrphangcDeleteErrors",
        "the errors are old, and other outcomes are none",
        {
            of_root("swept_objects_total", action="delete", outcome="failed"): f"4x5 9x{2 * DAY}",
            of_root("swept_objects_total", action="delete", outcome="changed"): f"0+1x{2 * DAY}",
            of_root("swept_objects_total", action="delete", outcome="done"): f"0+9x{2 * DAY}",
        },
        "40h",
    ),
    Case(
        "OrphangcRegistryStale",
        "the exporter has written nothing for three quarters of an hour",
        {of_root("registry_age_seconds"): "40x3 2700x100"},
        "1h",
        (
            found(
                f"The newest registry snapshot of a job of {ROOT} was 45m 0s old at the last"
                " plan; after an hour the job is refused."
            ),
        ),
    ),
    Case(
        "OrphangcRegistryStale",
        "a snapshot every few minutes, and none where none is used",
        {
            of_root("registry_age_seconds"): "240x100",
            of_root("registry_age_seconds", root="s3://derived/root"): "0x100",
        },
        "1h",
    ),
    Case(
        "OrphangcOrphanBytesGrowing",
        "more than 100 GiB of orphans, and not fewer than three days ago",
        {
            of_root("stored_bytes", scope="shared", reason="orphan"): f"{120 * GIB}x{5 * DAY}",
            of_root("stored_bytes", scope="shared", reason="in_quarantine"): (
                f"0x{2 * DAY} {30 * GIB}x{5 * DAY}"
            ),
            of_root("stored_bytes", scope="shared", reason="referenced"): f"{GIB}x{5 * DAY}",
        },
        "96h",
        (found(f"150GiB of {ROOT} are orphans, no less than 3d ago."),),
    ),
    Case(
        "OrphangcOrphanBytesGrowing",
        "as many orphans as that, but they become fewer",
        {
            of_root("stored_bytes", scope="shared", reason="orphan"): (
                f"{300 * GIB}x{2 * DAY} {150 * GIB}x{5 * DAY}"
            )
        },
        "96h",
    ),
    Case(
        "OrphangcOrphanBytesGrowing",
        "orphans grow, and are few",
        {of_root("stored_bytes", scope="shared", reason="orphan"): f"0+{GIB // 50}x{5 * DAY}"},
        "96h",
    ),
    Case(
        "OrphangcOrphanBytesGrowing",
        "live bytes grow, orphans are few",
        {
            of_root("stored_bytes", scope="shared", reason="orphan"): f"{GIB}+{GIB}x{DAY // 4}",
            of_root("stored_bytes", scope="shared", reason="referenced"): f"{GIB}+{GIB}x{5 * DAY}",
        },
        "96h",
    ),
)
