"""A job's state is self-sustained when nothing that it retains lies anywhere else."""

from dataclasses import replace

import pytest

from flinkstate.places.locations import Alias, canonical
from orphangc.core.cluster.job_facts import RestoredFacts
from orphangc.core.columns.file_names import FileNames
from orphangc.core.decision.judge import Judgement, Refusal, judge
from orphangc.core.dependencies.foreign_files import Foreign, meant, unaccounted, unowned_references
from orphangc.core.dependencies.self_sustained_rule import checks_of, foreign_usage_of
from orphangc.core.exporter.registry_snapshot import (
    EntryKind,
    RegistryEntries,
    RegistryEntry,
    RestoredCheckpoint,
    RetainedCheckpoint,
)
from orphangc.core.model.codes import Guard
from orphangc.core.model.naming import artifact_name
from orphangc.core.model.types import ForeignKind, JobId
from support.builders import (
    BASE,
    JOB,
    NAME,
    NAME_WITH_ID,
    OTHER_JOB,
    OTHER_UUID,
    THIRD_JOB,
    a_cycle,
    a_job,
    a_root,
    a_snapshot,
    a_survey,
    ago,
    an_ended_job,
    job_directory,
    some_facts,
)

FREE = Judgement()
VOID = Judgement(Refusal(Guard.UNREADABLE_ROOT, "chk-43 cannot be read"))
OTHER_NAME = artifact_name(None, OTHER_UUID)
SAVEPOINT = BASE.child("savepoint-4ae4a2-1")
OWN = job_directory()


def names(*each):
    return FileNames(each)


def holding(*folders):
    """Return a job whose older checkpoint names a file in each folder, and its newer one none."""
    older = a_root(42, files=dict.fromkeys(folders, names(NAME)))
    return a_job(own_checkpoints=(older, a_root(43)), directories=(OWN,))


def a_foreign(*each, place=SAVEPOINT, kind=ForeignKind.SNAPSHOT, is_known=True):
    """Return a place that is known to consist of files of these names."""
    return Foreign.of(kind, place, [names(*each)], is_known=is_known)


def looks(job, *foreigners, judgement=FREE, absent=None):
    """Return the looks at a job whose directories were listed."""
    return checks_of(foreign_usage_of(job, judgement, absent=absent or {}), foreigners)


def value(job, **more):
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
    """A job needs what a checkpoint names, even if its own files may not be judged."""
    (look,) = looks(holding(OWN.child("shared"), elsewhere), judgement=judgement)

    assert (look.value, look.references, look.sample) == (False, 1, (f"{elsewhere}/{NAME}",))
    assert [(each.checkpoint_id, each.references) for each in look.named_by] == [(42, 1)]


def test_what_the_other_directories_of_a_job_hold_is_its_own():
    """With entropy injection it has two."""
    other = BASE.child("_entropy_").child(JOB)
    root = a_root(files={OWN.child("shared"): names(NAME), other.child("shared"): names(NAME)})

    assert value(a_job(own_checkpoints=(root,), directories=(OWN, other))) is True


@pytest.mark.parametrize(
    ("judgement", "why"), [(FREE, "no completed checkpoint"), (VOID, "no completed checkpoint")]
)
def test_without_a_checkpoint_it_cannot_be_known(judgement, why):
    (look,) = looks(a_job(own_checkpoints=(), before=(), after=()), judgement=judgement)

    assert look.value is None
    assert why in look.why


def test_a_checkpoint_that_flink_tells_of_and_nobody_found_leaves_it_unknown():
    """An extra root is missing, or an alias: it may name anything."""
    facts = restored_at(5, SAVEPOINT)
    job = a_job(own_checkpoints=(), before=facts, after=facts)

    assert value(job) is None
    assert "--extra-root" in looks(job)[0].why


def test_of_a_refused_job_that_names_nothing_foreign_it_cannot_be_known():
    (look,) = looks(holding(OWN.child("shared")), judgement=VOID)

    assert (look.value, look.why) == (None, "chk-43 cannot be read")


