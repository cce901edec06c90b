"""What answers a loss, taken away through a seam: without its answer a loss must happen again.

Nothing here edits a file. A name is ``guard:…`` or ``condition:…`` (an entry of their tables), or
one of ``REMOVALS``, which put back what the collectors did that lost data. `` + `` joins several: a
loss that two answers stand against is told by taking both.
"""

import glob
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from inspect import isfunction, signature
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from flinkstate.metadata.references import read_references
from flinkstate.places import locations as uris
from orphangc.adapters.files import local_storage, mount_table, translate
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.app.runner import sweep_plan as sweeping
from orphangc.app.wiring import compose, discovering, searched_places
from orphangc.collect import cycle, discovery
from orphangc.collect.decide import abandoned_savepoints, decide_listing, judged_cycle
from orphangc.collect.dependencies import origins
from orphangc.collect.expire import assemble_report, held_bytes, lineage_facts, savepoint_folders
from orphangc.collect.listing import noted_names
from orphangc.collect.mark import evidence_of_jobs, job_reports, mark, survey
from orphangc.collect.observe import checkpoints as roots
from orphangc.collect.observe import observation as observe
from orphangc.collect.observe.changes_beside import ChangesBeside
from orphangc.collect.observe.reported import Answers
from orphangc.collect.quarantine import quarantine
from orphangc.collect.quarantine.checkpoint_folders import CheckpointFolders
from orphangc.collect.revalidate import revalidation
from orphangc.collect.runs.planned_run import PlannedRun
from orphangc.collect.state import discovery_memory, lock
from orphangc.collect.state.discovery_memory import MARKER, DiscoveryRead
from orphangc.collect.state.store import RootState
from orphangc.collect.sweep import plan_intersection as permission
from orphangc.collect.sweep import sweep
from orphangc.collect.world import recalling, sighted, sighted_lineage
from orphangc.collect.world.recalling import NOTHING_RECALLED
from orphangc.core.areas.table import AREAS
from orphangc.core.cluster.ha_facts import Hold
from orphangc.core.cluster.placement import Home
from orphangc.core.columns import listing_columns as columns
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision import bounds_of_job, judge, kernel
from orphangc.core.decision.conditions import CONDITIONS
from orphangc.core.decision.evidence import CycleEvidence, JobEvidence, has_ended
from orphangc.core.decision.guards import GUARDS
from orphangc.core.discovery import discovered_world
from orphangc.core.discovery.discovered_facts import Discovery, UnclearFact
from orphangc.core.discovery.remembered_facts import DiscoveryMemory, united
from orphangc.core.lineage import checkpoint_fates, continuation, lineage_graph, stated_origins
from orphangc.core.lineage.lineage_graph import lineages_of
from orphangc.core.lineage.retention_policy import kept_by
from orphangc.core.memory.explanations import Explanations
from orphangc.core.model import bounds, settings
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.naming import Artifact, uuid_of
from orphangc.core.model.types import AreaName, DirectoryLayout, JobState, StoredObject
from orphangc.core.times.instants import LATEST
from orphangc.ports import DeletionResult, DeletionStatus, StateFiles, StoreTime

_Patch = pytest.MonkeyPatch
_Removal = Callable[[_Patch], None]


def remove(name: str, patch: _Patch) -> None:
    """Take away what a name stands for."""
    for each in name.split(" + "):
        kind, _, entry = each.partition(":")
        if kind == "guard":
            patch.setitem(GUARDS, Guard(entry), _content)
        elif kind == "condition":
            patch.setitem(CONDITIONS, Condition(entry), _content)
        else:
            REMOVALS[each](patch)


def _content(*_: object) -> None:
    """Object to nothing; an entry that went and came back would be asked in another order."""


def _roots_are_filtered(patch: _Patch, keep: Callable[..., bool]) -> None:
    """Let only some of what a root names count, and nothing that its raw bytes show."""
    decode = roots.CheckpointReader.decoded

    def decoded(self, data, base, folder, listed):  # noqa: PLR0917 - as what it stands for
        root = decode(self, data, base, folder, listed)
        if not isinstance(root, roots.Checkpoint):
            return root
        spelled = {path.rpartition("/")[0] for path in read_references(data).paths}
        files = {f: names for f, names in root.files.items() if keep(root, f, base, spelled)}
        return replace(root, files=files, raw=UuidSet())

    patch.setattr(roots.CheckpointReader, "decoded", decoded)


