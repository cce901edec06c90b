"""Losses by deployments that discovery does not understand, or no longer sees."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from cli.helpers import AT_ONCE, DAY, run
from cli.scheduled import Configured, settings_of
from cli.stories import Story
from safety.incidents.essential import must_be_there
from safety.incidents.test_memory import nothing
from safety.incidents.test_world import claimer, ended, run_three_times
from support.flink_resources import a_deployment, a_plain_deployment, a_status
from support.kubernetes_server import a_config_map
from support.rest_server import RestServer


def conf(story: Story, name: str, directory: Path | str) -> str:
    path = story.bed.folder / name / "flink-conf.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"state.checkpoints.dir: file://{directory}\n")
    return str(path)


def with_discovery(
    story: Story, *files: str, namespaces: tuple[str, ...] = (), **settings: Any
) -> Configured:
    discovery = {
        "files": files,
        "namespaces": namespaces,
        "alias": [f"{story.bed.folder}={story.bed.folder}"],
        "state": str(story.bed.state),
        "closed_world": True,
    }
    return Configured.of(story, settings_of(story, **settings), discovery=discovery)


def finished(story: Story, **spec: Any) -> dict[str, Any]:
    """Return the resource of a job that runs no more; its checkpoints are in the storage root."""
    options = {"state.checkpoints.dir": f"file://{story.bed.root}"}
    options = spec.pop("config", options)
    status = a_status(story.job.id, "FINISHED", jobManagerDeploymentStatus="MISSING")
    return a_deployment(config=options, status=status, **spec)


@pytest.mark.answered_by("operators_defaults")
def test_a_finished_deployment_may_keep_savepoints_where_the_operators_defaults_say(
    story, kubernetes
) -> None:
    """No ConfigMap shows them any more; what was restored from such a one refers to files here."""
    other = claimer(story, story.bed.folder / "red" / "checkpoints")
    kubernetes.operate(finished(story))
    run_three_times(with_discovery(story, namespaces=("flink",), **ended(story.job, other)))
    must_be_there(story.orphans[0])


@pytest.mark.answered_by("condition:discovery_unclear")
def test_a_deployment_with_a_templated_path_blocks_what_it_could_touch(story) -> None:
    """Its job claimed a checkpoint; where its own lie, only its start script knows."""
    hidden = story.bed.folder / "red" / "checkpoints"
    other = claimer(story, hidden)
    file = conf(story, "team", story.bed.folder / "${TEAM}" / "checkpoints")
    configured = with_discovery(story, file, **ended(story.job, other))
    run_three_times(configured)
    must_be_there(story.orphans[0])


@pytest.mark.answered_by("siblings")
def test_a_directory_that_a_configuration_file_names_is_searched(story) -> None:
    """Nobody typed it: the job there claimed a checkpoint, and the rest is collected."""
    second = story.bed.folder / "second"
    other = claimer(story, second)
    file = conf(story, "second-conf", second)
    run_three_times(with_discovery(story, file, **ended(story.job, other)))
    must_be_there(story.orphans[0])
    assert not story.orphans[1].exists()


@pytest.mark.answered_by("discovery_memory + roots_of_the_state + memory")
def test_a_deployment_that_is_gone_leaves_its_storage_in_the_world(story) -> None:
    """Its job's state is still there, and still refers to files here."""
    second = story.bed.folder / "second"
    other = claimer(story, second)
    conf(story, "first", story.bed.root)
    gone = conf(story, "second-conf", second)
    configured = with_discovery(story, gone, **ended(story.job, other))
    configured.run()
    Path(gone).write_text(f"state.checkpoints.dir: file://{story.bed.root}\n")
    run_three_times(configured)
    must_be_there(story.orphans[0])
    assert not story.orphans[1].exists()


@pytest.mark.answered_by("lasting_blocks")
def test_a_templated_path_that_is_corrected_blocks_its_earlier_place(story) -> None:
    """The job that claimed a checkpoint has its state where only the earlier start script knew."""
    hidden = story.bed.folder / "red" / "checkpoints"
    other = claimer(story, hidden)
    file = conf(story, "team", story.bed.folder / "${TEAM}" / "checkpoints")
    configured = with_discovery(story, file, **ended(story.job, other))
    configured.run()
    conf(story, "team", story.bed.root)
    run_three_times(configured)
    must_be_there(story.orphans[0])


@pytest.mark.parametrize("is_configured", [True, False])
@pytest.mark.parametrize("directory", ["red/checkpoints", "${TEAM}/checkpoints"])
@pytest.mark.answered_by("discoveries_of_all_runs")
def test_a_run_without_discovery_forgets_nothing_that_was_discovered(
    story, directory, is_configured
) -> None:
    """A person turned it off, or plans by hand; a job there claimed a checkpoint since."""
    hidden = story.bed.folder / "red" / "checkpoints"
    hidden.mkdir(parents=True)
    file = conf(story, "team", story.bed.folder / directory)
    statements = ended(story.job, story.bed.job(2, below=hidden))
    configured = with_discovery(story, file, **statements)
    configured.run()
    claimer(story, hidden)
    del configured.content["discovery"]
    if is_configured:
        run_three_times(configured)
    else:
        for _ in range(2):
            jobs = (each for job in statements["ended_job"] for each in ("--ended-job", job))
            story.bed.cycle(*jobs, "--closed-world", *AT_ONCE)
    must_be_there(story.orphans[0])