def test_a_write_ahead_sink_may_name_files_of_another_job_in_state_bytes():
    """R37: after a restore its log is still in ``taskowned/`` of the job before."""
    job = holding(OWN.child("shared"))
    before, newest = job.own_checkpoints
    job = replace(job, own_checkpoints=(replace(before, has_write_ahead_sink=True), newest))

    (look,) = looks(job)
    assert look.value is None
    assert "pending-checkpoints" in look.why


# --- what it was restored from


def restored_at(checkpoint_id, place, *, completed=43):
    restored = RestoredFacts(id=checkpoint_id, external_path=str(place), is_savepoint=True)
    return (some_facts(restored=restored, latest_completed_id=completed),)


def restored(checkpoint_id, place=SAVEPOINT, *, completed=43, own_checkpoints=None):
    """Return a job that REST says was restored, whose own checkpoints are 42 and 43."""
    facts = restored_at(checkpoint_id, place, completed=completed)
    job = replace(holding(OWN.child("shared")), before=facts, after=facts)
    return job if own_checkpoints is None else replace(job, own_checkpoints=own_checkpoints)


@pytest.mark.parametrize(("at", "sustained"), [(42, True), (43, False), (44, False)])
def test_until_it_has_completed_a_checkpoint_it_needs_what_it_was_restored_from(at, sustained):
    """Older checkpoints of its own directory are no way back."""
    everything, place = looks(restored(at), a_foreign(OTHER_NAME))

    assert (everything.value, place.value) == (sustained, sustained)
    assert place.restored_from


def test_before_its_first_checkpoint_it_needs_what_it_was_restored_from():
    """As NO_CLAIM promises no sooner."""
    everything, place = looks(restored(4, completed=None, own_checkpoints=()), a_foreign(NAME))

    assert (everything.value, place.value) == (False, False)


def test_ids_of_an_earlier_life_say_nothing():
    """A savepoint of checkpoint 5 was restored under an id whose directory holds 42 and 43."""
    assert value(restored(5, completed=None)) is False


def test_a_restore_from_its_own_checkpoint_needs_nothing_else():
    assert value(restored(43, OWN.child("chk-43"))) is True


@pytest.mark.parametrize(("completed", "sustained"), [(5, False), (6, True)])
def test_what_it_was_restored_from_is_not_a_checkpoint_of_its_own(completed, sustained):
    """Flink counts on from it; an earlier life left 42 and 43."""
    assert value(restored(5, completed=completed)) is sustained


def test_places_that_it_was_restored_from_come_in_one_order():
    """By the checkpoint's number, then by place: two cycles of the same facts say the same."""
    said = [(at, BASE.child(f"savepoint-{letter}")) for at in (9, 10) for letter in "cabed"]
    facts = tuple(restored_at(at, place)[0] for at, place in said)
    usage = foreign_usage_of(a_job(before=facts, after=()), FREE, absent={})

    assert usage.restored == tuple(sorted(said, key=lambda each: (each[0], str(each[1]))))


def test_an_alias_of_the_operator_says_which_place_is_meant():
    """Whoever names it: REST, or a registry by its directory and by its entries."""
    inner, outer = canonical("hdfs://inner/"), canonical("hdfs://outer/")
    own, savepoint = outer.child(f"checkpoints/{JOB}"), outer.child("savepoint-1")
    spelled = f"hdfs://inner/checkpoints/{JOB}"
    facts = restored_at(44, "hdfs://inner/savepoint-1")
    snapshot = a_snapshot(
        checkpoint_dir=spelled,
        entries=RegistryEntries([an_entry(f"{spelled}/shared/{NAME}")]),
        retained=(),
    )
    job = a_job(directories=(own,), before=facts, after=facts, snapshots=(snapshot,))
    usage = foreign_usage_of(job, FREE, absent={}, aliases=[Alias(inner, outer)])

    assert (usage.unowned, usage.restored) == ((), ((44, savepoint),))
    entry = an_entry("hdfs://inner/savepoint-1/x")
    job = replace(job, snapshots=(replace(snapshot, entries=RegistryEntries([entry])),))
    (reference,) = foreign_usage_of(job, FREE, absent={}, aliases=[Alias(inner, outer)]).unowned
    assert reference.folder == savepoint
    moved = replace(snapshot, entries=RegistryEntries([an_entry(f"{own}/shared/{NAME}")]))
    usage = foreign_usage_of(
        replace(job, directories=(OWN,), snapshots=(moved,)),
        FREE,
        absent={},
        aliases=[Alias(inner, outer)],
    )
    assert usage.unowned == ()


