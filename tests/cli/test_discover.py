"""``discover``, and runs of storage roots that no person configured."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.helpers import AT_ONCE, DAY, Bed, Job, flink, metadata, run, write
from cli.scheduled import started, until
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
    mounted,
)
from support.kubernetes_server import KubernetesServer, a_config_map
from support.rest_server import RestServer, as_json

KEYS = ("storage_roots", "extra_roots", "clusters", "ha", "pins", "jobs", "not_understood")


def larger(case: object) -> Any:
    """Return a case of the class ``ci``."""
    return pytest.param(case, marks=pytest.mark.ci)


@pytest.fixture
def kubernetes(tmp_path, monkeypatch):
    """An API server that enforces the operator's schemas, reached by a kubeconfig."""
    with KubernetesServer() as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
        yield server


@pytest.fixture
def running(tmp_path) -> Story:
    """A job that runs; where its checkpoints are, only Kubernetes knows."""
    return make_story(Bed(tmp_path, AT_ONCE))


def resource(story: Story, port: int, name: str = "orders", job: str = "", **config: str) -> dict:
    """Return the FlinkDeployment of a story's job."""
    options = {
        "state.checkpoints.dir": f"file://{story.bed.root}",
        "rest.port": str(port),
        **config,
    }
    return a_deployment(name, options, status=a_status(job or story.job.id))


def configured(folder: Path, *roots: dict[str, Any], **more: Any) -> Path:
    """Write a configuration whose world is discovered; return its path."""
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
    """Return the plans of all runs, oldest first."""
    found = sorted(folder.glob("plans/*/*/plan.json"), key=lambda each: each.parent.name)
    return [json.loads(each.read_text()) for each in found]


def blocks(folder: Path) -> set[str]:
    """Return the unmet conditions of all jobs in the newest plan."""
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
    assert unclear["blocks"] == ["s3://prod/"]
    table = run("discover", "--namespace", "flink", "--output", "table").out
    assert unclear["statement"].partition("#")[2] in table.replace("\n", "")
    assert "s3://prod/checkpoints" in table
    assert "storage_roots:\n- root: s3://prod/checkpoints" in table


def test_the_equivalent_configuration_is_one(kubernetes, tmp_path) -> None:
    """What is printed can be given back, and names the same storage root."""
    kubernetes.operate(a_deployment())
    path = tmp_path / "by-hand.yaml"
    path.write_text(run("discover", "--namespace", "flink", "--as-config").out)
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
    assert len(named) == stored + 1
    assert [each["from"]["name"] for each in document["not_understood"]] == ["plain"]


def test_a_job_that_only_a_resource_names_is_collected(kubernetes, running, tmp_path) -> None:
    """Report, tombstones, deletion: storage root, cluster and namespace come from the resource."""
    with RestServer(flink(running.job, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server)))
        config = configured(tmp_path, {**at_once(tmp_path, running)}, mode="delete")
        for number in (None, None, 9):
            if number:
                running.job.checkpoint(number, *running.live, age=0 * DAY)
                server.routes |= flink(running.job, completed=number)
            done = run("run", "--config", config)
            assert done.code == 0, done.err
    assert blocks(tmp_path) == set()
    assert not any(each.exists() for each in running.orphans)
    assert all(each.exists() for each in running.live)


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
    with RestServer(flink(running.job, completed=8)) as server:
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
    with RestServer(flink(running.job, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server)))
        config = configured(tmp_path, at_once(tmp_path, running))
        run("run", "--config", config)
        kubernetes.denied.add(what)
        assert run("run", "--config", config).code == 0
    assert "discovery_unclear" in blocks(tmp_path)


def test_a_namespace_that_never_showed_anything_blocks_everything(
    kubernetes, running, tmp_path
) -> None:
    """Until it is stated to be empty, or has shown something once; then it may be empty."""
    with RestServer(flink(running.job, completed=8)) as server:
        by_hand = {**at_once(tmp_path, running), "flink_rest": [server.url]}
        config = configured(tmp_path, by_hand)
        for stated, expected in ((), {"discovery_unclear"}), (("Namespace/flink",), set()):
            configured(tmp_path, by_hand, discovery={"without_state": stated})
            assert run("run", "--config", config).code == 0
            assert blocks(tmp_path) == expected
        configured(tmp_path, by_hand)
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


def test_a_configuration_in_bytes_is_read(kubernetes) -> None:
    """A ConfigMap may hold a text as ``binaryData``."""
    text = b"state.checkpoints.dir: s3://prod/checkpoints"
    conf = a_config_map("conf")
    del conf["data"]
    conf["binaryData"] = {"flink-conf.yaml": base64.b64encode(text).decode(), "other": "/w=="}
    kubernetes.add(conf)
    kubernetes.add(a_plain_deployment(**mounted({"configMap": {"name": "conf"}})))
    document = run("discover", "--namespace", "flink").json
    assert [each["uri"] for each in document["storage_roots"]] == ["s3://prod/checkpoints"]
    assert document["not_understood"] == []


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


