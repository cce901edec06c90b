"""A job as every table and page shows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from orphangc.app.console.text import id_ranges
from orphangc.app.render.reason_groups import STATE_TEXT, ByKind, by_kind
from orphangc.app.render.shown_names import name_of
from orphangc.app.render.stops import Fate, Judged, fate_of
from orphangc.core.documents.plan import Tally
from orphangc.core.model.tallies import Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownJob(ByKind):
    """A job of a plan, or of the record of a run, with what is stored of it."""

    part: Judged
    name: str
    fate: Fate
    state: str
    retained: str

    @classmethod
    def of(cls, job: Judged, found: Iterable[Tally | Cell], **more: Any) -> Self:
        """Return the view of a job."""
        return cls(
            part=job,
            name=name_of(job),
            fate=fate_of(job),
            state="" if job.state is None else STATE_TEXT[job.state],
            retained=id_ranges(job.retained_checkpoint_ids),
            kinds=by_kind(found),
            **more,
        )
