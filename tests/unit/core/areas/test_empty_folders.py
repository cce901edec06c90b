"""Which folders may go once they are empty, against its law in gc/RULES.md (R53)."""

import pytest

from orphangc.core.areas.area import AreaFacts
from orphangc.core.areas.table import area_of_folder, folder_objection
from orphangc.core.model.naming import place_of_folder
from orphangc.core.model.types import AreaName, JobState
from support.builders import JOB

VERTEX = "d" * 32
FOLDERS = {
    "shared": AreaName.SHARED,
    "chk-42": AreaName.EXCLUSIVE,
    "taskowned": AreaName.TASKOWNED,
    "dstl": AreaName.CHANGELOG,
    f"shared/job_{JOB}_op_{VERTEX}_0_4": AreaName.MERGED,
    f"taskowned/job_{JOB}_tm_10.0.0.1-34567": AreaName.MERGED,
    "shared/op_x": AreaName.FORST,
    "shared/op_x/db": AreaName.FORST,
}
NO_FOLDERS = (
    *("", "mine", "chk-42/inner", "chk-042", "shared/strange", "shared/op_x/other"),
    *("shared/op_x/db/inner", f"shared/job_{JOB}_op_{VERTEX}_0_4/inner", "dstl/inner"),
)
RUNNING = {"state": JobState.RUNNING, "completed_id": 42}


def objection(folder: str, **facts) -> str | None:
    given = AreaFacts(**{"state": JobState.ENDED, "is_end_proven": True, **facts})
    return folder_objection(given, place_of_folder(f"{JOB}/{folder}"))


@pytest.mark.parametrize(("folder", "area"), FOLDERS.items())
def test_each_folder_of_flinks_belongs_to_an_area(folder: str, area: AreaName) -> None:
    """That of its files, also where they are one level deeper."""
    assert area_of_folder(place_of_folder(f"{JOB}/{folder}")) is area
    assert objection(folder) is None


@pytest.mark.parametrize("folder", NO_FOLDERS)
def test_a_folder_that_flink_does_not_make_belongs_to_none(folder: str) -> None:
    """The job directory among them."""
    assert area_of_folder(place_of_folder(f"{JOB}/{folder}".rstrip("/"))) is None


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("state", JobState)
def test_a_job_that_may_run_keeps_all_but_checkpoints_that_are_over(folder, state) -> None:
    """And an end that is not proven is none."""
    assert objection(folder, state=state, is_end_proven=False) is not None
    is_over = folder == "chk-42" and state is JobState.RUNNING
    kept = objection(folder, state=state, completed_id=43, is_end_proven=False)
    assert (kept is None) == is_over


def test_only_a_checkpoint_below_the_completed_one_is_over() -> None:
    """R31."""
    goes = [number for number in range(40, 45) if objection(f"chk-{number}", **RUNNING) is None]
    assert goes == [40, 41]


def test_a_folder_inside_that_of_a_checkpoint_is_none_of_it() -> None:
    """Flink makes none there."""
    assert objection("chk-41/inner", **RUNNING) is not None
