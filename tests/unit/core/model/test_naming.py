"""A name fits one of Flink's schemes exactly, or it is unrecognised and never touched."""

import pytest

from orphangc.core.areas.recognise import recognise
from orphangc.core.model.naming import (
    Artifact,
    FilePlace,
    artifact_name,
    is_possible_key,
    place_of_folder,
    uuid_of,
)
from orphangc.core.model.types import DirectoryLayout, Scope
from support.builders import JOB, NAME, OTHER_JOB, UUID

VERTEX = "d" * 32
FULL_WIDTH_NINE, CYRILLIC_A = "\uff19", "\u0430"
MERGED = f"job_{JOB}_op_{VERTEX}_0_4"
MERGED_TASKOWNED = f"job_{JOB}_tm_10.0.0.1%3A34567-ab12cd"
FORST = "op_AsyncKeyedProcess_0a448493b4782967b150582570326227__1_4__attempt_0"


def layout_of(key: str, root_name: str = "checkpoints") -> DirectoryLayout:
    return found_at(key, root_name).layout


def found_at(key: str, root_name: str = "checkpoints") -> Artifact:
    folder, _, name = key.rpartition("/")
    return recognise(name, place_of_folder(folder, root_name))


@pytest.mark.parametrize(
    ("key", "layout"),
    [
        (f"{JOB}/shared/{NAME}", DirectoryLayout.FLAT),
        (f"{JOB}/shared/41_{NAME}", DirectoryLayout.FLAT_WITH_ID),
        (f"{JOB}/shared/0_{NAME}", DirectoryLayout.FLAT_WITH_ID),
        (f"{JOB}/shared/{2**63 - 1}_{NAME}", DirectoryLayout.FLAT_WITH_ID),
        (f"{JOB}/shared/{MERGED}/{NAME}", DirectoryLayout.MERGED),
        (f"{JOB}/shared/{MERGED}/deeper/{NAME}", DirectoryLayout.MERGED),
        (f"{JOB}/taskowned/{MERGED_TASKOWNED}/{NAME}", DirectoryLayout.MERGED),
        (f"{JOB}/shared/{FORST}/db/{NAME}", DirectoryLayout.FORST),
        (f"{JOB}/shared/{FORST}/db/000012.sst", DirectoryLayout.FORST),
        (f"{JOB}/taskowned/{NAME}", DirectoryLayout.TASKOWNED),
        (f"{JOB}/dstl/{NAME}", DirectoryLayout.CHANGELOG),
        (f"dstl-base/{JOB}/dstl/{NAME}", DirectoryLayout.CHANGELOG),
        (f"{JOB}/chk-42/{NAME}", DirectoryLayout.EXCLUSIVE),
        (f"{JOB}/chk-42/_metadata", DirectoryLayout.METADATA),
        (f"{JOB}/chk-42/._metadata.inprogress.{NAME}", DirectoryLayout.METADATA_IN_PROGRESS),
        (f"{JOB}/chk-42/_metadata.inprogress.{NAME}", DirectoryLayout.METADATA_IN_PROGRESS),
        (f"savepoint-4ae4a2-0123456789ab/{NAME}", DirectoryLayout.EXCLUSIVE),
        ("savepoint-4ae4a2-0123456789ab/_metadata", DirectoryLayout.METADATA),
        ("anywhere/at/all/_metadata", DirectoryLayout.METADATA),
        ("_metadata", DirectoryLayout.METADATA),
    ],
)
def test_every_scheme_of_the_table_is_recognised(key: str, layout: DirectoryLayout) -> None:
    """R1, "Naming schemes to recognise": what each name is."""
    assert layout_of(key) is layout


