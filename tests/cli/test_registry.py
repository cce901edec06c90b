"""``registry``: a snapshot written, shown, and given to a plan."""

import gzip
import json
import re
from pathlib import Path

import pytest

from cli.helpers import Bed, contents, flink, run
from cli.stories import Story, a_snapshot_of, make_story
from orphangc.core.exporter.registry_format import write_snapshot
from orphangc.core.exporter.registry_snapshot import (
    EntryKind,
    RegistryEntry,
    RestoredCheckpoint,
    RetainedCheckpoint,
)
from support.rest_server import RestServer


def exported(story: Story, name: str = "snapshot.jsonl", *options: object) -> Path:
    out = story.bed.folder / name
    ran = run("registry", "export", story.bed.root, "--job", story.job.id, "--out", out, *options)
    assert ran.code == 0, ran.err
    return out


def of_the_jobmanager(story: Story, *entries: RegistryEntry, relative: bool = False) -> bytes:
    """Return a snapshot as an exporter inside the JobManager writes it."""
    prefix = "" if relative else f"{story.job.folder}/"
    return write_snapshot(
        a_snapshot_of(
            story.job,
            retained=tuple(
                RetainedCheckpoint(id=each, is_savepoint=False, path=f"{prefix}chk-{each}")
                for each in (7, 8)
            ),
            restored=(RestoredCheckpoint(id=6, path=f"{prefix}chk-6", mode="CLAIM"),),
        ),
        entries,
    )


def entry(path: str, kind: EntryKind = EntryKind.FILE) -> RegistryEntry:
    return RegistryEntry(path, kind, None, None, None)


def test_an_export_holds_what_the_roots_refer_to(story) -> None:
    """Header, entries, footer; paths relative to the job directory."""
    lines = [json.loads(line) for line in exported(story).read_text().splitlines()]
    header, *entries, footer = lines
    assert (header["type"], header["source"], header["job_id"]) == (
        "header",
        "derived",
        story.job.id,
    )
    assert (header["format"], header["version"]) == ("orphangc-registry", 1)
    assert [each["id"] for each in header["retained"]] == [7, 8]
    assert {each["path"] for each in entries} == {f"shared/{path.name}" for path in story.live}
    assert {each["size"] for each in entries} == {path.stat().st_size for path in story.live}
    assert footer["entries"] == 3


def test_an_export_asks_flink_if_requested(undeclared) -> None:
    """Version, concurrency, and what the job was restored from."""
    with RestServer(flink(undeclared.job, completed=8, restored=(6, Path("/old/chk-6")))) as server:
        file = exported(undeclared, "snapshot.jsonl", "--flink-rest", server.url)
    header = json.loads(file.read_text().splitlines()[0])
    assert (header["flink_version"], header["max_concurrent"]) == ("2.3.0", 1)
    assert header["restored"] == [{"id": 6, "path": "file:/old/chk-6", "mode": None}]


def test_an_export_can_be_compressed(story) -> None:
    plain, packed = exported(story), exported(story, "snapshot.jsonl.gz")
    unpacked = gzip.decompress(packed.read_bytes()).splitlines()[1:]
    assert unpacked == plain.read_bytes().splitlines()[1:]


def test_show_says_what_export_wrote(story) -> None:
    """Counts and ids, as JSON or as a table."""
    file = exported(story, "snapshot.jsonl.gz")
    shown = run("registry", "show", file)
    assert (shown.code, shown.json["entries"], shown.json["kinds"]) == (0, 3, {"file": 3})
    assert shown.json["oldest_retained_checkpoint_id"] == 7
    table = run("registry", "show", file, "--output", "table")
    assert (table.code, story.job.id in table.out) == (0, True)
    assert not table.out.startswith("{")
    assert re.search(r"kinds\s+(value: )?file 3", table.out)
    assert not re.search(r"None|True|False|[{}\[\]]", table.out)


def test_a_folder_is_no_snapshot(story) -> None:
    """Said in words, without the numbers of an operating system."""
    ran = run("registry", "show", story.bed.root)
    assert (ran.code, ran.complaints) == (10, [f"orphangc: {story.bed.root} is no regular file"])


def test_an_exported_snapshot_protects(story) -> None:
    """What it names is kept, when no root names it any more."""
    file = exported(story)
    (story.job.folder / "chk-7" / "_metadata").unlink()
    options = ("--max-delete-share", "1")
    assert story.bed.plan(*options).verdict(story.live[0]) == ("tombstone", "orphan")
    plan = story.bed.plan(*options, "--registry", file)
    assert plan.verdict(story.live[0]) == ("keep", "referenced")
    assert plan.verdict(story.orphans[0]) == ("tombstone", "orphan")
    sources = {each["source"] for each in plan.job(story.job)["evidence"]}
    assert sources == {"metadata", "snapshot", "operator"}


