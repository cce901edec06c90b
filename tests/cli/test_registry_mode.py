"""Registry mode from the command line: a running job with four checkpoints at once, no Flink."""

import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from cli.helpers import AT_ONCE, DAY, Bed, Job, Planned, flink, now, outcomes, run, write
from cli.stories import Story, a_snapshot_of, make_story
from orphangc.collect.decide import judged_cycle
from orphangc.core.exporter.registry_snapshot import (
    EntryKind,
    IssuedCheckpoint,
    JobSettings,
    MergingSettings,
    RegistryEntry,
    RegistrySnapshot,
    RetainedCheckpoint,
)
from orphangc.core.model.types import JobId
from safety.incidents.hooks import (
    after_the_cycle,
    after_the_listing,
    during_the_listing,
    hidden_from_the_listing,
)
from support.exporters import Exporter
from support.rest_server import RestServer

MODE = ("--closed-world", "--registry-wait", "6s")


def of_story(story: Story, *registered: Path, oldest: int = 7) -> RegistrySnapshot:
    entry = [RegistryEntry(f"file:{path}", EntryKind.FILE, 1, 1, 1) for path in registered]
    return a_snapshot_of(story.job, oldest, 8, sequence=10, max_concurrent=4, entries=tuple(entry))


@dataclass
class Mode4:
    """A running job, its exporter, and a collector that sleeps while others work."""

    story: Story
    exporter: Exporter

    @property
    def bed(self) -> Bed:
        return self.story.bed

    def plan(self, *options: object) -> Planned:
        return self.bed.plan(*MODE, "--registry", self.exporter.folder, *options)

    def refused(self) -> str:
        plan = self.plan()
        assert plan.refusal(self.story.job) == "registry"
        assert not plan.removals()
        return plan.job(self.story.job)["refused"]["message"]


@pytest.fixture
def sleeping(monkeypatch) -> Callable[[Callable[[], object]], None]:
    """Let something happen instead of each sleep."""

    def instead(action: Callable[[], object]) -> None:
        monkeypatch.setattr(time, "sleep", lambda _: action())

    return instead


@pytest.fixture
def rest(mode) -> Iterator[RestServer]:
    with RestServer(flink(mode.story.job, completed=8, max_concurrent=4)) as server:
        yield server


def exporting(story: Story, sleeping: Callable[[Callable[[], object]], None]) -> Mode4:
    """Return a story whose job's exporter answers whenever the collector sleeps."""
    registered = of_story(story, *story.live)
    exporter = Exporter(story.bed.folder / "registry", registered, now())
    exporter.at -= timedelta(seconds=60)
    exporter.export()
    sleeping(exporter.export)
    return Mode4(story, exporter)


@pytest.fixture
def mode(undeclared, sleeping) -> Mode4:
    return exporting(undeclared, sleeping)


def test_it_lifts_the_gate_and_nothing_else_and_deletes(mode) -> None:
    """R13, R14: from plan to deletion, with four checkpoints at once."""
    job, bed = mode.story.job, mode.bed
    with RestServer(flink(job, completed=8, max_concurrent=4)) as server:
        options = (*AT_ONCE, "--flink-rest", server.url)
        assert bed.plan("--closed-world", *options).refusal(job) == "gate"
        plan = mode.plan(*options)
        assert plan.job(job)["mode"] == "registry"
        assert (plan.refusal(job), plan.blocks(job)) == (None, [])
        assert {plan.verdict(each)[0] for each in mode.story.orphans} == {"tombstone"}
        assert plan.verdict(mode.story.live[0]) == ("keep", "referenced")
        assert bed.sweep(plan, "--delete").code == 0
        job.checkpoint(9, *mode.story.live, age=timedelta(0))
        server.routes.update(flink(job, completed=9, max_concurrent=4))
        plan = mode.plan(*options)
        assert bed.sweep(plan, "--delete").code == 0
    assert set(outcomes(plan).values()) == {"done"}
    assert [path.exists() for path in mode.story.orphans] == [False, False]
    assert all(path.exists() for path in mode.story.live)


def test_the_answer_alone_shows_that_the_job_runs_but_not_its_backend(mode) -> None:
    """R2: without REST a registry proves nothing of a backend that uses files in place."""
    plan = mode.plan()
    assert (plan.refusal(mode.story.job), plan.blocks(mode.story.job)) == (None, ["gate_not_seen"])
    names = {each["name"] for each in plan.job(mode.story.job)["bounds"]}
    assert names == {"grace_period", "oldest_own_root", "first_snapshot"}


