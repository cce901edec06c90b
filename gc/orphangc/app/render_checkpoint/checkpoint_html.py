"""The contents of checkpoints as one HTML file: no script, no asset, no request."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flinkstate.commands.inspect_checkpoint import Inspected, Questions, inspect_checkpoints
from flinkstate.commands.rescale import rescaled_rows
from flinkstate.files.paths import refuse_inside
from flinkstate.places.locations import place_of
from flinkstate.tables.checkpoint_view import (
    PARTS,
    OperatorView,
    PagePart,
    RescaledOperator,
    operator_views,
)
from flinkstate.text.shown_text import human_bytes
from orphangc.app.console.checkpoint_host import HOST
from orphangc.app.render.reason_groups import spans
from orphangc.app.render.template_environment import report

_LIMITS = {"limit_operators": 50, "limit_states": 2000, "limit_files": 200, "limit_subtasks": 200}
"""Maximum numbers of entries; the JSON document has all of them."""

_PAGE_METADATA_BYTES = 32 << 20
"""Largest ``_metadata`` that a page of the daemon reads: Flink's are of some kilobytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rect:
    """A segment of a bar; ``x`` and ``width`` are per cent of the picture's width."""

    part: PagePart
    words: str
    x: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bar:
    view: OperatorView
    rects: tuple[_Rect, ...]

    @property
    def alternative(self) -> str:
        parts = (each.words for each in self.rects)
        return f"{self.view.label}: {', '.join(parts) or 'no state'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _PageSection:
    page: Inspected
    anchor: str
    rescaled: tuple[RescaledOperator, ...]
    views: tuple[OperatorView, ...]
    bars: tuple[_Bar, ...]
    parts: tuple[PagePart, ...]
    files: tuple[dict[str, Any], ...]


def write_page(path: Path, every: Sequence[Inspected]) -> None:
    """Write one page about inspected checkpoints.

    Raises:
        SettingsError: The path is a URI, or in the folder of one of them.
        OSError: The page cannot be written.
    """
    for each in every:
        place, is_damaged = place_of(each.document["directory"]), "offset" in each.document
        if place is not None and (is_damaged or each.checkpoint is not None):
            refuse_inside(place, path)
    path.write_text(render_checkpoints(every), encoding="utf-8")


def page_part(uri: str, aliases: Sequence[str]) -> str:
    """Return what a checkpoint holds as a part of a page of the daemon.

    Only its ``_metadata`` is read: a run may read no file of state.

    Args:
        aliases: Replacements in paths inside ``_metadata``, as ``FROM=TO``.

    Raises:
        OrphanGcError: An alias is invalid.
    """
    questions = Questions(aliases=aliases, reads_state=False)
    bounded = replace(HOST, max_bytes=_PAGE_METADATA_BYTES)
    return _rendered("checkpoint_part.html.j2", [*inspect_checkpoints([uri], questions, bounded)])


def render_checkpoints(pages: Sequence[Inspected]) -> str:
    """Return one self-contained page about checkpoints, in their order.

    Foreign text is escaped for HTML and loses its control characters in the environment, not in the
    template.
    """
    return _rendered("checkpoint.html.j2", pages)


def _rendered(template: str, pages: Sequence[Inspected]) -> str:
    sections = [_section(f"c{number}", page) for number, page in enumerate(pages, 1)]
    return report(template, **_LIMITS, parts=PARTS, sections=sections)


def _section(anchor: str, page: Inspected) -> _PageSection:
    views = () if page.checkpoint is None else operator_views(page.checkpoint.contents)
    drawn = sorted(views, key=lambda view: -view.bytes)[: _LIMITS["limit_operators"]]
    widest = max((view.bytes for view in drawn), default=0)
    files = sorted(page.document.get("files", ()), key=lambda each: -(each["size"] or 0))
    used = {each.part for view in views for each in view.slices}
    return _PageSection(
        page=page,
        anchor=anchor,
        rescaled=tuple(rescaled_rows(page.document.get("rescaled_to", {"operators": ()}))),
        views=views,
        bars=tuple(_bar(view, widest) for view in drawn),
        parts=tuple(part for part in PARTS if part in used),
        files=tuple(files[: _LIMITS["limit_files"]]),
    )


def _bar(view: OperatorView, widest: int) -> _Bar:
    places = spans([each.bytes for each in view.slices], widest)
    rects = tuple(
        _Rect(
            part=each.part,
            words=f"{each.name}: {human_bytes(each.bytes)} ({PARTS[each.part].label.lower()})",
            x=x,
            width=width,
        )
        for each, (x, width) in zip(view.slices, places, strict=True)
    )
    return _Bar(view=view, rects=rects)