def _matching_by_name(patch: _Patch) -> None:
    """Compare texts of paths, as an anti-join of a listing with metadata does (R5)."""
    _roots_are_filtered(
        patch, lambda _, folder, base, spelled: base.contains(folder) and str(folder) in spelled
    )


def _other_jobs_roots(patch: _Patch) -> None:
    """Let a root count in its own directory only (R4, R12)."""

    def is_own(root, folder, _base, _spelled) -> bool:
        return root.directory is not None and root.directory.contains(folder)

    _roots_are_filtered(patch, is_own)


def _every_root(patch: _Patch) -> None:
    """Let no root count beside registry snapshots and pins (R4)."""
    _roots_are_filtered(patch, lambda *_: False)


def _pins_and_snapshots(patch: _Patch) -> None:
    """Let only roots count (R4, R14)."""
    live_set = mark._live_set
    patch.setattr(mark, "_live_set", lambda observation, *_: live_set(observation, (), UuidSet()))


def _whole_storages(patch: _Patch) -> None:
    """Search the named places alone, whatever else is in their storages."""
    patch.setattr(compose, "storage_search", lambda *_: None)


def _metadata_of_another_name(patch: _Patch) -> None:
    """Take for a checkpoint only what is called as Flink calls it."""
    for each in (roots, noted_names):
        patch.setattr(each, "may_be_metadata", lambda key: key.split("/")[-1] == "_metadata")


def _names_shown_once(patch: _Patch) -> None:
    """Show two files of one folder by one key, which names one of them."""
    patch.setattr(LocalStorage, "_shown", lambda _, name, *__: translate.escaped(name))


def _one_checkpoint_a_place(patch: _Patch) -> None:
    """Let an object that has the name of a folder stand for the checkpoint in it."""
    readable = roots.CheckpointScan.readable.fget
    first = property(lambda scan: [*dict(reversed(readable(scan))).items()])
    patch.setattr(roots.CheckpointScan, "readable", first)
    patch.setattr(observe, "_read_hidden", lambda *_: ())


def _nameless_folders(patch: _Patch) -> None:
    """Overlook what is in a folder without a name."""
    patch.setattr(roots, "_add_nameless", lambda *_: None)
    patch.setattr(observe, "_read_hidden", lambda *_: ())


def _checkpoints_that_stood(patch: _Patch) -> None:
    """Believe a listing that lacks what was there before and after it."""
    patch.setattr(cycle, "check_standing", lambda *_: None)


def _silence_everywhere(patch: _Patch) -> None:
    """Take a storage root that is still for a job that is."""
    patch.setattr(judged_cycle, "with_changes_elsewhere", lambda job, *_: job)


def _jobs_beside(patch: _Patch) -> None:
    """Judge no job that the search of storages alone shows (R12, R38)."""
    patch.setattr(judged_cycle, "jobs_beside", lambda *_, **__: {})


def _siblings(patch: _Patch) -> None:
    """Search no other storage root (R4)."""
    patch.setattr(searched_places, "_siblings_of", lambda *_: [])


def _reported_roots(patch: _Patch) -> None:
    """Look at no place that Flink or Kubernetes names (R4)."""
    patch.setattr(Answers, "reported", lambda *_: ([], ()))


def _reading_anew(patch: _Patch) -> None:
    """Cache the listing of roots, for good (R18)."""
    first: dict[uris.Location, roots.CheckpointScan] = {}
    scan = roots.scan_checkpoints

    def cached(storage, **of):
        if storage.location not in first:
            first[storage.location] = scan(storage, **of)
        return first[storage.location]

    for module in (observe, roots):
        patch.setattr(module, "scan_checkpoints", cached)
    patch.setattr(observe, "_read_hidden", lambda *_: ())


def _areas_elsewhere(patch: _Patch) -> None:
    """Take each ``shared/`` below the name of a job id for Flink's, wherever it is (R4)."""
    scan = roots.scan_checkpoints
    patch.setattr(roots, "scan_checkpoints", lambda storage, **_: scan(storage))


def _looking_again(patch: _Patch) -> None:
    """Look at nothing before and after a batch (R18)."""

    def blind(self):
        return revalidation.CurrentReferences(UuidSet(), self.environment.storage.location.name)

    patch.setattr(revalidation.Revalidation, "check", blind)
    patch.setattr(revalidation.Revalidation, "check_after", blind)


def _cutoff(patch: _Patch) -> None:
    """Ask for no age (R10)."""
    patch.setattr(bounds, "cutoff", lambda _: LATEST)


