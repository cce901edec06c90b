"""Whose a place is: told by the scans of roots first, then by the folder's name, then by itself."""

import pytest

from flinkstate.places.locations import canonical
from orphangc.core.model.naming import FilePlace, Owners, job_directory_of
from orphangc.core.model.types import JobId, Scope
from support.builders import BASE, JOB, OTHER_JOB

OWNERS = Owners(BASE, {BASE.child("team/mine"): OTHER_JOB, BASE.child(JOB): OTHER_JOB})


def a_place(directory: str | None, job_id: str) -> FilePlace:
    return FilePlace(directory, JobId(job_id), Scope.SHARED)


@pytest.mark.parametrize(
    ("directory", "job_id", "key"),
    [
        (JOB, JOB, OTHER_JOB),
        ("team/mine", "", OTHER_JOB),
        (f"team/{JOB}", JOB, JOB),
        ("team/theirs", "", "s3://bucket/checkpoints/team/theirs"),
        ("", "", "s3://bucket/checkpoints"),
        (None, "", None),
    ],
)
def test_a_place_belongs_to_the_job_that_the_roots_show_or_to_its_directory(
    directory: str | None, job_id: str, key: str | None
) -> None:
    """Asked twice, for millions of objects lie in few places."""
    place = a_place(directory, job_id)
    assert [OWNERS.job_key(place), OWNERS.job_key(place)] == [key, key]


def test_a_job_that_is_known_by_no_root_and_one_without_an_id_are_two() -> None:
    """One directory may be looked at as either."""
    owners = Owners(BASE, {})
    keys = [owners.job_key(a_place("d", job_id)) for job_id in (JOB, "", OTHER_JOB)]
    assert keys == [JOB, "s3://bucket/checkpoints/d", OTHER_JOB]


@pytest.mark.parametrize(
    ("folder", "directory"),
    [
        (f"s3://bucket/a/{JOB}/shared", f"s3://bucket/a/{JOB}"),
        (f"s3://bucket/X/{JOB}/chk-7", f"s3://bucket/X/{JOB}"),
        (f"s3://bucket/{JOB}", f"s3://bucket/{JOB}"),
        (f"/{JOB}/taskowned/x", f"/{JOB}"),
        ("s3://bucket/a/mine/shared", None),
        ("s3://bucket/savepoints/savepoint-1", None),
        ("s3://bucket", None),
    ],
)
def test_a_folder_tells_its_job_directory_only_if_a_job_id_names_one(
    folder: str, directory: str | None
) -> None:
    """Whatever the folders above are called."""
    expected = None if directory is None else canonical(directory)
    assert job_directory_of(canonical(folder)) == expected
