"""``discover``, and runs of storage roots that no person configured."""

import json
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.helpers import AT_ONCE, DAY, Bed, Job, flink, metadata, run, write
from cli.scheduled import Configured, events, started
from cli.stories import Story, make_story
from support.flink_resources import (
    RELEASES,
    SchemaError,
    a_blue_green,
    a_deployment,
    a_plain_deployment,
    a_session_job,
    a_snapshot_resource,
    a_status,
)
from support.kubernetes_server import a_config_map
from support.processes import until
from support.rest_server import Reply, RestServer
from support.rest_server import configured as configuration

KEYS = ("storage_roots", "extra_roots", "clusters", "ha", "pins", "jobs", "not_understood")


def larger(case: object) -> Any:
    return pytest.param(case, marks=pytest.mark.ci)


@pytest.fixture
def running(tmp_path) -> Story:
    """A job that runs; where its checkpoints are, only Kubernetes knows."""
    return make_story(Bed(tmp_path, AT_ONCE))


def cluster_of(job: Job, **changes: Any) -> dict[str, Reply]:
    """Return the routes of a cluster without HA services, of which no resource speaks either."""
    return flink(job, **changes) | configuration({})


def resource(story: Story, port: int, name: str = "orders", job: str = "", **config: str) -> dict:
    options = {
        "state.checkpoints.dir": f"file://{story.bed.root}",
        "rest.port": str(port),
        **config,
    }
    return a_deployment(name, options, status=a_status(job or story.job.id))


def configured(folder: Path, *roots: dict[str, Any], **more: Any) -> Path:
    discovery = {
        "namespaces": ["flink"],
        "rest": "{scheme}://127.0.0.1:{port}",
        "state": str(folder / "state"),
        "alias": [f"{folder}={folder}"],
        "closed_world": True,
        **more.pop("discovery", {}),
    }
    content = {"plans": str(folder / "plans"), "discovery": discovery, **more}
    if roots:
        content["storage_roots"] = roots
    path = folder / "orphangc.yaml"
    path.write_text(yaml.safe_dump(json.loads(json.dumps(content))))
    return path


def port_of(server: RestServer) -> int:
    return int(server.address.rpartition(":")[2])


def plans(folder: Path) -> list[dict[str, Any]]:
    found = sorted(folder.glob("plans/*/*/plan.json"), key=lambda each: each.parent.name)
    return [json.loads(each.read_text()) for each in found]


def blocks(folder: Path) -> set[str]:
    return {b["condition"] for job in plans(folder)[-1]["jobs"] for b in job["blocked"]}


def test_every_entry_says_where_it_comes_from(kubernetes) -> None:
    """The contract: kind, namespace, name and field beside each fact."""
    kubernetes.operate(
        a_deployment(
            config={
                "execution.checkpointing.dir": "s3://prod/checkpoints",
                "state.savepoints.dir": "s3://prod/${TEAM}/savepoints",
                "high-availability.type": "kubernetes",
                "high-availability.storageDir": "s3://prod/ha",
            }
        )
    )
    kubernetes.operate(a_snapshot_resource())
    document = run("discover", "--namespace", "flink", "--output", "json").json
    assert set(KEYS) <= set(document)
    for key in KEYS:
        assert document[key], key
        assert all({"kind", "namespace", "name", "field"} == set(e["from"]) for e in document[key])
    (root,) = document["storage_roots"]
    assert root["from"]["field"] == "spec.flinkConfiguration.execution.checkpointing.dir"
    (unclear,) = document["not_understood"]
    assert unclear["blocks"] == ["everything"]
    table = run("discover", "--namespace", "flink", "--output", "table").out
    assert unclear["what"].partition("#")[2] in table.replace("\n", "")
    assert "s3://prod/checkpoints" in table
    assert "storage_roots:\n- root: s3://prod/checkpoints" in table


def test_the_equivalent_configuration_is_one(kubernetes, tmp_path) -> None:
    """What is printed can be given back, and names the same storage root."""
    kubernetes.operate(a_deployment())
    path = tmp_path / "by-hand.yaml"
    path.write_text(run("discover", "--namespace", "flink", "--as-config").out)
    assert "{}" not in path.read_text()
    shown = run("config", "show", "--config", path).json
    (root,) = shown["storage_roots"]
    assert (root["root"], root["kubernetes_ha"]) == ("s3://prod/checkpoints", ["flink"])
    assert root["flink_rest"] == ["http://orders-rest.flink:8081"]


