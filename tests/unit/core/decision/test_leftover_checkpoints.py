"""Which checkpoint was left behind, and what it alone names."""

from dataclasses import replace

import pytest

from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.leftover_checkpoints import named_by_it_alone, oldest_left_behind
from orphangc.core.model.naming import artifact_name
from support.builders import JOB, OTHER_UUID, UUID, a_job, a_root, ago, an_ended_job, job_directory

THIRD_UUID = bytes(15) + bytes([7])
BEFORE = ago("72h")


def names(*uuids: bytes) -> FileNames:
    return FileNames([artifact_name(None, each) for each in uuids])


def test_the_oldest_of_several_is_left_behind_if_it_is_older_than_the_grace_period() -> None:
    """A job that retains three checkpoints of one hour each has left none behind."""
    old = a_root(5, age="365d")
    job = a_job(own_checkpoints=(old, a_root(43, age="1m")))
    assert oldest_left_behind(job, before=BEFORE) is old
    young = a_job(own_checkpoints=(a_root(42, age="3h"), a_root(43, age="1m")))
    assert oldest_left_behind(young, before=BEFORE) is None


@pytest.mark.parametrize(
    "job",
    [
        a_job(own_checkpoints=(a_root(43, age="365d"),)),
        a_job(own_checkpoints=()),
        an_ended_job(),
        a_job(own_checkpoints=(a_root(5, modified_at=None), a_root(43, age="1m"))),
    ],
    ids=["the only one", "none", "ended", "a time that nobody knows"],
)
def test_no_other_job_has_left_one_behind(job) -> None:
    """What is the only one, or unknown, or all that is left, was not left behind."""
    assert oldest_left_behind(job, before=BEFORE) is None


def test_what_no_other_checkpoint_names_is_its_own() -> None:
    """Other jobs' checkpoints count that name anything in the directory."""
    shared = job_directory().child("shared")
    old = replace(a_root(5), files={shared: names(UUID, OTHER_UUID, THIRD_UUID)})
    new = replace(a_root(43), files={shared: names(UUID)})
    claimer = replace(
        a_root(7), folder=job_directory("b" * 32).child("chk-7"), files={shared: names(OTHER_UUID)}
    )
    job = a_job(JOB, own_checkpoints=(old, new))
    assert named_by_it_alone(old, job, [old, new, claimer]) == UuidSet([THIRD_UUID])
    assert named_by_it_alone(old, job, [old]) == UuidSet([UUID, OTHER_UUID, THIRD_UUID])
