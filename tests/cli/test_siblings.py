"""Many storage roots in one configuration file: what one pass reads, and what stops whom."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cli.helpers import DAY, Ran, run
from cli.scheduled import Configured, results, settings_of, swept
from cli.stories import Story
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.app.runner import run_root as running

ROOTS = 5
CHECKPOINTS = 2 + ROOTS - 1
"""Two of the story's job, one of each other job."""


@pytest.fixture
def reads(monkeypatch) -> Counter[str]:
    """Count how often each ``_metadata`` is read."""
    counts: Counter[str] = Counter()
    read = LocalStorage.read

    def counting(self: LocalStorage, key: Any, **more: Any) -> bytes | None:
        if str(key).endswith("_metadata"):
            counts[f"{self.location}/{key}"] += 1
        return read(self, key, **more)

    monkeypatch.setattr(LocalStorage, "read", counting)
    return counts


def folders(story: Story) -> list[Path]:
    return [story.bed.root, *(story.bed.folder / f"root-{n}" for n in range(2, ROOTS + 1))]


def many(story: Story, **more: Any) -> Configured:
    for number, root in enumerate(folders(story)[1:], 2):
        job = story.bed.job(number, below=root)
        (job.folder / "taskowned").mkdir(parents=True)
        job.checkpoint(3, job.shared())
        job.shared()
    settings = [settings_of(story, root=str(each), **more) for each in folders(story)]
    return Configured.of(story, *settings)


def asked(configured: Configured, command: str) -> Ran:
    return run(command, "--config", configured.path, "--output", "json")


def test_world_reads_every_checkpoint_once(story, reads) -> None:
    """However many storage roots search it."""
    ran = asked(many(story), "world")
    assert ran.code == 0, ran.err
    assert len(ran.json["places"]) == ROOTS
    assert set(reads.values()) == {1}
    assert len(reads) == CHECKPOINTS


def test_doctor_reads_every_checkpoint_once(story, reads) -> None:
    """Its own trial of reading comes on top, once a storage root."""
    asked(many(story), "doctor")
    assert (len(reads), reads.total()) == (CHECKPOINTS, CHECKPOINTS + ROOTS)


def test_run_reads_every_checkpoint_once(story, reads) -> None:
    """Once for all cycles; a batch of deletions, of which there is none here, reads them again."""
    configured = many(story)
    assert configured.run().code == 0
    assert (len(reads), set(reads.values())) == (CHECKPOINTS, {1})
    reads.clear()
    ran = configured.run()
    assert [swept(each) for each in ran.json] == [{"tombstone/done": 2}] + [
        {"tombstone/done": 1}
    ] * (ROOTS - 1)
    assert (len(reads), set(reads.values())) == (CHECKPOINTS, {1})


@pytest.mark.parametrize(("number", "refusals"), [(4, {}), (3, {"checkpoint_not_found": 1})])
def test_a_claim_between_the_cycles_of_two_storage_roots_is_seen(
    story, monkeypatch, number, refusals
) -> None:
    """Each cycle lists every sibling again, and reads what is new or replaced there (R12).

    The replaced checkpoint needed nothing of the first storage root; from then on its directory
    is known to.
    """
    over = [f"{each:032x}" for each in range(1, ROOTS + 1)]
    configured, claimer = many(story, ended_job=over), story.bed.job(2, below=folders(story)[1])
    assert configured.run().code == 0
    first, *others = configured.content["storage_roots"]
    configured.content["storage_roots"] = [*others, first]
    run_root, runs = running.run_root, []

    def claiming(settings: Any, *more: Any) -> Any:
        runs.append(settings.root)
        if settings.root == first["root"]:
            claimer.checkpoint(number, *story.live, story.orphans[0], age=10 * DAY)
        return run_root(settings, *more)

    monkeypatch.setattr(running, "run_root", claiming)
    ran = configured.run()
    assert runs == [each["root"] for each in (*others, first)]
    assert (ran.code, ran.json[-1]["refusals"]) == (0, {})
    assert configured.run().json[-1]["refusals"] == refusals
    assert story.orphans[0].exists()
    assert story.orphans[1].exists() is bool(refusals)


def absent(settings: dict[str, Any]) -> dict[str, Any]:
    return {**settings, "root": f"{settings['root']}-that-is-not-mounted"}


def of_no_scheme(settings: dict[str, Any]) -> dict[str, Any]:
    return {**settings, "root": "gopher://bucket/checkpoints"}


def without_state(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a storage root whose state location cannot be written."""
    return {**settings, "state": "/proc/no-such-folder"}


UNREACHED = {"place_unreachable": 1}


@pytest.mark.parametrize(
    ("broken", "code", "refusals"),
    [(absent, 10, UNREACHED), (of_no_scheme, 2, UNREACHED), (without_state, 10, {})],
)
def test_one_broken_storage_root_ends_no_run_of_another(story, broken, code, refusals) -> None:
    """A place that cannot be searched blocks all jobs that may be needed there, a state no other.

    The worst exit code is that of the pass; nothing of the others is forgotten meanwhile.
    """
    over = [f"{each:032x}" for each in range(1, ROOTS + 1)]
    configured = many(story, ended_job=over)
    for _ in range(2):
        assert configured.run().code == 0
    good = configured.content["storage_roots"]
    configured.content["storage_roots"] = (broken(good[0]), *good[1:])
    ran = configured.run()
    assert (ran.code, ran.json[0]["exit_code"]) == (code, code)
    assert [results(each).get("plan") for each in ran.json[1:]] == ["done"] * (ROOTS - 1)
    assert [each["refusals"] for each in ran.json[1:]] == [refusals] * (ROOTS - 1)
    done = "delete/planned" if refusals else "delete/done"
    assert [swept(each) for each in ran.json[1:]] == [{done: 1}] * (ROOTS - 1)
    assert all(each.exists() for each in story.orphans)
