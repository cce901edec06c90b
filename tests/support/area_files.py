"""A file of each area, as Flink names it: what every list of areas is held against."""

from __future__ import annotations

from orphangc.core.model.naming import artifact_name
from orphangc.core.model.types import AreaName
from support.builders import JOB, UUID

NAME = artifact_name(None, UUID)
VERTEX = "d" * 32
FILES = {
    AreaName.SHARED: (f"{JOB}/shared/{NAME}", f"{JOB}/shared/41_{NAME}"),
    AreaName.EXCLUSIVE: (f"{JOB}/chk-42/{NAME}", f"{JOB}/chk-42/._metadata.inprogress.{NAME}"),
    AreaName.SAVEPOINT: (f"savepoint-4ae4a2-0123456789ab/{NAME}",),
    AreaName.TASKOWNED: (f"{JOB}/taskowned/{NAME}",),
    AreaName.CHANGELOG: (f"{JOB}/dstl/{NAME}", f"logs/{JOB}/dstl/{NAME}"),
    AreaName.MERGED: (
        f"{JOB}/shared/job_{JOB}_op_{VERTEX}_0_4/{NAME}",
        f"{JOB}/taskowned/job_{JOB}_tm_10.0.0.1-34567/{NAME}",
    ),
    AreaName.FORST: (
        f"{JOB}/shared/op_Keyed_{VERTEX}__1_4__attempt_0/db/{NAME}",
        f"{JOB}/op_Keyed_{VERTEX}__1_4__attempt_0/db/{NAME}",
        f"primary/{JOB}/op_Keyed_{VERTEX}__1_4__attempt_0/db/{NAME}",
    ),
}


def files_of_a_job() -> list[str]:
    """Return a path in a job directory for each folder that any area has there."""
    found = (key.partition(f"{JOB}/") for keys in FILES.values() for key in keys)
    return [inside for above, _, inside in found if inside and not above]
