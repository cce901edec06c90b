"""Losses by what another storage root saw, or the same one by another name.

A cluster shows a job for an hour: what a cycle sees in that hour, every later one must know.
"""

import pytest

from cli.helpers import DAY, Bed, Job, flink, now
from cli.scheduled import Configured, settings_of
from cli.stories import Story
from flinkstate.places.locations import canonical
from orphangc.adapters.open import open_state_files
from orphangc.collect.state.store import RootState
from safety.incidents import test_memory as of_memory
from safety.incidents.essential import must_be_there
from safety.incidents.test_memory import nothing
from safety.incidents.test_world import ended
from support.rest_server import RestServer

SEARCHES_STORAGES = True  # but the named places alone: a whole one holds all places of a test
PLACES, PLACES_ALONE = {"search": "places"}, ("--search", "places")
forked = of_memory.forked


def claimer(story: Story) -> Job:
    """Return a job that stores in no named place and claimed files of the story's job."""
    job = story.bed.job(2, below=story.bed.folder / "elsewhere")
    job.checkpoint(9, *story.live, story.orphans[0], age=10 * DAY)
    return job


@pytest.mark.parametrize("when", ["before it is configured", "while it is not run"])
@pytest.mark.answered_by("memories_beside")
def test_a_job_that_was_shown_to_another_storage_root_keeps_its_files(story, when) -> None:
    """It was shown once, and stores where no one searches; REST has forgotten it since."""
    second, other = story.bed.job(3, below=story.bed.folder / "second"), claimer(story)
    second.checkpoint(4, second.shared())
    with RestServer(nothing()) as server:
        common = {"flink_rest": [server.url], **ended(story.job, second, other), **PLACES}
        first = settings_of(story, **common)
        beside = {**first, "root": str(second.folder.parent)}
        both = Configured.of(story, first, beside)
        if when == "while it is not run":
            both.run()
        server.routes = flink(other, completed=9)
        Configured.of(story, {**beside, "ended_job": [second.id]}).run()
        server.routes = nothing()
        for _ in range(3):
            both.run()
    must_be_there(story.orphans[0])
    assert not story.orphans[1].exists()


@pytest.mark.parametrize("name", ["a link to it", "a folder in it"])
@pytest.mark.answered_by("memories_beside")
def test_a_storage_root_under_another_name_forgets_no_place(story, name) -> None:
    """Its place was shown under the name that the settings had before."""
    other, link = claimer(story), story.bed.folder / "link"
    link.symlink_to(story.bed.root)
    with RestServer(flink(other, completed=9)) as server:
        settings = settings_of(story, flink_rest=[server.url], **ended(story.job), **PLACES)
        Configured.of(story, settings).run()
        server.routes = nothing()
        root = link if name == "a link to it" else story.job.folder
        again = Configured.of(story, {**settings, "root": str(root), **ended(story.job, other)})
        for _ in range(3):
            again.run()
    must_be_there(story.orphans[0])
    assert not story.orphans[1].exists()


@pytest.mark.answered_by("memories_beside")
def test_a_job_without_a_checkpoint_that_another_storage_root_saw_keeps_its_files(forked) -> None:
    """Nothing but its origin was ever known of it, and its cluster has forgotten it."""
    first = forked.story.bed
    second = Bed(first.folder, (*first.options, *PLACES_ALONE), plans=10)
    second.root = first.folder / "second"
    beside = second.job(3)
    beside.checkpoint(4, beside.shared())
    first.options = second.options
    assert second.plan(*forked.asked()).ran.code == 0
    forked.other.routes = nothing()
    plan = forked.cycles_after()
    must_be_there(forked.story.orphans[0])
    assert plan.blocks(forked.story.job) == ["checkpoint_not_found"]


@pytest.mark.answered_by("memories_beside")
def test_a_checkpoint_that_is_lost_is_missed_under_another_name_too(story) -> None:
    """A person removed it, and gave the storage root by another name."""
    kept = story.job.checkpoint(9, *story.live, story.orphans[0], age=10 * DAY)
    settings, link = settings_of(story, **ended(story.job), **PLACES), story.bed.folder / "link"
    Configured.of(story, settings).run()
    kept.unlink()
    link.symlink_to(story.bed.root)
    again = Configured.of(story, {**settings, "root": str(link)})
    for _ in range(3):
        again.run()
    must_be_there(story.orphans[0])


@pytest.mark.answered_by("condition:halted")
def test_a_halt_of_a_storage_root_counts_under_another_name_too(story) -> None:
    """A proof failed there, and no person has checked it."""
    link = story.bed.folder / "link"
    link.symlink_to(story.bed.root)
    settings = settings_of(story, **ended(story.job), **PLACES)
    Configured.of(story, settings).run()
    state = RootState(open_state_files(str(story.bed.state)), canonical(str(story.bed.root)))
    state.halt("a live file was to go", now())
    again = Configured.of(story, {**settings, "root": str(link)})
    for _ in range(3):
        again.run()
    must_be_there(*story.orphans)
