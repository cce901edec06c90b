"""What stands against the end of a savepoint, one reason each, and how large it is (R42)."""

import uuid
from dataclasses import replace
from hashlib import sha256
from types import SimpleNamespace

import pytest

from cli.helpers import metadata
from flinkstate.places.locations import Location, canonical
from orphangc.collect.expire.savepoint_folders import named_by_others, savepoint_folders
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.exporter.registry_snapshot import EntryKind, RegistryEntries, RegistryEntry
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.core.model.types import StoredObject
from orphangc.errors import OrphanGcError
from support.builders import T0, a_broken_root, a_snapshot
from support.calls import calls_of
from unit.flinkstate.metadata import by_hand

PLACE = "s3://b/sp"
FOLDER = canonical(f"{PLACE}/savepoint-aaaaaa-000000000001")


def a_metadata(size: int) -> bytes:
    """Return the ``_metadata`` of a savepoint of two files, by the size that it states."""
    handles = (by_hand.file_handle(f"{FOLDER}/{name}", size) for name in (ONE, TWO))
    shared = by_hand.listed(*(by_hand.utf("x.sst") + each for each in handles))
    keyed = by_hand.incremental(shared, meta=by_hand.bytes_handle())
    subtasks = by_hand.listed(by_hand.subtask(4, keyed=keyed))
    operators = by_hand.listed(by_hand.operator(4, subtasks))
    return by_hand.metadata(4, operators, checkpoint_id=1)


ONE, TWO, THREE = (str(uuid.UUID(int=number << 64 | number)) for number in (1, 2, 3))
REGISTERED = RegistryEntry(f"{FOLDER}/{ONE}", EntryKind.FILE, 5, 1, 1)
DATA = {size: a_metadata(size) for size in (5, 6)} | {0: metadata(1, [])}
SAVEPOINT = Checkpoint(
    folder=FOLDER,
    directory=None,
    job_id="",
    checkpoint_id=1,
    format_version=4,
    is_savepoint=True,
    modified_at=None,
    sha256=sha256(DATA[5]).hexdigest(),
    files={FOLDER: FileNames([ONE, TWO])},
)


def folders(
    *checkpoints,
    places=(PLACE,),
    searched=(PLACE,),
    stored=(ONE, TWO),
    unlisted=(),
    others=(),
    is_tested=True,
    states=5,
    unreadable=(),
    snapshots=(),
):
    """Return the folders of a cycle whose every storage shows the same objects of 5 bytes."""

    def opened(place):
        if place in unlisted:
            raise OrphanGcError("refused")
        objects = [StoredObject(key=f"{each}", size=5, modified_at=T0) for each in stored]
        folder = {"": SimpleNamespace(objects=objects)}.__getitem__
        read = {"_metadata": DATA[states]}.get
        return SimpleNamespace(folder=folder, is_tested=is_tested, read=lambda key, **_: read(key))

    seen = SimpleNamespace(unreadable=unreadable, answers=SimpleNamespace(snapshots=snapshots))
    cycle = SimpleNamespace(mark=SimpleNamespace(checkpoints=checkpoints), seen=seen)
    policy = RetentionPolicy(savepoints=places)
    return savepoint_folders(
        cycle,
        policy,
        opened,
        [canonical(each) for each in searched],
        of_others=[canonical(each) for each in others],
    )


UNNAMED = "its folder is in no place that expire.savepoints names"
NO_SAVEPOINT = "it is no savepoint by its folder's name and its properties"
OF_OTHERS = "its folder is in a place of another storage root: only that one may let it go"
SPREAD = "not all of its files are in its own folder"
HIDDEN = "its folder is in one that no scan enters, where no later run sees a quarantine"
NAMELESS = "it is in a folder without a name, which no URI names"
SHARED, ROOT = f"s3://b/cp/{'a' * 32}/shared", {"searched": ("s3://b/cp",)}


@pytest.mark.parametrize(
    ("changes", "more", "why"),
    [
        ({}, {"places": ()}, UNNAMED),
        ({}, {"places": (str(FOLDER),)}, UNNAMED),
        ({}, {"searched": ("s3://b/other",)}, "its folder is in no extra root"),
        ({}, {"others": ("s3://b",)}, OF_OTHERS),
        ({"folder": canonical(f"{SHARED}/x/savepoint-a")}, {"places": (SHARED,)} | ROOT, HIDDEN),
        ({"folder": canonical(PLACE).child(f"/{FOLDER.name}")}, {}, NAMELESS),
        ({"is_savepoint": False}, {}, NO_SAVEPOINT),
        ({"folder": canonical(f"{PLACE}/x")}, {}, NO_SAVEPOINT),
        ({"unproven_layout": "changelog"}, {}, SPREAD),
        ({"files": {canonical("s3://b/z"): FileNames([ONE])}}, {}, SPREAD),
    ],
)
def test_a_savepoint_that_stays_says_why(changes, more, why) -> None:
    """Its size is not looked at."""
    savepoint = replace(SAVEPOINT, **changes)
    found = folders(savepoint, **more)
    assert (found.obstacles, found.sizes, found.whole) == ({savepoint.folder: why}, {}, frozenset())
    assert found.collectable == frozenset()


