"""Losses by wrong times: one clock, frozen early; what is unknown is young."""

import os
from dataclasses import replace
from datetime import timedelta

import pytest

from cli.helpers import DAY, ENDED, Bed, contents, flink, now, run, write
from cli.stories import make_story
from flinkstate.files import mounts
from orphangc.adapters.files import mount_table
from orphangc.adapters.files.local_storage import LocalStorage
from safety.incidents.essential import must_be_there
from safety.incidents.hooks import after_the_cycle, during_the_listing
from support.rest_server import RestServer

NO_MARGINS = (
    *("--grace-period", "0", "--clock-skew", "0", "--quiet-period", "0"),
    "--allow-short-margins",
)


@pytest.mark.answered_by("frozen_cutoff")
def test_juicefs_5068_the_cutoff_is_frozen_before_the_listing(story, monkeypatch) -> None:
    """It was computed after a long scan, so fresh files looked old (also Kopia#1949)."""
    written = []
    during_the_listing(monkeypatch, lambda: written.append(story.job.shared(age=timedelta(0))))
    plan = story.bed.plan(*NO_MARGINS)
    assert plan.verdict(written[0]) == ("keep", "too_young")
    assert plan.verdict(story.orphans[0]) == ("tombstone", "orphan")
    began = plan.document["bounds"]["cutoff"]
    assert began <= plan.document["created_at"]


def test_kopia_1949_the_margins_of_a_plan_do_not_shrink_until_it_is_swept(story) -> None:
    """What the sweep finds due and the plan did not is left for the next plan."""
    story.bed.cycle()
    plan = story.bed.plan()
    late = story.job.shared()
    assert story.bed.sweep(plan, "--delete").code == 0
    assert late.exists()
    assert story.bed.plan().verdict(late) == ("tombstone", "orphan")


@pytest.mark.parametrize("stored_at", [0, -1, -86_400 * 365, 1e-6], ids=str)
@pytest.mark.answered_by("known_times", not_for=("1e-06",))
def test_amoro_2924_a_store_time_of_zero_or_less_keeps(story, stored_at) -> None:
    """The object store answered 0, and the age guard passed for everything (also #2925)."""
    os.utime(story.orphans[0], (stored_at, stored_at))
    plan = story.bed.plan()
    expected = ("keep", "too_young") if stored_at <= 0 else ("tombstone", "orphan")
    assert plan.verdict(story.orphans[0]) == expected
    assert plan.verdict(story.orphans[1]) == ("tombstone", "orphan")


@pytest.mark.answered_by("known_times")
def test_fluss_3590_an_object_without_a_store_time_is_kept(story) -> None:
    """A link has none that counts: it is not what it leads to."""
    link = story.orphans[0]
    link.rename(story.bed.folder / "target")
    link.symlink_to(story.bed.folder / "target")
    plan = story.bed.plan()
    assert plan.verdict(link) == ("keep", "too_young")
    assert plan.rows[str(link.relative_to(story.bed.root))]["modified_at"] is None


@pytest.mark.parametrize("ahead", [timedelta(hours=1), 400 * DAY], ids=str)
@pytest.mark.answered_by("guard:future_time")
def test_amoro_2924_a_store_time_in_the_future_voids_its_job(story, ahead) -> None:
    """Written by a wrong clock, or by hand: then no time in the directory proves anything."""
    other = make_story(story.bed, 2)
    at = (now() + ahead).timestamp()
    os.utime(story.live[0], (at, at))
    plan = story.bed.plan()
    assert plan.refusal(story.job) == "future_time"
    assert plan.refusal(other.job) is None
    assert {plan.verdict(path) for path in story.orphans} == {("keep", "job_refused")}


@pytest.mark.parametrize("ahead", [timedelta(hours=1), -timedelta(hours=1)], ids=str)
@pytest.mark.answered_by("guard:clock_skew")
def test_icechunk_1083_a_store_whose_clock_disagrees_is_refused(story, monkeypatch, ahead) -> None:
    """Retention by the host's clock, creation by the store's (also #2310, datahike#885)."""
    clock = LocalStorage.now

    def skewed(self):
        shown = clock(self)
        return replace(shown, now=shown.local + ahead)

    monkeypatch.setattr(LocalStorage, "now", skewed)
    plan = story.bed.plan()
    assert (plan.ran.code, plan.refusal(story.job)) == (4, "clock_skew")