def test_a_folder_of_snapshots_is_read_whole(story) -> None:
    """One file a job, as exporters write them."""
    other = make_story(story.bed, 2)
    folder = story.bed.folder / "snapshots"
    folder.mkdir()
    exported(story, "snapshots/1.jsonl")
    exported(other, "snapshots/2.jsonl.gz")
    for each in (story, other):
        (each.job.folder / "chk-7" / "_metadata").unlink()
    plan = story.bed.plan("--registry", folder)
    assert plan.verdict(story.live[0]) == ("keep", "referenced")
    assert plan.verdict(other.live[0]) == ("keep", "referenced")


@pytest.mark.parametrize("relative", [False, True], ids=["absolute", "relative"])
def test_a_snapshot_of_the_jobmanager_protects_and_deletes_nothing(story, relative) -> None:
    """Registry mode; until the order of reads is proven it is a report (R14)."""
    named, other = story.orphans
    file = story.bed.folder / "snapshot.jsonl"
    path = f"shared/{named.name}" if relative else f"file:{named}"
    file.write_bytes(of_the_jobmanager(story, entry(path), relative=relative))
    bed = Bed(story.bed.folder, ("--closed-world", "--registry", file))
    plan = bed.plan()
    assert plan.job(story.job)["mode"] == "registry"
    assert plan.refusal(story.job) is None
    assert plan.verdict(named) == ("keep", "referenced")
    assert plan.verdict(other) == ("tombstone", "orphan")
    assert "registry_order_unproven" in plan.blocks(story.job)


def test_a_registered_folder_protects_all_below_it(story) -> None:
    """A directory handle means everything in it, and a layout that cannot be judged (R2)."""
    file = story.bed.folder / "snapshot.jsonl"
    file.write_bytes(of_the_jobmanager(story, entry("shared", EntryKind.DIRECTORY)))
    plan = Bed(story.bed.folder, ("--registry", file)).plan()
    assert {plan.verdict(path)[0] for path in story.orphans} == {"keep"}


def damaged(kind: str, data: bytes) -> bytes:
    header, *entries, footer = data.splitlines(keepends=True)
    return {
        "no footer": b"".join([header, *entries]),
        "an entry less": b"".join([header, *entries[1:], footer]),
        "another name": data.replace(entries[0][30:40], b"0123456789", 1),
        "unknown version": data.replace(b'"version":1', b'"version":2'),
        "unknown kind": data.replace(b'"kind":"file"', b'"kind":"blob"'),
        "cut short": data[:-7],
        "empty": b"",
        "no snapshot": b"hello\n",
        "damaged gzip": gzip.compress(data)[:-9],
    }[kind]


KINDS = (
    *("no footer", "an entry less", "another name", "unknown version", "unknown kind"),
    *("cut short", "empty", "no snapshot", "damaged gzip"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_snapshot_refuses_the_plan(story, kind) -> None:
    """One line, nothing written: its job's liveness is unknown, and so is everybody's."""
    file = exported(story)
    file.write_bytes(damaged(kind, file.read_bytes()))
    before = contents(story.bed.folder)
    ran = story.bed.plan("--registry", file).ran
    assert (ran.code, len(ran.complaints), ran.out) == (4, 1, "")
    assert str(file) in ran.complaints[0]
    assert contents(story.bed.folder) == before
    shown = run("registry", "show", file)
    assert (shown.code, len(shown.complaints), shown.out) == (1, 1, "")
    assert str(file) in shown.complaints[0]


def test_a_snapshot_that_is_gone_by_the_sweep_stops_it(story) -> None:
    """A plan that rested on it does not rest on nothing."""
    file = exported(story)
    story.bed.cycle("--registry", file)
    plan = story.bed.plan("--registry", file)
    file.unlink()
    swept = story.bed.sweep(plan, "--delete")
    assert (swept.code, all(path.exists() for path in story.orphans)) == (4, True)


def test_a_job_without_a_checkpoint_is_not_exported(story) -> None:
    """An empty snapshot would say that nothing is in use."""
    out = story.bed.folder / "snapshot.jsonl"
    for job in (f"{9:032x}", story.bed.job(2).id):
        ran = run("registry", "export", story.bed.root, "--job", job, "--out", out)
        assert (ran.code, len(ran.complaints), out.exists()) == (4, 1, False)


def test_an_unreadable_root_is_not_exported(story) -> None:
    """A partial export would protect a part."""
    metadata = story.job.folder / "chk-8" / "_metadata"
    metadata.write_bytes(metadata.read_bytes()[:-1])
    out = story.bed.folder / "snapshot.jsonl"
    ran = run("registry", "export", story.bed.root, "--job", story.job.id, "--out", out)
    assert (ran.code, len(ran.complaints), out.exists()) == (4, 1, False)