@pytest.mark.parametrize(
    "key",
    [
        "completedCheckpoint0f3c",
        f"{JOB}/completedCheckpoint0f3c",
        f"{JOB}/shared/000012.sst",
        f"{JOB}/shared/{NAME}.sst",
        f"{JOB}/shared/{NAME}.tmp",
        f"{JOB}/shared/.{NAME}",
        f"{JOB}/shared/{NAME.upper()}",
        f"{JOB}/shared/{NAME[:-1]}",
        f"{JOB}/shared/{NAME}0",
        f"{JOB}/shared/{NAME.replace('-', '')}",
        f"{JOB}/shared/{NAME.replace('-', '_')}",
        f"{JOB}/shared/{{{NAME}}}",
        f"{JOB}/shared/{NAME}\n",
        f"{JOB}/shared/\n{NAME}",
        f"{JOB}/shared/{NAME} ",
        f"{JOB}/shared/{NAME}\0",
        f"{JOB}/shared/_{NAME}",
        f"{JOB}/shared/00_{NAME}",
        f"{JOB}/shared/041_{NAME}",
        f"{JOB}/shared/-1_{NAME}",
        f"{JOB}/shared/+1_{NAME}",
        f"{JOB}/shared/4 1_{NAME}",
        f"{JOB}/shared/1e3_{NAME}",
        f"{JOB}/shared/41__{NAME}",
        f"{JOB}/shared/41-{NAME}",
        f"{JOB}/shared/41_42_{NAME}",
        f"{JOB}/shared/{2**63}_{NAME}",
        f"{JOB}/shared/{10**19}_{NAME}",
        f"{JOB}/shared/{10**40}_{NAME}",
        f"{JOB}/shared/٤١_{NAME}",
        f"{JOB}/shared/\uff14\uff11_{NAME}",
        f"{JOB}/shared/²_{NAME}",
        f"{JOB}/shared/{NAME.replace('9', FULL_WIDTH_NINE, 1)}",
        f"{JOB}/shared/{NAME.replace('a', CYRILLIC_A, 1)}",
        f"{JOB}/shared/",
        f"{JOB}/shared",
        f"{JOB}/shared/sub/{NAME}",
        f"{JOB}/shared/chk-4/{NAME}",
        f"{JOB}/shared/shared/{NAME}",
        f"{JOB}/shared/{OTHER_JOB}/{NAME}",
        f"{JOB}/shared//{NAME}",
        f"{JOB}/shared///{NAME}",
        f"{JOB}/shared/./{NAME}",
        f"{JOB}//shared/{NAME}",
        f"{JOB}/chk-42/shared/{NAME}",
        f"{JOB}/chk-42/sub/{NAME}",
        f"{JOB}/chk-042/{NAME}",
        f"{JOB}/chk--1/{NAME}",
        f"{JOB}/chk-/{NAME}",
        f"{JOB}/chk-4x/{NAME}",
        f"{JOB}/chk-٤/{NAME}",
        f"{JOB}/CHK-42/{NAME}",
        f"{JOB}/Shared/{NAME}",
        f"{JOB}/shared2/{NAME}",
        f"{JOB}/taskowned/sub/{NAME}",
        f"{JOB}/taskowned/{MERGED}/{NAME}",
        f"{JOB}/shared/{MERGED_TASKOWNED}/{NAME}",
        f"{JOB}/shared/{MERGED}x/{NAME}",
        f"{JOB}/shared/job_{JOB.upper()}_op_{VERTEX}_0_4/{NAME}",
        f"{JOB}/dstl/sub/{NAME}",
        f"{JOB}/{NAME}",
        f"{NAME}",
        f"dstl/sub/{NAME}",
        f"savepoint-4ae4a2-0123456789ab/sub/{NAME}",
        f"a//savepoint-4ae4a2-0123456789ab/{NAME}",
        f"/savepoint-4ae4a2-0123456789ab/{NAME}",
        f"savepoint-4ae4a2-0123456789AB/{NAME}",
        f"savepoint-4ae4a2-/{NAME}",
        f"{JOB}/chk-42/_metadata.bak",
        f"{JOB}/chk-42/_METADATA",
        f"{JOB}/chk-42/_metadata\n",
        f"{JOB}/chk-42/_metadata.inprogress.",
        "",
    ],
)
def test_near_misses_are_unrecognised_or_at_least_never_flat(key: str) -> None:
    """R1: "anything else" is never deleted; only flat names carry a UUID to compare."""
    found = found_at(key)
    assert found.uuid is None
    assert found.layout not in {DirectoryLayout.FLAT, DirectoryLayout.FLAT_WITH_ID}