def _frozen_cutoff(patch: _Patch) -> None:
    """Take the time when everything has been read (R10)."""
    check = cycle.observe

    def late(*args):
        seen = check(*args)
        return replace(seen, time=seen.time_after)

    patch.setattr(cycle, "observe", late)


def _clock_of_a_mount(patch: _Patch) -> None:
    """Take this host's time for that of every file system (R10)."""

    def of_this_host(*_):
        at = mount_table.host_now()
        return StoreTime(now=at, local=at, source="clock of this host")

    patch.setattr(local_storage, "store_time", of_this_host)


def _known_times(patch: _Patch) -> None:
    """Take a store time that nobody knows for an old one (R10)."""
    read = columns._microseconds
    patch.setattr(columns, "_microseconds", lambda times: np.maximum(read(times), 1))


def _checkpoint_ids(patch: _Patch) -> None:
    """Let no checkpoint id in a name forbid anything (R24)."""
    patch.setattr(kernel, "_newest_older_id", lambda _: kernel._MOST)


def _grammar(patch: _Patch) -> None:
    """Take whatever ends in a UUID for a file of Flink's, in ``shared/`` (R1)."""
    asked = columns.recognise

    def lax(name, place):
        uuid = uuid_of(name)
        return asked(name, place) if uuid is None else Artifact(DirectoryLayout.FLAT, uuid=uuid)

    patch.setattr(columns, "recognise", lax)
    patch.setattr(columns, "_area_of", lambda artifact, _: artifact.uuid and AreaName.SHARED)


def _identity(patch: _Patch) -> None:
    """Take the same name for the same object (R19)."""
    patch.setattr(StoredObject, "is_same_as", lambda *_: True)
    patch.setattr(permission, "_is_equal", lambda left, _: np.ones(len(left), np.bool_))


def _limits(patch: _Patch) -> None:
    """Let any share of a job go (R20)."""
    patch.setattr(decide_listing, "_with_limits", lambda view, *_: view)


def _traces_of_flink(patch: _Patch) -> None:
    """Take every directory with the name of a job id for Flink's (R13)."""
    patch.setattr(evidence_of_jobs, "has_trace_of_flink", lambda *_: True)


def _share_of_artifacts(patch: _Patch) -> None:
    """Count what never goes among what may (R20)."""
    problem = decide_listing.share_problem
    patch.setattr(
        decide_listing, "share_problem", lambda job, **of: problem(job, **{**of, "artifacts": 99})
    )


def _refusals_of_spared_jobs(patch: _Patch) -> None:
    """Pass no refusal on to a job that has one of its own (R12, R56)."""
    pass_on = judge._with_refusal_of
    patch.setattr(
        judge,
        "_with_refusal_of",
        lambda own, other, whom: None if other.refused else pass_on(own, other, whom),
    )


def _dependents(patch: _Patch) -> None:
    """Judge each directory by its own job alone (R12)."""
    patch.setattr(judge, "_pass_on", lambda *_, **__: None)


def _placement(patch: _Patch) -> None:
    """Believe an answer for whatever directory bears the job id that it is about (R3)."""
    patch.setattr(
        job_reports,
        "home_of",
        lambda _, directories, *__: Home(keys=frozenset(directories), is_proven=True),
    )


def _lock(patch: _Patch) -> None:
    """Take any lock over (R21)."""
    patch.setattr(lock, "_check_is_free", lambda *_, **__: None)


def _lock_check(patch: _Patch) -> None:
    """Believe that a lock, once taken, is held (R21)."""
    patch.setattr(lock.Lock, "check", lambda _: None)


def _halt_of_a_sweep(patch: _Patch) -> None:
    """Ask whether collection was halted only when a cycle begins (R17, R22)."""
    free = sweep.Sweep._free

    def unaware(self, *of):
        with pytest.MonkeyPatch.context() as meanwhile:
            meanwhile.setattr(RootState, "halted", lambda _: None)
            return free(self, *of)

    patch.setattr(sweep.Sweep, "_free", unaware)
    patch.setattr(revalidation.Revalidation, "_check_halt", lambda _: None)


def _plan_identity(patch: _Patch) -> None:
    """Carry out whatever plan is given."""
    patch.setattr(sweeping, "check_plan", lambda *_: None)


def _durations(patch: _Patch) -> None:
    """Take any text with a number in it for days."""
    patch.setattr(settings, "_DURATION", re.compile(r"[^\d]*(\d+).*?()()()"))
    patch.setattr(settings, "_LONGEST", timedelta.max)


