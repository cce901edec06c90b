"""``self-sustained``: whether a job still needs the snapshot that it was restored from."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from rich.console import RenderableType

from flinkstate.files.paths import is_inside, located, spelled_in
from flinkstate.places.checkpoint_names import is_job_id
from flinkstate.places.locations import Location, canonical
from flinkstate.text.shown_text import human_bytes
from orphangc.adapters.open import open_storage
from orphangc.app.config.validate import settings_from
from orphangc.app.console.progress import shown_progress
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.text_table import as_text, text_table
from orphangc.app.runner.make_plan import opened_cycle
from orphangc.app.wiring.compose import start_of, state_of, with_discoveries
from orphangc.collect.cycle import Cycle
from orphangc.collect.dependencies.checkpoint_holds import CheckpointHolds, PinnedPlaces
from orphangc.collect.dependencies.foreign_usage import names_in
from orphangc.collect.dependencies.sizes import Weighing
from orphangc.collect.expire.assemble_report import DiscardingSink
from orphangc.collect.state.history import checks_of_job, keep_checks
from orphangc.core.areas.area import NOT_PROVEN
from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.documents.self_sustained_record import (
    RememberedUsageCheck,
    UsageCheckPart,
    remembered,
)
from orphangc.core.model.settings import StorageRootSettings, parse_duration
from orphangc.core.model.types import JobId, JobState
from orphangc.core.times.instants import shifted
from orphangc.errors import ExitCode, RefusedError, SettingsError

_WORDS = {True: "yes", False: "no", None: "cannot be known"}


def self_sustained(
    values: Mapping[str, Any], *, job: str, snapshot: str | None, wait: str | None
) -> dict[str, Any]:
    """Return whether a job needs no file of a snapshot, or of any place that is not its own.

    ``seen`` is the result of one check. ``state_self_sustained`` is the answer to act upon: a yes
    must be confirmed and is ``None`` until then.

    With ``--state`` the check is stored there, as are those of scheduled runs. A second check, with
    a newer completed checkpoint between them, confirms the first.

    Raises:
        SettingsError: The job id is invalid, the snapshot is no place or belongs to the job itself,
            or it is absent and unknown.
        RefusedError: The job is unknown.
    """
    if not is_job_id(job):
        raise SettingsError(f"--job {job!r} is no job id of 32 lower-case hex digits")
    pause = _pause(wait)
    asked = () if snapshot is None else (_folder_of(snapshot),)
    # the snapshot is read like a checkpoint that must stay, in any place
    settings = settings_from({**values, "pin": asked})
    state = state_of(settings) if settings.state is not None else None
    before = () if state is None else checks_of_job(state, JobId(job))
    root = settings.location
    places = [spelled_in(root, canonical(each, settings.aliases)) for each in asked]
    document, checks = _check(settings, JobId(job), places, before)
    if pause and any(each.value and each.confirmed_at is None for each in checks):
        time.sleep(pause.total_seconds())
        document, checks = _check(settings, JobId(job), places, checks)
    if state is not None:
        keep_checks(state, JobId(job), checks)
    return document


def _folder_of(snapshot: str) -> str:
    try:
        return str(located(snapshot)).removesuffix("/_metadata")
    except SettingsError as err:
        raise SettingsError(f"--snapshot: {err}") from err


def _pause(wait: str | None) -> timedelta:
    try:
        pause = parse_duration(wait or "0")
    except ValueError as err:
        raise SettingsError(f"--wait: {err}") from err
    assert isinstance(pause, timedelta)  # noqa: S101 - it was a text
    return pause


def _check(
    settings: StorageRootSettings,
    job: JobId,
    asked: Sequence[Location],
    before: Sequence[RememberedUsageCheck],
) -> tuple[dict[str, Any], tuple[RememberedUsageCheck, ...]]:
    start = start_of(settings)
    with shown_progress() as progress, opened_cycle(start, DiscardingSink, progress) as (cycle, _):
        key = _key_of(job, cycle, settings)
    evidence = cycle.known.jobs[key]
    for place in asked:
        if any(is_inside(place, directory) for directory in evidence.directories):
            raise SettingsError(f"--snapshot {place} is in the job's own directory")
    origins = [canonical(each.place) for each in before if each.restored_from]
    # what is asked about is pinned here; other pins are those that runs discovered
    others = with_discoveries(settings.model_copy(update={"pin": ()}), start.state.files).pins
    holds = CheckpointHolds(cycle.foreign_usages.holds.named, PinnedPlaces(others))
    usages = replace(cycle.foreign_usages, holds=holds)
    seen = usages.check(key, (*asked, *origins), Weighing(open_storage).weigh)
    for each in asked:
        _check_known(each, seen, before)
    newest, now = max(evidence.retained_ids, default=None), cycle.evidence.now
    is_over = seen[0].is_over
    checks = remembered(before, seen, at=now, newest_checkpoint_id=newest, is_ended=is_over)
    uri = str(asked[0]) if asked else ""
    answer = next(each for each in checks if each.place == uri)
    return {
        "job_id": job,
        "resources": JobNames.of(cycle.plan.jobs).resources.get(job, ()),
        "root": str(settings.location),
        "snapshot": uri or None,
        "state_self_sustained": answer.answer,
        "seen": {"value": answer.value, "why": answer.why},
        "confirmed": answer.confirmed_at is not None if answer.value else None,
        "safe_to_delete": answer.is_safe_to_delete if uri else None,
        "since": answer.since.isoformat(),
        "why": answer.reason + ("" if answer.answer else _awaited(evidence, settings)),
        "looked_at": answer.at.isoformat(),
        "job_state": evidence.state,
        "newest_checkpoint_id": newest,
        "looks": [_document(each) for each in checks],
    }, checks


def _key_of(job: JobId, cycle: Cycle, settings: StorageRootSettings) -> str:
    """Return the key of the one job of an id, or raise ``RefusedError``."""
    jobs = cycle.known.jobs
    keys = [key for key, each in jobs.items() if each.job_id == job and each.directories]
    if len(keys) > 1:
        raise RefusedError(
            f"{len(keys)} directories below {settings.root} are of jobs of the id {job}: name the"
            f" storage root of one, such as {keys[0]}"
        )
    if not keys and job not in jobs:
        raise RefusedError(
            f"job {job} has no directory below {settings.root}, and no source reports that it runs:"
            " whether it needs a snapshot cannot be known"
        )
    return keys[0] if keys else job


def _awaited(job: JobEvidence, settings: StorageRootSettings) -> str:
    if job.state is not JobState.ENDED or job.changed_at is None:
        return ""
    if not job.is_end_proven:
        return f"; {NOT_PROVEN}"
    still = shifted(job.changed_at, settings.quiet_period)
    return (
        "; the job is said to be over, and its directory last changed at"
        f" {job.changed_at:%Y-%m-%dT%H:%M:%SZ}: one check suffices from"
        f" {still:%Y-%m-%dT%H:%M:%SZ} on (--quiet-period)"
    )


def _document(check: RememberedUsageCheck) -> dict[str, Any]:
    safety = {"is_safe_to_delete": check.is_safe_to_delete if check.place else None}
    return {**check.model_dump(mode="json"), "why": check.reason, **safety}


def _check_known(
    place: Location, seen: Sequence[UsageCheckPart], before: Sequence[RememberedUsageCheck]
) -> None:
    """Make sure that a snapshot is known, or raise ``SettingsError``: no job needs a mistyped name.

    Flink deletes what it claimed. An absent snapshot is still known from earlier checks, or as the
    one that the job was restored from.
    """
    uri = str(place)
    restored = (each for each in seen if each.restored_from)
    if any(each.place == uri for each in (*restored, *before)):
        return
    if not names_in(open_storage(place.top), place.path.lstrip("/")):
        raise SettingsError(
            f"--snapshot {place} holds no file, and no check has seen it: there is no snapshot"
        )


def exit_code(document: Mapping[str, Any]) -> ExitCode:
    """Return 0 if one check was conclusive, also for a no or an unconfirmed yes; otherwise 4."""
    is_known = document["seen"]["value"] is not None
    return ExitCode.DONE if is_known else ExitCode.REFUSED


def check_tables(document: Mapping[str, Any]) -> list[RenderableType]:
    """Return the checks as a table, one line per place."""
    rows = (
        (
            check["place"] or "everything",
            _WORDS[check["value"]]
            + ("" if check["confirmed_at"] or not check["value"] else " (once)"),
            check["since"][:16].replace("T", " "),
            check["references"],
            "" if check["bytes"] is None else human_bytes(check["bytes"]),
            check["why"],
        )
        for check in document["looks"]
    )
    columns = ("what is not the job's own", "needed no more", "since", "files", "bytes", "why")
    table = text_table(columns, rows)
    job = JobNames({document["job_id"]: document["resources"]})(document["job_id"])
    return [as_text(f"job {job} below {document['root']}"), _said(document), table]


def _said(document: Mapping[str, Any]) -> str:
    """Return the answer; a result seen once is not confirmed yet, though the exit code is 0."""
    seen, answer = document["seen"]["value"], document["state_self_sustained"]
    if seen and answer is None:
        return "self-sustained: seen once, not confirmed yet (exit code 0 all the same)"
    return f"self-sustained: {_WORDS[answer]}"
