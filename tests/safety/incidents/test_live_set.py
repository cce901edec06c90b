"""Losses by a live set that was stale, partial or empty."""

import shutil
from pathlib import Path

import pytest

from cli.helpers import AT_ONCE, DAY, Bed, Job, contents, flink, run, write
from cli.savepoints import distinct
from cli.stories import a_snapshot_of, make_story
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.core.exporter.registry_format import write_snapshot
from safety.incidents.essential import must_be_there
from safety.incidents.hooks import after_the_cycle, after_the_listing, during_the_listing, failing
from support.rest_server import RestServer


@pytest.mark.answered_by("reading_anew", "looking_again")
def test_clickhouse_114194_the_check_before_a_deletion_reads_anew(story, monkeypatch) -> None:
    """It had read the same stale pointer again, so it agreed (also #114324)."""
    story.bed.cycle()
    plan = story.bed.plan()
    named = story.orphans[0]
    after_the_cycle(monkeypatch, lambda: story.job.checkpoint(9, *story.live, named))
    story.bed.sweep(plan, "--delete")
    assert named.exists()


@pytest.mark.parametrize("hook", [during_the_listing, after_the_listing])
@pytest.mark.answered_by("guard:unstable_root + guard:no_roots")
def test_paimon_7710_the_only_checkpoint_of_a_job_expires_during_the_walk(
    undeclared, monkeypatch, hook
) -> None:
    """The used set was empty, so everything older than a day went (also #7715)."""
    job = undeclared.job
    with RestServer(flink(job, completed=8)) as server:
        hook(monkeypatch, lambda: shutil.rmtree(job.folder / "chk-7", ignore_errors=True))
        hook(monkeypatch, lambda: shutil.rmtree(job.folder / "chk-8", ignore_errors=True))
        plan = undeclared.bed.plan("--closed-world", "--flink-rest", server.url)
    assert plan.refusal(job) in {"unstable_root", "no_roots"}
    assert not plan.removals()


@pytest.mark.answered_by("guard:no_roots")
def test_paimon_7710_no_checkpoint_at_all_is_no_permission(undeclared) -> None:
    """No root never means that nothing is in use."""
    for number in (7, 8):
        shutil.rmtree(undeclared.job.folder / f"chk-{number}")
    plan = undeclared.bed.plan()
    assert (plan.ran.code, plan.refusal(undeclared.job)) == (4, "no_roots")


@pytest.mark.parametrize("method", ["folder", "objects", "read"])
@pytest.mark.answered_by("guard:unreadable_root", not_for=("folder", "objects"))
def test_icechunk_1101_an_error_on_any_page_is_no_plan(story, monkeypatch, method) -> None:
    """Listing errors were filtered away; an error in a scan returned a part (JuiceFS#6479)."""
    with monkeypatch.context() as patch:
        count = failing(patch, method, 0)
        story.bed.plan()
    before = but_for_the_memory(story.bed.folder)
    for number in range(1, count[0] + 1):
        with monkeypatch.context() as patch:
            failing(patch, method, number)
            plan = story.bed.plan()
        if method == "read":  # an unreadable root voids all; the plan says so
            assert (plan.ran.code, plan.removals()) == (4, set())
            shutil.rmtree(plan.path)
        else:
            assert (plan.ran.code, len(plan.ran.complaints)) == (10, 1)
            assert {each.name for each in plan.path.glob("*")} <= {".listing"}  # to go on with
            shutil.rmtree(plan.path, ignore_errors=True)
        assert but_for_the_memory(story.bed.folder) == before


def but_for_the_memory(folder: Path) -> dict[str, tuple[str, int] | None]:
    """Return everything below a folder but what a cycle remembers of the world."""
    found = contents(folder)
    return {name: kept for name, kept in found.items() if kept and "/world/" not in name}


@pytest.mark.parametrize("method", ["folder", "objects", "read", "stat"])
def test_juicefs_6481_an_error_anywhere_in_a_sweep_deletes_nothing_more(
    story, monkeypatch, method
) -> None:
    """Whatever fails, what is live is still there; nothing goes on half a picture."""
    story.bed.cycle()
    for number in range(1, 100):
        plan = story.bed.plan()
        with monkeypatch.context() as patch:
            count = failing(patch, method, number)
            swept = story.bed.sweep(plan, "--delete")
        assert all(path.exists() for path in story.live)
        if count[0] < number:
            assert swept.code == 0
            break
        assert swept.code != 0 or not any(path.exists() for path in story.orphans)
    assert not any(path.exists() for path in story.orphans)


