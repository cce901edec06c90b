"""May a job use files that none of its checkpoints names (R2, R38)?"""

from collections.abc import Iterable

from orphangc.core.cluster.job_facts import JobFacts, unnamed_layout_problem
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.model.naming import place_of_folder
from orphangc.core.model.types import Scope


def unnamed_files_problem(
    checkpoints: Iterable[Checkpoint], facts: Iterable[JobFacts] = ()
) -> str | None:
    """Return why a job may use files that no checkpoint of its names, ``None`` if it does not."""
    for each in facts:
        if (problem := unnamed_layout_problem(each)) is not None:
            return f"{problem}: it may use files unnamed"
    for checkpoint in checkpoints:
        at, layout = checkpoint.folder, checkpoint.unproven_layout
        if layout is not None:
            return f"{at} holds {layout}: the job may use files unnamed"
        places = (place_of_folder(folder.path.lstrip("/")) for folder in checkpoint.files)
        if any(place.scope is Scope.SHARED and place.inner for place in places):
            return f"{at} names files below shared/: the job may use others unnamed"
    return None
