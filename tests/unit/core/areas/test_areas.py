"""Each area's rule, against its law in gc/RULES.md (R31-R35, R37, R45-R49, R56)."""

from datetime import UTC, datetime

import pytest

from orphangc.core.areas.area import AreaFacts
from orphangc.core.areas.recognise import recognise
from orphangc.core.areas.table import AREAS, area_at, is_known_sub_folder
from orphangc.core.model.bounds import Bound, BoundName
from orphangc.core.model.codes import Guard
from orphangc.core.model.naming import place_of_folder
from orphangc.core.model.types import AreaName, DirectoryLayout, JobState
from support.area_files import FILES, NAME, VERTEX
from support.builders import JOB, UUID

NO_FILES = (
    f"{JOB}/chk-42/41_{NAME}",
    f"{JOB}/chk-42/_metadata",
    f"{JOB}/chk-42/_metadata.inprogress.{NAME}",
    f"{JOB}/chk-42/._metadata.inprogress.x{NAME}",
    f"{JOB}/chk-42/._metadata.inprogress.7_{NAME}",
    f"{JOB}/shared/._metadata.inprogress.{NAME}",
    f"{JOB}/taskowned/41_{NAME}",
    f"{JOB}/dstl/41_{NAME}",
    f"{JOB}/shared/job_{JOB}_op_{VERTEX}_0_4/deeper/{NAME}",
    f"{JOB}/shared/job_{JOB}_op_{VERTEX}_0_4/41_{NAME}",
    f"{JOB}/shared/op_x/{NAME}",
    f"{JOB}/shared/op_x/db/deeper/{NAME}",
    f"{JOB}/shared/op_x/dbx/{NAME}",
    f"{JOB}/shared/op_x/db/MANIFEST-000004",
    f"{JOB}/shared/strange/{NAME}",
    f"{JOB}/{NAME}",
)


def objection(area: AreaName, place: str = "chk-42", **facts) -> str | None:
    given = AreaFacts(**{"state": JobState.ENDED, "is_end_proven": True, **facts})
    return AREAS[area].objection(given, place_of_folder(f"{JOB}/{place}"))


def test_each_area_has_a_file_for_all_lists_of_them() -> None:
    """Permissions, folders and names are held against these files."""
    assert FILES.keys() == AREAS.keys()


@pytest.mark.parametrize(
    ("area", "key"), [(area, key) for area, keys in FILES.items() for key in keys]
)
def test_each_file_belongs_to_one_area(area: AreaName, key: str) -> None:
    """R35: names of Flink's, at the depth where Flink writes them."""
    folder, _, name = key.rpartition("/")
    place = place_of_folder(folder)
    assert recognise(name, place).uuid == UUID
    found = area_at(place)
    assert found is not None
    assert found.name is area


@pytest.mark.parametrize("key", NO_FILES)
def test_what_is_nearly_a_file_of_an_area_is_no_candidate(key: str) -> None:
    """R35 lists the names; any other is counted and kept."""
    folder, _, name = key.rpartition("/")
    assert recognise(name, place_of_folder(folder)).uuid is None


def test_only_layouts_of_flink_are_known_sub_folders() -> None:
    """R35 knows what names their files."""
    assert is_known_sub_folder(f"job_{JOB}_op_{VERTEX}_0_4")
    assert is_known_sub_folder("op_x")
    assert not any(map(is_known_sub_folder, ("", "/", "sub", f"job_{JOB}_tm_x")))


@pytest.mark.parametrize("area", sorted(set(AREAS) - {AreaName.SAVEPOINT}))
def test_every_area_of_a_job_that_surely_ended_is_judged(area: AreaName) -> None:
    """R35: one rule."""
    assert objection(area) is None


IN_PLACE = (AreaName.TASKOWNED, AreaName.CHANGELOG, AreaName.MERGED, AreaName.FORST)


@pytest.mark.parametrize("area", IN_PLACE)
@pytest.mark.parametrize(
    "facts",
    [
        {"is_end_proven": False},
        *({"state": each, "is_end_proven": False} for each in JobState if each != JobState.ENDED),
        {"state": JobState.RUNNING, "is_end_proven": False, "completed_id": 99},
    ],
)
def test_files_that_a_process_may_still_name_need_a_proven_end(area: AreaName, facts) -> None:
    """R34, R45-R49: quiet proves nothing there."""
    assert objection(area, **facts) is not None


RUNNING = {"state": JobState.RUNNING, "is_end_proven": False, "completed_id": 42}
BEFORE = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("facts", "is_kept"),
    [
        ({"newest_trigger": BEFORE}, False),
        ({"newest_trigger": None}, True),
        ({"newest_trigger": BEFORE, "unknown_layout": "a backend of its own"}, True),
        ({"newest_trigger": BEFORE, "state": JobState.UNKNOWN}, True),
        ({"newest_trigger": BEFORE, "state": JobState.SUSPENDED}, True),
    ],
)
def test_the_log_of_a_running_job_is_judged_by_the_trigger_of_a_checkpoint(facts, is_kept) -> None:
    """R45, T4."""
    assert (objection(AreaName.CHANGELOG, "dstl", **RUNNING | facts) is not None) is is_kept