@pytest.mark.answered_by("condition:store_clock_unknown")
def test_datahike_885_a_store_that_tells_no_time_deletes_nothing(story, monkeypatch) -> None:
    """Without the store's clock no age is known."""
    clock = LocalStorage.now
    monkeypatch.setattr(LocalStorage, "now", lambda self: replace(clock(self), now=None))
    plan, swept = story.bed.cycle()
    assert plan.blocks(story.job) == ["store_clock_unknown"]
    plan, swept = story.bed.cycle()
    assert (swept.code, all(path.exists() for path in story.orphans)) == (4, True)


def mounted(monkeypatch, *, ahead: timedelta, is_near: bool = True) -> None:
    """Let the storage root lie on NFS, and this host's clock be ahead of its server's."""
    monkeypatch.setattr(mount_table, "device_in", lambda *_: "nfs4 server:/export")
    monkeypatch.setattr(mount_table, "is_on_same_device", lambda *_: is_near)
    monkeypatch.setattr(mount_table, "host_now", lambda: now() + ahead)


@pytest.mark.answered_by("clock_of_a_mount")
@pytest.mark.parametrize("is_near", [True, False])
def test_a_mounted_file_system_has_a_clock_of_its_own(story, monkeypatch, is_near) -> None:
    """Issue 13, point 9: the host's time was taken for the server's, and young files looked old."""
    mounted(monkeypatch, ahead=30 * DAY, is_near=is_near)
    young = story.job.shared(age=timedelta(hours=1))
    before = set(contents(story.bed.root))
    for _ in range(2):
        plan = story.bed.plan()
        story.bed.sweep(plan, "--delete")
    assert plan.verdict(young)[0] == "keep" or plan.blocks(story.job)
    must_be_there(young)
    assert set(contents(story.bed.root)) == before
    said = plan.refusal(story.job), plan.blocks(story.job)
    assert (said[0] == "clock_skew") if is_near else ("store_clock_unknown" in said[1])


@pytest.mark.answered_by("clock_of_a_mount")
def test_what_is_mounted_below_the_storage_root_has_a_clock_of_its_own(story, monkeypatch) -> None:
    """A container made the folder around two volumes of NFS, and it is dated by this host."""
    table = f"{mounts.table_text()}99 1 0:99 / {story.job.folder} rw - nfs4 server:/export rw\n"
    monkeypatch.setattr(mount_table, "table_text", lambda: table)
    just_written = story.job.shared(age=20 * DAY)  # by the clock of that server
    for _ in range(2):
        plan, _ = story.bed.cycle()
    must_be_there(just_written)
    assert plan.blocks(story.job) == ["store_clock_unknown"]


def test_a_mounted_file_system_whose_clock_agrees_is_collected(story, monkeypatch) -> None:
    """A new file in the state location shows it; the state holds no trace of that."""
    mounted(monkeypatch, ahead=timedelta(0))
    for _ in range(2):
        story.bed.cycle()
    assert not any(path.exists() for path in story.orphans)
    assert not list(story.bed.state.rglob(".orphangc-probe-*"))


@pytest.mark.answered_by("plan_identity")
def test_kopia_1253_time_that_moves_back_between_plan_and_sweep_is_refused(
    story, monkeypatch
) -> None:
    """Whose clock was wrong, nobody knows."""
    story.bed.cycle()
    plan = story.bed.plan()
    earlier = now() - timedelta(hours=2)
    monkeypatch.setattr("orphangc.app.runner.sweep_plan.now", lambda: earlier)
    ran = story.bed.sweep(plan, "--delete")
    assert (ran.code, all(path.exists() for path in story.orphans)) == (4, True)


@pytest.mark.answered_by("cutoff")
def test_kafka_20805_a_folder_says_nothing_of_the_age_of_what_is_in_it(story) -> None:
    """A folder's time was frozen since its creation: deleted a second after its release."""
    young = story.job.shared(age=timedelta(hours=2))
    for folder in (story.job.folder / "shared", story.job.folder, story.bed.root):
        os.utime(folder, (1_000_000_000, 1_000_000_000))
    plan = story.bed.plan("--quiet-period", "0", "--allow-short-margins")
    assert plan.verdict(young) == ("keep", "too_young")


@pytest.mark.parametrize("period", ["-1h", "2026-01-01", "99999d"])
@pytest.mark.answered_by("durations")
def test_paimon_4779_an_age_that_lies_in_the_future_is_no_setting(story, period) -> None:
    """``older_than`` tomorrow was accepted."""
    ran = story.bed.plan("--grace-period", period).ran
    assert (ran.code, len(ran.complaints)) == (2, 1)