def _safe_minimums(patch: _Patch) -> None:
    """Believe any margin (R29)."""
    patch.setattr(settings, "SAFE_MINIMUMS", {})


def _folders_that_stay(patch: _Patch) -> None:
    """Remove folders that a listing shows to be empty."""
    delete = LocalStorage.delete

    def tidy(self, objects):
        done = delete(self, objects)
        for folder in sorted(Path(self.location.path).rglob("*"), reverse=True):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        return done

    patch.setattr(LocalStorage, "delete", tidy)


def _only_empty_folders(patch: _Patch) -> None:
    """Remove a folder with what it holds (R53)."""

    def recursive(self, folder):
        shutil.rmtree(f"{self.location.path}/{folder}")
        return DeletionResult(key=folder, status=DeletionStatus.DELETED)

    patch.setattr(LocalStorage, "remove_empty", recursive)


def _exact_keys(patch: _Patch) -> None:
    """Expand what looks like a pattern, as fsspec's ``rm`` does."""

    def expanding(self, wanted):
        for path in glob.glob(f"{self.location.path}/{wanted.key}"):  # noqa: PTH207 - as fsspec
            os.unlink(path)  # noqa: PTH108
        return DeletionStatus.DELETED

    patch.setattr(LocalStorage, "_unlink", expanding)


def _errors_of_keys(patch: _Patch) -> None:
    """Take an answer for success, whatever it says of single keys."""
    delete = LocalStorage.delete

    def hopeful(self, objects):
        return [replace(one, status=DeletionStatus.DELETED) for one in delete(self, objects)]

    patch.setattr(LocalStorage, "delete", hopeful)


def _every_page(patch: _Patch) -> None:
    """Consider the first thousand files in ``shared/``: no order of folders shows those last."""
    listing = LocalStorage.objects

    def first(self, prefix=""):
        batches = [*listing(self, prefix)]
        if batches:
            whole = pa.Table.from_batches(batches).sort_by("key")
            is_shared = pc.match_substring(whole["key"], "/shared/")
            yield from whole.filter(pc.invert(is_shared)).to_batches()
            yield from whole.filter(is_shared)[:1000].to_batches()

    patch.setattr(LocalStorage, "objects", first)


def _memory(patch: _Patch) -> None:
    """Remember nothing of earlier cycles (R4)."""
    for module in (recalling, compose):
        patch.setattr(module, "recalled", lambda *_, **__: NOTHING_RECALLED)


def _memories_beside(patch: _Patch) -> None:
    """Remember only what cycles of one storage root saw, under one name of it (R4)."""
    patch.setattr(recalling, "with_memories_beside", lambda read, *_: read.memory)


def _remembered_cycles(patch: _Patch) -> None:
    """Act on a cycle of which nothing is written down for later ones (R4)."""
    patch.setattr(PlannedRun, "check_remembered", _content)


def _discovery_memory(patch: _Patch) -> None:
    """Remember nothing that earlier cycles discovered (R4)."""

    def nothing(files: StateFiles) -> DiscoveryRead:
        return DiscoveryRead(files, DiscoveryMemory())

    patch.setattr(discovery_memory, "read_discovery_memory", nothing)


def _words_on_absent_parts(patch: _Patch) -> None:
    """Take a word on what was gone for one on what is back (R4)."""
    patch.setattr(UnclearFact, "word", property(lambda part: part.what))


def _words_on_former_resources(patch: _Patch) -> None:
    """Take a word on a resource for one on each of its name (R4)."""
    what = UnclearFact.what.fget
    nameless = property(lambda part: what(part.model_copy(update={"uid": ""})))
    patch.setattr(UnclearFact, "what", nameless)


def _clusters_that_answered(patch: _Patch) -> None:
    """Forget that a cluster answered where a workload may have one (R3a)."""
    patch.setattr(discovery, "clusters_before", lambda _: frozenset())


def _marker_of_discovery(patch: _Patch) -> None:
    """Take a memory of discoveries that is not there for one that never was (R4)."""
    read = discovery_memory.read_discovery_memory

    def unmarked(files: StateFiles) -> DiscoveryRead:
        files.remove(MARKER)
        return read(files)

    patch.setattr(discovery_memory, "read_discovery_memory", unmarked)