def test_a_deleted_deployment_leaves_its_job_blocked(kubernetes, running, tmp_path) -> None:
    """Its storage stays in the world, and without evidence its job is not over."""
    with RestServer(flink(running.job, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server)))
        config = configured(tmp_path)
        run("run", "--config", config)
    kubernetes.objects["flinkdeployments"].clear()
    (record,) = run("run", "--config", config).json
    assert record["root"] == str(running.bed.root)
    assert "job_state_unknown" in blocks(tmp_path)
    lost = run("discover", "--config", config).json["lost"]
    assert f"checkpoints {running.bed.root}" in {each["what"] for each in lost}
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
    with RestServer(flink(first, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server), job=first.id))
        config = configured(tmp_path)
        run("run", "--config", config)
        server.routes = flink(second, completed=1)
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
    with RestServer(flink(first, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server), job=first.id))
        config = configured(tmp_path)
        run("run", "--config", config)
        kubernetes.operate(resource(running, port_of(server), job=second.id))
        server.routes = {} if shown is None else flink(second, completed=1, **shown)
        jobs = {each["job_id"]: each for each in run("discover", "--config", config).json["jobs"]}
    assert (jobs[first.id]["present"], jobs[first.id]["followed_by"]) == (False, None)


@pytest.mark.ci
def test_whatever_resource_is_removed_its_job_keeps_its_files(
    kubernetes, running, tmp_path
) -> None:
    """A claiming job elsewhere and a savepoint that only a snapshot names, both hidden at once."""
    elsewhere, copy = tmp_path / "second", tmp_path / "copies" / "savepoint-1"
    claimer = running.bed.job(2, below=elsewhere)
    claimer.checkpoint(9, running.orphans[0], claimer.shared(), age=10 * DAY)
    write(copy / "_metadata", metadata(3, [running.orphans[1]]), 20 * DAY)
    spare = running.job.shared()
    with RestServer(flink(running.job, completed=8)) as server:
        kubernetes.operate(resource(running, port_of(server)))
        options = {"execution.checkpointing.dir": f"file://{elsewhere}"}
        gone = a_status(claimer.id, "FINISHED", jobManagerDeploymentStatus="MISSING")
        kubernetes.operate(a_deployment("billing", options))
        kubernetes.operate(a_deployment("billing", options, status=gone))
        kubernetes.operate(a_snapshot_resource(path=f"file://{copy}"))
        by_hand = {**at_once(tmp_path, running), "ended_job": [claimer.id]}
        config = configured(tmp_path, by_hand, mode="delete")
        run("run", "--config", config)
        del kubernetes.objects["flinkdeployments"]["billing"]
        kubernetes.objects["flinkstatesnapshots"].clear()
        for number in (9, 10):
            running.job.checkpoint(number, *running.live, age=0 * DAY)
            server.routes |= flink(running.job, completed=number)
            run("run", "--config", config)
    assert all(each.exists() for each in (*running.orphans, *running.live))
    assert not spare.exists()


def test_a_directory_that_no_resource_explains_stays_blocked(kubernetes, running, tmp_path) -> None:
    """It is shown with its condition; the explained one beside it is clear."""
    stranger = make_story(Bed(tmp_path, AT_ONCE), 7)
    with RestServer(flink(running.job, completed=8)) as server:
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
    with RestServer(flink(running.job, completed=8)) as server:
        options = ("--file", file, "--flink-rest", server.url)
        document = run("discover", *options).json
    (root,) = document["storage_roots"]
    assert (root["uri"], root["from"]["kind"]) == (str(running.bed.root), "File")
    assert [each["uri"] for each in document["clusters"]] == [server.url]


def test_a_storage_in_memory_is_believed_as_long_as_rest_confirms_it(
    kubernetes, running, tmp_path
) -> None:
    """A job's code may choose a directory that no resource names."""
    memory = "JobManagerCheckpointStorage"
    with RestServer(flink(running.job, completed=8, checkpoint_storage=memory)) as server:
        options = {"state.checkpoint-storage": "jobmanager", "rest.port": str(port_of(server))}
        kubernetes.operate(a_deployment("orders", options))
        config = configured(tmp_path, at_once(tmp_path, running))
        assert run("discover", "--config", config).json["not_understood"] == []
        server.routes |= flink(running.job, completed=8)
        (part,) = run("discover", "--config", config).json["not_understood"]
    assert part["blocks"] == ["everything"]


def test_a_configuration_in_an_image_is_read_as_its_cluster_shows_it(
    kubernetes, running, tmp_path
) -> None:
    """No resource names its savepoint directory."""
    with RestServer(flink(running.job, completed=8)) as server:
        named = {
            "state.checkpoints.dir": f"file://{running.bed.root}",
            "rest.port": port_of(server),
        }
        words = ["jobmanager", *(f"-D{name}={value}" for name, value in named.items())]
        container = {"image": "registry.example/orders:7", "args": words}
        kubernetes.add(a_plain_deployment(container=container))
        config = configured(tmp_path, at_once(tmp_path, running))
        options = {**named, "state.savepoints.dir": f"file://{tmp_path}/saved"}
        shown = [{"key": name, "value": str(value)} for name, value in options.items()]
        server.routes["/jobmanager/config"] = as_json(shown)
        document = run("discover", "--config", config).json
        server.routes = {}
        (part,) = run("discover", "--config", config).json["not_understood"]
    assert document["not_understood"] == []
    assert f"{tmp_path}/saved" in {each["uri"] for each in document["extra_roots"]}
    assert part["blocks"] == ["everything"]


def test_what_is_written_by_hand_wins_and_is_compared(kubernetes, running, tmp_path) -> None:
    """The union is searched; what only one side names is said."""
    (tmp_path / "savepoints").mkdir()
    by_hand = {**at_once(tmp_path, running), "extra_roots": [str(tmp_path / "savepoints")]}
    kubernetes.operate(resource(running, 1))
    config = configured(tmp_path, by_hand)
    different = run("discover", "--config", config).json["differences"]
    assert {(e["setting"], e["only_in"]) for e in different} >= {
        ("extra_roots", "configuration"),
        ("flink_rest", "discovery"),
    }


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