@pytest.mark.parametrize("is_savepoint", [True, None])
def test_the_files_of_a_whole_savepoint_may_go(is_savepoint) -> None:
    """What else is stored in its folder does not count; an old format does not say what it is."""
    whole = replace(SAVEPOINT, is_savepoint=is_savepoint)
    found = folders(whole, places=("s3://b/a", PLACE), stored=(ONE, f"x/{TWO}", "other"))
    assert (found.obstacles, found.sizes, found.whole) == ({}, {FOLDER: 10}, {FOLDER})
    assert found.collectable == {FOLDER}


def test_on_a_storage_on_which_deletion_was_not_tested_none_goes() -> None:
    """Its extra root may be of another kind than the storage root (R27); it still is whole."""
    found = folders(SAVEPOINT, is_tested=False)
    assert found.obstacles == {FOLDER: "this kind of storage is not in the tested list"}
    assert (found.sizes, found.whole, found.collectable) == ({FOLDER: 10}, {FOLDER}, frozenset())


def test_a_savepoint_that_lacks_a_file_is_not_whole() -> None:
    """It may go, and no other checkpoint may go in view of it."""
    found = folders(SAVEPOINT, stored=(ONE,))
    assert (found.sizes, found.whole, found.collectable) == ({FOLDER: 5}, frozenset(), {FOLDER})


def test_a_savepoint_is_whole_where_its_files_are_as_long_as_it_says() -> None:
    """Else it is no other one's stand-in; its own end does not depend on that."""
    longer = replace(SAVEPOINT, sha256=sha256(DATA[6]).hexdigest())
    found = folders(longer, states=6)
    assert (found.whole, found.collectable) == (frozenset(), {FOLDER})
    assert folders(longer).whole == frozenset(), "another one stands there by now"


def test_a_savepoint_without_files_of_its_own_is_whole() -> None:
    """All its state is in its metadata."""
    alone = replace(SAVEPOINT, files={}, sha256=sha256(DATA[0]).hexdigest())
    found = folders(alone, states=0)
    assert (found.sizes, found.whole, found.collectable) == ({FOLDER: 0}, {FOLDER}, {FOLDER})


def test_a_folder_that_cannot_be_listed_keeps_its_savepoint_and_no_other_one() -> None:
    """Nothing says how large it is."""
    other = canonical(f"{PLACE}/savepoint-bbbbbb-000000000002")
    second = replace(SAVEPOINT, folder=other, files={other: FileNames([THREE])})
    found = folders(SAVEPOINT, second, stored=(THREE,), unlisted=[FOLDER])
    assert found.obstacles == {FOLDER: "its folder cannot be listed"}
    assert (found.sizes, found.collectable) == ({other: 5}, {other})


@pytest.mark.parametrize(
    "changes",
    [
        {"files": {FOLDER: FileNames([ONE])}},
        {"files": {canonical("s3://b/z"): FileNames([ONE])}},
        {"files": {FOLDER.child("below"): FileNames(["manifest"])}},
        {"files": {}, "raw": UuidSet([uuid.UUID(ONE).bytes])},
    ],
)
def test_whatever_oracle_shows_another_namer_it_keeps_the_savepoint(changes) -> None:
    """By a name, by a place below its folder, by a UUID in the raw bytes."""
    job = canonical("s3://b/cp/job")
    namer = replace(SAVEPOINT, folder=job.child("chk-1"), directory=job, **changes)
    found = folders(SAVEPOINT, namer)
    assert found.obstacles == {FOLDER: "another checkpoint names files in its folder"}
    assert (found.sizes, found.collectable) == ({FOLDER: 10}, frozenset())


@pytest.mark.parametrize(
    "seen",
    [
        {"unreadable": (a_broken_root(raw=UuidSet([uuid.UUID(ONE).bytes]), is_acknowledged=True),)},
        {"snapshots": (a_snapshot(entries=RegistryEntries([REGISTERED])),)},
    ],
    ids=["an acknowledged checkpoint", "a registry"],
)
def test_what_no_checkpoint_that_was_read_names_keeps_the_savepoint_too(seen) -> None:
    """R6, R14: no checkpoint that was read names what a broken one or a pending one needs."""
    found = folders(SAVEPOINT, **seen)
    assert found.obstacles == {FOLDER: "another checkpoint names files in its folder"}


def test_what_others_name_is_looked_at_once_however_many_savepoints_there_are() -> None:
    def work(count: int) -> int:
        own = [a_numbered(number) for number in range(count)]
        elsewhere = canonical("s3://b/elsewhere")
        others = [a_numbered(count + number, elsewhere) for number in range(count)]
        return calls_of(lambda: [*named_by_others(own, [*own, *others])])

    assert work(160) / 160 < 1.5 * work(40) / 40


def a_numbered(number: int, place: Location = FOLDER.parent) -> Checkpoint:
    folder = place.child(f"savepoint-aaaaaa-{number:012x}")
    names = FileNames([f"00000000-0000-4000-8000-{number:012x}"])
    return replace(SAVEPOINT, folder=folder, files={folder.child("shared"): names})