@pytest.mark.parametrize("release", [*map(larger, ("1.8", "1.13")), RELEASES[-1]])
def test_a_namespace_of_each_release_is_read(kubernetes, release) -> None:
    """Thirty resources of every kind that the release knows, page by page."""
    kinds = [
        *(a_deployment(f"app-{n}") for n in range(10)),
        *(a_session_job(f"report-{n}", "app-0") for n in range(10)),
        *(a_snapshot_resource(f"nightly-{n}", f"s3://prod/sp/{n}") for n in range(6)),
        *(a_blue_green(f"pair-{n}") for n in range(4)),
    ]
    stored = 0
    for each in kinds:
        with suppress(SchemaError):  # the kind is not defined yet
            kubernetes.operate(each, release)
            stored += 1
    assert stored == {"1.8": 20, "1.13": 26}.get(release, 30)
    kubernetes.add(a_plain_deployment("plain"))
    document = run("discover", "--namespace", "flink").json
    named = {each["from"]["name"] for key in KEYS for each in document[key]}
    assert len(named) == stored
    assert document["not_understood"] == []
    assert [each["name"] for each in document["unnamed"]] == ["Deployment/flink/plain"]


def test_a_job_that_only_a_resource_names_is_collected(kubernetes, running, tmp_path) -> None:
    """Report, tombstones, deletion: storage root, cluster and namespace come from the resource."""
    with RestServer(cluster_of(running.job, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server)))
        config = configured(tmp_path, {**at_once(tmp_path, running)}, mode="delete")
        for number in (None, None, 9):
            if number:
                running.job.checkpoint(number, *running.live, age=0 * DAY)
                server.routes |= cluster_of(running.job, completed=number)
            done = run("run", "--config", config)
            assert done.code == 0, done.err
    assert blocks(tmp_path) == set()
    assert not any(each.exists() for each in running.orphans)
    assert all(each.exists() for each in running.live)


@pytest.mark.ci
def test_a_job_manager_that_failed_blocks_all_until_it_is_mended_or_its_resource_is_gone(
    kubernetes, running, tmp_path
) -> None:
    """Its job may need any file, and it may run others (R11); the log says what lifts that."""
    with RestServer(cluster_of(running.job, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server)))
        status = a_status("b" * 32, "RECONCILING", jobManagerDeploymentStatus="ERROR")
        failed = {"execution.checkpointing.dir": f"file://{running.bed.root}", "rest.port": "1"}
        kubernetes.operate(a_deployment("billing", failed, status=status))
        config = configured(tmp_path, {**at_once(tmp_path, running)})
        ran = run("run", "--config", config)
        assert blocks(tmp_path) == {"gate_not_seen", "dependent_job"}
        (refused,) = (line for line in ran.err.splitlines() if '"job.refused"' in line)
        assert "remove kubernetes:flink/FlinkDeployment/billing" in json.loads(refused)["reason"]
        kubernetes.objects["flinkdeployments"].pop("billing")
        run("run", "--config", config)
    assert blocks(tmp_path) == set()


def at_once(folder: Path, story: Story) -> dict[str, Any]:
    """Return the settings by hand: margins of a test, and nothing of the world."""
    return {
        "root": str(story.bed.root),
        "state": str(folder / "state"),
        "closed_world": True,
        "quarantine_period": "0",
        "allow_short_margins": True,
    }


def test_the_first_run_reports_on_what_is_discovered(kubernetes, running, tmp_path) -> None:
    """No storage root is configured; a second one is collected from the next cycle on."""
    with RestServer(cluster_of(running.job, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server)))
        config = configured(tmp_path)
        (record,) = run("run", "--config", config).json
        assert (record["root"], record["result"]) == (str(running.bed.root), "done")
        second = make_story(Bed(tmp_path, AT_ONCE), 2)
        (tmp_path / "second").mkdir()
        moved = second.job.folder.rename(tmp_path / "second" / second.job.id)
        server.routes |= {}
        kubernetes.operate(
            a_deployment(
                "billing",
                {"execution.checkpointing.dir": f"file://{moved.parent}", "rest.port": "1"},
                status=a_status(second.job.id, jobManagerDeploymentStatus="MISSING"),
            )
        )
        found = run("run", "--config", config).json
    assert {each["root"] for each in found} == {str(running.bed.root), str(moved.parent)}


