"""Losses by a deletion wider than its key, or whose failure is hidden."""

import errno
import os
import shutil
import uuid
from pathlib import Path

import pytest

from cli.helpers import AT_ONCE, DAY, ENDED, Bed, contents, outcomes, run, write
from cli.stories import make_story
from cli.stories_on_s3 import S3Story
from flinkstate.places.locations import canonical
from orphangc.adapters.files import local_storage
from orphangc.adapters.files.local_storage import LocalStorage
from safety.incidents.essential import must_be_there
from safety.incidents.hooks import hidden_from_the_listing


def refuse_to_unlink(monkeypatch, *names: str) -> None:
    unlink = LocalStorage._unlink

    def refused(self, wanted):
        if wanted.key.rpartition("/")[2] in names:
            raise PermissionError(errno.EACCES, "Permission denied")
        return unlink(self, wanted)

    monkeypatch.setattr(LocalStorage, "_unlink", refused)


@pytest.mark.answered_by("only_empty_folders")
def test_paimon_7920_a_folder_that_seems_empty_keeps_what_it_holds(story, monkeypatch) -> None:
    """A transient empty listing made it a recursive deletion; what removes it must fail (R53)."""
    monkeypatch.setattr(local_storage, "_folders_in", lambda _: ([], True))
    named = [*story.live, *(story.job.folder / f"chk-{n}" / "_metadata" for n in (7, 8))]
    story.bed.cycle()
    must_be_there(*named)


@pytest.mark.answered_by("folders_that_stay")
def test_paimon_7920_an_empty_folder_of_what_may_not_be_flinks_stays(story) -> None:
    """Nothing shows who made it, and who may be about to write into it."""
    empty = story.bed.root / f"{9:032x}" / "shared"
    empty.mkdir(parents=True)
    story.bed.cycle()
    story.bed.cycle()
    assert empty.is_dir()
    assert (story.job.folder / "shared").is_dir()


@pytest.mark.answered_by("folders_that_stay")
def test_paimon_7920_a_folder_that_lost_its_last_file_stays(bed) -> None:
    """Flink may be about to write into it."""
    story = make_story(bed, orphans=5)
    for path in story.live:
        path.unlink()
    bed.options += ("--max-delete-share", "1")
    bed.cycle()
    bed.cycle()
    assert contents(story.job.folder).get("shared", "gone") is None
    assert not any(path.exists() for path in story.orphans)


@pytest.mark.parametrize("folder", ["ck[ab]", "ck*", "ck?", "{ck}", "ck%41", "ck #1"])
@pytest.mark.answered_by("exact_keys", not_for=("ck*", "ck?", "{ck}", "ck%41", "ck #1"))
def test_fsspec_rm_glob_characters_in_a_path_are_letters(tmp_path, folder) -> None:
    """``rm`` expanded a literal key, and removed its siblings."""
    bed = Bed(tmp_path, (*ENDED, *AT_ONCE))
    bed.root = tmp_path / folder
    story = make_story(bed)
    sibling = Bed(tmp_path, ENDED)
    sibling.root = tmp_path / "cka"
    other = make_story(sibling)
    bed.cycle()
    bed.cycle()
    assert not any(path.exists() for path in story.orphans)
    assert all(path.exists() for path in (*story.live, *other.live, *other.orphans))


@pytest.mark.answered_by("grammar")
def test_fsspec_rm_a_name_with_glob_characters_is_on_no_list(story) -> None:
    """The grammar has none, so no such key is ever handed to a deleter."""
    names = [f"{story.live[0].name[:-1]}?", "*", "5_*", f"[ab]{uuid.uuid4()}", "a\nb"]
    for name in names:
        write(story.job.folder / "shared" / name, b"x", 30 * DAY)
    plan = story.bed.plan()
    rows = [plan.rows[f"{story.job.id}/shared/{name}"] for name in names]
    assert {row["reason"] for row in rows} == {"unrecognised"}
    story.bed.sweep(plan)
    story.bed.cycle()
    assert all((story.job.folder / "shared" / name).exists() for name in names)


