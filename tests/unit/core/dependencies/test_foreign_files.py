"""Names that lead out of a job's directory: which files they mean, how many, and who names them."""

from flinkstate.places.locations import Location
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.dependencies.foreign_files import (
    Foreign,
    Namer,
    UnownedReference,
    meant,
    standing_of,
    unaccounted,
)
from orphangc.core.model.naming import artifact_name
from orphangc.core.model.types import ForeignKind
from support.builders import BASE, JOB, NAME, OTHER_JOB, OTHER_UUID, UUID, job_directory

SAVEPOINT = BASE.child("savepoint-4ae4a2-1")
OTHER_SAVEPOINT = BASE.child("savepoint-4ae4a2-2")
OWN_CHK = job_directory(JOB).child("chk-42")
OTHER_NAME = artifact_name(None, OTHER_UUID)


def a_namer(checkpoint_id: int | None, uri: str | None = None) -> Namer:
    said = uri or f"{job_directory()}/chk-{checkpoint_id}"
    return Namer(uri=said, checkpoint_id=checkpoint_id, files={})


def a_stray(
    *names: str, folder: Location = SAVEPOINT, namer: Namer | None = None, is_own: bool = False
) -> UnownedReference:
    """Return names of one folder by one namer."""
    return UnownedReference(
        namer=namer or a_namer(42), folder=folder, names=FileNames(names), is_own=is_own
    )


def a_snapshot(*names: str, place: Location = SAVEPOINT) -> Foreign:
    """Return a savepoint that consists of these files."""
    return Foreign.of(ForeignKind.SNAPSHOT, place, [FileNames(names)])


# --- which files are meant


def test_of_a_folders_names_only_those_are_meant_that_the_place_has() -> None:
    """What else the checkpoint lacks in its own folder is a file of another snapshot."""
    reference = a_stray(NAME, OTHER_NAME, "part-0", "part-1", folder=OWN_CHK, is_own=True)

    (found,) = meant(a_snapshot(NAME, "part-0"), [reference])

    assert set(found.names) == {NAME, "part-0"}


def test_a_name_means_another_file_unless_the_uuid_that_it_ends_in_is_the_same() -> None:
    """R5: whatever stands before the UUID."""
    reference = a_stray(f"merged-{NAME}", f"merged-{OTHER_NAME}", "x", folder=OWN_CHK, is_own=True)

    (found,) = meant(a_snapshot(NAME), [reference])

    assert set(found.names) == {f"merged-{NAME}"}


def test_each_folder_of_its_own_is_asked_for_what_no_place_answers() -> None:
    """Names that lie elsewhere by their paths may come before it, and are no riddle."""
    references = [
        a_stray(NAME),
        a_stray(NAME, folder=job_directory().child("shared"), is_own=True),
        a_stray(NAME, folder=OWN_CHK, is_own=True),
        a_stray(NAME, OTHER_NAME, folder=OWN_CHK, is_own=True),
    ]

    left = unaccounted(references, [a_snapshot(OTHER_NAME)])

    assert [(each.folder, set(each.names)) for each in left] == [(OWN_CHK, {NAME})] * 2


# --- how many there are, and who names them


def test_files_of_one_name_in_two_folders_are_two() -> None:
    """A savepoint of the same job may have copied them; both are there to be removed."""
    references = [a_stray(NAME, "x"), a_stray(NAME, "x", folder=OTHER_SAVEPOINT)]

    assert standing_of(references).references == 4
    assert standing_of([*references, *references]).references == 4


def test_a_few_files_are_shown_as_they_are_spelled() -> None:
    """Enough to look one up; there may be a million."""
    numbered = [f"part-{number}" for number in range(7)]
    references = [a_stray(*numbered[:2]), a_stray(*numbered[2:], folder=OTHER_SAVEPOINT)]

    standing = standing_of(references)

    assert standing.references == 7
    assert standing.sample == (
        f"{SAVEPOINT}/part-0",
        f"{SAVEPOINT}/part-1",
        f"{OTHER_SAVEPOINT}/part-2",
        f"{OTHER_SAVEPOINT}/part-3",
        f"{OTHER_SAVEPOINT}/part-4",
    )


def test_the_newest_checkpoint_comes_first_and_a_registry_last() -> None:
    """By number, not by spelling: it is the one that an operator waits for."""
    registry = a_namer(None, "registry snapshot 17")
    first = a_namer(0, f"file:/{OTHER_JOB}/chk-0")
    namers = [a_namer(9), registry, a_namer(100), first, a_namer(10)]

    standing = standing_of([a_stray(NAME, namer=each) for each in namers])

    assert [each.checkpoint_id for each in standing.named_by] == [100, 10, 9, 0, None]
    assert [each.references for each in standing.named_by] == [1] * 5
    assert standing.named_by[-1].uri == registry.uri


def test_bytes_that_cannot_be_read_may_name_what_has_one_of_their_uuids() -> None:
    """And every file of a place whose files are not known."""
    known = Foreign.of(ForeignKind.SNAPSHOT, BASE, [FileNames([NAME])])
    unknown = Foreign.of(ForeignKind.SNAPSHOT, BASE, [], is_known=False)
    assert known.may_be_named_in(UuidSet({UUID, OTHER_UUID}))
    assert not known.may_be_named_in(UuidSet({OTHER_UUID}))
    assert not known.may_be_named_in(UuidSet())
    assert unknown.may_be_named_in(UuidSet())
