"""What a verification of files says."""

from flinkstate.commands.verify import FileProblem, VerifiedFiles


def test_the_first_of_many_files_are_named_and_the_rest_counted() -> None:
    """A copied checkpoint may lack a million; the document has them all."""
    gone = [FileProblem(path=f"s3://b/{n}", problem="is missing") for n in range(1_012)]
    found = VerifiedFiles(files=2_000, damaged=tuple(gone), unseen=tuple(gone[:3]))
    lines = found.lines()
    assert len(lines) == 10 + 1 + 3
    assert lines[10] == "1,002 more such files: --output json names all"
    assert len(found.document["damaged"]) == 1_012
