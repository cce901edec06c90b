"""Where entropy injection spreads a job's files, told from the paths that its checkpoints name."""

from dataclasses import replace

import pytest

from flinkstate.places.locations import canonical
from orphangc.core.columns.file_names import FileNames
from orphangc.core.decision.entropy_injection import entropy_of, random_part
from orphangc.core.decision.judge import judge
from orphangc.core.model.codes import Guard
from orphangc.core.model.naming import artifact_name
from support.builders import BASE, JOB, OTHER_JOB, a_cycle, a_job, a_root, a_survey, job_directory


def spread(*parts: str, job: str = JOB):
    """Return a job whose checkpoint names a file below each random folder."""
    folders = [canonical(f"s3://bucket/{part}/checkpoints/{job}/shared") for part in parts]
    names = FileNames([artifact_name(None, bytes(16))])
    root = replace(a_root(43), files=dict.fromkeys(folders, names))
    listed = {folder.parent for folder in folders}
    return a_job(own_checkpoints=(root,), survey=a_survey(shared_directories=listed))


@pytest.mark.parametrize(
    ("other", "part"),
    [
        (f"s3://bucket/ab12/checkpoints/{JOB}", "ab12"),
        (f"s3://bucket/checkpoints/ab12/{JOB}", "ab12"),
        (f"s3://bucket/checkpointsab12/{JOB}", "ab12"),
        (f"s3://bucket/checkpoints/{JOB}", None),
        (f"s3://bucket/a/b/checkpoints/{JOB}", None),
        (f"s3://bucket/a_b/checkpoints/{JOB}", None),
        (f"s3://other/ab12/checkpoints/{JOB}", None),
        (f"s3://bucket/ab12/savepoints/{JOB}", None),
        (f"s3://bucket/ab12/checkpoints/{OTHER_JOB}", None),
    ],
)
def test_a_random_part_is_what_one_path_has_more(other, part) -> None:
    """As ``EntropyInjector`` puts it in, and takes it out for ``_metadata``."""
    assert random_part(job_directory(), canonical(other)) == part


def test_two_random_parts_of_one_length_are_entropy() -> None:
    """And the words name them."""
    entropy = entropy_of(spread("ab12", "zz91", "0k3d", "pqrs"))
    assert entropy is not None
    assert entropy.directory == job_directory()
    assert "(0k3d, ab12, pqrs, ...)" in entropy.words


@pytest.mark.parametrize("job", [spread("prod"), spread("prod", "stage"), a_job()])
def test_a_base_that_a_job_was_moved_from_is_none(job) -> None:
    """A single one, or several of different length, are no random characters."""
    assert entropy_of(job) is None


def test_it_is_refused_before_any_orphan_exists() -> None:
    """Issue 13, U6: and the words say what to do."""
    refused = judge(spread("ab12", "zz91"), a_cycle()).refused
    assert refused is not None
    assert refused.guard is Guard.TWO_OWNERS
    assert "remove s3.entropy.key" in refused.message
    assert refused.message.endswith(f"give {BASE} as storage root, with --extra-root s3://bucket/")


def test_where_the_random_folders_are_not_listed_the_job_is_judged() -> None:
    """What is listed is flat; the plan warns of the rest."""
    job = replace(spread("ab12", "zz91"), survey=a_survey())
    assert judge(job, a_cycle()).refused is None