def test_the_trigger_bounds_the_log_of_a_running_job_alone() -> None:
    """R45, R35."""
    log = AREAS[AreaName.CHANGELOG]
    running = AreaFacts(state=JobState.RUNNING, newest_trigger=BEFORE)
    assert log.bounds_of(running) == (Bound(BoundName.NEWEST_TRIGGER, BEFORE),)
    assert log.bounds_of(AreaFacts(state=JobState.ENDED, newest_trigger=BEFORE)) == ()
    others = set(AREAS) - {AreaName.CHANGELOG}
    assert {AREAS[each].bounds_of(running) for each in others} == {()}


OWN, FOREIGN = f"job_{JOB}_op_{VERTEX}_0_4", f"job_{'e' * 32}_op_{VERTEX}_0_4"


@pytest.mark.parametrize(
    ("folder", "facts", "is_kept"),
    [
        (f"shared/{OWN}", {}, False),
        (f"taskowned/job_{JOB}_tm_x", {}, False),
        (f"shared/{FOREIGN}", {}, True),
        (f"shared/{OWN}", {"not_merged_within": "nothing shows it"}, True),
        (f"shared/{OWN}", {"state": JobState.UNKNOWN}, True),
        (f"shared/{OWN}", {"state": JobState.SUSPENDED}, True),
    ],
)
def test_merged_files_of_a_running_job_need_the_word_that_they_are_merged_within(
    folder, facts, is_kept
) -> None:
    """R46, R47, T5."""
    given = RUNNING | {"not_merged_within": None} | facts
    assert (objection(AreaName.MERGED, folder, **given) is not None) is is_kept


def test_no_checkpoint_folder_of_an_unknown_layout_is_judged() -> None:
    """R31, R2: a storage of a vendor's may write other files there."""
    facts = RUNNING | {"unknown_layout": "checkpoint storage Other is not known"}
    assert objection(AreaName.EXCLUSIVE, "chk-41", **RUNNING) is None
    assert objection(AreaName.EXCLUSIVE, "chk-41", **facts) == facts["unknown_layout"]


def test_only_rules_that_need_neither_layout_nor_gate_withstand_a_refusal() -> None:
    """R56."""
    withstanding = {name for name, area in AREAS.items() if area.withstands}
    assert withstanding == {AreaName.EXCLUSIVE, AreaName.CHANGELOG, AreaName.MERGED}
    assert AREAS[AreaName.MERGED].withstands == {Guard.UNPROVEN_LAYOUT}
    every = frozenset().union(*(area.withstands for area in AREAS.values()))
    assert every == {Guard.UNPROVEN_LAYOUT, Guard.GATE}


def test_a_write_ahead_sink_keeps_what_it_names_in_state_bytes() -> None:
    """R37: such handles are in bytes that may be compressed."""
    assert objection(AreaName.TASKOWNED, has_write_ahead_sink=True) is not None
    others = set(AREAS) - {AreaName.TASKOWNED, AreaName.SAVEPOINT}
    assert {objection(each, has_write_ahead_sink=True) for each in others} == {None}


@pytest.mark.parametrize(
    ("folder", "completed_id", "is_kept"),
    [
        ("chk-41", 42, False),
        ("chk-42", 42, True),
        ("chk-43", 42, True),
        ("chk-100", 42, True),
        ("chk-41", None, True),
        ("chk-0", 1, False),
    ],
)
def test_only_a_checkpoint_below_the_completed_one_is_over(folder, completed_id, is_kept) -> None:
    """R31 (2)."""
    facts = {"state": JobState.RUNNING, "is_end_proven": False, "completed_id": completed_id}
    assert (objection(AreaName.EXCLUSIVE, folder, **facts) is not None) is is_kept


@pytest.mark.parametrize("state", [JobState.UNKNOWN, JobState.SUSPENDED])
def test_a_job_that_no_cluster_shows_running_keeps_every_checkpoint_folder(state) -> None:
    """R31: the largest folder that is listed proves nothing."""
    facts = {"state": state, "is_end_proven": False, "completed_id": 42}
    assert objection(AreaName.EXCLUSIVE, "chk-41", **facts) is not None


def test_no_facts_of_one_job_suffice_for_a_savepoints_folder() -> None:
    """R33: any job may be writing it, so all of them are asked, elsewhere."""
    assert objection(AreaName.SAVEPOINT) is not None
    assert AREAS[AreaName.SAVEPOINT].rule_of(JobState.ENDED) == "R33"


def test_the_table_has_each_area_once_and_says_what_is_known_of_it() -> None:
    assert list(AREAS) == [each.name for each in AREAS.values()]
    assert set(AREAS) == set(AreaName)
    assert all(each.written_by and each.named_by for each in AREAS.values())
    assert DirectoryLayout.UNRECOGNISED not in {each.layout for each in AREAS.values()}
