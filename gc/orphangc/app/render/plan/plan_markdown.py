"""The plan as a short summary in Markdown, for a pull request or a chat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from flinkstate.text.shown_text import human_bytes, visible
from orphangc.app.console.text import instant, share
from orphangc.app.render.plan.page_values import JobPageView, job_views
from orphangc.app.render.plan.unlisted_rows import extra_rows, inventory_sentence, is_worth_showing
from orphangc.app.render.reason_groups import KINDS
from orphangc.app.render.retention.unneeded_text import expiry_hint
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.stops import Stop, stops
from orphangc.app.render.summary import area_rows, headline, summarise
from orphangc.app.render.world_tables import statement
from orphangc.collect.decide.breakdown import Breakdown
from orphangc.core.documents.plan import Plan

_JOBS = 10
_MESSAGES = 3
_PLAIN = re.compile(r"[^`|\\<>&\n]+", re.ASCII)
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]", re.ASCII)
_MARKS = {"refused": "■ refused", "blocked": "▲ blocked", "clear": "● clear"}


def render_markdown(plan: Plan, breakdown: Breakdown) -> str:
    """Return a short summary of a plan."""
    summary = summarise(plan, breakdown)
    jobs = job_views(plan, breakdown.cells())
    parts = [
        [f"### orphangc plan of {instant(plan.created_at)}"],
        [f"{code(plan.root)}: {_sentence(headline(plan, summary))}"],
        *([[hint]] if (hint := expiry_hint(plan)) is not None else []),
        *([[code(statement(plan.world))]] if plan.world is not None else []),
        *([[source]] if (source := inventory_sentence(plan)) is not None else []),
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
                for kind, amount in summary.kinds.items()
                if amount.objects
            ),
        ),
        *_area_parts(plan),
        *_job_parts(jobs),
        *([["**What stops deletion**"], _stop_lines(plan)] if stops(plan.jobs) else []),
        *_extras_parts(plan),
        *([["**Warnings**"], _warning_lines(plan)] if plan.warnings else []),
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
    """Return a sentence of orphangc with its options as code."""
    return re.sub(r"(--[a-z]+(?:-[a-z]+)*)", r"`\1`", text)


def _job_parts(jobs: Sequence[JobPageView]) -> Iterator[list[str]]:
    if not jobs:
        return
    rows = (
        (
            code(job.name),
            _MARKS[job.fate],
            f"{job.part.state}, {job.part.mode}",
            human_bytes(job.total.bytes),
            human_bytes(job.going.bytes),
            f"{job.part.missing_objects:,}",
        )
        for job in jobs[:_JOBS]
    )
    yield _table(("Job", "Deletion", "State", "Stored", "Orphaned", "Missing"), rows)
    if len(jobs) > _JOBS:
        yield [f"The {_JOBS} largest of {len(jobs):,} jobs."]


def _area_parts(plan: Plan) -> Iterator[list[str]]:
    rows = area_rows(plan)
    if len(rows) < 2:  # noqa: PLR2004 - the table above says it all
        return
    yield _table(
        ("Area", "Live", "Orphaned", "Too young", "Not provable", "Why"),
        (
            (
                code(row.scope),
                *(human_bytes(each.bytes) for each in (row.live, row.orphaned, row.young)),
                human_bytes(row.unproven.bytes),
                "; ".join(map(code, row.reasons)),
            )
            for row in rows
        ),
    )


def _extras_parts(plan: Plan) -> Iterator[list[str]]:
    if plan.extras is None or not is_worth_showing(plan.extras):
        return
    yield ["**Not in the listing**"]
    rows = (
        (row.name, row.number or "unknown", row.size, row.exactly, _sentence(row.remark))
        for row in extra_rows(plan.extras)
    )
    yield _table(("What", "Number", "Bytes", "Exactly", ""), rows)


def _stop_lines(plan: Plan) -> list[str]:
    return _bullets(_stop_line(stop) for stop in stops(plan.jobs))


def _warning_lines(plan: Plan) -> list[str]:
    names = JobNames.of(plan.jobs)
    return _bullets(code(names.in_text(each)) for each in plan.warnings)


def _stop_line(stop: Stop) -> str:
    messages = list(dict.fromkeys(each.message for each in stop.jobs))
    shown = "; ".join(code(message) for message in messages[:_MESSAGES])
    more = f" and {len(messages) - _MESSAGES} more" if len(messages) > _MESSAGES else ""
    jobs = f"{len(stop.jobs):,} " + ("job" if len(stop.jobs) == 1 else "jobs")
    return f"{stop.fate} by {code(stop.code)}, {jobs}: {shown}{more}. {_sentence(stop.advice.text)}"


def _bullets(lines: Iterable[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Return a table whose second and later columns have the given alignment."""
    lines = [head, tuple("---" for _ in head), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]