@pytest.mark.parametrize(
    "what",
    ["statefulsets", *map(larger, ("deployments", "jobs", "flinkdeployments", "configmaps"))],
)
def test_what_may_not_be_listed_blocks_everything(kubernetes, running, tmp_path, what) -> None:
    """It never means that there is nothing."""
    with RestServer(cluster_of(running.job, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server)))
        config = configured(tmp_path, at_once(tmp_path, running))
        run("run", "--config", config)
        kubernetes.denied.add(what)
        assert run("run", "--config", config).code == 0
    assert "discovery_unclear" in blocks(tmp_path)


def test_a_namespace_that_never_showed_anything_blocks_everything(
    kubernetes, running, tmp_path
) -> None:
    """Until it is named no more, or has shown something once; then it may be empty."""
    with RestServer(cluster_of(running.job, completed=8)) as server:
        by_hand = {**at_once(tmp_path, running), "flink_rest": [server.url]}
        config = configured(tmp_path, by_hand)
        assert run("run", "--config", config).code == 0
        assert blocks(tmp_path) == {"discovery_unclear"}
        kubernetes.operate(a_snapshot_resource(path=f"file://{running.bed.root}/sp"))
        run("run", "--config", config)
        kubernetes.objects["flinkstatesnapshots"].clear()
        run("run", "--config", config)
    assert "discovery_unclear" not in blocks(tmp_path)


@pytest.mark.parametrize(
    ("chosen", "roots"),
    [
        ({"all_namespaces": True}, 1),
        ({"namespace_selector": "team=flink"}, 1),
        ({"namespace_selector": "team=flnik"}, 0),
    ],
)
def test_namespaces_are_selected_or_nothing_is_understood(
    kubernetes, tmp_path, chosen, roots
) -> None:
    """A selector that selects nothing may be misspelled."""
    kubernetes.operate(a_deployment())
    config = configured(tmp_path, discovery={"namespaces": [], **chosen})
    done = run("discover", "--config", config)
    assert (len(done.json["storage_roots"]), done.code) == (roots, 0 if roots else 10)
    blocked = [each["from"]["kind"] for each in done.json["not_understood"]]
    assert blocked == ([] if roots else ["Namespaces"])


def test_the_configuration_that_the_operator_made_is_read_by_its_name(kubernetes) -> None:
    """Also where a person's tool took its labels away."""
    made = a_config_map("flink-config-orders")
    made["metadata"]["labels"] = {}
    made["data"] = {"config.yaml": "execution.checkpointing.savepoint-dir: s3://prod/savepoints"}
    kubernetes.add(made)
    kubernetes.operate(a_deployment())
    document = run("discover", "--namespace", "flink").json
    assert [each["uri"] for each in document["extra_roots"]] == ["s3://prod/savepoints"]


def test_a_namespace_that_cannot_be_read_is_unreachable(kubernetes, tmp_path) -> None:
    """Exit code 10, and what was read is shown all the same."""
    kubernetes.denied.add("flinksessionjobs")
    done = run("discover", "--namespace", "flink")
    assert (done.code, done.json["not_understood"][0]["blocks"]) == (10, ["everything"])
    assert run("run", "--config", configured(tmp_path)).code == 10


def test_a_checkpoint_that_a_snapshot_named_and_flink_took_away_warns_of_nothing(
    kubernetes, running, tmp_path
) -> None:
    """The operator keeps ten periodic ones of each job; no person has mistyped them."""
    gone = running.job.folder / "chk-3"
    with RestServer(cluster_of(running.job, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server)))
        kubernetes.operate(a_snapshot_resource(path=f"file://{gone}"))
        mistyped = f"file://{running.bed.root}/mistyped"
        by_hand = {**at_once(tmp_path, running), "pin": [mistyped]}
        run("run", "--config", configured(tmp_path, by_hand))
    (warned,) = (each for each in plans(tmp_path)[-1]["warnings"] if "keeps nothing" in each)
    assert "mistyped keeps nothing" in warned


