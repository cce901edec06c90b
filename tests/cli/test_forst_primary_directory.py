"""Working files of ForSt outside the checkpoint directory (``state.backend.forst.primary-dir``)."""

import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.helpers import AT_ONCE, DAY, ENDED, Bed, Job, Planned, run, write

RANDOM_ID = "4ae4a2986a0e1a49b0f165b58085d4b3"
WORKING = "op_AsyncKeyedProcess_0a448493b4782967b150582570326227__1_4__attempt_0/db"


@dataclass(frozen=True)
class Primary:
    """An ended job, its checkpoint, and two working files that nothing names."""

    bed: Bed
    job: Job
    files: list[Path]

    def actions(self, plan: Planned) -> set[str]:
        assert plan.ran.code == 0, plan.ran.err
        return {plan.verdict(path)[0] for path in self.files}


def primary_of(folder: Path, job_id: str, *options: object) -> Primary:
    """Write a job whose checkpoints and working files lie beside each other."""
    bed = Bed(folder, (*AT_ONCE, *options))
    job = Job(job_id, bed.root / "state" / job_id)
    job.checkpoint(7, *(job.shared() for _ in range(4)))
    working = bed.root / "forst" / job_id / WORKING
    files = [write(working / str(uuid.uuid4()), b"sst", 30 * DAY) for _ in range(2)]
    return Primary(bed, job, files)


@pytest.fixture
def primary(tmp_path) -> Primary:
    """A job of a random id, like all others said to be over."""
    return primary_of(tmp_path, RANDOM_ID, *ENDED)


def test_working_files_of_an_ended_job_go_with_their_folders(primary: Primary) -> None:
    """R35, R53: a snapshot copies from there, so no checkpoint names one; what one names stays."""
    folder = primary.files[0].parents[1]
    named = write(folder.with_name(f"{folder.name}0") / "db" / str(uuid.uuid4()), b"s", 30 * DAY)
    primary.job.checkpoint(8, named)
    for _ in range(2):
        plan, _ = primary.bed.cycle()
    assert {plan.verdict(path) for path in primary.files} == {("delete", "quarantine_over")}
    assert plan.verdict(named) == ("keep", "referenced")
    assert plan.rows[str(named.relative_to(primary.bed.root))]["scope"] == "forst"
    assert named.exists()
    assert not folder.exists()


def test_a_primary_directory_may_be_the_storage_root(primary: Primary) -> None:
    """Its checkpoints are in an extra root, or there are none at all any more."""
    primary.bed.root = primary.bed.root / "forst"
    state = primary.job.folder.parent
    assert primary.actions(primary.bed.plan("--extra-roots", state)) == {"tombstone"}
    assert primary.actions(primary.bed.plan()) == {"tombstone"}


def test_without_an_end_they_are_only_reported(tmp_path) -> None:
    """R49: a running database reads files that nothing names."""
    primary = primary_of(tmp_path, RANDOM_ID, "--closed-world")
    plan = primary.bed.plan()
    assert {plan.verdict(path) for path in primary.files} == {("keep", "report_only")}


def test_a_primary_directory_that_is_written_to_belongs_to_a_job_that_has_not_ended(
    primary: Primary,
) -> None:
    """R13: its checkpoints may have been still for long."""
    write(primary.files[0].with_name(str(uuid.uuid4())), b"sst", DAY)
    assert "not_quiet" in primary.bed.plan().blocks(primary.job)


@pytest.mark.parametrize("job_id", ["0" * 32, "0123456789abcdef" + "0" * 16])
def test_an_id_that_comes_back_does_not_show_whose_files_they_are(tmp_path, job_id) -> None:
    """R34: the checkpoints of another job of the id may lie beside them."""
    primary = primary_of(tmp_path, job_id, "--closed-world", "--ended-job", job_id)
    plan = primary.bed.plan()
    assert primary.actions(plan) == {"keep"}
    key = primary.files[0].relative_to(primary.bed.root)
    ran = run("explain", key, "--plan", plan.path)
    (area,) = ran.json["job"]["areas"]
    assert "remove it by hand" in area["kept_because"]
