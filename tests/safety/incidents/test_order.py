"""Losses by the order of reads and by writers in flight."""

import os
from datetime import timedelta

import pytest

from cli.helpers import AT_ONCE, DAY, UUID_1, Bed, flink, now, outcomes, write
from cli.stories import Story, a_snapshot_of, make_story
from orphangc.core.exporter.registry_format import write_snapshot
from orphangc.core.exporter.registry_snapshot import EntryKind, RegistryEntry
from safety.incidents.hooks import after_the_cycle, after_the_listing, during_the_listing
from support.rest_server import RestServer


@pytest.mark.parametrize("hook", [during_the_listing, after_the_listing])
@pytest.mark.answered_by("reading_anew")
def test_paimon_3074_a_checkpoint_completed_around_the_listing_protects(
    story, monkeypatch, hook
) -> None:
    """The live set was read, then the listing; what was committed in between looked unused."""
    named = story.orphans[0]
    story.bed.options = ("--closed-world", *AT_ONCE)
    hook(monkeypatch, lambda: story.job.checkpoint(9, *story.live, named, age=timedelta(0)))
    plan = story.bed.plan()
    assert plan.verdict(named) == ("keep", "referenced")


@pytest.mark.answered_by("identity")
def test_paimon_3074_a_file_renewed_between_plan_and_sweep_is_kept(story, monkeypatch) -> None:
    """Old name, new object."""
    story.bed.cycle()
    plan = story.bed.plan()
    after_the_cycle(monkeypatch, lambda: write(story.orphans[0], b"renewed", timedelta(0)))
    assert story.bed.sweep(plan, "--delete").code == 0
    assert [path.exists() for path in story.orphans] == [True, False]


@pytest.mark.answered_by("guard:unstable_root")
def test_paimon_3074_checkpoints_faster_than_the_listing_are_refused(
    undeclared, monkeypatch
) -> None:
    """One that is in neither look hides what it names; a stable one proves that none did."""
    job, live = undeclared.job, undeclared.live

    def go_on() -> None:
        for number in (7, 8):
            (job.folder / f"chk-{number}" / "_metadata").unlink(missing_ok=True)
        job.checkpoint(9, *live, age=timedelta(0))
        server.routes.update(flink(job, completed=9))

    with RestServer(flink(job, completed=8)) as server:
        after_the_listing(monkeypatch, go_on)
        plan = undeclared.bed.plan("--closed-world", "--flink-rest", server.url)
    assert plan.refusal(job) == "unstable_root"


@pytest.mark.answered_by("cutoff", "checkpoint_ids")
def test_medusa_363_files_come_first_and_the_manifest_last(undeclared) -> None:
    """A purge in between corrupted this and all later backups; here both margins keep them."""
    job = undeclared.job
    uploads = [
        job.shared(age=19 * DAY),
        job.shared(f"9_{UUID_1}", age=30 * DAY),
        job.shared(age=timedelta(0)),
        write(job.folder / "chk-9" / UUID_1, b"exclusive", timedelta(0)),
    ]
    with RestServer(flink(job, completed=8)) as server:
        plan = undeclared.bed.plan("--closed-world", "--flink-rest", server.url)
    assert plan.refusal(job) is None
    assert {plan.verdict(path)[0] for path in uploads} == {"keep"}
    assert plan.verdict(undeclared.orphans[0]) == ("tombstone", "orphan")


@pytest.mark.answered_by("guard:gate")
def test_spark_42353_a_file_reused_by_a_pending_checkpoint_needs_the_gate(undeclared) -> None:
    """A delayed upload named it later; with two pending ones no retained root need name it."""
    job = undeclared.job
    with RestServer(flink(job, completed=8, max_concurrent=2)) as server:
        plan = undeclared.bed.plan("--closed-world", "--flink-rest", server.url)
    assert plan.refusal(job) == "gate"
    assert not plan.removals()


@pytest.mark.answered_by("guard:unstable_root")
def test_spark_55892_a_completed_checkpoint_that_the_storage_does_not_show_refuses(
    undeclared,
) -> None:
    """Flink has completed 9, the listing ends at 8: what 9 names is unknown."""
    job = undeclared.job
    with RestServer(flink(job, completed=9)) as server:
        plan = undeclared.bed.plan("--closed-world", "--flink-rest", server.url)
    assert plan.refusal(job) == "unstable_root"