def test_what_the_guide_shows_can_delete(mode) -> None:
    """U9: its options are all that the mode needs."""
    page = (Path(__file__).parents[2] / "gc/guide/registry-mode.md").read_text()
    (line,) = re.findall(r"^orphangc plan (.*--registry.*)$", page, re.MULTILINE)
    with RestServer(flink(mode.story.job, completed=8, max_concurrent=4)) as server:
        meant = {"s3://bucket/checkpoints": None, "http://jobmanager:8081": server.url}
        meant["s3://bucket/registry"] = mode.exporter.folder
        options = [meant.get(word, word) for word in line.split()]
        plan = mode.bed.plan(*filter(None, options))
    assert (plan.refusal(mode.story.job), plan.blocks(mode.story.job)) == (None, [])


def test_what_became_registered_during_the_listing_is_kept(mode, monkeypatch) -> None:
    """The registry only protects, so it is read last."""
    named = mode.story.orphans[0]
    later = of_story(mode.story, *mode.story.live, named).entries

    def register() -> None:
        mode.exporter.template = replace(mode.exporter.template, entries=later)

    after_the_listing(monkeypatch, register)
    plan = mode.plan()
    assert plan.verdict(named) == ("keep", "referenced")
    assert plan.verdict(mode.story.orphans[1]) == ("tombstone", "orphan")


def test_what_completes_while_an_answer_is_waited_for_is_kept(mode, sleeping) -> None:
    """R14: roots are read after E2, for what no registry holds."""
    private = mode.story.orphans[0]

    def go_on() -> None:
        mode.story.job.checkpoint(9, *mode.story.live, private, age=timedelta(0))
        mode.exporter.export()

    sleeping(go_on)
    assert mode.plan().verdict(private) == ("keep", "referenced")


def test_an_id_that_was_issued_long_ago_keeps_all_since(mode) -> None:
    """R16: a pending checkpoint's uploads are as old as its id at most, less twice the slack."""
    young = mode.story.job.shared(age=25 * DAY - timedelta(minutes=29))
    old = mode.story.job.shared(age=25 * DAY + timedelta(hours=1))
    pending = IssuedCheckpoint(id=9, at=now() - 25 * DAY)
    done = IssuedCheckpoint(id=7, at=now() - 29 * DAY)
    mode.exporter.export(issued=(done, pending))
    plan = mode.plan()
    assert plan.verdict(young) == ("keep", "too_young")
    assert plan.verdict(old) == ("tombstone", "orphan")


def test_ids_only_exclude_more_also_where_a_counter_began_anew(mode) -> None:
    """R24: an id says nothing in another incarnation; the time must pass as well."""
    name = "00000000-0000-4000-8000-00000000000{}"
    low_but_young = mode.story.job.shared(f"1_{name.format(1)}", age=timedelta(0))
    high_and_old = mode.story.job.shared(f"4711_{name.format(2)}", age=30 * DAY)
    low_and_old = mode.story.job.shared(f"1_{name.format(3)}", age=30 * DAY)
    plan = mode.plan()
    assert plan.verdict(low_but_young) == ("keep", "too_young")
    assert plan.verdict(high_and_old) == ("keep", "not_older_than_oldest_retained")
    assert plan.verdict(low_and_old) == ("tombstone", "orphan")


VOIDS = {
    "nobody answers": "no registry snapshot repeated the nonce within 6 s",
    "killed between E1 and E2": "was started again between the snapshots",
    "two at once": "two JobManagers export its registry at once, epochs epoch-1 and 2nd",
    "half written": "snapshot-9999999999999-x-1.jsonl: cannot read registry snapshot at line 1",
    "clock ahead": "is dated in the future: the JobManager's clock is ahead",
    "clock behind": "long before the nonce that it repeats: the JobManager's clock is behind",
    "clock put back": "was taken before snapshot",
    "clock put forward": ", in the future: the JobManager's clock is ahead",
}


