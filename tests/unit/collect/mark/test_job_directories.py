"""Which job each directory belongs to."""

import pytest

from flinkstate.places.locations import Location, canonical
from orphangc.collect.mark.job_directories import JobDirectories, job_directories
from orphangc.core.columns.file_names import FileNames
from support.builders import JOB, OTHER_JOB, a_root

A, B, C = (canonical(f"s3://{name}/{JOB}") for name in "abc")
OTHER = canonical(f"s3://a/{OTHER_JOB}")


def known(
    holding: set[Location], *, checkpoints=(), configured=frozenset(), **owners
) -> JobDirectories:
    """Return the jobs of three directories of one id, and one of another."""
    ids = {A: JOB, B: JOB, C: JOB, OTHER: OTHER_JOB, **owners.get("more", {})}
    return job_directories(ids, holding=holding, configured=configured, checkpoints=checkpoints)


def test_directories_of_one_id_are_one_job_if_one_of_them_holds_checkpoints() -> None:
    """The others hold prefixes of entropy, or a changelog, which its checkpoints name."""
    names = FileNames(["x"])
    named = a_root(42, directory=B, files={each.child("shared"): names for each in (A, C)})
    found = known({B, OTHER}, checkpoints=(named,))
    assert set(found.keys.values()) == {JOB, OTHER_JOB}
    assert found.of_id(JOB) == {JOB: (A, B, C)}
    assert (found.with_checkpoints, found.unclaimed) == ({JOB, OTHER_JOB}, frozenset())


def test_a_directory_of_one_id_that_no_checkpoint_names_may_be_another_jobs() -> None:
    """R9: the first checkpoint of a job with the same fixed id may be pending there."""
    found = known({A})
    assert found.of_id(JOB) == {str(A): (A,), str(B): (B,), str(C): (C,)}
    assert found.unclaimed == {str(B), str(C)}


@pytest.mark.parametrize(("part", "is_one"), [("wxyz", True), ("staging", False)])
def test_a_folder_of_entropy_belongs_to_its_job_though_no_checkpoint_names_it(part, is_one) -> None:
    """What an aborted checkpoint left lies in random folders of its own (U6).

    Where another folder may be of another job of the id, so may each of them.
    """
    base = canonical("s3://e/base")
    own, other = base.child(JOB), base.child(part).child(JOB)
    random = [base.child(each).child(JOB) for each in ("a1b2", "c3d4")]
    names = FileNames(["x"])
    root = a_root(42, directory=own, files={each.child("shared"): names for each in random})
    ids = dict.fromkeys((own, other, *random), JOB)
    found = job_directories(ids, holding={own}, configured=(), checkpoints=(root,))
    assert (found.keys[other] == found.keys[own]) is is_one
    assert ({found.keys[each] for each in random} == {found.keys[own]}) is is_one


def test_directories_of_one_id_that_hold_checkpoints_are_jobs_of_their_own() -> None:
    """A directory without checkpoints belongs to no job in particular."""
    found = known({A, B})
    assert found.of_id(JOB) == {str(A): (A,), str(B): (B,), str(C): (C,)}
    assert found.unclaimed == {str(C)}
    assert found.with_checkpoints == {str(A), str(B)}


@pytest.mark.parametrize("holding", [{A}, {A, B}], ids=["not yet", "whole"])
def test_a_directory_that_one_job_names_files_in_may_be_another_ones_of_the_id(holding) -> None:
    """Both keep their change logs below one folder; the other one's files wait there unnamed."""
    names = FileNames(["x"])
    of_a = a_root(42, directory=A, files={C.child("shared"): names})
    found = known(holding, checkpoints=(of_a,))
    assert found.of_id(JOB) == {str(A): (A,), str(B): (B,), str(C): (C,)}
    assert str(C) in found.unclaimed


@pytest.mark.parametrize("elsewhere", [{JOB}, {OTHER_JOB}])
def test_what_checkpoints_name_is_the_jobs_unless_a_cluster_runs_the_id_elsewhere(
    elsewhere,
) -> None:
    """No directory of that one is seen, for its first checkpoint is pending."""
    of_a = a_root(42, directory=A, files={C.child("shared"): FileNames(["x"])})
    found = job_directories(
        {A: JOB, C: JOB}, holding={A}, configured=(), checkpoints=(of_a,), elsewhere=elsewhere
    )
    assert (found.keys[A] == found.keys[C]) is (JOB not in elsewhere)


def test_where_a_cluster_is_configured_to_write_is_a_job_of_its_own() -> None:
    """Its first checkpoint may be pending."""
    found = known({A}, configured=frozenset({B}))
    assert found.keys[A] != found.keys[B]
    assert found.unclaimed == {str(C)}


def test_directories_of_unknown_owners_are_never_one() -> None:
    """R3: their owner is unknown."""
    places = [canonical("s3://a/x"), canonical("s3://a/y")]
    found = known(set(), more=dict.fromkeys(places, ""))
    assert [found.keys[place] for place in places] == ["s3://a/x", "s3://a/y"]
    assert {found.job_ids[str(place)] for place in places} == {""}


@pytest.mark.parametrize(("job_id", "is_one"), [(JOB, True), ("0" * 32, False)])
def test_a_primary_directory_of_forst_is_the_jobs_unless_its_id_comes_back(job_id, is_one) -> None:
    """R35: no checkpoint names a file of it, so the id alone shows whose it is."""
    own, primary = (canonical(f"s3://{name}/{job_id}") for name in ("state", "forst"))
    found = job_directories(
        {own: job_id, primary: job_id},
        holding={own},
        configured=(),
        checkpoints=(),
        working={primary},
    )
    assert (found.keys[primary] == found.keys[own]) is is_one