def _every_memory_of_discovery(patch: _Patch) -> None:
    """Remember discoveries in the first state location only (R4)."""
    places = discovering.memory_files
    patch.setattr(discovering, "memory_files", lambda found: places(found)[:1])


def _discoveries_of_all_runs(patch: _Patch) -> None:
    """Remember discoveries only in runs that discover (R4)."""
    patch.setattr(compose, "with_discoveries", lambda settings, _: settings)


def _clusters_without_a_directory(patch: _Patch) -> None:
    """Take a checkpoint that was read for that of each cluster whose job has its id (R39)."""
    unread = JobEvidence.unread_retained.fget
    one = property(lambda job: unread(replace(job, holders=frozenset())))
    patch.setattr(JobEvidence, "unread_retained", one)


def _jobs_without_a_checkpoint(patch: _Patch) -> None:
    """Take a job of a resource for one without state where no checkpoint of it is seen (R8)."""
    patch.setattr(Hold, "is_of_unfinished", False)


def _lasting_blocks(patch: _Patch) -> None:
    """Take what a resource corrected for read (R4)."""

    def corrected(now: Discovery, before: DiscoveryMemory) -> Discovery:
        seen = {each.origin for each in now.resources}
        kept = [
            each.model_copy(update={"unclear": ()}) if each.origin in seen else each
            for each in before.resources
        ]
        return united(now, DiscoveryMemory(resources=tuple(kept)))

    patch.setattr(discovering, "united", corrected)


def _operators_defaults(patch: _Patch) -> None:
    """Take the spec of a deployment for the whole configuration of its cluster (R3a)."""
    patch.setattr(discovered_world, "_unread_defaults", lambda _: iter(()))


def _roots_of_the_state(patch: _Patch) -> None:
    """Search no other storage root that the same state location serves (R4)."""
    patch.setattr(searched_places, "bound_roots", lambda _: ())


def _rule_of_chk_n(patch: _Patch) -> None:
    """Take every checkpoint folder without a ``_metadata`` for a dead one (R31)."""
    area = AREAS[AreaName.EXCLUSIVE]
    patch.setitem(AREAS, AreaName.EXCLUSIVE, replace(area, objection=_content))


def _pinned_keys(patch: _Patch) -> None:
    """Let a pin keep listed files alone."""
    patch.setattr(mark, "keys_at", lambda *_: ())


def _pending_savepoints(patch: _Patch) -> None:
    """Take every folder of a savepoint without a ``_metadata`` for an abandoned one (R33)."""
    for module in (abandoned_savepoints, revalidation):
        patch.setattr(module, "pending_savepoint_problem", _content)


def _writers_that_the_search_alone_shows(patch: _Patch) -> None:
    """Ask the jobs that the cycle judges alone who may be writing a savepoint (R33)."""
    patch.setattr(abandoned_savepoints, "_hidden_writer", _content)


def _savepoints_of_earlier_cycles(patch: _Patch) -> None:
    """Forget which savepoints earlier cycles saw whole (R33)."""
    patch.setattr(sighted, "_savepoints_in", lambda *_: ())


def _strange_names_in_savepoints(patch: _Patch) -> None:
    """Look for no name in the folder of a savepoint that Flink gives no file of one (R33)."""
    patch.setattr(survey, "_is_named", lambda *_: False)


def _largest_chk_n_is_the_newest(patch: _Patch) -> None:
    """Take the largest folder that is listed for the run's newest checkpoint (R31)."""
    patch.setattr(bounds_of_job, "_completed_id", lambda job: max(job.ids_at_start, default=None))


def _trigger_bounds_the_log(patch: _Patch) -> None:
    """Bound the log by the store time of ``_metadata``, as flat files are (R45, R9)."""
    area = AREAS[AreaName.CHANGELOG]
    patch.setitem(AREAS, AreaName.CHANGELOG, replace(area, bound=None))


def _clock_was_ahead(patch: _Patch) -> None:
    """Take each trigger for dated by a right clock, whatever the storage shows (R45)."""
    patch.setattr(bounds_of_job, "_was_clock_ahead", lambda *_: False)


def _gate_of_merged_files(patch: _Patch) -> None:
    """Bound merged files as flat ones are, with several checkpoints at once (R46)."""
    area = AREAS[AreaName.MERGED]
    anything = area.withstands | {Guard.GATE}
    patch.setitem(AREAS, AreaName.MERGED, replace(area, withstands=anything))


def _merging_within(patch: _Patch) -> None:
    """Take files for merged within each checkpoint without a statement (R46, R47)."""
    patch.setattr(bounds_of_job, "_not_merged_within", _content)