@pytest.mark.parametrize("what", VOIDS)
def test_whatever_breaks_the_order_voids_in_its_own_words(mode, sleeping, what) -> None:
    """R15; and it is never derived mode instead."""
    exporter = mode.exporter
    successor = Exporter(exporter.folder, replace(exporter.template, jm_epoch="2nd"), now())
    sleeping(exporter.export)
    if what == "nobody answers":
        sleeping(lambda: None)
    elif what == "killed between E1 and E2":
        sleeping(successor.export)
    elif what == "two at once":
        exporter.export()
        exporter.at += timedelta(minutes=2)
        sleeping(lambda: (successor.export(), exporter.export()))
    elif what == "half written":
        (exporter.place / "snapshots" / "snapshot-9999999999999-x-1.jsonl").write_bytes(b"{")
    elif what == "clock ahead":
        exporter.at = now() + timedelta(hours=1)
        exporter.export()
    elif what == "clock behind":
        shutil.rmtree(exporter.place / "snapshots")
        exporter.at = now() - timedelta(minutes=50)
        exporter.export()
    else:
        exporter.at += timedelta(hours=-1 if what == "clock put back" else 1)
    message = mode.refused()
    assert [each for each, words in VOIDS.items() if words in message] == [what], message


def test_a_file_of_a_slow_second_jobmanager_is_kept(mode) -> None:
    """R15: two with one job id wrote in turn before the cycle, and only one answers in time."""
    exporter, needed = mode.exporter, mode.story.orphans[0]
    entries = of_story(mode.story, needed).entries
    slow = Exporter(
        exporter.folder, replace(exporter.template, jm_epoch="slow", entries=entries), exporter.at
    )
    for each in (slow, exporter, slow, exporter):
        each.at = exporter.at = exporter.at + timedelta(seconds=1)
        each.export()
    message = mode.refused()
    assert "two JobManagers export its registry at once, epochs epoch-1 and slow" in message


def test_a_jobmanager_that_was_killed_just_now_is_not_taken_for_a_second_one(mode) -> None:
    """R15: its successor has marked its life and written no snapshot: refused, in other words."""
    at = now()
    mode.exporter.mark_owner(began=at - timedelta(minutes=90), alive=at - timedelta(minutes=2))
    after = Exporter(mode.exporter.folder, replace(mode.exporter.template, jm_epoch="next"), at)
    after.mark_owner(began=at - timedelta(minutes=1), alive=at)
    message = mode.refused()
    assert "its JobManager was replaced: epoch next began after the last sign of epoch" in message
    assert "at once" not in message


@pytest.mark.parametrize("minutes", [10, 50, 70])
def test_a_second_jobmanager_that_has_exported_nothing_yet_is_seen(mode, minutes) -> None:
    """R15: its first snapshot takes long; its marker was there before. One that is dead is not."""
    at = now()
    mode.exporter.mark_owner(began=at - timedelta(minutes=90), alive=at)
    beside = replace(mode.exporter.template, jm_epoch="slow")
    slow = Exporter(mode.exporter.folder, beside, at)
    slow.mark_owner(began=at - timedelta(minutes=80), alive=at - timedelta(minutes=minutes))
    plan = mode.plan()
    if minutes > 60:
        assert plan.refusal(mode.story.job) is None
    else:
        assert "at once, epochs epoch-1 and slow" in mode.refused()


def test_an_exporter_that_has_stopped_voids_without_waiting(mode, sleeping) -> None:
    """R15: too old; an ended job's is as old, and does not matter."""
    for path in (mode.exporter.place / "snapshots").iterdir():
        path.unlink()
    mode.exporter.at = now() - 10 * DAY
    mode.exporter.export()

    def never() -> None:
        raise AssertionError("nobody is there to be waited for")

    sleeping(never)
    assert "has the exporter stopped?" in mode.refused()
    plan = mode.plan("--ended-job", mode.story.job.id)
    assert (plan.refusal(mode.story.job), plan.blocks(mode.story.job)) == (None, [])
    assert {plan.verdict(each)[0] for each in mode.story.orphans} == {"tombstone"}


def test_a_job_declared_ended_whose_exporter_lives_is_not(mode, monkeypatch) -> None:
    """R13: what is exported is not over."""
    plan = mode.plan("--ended-job", "all")
    assert plan.blocks(mode.story.job) == ["not_quiet"]
    after_the_listing(monkeypatch, mode.exporter.export)
    plan = mode.plan("--ended-job", "all")
    assert "goes on writing" in plan.job(mode.story.job)["refused"]["message"]


def test_each_living_job_must_have_an_exporter(mode) -> None:
    """R15: and one that is off keeps to no derived mode."""
    other = make_story(mode.bed, 2)
    plan = mode.plan()
    assert plan.refusal(mode.story.job) is None
    assert plan.refusal(other.job) == "registry"
    (mode.exporter.folder / other.job.id / "snapshots").mkdir(parents=True)
    plan = mode.plan()
    assert "no registry snapshot yet" in plan.job(other.job)["refused"]["message"]