def test_the_folder_that_a_snapshot_is_to_be_made_in_lets_nothing_beside_it_be_searched(
    kubernetes, running, tmp_path
) -> None:
    """The operator writes the job's folder of savepoints there, for each periodic savepoint."""
    ours, theirs = (tmp_path / each / "savepoint-000000-1/_metadata" for each in ("sp", "theirs"))
    write(ours, metadata(4, []), 30 * DAY)
    write(theirs, b"what another team has, damaged", 30 * DAY)
    with RestServer(cluster_of(running.job, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server)))
        snapshot = a_snapshot_resource(path="", state="IN_PROGRESS")
        snapshot["spec"]["savepoint"] = {"path": f"file://{tmp_path}/sp", "alreadyExists": False}
        kubernetes.operate(snapshot)
        asked = ("--kubernetes-ha", "flink", "--flink-rest", server.url, "--closed-world")
        plan = running.bed.plan(*asked, "--extra-root", tmp_path / "sp", "--search", "places")
    assert (plan.ran.code, plan.refusal(running.job)) == (0, None)
    assert plan.blocks(running.job) == []


@pytest.mark.parametrize("stated", ["both", *map(larger, ("of the bucket", "nothing"))])
def test_a_savepoint_of_long_ago_in_a_bucket_that_is_gone_is_lifted_by_a_word_on_each(
    kubernetes, running, stated
) -> None:
    """The spec names for ever what a job was started from; nothing can be read there any more.

    A word on the bucket alone, say because it is large, the spec contradicts.
    """
    gone = "s3://given-up/savepoints/savepoint-000000-1"
    with RestServer(cluster_of(running.job, completed=8)) as server:
        document = resource(running, port_of(server))
        document["spec"]["job"]["initialSavepointPath"] = gone
        kubernetes.operate(document)
        asked = ("--kubernetes-ha", "flink", "--flink-rest", server.url, "--closed-world")
        word = () if stated == "nothing" else ("--search-except", "s3://given-up")
        word += ("--empty-root", gone) if stated == "both" else ()
        plans = [running.bed.plan(*asked, *word)]
        running.bed.sweep(plans[0], "--delete")
        running.job.checkpoint(9, *running.live, age=0 * DAY)
        server.routes |= cluster_of(running.job, completed=9)
        running.bed.sweep(running.bed.plan(*asked, *word), "--delete")
    refused = plans[0].job(running.job)["refused"]
    is_lifted = stated == "both"
    assert is_lifted or f"--empty-root {gone}" in refused["message"]
    assert is_lifted is not any(each.exists() for each in running.orphans)


def test_a_savepoint_that_is_there_protects_whatever_is_stated_of_its_place(
    kubernetes, running
) -> None:
    """The statement is about what cannot be looked at."""
    kept = running.bed.folder / "elsewhere/savepoint-000000-1"
    write(kept / "_metadata", metadata(4, running.orphans[:1]), 30 * DAY)
    with RestServer(cluster_of(running.job, completed=8)) as server:
        document = resource(running, port_of(server))
        document["spec"]["job"]["initialSavepointPath"] = f"file://{kept}"
        kubernetes.operate(document)
        asked = ("--kubernetes-ha", "flink", "--flink-rest", server.url, "--closed-world")
        word = ("--empty-root", kept, "--search-except", kept.parent)
        plan = running.bed.plan(*asked, *word)
    assert [plan.verdict(each)[0] for each in running.orphans] == ["keep", "tombstone"]


def test_a_deleted_deployment_leaves_its_job_blocked(kubernetes, running, tmp_path) -> None:
    """Its storage stays in the world, and without evidence its job is not over."""
    with RestServer(cluster_of(running.job, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server)))
        config = configured(tmp_path)
        run("run", "--config", config)
    kubernetes.objects["flinkdeployments"].clear()
    (record,) = run("run", "--config", config).json
    assert record["root"] == str(running.bed.root)
    assert "job_state_unknown" in blocks(tmp_path)
    (root,) = run("discover", "--config", config).json["storage_roots"]
    assert (root["uri"], root["present"]) == (str(running.bed.root), False)
    (found,) = (e for e in run("doctor", "--config", config).json if e["check"].startswith("job "))
    assert found["check"] == f"job {running.job.id} (flink/orders)"
    (job,) = plans(tmp_path)[-1]["jobs"]
    assert job["resources"] == ["flink/orders"]