@pytest.mark.answered_by("every_root")
def test_iceberg_5846_files_that_only_a_checkpoint_refers_to_are_live(bed) -> None:
    """Removed files were named by Flink's checkpoint state alone (also #9002, #4137, Amoro#930)."""
    job = bed.job()
    only_oldest, only_newest = job.shared(), job.shared()
    job.checkpoint(7, only_oldest)
    job.checkpoint(8, only_newest)
    savepoint = bed.folder / "savepoints" / "savepoint-000000-0123456789ab"
    only_savepoint = job.shared()
    helper = job.checkpoint(9, only_savepoint)
    savepoint.mkdir(parents=True)
    helper.rename(savepoint / "_metadata")
    plan = bed.plan("--extra-roots", savepoint.parent)
    for path in (only_oldest, only_newest, only_savepoint):
        assert plan.verdict(path) == ("keep", "referenced")


@pytest.mark.answered_by("pins_and_snapshots")
def test_risingwave_16260_every_kind_of_pin_keeps_by_itself(story) -> None:
    """A gap in one kind is filled by no other: checkpoint, savepoint, snapshot, pin, UUID."""
    by_pin, by_snapshot = story.orphans
    file = story.bed.folder / "snapshot"
    file.write_bytes(snapshot(story, by_snapshot.name))
    plan = story.bed.plan("--pin", by_pin, "--registry", file)
    assert {plan.verdict(path) for path in (*story.live, by_pin, by_snapshot)} == {
        ("keep", "referenced")
    }


def snapshot(story: Story, *names: str, epoch: str = "one", sequence: int = 1) -> bytes:
    taken_at = now() - timedelta(seconds=100 - sequence)
    snapshot = a_snapshot_of(story.job, 7, 8, jm_epoch=epoch, sequence=sequence, taken_at=taken_at)
    named = [RegistryEntry(f"shared/{name}", EntryKind.FILE, None, None, None) for name in names]
    return write_snapshot(snapshot, named)


@pytest.mark.parametrize(
    ("epochs", "sequences", "guard"),
    [
        pytest.param(("one", "one"), (1, 2), None, id="one attempt, going forward"),
        pytest.param(("one", "two"), (1, 2), "registry", id="two attempts"),
        pytest.param(("one", "one"), (2, 2), "registry", id="standing still"),
    ],
)
@pytest.mark.answered_by("guard:registry", not_for=("one attempt, going forward",))
def test_flink_7268_snapshots_of_two_attempts_are_never_mixed(
    story, epochs, sequences, guard
) -> None:
    """De-registration after a restart dropped counts: the registry of another life."""
    folder = story.bed.folder / "snapshots"
    folder.mkdir()
    for place, (epoch, sequence) in enumerate(zip(epochs, sequences, strict=True)):
        data = snapshot(story, story.live[place].name, epoch=epoch, sequence=sequence)
        (folder / f"{place}.jsonl").write_bytes(data)
    bed = Bed(story.bed.folder, ("--closed-world", "--registry", folder))
    plan = bed.plan()
    assert plan.refusal(story.job) == guard


@pytest.mark.answered_by("guard:damaged_latest_root")
def test_milvus_21731_what_is_gone_although_it_is_named_is_told_and_refused(undeclared) -> None:
    """Objects gone while metadata exists (also #30254): the latest refuses, older ones report."""
    oldest, _, newest = undeclared.live
    oldest.unlink()
    plan = undeclared.bed.plan()
    assert plan.refusal(undeclared.job) is None
    assert plan.job(undeclared.job)["missing"] == [str(oldest.relative_to(undeclared.bed.root))]
    newest.unlink()
    plan = undeclared.bed.plan()
    assert plan.refusal(undeclared.job) == "damaged_latest_root"
    assert len(plan.job(undeclared.job)["missing"]) == 2


@pytest.mark.answered_by("identity")
def test_harbor_12975_a_deletion_checks_the_version_that_was_judged(story) -> None:
    """A push beside the collector: the same name is not the same thing (also #15445)."""
    story.bed.cycle()
    plan = story.bed.plan()
    path = story.orphans[0]
    found = path.stat()
    twin = path.with_name("twin")
    twin.write_bytes(bytes(found.st_size))
    os.utime(twin, ns=(found.st_atime_ns, found.st_mtime_ns))
    twin.rename(path)
    assert story.bed.sweep(plan, "--delete").code == 0
    assert outcomes(plan)[str(path.relative_to(story.bed.root))] == "changed"
    assert path.read_bytes() == bytes(found.st_size)


@pytest.mark.answered_by("limits")
def test_harbor_19308_a_share_of_one_job_is_not_hidden_by_another(bed) -> None:
    """445 GB became 4 GB: the breaker counts each job by itself."""
    small = make_story(bed, orphans=12)
    large = make_story(bed, 2)
    for number in range(9, 40):
        large.job.checkpoint(number, *large.live)
    plan = bed.plan()
    assert plan.blocks(small.job) == ["max_delete_share"]
    assert plan.blocks(large.job) == []
