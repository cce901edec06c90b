"""What checkpoints that nothing living needs hold, without a retention policy: for ``plan``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orphangc.collect.cycle import Cycle
from orphangc.collect.expire.held_bytes import HeldBytesPass, NamedFiles
from orphangc.collect.expire.lineage_facts import cycle_lineages, retention_facts
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.documents.lineage_report import UnneededPart
from orphangc.core.lineage.checkpoint_fates import CheckpointFate, fates_of
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import Reason
from orphangc.ports import Progress
from orphangc.ports.engine import Engine


def unneeded_part(
    cycle: Cycle, settings: StorageRootSettings, engine: Engine, progress: Progress
) -> UnneededPart:
    """Return what nothing living needs; the listing is passed over only if that is a part of all.

    Args:
        engine: Engine that still holds the cycle's listing.
    """
    known = cycle_lineages(cycle, settings, asks_usage=False)
    fates = fates_of(known.lineages, retention_facts(cycle, settings, None, known.hidden))
    part = counted_unneeded(fates)
    if not part.checkpoints:
        return part
    if part.checkpoints == len(cycle.mark.checkpoints) and _names_alone(cycle):
        return part.model_copy(update=_referenced(cycle))
    folders = {each.checkpoint.uri for each in fates if not each.is_needed}
    unneeded = [known.by_folder[uri] for uri in sorted(folders)]
    needed = (each for uri, each in known.by_folder.items() if uri not in folders)
    work = HeldBytesPass(divisions=((_only_in(unneeded, needed), 1),))
    (found,) = engine.run(work, progress)
    return part.model_copy(update={"objects": int(found.objects[0]), "bytes": int(found.size[0])})


def _names_alone(cycle: Cycle) -> bool:
    """Return whether checkpoints alone make files live, and every job was judged.

    Then, if nothing needs any of them, the verdicts say what they hold.
    """
    is_refused = any(each.refused is not None for each in cycle.judged.values())
    return not (is_refused or cycle.seen.snapshots or cycle.plan.settings.pin)


def _referenced(cycle: Cycle) -> dict[str, int]:
    own = [each for each in cycle.plan.tallies if each.reason is Reason.REFERENCED]
    return {
        "objects": sum(each.objects for each in own),
        "bytes": sum(each.bytes for each in own),
    }


def counted_unneeded(fates: Sequence[CheckpointFate]) -> UnneededPart:
    """Return how many checkpoints nothing living needs; their files are not weighed."""
    unneeded = [each for each in fates if not each.is_needed]
    makers = (each.lineage.job_at(each.checkpoint.place) for each in unneeded)
    lives = [job.last_life_at for job in makers if job is not None]
    return UnneededPart(
        checkpoints=len(unneeded),
        lineages=len({id(each.lineage) for each in unneeded}),
        last_life_at=min((life for life in lives if life is not None), default=None),
    )


def _only_in(unneeded: Sequence[Checkpoint], needed: Iterable[Checkpoint]) -> NamedFiles:
    """Return the files that only some checkpoints name; what others name is not sorted."""
    return NamedFiles.of((each, 0) for each in unneeded).without(needed)