@pytest.mark.parametrize("cut", [0, 1, 40, -1, -20])
@pytest.mark.answered_by("guard:unreadable_root")
def test_elasticsearch_47009_a_corrupt_root_stops_everything(story, cut) -> None:
    """Its references were ignored (also #100115); ZTO's cleaner logged it and moved the files."""
    metadata = story.job.folder / "chk-8" / "_metadata"
    write(metadata, metadata.read_bytes()[:cut], 19 * DAY)
    plan = story.bed.plan()
    assert (plan.ran.code, plan.refusal(story.job)) == (4, "unreadable_root")
    assert not plan.removals()


@pytest.mark.answered_by("guard:unreadable_root + condition:not_quiet + looking_again")
def test_zto_fire_metadata_being_written_stops_everything(story) -> None:
    """Partial metadata is unreadable metadata, between plan and sweep too."""
    story.bed.cycle()
    plan = story.bed.plan()
    whole = (story.job.folder / "chk-8" / "_metadata").read_bytes()
    write(story.job.folder / "chk-9" / "_metadata", whole[: len(whole) // 2], DAY)
    swept = story.bed.sweep(plan, "--delete")
    assert (swept.code, all(path.exists() for path in story.orphans)) == (4, True)


@pytest.mark.answered_by("guard:unreadable_root")
def test_a_root_that_is_listed_and_never_there_stops_everything(story, monkeypatch) -> None:
    """Vanished once is a new look; vanished always is unreadable (R6)."""
    read = LocalStorage.read

    def half_gone(self, key, *, max_bytes):
        return None if key.endswith("chk-8/_metadata") else read(self, key, max_bytes=max_bytes)

    monkeypatch.setattr(LocalStorage, "read", half_gone)
    plan = story.bed.plan()
    assert (plan.ran.code, plan.refusal(story.job)) == (4, "unreadable_root")


@pytest.mark.answered_by("reading_anew")
def test_infino_549_a_deferred_deletion_is_judged_anew_when_it_is_due(story) -> None:
    """Deletes queued against an old snapshot ran after newer commits had reused the files."""
    story.bed.cycle()
    plan = story.bed.plan()
    story.job.checkpoint(9, *story.live, *story.orphans)
    swept = story.bed.sweep(plan, "--delete")
    assert (swept.code, all(path.exists() for path in story.orphans)) == (4, True)


def test_loki_8359_an_empty_world_is_refused(story) -> None:
    """A changed setting made the compactor see nothing, and it deleted all."""
    story.bed.cycle()
    plan = story.bed.plan()
    shutil.move(story.bed.root, story.bed.folder / "away")
    story.bed.root.mkdir()  # as an unmounted disk looks
    swept = story.bed.sweep(plan, "--delete")
    assert (swept.code, len(swept.complaints)) == (4, 1)
    assert story.bed.plan().ran.code == 4
    shutil.rmtree(story.bed.root)
    assert story.bed.sweep(plan, "--delete").code == 10


@pytest.mark.answered_by("limits")
def test_loki_8359_a_share_of_the_listing_is_a_breaker(bed) -> None:
    """Nearly all of a job is more likely a mistake than a leak."""
    story = make_story(bed, orphans=20)
    plan, swept = bed.cycle()
    assert plan.blocks(story.job) == ["max_delete_share"]
    _, swept = bed.cycle()
    assert (swept.code, all(path.exists() for path in story.orphans)) == (4, True)


def test_loki_8359_tombstones_are_bound_to_their_storage_root(story) -> None:
    """Another bucket with the same keys finds none."""
    story.bed.cycle()
    twin = Bed(story.bed.folder, story.bed.options)
    twin.root, twin.plans = story.bed.folder / "twin", 10
    shutil.copytree(story.bed.root, twin.root)
    for bound in story.bed.state.glob("*/root.json"):
        bound.unlink()  # else the twin's jobs would have two owners
    plan = twin.plan("--alias", f"{story.bed.root}={twin.root}")
    assert {row["action"] for row in plan.rows.values()} == {"keep", "tombstone"}


@pytest.mark.answered_by("condition:nothing_protected")
def test_neon_garbage_refuses_a_running_job_that_needs_nothing(undeclared) -> None:
    """A list that counts no living tenant is more likely wrong than true."""
    job = undeclared.job
    for number in (7, 8):
        job.checkpoint(number)
    with RestServer(flink(job, completed=8)) as server:
        plan = undeclared.bed.plan("--closed-world", "--flink-rest", server.url)
    assert "nothing_protected" in plan.blocks(job)


@pytest.mark.answered_by("every_root", "condition:registry_order_unproven")
def test_neon_garbage_an_empty_snapshot_adds_no_permission(story) -> None:
    """A legitimate zero is whole, and protects nothing; the roots protect all the same."""
    snapshot = a_snapshot_of(story.job)
    file = story.bed.folder / "snapshot"
    file.write_bytes(write_snapshot(snapshot, ()))
    plan = story.bed.plan("--registry", file)
    assert {plan.verdict(path) for path in story.live} == {("keep", "referenced")}
    assert "registry_order_unproven" in plan.blocks(story.job)


@pytest.mark.answered_by("guard:unreadable_root")
def test_delta_1797_what_flink_needs_besides_state_is_on_no_list_of_candidates(story) -> None:
    """A new listing did not hide the log directory, and VACUUM deleted the transaction log."""
    job = story.job.folder
    places = [
        job / "chk-9" / "._metadata.inprogress.1234",
        job / "shared" / "_metadata",
        job / "shared" / ".crc",
        story.bed.root / "completedCheckpoint0123456789ab",
        story.bed.root / "submittedJobGraph0123456789ab",
        story.bed.root / "job-result-store" / f"{story.job.id}.json",
        story.bed.root / "_entropy_" / "x",
    ]
    for place in places[:1] + places[2:]:
        write(place, b"x", 30 * DAY)
    plan = story.bed.plan()
    assert {plan.verdict(place)[0] for place in places[:1] + places[2:]} == {"keep"}
    write(places[1], b"x", 30 * DAY)
    assert story.bed.plan().refusal(story.job) == "unreadable_root"


@pytest.mark.answered_by("limits + condition:place_lost")
def test_a_storage_that_loses_its_roots_between_two_cycles_loses_nothing_else(story) -> None:
    """A root that disappears: an ended job has none left, and its share is all of it."""
    story.bed.cycle()
    for number in (7, 8):
        shutil.rmtree(story.job.folder / f"chk-{number}")
    plan, swept = story.bed.cycle()
    assert plan.blocks(story.job) == ["place_lost", "max_delete_share"]
    assert (swept.code, all(path.exists() for path in (*story.live, *story.orphans))) == (4, True)
    assert run("sweep", plan.path, "--delete").code == 4
    assert AT_ONCE[0] in story.bed.options


@pytest.mark.answered_by("statements_on_prefixes")
def test_r4_a_statement_on_a_bucket_is_older_than_what_a_job_was_restored_from_in_it(
    tmp_path,
) -> None:
    """It held no checkpoint when that was written, and nobody gave this collector a right to it.

    Since then a job was started from one that names files here. Without HA metadata a JobManager
    that is lost starts from it again, whatever the job has stored since.
    """
    bed = Bed(tmp_path)
    old, new = (Job(each, bed.root / each) for each in (distinct(0), distinct(1)))
    named = old.shared(f"{1:08x}-0000-4000-8000-{1:012x}", age=20 * DAY)
    old.checkpoint(5, old.shared(age=20 * DAY), age=10 * DAY)
    new.checkpoint(7, new.shared(age=2 * DAY), age=1 * DAY)
    routes = flink(new, completed=7, restored=(3, bed.folder / "chk-3"))
    route = f"/jobs/{new.id}/checkpoints"
    _, said = routes[route]
    place = f"file:{bed.folder}".encode()
    routes[route] = 200, said.replace(place + b"/chk-3", b"s3://archive/exports/chk-3")
    margins = ("--grace-period", "0", "--quiet-period", "0", *AT_ONCE)
    asked = ("--closed-world", "--search-except", "s3://archive", "--ended-job", old.id)
    with RestServer(routes) as server:
        for _ in range(2):
            plan = bed.plan("--flink-rest", server.url, *asked, *margins, "--max-delete-share", "1")
            bed.sweep(plan, "--delete")
    must_be_there(named)