@pytest.mark.parametrize("answers", [True, False])
def test_a_job_elsewhere_that_claimed_files_here_must_answer_too(mode, sleeping, answers) -> None:
    """R15: several jobs reference one directory; what a pending checkpoint needs is registered."""
    directory = Job("c" * 32, mode.bed.folder / "elsewhere" / ("c" * 32))
    own = directory.shared()
    directory.checkpoint(8, own)
    files = of_story(mode.story, mode.story.orphans[0], own).entries
    claiming = replace(
        mode.exporter.template,
        job_id=JobId("c" * 32),
        checkpoint_dir=str(directory.folder),
        entries=files,
        retained=mode.exporter.template.retained[1:],
    )
    other = Exporter(mode.exporter.folder, claiming, mode.exporter.at)
    other.export()
    sleeping(lambda: (mode.exporter.export(), answers and other.export()))
    plan = mode.plan("--extra-roots", mode.bed.folder / "elsewhere")
    assert plan.verdict(mode.story.orphans[0])[0] == "keep"
    assert plan.refusal(mode.story.job) == (None if answers else "dependent_job")
    if not answers:
        assert "repeated the nonce" in plan.job(mode.story.job)["refused"]["message"]
    without = mode.plan().refusal(mode.story.job)
    assert without == (None if answers else "dependent_job"), "its snapshot names its roots"


def test_where_nonces_cannot_be_written_the_plan_is_a_report(mode) -> None:
    """R14: blocked, and nothing refused; a folder stands where the nonce should."""
    (mode.exporter.place / "nonce").mkdir()
    mode.exporter.look = lambda: None
    plan = mode.plan()
    assert plan.refusal(mode.story.job) is None
    assert plan.blocks(mode.story.job) == ["gate_not_seen", "registry_order_unproven"]
    assert {plan.verdict(each)[0] for each in mode.story.orphans} == {"tombstone"}


@dataclass
class Quick:
    """A job that retains one checkpoint, and completes more than one during each listing."""

    mode: Mode4
    server: RestServer
    number: int = 8

    def complete(self, *lost: Path) -> None:
        """Complete a checkpoint with a new file, subsume the one before, and lose some files."""
        story, exporter = self.mode.story, self.mode.exporter
        old, self.number = self.number, self.number + 1
        new = story.job.shared(age=timedelta(0))
        story.job.checkpoint(self.number, *story.live[1:], new, age=timedelta(0))
        shutil.rmtree(story.job.folder / f"chk-{old}")
        for path in story.job.folder.glob("shared/*"):
            if path in lost or (path not in {*story.live, *story.orphans, new}):
                path.unlink()
        entries = of_story(story, *story.live[1:], new).entries
        retained = (RetainedCheckpoint(id=self.number, is_savepoint=False, path="x"),)
        exporter.template = replace(exporter.template, entries=entries, retained=retained)
        exporter.export()
        self.server.routes.update(flink(story.job, completed=self.number, max_concurrent=4))


@pytest.fixture
def quick(mode, rest) -> Quick:
    shutil.rmtree(mode.story.job.folder / "chk-7")
    found = Quick(mode, rest)
    found.complete()
    return found


def collects(quick: Quick) -> bool:
    """Lay tombstones and delete; return whether the orphans, and only they, have gone."""
    story, options = quick.mode.story, (*AT_ONCE, "--flink-rest", quick.server.url)
    for _ in range(2):
        plan = quick.mode.plan(*options)
        assert (plan.refusal(story.job), plan.blocks(story.job)) == (None, [])
        assert quick.mode.bed.sweep(plan, "--delete").code == 0
    assert all(path.exists() for path in story.live[1:])
    return not any(path.exists() for path in story.orphans)


def test_a_job_whose_checkpoints_are_faster_than_the_listing_is_collected(
    quick, monkeypatch
) -> None:
    """U8: with one retained checkpoint, none stands from the first scan to the second."""
    during_the_listing(monkeypatch, quick.complete)
    after_the_listing(monkeypatch, quick.complete)
    assert collects(quick)


def test_a_checkpoint_that_is_subsumed_after_the_second_scan_is_not_damaged(
    quick, monkeypatch
) -> None:
    """U8: the newest one, looked for after its files had gone, names none of them."""
    after_the_listing(monkeypatch, quick.complete)
    marking = judged_cycle.mark
    monkeypatch.setattr(
        judged_cycle, "mark", lambda *seen, **of: (quick.complete(), marking(*seen, **of))[1]
    )
    assert quick.mode.plan().refusal(quick.mode.story.job) is None


