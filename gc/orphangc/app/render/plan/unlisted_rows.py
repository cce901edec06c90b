"""What no listing shows (versions, uploads), as rows that every rendering shows."""

from __future__ import annotations

from dataclasses import dataclass

from flinkstate.text.shown_text import counted, human_bytes
from orphangc.app.console.text import instant
from orphangc.core.documents.plan import ExtrasPart, ExtraStatus, Plan

STATUS_TEXT = {
    ExtraStatus.COUNTED: "",
    ExtraStatus.NOT_ASKED: "not asked for: --noncurrent-versions takes a second listing",
    ExtraStatus.FORBIDDEN: "unknown: these credentials may not ask",
    ExtraStatus.NOT_TOLD: "unknown: the store has no such request",
    ExtraStatus.FAILED: "unknown: the store did not answer to the end",
}

EXTRAS_ADVICE = (
    "None of this is ever touched by a sweep. A lifecycle rule of the bucket removes it:"
    " AbortIncompleteMultipartUpload after 7 days or more, NoncurrentVersionExpiration after as"
    " many days as deletions shall be undone."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraRow:
    """One kind in all areas together.

    Attributes:
        number: Number of items; "" if unknown.
        size: Rounded bytes, with "at least" if a part is unknown; "" if unknown or without size.
    """

    name: str
    number: str
    size: str = ""
    exactly: str = ""
    remark: str = ""


def is_worth_showing(part: ExtrasPart | None) -> bool:
    """Return whether anything besides objects was found, or could not be counted."""
    quiet = {ExtraStatus.COUNTED, ExtraStatus.NOT_ASKED}
    return part is not None and bool(part.areas or {part.uploads, part.versions} - quiet)


def extra_rows(part: ExtrasPart) -> tuple[ExtraRow, ...]:
    """Return what an object store holds besides objects; an unknown number is never zero."""
    rows = [_uploads(part)]
    unknown = STATUS_TEXT[part.versions]
    if unknown:
        rows.append(ExtraRow(name="Noncurrent versions", number="", remark=unknown))
        rows.append(ExtraRow(name="Delete markers", number="", remark=unknown))
    else:
        old = sum(area.noncurrent_versions or 0 for area in part.areas)
        size = sum(area.noncurrent_bytes or 0 for area in part.areas)
        rows.append(_row("Noncurrent versions", old, size))
        markers = sum(area.delete_markers or 0 for area in part.areas)
        rows.append(ExtraRow(name="Delete markers", number=f"{markers:,}"))
    folders = sum(area.directory_markers for area in part.areas)
    remark = "empty objects in the listing; kept" if folders else ""
    rows.append(ExtraRow(name="Directory markers", number=f"{folders:,}", remark=remark))
    return tuple(rows)


def _uploads(part: ExtrasPart) -> ExtraRow:
    name, unknown = "Unfinished uploads", STATUS_TEXT[part.uploads]
    if unknown:
        return ExtraRow(name=name, number="", remark=unknown)
    unsized = sum(area.uploads_of_unknown_size or 0 for area in part.areas)
    oldest = [area.oldest_upload_at for area in part.areas if area.oldest_upload_at is not None]
    remarks = [f"the oldest of {instant(min(oldest))}"] if oldest else []
    dead = sum(area.dead_uploads for area in part.areas)
    remarks += [f"nothing completes {dead:,} of them any more"] if dead else []
    remarks += [f"bytes of {unsized:,} of them unknown"] if unsized else []
    return _row(
        name,
        sum(area.uploads or 0 for area in part.areas),
        sum(area.upload_bytes or 0 for area in part.areas),
        remark="; ".join(remarks),
        at_least="at least " if unsized else "",
    )


def _row(name: str, number: int, size: int, *, remark: str = "", at_least: str = "") -> ExtraRow:
    return ExtraRow(
        name=name,
        number=f"{number:,}",
        size=f"{at_least}{human_bytes(size)}" if number else "",
        exactly=f"{at_least}{size:,}" if number else "",
        remark=remark,
    )


def inventory_sentence(plan: Plan) -> str | None:
    """Return what a reader must know about a plan from an inventory."""
    if plan.inventory is None:
        return None
    return (
        f"Planned from an inventory begun {instant(plan.inventory.created_at)}, of"
        f" {counted(plan.inventory.objects, 'object')} in all its bucket. What was stored,"
        " replaced or deleted since is not seen; a sweep looks at each object before it deletes it."
    )
