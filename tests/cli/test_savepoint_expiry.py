"""Savepoints expire with their folders, where the owner says so and nothing needs them (R42)."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cli.helpers import DAY, contents, flink, metadata, run, write
from cli.redeploys import Redeploys
from cli.savepoints import SHORT, Savepoints, distinct
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.app.runner import sweep_plan
from orphangc.collect.quarantine.checkpoint_folders import CheckpointFolders
from orphangc.collect.quarantine.quarantine import Quarantine, SavepointClearing
from orphangc.collect.runs.held_run import HeldRun
from orphangc.core.model.naming import EXPIRY_MARKER
from orphangc.ports import DeletionResult, DeletionStatus


@pytest.fixture
def savepoints(tmp_path) -> Iterator[Savepoints]:
    """Return a chain of two jobs, and savepoints of the older one."""
    with ExitStack() as stack:
        yield Savepoints(Redeploys.made(tmp_path, stack, count=2, ids=distinct))


def test_they_go_in_two_steps_and_come_back_before_the_second(savepoints) -> None:
    before = contents(savepoints.root)
    out = savepoints.expire()
    assert (savepoints.complete, savepoints.files) == ([False] * 3, [2] * 3)
    assert run("undelete", out).json["counts"]["restored"] >= 3
    digests = {name: each and each[0] for name, each in contents(savepoints.root).items()}
    assert digests == {name: each and each[0] for name, each in before.items()}


def markers(savepoints: Savepoints) -> int:
    return len([*savepoints.root.glob(f"*/{EXPIRY_MARKER}*")])


def test_markers_beside_them_last_as_long_as_their_quarantine(savepoints, monkeypatch) -> None:
    """One that an interrupted run left goes with the next expiry."""
    out = savepoints.expire()
    savepoints.expire()
    assert markers(savepoints) == 3
    unmark = CheckpointFolders.unmark

    def killed(self, folder, states=()):
        if folder.name.startswith("savepoint-"):
            raise RuntimeError("crash")
        unmark(self, folder, states)

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointFolders, "unmark", killed)
        with pytest.raises(RuntimeError, match="crash"):
            run("undelete", out)
    assert (markers(savepoints), sum(savepoints.complete)) == (3, 1)
    savepoints.expire()
    assert markers(savepoints) == 2


def test_after_the_quarantine_their_files_go(savepoints) -> None:
    out = savepoints.expire()
    savepoints.expire()
    assert savepoints.files == [2] * 3, "their quarantine is not over"
    savepoints.expire(*SHORT)
    assert (savepoints.files, markers(savepoints)) == ([0] * 3, 0)
    ran = run("undelete", out)
    assert "cannot be restored" in str(ran.json["failed"])
    assert savepoints.complete == [False] * 3


def test_without_a_word_of_the_owner_none_goes(savepoints) -> None:
    savepoints.expire(declares=False)
    savepoints.expire(*SHORT, declares=False)
    assert (savepoints.complete, savepoints.files) == ([True] * 3, [2] * 3)
    (why,) = set(savepoints.reasons(declares=False))
    assert why == "not_collectable: its folder is in no place that expire.savepoints names"


def test_files_outside_that_nothing_searched_are_unknown_not_missing(savepoints) -> None:
    """They are looked for where the owner named their place."""
    ran = run("lineage", *savepoints.chain.options, "--extra-roots", savepoints.root)
    assert savepoints.restorable(ran) == {None}
    asked = savepoints.chain.expire(
        *("--keep-last", "1", "--extra-roots", savepoints.root, "--savepoints", savepoints.root)
    )
    assert savepoints.restorable(asked) == {True}
    table = ("--extra-roots", savepoints.root, "--output", "table")
    text = " ".join(run("lineage", *savepoints.chain.options, *table).out.split())
    assert ("not all of its files were looked for" in text, "missing" in text) == (True, False)


def test_one_that_is_not_self_contained_stays(savepoints) -> None:
    """Checked, never assumed: its name says nothing about its handles."""
    folder, elsewhere = savepoints.folders[1], savepoints.chain.folder_of("0/5").parent
    (foreign,) = (elsewhere / "shared").glob("*5")
    own = folder.glob("*-*")
    write(folder / "_metadata", metadata(3, [*own, foreign]), 102 * DAY)
    assert [each.partition(":")[0] for each in savepoints.reasons()] == [
        *("superseded", "not_collectable", "superseded")
    ]
    savepoints.expire()
    savepoints.expire(*SHORT)
    assert (savepoints.complete, savepoints.files) == ([False, True, False], [0, 2, 0])


@pytest.mark.parametrize("by_name", [False, True])
def test_one_of_which_another_checkpoint_names_a_file_stays(savepoints, by_name) -> None:
    """As a job does that claimed it; by its path, or as a copy by the name alone."""
    file = next(savepoints.folders[2].glob("*-*"))
    named = savepoints.chain.jobs[0].folder / "shared" / file.name if by_name else file
    if by_name:
        write(named, file.read_bytes(), 95 * DAY)
    savepoints.chain.jobs[0].checkpoint(10, named, age=95 * DAY)
    assert "another checkpoint names files in its folder" in savepoints.reasons()[2]
    savepoints.expire()
    savepoints.expire(*SHORT)
    assert savepoints.files == [0, 0, 2]


def test_a_pin_keeps_it_and_what_operators_own_is_left_to_them(savepoints) -> None:
    assert "held: pin" in savepoints.reasons("--pin", savepoints.folders[0])[0]


def test_a_claim_between_the_two_steps_keeps_the_files(savepoints) -> None:
    savepoints.expire()
    file = next(savepoints.folders[0].glob("0*"))
    own = (savepoints.chain.running.folder / "shared").iterdir()
    savepoints.chain.running.checkpoint(19, *own, file, age=DAY)
    kept = savepoints.reasons(*SHORT)
    assert [each.partition(":")[0] for each in kept] == ["stopped"] * 3
    assert savepoints.files == [2, 2, 2]


def test_a_claim_in_the_last_moment_keeps_the_files_and_halts(savepoints, monkeypatch) -> None:
    savepoints.expire()
    clear = SavepointClearing.clear

    def late(self, part):
        file = next(savepoints.folders[0].glob("0*"))
        own = (savepoints.chain.running.folder / "shared").iterdir()
        savepoints.chain.running.checkpoint(19, *own, file, age=DAY)
        clear(self, part)

    monkeypatch.setattr(SavepointClearing, "clear", late)
    with pytest.raises(AssertionError, match="which expires"):
        savepoints.expire(*SHORT)
    assert savepoints.files[0] == 2
    assert "which expires" in savepoints.chain.expire().out


def test_a_run_that_slept_until_an_undelete_had_its_lock_ends_no_quarantine(
    savepoints, monkeypatch
) -> None:
    """What was put back meanwhile is whole: the check comes right before the deletion."""
    out, write_journal = savepoints.expire(), HeldRun.write_journal
    plan = savepoints.expire(*SHORT, delete=False)

    def overtaken(run_, name, lines):
        write_journal(run_, name, lines)
        if name.count("-") == 2:  # the files of a savepoint are next
            monkeypatch.setattr(HeldRun, "write_journal", write_journal)
            monkeypatch.setattr(sweep_plan, "is_dead", lambda _: True)
            assert run("undelete", out).code == 0

    monkeypatch.setattr(HeldRun, "write_journal", overtaken)
    swept = run("sweep", plan, "--delete")
    assert (swept.code, "taken over" in swept.json["stopped"]) == (11, True)
    assert (savepoints.complete, savepoints.files) == ([True] * 3, [2] * 3)


def test_a_signal_waits_for_the_check_after_files_are_gone(savepoints, monkeypatch) -> None:
    """A claim in between halts all collection, as without a signal (R22)."""
    savepoints.expire()
    delete, running = LocalStorage.delete, savepoints.chain.running

    def signalled(self, objects):
        results = delete(self, objects)
        gone = [savepoints.folders[0] / each.key.rpartition("/")[2] for each in objects]
        running.checkpoint(19, *(running.folder / "shared").iterdir(), *gone, age=DAY)
        os.kill(os.getpid(), signal.SIGTERM)
        return results

    monkeypatch.setattr(LocalStorage, "delete", signalled)
    with pytest.raises(AssertionError, match="interrupted"):
        savepoints.expire(*SHORT)
    assert savepoints.files == [0, 2, 2]
    assert "which expires" in savepoints.chain.expire().out


def test_a_file_that_cannot_be_deleted_skips_no_check_of_the_others(
    savepoints, monkeypatch
) -> None:
    """They are gone, and a claim in between halts all collection (R22)."""
    savepoints.expire()
    delete, running = LocalStorage.delete, savepoints.chain.running

    def one_fails(self, objects):
        results = delete(self, objects[1:])
        gone = [savepoints.folders[0] / each.key.rpartition("/")[2] for each in objects[1:]]
        running.checkpoint(19, *(running.folder / "shared").iterdir(), *gone, age=DAY)
        failed = DeletionStatus.FAILED
        return [DeletionResult(key=objects[0].key, status=failed, error="denied"), *results]

    monkeypatch.setattr(LocalStorage, "delete", one_fails)
    with pytest.raises(AssertionError, match="which expires"):
        savepoints.expire(*SHORT)
    assert savepoints.files == [1, 2, 2]
    assert "which expires" in savepoints.chain.expire().out


def test_a_crash_in_the_second_step_is_gone_on_with(savepoints, monkeypatch) -> None:
    savepoints.expire()
    delete = LocalStorage.delete

    def once(self, objects):
        delete(self, objects[:1])
        raise RuntimeError("crash")

    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "delete", once)
        with pytest.raises(RuntimeError, match="crash"):
            savepoints.expire(*SHORT)
    assert sum(savepoints.files) == 5
    savepoints.expire(*SHORT)
    assert savepoints.files == [0] * 3


def test_one_that_is_gone_since_the_cycle_takes_no_other_with_it(savepoints, monkeypatch) -> None:
    """What was seen may be wrong of the others, too; the next run looks again."""
    record = Quarantine._record

    def late(self, checkpoint):
        if "savepoint-" in checkpoint.uri:
            Path(checkpoint.uri, "_metadata").unlink()
        return record(self, checkpoint)

    out = savepoints.expire(delete=False)
    monkeypatch.setattr(Quarantine, "_record", late)
    ran = run("sweep", out, "--delete")
    assert (ran.code, sum(savepoints.complete)) == (4, 2)
    assert "is gone since the cycle" in ran.json["stopped"]


def test_those_of_another_storage_root_are_left_to_its_own_runs(savepoints) -> None:
    """Two roots may share a folder for savepoints; each has its own lock and memory."""
    chain, other = savepoints.chain, savepoints.chain.bed.folder / "other"
    own = Redeploys.made(other, stack := ExitStack(), count=2)
    with stack:
        extra = ("--extra-roots", savepoints.root, "--extra-roots", chain.bed.root)
        policy = ("--ended-for", "0", "--savepoints", savepoints.root)
        ended = ("--ended-job", chain.jobs[0].id, "--flink-rest", chain.server.url)
        ran = own.expire(*policy, *extra, *ended)
    found = [e for part in ran.json["expiry"]["lineages"] for e in part["checkpoints"]]
    why = {e["why"] for e in found if e["uri"] in map(str, savepoints.folders)}
    assert why == {"its job belongs to another storage root"}


def test_what_else_is_stored_in_the_folder_stays(savepoints) -> None:
    note = write(savepoints.folders[0] / "README", b"before the migration", DAY)
    stray = write(savepoints.folders[0] / f"{7:08x}-0000-4000-8000-{7:012x}", b"x", 90 * DAY)
    savepoints.expire()
    savepoints.expire(*SHORT)
    assert note.exists()
    assert stray.exists()
    assert savepoints.files == [1, 0, 0]


def test_max_deletes_counts_their_files(savepoints) -> None:
    savepoints.expire()
    out = savepoints.chain.bed.folder / "many"
    policy = ("--ended-for", "0", "--keep-last", "1", "--extra-roots", savepoints.root)
    limits = ("--savepoints", savepoints.root, *SHORT, "--max-deletes", "3")
    savepoints.chain.expire("--out", out, *policy, *limits)
    ran = run("sweep", out, "--delete")
    assert ran.code != 0
    assert sum(savepoints.files) >= 3


def test_bytes_that_a_living_job_needs_are_no_unneeded_ones(savepoints) -> None:
    """The running job was restored in place: its checkpoint names a file of a savepoint."""

    def unneeded() -> int:
        policy = ("--ended-for", "0", "--savepoints", savepoints.root)
        places = ("--extra-roots", savepoints.root)
        return int(savepoints.chain.expire(*policy, *places).json["expiry"]["unneeded_bytes"])

    before, files = unneeded(), [*savepoints.folders[0].glob("0*")]
    chain, origin = savepoints.chain, savepoints.chain.folder_of("0/6")
    chain.running.checkpoint(18, *files, age=DAY)
    chain.server.routes.update(flink(chain.running, completed=18, restored=(6, origin)))
    assert unneeded() == before - sum(path.stat().st_size for path in files)
