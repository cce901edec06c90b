"""What a run that carries out a plan did, and what that amounts to."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from orphangc.collect.cycle import Cycle
from orphangc.collect.decide.verdicts import JobView
from orphangc.core.decision.judge import Judgement
from orphangc.core.documents.plan import Plan
from orphangc.core.model.types import Action, Outcome
from orphangc.errors import ExitCode, OrphanGcError, RefusedError

TOO_YOUNG = (
    "too young: it was not stored earlier than the plan's listing by --clock-skew; a sweep with"
    " --relist lists again"
)
"""Error of an object that a sweep does not yet ask for."""


@dataclass(slots=True)
class SweepResult:
    """What a sweep did.

    Attributes:
        uploads: Number of unfinished uploads that were due to be aborted, by outcome (R50).
        folders: Number of folders that held nothing and were to go, by outcome (R53).
        error: Why the first object failed, ``None`` if none did.
        is_undoable: Whether the storage shows that it keeps what is deleted.
        refused: Jobs that a guard or an unmet condition kept from deletion, with the reason.
    """

    run_id: str = ""
    objects: Counter[tuple[str, str]] = field(default_factory=Counter)
    bytes: Counter[tuple[str, str]] = field(default_factory=Counter)
    uploads: Counter[Outcome] = field(default_factory=Counter)
    folders: Counter[Outcome] = field(default_factory=Counter)
    too_young: int = 0
    stopped_by: BaseException | None = None
    error: str | None = None
    is_undoable: bool = False
    refused: dict[str, str] = field(default_factory=dict)
    unmet: dict[str, Judgement] = field(default_factory=dict)
    exit_code: int = ExitCode.DONE

    @property
    def stopped(self) -> str | None:
        """Return why the sweep ended early, ``None`` if it did not."""
        return None if self.stopped_by is None else str(self.stopped_by) or "interrupted"

    def count(self, rows: pa.RecordBatch) -> None:
        """Take rows of ``OUTCOME_SCHEMA`` into account."""
        table = pa.Table.from_batches([rows]).group_by(["action", "outcome"])
        for each in table.aggregate([("size", "count"), ("size", "sum")]).to_pylist():
            name = (each["action"], each["outcome"])
            self.objects[name] += each["size_count"]
            self.bytes[name] += each["size_sum"]
        self.too_young += pc.sum(pc.equal(rows["error"], TOO_YOUNG)).as_py() or 0
        errors = rows.filter(pc.equal(rows["outcome"], Outcome.FAILED))["error"].drop_null()
        if self.error is None and len(errors):
            self.error = errors[0].as_py()

    @property
    def failed(self) -> int:
        """Return the number of objects that failed, whatever the verdict."""
        return sum(count for (_, became), count in self.objects.items() if became == Outcome.FAILED)

    def counts(self) -> dict[str, dict[str, int]]:
        """Return objects and bytes by action and outcome."""
        return {
            f"{name[0]}/{name[1]}": {"objects": self.objects[name], "bytes": self.bytes[name]}
            for name in sorted(self.objects)
        }

    def document(self, plan: Plan, *, is_deleting: bool) -> dict[str, Any]:
        """Return what became of a plan, as JSON."""
        return {
            "run_id": self.run_id,
            "deleting": is_deleting,
            "plan_id": plan.plan_id,
            "root": plan.root,
            "counts": self.counts(),
            "too_young": self.too_young,
            "uploads": by_outcome(self.uploads),
            "folders": by_outcome(self.folders),
            "refused": self.refused,
            "stopped": self.stopped,
            "exit_code": int(self.exit_code),
        }

    def outcome(self, plan: Plan, *, is_deleting: bool) -> dict[str, Any]:
        """Return the contents of ``outcome.json``: an expiry touches no upload and no folder."""
        document = self.document(plan, is_deleting=is_deleting)
        if plan.expiry is not None:
            del document["uploads"], document["folders"]
        return {"schema_version": 1, **document}

    def refuse(self, key: str, view: JobView) -> None:
        """Note why nothing of a job may be deleted, if nothing may."""
        refused, blocked = view.judgement.refused, view.judgement.blocked
        why = [f"{each.condition}: {each.message}" for each in blocked]
        if refused is not None:
            why = [f"{refused.guard}: {refused.message}"]
        if why:
            self.unmet[key] = view.judgement
            self.refused[key] = "; ".join(why)


def by_outcome(counts: Counter[Outcome]) -> dict[str, int]:
    """Return the number of things by outcome, as JSON."""
    return {str(outcome): number for outcome, number in sorted((+counts).items())}


def code_of(err: BaseException) -> int:
    """Return the exit code of a process that this ends."""
    if isinstance(err, SystemExit) and isinstance(err.code, int):
        return err.code
    return err.exit_code if isinstance(err, OrphanGcError) else ExitCode.FAILED


def exit_code_of(cycle: Cycle, result: SweepResult, *, is_deleting: bool) -> ExitCode:
    """Return what a sweep amounts to: a refusal is never a success."""
    deletions = {o: result.objects[Action.DELETE, o] for o in Outcome}
    is_refusal = isinstance(result.stopped_by, RefusedError)
    has_failed = deletions[Outcome.FAILED] or result.uploads[Outcome.FAILED]
    if has_failed and not is_refusal:
        return ExitCode.SOME_DELETES_FAILED
    is_anything_done = deletions[Outcome.DONE] or result.uploads[Outcome.DONE]
    if isinstance(result.stopped_by, OrphanGcError):
        is_part_done = is_refusal and is_anything_done
        return ExitCode.FAILED if is_part_done else result.stopped_by.exit_code
    if cycle.plan.are_all_refused and not is_anything_done:
        return ExitCode.REFUSED
    left = deletions[Outcome.PLANNED] + result.objects[Action.TOMBSTONE, Outcome.PLANNED]
    is_idle = not is_anything_done and left
    return ExitCode.REFUSED if is_deleting and is_idle and result.refused else ExitCode.DONE


def exit_code_of_expiry(result: SweepResult) -> ExitCode:
    """Return what an expiry amounts to: one that ended early after its first step failed."""
    outcomes = {outcome for _, outcome in result.objects}
    if isinstance(result.stopped_by, OrphanGcError):
        is_part_done = Outcome.DONE in outcomes
        return ExitCode.FAILED if is_part_done else ExitCode(result.stopped_by.exit_code)
    return ExitCode.SOME_DELETES_FAILED if Outcome.FAILED in outcomes else ExitCode.DONE
