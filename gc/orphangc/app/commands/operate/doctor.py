"""``doctor``: check the configuration, its surroundings, and what runs need, before one begins."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from http import HTTPStatus
from itertools import groupby
from pathlib import Path
from typing import Any

import httpx
from rich.console import RenderableType
from rich.text import Text

from flinkstate.places.checkpoint_names import MAX_METADATA_BYTES
from flinkstate.places.locations import Location
from flinkstate.tables.printing import followed
from flinkstate.text.redaction import redacted
from flinkstate.text.shown_text import counted, visible
from orphangc.adapters.flink.ha_metadata import KubernetesHa, ZooKeeperHa
from orphangc.adapters.open import BUCKETS, open_state_files, open_storage
from orphangc.app.commands.discover.show_discovery import discovery_health
from orphangc.app.commands.health import (
    Check,
    CheckStatus,
    Finding,
    bad,
    checked,
    checked_storage,
    probe_cluster,
    probe_ha,
    probe_state,
    search_estimate,
)
from orphangc.app.commands.world.show import patient, unlisted_cycle_of
from orphangc.app.config.configuration import ScheduledRoot
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.stops import Unmet, unmet_by
from orphangc.app.render.text_table import as_text
from orphangc.app.runner.make_plan import opened_cycle
from orphangc.app.runner.plan_store import KeptPlans
from orphangc.app.runner.sweep_plan import lock_folder
from orphangc.app.wiring.clock import is_dead, now
from orphangc.app.wiring.compose import (
    load_snapshots,
    open_exports,
    shared_checkpoints,
    start_of,
    state_of,
    state_place,
    with_proof,
)
from orphangc.app.wiring.discovering import load_and_discover
from orphangc.collect.decide.judged_cycle import JudgedCycle
from orphangc.collect.expire.assemble_report import DiscardingSink
from orphangc.collect.listing.first_pages import estimated_objects
from orphangc.collect.mark.mark import proving_command
from orphangc.collect.observe.checkpoints import scan_checkpoints
from orphangc.collect.observe.exporter_folder import ExporterFolder
from orphangc.collect.observe.exporters import newest
from orphangc.collect.observe.shared_checkpoints import SharedCheckpoints
from orphangc.collect.state.lock import holder_of
from orphangc.core.documents.bucket_settings import dangers, effects
from orphangc.core.exporter.exporter_answer import REGISTRY_MAX_AGE
from orphangc.core.model.codes import Condition
from orphangc.core.model.settings import StorageRootSettings, without_credentials
from orphangc.core.model.shown import SearchScope
from orphangc.core.model.types import JobId, ObjectKey
from orphangc.core.world.known_states import KnownState
from orphangc.core.world.known_world import PlaceKind, World
from orphangc.errors import (
    ExitCode,
    OrphanGcError,
    RefusedError,
    SettingsError,
    UnreadableSnapshotError,
)
from orphangc.ports import Storage

ALL_ROOTS = "all storage roots"

_SHOWN = 5
_SIGNS: Mapping[CheckStatus, tuple[str, str]] = {
    CheckStatus.GOOD: ("●", "green"),
    CheckStatus.NOTE: ("○", "dim"),
    CheckStatus.WARNING: ("▲", "yellow"),
    CheckStatus.BAD: ("■", "bold red"),
}
"""Mark of a status, and its style."""


def diagnose(config: Path) -> list[dict[str, Any]]:
    """Return the finding of every check; ``SettingsError`` if the configuration is not usable."""
    found = load_and_discover(config)
    configuration, shared = found.configuration, shared_checkpoints()
    findings = [
        finding
        for settings in configuration.storage_roots
        for finding in _findings(settings, shared, KeptPlans.of(configuration, settings))
    ]
    of_all: dict[str, Check] = {}
    if configuration.discovery.is_on:
        of_all["discovery"] = partial(discovery_health, found)
    of_all["plans"] = partial(_plans, configuration.plans_folder)
    if (url := configuration.metrics.pushgateway) is not None:
        of_all["pushgateway"] = partial(_pushgateway, url)
    return [asdict(finding) for finding in (*findings, *checked(ALL_ROOTS, of_all))]


def _findings(
    settings: ScheduledRoot, shared: SharedCheckpoints, plans: KeptPlans
) -> Iterator[Finding]:
    try:
        state = state_place(settings)
        storage = open_storage(settings.location, state=state)
        storage = with_proof(storage, partial(open_state_files, state))
    except OrphanGcError as err:
        yield bad(settings.root, "open", err)
        return
    of_root: dict[str, Check] = {
        "list": partial(_listing, storage),
        "read": partial(_reading, storage),
        "clock": partial(_clock, storage, settings),
        "undo": partial(_undo, storage),
        "kind": partial(_kind, storage, settings),
    }
    of_state: dict[str, Check] = {
        "state": partial(probe_state, settings),
        "lock": partial(_lock, settings),
    }
    checks = _evidence_checks(settings)
    try:
        checks |= {
            f"exporter {job_id}": partial(_exporter, folder, job_id, settings)
            for folder in open_exports(settings.registry)
            for job_id in folder.jobs()
        }
    except OrphanGcError as err:
        yield bad(settings.root, "exporters", err)
    is_reached = True
    for storage_checks in (of_root, of_state):
        found = [*checked_storage(settings.root, storage_checks)]
        is_reached = is_reached and len(found) == len(storage_checks)
        yield from found
    yield from checked(settings.root, checks)
    if is_reached:
        of_both: dict[str, Check] = {
            "search": lambda: (CheckStatus.GOOD, search_estimate(settings))
        }
        yield from checked(settings.root, of_both | bucket_checks(settings))
        yield from _collectable(settings, storage, shared, plans)


def _evidence_checks(settings: ScheduledRoot) -> dict[str, Check]:
    checks: dict[str, Check] = {"registry": partial(_registry, settings)}
    checks |= {
        f"flink {redacted(e)}": partial(probe_cluster, e, settings.accept_flink_version)
        for e in settings.flink_rest
    }
    checks |= {
        f"kubernetes {e}": partial(probe_ha, KubernetesHa, e) for e in settings.kubernetes_ha
    }
    checks |= {f"zookeeper {e}": partial(probe_ha, ZooKeeperHa, e) for e in settings.zookeeper_ha}
    if (short := settings.short_margins_warning) is not None:
        checks["margins"] = lambda: (CheckStatus.WARNING, short)
    return checks


def _collectable(
    settings: ScheduledRoot, storage: Storage, shared: SharedCheckpoints, plans: KeptPlans
) -> Iterator[Finding]:
    try:
        known, is_listed = _judged_jobs(settings.bare, storage, shared, plans.known_state())
    except OrphanGcError as err:
        yield bad(settings.root, "world", err)
        return
    health, said = _world(known.world)
    yield Finding(settings.root, "world", health, said)
    names = JobNames(known.resources)
    unmet = {
        key: sorted(unmet_by(known.judged[key]), key=_rank)
        for key, job in known.jobs.items()
        if job.is_collected
    }
    every = [*unmet.values()]
    all_jobs = "the only job" if len(unmet) == 1 else f"all {len(unmet)} jobs"
    common = [each for each in every[0] if all(each in own for own in every)] if every[1:] else []
    yield from (_stopped(settings.root, all_jobs, each, names) for each in common)
    for job in sorted(unmet):
        for each in [each for each in unmet[job] if each not in common][:1]:
            yield _stopped(settings.root, f"job {names(job)}", each, names)
    if unmet and not any(every):
        rest = "" if is_listed else "; what only a listing shows, orphangc plan finds"
        yield Finding(settings.root, all_jobs, CheckStatus.GOOD, f"can be collected{rest}")


def _rank(unmet: Unmet) -> tuple[bool, bool]:
    """Return the sort key of what stops a job: a halt first, then what lasts."""
    return unmet.code != Condition.HALTED, unmet.may_pass


def _stopped(root: str, who: str, obstacle: Unmet, names: JobNames) -> Finding:
    """Return why jobs are not collected; after a halt no run deletes anything: an error."""
    message = f"({obstacle.code}): {names.in_text(obstacle.message).rstrip('?')}"
    if obstacle.code == Condition.HALTED:
        said = followed(f"blocked {message}", obstacle.advice.text)
        return Finding(root, who, CheckStatus.BAD, said, int(ExitCode.REFUSED))
    when = "not collected now" if obstacle.may_pass else "never collected with this configuration"
    said = followed(f"{when} {message}", obstacle.advice.text)
    return Finding(root, who, CheckStatus.WARNING, said)


def _world(world: World) -> tuple[CheckStatus, str]:
    waiting = [each for each in world.changed if not each.acknowledged]
    asked = [each for each in world.places if each.kind is not PlaceKind.REPORTED]
    uncovered = [each for each in asked if each.uri not in world.closed_world.covers]
    is_fine = world.closed_world.stated and not (waiting or uncovered or world.outside)
    said = ": stated" if world.closed_world.stated else " not stated (closed_world, --closed-world)"
    parts = [f"closed world{said}; orphangc world --config FILE shows what it covers"]
    parts += [f"{each.uri} shows no checkpoint" for each in uncovered[:_SHOWN]]
    parts += [f"{each.uri} is outside" for each in world.outside[:_SHOWN]]
    parts += [f"{each.condition} {each.what}" for each in waiting[:_SHOWN]]
    return CheckStatus.GOOD if is_fine else CheckStatus.WARNING, "; ".join(parts)


def _listing(storage: Storage) -> tuple[CheckStatus, str]:
    scan = scan_checkpoints(storage)
    return (CheckStatus.GOOD if scan.directories else CheckStatus.WARNING), scan.counts


def _reading(storage: Storage) -> tuple[CheckStatus, str]:
    for listed in scan_checkpoints(storage).metadata.values():
        data = storage.read(ObjectKey(listed.key), max_bytes=MAX_METADATA_BYTES)
        if data is not None:
            return CheckStatus.GOOD, f"read {listed.key}, {len(data)} bytes"
    return CheckStatus.WARNING, "there is no checkpoint to read"


def _clock(storage: Storage, settings: StorageRootSettings) -> tuple[CheckStatus, str]:
    time = storage.now()
    if time.skew is None:
        return CheckStatus.WARNING, "the storage does not report its time: nothing will be deleted"
    message = f"{time.skew.total_seconds():+.1f} s against this machine ({time.source})"
    return (CheckStatus.GOOD if abs(time.skew) <= settings.clock_skew else CheckStatus.BAD), message


def _undo(storage: Storage) -> tuple[CheckStatus, str]:
    if storage.is_versioned:
        return CheckStatus.GOOD, "the bucket is versioned: undelete works"
    return CheckStatus.WARNING, "no versions are kept: a deletion is final"


def _kind(storage: Storage, settings: StorageRootSettings) -> tuple[CheckStatus, str]:
    if storage.is_tested:
        return CheckStatus.GOOD, storage.proof or "this kind of storage is tested"
    how = f"to prove it, run: {proving_command(settings)}"
    return CheckStatus.WARNING, f"deletion is not tested on this kind of storage; {how}"


def _registry(settings: StorageRootSettings) -> tuple[CheckStatus, str]:
    exporters = sum(len(each.jobs()) for each in open_exports(settings.registry))
    also = f", {counted(exporters, 'job')} with an exporter" if exporters else ""
    return (
        CheckStatus.GOOD,
        f"{counted(len(load_snapshots(settings.registry, {})), 'registry snapshot')}{also}",
    )


def exit_code(findings: list[dict[str, Any]]) -> ExitCode:
    """Return the code of the first bad finding."""
    bad = [each for each in findings if each["health"] == CheckStatus.BAD]
    return ExitCode(bad[0]["exit_code"] or ExitCode.FAILED) if bad else ExitCode.DONE


def finding_tables(findings: list[dict[str, Any]]) -> list[RenderableType]:
    """Return the findings as lines, below the storage root that they are about."""
    lines: list[RenderableType] = []
    for root, found in groupby(findings, key=lambda each: str(each["root"])):
        lines.append(as_text(root, "bold"))
        for each in found:
            mark, style = _SIGNS[each["health"]]
            line = Text.assemble((f"{mark} {each['health']}", style), f" {each['check']}: ")
            lines.append(line.append(visible(str(each["message"]))))
    return lines


_TIMEOUT_SECONDS = 10.0


def _lock(settings: StorageRootSettings) -> tuple[CheckStatus, str]:
    state = state_of(settings)
    holder = holder_of(state.files, lock_folder(state))
    if holder is None:
        return CheckStatus.GOOD, "the lock is free"
    who = f"process {holder.pid} on {holder.host}"
    if is_dead(holder):
        said = f"{who} has ended without giving the lock back: the next run takes it"
        return CheckStatus.GOOD, said
    said = f"{who} holds the lock: a run goes on, or died less than 30 minutes ago"
    return CheckStatus.WARNING, said


def _plans(folder: Path) -> tuple[CheckStatus, str]:
    """Try to write to the folder; the configuration checks that it is outside the storage roots."""
    probe = folder / f"doctor-{uuid.uuid4().hex}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as err:
        raise SettingsError(f"plans cannot be written to {folder}: {err.strerror}") from err
    return CheckStatus.GOOD, f"{folder} can be written"


def _pushgateway(url: str) -> tuple[CheckStatus, str]:
    """Request its page; runs work without a Pushgateway, so the worst result is a warning."""
    shown = without_credentials(url)
    try:
        answer = httpx.get(f"{url.rstrip('/')}/-/ready", timeout=_TIMEOUT_SECONDS)
    except httpx.HTTPError as err:
        return CheckStatus.WARNING, f"{shown} does not answer: {type(err).__name__}"
    if answer.status_code != HTTPStatus.OK:
        return CheckStatus.WARNING, f"{shown} answers {answer.status_code}"
    return CheckStatus.GOOD, f"{shown} is ready"


def _exporter(
    folder: ExporterFolder, job_id: JobId, settings: StorageRootSettings
) -> tuple[CheckStatus, str]:
    if any(each.contains(folder.location) for each in settings.own_places):
        return CheckStatus.BAD, f"{folder.location} is inside a storage root: export elsewhere"
    try:
        found = newest(folder, job_id)
    except UnreadableSnapshotError as err:
        return CheckStatus.BAD, str(err)
    if found is None:
        return CheckStatus.WARNING, "it has written no snapshot yet"
    snapshot = found[1]
    age = now() - snapshot.taken_at
    message = (
        f"snapshot {snapshot.sequence} of epoch {snapshot.jm_epoch} is"
        f" {age.total_seconds():.0f} s old, {len(snapshot.entries)} entries"
    )
    if settings.is_declared_ended(job_id):
        return CheckStatus.GOOD, f"{message}; the job is declared ended"
    if age > REGISTRY_MAX_AGE:
        return CheckStatus.BAD, f"{message}: the exporter has stopped"
    if -age > settings.clock_skew:
        return CheckStatus.BAD, f"{message}: the JobManager's clock is ahead"
    folder.check_writable(job_id)
    return CheckStatus.GOOD, f"{message}; nonces can be written"


def bucket_checks(settings: StorageRootSettings) -> dict[str, Check]:
    """Return the checks of the buckets of a storage root and its state location, by name."""
    root, state = settings.location, settings.state_location
    found: dict[str, Check] = {}
    if root.scheme in BUCKETS:
        found["bucket"] = partial(_bucket, root, "Flink's files")
    if state is not None and state.scheme in BUCKETS:
        found["bucket of the state"] = partial(_bucket, state, "tombstones and memory")
    return found


def _bucket(location: Location, whose: str) -> tuple[CheckStatus, str]:
    found = open_storage(location).bucket_settings()
    if found is None:
        return CheckStatus.NOTE, "its settings cannot be read"
    prefix = f"{location.path[1:]}/" if location.path != "/" else ""
    warned, other = [*dangers(found, prefix, whose)], [*effects(found, prefix)]
    if warned:
        return CheckStatus.WARNING, "; ".join((*warned, *other))
    if found.unread:
        other.insert(0, f"not looked at without {', '.join(found.unread)}")
    if found.unread or found.unseen:
        return CheckStatus.NOTE, "; ".join((*other, *found.unseen))
    said = other or ["no lifecycle rule and no retention acts on it"]
    return CheckStatus.GOOD, "; ".join(said)


_SHORT = 20_000
"""Number of objects up to which the storage root is listed: twenty pages of S3."""


def _judged_jobs(
    settings: StorageRootSettings,
    storage: Storage,
    shared: SharedCheckpoints,
    known: Sequence[KnownState],
) -> tuple[JudgedCycle, bool]:
    """Return what a run would find in the named places now, and whether it was listed.

    Nothing is changed or remembered.
    """
    settings = settings.model_copy(update={"search": SearchScope.PLACES})
    if estimated_objects(storage, _SHORT).objects >= _SHORT:
        return unlisted_cycle_of(settings, shared, known), False
    try:
        with opened_cycle(
            start_of(patient(settings), known),
            DiscardingSink,
            lambda *_: None,
            shared=shared,
            is_remembered=False,
        ) as (cycle, _):
            assert cycle.plan.world is not None  # noqa: S101 - a cycle always has one
            return replace(cycle.known, world=cycle.plan.world), True
    except RefusedError:  # there is no job directory yet, which a run refuses
        return unlisted_cycle_of(settings, shared, known), False