# --- what an operator reads


def test_a_reference_is_told_with_who_holds_it_and_how_many_there_are():
    one, of_place = looks(holding(SAVEPOINT), a_foreign(NAME))
    roots = tuple(a_root(n, files={SAVEPOINT: names(NAME, OTHER_NAME)}) for n in (7, 8))
    two = looks(a_job(own_checkpoints=roots))[0]

    assert one.why == "chk-42 still names 1 file outside its own directories"
    assert of_place.why == f"chk-42 still names 1 file of {SAVEPOINT}"
    assert two.why == "chk-8, chk-7 still name 2 files outside its own directories"


def test_a_yes_tells_how_many_checkpoints_were_looked_at():
    two, of_place = looks(holding(OWN.child("shared")), a_foreign(NAME))
    (one,) = looks(a_job(own_checkpoints=(a_root(43),)))

    assert two.why == "its 2 retained checkpoints name no file outside its own directories"
    assert of_place.why == f"its 2 retained checkpoints name no file of {SAVEPOINT}"
    assert one.why == "its 1 retained checkpoint names no file outside its own directories"


def test_what_cannot_be_known_is_told_with_what_is_missing():
    none = looks(a_job(own_checkpoints=(), before=(), after=()))[0]
    facts = (some_facts(latest_completed_id=43),)
    unseen = looks(a_job(own_checkpoints=(), before=facts, after=facts))[0]
    folder = OWN.child("chk-42")
    lost = looks(holding(folder), absent={folder: {NAME}})[0]

    assert none.why == "no completed checkpoint of its own was found"
    assert unseen.why == (
        "Flink says that it has completed checkpoint 43, and none of its checkpoints was found:"
        " add their place with --extra-root, or say with --alias what it means"
    )
    assert lost.why == (
        f"{OWN}/chk-42 says that 1 files lie in its own folder, which are not there"
        " (FLINK-39964?): they may be files of a snapshot that was not read"
    )


def test_what_it_was_restored_from_is_told_until_it_has_completed_something():
    everything, place, other = looks(
        restored(44), a_foreign(OTHER_NAME), a_foreign(place=BASE.child("savepoint-x"))
    )

    assert everything.why == place.why
    assert place.why == (
        f"it was restored from checkpoint 44 in {SAVEPOINT}, and has completed none of its own"
        " since"
    )
    assert other.value is True


def test_a_look_says_what_it_is_about():
    """The kind and the folder of a place; neither of everything."""
    everything, snapshot, directory = looks(
        holding(SAVEPOINT),
        a_foreign(NAME),
        a_foreign(place=job_directory(OTHER_JOB), kind=ForeignKind.DIRECTORY),
    )

    assert (everything.kind, everything.place) == (None, "")
    assert (snapshot.kind, snapshot.place) == (ForeignKind.SNAPSHOT, str(SAVEPOINT))
    assert (directory.kind, directory.place) == (
        ForeignKind.DIRECTORY,
        str(job_directory(OTHER_JOB)),
    )