def test_a_job_that_its_resource_replaced_is_over(kubernetes, running, tmp_path) -> None:
    """R34, E5: the same resource runs another job, and REST shows that one running."""
    first, second = (Job(each * 8, running.bed.root / (each * 8)) for each in ("1a2b", "3c4d"))
    running.job.folder.rename(first.folder)
    (second.folder / "taskowned").mkdir(parents=True)
    second.checkpoint(1, second.shared(), age=0 * DAY)
    with RestServer(cluster_of(first, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server), job=first.id))
        config = configured(tmp_path)
        run("run", "--config", config)
        server.routes = cluster_of(second, completed=1)
        kubernetes.operate(resource(running, port_of(server), job=second.id))
        run("run", "--config", config)
        jobs = {each["job_id"]: each for each in run("discover", "--config", config).json["jobs"]}
    states = {each["job_id"]: each["state"] for each in plans(tmp_path)[-1]["jobs"]}
    assert (states[first.id], states[second.id]) == ("ended", "running")
    assert jobs[first.id]["followed_by"] == second.id
    names = {each["job_id"]: each["resources"] for each in plans(tmp_path)[-1]["jobs"]}
    assert names == {first.id: ["flink/orders"], second.id: ["flink/orders"]}


@pytest.mark.parametrize(
    "shown", [{"status": "RESTARTING"}, *map(larger, ({"status": "CANCELED"}, None))]
)
def test_a_successor_that_rest_does_not_show_running_ends_nothing(
    kubernetes, running, tmp_path, shown
) -> None:
    """The resource may say RUNNING of what has just failed; without an answer nothing is known."""
    first, second = (Job(each * 8, running.bed.root / (each * 8)) for each in ("1a2b", "3c4d"))
    running.job.folder.rename(first.folder)
    second.checkpoint(1, second.shared(), age=0 * DAY)
    with RestServer(cluster_of(first, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server), job=first.id))
        config = configured(tmp_path)
        run("run", "--config", config)
        kubernetes.operate(resource(running, port_of(server), job=second.id))
        server.routes = {} if shown is None else cluster_of(second, completed=1, **shown)
        jobs = {each["job_id"]: each for each in run("discover", "--config", config).json["jobs"]}
    assert (jobs[first.id]["present"], jobs[first.id]["followed_by"]) == (False, None)


def test_a_directory_that_no_resource_explains_stays_blocked(kubernetes, running, tmp_path) -> None:
    """It is shown with its condition; the explained one beside it is clear."""
    stranger = make_story(Bed(tmp_path, AT_ONCE), 7)
    with RestServer(cluster_of(running.job, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server)))
        config = configured(tmp_path)
        run("run", "--config", config)
        found = run("doctor", "--config", config)
        shown = run("world", "--config", config)
    jobs = {each["job_id"]: each for each in plans(tmp_path)[-1]["jobs"]}
    assert [b["condition"] for b in jobs[stranger.job.id]["blocked"]] == ["job_state_unknown"]
    assert jobs[running.job.id]["blocked"] == []
    assert jobs[running.job.id]["resources"] == ["flink/orders"]
    findings = {each["check"]: each for each in found.json}
    assert findings["discovery"]["health"] == "good"
    assert shown.json["resources"] == {running.job.id: ["flink/orders"]}
    assert "job_state_unknown" in findings[f"job {stranger.job.id}"]["message"]


