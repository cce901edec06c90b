"""Checkpoints that lack files are shown, with what may bring the files back (R51)."""

from dataclasses import replace

from flinkstate.places.locations import canonical
from orphangc.collect.decide.assemble_plan import lost_checkpoints
from orphangc.core.columns.file_names import FileNames
from orphangc.core.model.types import DirectoryLayout
from support.builders import JOB, NAME, a_job, a_root

BASE = canonical("s3://bucket/ckpt")
FOLDER = BASE.child(f"{JOB}/shared")


def a_checkpoint_of(*names: str, number: int = 43, layouts: frozenset = frozenset()):
    """Return a checkpoint that names some files."""
    files = {FOLDER: FileNames(names)}
    return replace(a_root(number), files=files, layouts=layouts)


def warned(*checkpoints, absent) -> list[str]:
    """Return the warnings of a job with these checkpoints."""
    return list(lost_checkpoints(a_job(own_checkpoints=checkpoints), absent, BASE))


def test_each_checkpoint_that_lacks_a_file_is_named_with_the_command() -> None:
    """Noncurrent versions expire, so the command stands in the plan."""
    whole, broken = a_checkpoint_of("other", number=42), a_checkpoint_of(NAME, "other")
    (warning,) = warned(whole, broken, absent=[f"{JOB}/shared/{NAME}"])
    assert str(broken.folder) in warning
    assert "1 of its 2 files are gone" in warning
    assert f"list-object-versions --bucket bucket --prefix ckpt/{JOB}/shared/{NAME}" in warning
    assert "claims" not in warning


def test_what_flink_does_to_merged_files_of_a_claimed_directory_is_said() -> None:
    """Fact 10: the other retained checkpoints of the claimed job."""
    merged = a_checkpoint_of(NAME, layouts=frozenset({DirectoryLayout.MERGED}))
    (warning,) = warned(merged, absent=[f"{JOB}/shared/{NAME}"])
    assert "deletes their whole directories" in warning


def test_a_name_cannot_leave_its_word_in_the_command() -> None:
    """It is copied into a shell."""
    (warning,) = warned(a_checkpoint_of("a b;c"), absent=[f"{JOB}/shared/a b;c"])
    assert f"'ckpt/{JOB}/shared/a b;c'" in warning


def test_nothing_is_said_of_whole_checkpoints_and_little_of_many() -> None:
    assert warned(a_checkpoint_of(NAME), absent=[]) == []
    many = [a_checkpoint_of(NAME, number=number) for number in range(30)]
    assert len(warned(*many, absent=[f"{JOB}/shared/{NAME}"])) == 20