@pytest.mark.parametrize("state", ["RUNNING", "FAILED"])
@pytest.mark.answered_by("jobs_without_a_checkpoint")
def test_a_job_whose_code_says_where_it_stores_waits_for_a_person_to_restore_it(
    story, kubernetes, state
) -> None:
    """Its JobManager is gone, without HA; only its resource is there, and shows no checkpoint."""
    other = claimer(story, story.bed.folder / "red" / "checkpoints")
    kubernetes.operate(finished(story))
    status = a_status(other.id, state, jobManagerDeploymentStatus="MISSING")
    options = {"state.checkpoints.dir": f"file://{story.bed.root}"}
    kubernetes.operate(a_deployment("red", options, status=status))
    for name in ("orders", "red"):
        made = a_config_map(f"flink-config-{name}", **{"configmap-type": "flink-config"})
        kubernetes.add({**made, "data": {"flink-conf.yaml": ""}})
    configured = with_discovery(story, namespaces=("flink",), **ended(story.job, other))
    run_three_times(configured)
    must_be_there(story.orphans[0])


def acknowledge(configured: Configured) -> None:
    for part in run("discover", "--config", configured.path).json["not_understood"]:
        words = ("world", "acknowledge", "--config", configured.path, "discovery_unclear")
        assert run(*words, part["what"]).code == 0


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.answered_by("words_on_absent_parts")
def test_a_word_on_a_part_that_was_gone_says_nothing_once_it_is_back(story, times) -> None:
    """Its files were gone; then a job was deployed again as before, which claimed a checkpoint."""
    hidden = story.bed.folder / "red" / "checkpoints"
    known = conf(story, "known", story.bed.root)
    gone = conf(story, "team", story.bed.folder / "${TEAM}" / "checkpoints")
    other = story.bed.job(2, below=hidden)
    with_it = with_discovery(story, known, gone, **ended(story.job, other))
    without = with_discovery(story, known, **ended(story.job, other))
    for _ in range(times):
        with_it.run()
        without.run()
        acknowledge(without)
        without.run()
    claimed = story.job.shared()
    other.checkpoint(9, claimed, age=10 * DAY)
    run_three_times(with_it)
    run_three_times(without)
    must_be_there(claimed)


@pytest.mark.answered_by("words_on_former_resources")
def test_a_word_on_a_resource_says_nothing_of_the_next_one_of_its_name(story, kubernetes) -> None:
    """Its files were nowhere else; what the next one's template stands for is not known."""
    hidden = story.bed.folder / "red" / "checkpoints"
    options = {"state.checkpoints.dir": f"file://{story.bed.folder}/${{TEAM}}"}
    team = finished(story, name="team", config=options)
    made = a_config_map("flink-config-team", **{"configmap-type": "flink-config"})
    kubernetes.add({**made, "data": {"flink-conf.yaml": ""}})
    kubernetes.operate(team)
    statements = ended(story.job, story.bed.job(2, below=hidden))
    configured = with_discovery(story, namespaces=("flink",), **statements)
    configured.run()
    acknowledge(configured)
    configured.run()
    claimer(story, hidden)
    team["metadata"]["uid"] = "uid-of-the-next"
    kubernetes.operate(team)
    run_three_times(configured)
    must_be_there(story.orphans[0])


@pytest.mark.answered_by("clusters_that_answered")
def test_a_cluster_that_answered_once_is_asked_while_its_workload_is_there(
    story, kubernetes
) -> None:
    """No operator made it, and it ran no job then; one of now claimed a checkpoint."""
    other = story.bed.job(2, below=story.bed.folder / "red")
    configured = with_discovery(story, namespaces=("flink",), **ended(story.job, other))
    kubernetes.add(a_plain_deployment("session"))
    with RestServer(nothing()) as server:
        configured.content["discovery"]["rest"] = server.url
        configured.run()
    claimed = story.job.shared()
    other.checkpoint(9, claimed, age=10 * DAY)
    run_three_times(configured)
    must_be_there(claimed)


@pytest.mark.answered_by("every_memory_of_discovery")
def test_storage_roots_in_another_order_forget_nothing(story) -> None:
    """What discovery remembers is in the state locations of all of them, not of the first."""
    hidden, spare = story.bed.folder / "red", story.bed.folder / "spare"
    other = claimer(story, hidden / "checkpoints")
    spare.mkdir()
    file = conf(story, "known", story.bed.root)
    gone = conf(story, "team", story.bed.folder / "${TEAM}" / "checkpoints")
    one = settings_of(story, empty_roots=[str(spare)], **ended(story.job, other))
    two = {**one, "root": str(spare), "state": str(story.bed.folder / "state-2"), "empty_roots": []}
    Configured.of(story, two, one, discovery={"files": [file, gone]}).run()
    run_three_times(Configured.of(story, one, two, discovery={"files": [file]}))
    must_be_there(story.orphans[0])


@pytest.mark.answered_by("marker_of_discovery")
def test_a_memory_of_discovery_that_expired_in_its_store_is_lost(story) -> None:
    """A rule of the bucket removed it; the deployment that blocked is gone, its state is not."""
    hidden = story.bed.folder / "red" / "checkpoints"
    other = claimer(story, hidden)
    file = conf(story, "known", story.bed.root)
    gone = conf(story, "team", story.bed.folder / "${TEAM}" / "checkpoints")
    with_discovery(story, file, gone, **ended(story.job, other)).run()
    shutil.rmtree(story.bed.state / "discovery")
    run_three_times(with_discovery(story, file, **ended(story.job, other)))
    must_be_there(story.orphans[0])


def test_two_spellings_of_one_directory_are_one_storage_root(story) -> None:
    """A link, a scheme, a slash at the end; by hand and in two configurations."""
    link = story.bed.folder / "link"
    link.symlink_to(story.bed.root)
    one = conf(story, "one", f"{link}/")
    other = conf(story, "other", story.bed.root)
    configured = with_discovery(story, one, other, **ended(story.job))
    for _ in range(3):
        assert configured.run().code == 0
    assert not story.orphans[0].exists()
