"""Checks of ``doctor`` for jobs: what stops each of them, now, and whether that passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orphangc.app.render.stops import Unmet, unmet_by
from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.decision.judge import Judgement
from orphangc.core.model.codes import Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacles:
    """Reasons why the jobs of one storage root are not collected.

    Attributes:
        own: First obstacle of each job that is not common, by job key.
    """

    jobs: int
    common: tuple[Unmet, ...]
    own: Mapping[str, Unmet]


def obstacles_of(jobs: Mapping[str, JobEvidence], judged: Mapping[str, Judgement]) -> Obstacles:
    """Return the obstacles of the jobs below the storage root, a halt and lasting ones first."""
    found = {
        key: tuple(sorted(unmet_by(judged[key]), key=_rank))
        for key, job in jobs.items()
        if job.is_collected
    }
    shared = [each for each in next(iter(found.values()), ()) if len(found) > 1]
    common = tuple(each for each in shared if all(each in some for some in found.values()))
    first = {
        key: next((each for each in found[key] if each not in common), None)
        for key in sorted(found)
    }
    own = {key: each for key, each in first.items() if each is not None}
    return Obstacles(jobs=len(found), common=common, own=own)


def _rank(unmet: Unmet) -> tuple[bool, bool]:
    return unmet.code != Condition.HALTED, unmet.may_pass
