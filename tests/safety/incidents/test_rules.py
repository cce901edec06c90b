"""Losses that no other collector told: each is named after the rule that stands against it.

The rules are those of gc/RULES.md. Each story ends with somebody who needs a
file that looked like an orphan.
"""

import shutil
import uuid
from hashlib import sha256

import pytest

from cli.helpers import AT_ONCE, DAY, STARTING, Bed, flink, write
from cli.stories import Story, make_story
from orphangc.adapters.files.local_storage import LocalStorage
from safety.incidents.essential import must_be_there
from safety.incidents.hooks import folder_hidden, misreading
from support.rest_server import RestServer
from unit.flinkstate.metadata import by_hand as hand


def collected(story: Story, *options: object) -> None:
    """Lay tombstones and delete, whatever refuses."""
    for _ in range(2):
        story.bed.sweep(story.bed.plan("--max-delete-share", "1", *options), "--delete")


def reused(story: Story) -> None:
    """Let the job complete a checkpoint that names a file which no root has named so far."""
    story.job.checkpoint(11, *story.live, story.orphans[0])
    must_be_there(story.orphans[0])


@pytest.mark.parametrize("sign", ["a sub-folder of shared", "a merged file in a root"])
@pytest.mark.answered_by("guard:unproven_layout")
def test_r2_a_layout_that_uses_old_files_in_place_keeps_them(undeclared, sign) -> None:
    """ForSt and file merging name a file again that no retained checkpoint names."""
    story = undeclared
    shared = story.job.folder / "shared"
    if sign == "a sub-folder of shared":
        write(shared / "op_x__1_4__attempt_0" / "db" / str(uuid.uuid4()), b"db", 30 * DAY)
    else:
        merged = hand.utf("000001.sst") + hand.segment_handle(str(story.live[2]))
        keyed = hand.incremental(hand.listed(merged), meta=hand.bytes_handle())
        subtasks = hand.listed(hand.subtask(4, keyed=keyed))
        data = hand.metadata(4, hand.listed(hand.operator(4, subtasks)), checkpoint_id=9)
        write(story.job.folder / "chk-9" / "_metadata", data, 18 * DAY)
    completed = max(int(each.name[4:]) for each in story.job.folder.glob("chk-*"))
    for number in (completed, 10):  # what counts as progress since a tombstone (R17)
        if number == 10:
            story.job.checkpoint(10, *story.live, age=0 * DAY)
        with RestServer(flink(story.job, completed=number)) as server:
            options = ("--closed-world", "--flink-rest", server.url, "--max-delete-share", "1")
            story.bed.sweep(story.bed.plan(*options), "--delete")
    reused(story)


@pytest.mark.answered_by("condition:closed_world")
def test_r3a_a_claiming_job_whose_base_nobody_listed_keeps_its_files(bed) -> None:
    """It is invisible; the operator has not said that there is no such job."""
    story = make_story(Bed(bed.folder, ("--ended-job", "all", *AT_ONCE)))
    elsewhere = Bed(bed.folder).job(2, below=bed.folder / "unlisted")
    elsewhere.checkpoint(9, *story.live, story.orphans[0])
    collected(story)
    must_be_there(*story.live, story.orphans[0])


@pytest.mark.answered_by("guard:acknowledged_root")
def test_r6_a_broken_root_that_is_known_protects_its_whole_directory(story) -> None:
    """What stood in the part that is lost, nobody knows; the backup of that root does."""
    place = story.job.folder / "chk-8" / "_metadata"
    whole = place.read_bytes()
    broken = whole[: whole.index(story.live[1].name.encode())]
    write(place, broken, 19 * DAY)
    known = f"file://{place}={sha256(broken).hexdigest()}"
    collected(story, "--unsafe-acknowledge-root", known)
    place.write_bytes(whole)
    must_be_there(*story.live)


@pytest.mark.answered_by("guard:parser_disagreement")
def test_r7_a_name_that_only_raw_bytes_show_voids_everything(story, monkeypatch) -> None:
    """A parser that missed one name may have missed more, and the bytes may hide one, too."""
    misreading(monkeypatch, parser=story.live[1:], raw=story.live[2:])
    collected(story)
    must_be_there(*story.live)


@pytest.mark.answered_by("guard:misplaced_root")
def test_r8_a_root_that_was_put_over_another_one_by_hand_refuses(story) -> None:
    """What the overwritten one named looks unused, until it is put back."""
    (older, newer) = (story.job.folder / f"chk-{number}" / "_metadata" for number in (7, 8))
    kept = newer.read_bytes()
    shutil.copy2(older, newer)
    collected(story)
    newer.write_bytes(kept)
    must_be_there(*story.live)


@pytest.mark.answered_by("condition:job_state_unknown")
def test_r13_a_job_that_nobody_has_seen_may_be_alive(undeclared) -> None:
    """Suspended, or run by a cluster that was not named, with several checkpoints at once."""
    for number in (9, 10):  # what counts as progress since a tombstone (R17)
        undeclared.bed.sweep(undeclared.bed.plan("--closed-world"), "--delete")
        undeclared.job.checkpoint(number, *undeclared.live, age=0 * DAY)
    reused(undeclared)


@pytest.mark.answered_by("condition:halted + halt_of_a_sweep")
def test_r17_a_proof_that_failed_stops_what_rests_on_it_as_well(story) -> None:
    """The job was declared ended, and goes on slowly: one tombstone was wrong, so is the next."""
    first, second = story.orphans
    story.bed.cycle()
    story.job.checkpoint(9, *story.live, first, age=10 * DAY)
    story.bed.sweep(story.bed.plan(), "--delete")
    collected(story)
    story.job.checkpoint(10, *story.live, *story.orphans)
    must_be_there(first, second)


@pytest.mark.answered_by("condition:untested_flink_version")
def test_r27_a_release_that_nobody_has_read_may_use_any_file_again(undeclared) -> None:
    """What proves liveness was read in the code of those that are listed."""
    job, bed = undeclared.job, undeclared.bed
    with RestServer(flink(job, completed=8, version="9.9.0")) as server:
        options = ("--closed-world", "--flink-rest", server.url)
        bed.sweep(bed.plan(*options), "--delete")
        job.checkpoint(9, *undeclared.live, age=0 * DAY)
        server.routes.update(flink(job, completed=9, version="9.9.0"))
        bed.sweep(bed.plan(*options), "--delete")
    reused(undeclared)


@pytest.mark.answered_by("guard:restarting + looking_again")
def test_r2_a_job_that_restarts_may_use_any_file_in_place(undeclared) -> None:
    """REST shows no state backend yet: it is ForSt, which takes old files up again."""
    job, bed = undeclared.job, undeclared.bed
    with RestServer(flink(job, completed=8, status="CREATED", **STARTING)) as server:
        options = ("--closed-world", "--flink-rest", server.url)
        bed.sweep(bed.plan(*options), "--delete")
        job.checkpoint(9, *undeclared.live, age=0 * DAY)
        server.routes.update(flink(job, completed=9, status="CREATED", **STARTING))
        bed.sweep(bed.plan(*options), "--delete")
    reused(undeclared)


@pytest.mark.answered_by("condition:untested_storage")
def test_r27_a_storage_that_nobody_has_tried_may_hide_a_checkpoint(story, monkeypatch) -> None:
    """Its listing shows every time the same, and not all of it."""
    create = LocalStorage.__init__

    def untested(self, location, **others) -> None:
        create(self, location, **others)
        self.is_tested = False

    monkeypatch.setattr(LocalStorage, "__init__", untested)
    folder_hidden(monkeypatch, "chk-8")
    collected(story)
    must_be_there(*story.live)
