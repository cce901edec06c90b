"""Results of ``unclaimed`` as a document, as tables, and as warnings."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from flinkstate.commands.unclaimed import Claims
from flinkstate.compatibility.comparison import (
    AbsentOperator,
    ChangedState,
    DeclarationComparison,
    FindingKind,
    MissingState,
    ReplacedOperator,
    Unclaimed,
)
from flinkstate.text.shown_text import counted, human_bytes, visible


def comparison_document(claims: Claims) -> dict[str, Any]:
    """Return the whole result; ``complete`` is false if names could not be read."""
    found = claims.comparison
    return {
        "checkpoint": str(claims.checkpoint),
        "checkpoint_id": found.checkpoint_id,
        "unclaimed": [asdict(each) for each in found.unclaimed],
        "unclaimed_bytes": _known_bytes(found.unclaimed),
        "changed": [asdict(each) for each in found.changed],
        "serializers": [asdict(each) for each in found.serializers],
        "replaced": [asdict(each) for each in found.replaced],
        "not_compared": [asdict(each) for each in found.uncompared],
        "absent": [asdict(each) for each in found.absent],
        "missing": [asdict(each) for each in found.missing],
        "complete": found.is_complete,
        "pruned": None if claims.pruned_to is None else _pruned(claims),
        "verified": None if claims.verified is None else claims.verified.document,
    }


def _parted(claims: Claims) -> tuple[list[Unclaimed], list[Unclaimed]]:
    found = claims.comparison.unclaimed
    stay = [each for each in found if not each.is_prunable or _is_kept(each, claims)]
    return [each for each in found if each not in stay], stay


def _pruned(claims: Claims) -> dict[str, Any]:
    gone, stay = _parted(claims)
    return {
        "directory": str(claims.pruned_to),
        "left_out": len(gone),
        "left_out_bytes": _known_bytes(gone),
        "not_prunable": [asdict(each) for each in stay],
    }


def _is_kept(each: Unclaimed, claims: Claims) -> bool:
    return each.kind is FindingKind.KEYED_STATE and each.operator.id in claims.kept


def _known_bytes(found: Iterable[Unclaimed]) -> int:
    return sum(each.bytes or 0 for each in found)


def comparison_tables(claims: Claims) -> list[RenderableType]:
    """Return the result as tables and lines for people, without warnings."""
    found = claims.comparison
    if not found.unclaimed:
        shown: list[RenderableType] = [Text(f"{_head(claims)}: {_none(found)}")]
    else:
        shown = [Text(f"{_head(claims)}: {_sum(found)}"), _table(found.unclaimed)]
    if claims.pruned_to is not None:
        pruned = _pruned(claims)
        shown.append(
            Text(
                f"written to {visible(pruned['directory'])}:"
                f" {counted(pruned['left_out'], 'entry', 'entries')} left out,"
                f" {_size(_parted(claims)[0])};"
                f" {len(pruned['not_prunable'])} cannot be left out offline"
            )
        )
    return shown


def _none(found: DeclarationComparison) -> str:
    return "no state is unclaimed" + ("" if found.is_complete else " as far as could be read")


def _head(claims: Claims) -> str:
    return f"checkpoint {claims.comparison.checkpoint_id} in {visible(str(claims.checkpoint))}"


def _sum(found: DeclarationComparison) -> str:
    return f"{len(found.unclaimed)} unclaimed, {_size(found.unclaimed)}"


def _size(found: Sequence[Unclaimed]) -> str:
    known = _known_bytes(found)
    is_whole = all(each.bytes is not None for each in found)
    if not (known or is_whole):
        return "of unknown size"
    return f"{human_bytes(known)}{'' if is_whole else ' or more'}"


def _table(found: tuple[Unclaimed, ...]) -> Table:
    table = Table("unclaimed", "operator", "state", "form", "size", "prunable")
    for each in found:
        table.add_row(
            each.kind.replace("_", " "),
            Text(visible(each.operator.label)),
            Text(visible(each.state or "")),
            each.form or "",
            "unknown" if each.bytes is None else human_bytes(each.bytes),
            "yes" if each.is_prunable else "no",
        )
    return table


def comparison_warnings(claims: Claims) -> list[str]:
    """Return warnings, one line each, the dangerous ones first."""
    found = claims.comparison
    lines = [
        *(claims.verified.lines() if claims.verified is not None else ()),
        *map(_replaced, found.replaced),
        *map(_changed, found.changed),
        *map(_other_serializer, found.serializers),
        *map(_absent, found.absent),
        *(
            f"declared {_state(each)} is not in the checkpoint{_new(each)}"
            for each in found.missing
        ),
        *(
            f"operator {visible(each.operator.label)} cannot be compared: {visible(each.why)}"
            for each in found.uncompared
        ),
        *(_multiplying(each) for each in found.unclaimed if each.multiplies),
        *(
            f"{_state(each)} stays in the pruned checkpoint:"
            f" {visible(claims.kept[each.operator.id])}"
            for each in found.unclaimed
            if _is_kept(each, claims)
        ),
    ]
    if found.unclaimed:
        lines.append(f"{_sum(found)}: {_head(claims)}")
    elif not found.is_complete:
        lines.append(f"whether more is unclaimed cannot be known: {_head(claims)}: {_none(found)}")
    if claims.pruned_to is not None:
        gone = (each for each in _parted(claims)[0] if each.kind is FindingKind.KEYED_STATE)
        lines += (
            f"{_state(each)} keeps its name in the pruned checkpoint, without entries, and is"
            " reported of it again: inspect --count-entries shows that it is empty, unclaimed"
            " --ignore-unclaimed-state accepts it"
            for each in gone
        )
        lines.append(
            f"{visible(str(claims.pruned_to))} refers to files of the original checkpoint, which"
            " must stay: restore it in NO_CLAIM mode, for in CLAIM mode Flink deletes them in the"
            " end"
        )
    return lines


def _multiplying(each: Unclaimed) -> str:
    now, factor = each.partitions or 0, each.parallelism or 1
    return (
        f"union state {visible(each.state or '')} of operator {visible(each.operator.label)} has"
        f" {counted(now, 'partition')}, and nothing reads it: every subtask restores all of them"
        f" and writes them again. After the next restore there are {now * factor:,} at parallelism"
        f" {factor}, and so on at each one. Prune it, or claim it and clear it"
    )


def _replaced(each: ReplacedOperator) -> str:
    left = ", ".join(map(visible, each.left)) or "its coordinator's state"
    when = "was" if each.has_happened else "would be"
    missing = f" ({', '.join(map(visible, each.missing))})" if each.missing else ""
    size = f" ({human_bytes(each.bytes)})" if each.bytes else ""  # unknown sizes count as 0
    return (
        f"DANGER: operator {visible(each.operator.label)} {when} replaced under the same uid."
        f" Flink restores without complaint, the new operator finds nothing of its own{missing}"
        f" and starts empty, and {left}{size} stays unread in every"
        " checkpoint. Give the new operator a uid of its own"
    )


def _changed(each: ChangedState) -> str:
    return (
        f"{_state(each)} is stored as {each.stored} and declared as {each.declared}: Flink will"
        " refuse to restore it"
    )


def _other_serializer(each: ChangedState) -> str:
    return (
        f"{_state(each)} is stored by {visible(each.stored)} and declared with"
        f" {visible(each.declared)}: Flink migrates it or refuses it, which is not known here"
    )


def _absent(each: AbsentOperator) -> str:
    what = f"declared operator {visible(each.label)} ({each.id})"
    return f"{what} is not in the checkpoint{_new(each)}"


def _new(each: AbsentOperator | MissingState) -> str:
    if each.is_stated_new:
        return ", as is said of it"
    return f"; did you mean {visible(each.nearest)}?" if each.nearest else ""


def _state(each: Unclaimed | ChangedState | MissingState) -> str:
    kind, name = each.kind.replace("_", " "), visible(each.state or "")
    return f"{kind} {name} of operator {visible(each.operator.label)}"