@pytest.mark.parametrize(
    "name",
    ["000012.sst", NAME.upper(), f"{NAME}\n", f"041_{NAME}", f"{2**63}_{NAME}", f"٤١_{NAME}"],
)
def test_a_near_miss_directly_in_shared_is_counted_as_unrecognised(name: str) -> None:
    """R1: it is no artifact of Flink's, and the plan says so."""
    assert layout_of(f"{JOB}/shared/{name}") is DirectoryLayout.UNRECOGNISED


@pytest.mark.parametrize(("prefix", "checkpoint_id"), [("", None), ("0_", 0), ("41_", 41)])
def test_a_flat_name_gives_uuid_and_checkpoint_id(prefix: str, checkpoint_id: int | None) -> None:
    """R5, R9: the UUID is compared with the roots, the id with the oldest retained one."""
    found = found_at(f"{JOB}/shared/{prefix}{NAME}")
    assert (found.uuid, found.checkpoint_id) == (UUID, checkpoint_id)


@pytest.mark.parametrize(
    ("name", "uuid"),
    [
        (NAME, UUID),
        (f"41_{NAME}", UUID),
        (f"041_{NAME}", UUID),
        (f"anything\n{NAME}", UUID),
        (f"ab{NAME}", UUID),
        (f"{artifact_name(None, bytes(16))}_{NAME}", UUID),
        (f"{NAME}.sst", None),
        (f"{NAME}\n", None),
        (NAME.upper(), None),
        ("", None),
    ],
)
def test_a_reference_protects_by_the_uuid_it_ends_in(name: str, uuid: bytes | None) -> None:
    """R5: the id-less UUID part is enough, whatever stands before it."""
    assert uuid_of(name) == uuid


@pytest.mark.parametrize("above", ["", "a", "a/b/c", "shared", "chk-1", "dstl", "x/taskowned/y"])
@pytest.mark.parametrize(
    ("area", "scope"),
    [("shared", Scope.SHARED), ("taskowned", Scope.TASKOWNED), ("dstl", Scope.CHANGELOG)],
)
def test_a_job_directory_is_found_at_any_depth(above: str, area: str, scope: Scope) -> None:
    """R3: the directory named by a job id owns its areas, whatever the folders above are called."""
    directory = f"{above}/{JOB}".lstrip("/")
    assert place_of_folder(f"{directory}/{area}", "ck") == FilePlace(directory, JOB, scope)


def test_the_storage_root_may_itself_be_the_job_directory() -> None:
    """R3: the id then stands in the root's own name."""
    assert place_of_folder("shared", JOB) == FilePlace("", JOB, Scope.SHARED)
    assert place_of_folder("chk-7", JOB) == FilePlace("", JOB, Scope.EXCLUSIVE, "", 7)
    assert place_of_folder("dstl", JOB) == FilePlace("", JOB, Scope.CHANGELOG)
    assert layout_of(f"shared/{NAME}", JOB) is DirectoryLayout.FLAT


def test_without_a_job_id_the_owner_is_unknown() -> None:
    """R3: ``create-subdir=false``: recognised, but of no job; a guard refuses it."""
    assert place_of_folder("shared", "ck") == FilePlace("", "", Scope.SHARED)
    assert place_of_folder("my-job/shared", "ck") == FilePlace("my-job", "", Scope.SHARED)
    assert place_of_folder("my-job/chk-7", "ck") == FilePlace("my-job", "", Scope.EXCLUSIVE, "", 7)


@pytest.mark.parametrize("owner", ["4AE4A2986A0E1A49B0F165B58085D4B3", JOB[:-1], JOB + "0", "job"])
def test_what_is_nearly_a_job_id_is_none(owner: str) -> None:
    """R3: a directory's name is a job id or it is not."""
    assert place_of_folder(f"{owner}/shared", "ck").job_id == ""


def test_dstl_counts_only_below_a_job_id() -> None:
    """A base path is often called ``dstl`` too; what it holds belongs to the jobs below it."""
    assert place_of_folder("dstl", "ck") == FilePlace(None, "", Scope.CHANGELOG)
    assert place_of_folder("a/dstl", "ck") == FilePlace(None, "", Scope.CHANGELOG)
    assert place_of_folder("dstl/x", "ck") == FilePlace(None, "", Scope.OTHER)
    assert place_of_folder(f"dstl/{JOB}/shared", "ck") == FilePlace(
        f"dstl/{JOB}", JOB, Scope.SHARED
    )