def test_a_damaged_checkpoint_refuses_also_where_none_stays(quick, monkeypatch) -> None:
    """R8: each new one names the file that has gone."""
    lost = quick.mode.story.live[1]
    after_the_listing(monkeypatch, lambda: quick.complete(lost))
    quick.complete(lost)
    plan = quick.mode.plan()
    assert plan.refusal(quick.mode.story.job) == "damaged_latest_root"
    assert lost.name in plan.job(quick.mode.story.job)["refused"]["message"]


def test_a_truncated_listing_refuses_also_where_no_checkpoint_stays(quick, monkeypatch) -> None:
    """R8: a file that is there, and has been all the time, is not listed."""
    after_the_listing(monkeypatch, quick.complete)
    hidden_from_the_listing(monkeypatch, quick.mode.story.live[1].name)
    assert quick.mode.plan().refusal(quick.mode.story.job) == "damaged_latest_root"


@pytest.mark.parametrize("what", ["empty", "another registry", "one file lacks"])
def test_a_snapshot_that_contradicts_the_checkpoints_is_not_believed(mode, what) -> None:
    """R15: a file that only the true registry holds, for a pending checkpoint, must stay."""
    live, (needed, _) = mode.story.live, mode.story.orphans
    shown = {"empty": (), "another registry": (needed.with_name("x"),), "one file lacks": live[1:]}
    entries = of_story(mode.story, *shown[what]).entries
    mode.exporter.template = replace(mode.exporter.template, entries=entries)
    mode.exporter.export()
    message = mode.refused()
    assert "and has no entry for files of its shared state" in message
    assert live[0].name in message or what != "one file lacks"


def test_private_files_need_no_entry(mode) -> None:
    """RocksDB's manifest and options are of one checkpoint, and never registered."""
    private = mode.story.job.shared()
    mode.story.job.checkpoint(8, *mode.story.live[1:], age=19 * DAY, private=[private])
    plan = mode.plan()
    assert plan.refusal(mode.story.job) is None
    assert plan.verdict(private) == ("keep", "referenced")


def test_what_is_subsumed_during_the_cycle_needs_no_entry(mode, sleeping) -> None:
    """Its files leave the registry before its folder goes."""
    gone, *others = mode.story.live

    def subsume() -> None:
        shutil.rmtree(mode.story.job.folder / "chk-7")
        entries = of_story(mode.story, *others).entries
        mode.exporter.template = replace(mode.exporter.template, entries=entries)
        mode.exporter.export()
        sleeping(mode.exporter.export)

    sleeping(subsume)
    assert mode.plan().refusal(mode.story.job) is None
    assert gone.exists()


def pressed(mode: Mode4, rest: RestServer) -> Planned:
    """Lay tombstones, complete a checkpoint, and plan what is due by then."""
    options = (*AT_ONCE, "--flink-rest", rest.url)
    mode.bed.sweep(mode.plan(*options))
    mode.story.job.checkpoint(9, *mode.story.live, age=timedelta(0))
    rest.routes.update(flink(mode.story.job, completed=9, max_concurrent=4))
    plan = mode.plan(*options)
    assert {plan.verdict(each)[0] for each in mode.story.orphans} == {"delete"}
    assert plan.blocks(mode.story.job) == []
    return plan


def test_a_new_snapshot_protects_during_the_sweep(mode, rest, monkeypatch) -> None:
    """R18: before each batch."""
    plan = pressed(mode, rest)
    named = mode.story.orphans[0]
    entries = of_story(mode.story, *mode.story.live, named).entries
    after_the_cycle(monkeypatch, lambda: mode.exporter.export(entries=entries))
    ran = mode.bed.sweep(plan, "--delete")
    assert named.exists(), ran.err
    assert not mode.story.orphans[1].exists()


@pytest.mark.parametrize("what", ["restarted", "restarted behind", "half written", "gone"])
def test_a_registry_that_changed_stops_the_sweep(mode, rest, monkeypatch, what) -> None:
    """R18: a changed epoch, or an unreadable snapshot."""
    plan = pressed(mode, rest)
    place = mode.exporter.place / "snapshots"

    def change() -> None:
        if what.startswith("restarted"):
            if what.endswith("behind"):  # its snapshot's name sorts before those of the dead one
                mode.exporter.at -= timedelta(minutes=10)
            mode.exporter.restart("epoch-2")
            mode.exporter.export()
        elif what == "half written":
            (place / "snapshot-9999999999999-x-1.jsonl").write_bytes(b"{")
        else:
            for path in place.iterdir():
                path.unlink()

    after_the_cycle(monkeypatch, change)
    ran = mode.bed.sweep(plan, "--delete")
    assert ran.code == 4, ran.err
    assert all(path.exists() for path in mode.story.orphans)