@pytest.mark.parametrize("period", ["0", "1h", "23h59m59s"])
@pytest.mark.parametrize("margin", ["grace", "quarantine", "quiet"])
@pytest.mark.answered_by("safe_minimums")
def test_risingwave_26303_a_margin_below_its_safe_minimum_takes_insistence(
    tmp_path, margin, period
) -> None:
    """A retention shorter than a write was believed at once (also pgducklake, Harbor)."""
    bed = make_story(Bed(tmp_path, ENDED)).bed
    short = (f"--{margin}-period", period)
    ran = bed.plan(*short).ran
    assert (ran.code, len(ran.complaints)) == (2, 1)
    assert "allow_short_margins (--allow-short-margins) accepts it" in ran.complaints[0]
    assert bed.plan(*short, "--allow-short-margins").ran.code == 0
    assert bed.plan(*short, "--allow-short-grace-period").ran.code == 0


@pytest.mark.answered_by("safe_minimums")
def test_a_quarantine_of_nothing_lets_two_runs_in_a_minute_delete(tmp_path) -> None:
    """R17: one cycle's mistake must have a day in which a person, or another cycle, sees it."""
    story = make_story(Bed(tmp_path, (*ENDED, "--quarantine-period", "0")))
    for _ in range(2):
        plan = story.bed.plan()
        if plan.ran.code == 0:
            story.bed.sweep(plan, "--delete")
    assert all(path.exists() for path in story.orphans)


@pytest.mark.answered_by("guard:copied_tree")
def test_icechunk_2310_one_store_time_for_everything_was_made_by_a_copy(story) -> None:
    """It says nothing of age."""
    at = (now() - 40 * DAY).timestamp()
    for path in story.job.folder.rglob("*"):
        if path.is_file():
            os.utime(path, (at, at))
    assert story.bed.plan().refusal(story.job) == "copied_tree"


@pytest.mark.answered_by("looking_again")
def test_a_long_sweep_judges_each_batch_by_the_roots_of_its_own_moment(story, monkeypatch) -> None:
    """A deletion is never older than the last look at the roots (also Paimon#3074)."""
    monkeypatch.setattr(LocalStorage, "batch_size", 1)
    story.bed.cycle()
    plan = story.bed.plan()
    first, second = sorted(story.orphans)
    delete = LocalStorage.delete

    def deleted(self, objects):
        results = delete(self, objects)
        if not second.exists():
            return results
        story.job.checkpoint(9, *story.live, second)
        return results

    monkeypatch.setattr(LocalStorage, "delete", deleted)
    assert story.bed.sweep(plan, "--delete").code == 0
    assert (first.exists(), second.exists()) == (False, True)


@pytest.mark.answered_by("condition:not_quiet", "guard:ended_job_is_running")
def test_a_job_declared_ended_that_still_writes_has_not_ended(story) -> None:
    """The quiet period is measured at the directory, not believed."""
    story.job.checkpoint(9, *story.live, age=DAY)
    assert story.bed.plan().blocks(story.job) == ["not_quiet"]
    with RestServer(flink(story.job, completed=9)) as server:
        plan = story.bed.plan("--flink-rest", server.url)
    assert plan.refusal(story.job) == "ended_job_is_running"


@pytest.mark.answered_by("looking_again")
def test_a_job_that_comes_to_life_during_the_sweep_keeps_its_files(story, monkeypatch) -> None:
    """Declared ended, and restored from its last checkpoint in that very moment."""
    story.bed.cycle()
    plan = story.bed.plan()
    after_the_cycle(
        monkeypatch, lambda: story.job.checkpoint(9, *story.live, *story.orphans, age=timedelta(0))
    )
    story.bed.sweep(plan, "--delete")
    assert all(path.exists() for path in (*story.live, *story.orphans))


def test_the_clock_of_a_plan_is_written_down(tmp_path) -> None:
    """Whoever reads it can tell which bound was the earliest."""
    story = make_story(Bed(tmp_path, ENDED))
    write(story.bed.folder / "x", b"", DAY)
    ran = run("plan", story.bed.root, "--state", story.bed.state, *ENDED)
    (job,) = ran.json["jobs"]
    bounds = [bound["at"] for bound in job["bounds"]]
    assert job["cutoff"] == min(bounds)
