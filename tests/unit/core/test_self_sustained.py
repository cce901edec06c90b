"""A job's state is self-sustained when nothing it retains lies anywhere else."""

from dataclasses import replace

import pytest

from builders import (
    BASE,
    JOB,
    NAME,
    OTHER_JOB,
    a_job,
    a_root,
    a_snapshot,
    job_directory,
    some_facts,
)
from orphangc.core.file_names import FileNames
from orphangc.core.gate import RestoredFacts
from orphangc.core.guards import Guard
from orphangc.core.judge import Judgement, Refusal
from orphangc.core.self_sustained import is_state_self_sustained
from orphangc.core.snapshot import EntryKind, RegistryEntry

FREE = Judgement()
NAMES = FileNames.from_names([NAME])


def holding(*folders):
    """Return a job whose older checkpoint refers to these folders, and its newer one only home."""
    older = a_root(42, files=dict.fromkeys(folders, NAMES))
    return a_job(own_roots=(older, a_root(43)), directories=(job_directory(),))


def test_files_of_its_own_directory_make_it_self_sustained():
    job = holding(job_directory().child("shared"), job_directory().child("chk-42"))

    assert is_state_self_sustained(job, FREE) is True


@pytest.mark.parametrize(
    "elsewhere",
    [
        BASE.child("savepoint-4ae4a2-1"),
        job_directory(OTHER_JOB).child("shared"),
        job_directory(JOB + "0").child("shared"),  # a name that begins like its own
    ],
    ids=str,
)
def test_one_file_elsewhere_is_enough_to_need_the_snapshot(elsewhere):
    job = holding(job_directory().child("shared"), elsewhere)

    assert is_state_self_sustained(job, FREE) is False


def test_a_job_that_feeds_on_another_directory_by_uuid_needs_it():
    job = a_job(own_roots=(a_root(),), directories=(job_directory(),), feeds=frozenset({OTHER_JOB}))

    assert is_state_self_sustained(job, FREE) is False


def test_both_directories_of_a_job_with_entropy_are_its_own():
    other = BASE.child("_entropy_").child(JOB)
    root = a_root(files={job_directory().child("shared"): NAMES, other.child("shared"): NAMES})
    job = a_job(own_roots=(root,), directories=(job_directory(), other))

    assert is_state_self_sustained(job, FREE) is True


def test_without_a_checkpoint_it_cannot_be_known():
    assert is_state_self_sustained(a_job(own_roots=()), FREE) is None


def test_of_a_refused_job_it_cannot_be_known():
    refused = Judgement(Refusal(Guard.UNREADABLE_ROOT, "chk-43 cannot be read"))

    assert is_state_self_sustained(a_job(own_roots=(a_root(),)), refused) is None


def restored_at(checkpoint_id, place):
    """Return REST's word that a job was restored from a checkpoint."""
    restored = RestoredFacts(id=checkpoint_id, external_path=str(place), is_savepoint=True)
    return (some_facts(restored=restored),)


SAVEPOINT = BASE.child("savepoint-4ae4a2-1")


@pytest.mark.parametrize(("restored", "sustained"), [(42, True), (43, False), (44, False)])
def test_until_it_has_completed_a_checkpoint_it_needs_what_it_was_restored_from(
    restored, sustained
):
    """Older checkpoints of its own directory are no way back."""
    facts = restored_at(restored, SAVEPOINT)
    job = replace(holding(job_directory().child("shared")), before=facts, after=facts)

    assert is_state_self_sustained(job, FREE) is sustained


def test_a_restore_from_its_own_checkpoint_needs_nothing_else():
    facts = restored_at(43, job_directory().child("chk-43"))
    job = replace(holding(job_directory().child("shared")), before=facts, after=facts)

    assert is_state_self_sustained(job, FREE) is True


@pytest.mark.parametrize(
    ("path", "sustained"),
    [
        (f"shared/{NAME}", True),
        (f"{job_directory()}/shared/{NAME}", True),
        (f"{SAVEPOINT}/x", False),
    ],
)
def test_what_its_registry_holds_elsewhere_it_needs(path, sustained):
    """A pending checkpoint may name it, though no retained one does."""
    entry = RegistryEntry(path, EntryKind.FILE, 1, 42, 43)
    snapshot = replace(
        a_snapshot(), entries=(entry,), restored=(), checkpoint_dir=str(job_directory())
    )
    job = replace(holding(job_directory().child("shared")), snapshots=(snapshot,))

    assert is_state_self_sustained(job, FREE) is sustained
