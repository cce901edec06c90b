"""The plan as a short summary in Markdown, for a pull request or a chat."""

import re
from collections.abc import Iterable, Iterator, Sequence

from flinkstate.text.shown_text import counted, human_bytes, visible
from orphangc.app.console.text import instant, share
from orphangc.app.render.plan.plan_view import AreaRow, PlanView, is_worth_showing, plan_view
from orphangc.app.render.reason_groups import KINDS, ReasonKind
from orphangc.app.render.stops import MARKS, ShownJob, Stop
from orphangc.collect.decide.breakdown import Breakdown
from orphangc.core.documents.plan import Plan

_JOBS = 10
_MESSAGES = 3
_PLAIN = re.compile(r"[^`|\\<>&\n]+", re.ASCII)
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]", re.ASCII)


def render_markdown(plan: Plan, breakdown: Breakdown) -> str:
    """Return a short summary of a plan."""
    view = plan_view(plan, breakdown)
    parts = [
        [f"### orphangc plan of {instant(plan.created_at)}"],
        [f"{code(plan.root)}: {_sentence(view.headline)}"],
        *([[view.hint]] if view.hint is not None else []),
        *([[code(view.statement)]] if view.statement is not None else []),
        *([[view.source]] if view.source is not None else []),
        _table(
            ("What", "Objects", "Bytes", "Exactly", "Share"),
            (
                (
                    KINDS[kind].label,
                    f"{amount.objects:,}",
                    human_bytes(amount.bytes),
                    f"{amount.bytes:,}",
                    share(amount.bytes, plan.bytes_listed),
                )
                for kind, amount in view.kinds.items()
                if amount.objects
            ),
        ),
        *_area_parts(view.areas),
        *_job_parts(view.jobs),
        *_list("What stops deletion", map(_stop_line, view.stops)),
        *_extras_parts(view),
        *_list("Warnings", map(code, view.warnings)),
        [f"plan_id {code(plan.plan_id or 'not signed')}, orphangc {code(plan.tool_version)}"],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def code(text: str) -> str:
    """Return foreign text as inline code that cannot end early, split a cell, or mention a person.

    Harmless text is put between backticks. Anything else becomes an HTML code element of
    character references, because dialects differ on a backslash before a pipe.
    """
    shown = visible(text)
    if not shown.strip():
        return "(empty)"
    if _PLAIN.fullmatch(shown) and shown == shown.strip():
        return f"`{shown}`"
    spelled = _PUNCTUATION.sub(lambda match: f"&#{ord(match[0])};", shown)
    return f"<code>{spelled}</code>"


def _sentence(text: str) -> str:
    return re.sub(r"(--[a-z]+(?:-[a-z]+)*)", r"`\1`", text)


def _job_parts(jobs: Sequence[ShownJob]) -> Iterator[list[str]]:
    if not jobs:
        return
    rows = (
        (
            code(job.name),
            f"{MARKS[job.fate]} {job.fate}",
            f"{job.part.state}, {job.part.mode}",
            human_bytes(job.total.bytes),
            human_bytes(job.orphaned.bytes),
            f"{job.part.missing_objects:,}",
        )
        for job in sorted(jobs, key=lambda each: -each.total.bytes)[:_JOBS]
    )
    yield _table(("Job", "Deletion", "State", "Stored", "Orphaned", "Missing"), rows)
    if len(jobs) > _JOBS:
        yield [f"The {_JOBS} largest of {len(jobs):,} jobs."]


def _area_parts(rows: Sequence[AreaRow]) -> Iterator[list[str]]:
    if len(rows) < 2:  # noqa: PLR2004 - the table above says it all
        return
    yield _table(
        ("Area", "Live", "Orphaned", "Too young", "Not provable", "Why"),
        (
            (
                code(row.scope),
                human_bytes(row.kinds[ReasonKind.LIVE].bytes),
                human_bytes(row.orphaned.bytes),
                human_bytes(row.kinds[ReasonKind.YOUNG].bytes),
                human_bytes(row.unproven.bytes),
                "; ".join(map(code, row.reasons)),
            )
            for row in rows
        ),
    )


def _extras_parts(view: PlanView) -> Iterator[list[str]]:
    if not is_worth_showing(view.plan.extras):
        return
    yield ["**Not in the listing**"]
    rows = (
        (row.name, row.number or "unknown", row.size, row.exactly, _sentence(row.remark))
        for row in view.extras
    )
    yield _table(("What", "Number", "Bytes", "Exactly", ""), rows)


def _stop_line(stop: Stop) -> str:
    messages = list(stop.by_message)
    shown = "; ".join(code(message) for message in messages[:_MESSAGES])
    more = f" and {len(messages) - _MESSAGES} more" if len(messages) > _MESSAGES else ""
    jobs = counted(len(stop.jobs), "job")
    return f"{stop.fate} by {code(stop.code)}, {jobs}: {shown}{more}. {_sentence(stop.advice.text)}"


def _list(title: str, lines: Iterable[str]) -> list[list[str]]:
    bullets = [f"- {line}" for line in lines]
    return [[f"**{title}**"], bullets] if bullets else []


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [head, tuple("---" for _ in head), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]