def test_outside_of_kubernetes_files_and_addresses_say_the_same(running, tmp_path, monkeypatch):
    """Standalone and YARN clusters have no resources."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    file = tmp_path / "config.yaml"
    file.write_text(
        yaml.safe_dump({"execution": {"checkpointing": {"dir": f"file://{running.bed.root}"}}})
    )
    with RestServer(cluster_of(running.job, completed=8)) as server:
        options = ("--file", file, "--flink-rest", server.url)
        document = run("discover", *options).json
    (root,) = document["storage_roots"]
    assert (root["uri"], root["from"]["kind"]) == (str(running.bed.root), "File")
    assert [each["uri"] for each in document["clusters"]] == [server.url]
    (job,) = document["jobs"]
    shown = (job["job_id"], job["state"], job["from"]["name"])
    assert shown == (running.job.id, "RUNNING", server.url)


def test_what_a_cluster_shows_of_its_configuration_is_searched(
    kubernetes, running, tmp_path
) -> None:
    """No resource names its savepoint directory; once shown, it is remembered."""
    with RestServer(cluster_of(running.job, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server)))
        config = configured(tmp_path, at_once(tmp_path, running))
        named = {"state.savepoints.dir": f"file://{tmp_path}/saved"}
        server.routes.update(configuration(named))
        run("run", "--config", config)
    document = run("discover", "--config", config).json
    assert document["not_understood"] == []
    (saved,) = (e for e in document["extra_roots"] if e["uri"] == f"{tmp_path}/saved")
    assert (saved["present"], saved["from"]["kind"]) == (False, "Cluster")


@pytest.mark.ci
def test_a_job_manager_without_an_operator_is_asked_where_it_answers(
    kubernetes, running, tmp_path
) -> None:
    """What it runs is evidence of nothing; where it does not answer, that is said."""
    kubernetes.operate(resource(running, 1))
    kubernetes.add(a_plain_deployment("plain", container={"args": ["/start.sh"]}))
    with RestServer(cluster_of(running.job, completed=8)) as server:
        rest = {"rest": server.url}
        config = configured(tmp_path, at_once(tmp_path, running), discovery=rest)
        document = run("discover", "--config", config).json
        asked = {(e["uri"], e["from"]["name"]) for e in document["clusters"]}
        assert (server.url, "plain") in asked
        assert document["unnamed"] == []
    document = run("discover", "--config", config).json
    assert [each["name"] for each in document["unnamed"]] == ["Deployment/flink/plain"]
    assert document["not_understood"] == []
    (found,) = (e for e in run("doctor", "--config", config).json if e["check"] == "discovery")
    assert "looks like Flink, and no configuration names it" in found["message"]
    assert "Deployment/flink/plain" in run("world", "--config", config).err


def test_a_person_acknowledges_what_can_be_corrected_no_more(kubernetes, running, tmp_path) -> None:
    """By the name that the message says; another part, or a source, has no such name."""
    with RestServer(cluster_of(running.job, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server)))
        services = {"high-availability": "com.ours.Ha"}
        kubernetes.operate(resource(running, port_of(server), "team", "b" * 32, **services))
        config = configured(tmp_path, at_once(tmp_path, running))
        run("run", "--config", config)
        del kubernetes.objects["flinkdeployments"]["team"]
        run("run", "--config", config)
        assert blocks(tmp_path) == {"discovery_unclear"}
        (part,) = run("discover", "--config", config).json["not_understood"]
        words = ("world", "acknowledge", "--config", config, "discovery_unclear")
        other = run(*words, "FlinkDeployment/flink/other#0")
        assert (other.code, part["what"] in other.err) == (2, True)
        assert run(*words, part["what"]).code == 0
        run("run", "--config", config)
        assert blocks(tmp_path) == set()
        run("run", "--config", config)
        assert blocks(tmp_path) == set()


def test_what_blocks_a_run_without_discovery_says_what_lifts_it(story, tmp_path) -> None:
    """An earlier run of the state location discovered it; the file does so no more."""
    file = write(tmp_path / "flink-conf.yaml", b"state.checkpoints.dir: s3://${TEAM}/a\n", DAY)
    by_hand = {**at_once(tmp_path, story), "ended_job": ["all"]}
    run("run", "--config", configured(tmp_path, by_hand, discovery={"files": [str(file)]}))
    config = configured(tmp_path, by_hand, discovery={"namespaces": []}, mode="delete")
    blocked = events(run("run", "--config", config).err, "job.blocked")[0]
    command = shlex.split(blocked["reason"].partition("run: orphangc ")[2].partition(";")[0])
    assert run(*(config if each == "FILE" else each for each in command)).code == 0
    for _ in range(2):
        run("run", "--config", config)
    assert not story.orphans[0].exists()


@pytest.mark.parametrize("spelled", ["{}/", "file://{}", "{}/../{}"], ids=["folder", "uri", "up"])
def test_a_storage_root_that_was_discovered_contains_itself_by_no_spelling(story, spelled) -> None:
    """A person plans it by hand, after a run of a file that discovered it."""
    root = story.bed.root
    file = story.bed.folder / "flink-conf.yaml"
    file.write_text(f"state.checkpoints.dir: file://{root}\n")
    discovery = {"files": [str(file)], "state": str(story.bed.state)}
    Configured.of(story, mode="report", discovery=discovery).run()
    story.bed.root = spelled.format(root, root.name)
    assert story.bed.plan().blocks(story.job) == []


def test_only_a_person_says_that_a_lost_memory_matters_no_more(
    kubernetes, running, tmp_path
) -> None:
    """Removing files by hand makes the world smaller unseen; an acknowledgement is logged."""
    with RestServer(cluster_of(running.job, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server)))
        config = configured(tmp_path, at_once(tmp_path, running))
        run("run", "--config", config)
        for each in (tmp_path / "state" / "discovery").iterdir():
            each.unlink()
        run("run", "--config", config)
        assert blocks(tmp_path) == {"discovery_unclear"}
        (part,) = run("discover", "--config", config).json["not_understood"]
        assert part["from"]["kind"] == "State"
        done = run("world", "acknowledge", "--config", config, "discovery_unclear", part["what"])
        assert (done.code, "world.acknowledged" in done.err) == (0, True)
        run("run", "--config", config)
    assert blocks(tmp_path) == set()


def test_statements_of_older_files_are_read_no_more(kubernetes, running, tmp_path) -> None:
    """They only lifted blocks: without them nothing more is deleted, and a warning says so."""
    kubernetes.operate(a_deployment("team", {"state.checkpoints.dir": "s3://${B}/x"}))
    old = {"without_state": ["x"], "explained": ["y"], "forgotten": ["z"]}
    config = configured(tmp_path, at_once(tmp_path, running), discovery=old)
    done = run("run", "--config", config)
    assert "discovery_unclear" in blocks(tmp_path)
    assert "discovery.explained" in done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "give --namespace, --file, --flink-rest, or --config with discovery"),
        (("--namespace", "A_B"), "no Kubernetes namespace"),
        (("--file", "no-such-config.yaml"), "no-such-config.yaml: there is no such file"),
    ],
)
def test_a_call_that_says_nothing_usable_is_refused(options, said) -> None:
    """Exit code 2, in one line."""
    done = run("discover", *options)
    assert (done.code, len(done.complaints)) == (2, 1)
    assert said in done.complaints[0]


@pytest.mark.parametrize("name", ["flink.yaml", "config.yaml"])
def test_a_file_that_is_not_understood_is_no_success(tmp_path, name) -> None:
    """It names a storage root, and nothing of it was read; the document says so."""
    file = tmp_path / name
    file.write_text("state.checkpoints.dir: s3://bucket/checkpoints\n}: {")
    done = run("discover", "--file", file)
    assert (done.code, done.json["not_understood"][0]["blocks"]) == (10, ["everything"])
    assert str(file) in done.complaints[0]


@pytest.mark.ci
def test_a_daemon_collects_what_it_discovers(running, tmp_path, monkeypatch) -> None:
    """No storage root is configured; its page and metrics have it after the first discovery."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({"execution.checkpointing.dir": f"file://{running.bed.root}"}))
    discovery = {"namespaces": [], "files": [str(file)]}
    config = configured(tmp_path, discovery=discovery, http={"port": 0}, run_at_start=True)
    root = str(running.bed.root)
    with started("serve", "--config", config, err=tmp_path / "err") as daemon:
        done = {"phase": "plan", "result": "done", "root": root}
        until(lambda: daemon.metric("orphangc_runs_total", **done))
        assert root in daemon.get("/")[1]
        assert daemon.end() == 0


def test_why_nothing_is_discovered_reaches_the_daemon(kubernetes, running, tmp_path) -> None:
    """As a document of the command that it calls, beside the exit code."""
    config = configured(tmp_path)
    failed = run("roots", "--config", config)
    assert (failed.code, failed.json["storage_roots"]) == (10, [])
    assert "Namespace/flink: shows nothing of Flink" in failed.json["problem"]
    kubernetes.operate(resource(running, 1))
    found = run("roots", "--config", config).json
    assert ([each["root"] for each in found["storage_roots"]], found["problem"]) == (
        [str(running.bed.root)],
        None,
    )


@pytest.mark.ci
@pytest.mark.usefixtures("kubernetes")
def test_the_page_of_a_daemon_says_why_nothing_is_discovered(tmp_path) -> None:
    """Until the namespace shows something."""
    config = configured(tmp_path, http={"port": 0}, run_at_start=True)
    with started("serve", "--config", config, err=tmp_path / "err") as daemon:
        until(lambda: "shows nothing of Flink" in daemon.get("/")[1])
        assert daemon.end() == 0