@pytest.mark.answered_by("errors_of_keys")
def test_s3fs_838_a_key_that_could_not_be_deleted_is_told(story, monkeypatch) -> None:
    """200 with errors inside passed for success (also #1047): here it is exit 3, and why."""
    story.bed.cycle()
    refuse_to_unlink(monkeypatch, story.orphans[0].name)
    plan, swept = story.bed.cycle()
    assert swept.code == 3
    assert sorted(outcomes(plan).values()) == ["done", "failed"]
    assert [path.exists() for path in story.orphans] == [True, False]
    assert swept.json["counts"]["delete/failed"]["objects"] == 1


@pytest.mark.answered_by("errors_of_keys")
def test_flink_operator_1089_a_tombstone_goes_only_with_its_object(story, monkeypatch) -> None:
    """The status was dropped before the deletion worked (also #1185): here the next run retries."""
    story.bed.cycle()
    with monkeypatch.context() as patch:
        refuse_to_unlink(patch, story.orphans[0].name)
        story.bed.cycle()
    plan, swept = story.bed.cycle()
    assert plan.verdict(story.orphans[0]) == ("delete", "quarantine_over")
    assert (swept.code, story.orphans[0].exists()) == (0, False)


@pytest.mark.answered_by("guard:damaged_latest_root")
def test_s3fs_982_a_truncated_listing_refuses_the_job(undeclared, monkeypatch) -> None:
    """A page was lost: what a root names is not seen, so what is seen proves nothing."""
    hidden_from_the_listing(monkeypatch, undeclared.live[2].name)
    plan = undeclared.bed.plan()
    assert plan.refusal(undeclared.job) == "damaged_latest_root"


def test_s3fs_982_what_a_truncated_listing_hides_is_not_deleted(story, monkeypatch) -> None:
    """Neither live files nor orphans; a plan that lacks an old live file is not even swept.

    Where the sweep lists again, and the listing hides them again, their quarantine begins anew.
    """
    story.bed.cycle()
    with monkeypatch.context() as patch:
        hidden_from_the_listing(patch, story.live[0].name, story.orphans[0].name)
        plan, swept = story.bed.cycle()
        assert (swept.code, [path.exists() for path in story.orphans]) == (4, [True, True])
        story.bed.sweep(plan, "--delete", "--relist")
    assert [path.exists() for path in story.orphans] == [True, False]
    assert all(path.exists() for path in story.live)
    assert story.bed.plan().verdict(story.orphans[0]) == ("tombstone", "orphan")


@pytest.mark.answered_by("checkpoints_that_stood")
def test_a_listing_of_another_store_of_the_same_name_shows_no_quiet(story, monkeypatch) -> None:
    """Executors with another endpoint listed a replica that lags: it lacked what the job wrote."""
    waiting = write(story.job.folder / "dstl" / str(uuid.uuid4()), b"log", 30 * DAY)
    replica = story.bed.folder / "replica"
    shutil.copytree(story.bed.root, replica, copy_function=os.link)
    shutil.rmtree(replica / story.job.id / "chk-8")
    write(waiting.with_name(str(uuid.uuid4())), b"log", 0 * DAY)
    assert "not_quiet" in story.bed.plan().blocks(story.job)
    elsewhere, here = LocalStorage(canonical(str(replica))), LocalStorage.objects
    monkeypatch.setattr(LocalStorage, "objects", lambda *of: here(elsewhere, *of[1:]))
    for _ in range(2):
        plan = story.bed.plan()
        story.bed.sweep(plan, "--delete", "--relist")
    must_be_there(waiting)


@pytest.mark.answered_by("every_page")
def test_barman_780_more_than_one_page_of_keys_is_deleted(bed) -> None:
    """Only the first thousand were ever considered: by their names, so live files come first."""
    story = make_story(bed, orphans=0)
    for _ in range(1_003):
        story.job.shared(f"ffffffff{str(uuid.uuid4())[8:]}")
    options = ("--max-delete-share", "1")
    bed.cycle(*options)
    plan, swept = bed.cycle(*options)
    assert swept.json["counts"]["delete/done"]["objects"] == 1_003
    assert sorted(path.name for path in (story.job.folder / "shared").iterdir()) == sorted(
        path.name for path in story.live
    )
    journal = bed.state.glob("*/runs/*/batch-??????.jsonl")
    assert sorted(len(file.read_text().splitlines()) for file in journal) == [3, 1_000]
    assert len(outcomes(plan)) == 1_003