def test_a_look_at_a_place_tells_its_other_users_and_the_bytes_that_are_needed_of_it():
    """Of a place that nothing is needed of no storage is asked."""
    asked = []

    def weigh(references, place):
        asked.append(([set(each.names) for each in references], place))
        return 1234

    unused = BASE.child("savepoint-x")
    everything, used, free = checks_of(
        foreign_usage_of(holding(SAVEPOINT), FREE, absent={}),
        [a_foreign(NAME), a_foreign(place=unused)],
        users={SAVEPOINT: (OTHER_JOB, THIRD_JOB)},
        weigh=weigh,
    )

    assert (used.also_named_by, used.bytes) == ((OTHER_JOB, THIRD_JOB), 1234)
    assert (free.also_named_by, free.bytes) == ((), 0)
    assert (everything.also_named_by, everything.bytes) == ((), None)
    assert asked == [([{NAME}], SAVEPOINT)]
    assert looks(holding(SAVEPOINT), a_foreign(NAME))[1].bytes is None, "nobody was asked"


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
    job = a_job(own_checkpoints=(a_root(42, files={folder: names(named)}),), directories=(OWN,))
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
    usage = foreign_usage_of(holding(OWN.child("shared")), FREE, absent=None)

    assert checks_of(usage, [a_foreign(NAME)])[1].value is False


@pytest.mark.parametrize(("folder", "sustained"), [("chk-42", None), ("shared", True)])
def test_what_its_own_folder_lacks_may_lie_in_a_snapshot_that_nobody_read(folder, sustained):
    """Only the names in chk-n are told wrongly; in shared/ a file is lost, and was its own."""
    folder = OWN.child(folder)

    assert value(holding(folder), absent={folder: {NAME}}) is sustained


def test_a_name_without_a_uuid_means_the_file_of_that_name():
    """Older layouts, and the metadata of other tools."""
    folder = OWN.child("chk-42")
    root = a_root(42, files={folder: names("part-0", "part-1")})
    job = a_job(own_checkpoints=(root,), directories=(OWN,))
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
    look = looks(a_job(own_checkpoints=roots), a_foreign(NAME))[1]

    assert look.references == 2
    assert [(each.checkpoint_id, each.references) for each in look.named_by] == [(8, 2), (7, 2)]


def test_a_file_that_several_checkpoints_misplace_is_one():
    """FLINK-39964: each says that it lies in its own folder."""
    folders = [OWN.child(f"chk-{number}") for number in (7, 8, 9)]
    roots = tuple(
        a_root(number, files={folder: names(NAME)}) for number, folder in enumerate(folders, 7)
    )
    absent = {folder: {NAME} for folder in folders}
    look = looks(a_job(own_checkpoints=roots), a_foreign(NAME), absent=absent)[1]

    assert (look.references, len(look.named_by)) == (1, 3)


def test_unaccounted_are_the_names_that_no_known_place_answers():
    """One of two is found."""
    folder = OWN.child("chk-42")
    root = a_root(42, files={folder: names(NAME, OTHER_NAME)})
    usage = foreign_usage_of(
        a_job(own_checkpoints=(root,)), FREE, absent={folder: {NAME, OTHER_NAME, "not named"}}
    )

    assert [set(each.names) for each in usage.unowned] == [{NAME, OTHER_NAME}]
    assert [set(each.names) for each in unaccounted(usage.unowned, [a_foreign(NAME)])] == [
        {OTHER_NAME}
    ]
    assert meant(a_foreign(), usage.unowned) == []
    assert unowned_references([], (OWN,), None) == ()


# --- registry mode


def an_entry(path):
    return RegistryEntry(path, EntryKind.FILE, 1, 42, 43)


def registering(*snapshots):
    """Return a job whose checkpoints name nothing foreign, with what its registry tells."""
    return replace(holding(OWN.child("shared")), snapshots=snapshots)


@pytest.mark.parametrize(
    ("path", "sustained"),
    [(f"shared/{NAME}", True), (f"{OWN}/shared/{NAME}", True), (f"{SAVEPOINT}/x", False)],
)
def test_what_its_registry_holds_elsewhere_it_needs(path, sustained):
    """A pending checkpoint may name it, though no retained one does."""
    entry = RegistryEntry(path, EntryKind.FILE, 1, 42, 43)
    snapshot = replace(
        a_snapshot(), entries=RegistryEntries([entry]), restored=(), checkpoint_dir=str(OWN)
    )
    job = replace(holding(OWN.child("shared")), snapshots=(snapshot,))

    assert value(job) is sustained


