"""A job's state is self-sustained when nothing that it retains lies anywhere else."""

from dataclasses import replace

import pytest

from builders import (
    BASE,
    JOB,
    NAME,
    NAME_WITH_ID,
    OTHER_JOB,
    OTHER_UUID,
    THIRD_JOB,
    a_job,
    a_root,
    a_snapshot,
    job_directory,
    some_facts,
)
from orphangc.core.file_names import FileNames
from orphangc.core.foreign import Foreign, files_of, meant, strays_of, unaccounted
from orphangc.core.gate import RestoredFacts
from orphangc.core.guards import Guard
from orphangc.core.judge import Judgement, Refusal
from orphangc.core.model import ForeignKind
from orphangc.core.names import artifact_name
from orphangc.core.self_sustained import looks_of, stand_of
from orphangc.core.snapshot import EntryKind, RegistryEntry, RestoredCheckpoint

FREE = Judgement()
VOID = Judgement(Refusal(Guard.UNREADABLE_ROOT, "chk-43 cannot be read"))
OTHER_NAME = artifact_name(None, OTHER_UUID)
SAVEPOINT = BASE.child("savepoint-4ae4a2-1")
OWN = job_directory()


def names(*each):
    """Return base names."""
    return FileNames(each)


def holding(*folders):
    """Return a job whose older checkpoint names a file in each folder, and its newer one none."""
    older = a_root(42, files=dict.fromkeys(folders, names(NAME)))
    return a_job(own_roots=(older, a_root(43)), directories=(OWN,))


def a_foreign(*each, place=SAVEPOINT, kind=ForeignKind.SNAPSHOT, is_known=True):
    """Return a place that is known to consist of files of these names."""
    uuids, others = files_of(names(*each))
    return Foreign(kind=kind, place=place, uuids=uuids, names=others, is_known=is_known)


def looks(job, *foreigners, judgement=FREE, absent=None):
    """Return the looks at a job whose directories were listed."""
    return looks_of(stand_of(job, judgement, absent=absent or {}), foreigners)


def value(job, **more):
    """Return whether a job needs nothing of others."""
    return looks(job, **more)[0].value


def test_files_of_its_own_directory_make_it_self_sustained():
    assert value(holding(OWN.child("shared"), OWN.child("chk-42"))) is True


@pytest.mark.parametrize(
    "elsewhere",
    [
        SAVEPOINT,
        job_directory(OTHER_JOB).child("shared"),
        job_directory(JOB + "0").child("shared"),  # a name that begins like its own
    ],
    ids=str,
)
@pytest.mark.parametrize("judgement", [FREE, VOID], ids=["free", "void"])
def test_one_file_elsewhere_is_enough_to_need_it_whatever_stops_the_job(elsewhere, judgement):
    """What a checkpoint names it needs, though nobody may judge the job's own files."""
    (look,) = looks(holding(OWN.child("shared"), elsewhere), judgement=judgement)

    assert (look.value, look.references, look.sample) == (False, 1, (f"{elsewhere}/{NAME}",))
    assert [(each.checkpoint_id, each.references) for each in look.named_by] == [(42, 1)]


def test_what_the_other_directories_of_a_job_hold_is_its_own():
    """With entropy injection it has two."""
    other = BASE.child("_entropy_").child(JOB)
    root = a_root(files={OWN.child("shared"): names(NAME), other.child("shared"): names(NAME)})

    assert value(a_job(own_roots=(root,), directories=(OWN, other))) is True


@pytest.mark.parametrize(
    ("judgement", "why"), [(FREE, "no completed checkpoint"), (VOID, "no completed checkpoint")]
)
def test_without_a_checkpoint_it_cannot_be_known(judgement, why):
    (look,) = looks(a_job(own_roots=(), before=(), after=()), judgement=judgement)

    assert look.value is None
    assert why in look.why


def test_a_checkpoint_that_flink_tells_of_and_nobody_found_leaves_it_unknown():
    """An extra root is missing, or an alias: it may name anything."""
    facts = restored_at(5, SAVEPOINT)
    job = a_job(own_roots=(), before=facts, after=facts)

    assert value(job) is None
    assert "--extra-roots" in looks(job)[0].why