@pytest.mark.answered_by("identity")
def test_kubernetes_88097_identity_is_a_condition_of_each_deletion(story) -> None:
    """The same name, size and time, and another object behind it."""
    story.bed.cycle()
    plan = story.bed.plan()
    path = story.orphans[0]
    found = path.stat()
    path.rename(path.with_name("kept"))
    path.write_bytes(bytes(found.st_size))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert story.bed.sweep(plan, "--delete").code == 0
    assert path.exists()


def test_elasticsearch_82911_tombstones_are_found_by_whoever_takes_over(
    on_s3: S3Story, monkeypatch, tmp_path
) -> None:
    """Marks were lost on a local disk (also Loki#11119, #23547): here they lie in a bucket."""
    on_s3.sweep(on_s3.plan(), "--delete")
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    plan = on_s3.plan()
    assert {key for key, row in plan.rows.items() if row["action"] == "delete"} == on_s3.orphans
    before = on_s3.contents()
    assert on_s3.sweep(plan, "--delete").code == 0
    after = on_s3.contents()
    assert {key: data for key, data in before.items() if key not in on_s3.orphans} == after


def test_a_link_into_the_storage_is_never_followed(story) -> None:
    """Neither as a file nor as a folder: what it leads to is somebody else's."""
    outside = story.bed.folder / "outside"
    victim = write(outside / story.job.id / "shared" / str(uuid.uuid4()), b"x", 30 * DAY)
    (story.job.folder / "shared" / str(uuid.uuid4())).symlink_to(victim)
    before = contents(outside)
    story.bed.cycle()
    story.bed.cycle()
    assert contents(outside) == before
    assert not any(path.exists() for path in story.orphans)


@pytest.mark.answered_by("guard:unreadable_root")
def test_a_linked_folder_refuses_for_it_may_hold_roots(story) -> None:
    """It is not looked into; its target must be named as an extra root."""
    outside = story.bed.folder / "outside"
    Bed(story.bed.folder).job(7, below=outside).shared()
    (story.bed.root / f"{7:032x}").symlink_to(outside / f"{7:032x}")
    plan = story.bed.plan()
    assert (plan.ran.code, plan.refusal(story.job)) == (4, "unreadable_root")
    assert not plan.removals()


@pytest.mark.answered_by("guard:unreadable_root")
@pytest.mark.parametrize("area", ["shared", "taskowned", "dstl"])
def test_a_linked_area_of_a_job_refuses_in_plan_and_sweep(story, area) -> None:
    """No listing enters it, so nothing behind it is missing, and a sweep asks for nothing there."""
    outside = story.bed.folder / "outside"
    place = story.job.folder / area
    named = write(place / str(uuid.uuid4()), b"x", 30 * DAY)
    story.job.checkpoint(9, *story.live, named)
    place.rename(outside)
    place.symlink_to(outside)
    plan = story.bed.plan()
    swept = story.bed.sweep(plan, "--delete")
    assert (plan.ran.code, plan.refusal(story.job), swept.code) == (4, "unreadable_root", 4)
    told = plan.document["jobs"][0]["refused"]["message"]
    assert f"{story.job.id}/{area}: a symbolic link" in told
    assert not any("cannot be restored" in each for each in plan.document["warnings"])
    place.unlink()
    outside.rename(place)
    for _ in range(2):
        plan = story.bed.plan()
        assert story.bed.sweep(plan, "--delete").code == 0
    assert not any(path.exists() for path in story.orphans)
    assert all(path.exists() for path in (*story.live, named))


