"""The picture of a lineage: jobs as rows in time, what each continued, and what each left.

Pure geometry, in units of a drawing that is ``WIDTH`` wide; the template only writes it down.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Self

from flinkstate.text.shown_text import counted, human_bytes
from orphangc.app.console.text import instant, unneeded_sentence
from orphangc.app.render.template_environment import report
from orphangc.core.documents.lineage_report import (
    LineageCheckpointPart,
    LineageJobPart,
    LineagePart,
    LineageReport,
)
from orphangc.core.lineage.checkpoint_fates import CheckpointKind, RetentionAction

WIDTH = 1000.0
JOBS_DRAWN = 40
"""Maximum number of rows: the newest jobs; the tables have all of them."""

_LEFT = 150.0
_RIGHT = 985.0
_ROW = 34.0
_TOP = 26.0
_DIGITS = 2
_NAME = 12


class MarkFate(StrEnum):
    """What becomes of a checkpoint or savepoint."""

    KEPT = "kept"
    EXPIRES = "expires"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureRow:
    """One job; the bar of one whose end is not proven is open to the right."""

    name: str
    title: str
    y: float
    x: float
    width: float
    is_over: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageMark:
    """One checkpoint or savepoint on the row of its job: its shape says which, never its colour."""

    kind: CheckpointKind
    fate: MarkFate
    x: float
    y: float
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageEdge:
    """One continuation: from what was restored, or the end of the older job, to the newer one."""

    path: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LineagePicture:
    """The picture of one lineage; without a known time it begins at ""."""

    name: str
    alternative: str
    height: float
    rows: tuple[PictureRow, ...]
    marks: tuple[LineageMark, ...]
    edges: tuple[LineageEdge, ...]
    begin: str
    end: str
    left_out: int


def lineage_picture(lineage: LineagePart, now: datetime) -> LineagePicture:
    """Return the picture of one lineage."""
    jobs = lineage.jobs[-JOBS_DRAWN:]
    axis = _Axis.of(lineage, jobs, now)
    rows = {job.directories: _row(job, number, axis) for number, job in enumerate(jobs)}
    row_of = {place: rows[job.directories] for job in jobs for place in job.directories}
    row_of_id = {job.job_id: rows[job.directories] for job in jobs if job.job_id}
    marks = {
        each.uri: _mark(each, row, axis)
        for each in lineage.checkpoints
        if (row := row_of_id.get(each.job_id)) is not None
    }
    return LineagePicture(
        name=lineage.name,
        alternative=in_words(lineage),
        height=_TOP + _ROW * max(len(jobs), 1),
        rows=tuple(rows.values()),
        marks=tuple(marks.values()),
        edges=tuple(_edges(lineage, row_of, marks)),
        begin="" if axis.begin is None else instant(axis.begin),
        end=instant(axis.end),
        left_out=len(lineage.jobs) - len(jobs),
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    begin: datetime | None
    end: datetime

    @classmethod
    def of(cls, lineage: LineagePart, jobs: Sequence[LineageJobPart], now: datetime) -> Self:
        ids = {job.job_id for job in jobs}
        times = [at for job in jobs for at in (job.first_life_at, job.last_life_at)]
        times += [each.stored_at for each in lineage.checkpoints if each.job_id in ids]
        known = [at for at in times if at is not None]
        return cls(min(known, default=None), max([now, *known]))

    def x(self, at: datetime | None) -> float:
        """Return the place of a time; an unknown one is at the left edge."""
        if at is None or self.begin is None or self.end <= self.begin:
            return _LEFT
        share = (at - self.begin) / (self.end - self.begin)
        return round(_LEFT + (_RIGHT - _LEFT) * min(max(share, 0.0), 1.0), _DIGITS)


def _row(job: LineageJobPart, number: int, axis: _Axis) -> PictureRow:
    begin = axis.x(job.first_life_at)
    end = axis.x(job.last_life_at) if job.is_over else _RIGHT
    name = job.job_id or "unknown job"
    return PictureRow(
        name=name[:_NAME],
        title=_job_words(job),
        y=_TOP + _ROW * number + _ROW / 2,
        x=min(begin, _RIGHT - 4),
        width=round(max(end - begin, 4.0), _DIGITS),
        is_over=job.is_over,
    )


def _mark(checkpoint: LineageCheckpointPart, row: PictureRow, axis: _Axis) -> LineageMark:
    fate = MarkFate.EXPIRES if checkpoint.action is RetentionAction.EXPIRE else MarkFate.KEPT
    if checkpoint.expired_at is not None:
        fate = MarkFate.QUARANTINED
    why = f", {checkpoint.why}" if checkpoint.why else ""
    title = f"{checkpoint.kind} {checkpoint.uri}: {checkpoint.action}, {checkpoint.reason}{why}"
    x = axis.x(checkpoint.stored_at)
    return LineageMark(kind=checkpoint.kind, fate=fate, x=x, y=row.y, title=title)


def _edges(
    lineage: LineagePart, row_of: Mapping[str, PictureRow], marks: Mapping[str, LineageMark]
) -> Iterator[LineageEdge]:
    """Yield the lines between rows; a savepoint on the row of its job needs none."""
    for each in lineage.continuations:
        newer = row_of.get(each.newer)
        origin = marks.get(each.checkpoint) or marks.get(each.older)
        older = row_of.get(each.older)
        if newer is None or (origin is None and older is None):
            continue
        x, y = (origin.x, origin.y) if origin is not None else _end_of(older)
        if (x, y) != (newer.x, newer.y):
            title = f"{each.older} was continued by {each.newer} ({each.source})"
            yield LineageEdge(path=_curve(x, y, newer.x, newer.y), title=title)


def _end_of(row: PictureRow | None) -> tuple[float, float]:
    return (_LEFT, _TOP) if row is None else (round(row.x + row.width, _DIGITS), row.y)


def _curve(x: float, y: float, to_x: float, to_y: float) -> str:
    middle = round((y + to_y) / 2, _DIGITS)
    return f"M{x:g} {y:g}C{x:g} {middle:g} {to_x:g} {middle:g} {to_x:g} {to_y:g}"


def in_words(lineage: LineagePart) -> str:
    """Return a lineage in words, job by job, for those who do not see its picture."""
    size = f"{counted(len(lineage.jobs), 'job')}, {counted(len(lineage.checkpoints), 'checkpoint')}"
    sentences = [f"Lineage {lineage.name or 'of no known job'}: {size}."]
    ids = {place: job.job_id for job in lineage.jobs for place in job.directories}
    for job in lineage.jobs[-JOBS_DRAWN:]:
        own = [each for each in lineage.checkpoints if job.job_id and each.job_id == job.job_id]
        going = sum(each.action is RetentionAction.EXPIRE for each in own)
        origins = sorted(
            {
                ids.get(each.older, each.older)
                for each in lineage.continuations
                if each.newer in job.directories
            }
        )
        continued = f" It continued {', '.join(origins)}." if origins else ""
        sentences.append(
            f"{_job_words(job)}; {counted(len(own), 'checkpoint')}, of which {going} would expire;"
            f" {human_bytes(job.bytes_only)} that only it holds.{continued}"
        )
    return " ".join(sentences)


def _job_words(job: LineageJobPart) -> str:
    begin, end = job.first_life_at, job.last_life_at
    since = "" if begin is None else f" from {instant(begin)}"
    until = "" if end is None or not job.is_over else f" to {instant(end)}"
    named = f" ({', '.join(job.resources)})" if job.resources else ""
    return f"Job {job.job_id or ', '.join(job.directories)}{named}, {job.state}{since}{until}"


_LIMITS = {"limit_lineages": 200, "limit_rows": 2000}
"""Maximum numbers of entries; the JSON document has all of them."""


def drawn(lineages: LineageReport, most: int) -> list[tuple[LineagePart, LineagePicture]]:
    """Return the first lineages, each with its picture: what shows no sign of life, first."""
    now = lineages.created_at
    return [(each, lineage_picture(each, now)) for each in lineages.lineages[:most]]


def render_lineages(lineages: LineageReport, price: float) -> str:
    """Return lineages as one self-contained page."""
    return report(
        "lineages.html.j2",
        **_LIMITS,
        report=lineages,
        drawn=drawn(lineages, _LIMITS["limit_lineages"]),
        now=lineages.created_at,
        sentence_of_bytes=unneeded_sentence(lineages.unneeded, price),
    )