def _quiet_is_an_end(patch: _Patch) -> None:
    """Take a job for ended whose directory is still, and which no cluster shows (R34)."""
    state = JobEvidence.state.fget
    assert state is not None

    def taken(self: JobEvidence) -> JobState:
        return JobState.ENDED if state(self) is JobState.UNKNOWN else state(self)

    patch.setattr(JobEvidence, "state", property(taken))
    patch.setattr(JobEvidence, "is_end_proven", property(lambda _: True))
    patch.setitem(GUARDS, Guard.NO_ROOTS, _content)


def _handles_in_state_bytes(patch: _Patch) -> None:
    """Forget that state bytes may name files (R37)."""
    patch.setattr(roots, "_WRITE_AHEAD_SINK", b"no such state")


def _references_in_quarantine(patch: _Patch) -> None:
    """Let files go before the ``_metadata`` that names them is gone for good (R44)."""
    patch.setattr(compose, "quarantined_in", lambda *_: [])


def _quarantine_of_other_roots(patch: _Patch) -> None:
    """Forget what an overlapping storage root has in quarantine (R44)."""
    patch.setattr(compose, "quarantined_near", lambda *_: [])


def _origins_before_a_failover(patch: _Patch) -> None:
    """Hold only what Flink shows now as the origin of a job (R43)."""
    patch.setattr(origins, "_remembered", lambda *_: ())


def _origins_in_configurations(patch: _Patch) -> None:
    """Forget what the configurations of clusters restore a job from (R43)."""
    patch.setattr(Answers, "named_by_configurations", lambda *_: ())


def _losses_that_concern_no_job_here(patch: _Patch) -> None:
    """Let what is lost stop the work on directories that it concerns, and on nothing else (R4)."""
    patch.setattr(CycleEvidence, "missed", None)


def _ends_that_were_known(patch: _Patch) -> None:
    """Explain by an end also what was there when the end was known already (R4)."""
    has_ended = Explanations._has_ended

    def taken(self, checkpoint, directory):
        return has_ended(self, checkpoint, directory.model_copy(update={"was_over": False}))

    patch.setattr(Explanations, "_has_ended", taken)


def _ends_that_are_contradicted(patch: _Patch) -> None:
    """Let what expires believe that a job is over, whatever a guard found (R43)."""
    patch.setattr(cycle, "is_over", lambda job, _, known: has_ended(job, known))


def _metadata_alone(patch: _Patch) -> None:
    """Delete the directory of a job whose checkpoint expires (R44)."""
    expire = quarantine.Quarantine._expire

    def with_its_directory(self, part):
        done = expire(self, part)
        for each in part:
            shutil.rmtree(Path(uris.canonical(each.uri).path).parent, ignore_errors=True)
        return done

    patch.setattr(quarantine.Quarantine, "_expire", with_its_directory)


def _rules_of_a_lineage(patch: _Patch) -> None:
    """Keep the newest checkpoints of each directory, whatever goes on in others (R41)."""

    def kept(case):
        own = [e for e in case.lineage.checkpoints if e.place == case.checkpoint.place]
        rule = kept_by(case.policy, own, case.facts.now).get(case.checkpoint.uri)
        return rule and (checkpoint_fates.RetentionReason(rule), "")

    before, others = "_ended_recently", {"_not_dead", "_without_successor", "_kept_by_rules"}
    rules = [kept if rule.__name__ == before else rule for rule in checkpoint_fates.RULES]
    left = tuple(rule for rule in rules if rule.__name__ not in others)
    patch.setattr(checkpoint_fates, "RULES", left)


def _edges_of_lineages(patch: _Patch) -> None:
    """Take each job for a lineage of its own (R41)."""
    patch.setattr(lineage_facts, "lineages_of", lambda jobs, own, *_: lineages_of(jobs, own, ()))


def _points_of_restores(patch: _Patch) -> None:
    """Take each job that was restored from another one for the continuation of all of it (R41)."""

    def covers(self, edge, checkpoint):
        return self._runs[edge.older] == self._runs[checkpoint.place]

    patch.setattr(lineage_graph.Lineage, "_covers", covers)


def _state_that_is_taken_over(patch: _Patch) -> None:
    """Take each job that was restored from another one for one that took over all state (R41)."""
    patch.setattr(lineage_graph, "_is_whole_in", lambda *_: True)