@pytest.mark.answered_by("guard:unreadable_root")
@pytest.mark.parametrize("folder", ["chk-8", "savepoints/savepoint-aaaaaa-0123456789ab"])
def test_a_folder_in_the_place_of_a_metadata_refuses(story, folder) -> None:
    """Something put it there: a ``_metadata`` that cannot be read may still be needed."""
    where = story.job.folder if folder == "chk-8" else story.bed.root
    (where / folder / "_metadata").unlink(missing_ok=True)
    (where / folder / "_metadata").mkdir(parents=True)
    for _ in range(2):
        plan = story.bed.plan()
        assert plan.ran.code == 4
        story.bed.sweep(plan, "--delete")
    assert plan.document["jobs"][0]["refused"]["guard"] == "unreadable_root"
    assert all(path.exists() for path in story.orphans)


def test_nothing_is_ever_handed_to_a_shell_or_to_a_pattern(story) -> None:
    """A plan's own files may be called anything."""
    folder = story.bed.folder / "plan $(touch x) [ab]*"
    ran = run("plan", story.bed.root, "--state", story.bed.state, "--out", folder, *ENDED)
    assert ran.code == 0
    assert run("sweep", folder).code == 0
    assert not (story.bed.folder / "x").exists()


def of_another_product(bed: Bed, number: int = 9) -> list[Path]:
    """Write what another product keeps in a directory whose name looks like a job id."""
    job = bed.job(number)
    for name in ("index", "manifest", "owner"):
        write(job.folder / name, b"x", 40 * DAY)
    return [job.shared() for _ in range(3)]


@pytest.mark.answered_by("traces_of_flink")
def test_a_statement_about_all_jobs_is_none_about_another_product(story) -> None:
    """Issue 13, L5: ``<32 hex>/shared/<uuid>`` went with ``--ended-job all``."""
    story.bed.options += ("--max-delete-share", "1")
    theirs = of_another_product(story.bed)
    for _ in range(2):
        plan, _ = story.bed.cycle()
    must_be_there(*theirs)
    assert not any(path.exists() for path in story.orphans)
    (refused,) = [job["refused"] for job in plan.document["jobs"] if job["refused"]]
    assert refused["guard"] == "no_roots"
    assert f"--ended-job {9:032x} states it" in refused["message"]


@pytest.mark.parametrize("area", ["taskowned", "chk-3"])
def test_what_only_flink_makes_is_trace_enough(story, area) -> None:
    """A job that was killed before its first checkpoint leaves nothing else."""
    job = story.bed.job(9)
    lost = job.shared()
    (job.folder / area).mkdir()
    options = ("--max-delete-share", "1")
    for _ in range(2):
        story.bed.cycle(*options)
    assert not lost.exists()


def test_a_directory_without_a_trace_needs_its_own_id(story) -> None:
    """In a bucket, which has no empty directories, a job may leave shared files alone."""
    job = story.bed.job(9)
    lost = [job.shared(), job.shared()]
    options = ("--ended-job", job.id, "--max-delete-share", f"{job.id}=1")
    for _ in range(2):
        story.bed.cycle(*options)
    assert not any(path.exists() for path in lost)


@pytest.mark.answered_by("share_of_artifacts")
def test_files_that_never_go_do_not_make_the_share_look_small(story) -> None:
    """Issue 13, L5: 3 of 4 state files were a small part of a directory with a hundred others."""
    for number in range(20):
        write(story.job.folder / f"other-{number}", b"x", 40 * DAY)
    for _ in range(3):
        story.job.shared()
    plan = story.bed.plan()
    assert plan.blocks(story.job) == ["max_delete_share"]
    (blocked,) = plan.job(story.job)["blocked"]
    assert blocked["message"].startswith("5 of 8 files in shared/ would go, more than 50%")
    assert f"--max-delete-share {story.job.id}=0.63 " in blocked["message"]
    assert plan.ran.code == 0
    assert story.bed.plan("--max-delete-share", f"{story.job.id}=0.63").blocks(story.job) == []
    assert story.bed.plan("--max-delete-share", f"{9:032x}=0.63").blocks(story.job) != []