def test_of_a_refused_job_that_names_nothing_foreign_it_cannot_be_known():
    (look,) = looks(holding(OWN.child("shared")), judgement=VOID)

    assert (look.value, look.why) == (None, "chk-43 cannot be read")


# --- what it was restored from


def restored_at(checkpoint_id, place, *, completed=43):
    """Return REST's word that a job was restored from a checkpoint."""
    restored = RestoredFacts(id=checkpoint_id, external_path=str(place), is_savepoint=True)
    return (some_facts(restored=restored, latest_completed_id=completed),)


def restored(checkpoint_id, place=SAVEPOINT, *, completed=43, own_roots=None):
    """Return a job that REST says was restored, whose own checkpoints are 42 and 43."""
    facts = restored_at(checkpoint_id, place, completed=completed)
    job = replace(holding(OWN.child("shared")), before=facts, after=facts)
    return job if own_roots is None else replace(job, own_roots=own_roots)


@pytest.mark.parametrize(("at", "sustained"), [(42, True), (43, False), (44, False)])
def test_until_it_has_completed_a_checkpoint_it_needs_what_it_was_restored_from(at, sustained):
    """Older checkpoints of its own directory are no way back."""
    everything, place = looks(restored(at), a_foreign(OTHER_NAME))

    assert (everything.value, place.value) == (sustained, sustained)
    assert place.restored_from


def test_before_its_first_checkpoint_it_needs_what_it_was_restored_from():
    """As NO_CLAIM promises no sooner."""
    everything, place = looks(restored(4, completed=None, own_roots=()), a_foreign(NAME))

    assert (everything.value, place.value) == (False, False)


def test_ids_of_an_earlier_life_say_nothing():
    """A savepoint of checkpoint 5 was restored under an id whose directory holds 42 and 43."""
    assert value(restored(5, completed=None)) is False


def test_a_restore_from_its_own_checkpoint_needs_nothing_else():
    assert value(restored(43, OWN.child("chk-43"))) is True


# --- what a name means (R5)


@pytest.mark.parametrize(
    ("named", "theirs", "is_needed"),
    [
        (NAME, NAME, True),
        (NAME, NAME_WITH_ID, True),
        (NAME_WITH_ID, NAME, True),
        (f"merged-{NAME}", NAME, True),
        (NAME, f"merged-{NAME}", True),
        (NAME, OTHER_NAME, False),
    ],
)
def test_a_name_that_leads_nowhere_means_the_file_of_that_uuid(named, theirs, is_needed):
    """FLINK-39964: after CLAIM of a native savepoint its files stand as the checkpoint's own."""
    folder = OWN.child("chk-42")
    job = a_job(own_roots=(a_root(42, files={folder: names(named)}),), directories=(OWN,))
    everything, place = looks(job, a_foreign(theirs), absent={folder: {named}})

    assert place.value is (False if is_needed else None)
    assert everything.value is place.value
    assert place.references == is_needed


def test_a_file_that_lies_where_it_is_named_is_the_jobs_own():
    """Flink keeps the names of files that it copies within a storage (NO_CLAIM)."""
    everything, place = looks(holding(OWN.child("shared")), a_foreign(NAME))

    assert (everything.value, place.value) == (True, True)


def test_where_nobody_has_looked_a_name_may_mean_any_file():
    """The directory lies below an extra root: it was not listed."""
    stand = stand_of(holding(OWN.child("shared")), FREE, absent=None)

    assert looks_of(stand, [a_foreign(NAME)])[1].value is False


@pytest.mark.parametrize(("folder", "sustained"), [("chk-42", None), ("shared", True)])
def test_what_its_own_folder_lacks_may_lie_in_a_snapshot_that_nobody_read(folder, sustained):
    """Only the names in chk-n are told wrongly; in shared/ a file is lost, and was its own."""
    folder = OWN.child(folder)

    assert value(holding(folder), absent={folder: {NAME}}) is sustained


