"""Kind, default, look, text of settings. Written by tests/support/setting_texts.py."""

from collections.abc import Mapping
from typing import Any

from orphangc.core.model.shown import SearchScope, Shown

# ruff: noqa: E501 - one setting a line
# fmt: off

Texts = list[str] | None

SETTINGS: Mapping[str, tuple[Any, Any, Shown, str]] = {
    "state": (str | None, None, Shown(metavar="URL"), "Location of tombstones, journal, history and lock; never inside ROOT."),
    "grace_period": (str, "72h", Shown(panel="Safety margins", metavar="DURATION"), "Minimum age of an orphan."),
    "quarantine_period": (str, "24h", Shown(panel="Safety margins", metavar="DURATION"), "Minimum time between tombstone and deletion."),
    "checkpoint_id_margin": (int, 1, Shown(panel="Safety margins", is_seldom=True), "Number of checkpoint ids below the oldest retained one that still count as young."),
    "clock_skew": (str, "15m", Shown(panel="Safety margins", metavar="DURATION", is_seldom=True), "Tolerance in every comparison of two clocks."),
    "quiet_period": (str, "7d", Shown(panel="Safety margins", metavar="DURATION", is_seldom=True), "Time for which an ended job's directory must have been unchanged."),
    "allow_short_margins": (bool, False, Shown(panel="Safety margins", is_seldom=True), "Accept a grace, quarantine or quiet period below 24h, a clock skew below 1m."),
    "allow_short_grace_period": (bool, False, Shown(is_hidden=True), "Old name of --allow-short-margins."),
    "scope": (Texts, None, Shown(is_seldom=True), "Area to collect: shared, exclusive (chk-N), savepoint, taskowned, changelog, merged or forst (default: every area that has a proven rule for the job). Repeatable, or with commas between."),
    "registry": (Texts, None, Shown(panel="Evidence", metavar="URL", is_seldom=True), "Registry snapshot, a folder of them, or the folder that exporters write into. Repeatable."),
    "registry_wait": (str, "5m", Shown(panel="Evidence", metavar="DURATION", is_seldom=True), "Maximum time for a running job's exporter to answer."),
    "job_archives": (Texts, None, Shown(panel="Evidence", metavar="URI", is_seldom=True, is_one=True), "Folder of Flink's JobResultStore, or of archives for the history server: shows which jobs ended. Repeatable."),
    "extra_roots": (Texts, None, Shown(panel="Evidence", metavar="URL", is_one=True), "Savepoints and other places whose checkpoints may refer to files here. Repeatable."),
    "empty_roots": (Texts, None, Shown(panel="Evidence", metavar="URI", is_seldom=True, is_one=True), "State that this extra root, or a folder that is gone, holds no checkpoint. Repeatable."),
    "search": (SearchScope, SearchScope.STORAGE, Shown(panel="Evidence", is_seldom=True), "Search the whole storage around each named place, or the named places alone."),
    "search_except": (Texts, None, Shown(panel="Evidence", metavar="URI", is_seldom=True), "State that this prefix holds no checkpoint: it is not searched. Repeatable."),
    "closed_world": (bool, False, Shown(panel="Evidence"), "State that no checkpoint outside the searched storages refers to files in this one."),
    "ended_job": (Texts, None, Shown(panel="Evidence", metavar="JOB|all"), "State that this job (or 'all') has ended. Repeatable."),
    "merged_within": (Texts, None, Shown(panel="Evidence", metavar="JOB|all", is_seldom=True), "State that the running job merges files within each checkpoint alone (across-checkpoint-boundary is false), which Flink does not show. Repeatable."),
    "owner": (str | None, None, Shown(panel="Evidence", is_seldom=True), "Id of the only job of a directory that is not named by a job id."),
    "flink_rest": (Texts, None, Shown(panel="Evidence", metavar="URL"), "Flink REST endpoint to ask. Repeatable."),
    "accept_flink_version": (Texts, None, Shown(panel="Evidence", metavar="VERSION", is_seldom=True), "Accept a vendor's build of a tested release, as REST shows it. Repeatable."),
    "kubernetes_ha": (Texts, None, Shown(panel="Evidence", metavar="NAMESPACE", is_seldom=True), "Namespace whose HA ConfigMaps and Flink resources show which jobs are alive. Repeatable."),
    "zookeeper_ha": (Texts, None, Shown(panel="Evidence", metavar="HOSTS/PATH", is_seldom=True), "ZooKeeper whose HA metadata shows which jobs are alive: host:port,host:port/path. Repeatable."),
    "alias": (Texts, None, Shown(panel="Evidence", metavar="FROM=TO"), "Read paths inside _metadata that start with FROM as starting with TO. Repeatable."),
    "pin": (Texts, None, Shown(panel="Evidence", metavar="URL"), "File or folder that is never deleted. Repeatable."),
    "max_delete_share": (Texts, 0.5, Shown(panel="Limits", metavar="SHARE|JOB=SHARE", is_seldom=True), "Largest share of a job's files that may be deleted, of those in shared/ and of those in all areas (default 0.5); JOB=SHARE for one job. Repeatable."),
    "max_deletes": (int | None, None, Shown(panel="Limits", is_seldom=True), "Maximum number of objects that one sweep deletes."),
    "delete_rate": (int, 3200, Shown(panel="Limits", is_seldom=True), "Maximum number of keys deleted per second; throttling lowers it."),
    "inventory": (str | None, None, Shown(panel="Listing", metavar="URL", is_seldom=True), "S3 Inventory to plan from instead of listing: a manifest.json, or the folder of its reports."),
    "inventory_max_age": (str, "72h", Shown(panel="Listing", metavar="DURATION", is_seldom=True), "Maximum age of an inventory."),
    "noncurrent_versions": (bool, False, Shown(panel="Listing", is_seldom=True), "Also count noncurrent versions; needs a second listing."),
    "abort_uploads": (bool, False, Shown(panel="Limits", is_seldom=True), "A sweep with --delete also aborts unfinished uploads that nothing completes any more; nothing brings them back."),
    "unsafe_acknowledge_root": (Texts, None, Shown(panel="Evidence", is_seldom=True), "URI=SHA256 of a _metadata known to be broken. Repeatable."),
}
