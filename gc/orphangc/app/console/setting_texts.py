"""Kind, default and text of each setting. Written by tests/support/setting_texts.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orphangc.core.model.codes import SearchScope

# ruff: noqa: E501 - one setting a line
# fmt: off

Texts = list[str] | None

SETTINGS: Mapping[str, tuple[Any, Any, str]] = {
    "state": (str | None, None, "Location of tombstones, journal, history and lock; never inside ROOT."),
    "grace_period": (str, "72h", "Minimum age of an orphan."),
    "quarantine_period": (str, "24h", "Minimum time between tombstone and deletion."),
    "checkpoint_id_margin": (int, 1, "Number of checkpoint ids below the oldest retained one that still count as young."),
    "clock_skew": (str, "15m", "Tolerance in every comparison of two clocks."),
    "quiet_period": (str, "7d", "Time for which an ended job's directory must have been unchanged."),
    "allow_short_margins": (bool, False, "Accept a grace, quarantine or quiet period below 24h, a clock skew below 1m."),
    "allow_short_grace_period": (bool, False, "Old name of --allow-short-margins."),
    "scope": (Texts, None, "Area to collect: shared, exclusive (chk-N), savepoint, taskowned, changelog, merged or forst (default: every area that has a proven rule for the job)."),
    "registry": (Texts, None, "Registry snapshot, a folder of them, or the folder that exporters write into."),
    "registry_wait": (str, "5m", "Maximum time for a running job's exporter to answer."),
    "job_archives": (Texts, None, "Folder of Flink's JobResultStore, or of archives for the history server: shows which jobs ended."),
    "extra_roots": (Texts, None, "Savepoints and other places whose checkpoints may refer to files here."),
    "empty_roots": (Texts, None, "State that this extra root, or a folder that is gone, holds no checkpoint."),
    "search": (SearchScope, SearchScope.STORAGE, "Search the whole storage around each named place, or the named places alone."),
    "search_except": (Texts, None, "State that this prefix holds no checkpoint: it is not searched."),
    "closed_world": (bool, False, "State that no checkpoint outside the searched storages refers to files in this one."),
    "ended_job": (Texts, None, "State that this job (or 'all') has ended."),
    "merged_within": (Texts, None, "State that the running job merges files within each checkpoint alone (across-checkpoint-boundary is false), which Flink does not show."),
    "owner": (str | None, None, "Id of the only job of a directory that is not named by a job id."),
    "flink_rest": (Texts, None, "Flink REST endpoint to ask."),
    "accept_flink_version": (Texts, None, "Accept a vendor's build of a tested release, as REST shows it."),
    "kubernetes_ha": (Texts, None, "Namespace whose HA ConfigMaps and Flink resources show which jobs are alive."),
    "zookeeper_ha": (Texts, None, "ZooKeeper whose HA metadata shows which jobs are alive: host:port,host:port/path."),
    "alias": (Texts, None, "Read paths inside _metadata that start with FROM as starting with TO."),
    "pin": (Texts, None, "File or folder that is never deleted."),
    "max_delete_share": (Texts, 0.5, "Largest share of a job's files that may be deleted, of those in shared/ and of those in all areas (default 0.5); JOB=SHARE for one job."),
    "max_deletes": (int | None, None, "Maximum number of objects that one sweep deletes."),
    "delete_rate": (int, 3200, "Maximum number of keys deleted per second; throttling lowers it."),
    "inventory": (str | None, None, "S3 Inventory to plan from instead of listing: a manifest.json, or the folder of its reports."),
    "inventory_max_age": (str, "72h", "Maximum age of an inventory."),
    "noncurrent_versions": (bool, False, "Also count noncurrent versions; needs a second listing."),
    "abort_uploads": (bool, False, "A sweep with --delete also aborts unfinished uploads that nothing completes any more; nothing brings them back."),
    "unsafe_acknowledge_root": (Texts, None, "URI=SHA256 of a _metadata known to be broken."),
}