def test_a_name_without_a_uuid_means_the_file_of_that_name():
    """Older layouts, and the metadata of other tools."""
    folder = OWN.child("chk-42")
    root = a_root(42, files={folder: names("part-0", "part-1")})
    job = a_job(own_roots=(root,), directories=(OWN,))
    look = looks(job, a_foreign("part-0"), absent={folder: {"part-0"}})[1]

    assert (look.value, look.references) == (False, 1)


def test_of_a_snapshot_without_metadata_any_foreign_file_may_be():
    """It may have named files of a third job (A <- B <- C)."""
    job = holding(job_directory(THIRD_JOB).child("shared"))
    gone = a_foreign(place=job_directory(OTHER_JOB).child("chk-6"), is_known=False)
    other = a_foreign(OTHER_NAME, place=BASE.child("savepoint-x"))

    assert [look.value for look in looks(job, gone, other)] == [False, False, True]


def test_a_snapshots_files_are_needed_wherever_they_lie():
    """The checkpoint of B that C was restored from names a file of A."""
    job = holding(job_directory(THIRD_JOB).child("shared"))
    chain = a_foreign(NAME, OTHER_NAME, place=job_directory(OTHER_JOB).child("chk-6"))

    assert looks(job, chain)[1].value is False


def test_one_file_that_several_checkpoints_name_is_one():
    """The newest checkpoint comes first."""
    folder = SAVEPOINT
    roots = tuple(a_root(number, files={folder: names(NAME, OTHER_NAME)}) for number in (7, 8))
    look = looks(a_job(own_roots=roots), a_foreign(NAME))[1]

    assert look.references == 2
    assert [(each.checkpoint_id, each.references) for each in look.named_by] == [(8, 2), (7, 2)]


def test_a_file_that_several_checkpoints_misplace_is_one():
    """FLINK-39964: each says that it lies in its own folder."""
    folders = [OWN.child(f"chk-{number}") for number in (7, 8, 9)]
    roots = tuple(
        a_root(number, files={folder: names(NAME)}) for number, folder in enumerate(folders, 7)
    )
    absent = {folder: {NAME} for folder in folders}
    look = looks(a_job(own_roots=roots), a_foreign(NAME), absent=absent)[1]

    assert (look.references, len(look.named_by)) == (1, 3)


def test_unaccounted_are_the_names_that_no_known_place_answers():
    """One of two is found."""
    folder = OWN.child("chk-42")
    root = a_root(42, files={folder: names(NAME, OTHER_NAME)})
    stand = stand_of(
        a_job(own_roots=(root,)), FREE, absent={folder: {NAME, OTHER_NAME, "not named"}}
    )

    assert [set(each.names) for each in stand.strays] == [{NAME, OTHER_NAME}]
    assert [set(each.names) for each in unaccounted(stand.strays, [a_foreign(NAME)])] == [
        {OTHER_NAME}
    ]
    assert meant(a_foreign(), stand.strays) == []
    assert strays_of([], (OWN,), None) == ()


# --- registry mode


@pytest.mark.parametrize(
    ("path", "sustained"),
    [
        (f"shared/{NAME}", True),
        (f"{OWN}/shared/{NAME}", True),
        (f"{SAVEPOINT}/x", False),
    ],
)
def test_what_its_registry_holds_elsewhere_it_needs(path, sustained):
    """A pending checkpoint may name it, though no retained one does."""
    entry = RegistryEntry(path, EntryKind.FILE, 1, 42, 43)
    snapshot = replace(a_snapshot(), entries=(entry,), restored=(), checkpoint_dir=str(OWN))
    job = replace(holding(OWN.child("shared")), snapshots=(snapshot,))

    assert value(job) is sustained


@pytest.mark.parametrize(("at", "sustained"), [(42, True), (43, False)])
def test_what_its_registry_says_that_it_was_restored_from_it_needs_until_then(at, sustained):
    """No REST API was asked; its newest own checkpoint is 43."""
    source = RestoredCheckpoint(id=at, path=str(SAVEPOINT), mode="NO_CLAIM")
    snapshot = replace(a_snapshot(), restored=(source,), retained=(), checkpoint_dir=str(OWN))
    job = replace(holding(OWN.child("shared")), snapshots=(snapshot,), before=(), after=())

    assert [look.value for look in looks(job, a_foreign(OTHER_NAME))] == [sustained, sustained]