def test_the_first_area_of_a_job_owns_what_lies_below_it() -> None:
    """R1: a tree copied *into* ``shared/`` is no second ``shared/``."""
    inner = f"{OTHER_JOB}/shared"
    assert place_of_folder(f"{JOB}/shared/{inner}", "ck") == FilePlace(
        JOB, JOB, Scope.SHARED, inner
    )
    assert place_of_folder(f"{JOB}/chk-4/shared", "ck").scope is Scope.EXCLUSIVE


@pytest.mark.parametrize("tail", ["", "/", "//", "/x"])
def test_an_empty_path_part_is_a_sub_folder_too(tail: str) -> None:
    """R1, R2: on an object store ``shared//<uuid>`` is not *directly* in ``shared/``."""
    assert bool(place_of_folder(f"{JOB}/shared{tail}", "ck").inner) is bool(tail)


def test_a_folder_without_a_name_is_spelled_by_its_slash() -> None:
    """What lies in it is not directly in the area, and belongs to no sub-folder that is known."""
    assert place_of_folder(f"{JOB}/shared/", "ck") == FilePlace(JOB, JOB, Scope.SHARED, "/")
    assert layout_of(f"{JOB}/shared//{NAME}") is DirectoryLayout.UNRECOGNISED


def test_an_artifacts_name_outside_every_area_means_nothing() -> None:
    """Anybody may name a file by a UUID."""
    for folder in ("elsewhere", JOB, f"{JOB}/other"):
        assert found_at(f"{folder}/{NAME}") == Artifact(DirectoryLayout.UNRECOGNISED)


def test_savepoint_folders_belong_to_no_job_directory() -> None:
    """R4: they are roots, wherever they lie."""
    name = "savepoint-4ae4a2-0123456789ab"
    for folder in (name, f"sp/{name}", f"{JOB}/{name}"):
        assert place_of_folder(folder, "ck") == FilePlace(None, "", Scope.SAVEPOINT)
    assert place_of_folder(f"{name}/sub", "ck") == FilePlace(None, "", Scope.OTHER)


def test_a_job_directory_itself_and_strange_folders_in_it_are_no_area() -> None:
    """Known owner, no area: counted, never touched."""
    assert place_of_folder(JOB, "ck") == FilePlace(JOB, JOB, Scope.OTHER)
    assert place_of_folder(f"a/{JOB}/b", "ck") == FilePlace(f"a/{JOB}", JOB, Scope.OTHER)
    assert place_of_folder("", JOB) == FilePlace("", JOB, Scope.OTHER)


@pytest.mark.parametrize("folder", ["", "a", "a/b", "shared2", "chk-", "chk-01"])
def test_other_folders_belong_to_nobody(folder: str) -> None:
    """An allow-list: what is not known to be Flink's is not."""
    assert place_of_folder(folder, "ck") == FilePlace(None, "", Scope.OTHER)


def test_the_largest_checkpoint_folder_has_nineteen_digits() -> None:
    """Flink's ids are 64 bit; a longer number is no checkpoint."""
    assert place_of_folder(f"{JOB}/chk-{2**63 - 1}", "ck").checkpoint_id == 2**63 - 1
    assert place_of_folder(f"{JOB}/chk-{10**19}", "ck").scope is Scope.OTHER


@pytest.mark.parametrize("area", ["chk-9/_metadata", "shared", "savepoint-4ae4a2-0123456789ab"])
def test_what_flink_has_not_finished_to_write_to_gs_is_of_no_job(area: str) -> None:
    """Its key is the one that it will have, below a folder at the top of the bucket."""
    unfinished = f".inprogress/bucket/checkpoints/{JOB}/{area}"
    assert place_of_folder(unfinished) == FilePlace(None, "", Scope.OTHER)
    assert place_of_folder(f"a/{unfinished}").scope is not Scope.OTHER


@pytest.mark.parametrize(("name", "is_possible"), [("ä", True), ("a\0", False), ("\ud800", False)])
def test_a_path_that_java_may_write_is_no_key_of_any_storage(name, *, is_possible) -> None:
    assert is_possible_key(name) == is_possible