def merging(*, across: bool | None, enabled: bool | None = True) -> JobSettings:
    """Return what the exporter shows of the job's own configuration."""
    return JobSettings(merging=MergingSettings(enabled=enabled, across=across))


RANDOM_ID = 0x4AE4A2986A0E1A49B0F165B58085D4B3


def merged_by(story: Story) -> Path:
    """Write an old file, merged by a subtask whose folder no checkpoint names any more."""
    folder = story.job.folder / "shared" / f"job_{story.job.id}_op_{'d' * 32}_0_4"
    return write(folder / "9b2c1a52-6f1e-4a4e-9d0b-0a4c6f1e2d3c", b"segments", 30 * DAY)


def test_what_is_merged_within_checkpoints_by_the_jobs_own_configuration_goes(
    tmp_path, sleeping
) -> None:
    """R46, R55: no statement is needed, from plan to deletion."""
    mode = exporting(make_story(Bed(tmp_path, AT_ONCE), RANDOM_ID), sleeping)
    job, merged = mode.story.job, merged_by(mode.story)
    told = {"settings": merging(across=False), "max_concurrent": 1}
    mode.exporter.template = replace(mode.exporter.template, **told)
    mode.exporter.export()
    for completed in (8, 9):
        if completed == 9:
            job.checkpoint(9, *mode.story.live, age=timedelta(0))
        with RestServer(flink(job, completed=completed)) as server:
            options = (*AT_ONCE, "--max-delete-share", "1", "--flink-rest", server.url)
            plan = mode.plan(*options)
            assert plan.blocks(job) == []
            mode.bed.sweep(plan, "--delete")
    assert not merged.exists()
    assert all(path.exists() for path in mode.story.live)


@pytest.mark.parametrize(
    ("told", "stated", "words"),
    [
        (JobSettings(), (), "Flink does not show whether"),
        (merging(across=False), (), "the job id is a fixed one"),
        (merging(across=None), (), "Flink does not show whether"),
        (merging(across=True), (), "is true in the job's own configuration"),
        (
            merging(across=True),
            ("--merged-within", "all"),
            "is true in the job's own configuration",
        ),
        (merging(across=False, enabled=False), ("--merged-within", "all"), "merges no files"),
    ],
    ids=[
        "version 1",
        "id that comes back",
        "not told",
        "across",
        "across, and a statement",
        "merges none",
    ],
)
def test_a_doubt_of_how_files_are_merged_keeps_them(mode, told, stated, words) -> None:
    """R46, R47: and `explain` says which."""
    merged = merged_by(mode.story)
    mode.exporter.template = replace(mode.exporter.template, settings=told)
    mode.exporter.export()
    with RestServer(flink(mode.story.job, completed=8)) as server:
        plan = mode.plan(*AT_ONCE, *stated, "--flink-rest", server.url)
    assert plan.verdict(merged)[0] == "keep"
    ran = run("explain", merged, "--plan", plan.path)
    assert words in ran.out


def test_the_doctor_reports_the_state_of_each_exporter(mode) -> None:
    """Age, epoch, and whether it can be asked; it plans once, so it writes a nonce."""
    config = mode.bed.folder / "orphangc.yaml"
    root = {"root": str(mode.bed.root), "state": str(mode.bed.state), "closed_world": True}
    root["registry"] = [str(mode.exporter.folder)]
    config.write_text(yaml.safe_dump({"storage_roots": [root]}))
    before = set(mode.exporter.folder.rglob("*"))
    found = {each["check"]: each for each in run("doctor", "--config", config).json}
    finding = found[f"exporter {mode.story.job.id}"]
    assert finding["health"] == "good"
    assert "snapshot 11 of epoch epoch-1 is" in finding["message"]
    assert "nonces can be written" in finding["message"]
    assert "1 job with an exporter" in found["registry"]["message"]
    written = {path.name for path in set(mode.exporter.folder.rglob("*")) - before}
    assert written == {"nonce", mode.exporter.written[-1]}