def _runs_of_successors(patch: _Patch) -> None:
    """Take each edge to a job for one to the run of it that lives (R41)."""
    patch.setattr(lineage_graph.Lineage, "_has_one_origin", lambda *_: True)


def _uses_of_ha_metadata(patch: _Patch) -> None:
    """Take each checkpoint of a job that HA metadata names for what it recovers from (R43)."""

    def recovers(job):
        return any(job.ids_after.intersection(hold.retained_ids) for hold in job.held_after)

    for each in (origins, lineage_facts):
        patch.setattr(each, "recovers", recovers)


def _runs_of_older_jobs(patch: _Patch) -> None:
    """Take all that a job stored before what another one continued for things of one run (R41)."""
    patch.setattr(lineage_graph.Lineage, "_recurs", lambda *_: False)


def _other_beginnings(patch: _Patch) -> None:
    """Take each job for one that began with what a cycle saw it restored from (R41)."""
    patch.setattr(lineage_facts, "_began_otherwise", lambda *_: False)


def _statements_on_prefixes(patch: _Patch) -> None:
    """Let a statement on a prefix outweigh what Flink names below it (R4)."""
    patch.setattr(
        settings.StorageRootSettings,
        "is_empty",
        lambda self, place: any(uris.canonical(e).contains(place) for e in self.search_except),
    )


def _runs_of_one_folder(patch: _Patch) -> None:
    """Take each folder that a job writes into for one that no other run ever wrote into (R41)."""
    patch.setattr(JobEvidence, "may_share_its_folder", property(lambda _: False))


def _ids_that_were_chosen(patch: _Patch) -> None:
    """Forget that an id was chosen when its cluster is gone (R41)."""
    patch.setattr(lineage_facts, "fixed_ids", lambda _: frozenset())


def _ids_of_operators(patch: _Patch) -> None:
    """Take every id that a configuration chose for one that began with one state (R41)."""
    patch.setattr(origins, "has_one_origin", lambda *_: True)


def _times_of_ends(patch: _Patch) -> None:
    """Take what is stored before or after a run that ended for a thing of that run (R40)."""
    end_of, ever = (
        lineage_facts._end_of,
        (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)),
    )
    patch.setattr(lineage_facts, "_end_of", lambda *known: (end_of(*known)[0], ever))


def _runs_that_are_over(patch: _Patch) -> None:
    """Take all runs of an id that no configuration chose for one (R43)."""
    patch.setattr(sighted_lineage, "has_run_before", lambda *_: False)


def _answers_of_the_living(patch: _Patch) -> None:
    """Take what a run that is over completed for what the present JobManager did (R43)."""
    recovers = origins.recovers_from_its_own
    patch.setattr(
        origins,
        "recovers_from_its_own",
        lambda facts, *more: recovers([replace(e, status="RUNNING") for e in facts], *more),
    )


def _changes_since_ends(patch: _Patch) -> None:
    """Take the end that a cluster shows for one of the last run of a job (R34, R40)."""
    patch.setattr(JobEvidence, "has_changed_since", False)


def _modes_of_older_jobs(patch: _Patch) -> None:
    """Ask only of the newer job of a resource whether that takes over no state (R41)."""
    patch.setattr(continuation, "_is_given_up", lambda _, newer: newer.is_stateless)


def _names_of_resources(patch: _Patch) -> None:
    """Take any resource that runs a successor for the one that ran the older job (R41)."""
    patch.setattr(checkpoint_fates, "_goes_on_under_its_name", lambda *_: True)


def _ids_that_come_back(patch: _Patch) -> None:
    """Take each run of an id for the one that was once given up by that id (R41)."""
    patch.setattr(checkpoint_fates, "_recurring", lambda _: frozenset())


def _resources_of_one_name(patch: _Patch) -> None:
    """Take each resource of a name for the one that was once given up by that name (R41)."""
    facts = lineage_facts.retention_facts
    patch.setattr(
        lineage_facts, "retention_facts", lambda *known: replace(facts(*known), unclear=frozenset())
    )


def _reports_of_ends(patch: _Patch) -> None:
    """Take a job in the place of another one for Flink's report that this one ended (R40)."""
    patch.setattr(lineage_facts, "_is_reported", lambda _: True)


def _places_of_records(patch: _Patch) -> None:
    """Take what any cluster showed of a job id for a fact about each job of that id (R40, R43)."""
    for module in (lineage_facts, origins):
        patch.setattr(module, "placed", lambda records, _: tuple(records))