@pytest.mark.parametrize("path", [f"/elsewhere/{NAME}", f"file:/elsewhere/{NAME}"])
def test_a_path_of_another_storage_is_shown_as_the_registry_spells_it(path):
    """It leads where it says, not below the job's directory."""
    (look,) = looks(registering(a_snapshot(entries=RegistryEntries([an_entry(path)]))))

    assert (look.value, look.sample) == (False, (f"/elsewhere/{NAME}",))
    assert look.why == "registry snapshot 17 still names 1 file outside its own directories"


def test_a_checkpoint_that_the_registry_retains_elsewhere_it_needs():
    """Its metadata lies in that folder, whatever else does."""
    claimed = RetainedCheckpoint(id=41, is_savepoint=False, path=f"{SAVEPOINT}")
    (look,) = looks(registering(a_snapshot(retained=(claimed,))))

    assert (look.value, look.sample) == (False, (f"{SAVEPOINT}/_metadata",))


def test_only_the_newest_snapshot_tells_what_its_registry_holds():
    """What an older one held may have been let go since."""
    older = a_snapshot(entries=RegistryEntries([an_entry(f"{SAVEPOINT}/{NAME}")]))

    assert value(registering(older)) is False
    assert value(registering(older, a_snapshot(sequence=18))) is True


def test_what_its_registry_holds_in_its_own_directory_lies_there():
    """Flink has it open: no other place has to answer for the name."""
    snapshot = a_snapshot(entries=RegistryEntries([an_entry(f"{OWN}/shared/{NAME}")]))
    everything, place = looks(registering(snapshot), a_foreign(NAME))

    assert (everything.value, place.value) == (True, True)


def test_where_its_registry_says_that_its_directory_is_is_its_own():
    """It may be spelled otherwise than the directory that was listed."""
    elsewhere = canonical(f"s3://moved/{JOB}")
    entry = an_entry(f"{elsewhere}/shared/{NAME}")

    assert value(registering(a_snapshot(entries=RegistryEntries([entry])))) is False
    snapshot = a_snapshot(entries=RegistryEntries([entry]), checkpoint_dir=str(elsewhere))
    assert value(registering(snapshot)) is True


@pytest.mark.parametrize(("at", "sustained"), [(42, True), (43, False)])
def test_what_its_registry_says_that_it_was_restored_from_it_needs_until_then(at, sustained):
    """No REST API was asked; its newest own checkpoint is 43."""
    source = RestoredCheckpoint(id=at, path=str(SAVEPOINT), mode="NO_CLAIM")
    snapshot = replace(a_snapshot(), restored=(source,), retained=(), checkpoint_dir=str(OWN))
    job = replace(holding(OWN.child("shared")), snapshots=(snapshot,), before=(), after=())

    assert [look.value for look in looks(job, a_foreign(OTHER_NAME))] == [sustained, sustained]


# --- changelog


DSTL = canonical("s3://logs/dstl").child(JOB).child("dstl")
SEGMENT = RegistryEntry("shared/x", EntryKind.SEGMENT, 1, 1, 1)
APPLICATION_JOB = JobId("8f3c1a2b5d6e7f80" + "0" * 16)


def a_changelog(folder=DSTL, job=JOB, **changes):
    """Return a job whose checkpoints name changes in a folder."""
    files = {job_directory(job).child("shared"): names(NAME), folder: names(OTHER_NAME)}
    roots = tuple(
        a_root(each, job=job, files=files, unproven_layout="changelog state") for each in (42, 43)
    )
    facts = (some_facts(job, changelog_enabled=True),)
    return a_job(job, **{"own_checkpoints": roots, "before": facts, "after": facts, **changes})


