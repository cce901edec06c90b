"""Paths outside every searched place."""

from flinkstate.places.locations import canonical
from orphangc.core.columns.file_names import FileNames
from orphangc.core.world.known_world import (
    OutsidePath,
    home_of,
    outside_only,
    outside_paths,
    paths_of,
)
from support.builders import JOB, OTHER_JOB

NAMES = FileNames(["a"])
ROOT = canonical("s3://bucket/ck")


def test_only_folders_in_no_searched_place_are_outside() -> None:
    """A neighbour with the same beginning is none of ours."""
    files = {
        canonical(f"s3://bucket/ck/{JOB}/shared"): NAMES,
        canonical(f"s3://bucket/ck2/{JOB}/shared"): NAMES,
        canonical(f"s3://other/ck/{JOB}/shared"): NAMES,
    }
    found = outside_only(files, (place for place in [ROOT]))
    assert set(map(str, found)) == {f"s3://bucket/ck2/{JOB}/shared", f"s3://other/ck/{JOB}/shared"}


def test_a_folder_belongs_to_the_job_directory_around_it() -> None:
    """By its path; a savepoint stands for itself."""
    directory = canonical(f"s3://other/ck/{JOB}")
    for inner in ("shared", "chk-7", "taskowned"):
        assert home_of(directory.child(inner)) == directory
    savepoint = canonical("s3://other/sp/savepoint-abcdef-0123456789ab")
    assert home_of(savepoint) == savepoint


def test_a_place_is_shown_once_with_all_that_names_it() -> None:
    """And every job that it concerns."""
    place, other = canonical("s3://o/b"), canonical("s3://o/a")
    paths = outside_paths(
        [
            (place, "chk-2", frozenset({JOB})),
            (place, "chk-1", frozenset({OTHER_JOB})),
            (other, "http://jm", frozenset()),
        ]
    )
    assert paths == (
        OutsidePath(uri="s3://o/a", named_by=("http://jm",)),
        OutsidePath(
            uri="s3://o/b", named_by=("chk-1", "chk-2"), jobs=tuple(sorted((JOB, OTHER_JOB)))
        ),
    )
    assert paths_of(JOB, paths) == (paths[1],)
    assert paths_of("c" * 32, paths) == ()