def _checkpoints_of_statements(patch: _Patch) -> None:
    """Take a job that is stated without a checkpoint for its oldest retained one (R41)."""
    patch.setattr(stated_origins, "is_job_id", lambda _: False)


def _sizes_of_files(patch: _Patch) -> None:
    """Ask only whether a file is there (R41)."""
    patch.setattr(assemble_report, "incomplete", lambda *_, **__: frozenset())


def _compression_of_changes(patch: _Patch) -> None:
    """Take the size in each handle for that of the stored file (R41)."""
    patch.setattr(held_bytes, "_is_compressed", lambda *_: False)


def _markers_of_expiries(patch: _Patch) -> None:
    """Forget that a marker shows an expiry which the state location does not know (R44)."""
    patch.setattr(cycle, "with_expiries", lambda before, *_, **__: before)


def _markers_of_savepoints(patch: _Patch) -> None:
    """Leave no marker beside a savepoint of an extra root (R44)."""
    mark_of = CheckpointFolders.mark

    def marked(self, record):
        return None if record.base else mark_of(self, record)

    patch.setattr(CheckpointFolders, "mark", marked)


def _proofs_of_successors(patch: _Patch) -> None:
    """Take each job that is not over for a successor (R41)."""
    patch.setattr(checkpoint_fates, "_doubt_about", lambda job, *_: "over" if job.is_over else None)


def _policies_of_owners(patch: _Patch) -> None:
    """Let go what Flink was to delete whether its owner wrote a policy or not (R40)."""

    def without_policy(case):
        is_none = case.facts.policy is None and not case.is_meant
        return (checkpoint_fates.RetentionReason.NO_POLICY, "") if is_none else None

    rules = checkpoint_fates.RULES
    changed = (without_policy if e.__name__ == "_without_policy" else e for e in rules)
    patch.setattr(checkpoint_fates, "RULES", tuple(changed))


def _origins_that_are_stated(patch: _Patch) -> None:
    """Forget that a job which failed over may be started again from what it was at first (R43)."""
    rules = tuple(each for each in checkpoint_fates.RULES if each.__name__ != "_origin")
    patch.setattr(checkpoint_fates, "RULES", rules)


def _origins_that_no_cycle_saw(patch: _Patch) -> None:
    """Take a job whose origin is not known for one that began from nothing (R43)."""
    patch.setattr(lineage_facts, "hidden_origins", lambda *_, **__: ())


def _changes_of_jobs_beside(patch: _Patch) -> None:
    """Take the newest checkpoint of a job that is not collected for all that it wrote (R43)."""
    patch.setattr(ChangesBeside, "of_job", lambda *_: None)
    patch.setattr(ChangesBeside, "lists", lambda *_: True)


def _what_fails_with_its_job(patch: _Patch) -> None:
    """Count what Flink deletes when a job fails among what a policy keeps (R41)."""
    patch.setattr(checkpoint_fates, "_lasts", lambda each, *_: each.is_restorable)


def _makers_of_savepoints(patch: _Patch) -> None:
    """Take each savepoint for one of the job whose first six digits its folder bears (R42)."""
    patch.setattr(sighted_lineage, "is_made_by", lambda *_: True)


def _other_makers_of_savepoints(patch: _Patch) -> None:
    """Take each savepoint for one of the job whose checkpoints it fits, of several (R42)."""
    patch.setattr(lineage_facts, "_of_one_maker", lambda edges, _: edges)


def _places_of_other_roots(patch: _Patch) -> None:
    """Let savepoints go that other storage roots collect beside (R42)."""
    folders = assemble_report.savepoint_folders
    patch.setattr(assemble_report, "savepoint_folders", lambda *known, **_: folders(*known))


def _namers_of_savepoints(patch: _Patch) -> None:
    """Let the files of a savepoint go whatever other checkpoints name (R42)."""
    patch.setattr(savepoint_folders, "named_by_others", lambda *_: ())
    patch.setattr(quarantine.SavepointClearing, "_check_unnamed", lambda *_: None)


def _self_contained_savepoints(patch: _Patch) -> None:
    """Take each savepoint in a named place for self-contained (R42)."""
    patch.setattr(savepoint_folders, "_obstacle", lambda *_: None)


REMOVALS: Mapping[str, _Removal] = {
    name.removeprefix("_"): each
    for name, each in dict(vars()).items()
    if isfunction(each) and [*signature(each).parameters] == ["patch"]
}
"""Each function of this module that is given nothing but what it patches."""
