"""The page about one object's verdict, from the plan that a run kept on this machine."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkstate.places.locations import canonical
from flinkstate.text.shown_text import visible
from orphangc.app.render.reason_groups import REASONS
from orphangc.app.render.sentences.verdict_words import headline_of
from orphangc.app.render.shown_names import JobNames
from orphangc.core.documents.plan import JobPart, Plan
from orphangc.core.documents.run_record import RunRecord
from orphangc.core.model.types import Action, Reason
from orphangc.errors import OrphanGcError

if TYPE_CHECKING:
    from orphangc.adapters.rows.verdict_lookup import VerdictLookup

_EXAMPLES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectExplanation:
    """What is known about a key.

    Attributes:
        key: Requested key, relative to the storage root; "" if none was requested.
        row: Verdict of the object, a row of ``VERDICT_SCHEMA``.
        command: Command that explains more from the storage itself; ``None`` if a shell cannot take
            the key.
    """

    key: str
    problem: str | None = None
    row: Mapping[str, Any] = field(default_factory=dict)
    reason: Reason | None = None
    headline: str = ""
    meaning: str = ""
    job: JobPart | None = None
    job_name: str = ""
    command: str | None = None
    examples: Mapping[Reason, Sequence[Mapping[str, Any]]] = field(default_factory=dict)


def explanation(record: RunRecord, key: str) -> ObjectExplanation:
    """Return why an object has its verdict.

    Only the folder that the record names is read, and only if it still holds the record's plan.

    Args:
        key: Key relative to the storage root, or a URI below it; "" for some examples.
    """
    from orphangc.adapters.rows.verdict_lookup import VerdictLookup  # noqa: PLC0415 - loads Arrow

    relative = _relative(key.strip(), record.root)
    if record.plan_folder is None or record.plan_id is None:
        return ObjectExplanation(key=relative, problem="This run made no plan.")
    command = _command(relative, record.plan_folder)
    try:
        lookup = VerdictLookup(Path(record.plan_folder))
        plan = _plan(lookup, record)
        if not relative:
            return ObjectExplanation(key="", examples=_examples(lookup, plan))
        row = lookup.find(plan, relative)
    except OrphanGcError as err:
        problem = f"The plan is not to be had on this machine: {err}."
        return ObjectExplanation(key=relative, problem=problem, command=command)
    if row is None:
        problem = "The plan has no object of this name. Names are compared byte by byte."
        return ObjectExplanation(key=relative, problem=problem)
    return _explained(relative, row, plan, command)


def _plan(lookup: VerdictLookup, record: RunRecord) -> Plan:
    plan = lookup.plan()
    if plan.plan_id != record.plan_id:
        raise OrphanGcError(f"{record.plan_folder} now holds the plan of another run")
    return plan


def _explained(
    key: str, row: Mapping[str, Any], plan: Plan, command: str | None
) -> ObjectExplanation:
    action, reason = Action(row["action"]), Reason(row["reason"])
    job = plan.job_of(row["job_id"], canonical(plan.root).child(key.rpartition("/")[0]))
    return ObjectExplanation(
        key=key,
        row=row,
        reason=reason,
        headline=_headline(action, reason, job),
        meaning=REASONS[reason].meaning,
        job=job,
        job_name=JobNames.of(plan.jobs)(row["job_id"]),
        command=command,
    )


def _headline(action: Action, reason: Reason, job: JobPart | None) -> str:
    if action is Action.DELETE and job is not None and job.blocked:
        return "It stays for now: it is due for deletion, but its job is blocked."
    return headline_of(action, reason)


def _relative(key: str, root: str) -> str:
    try:
        inside = canonical(root).key_of(canonical(key))
    except ValueError:
        return key.lstrip("/")
    return key.lstrip("/") if inside is None else inside


def _command(key: str, folder: str) -> str | None:
    """Return the command that explains more; ``None`` for a name that a terminal does not show."""
    if visible(key + folder) != key + folder:
        return None
    if key.startswith("-"):
        return shlex.join(["orphangc", "explain", "--plan", folder, "--", key])
    return shlex.join(["orphangc", "explain", key, "--plan", folder])


def _examples(lookup: VerdictLookup, plan: Plan) -> dict[Reason, Sequence[Mapping[str, Any]]]:
    found = lookup.examples(plan, _EXAMPLES)
    order = [Reason.QUARANTINE_OVER, Reason.ORPHAN, Reason.IN_QUARANTINE, *Reason]
    return {reason: found[reason] for reason in dict.fromkeys(order) if reason in found}
