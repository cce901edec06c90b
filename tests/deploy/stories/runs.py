"""Runs that fail, are missed, or never come."""

from deploy.stories.story import DAY, ROOT, Case, found, found_pushed, of_root, pushed

RUNS = (
    Case(
        "OrphangcNotRunRecently",
        "two intervals and the slack have passed since a plan succeeded",
        {
            of_root("last_success_timestamp_seconds", phase="plan"): f"3600x{DAY}",
            of_root("run_interval_seconds"): f"3600x{DAY}",
        },
        "4h20m",
        (found(f"The phase plan of {ROOT} has not succeeded for 3h 20m 0s.", phase="plan"),),
    ),
    Case(
        "OrphangcNotRunRecently",
        "two intervals have passed, but a run may take longer than that",
        {
            of_root("last_success_timestamp_seconds", phase="plan"): f"3600x{DAY}",
            of_root("run_interval_seconds"): f"3600x{DAY}",
        },
        "4h",
    ),
    Case(
        "OrphangcNotRunRecently",
        "a pushed success stands in the gateway for ever, and grows old all the same",
        {
            pushed("last_success_timestamp_seconds", phase="plan"): f"60x{DAY}",
            pushed("run_interval_seconds"): f"3600x{DAY}",
        },
        "10h",
        (found_pushed(f"The phase plan of {ROOT} has not succeeded for 9h 59m 0s.", phase="plan"),),
    ),
    Case(
        "OrphangcNotRunRecently",
        "a root that has never succeeded is as late as its series is old",
        {
            of_root("last_success_timestamp_seconds", phase="plan"): f"0x{DAY}",
            of_root("run_interval_seconds"): f"3600x{DAY}",
        },
        "4h",
        (found(f"The phase plan of {ROOT} has not succeeded for 4h 0m 0s.", phase="plan"),),
    ),
    Case(
        "OrphangcNotRunRecently",
        "a new root has time for its first runs, however long the others have been there",
        {
            of_root("last_success_timestamp_seconds", phase="plan"): f"_x60 0x{DAY}",
            of_root("run_interval_seconds"): f"_x60 3600x{DAY}",
        },
        "7h",
    ),
    Case(
        "OrphangcNotRunRecently",
        "where sweeps run, one that no longer succeeds is late",
        {
            of_root("last_success_timestamp_seconds", phase="plan"): f"0+300x{DAY}",
            of_root("last_success_timestamp_seconds", phase="sweep"): f"600x{DAY}",
            of_root("run_interval_seconds"): f"3600x{DAY}",
            of_root("runs_total", phase="sweep", result="failed"): f"0+1x{DAY}",
        },
        "10h",
        (found(f"The phase sweep of {ROOT} has not succeeded for 9h 50m 0s.", phase="sweep"),),
    ),
    Case(
        "OrphangcNotRunRecently",
        "every job is blocked: sweeps run to their end, and deletion has stopped",
        {
            of_root("last_success_timestamp_seconds", phase="plan"): f"0+300x{DAY}",
            of_root("last_success_timestamp_seconds", phase="sweep"): f"600x{DAY}",
            of_root("run_interval_seconds"): f"3600x{DAY}",
            of_root("runs_total", phase="sweep", result="blocked"): f"0+1x{DAY}",
        },
        "10h",
        (found(f"The phase sweep of {ROOT} has not succeeded for 9h 50m 0s.", phase="sweep"),),
    ),
    Case(
        "OrphangcNotRunRecently",
        "where only reports are made, no sweep is asked for",
        {
            of_root("last_success_timestamp_seconds", phase="plan"): f"0+300x{2 * DAY}",
            of_root("last_success_timestamp_seconds", phase="sweep"): f"0x{2 * DAY}",
            of_root("run_interval_seconds"): f"3600x{2 * DAY}",
            of_root("runs_total", phase="sweep", result="done"): f"0x{2 * DAY}",
        },
        "40h",
    ),
    Case(
        "OrphangcNotRunRecently",
        "a root without a schedule is never late",
        {
            of_root("last_success_timestamp_seconds", phase="plan"): f"60x{DAY}",
            of_root("run_interval_seconds"): f"0x{DAY}",
        },
        "20h",
    ),
    Case(
        "OrphangcNotRunRecently",
        "a replica that only stands by knows old successes, the leader newer ones",
        {
            of_root("last_success_timestamp_seconds", phase="plan"): f"0+300x{DAY}",
            of_root("last_success_timestamp_seconds", phase="plan", pod=2): f"60x{DAY}",
            of_root("run_interval_seconds"): f"3600x{DAY}",
            of_root("run_interval_seconds", pod=2): f"3600x{DAY}",
        },
        "20h",
    ),
    Case(
        "OrphangcRunFailing",
        "every run of a day has failed",
        {
            of_root("runs_total", phase="plan", result="done"): f"7x{DAY}",
            of_root("runs_total", phase="plan", result="unreachable"): f"0x71 1x71 2x71 3x{DAY}",
        },
        "24h",
        (
            found(
                f"3 times within 1d the phase plan of {ROOT} failed, and it never succeeded.",
                phase="plan",
            ),
        ),
    ),
    Case(
        "OrphangcRunFailing",
        "the next run after failures has succeeded",
        {
            of_root("runs_total", phase="plan", result="done"): f"7x200 8x{DAY}",
            of_root("runs_total", phase="plan", result="failed"): f"0x71 1x71 2x{DAY}",
        },
        "24h",
    ),
    Case(
        "OrphangcRunFailing",
        "a sweep after failures ran to its end, and every job was blocked",
        {
            of_root("runs_total", phase="sweep", result="blocked"): f"7x200 8x{DAY}",
            of_root("runs_total", phase="sweep", result="failed"): f"0x71 1x71 2x{DAY}",
        },
        "24h",
    ),
    Case(
        "OrphangcRunFailing",
        "one failure is no reason: the next run is the retry",
        {
            of_root("runs_total", phase="plan", result="done"): f"7x{DAY}",
            of_root("runs_total", phase="plan", result="failed"): f"0x250 1x{DAY}",
        },
        "24h",
    ),
    Case(
        "OrphangcMissedRuns",
        "the scheduler missed three runs",
        {of_root("runs_total", phase="plan", result="missed"): f"0x50 1x50 2x50 3x{DAY}"},
        "24h",
        (
            found(
                f"3 runs of {ROOT} were missed within 1d: a run takes longer than the schedule"
                " allows, or the daemon was busy."
            ),
        ),
    ),
    Case(
        "OrphangcMissedRuns",
        "one run was missed, as over a restart",
        {of_root("runs_total", phase="plan", result="missed"): f"0x50 1x{DAY}"},
        "24h",
    ),
    Case(
        "OrphangcLockHeld",
        "run after run finds the lock held",
        {of_root("runs_total", phase="plan", result="locked"): f"0x50 1x50 2x50 3x50 4x{DAY}"},
        "24h",
        (
            found(
                f"4 runs of {ROOT} found its lock held within 1d: two schedulers work on it,"
                " or a run hangs."
            ),
        ),
    ),
    Case(
        "OrphangcLockHeld",
        "a run met one that somebody had started by hand",
        {of_root("runs_total", phase="plan", result="locked"): f"0x50 1x{DAY}"},
        "24h",
    ),
)