def changelog_value(job, *, others=()):
    """Return whether a job needs nothing of others, as a cycle judges it."""
    cycle = a_cycle()
    usage = foreign_usage_of(
        job, judge(job, cycle), absent={}, named_by_others=frozenset(others), cycle=cycle
    )
    return checks_of(usage, ())[0].value


@pytest.mark.parametrize("base", ["s3://logs/dstl", "s3://checkpoints", "hdfs://other/a/dstl"])
def test_a_changelog_job_is_self_sustained_wherever_its_own_changes_lie(base):
    """``<base>/<own job id>/dstl`` is its own."""
    assert changelog_value(a_changelog(canonical(base).child(JOB).child("dstl"))) is True


@pytest.mark.parametrize(
    "folder",
    [
        DSTL.parent.parent.child(OTHER_JOB).child("dstl"),  # of the job whose checkpoint it claimed
        DSTL.parent.parent.child("dstl"),
        DSTL.child("dstl"),
        DSTL.parent.child("shared"),
    ],
    ids=str,
)
def test_changes_in_any_other_folder_are_not_its_own(folder):
    assert changelog_value(a_changelog(folder)) is False


def test_changes_that_a_checkpoint_of_another_job_names_are_not_its_own():
    """Two clusters may run jobs of one id, and one may have claimed the other's checkpoint."""
    assert changelog_value(a_changelog(), others=[DSTL]) is False


def test_a_job_id_that_recurs_proves_nothing_of_a_job_that_was_restored():
    """An application cluster gives each of its jobs one id; a base may be an earlier one's."""
    folder = DSTL.parent.parent.child(APPLICATION_JOB).child("dstl")
    fresh = a_changelog(folder, APPLICATION_JOB)
    assert changelog_value(fresh) is True
    assert changelog_value(replace(fresh, before=(), after=())) is False
    restored = RestoredFacts(id=5, external_path=str(SAVEPOINT), is_savepoint=True)
    facts = tuple(replace(each, restored=restored) for each in fresh.before)
    assert changelog_value(replace(fresh, before=facts, after=facts)) is False


@pytest.mark.parametrize(
    "changes",
    [
        {"survey": a_survey(sub_folders={"op_1"})},
        {"before": (some_facts(state_backend="ForStStateBackend", changelog_enabled=True),)},
        {"own_checkpoints": (a_root(43, unproven_layout="segments of merged files"),)},
        {"snapshots": (a_snapshot(entries=RegistryEntries([SEGMENT])),)},
    ],
    ids=["sub-folders", "ForSt", "merged", "registry"],
)
def test_another_unproven_layout_stays_unknown(changes):
    """Only of a changelog is it known that a later checkpoint names nothing older than this one."""
    assert changelog_value(a_changelog(**changes)) is None


def test_changes_in_a_place_that_was_not_searched_are_not_missing():
    """They cannot be seen; where their place was searched, the checkpoint is damaged."""
    job = a_changelog(survey=a_survey(missing_of_latest=[f"{DSTL}/{OTHER_NAME}"]))
    assert changelog_value(job) is True
    assert changelog_value(replace(job, directories=(OWN, DSTL.parent))) is None


def test_another_refusal_of_a_changelog_job_stays_a_doubt():
    """The layout is the first guard that objects, and hides those behind it."""
    assert changelog_value(a_changelog(survey=a_survey(missing_of_latest=["shared/x"]))) is None


@pytest.mark.parametrize("is_contradicted", [False, True])
def test_a_job_is_not_over_while_a_guard_says_otherwise(is_contradicted) -> None:
    """R30: what a job needs that goes on, though it is said to be over, nobody may call safe."""
    judgement = Judgement(is_contradicted=is_contradicted)
    usage = foreign_usage_of(
        an_ended_job(survey=a_survey(newest_modified_at=ago("30d"))),
        judgement,
        absent=None,
        cycle=a_cycle(),
    )
    assert usage.is_over is not is_contradicted
