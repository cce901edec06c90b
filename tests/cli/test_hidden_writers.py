"""Jobs that no resource seems to name: where their checkpoints are is a fact of storage.

Job B claimed a checkpoint of job A and keeps its own beside A's storage root, in the same storage.
What starts B is hidden in every way that attacks have found; nothing that a program runs, mounts or
is given may matter to what B still needs, nor block what nothing needs.
"""

import time
from pathlib import Path
from typing import Any

import pytest

from cli.helpers import DAY, metadata, write
from cli.scheduled import Configured, settings_of
from cli.stories import Story
from cli.stories_on_s3 import JOB_ID as S3_JOB
from cli.stories_on_s3 import S3Story
from cli.test_discover import blocks, larger
from support.flink_resources import a_deployment, a_plain_deployment, a_status
from support.kubernetes_server import KubernetesServer, a_config_map
from support.rest_server import RestServer, as_json, configured

B = f"{2:032x}"
DIR = "file:///data/red/checkpoints"
SET = f"state.checkpoints.dir: {DIR}"


def pods(name: str = "red", *, labels: dict[str, str] | None = None, **container: Any) -> Any:
    spec = {"image": "ours/red:7", "args": [], **container}
    return a_plain_deployment(name, labels or {"app": name}, container=spec)


def with_volume(document: Any, path: str, **source: Any) -> Any:
    pod = document["spec"]["template"]["spec"]
    pod["volumes"] = [{"name": "v", **source}]
    pod["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": path}]
    return document


def config_map(name: str, data: dict[str, str], **more: Any) -> Any:
    return {**a_config_map(name), "data": data, **more}


SCRIPT = {"configMap": {"name": "scripts"}}
SCRIPTS = config_map("scripts", {"jobmanager.sh": f"exec flink -D {SET}"})
BYTES = {"binaryData": {"flink-conf.yaml": "/w=="}}
JAVA = ["java", "-cp", "/app/*", "RedJob", "--checkpoints", DIR]
OF_FLINK = {"image": "flink:1.20"}
SIDECAR = pods(args=["taskmanager"], **OF_FLINK)
SIDECAR["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "ours/red:7"})
CRON = {
    "kind": "CronJob",
    "metadata": {"name": "red"},
    "spec": {"jobTemplate": {"spec": pods(command=JAVA)["spec"]}},
}
PROPERTIES = [{"name": "FLINK_PROPERTIES", "value": "state.checkpoints.dir: ${X}"}]

ARGUMENTS: dict[str, Any] = {
    "config": {"parallelism.default": "2"},
    "job": {"state": "running", "args": ["--dir", DIR]},
}
MISSING = a_status(B, "FINISHED", jobManagerDeploymentStatus="MISSING")
GONE = a_deployment("red", **ARGUMENTS, status=MISSING)

HIDDEN: dict[str, list[Any]] = {
    "an entry point of one's own": [pods(command=["/docker-entrypoint.sh"], args=["jobmanager"])],
    "a script called like Flink's": [
        with_volume(pods(args=["/scripts/jobmanager.sh"]), "/scripts", **SCRIPT),
        SCRIPTS,
    ],
    "a script over Flink's folder": [
        with_volume(pods(args=["jobmanager.sh"], **OF_FLINK), "/opt/flink/bin", **SCRIPT),
        SCRIPTS,
    ],
    "an init container": [with_volume(pods(**OF_FLINK), "/opt/flink/conf", emptyDir={})],
    "a CronJob between two runs": [CRON],
    "an image of one's own": [pods("flink-jobmanager-red", command=["/run.sh"])],
    "a class in Java": [pods(command=JAVA)],
    "a TaskManager beside": [
        pods(command=["sh", "-c", "start-cluster.sh && taskmanager.sh"], **OF_FLINK)
    ],
    "a TaskManager's label": [pods(labels={"component": "taskmanager"}, args=["/run.sh"])],
    "a ConfigMap of bytes": [
        with_volume(pods(**OF_FLINK), "/opt/flink/conf", configMap={"name": "conf"}),
        config_map("conf", {}, **BYTES),
    ],
    "a sidecar of another image": [SIDECAR],
    "a variable in a variable": [pods(env=PROPERTIES, **OF_FLINK)],
    "another operator's resource": [],
    "arguments of an operated job": [a_deployment("red", **ARGUMENTS), GONE],
}
"""What starts job B; each of them once hid it, or a later change of it did."""

ORDINARY: dict[str, list[Any]] = {
    "an optional ConfigMap that is absent": [
        with_volume(
            pods(args=["jobmanager"], **OF_FLINK),
            "/opt/flink/conf",
            configMap={"name": "absent", "optional": True},
        )
    ],
    "keys of AWS as a whole Secret": [
        pods(args=["jobmanager"], envFrom=[{"secretRef": {"name": "aws"}}], **OF_FLINK)
    ],
    "a history server": [pods("history", args=["history-server"], **OF_FLINK)],
    "a SQL gateway": [pods("gateway", args=["sql-gateway.sh", "start-foreground"], **OF_FLINK)],
}
"""What blocked every storage root for ever."""


def fleet_of(story: Story, kubernetes: KubernetesServer, documents: list[Any]) -> Configured:
    """Return the configuration of a fleet that its resources and one statement describe."""
    options = {"state.checkpoints.dir": f"file://{story.bed.root}"}
    kubernetes.operate(a_deployment(config=options))  # the operator makes its configuration
    gone = a_status(story.job.id, "FINISHED", jobManagerDeploymentStatus="MISSING")
    kubernetes.operate(a_deployment(config=options, status=gone))
    for each in documents:
        (kubernetes.operate if each["kind"].startswith("Flink") else kubernetes.add)(each)
    folder = story.bed.folder
    discovery = {
        "namespaces": ["flink"],
        "rest": "http://127.0.0.1:1",
        "alias": [f"{folder}={folder}"],
        "state": str(story.bed.state),
        "closed_world": True,
    }
    settings = settings_of(story, ended_job=[story.job.id, B])
    return Configured.of(story, settings, discovery=discovery)


def red(story: Story) -> Path:
    """Write the retained checkpoint of job B, which claimed the first orphan of job A."""
    data = metadata(9, [*story.live, story.orphans[0]])
    folder = story.bed.folder / "red" / "checkpoints" / B
    return write(folder / "chk-9" / "_metadata", data, 10 * DAY)


SHOWN = ("an entry point of one's own", "a CronJob between two runs", "a class in Java")


@pytest.mark.parametrize("name", [*SHOWN, *map(larger, sorted(set(HIDDEN) - set(SHOWN)))])
def test_a_hidden_job_keeps_what_its_checkpoint_names(story, kubernetes, name) -> None:
    """In the first cycle and in all later ones, whatever is there between two of them."""
    red(story)
    fleet = fleet_of(story, kubernetes, HIDDEN[name])
    for _ in range(2):
        fleet.run()
    for kind in ("deployments", "cronjobs"):  # a Job or a pod lives for one cycle, or for none
        kubernetes.objects.pop(kind, None)
    for _ in range(2):
        fleet.run()
    assert "discovery_unclear" not in blocks(story.bed.folder)
    assert story.orphans[0].exists()
    assert not story.orphans[1].exists()


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_fleet_is_collected_by_the_one_statement(story, kubernetes, name) -> None:
    """Nothing that it runs or mounts asks for a word."""
    fleet = fleet_of(story, kubernetes, ORDINARY[name])
    for _ in range(3):
        assert fleet.run().code == 0
    assert blocks(story.bed.folder) == set()
    assert not any(each.exists() for each in story.orphans)


def test_without_the_statement_nothing_is_deleted(story, kubernetes) -> None:
    """The one that no evidence replaces."""
    fleet = fleet_of(story, kubernetes, [])
    (root,) = fleet.content["storage_roots"]
    root["closed_world"] = False
    for _ in range(3):
        fleet.run()
    assert all(each.exists() for each in story.orphans)


def test_a_statement_of_an_older_file_hides_no_job(story, kubernetes) -> None:
    """It explained an image, a script, a text; each of them has changed since."""
    red(story)
    fleet = fleet_of(story, kubernetes, HIDDEN["a script over Flink's folder"])
    fleet.content["discovery"] |= {
        "explained": ["Deployment/flink/red#0123456789ab"],
        "without_state": ["Deployment/flink/red"],
        "forgotten": ["Deployment/flink/red"],
    }
    for _ in range(3):
        fleet.run()
    assert story.orphans[0].exists()


NAMED_BY = {
    "the same bucket": "",
    "a resource": "elsewhere",
    "its own REST service": "elsewhere",
    "nothing": "elsewhere",
}


@pytest.mark.parametrize("namer", ["the same bucket", *map(larger, list(NAMED_BY)[1:])])
def test_a_job_in_a_bucket_that_anything_names_is_found(on_s3, kubernetes, tmp_path, namer) -> None:
    """In another bucket that nothing names it is lost: the limit that the statement is about."""
    left = left_in(on_s3, kubernetes, tmp_path, namer)
    assert left == (set() if namer == "nothing" else {min(on_s3.orphans)})


@pytest.mark.s3
@pytest.mark.nightly
@pytest.mark.parametrize("namer", NAMED_BY)
def test_a_job_in_a_bucket_of_a_real_server_is_found(
    on_radosgw, kubernetes, tmp_path, namer
) -> None:
    """The same by Ceph's gateway."""
    left = left_in(on_radosgw, kubernetes, tmp_path, namer)
    assert left == (set() if namer == "nothing" else {min(on_radosgw.orphans)})


def left_in(on_s3: S3Story, kubernetes: KubernetesServer, folder: Path, namer: str) -> set[str]:
    """Return which orphans are left after three runs; job B needs the first one."""
    kept = min(on_s3.orphans)
    bucket = f"{on_s3.bucket}-2" if NAMED_BY[namer] else on_s3.bucket
    if bucket != on_s3.bucket:
        on_s3.client.create_bucket(Bucket=bucket)
    data = metadata(9, [f"s3://{on_s3.bucket}/checkpoints/{kept}"])
    key = f"red/{B}/chk-9/_metadata"
    on_s3.client.put_object(Bucket=bucket, Key=key, Body=data)
    options = {"state.checkpoints.dir": on_s3.root}
    gone = {"jobManagerDeploymentStatus": "MISSING"}
    kubernetes.operate(a_deployment(config=options))
    kubernetes.operate(a_deployment(config=options, status=a_status(S3_JOB, "FINISHED", **gone)))
    named = {"execution.checkpointing.dir": f"s3://{bucket}/red"}
    if namer == "a resource":
        kubernetes.operate(a_deployment("red", named))
        kubernetes.operate(a_deployment("red", named, status=a_status(B, "FINISHED", **gone)))
    shown = configured(named if "REST" in namer else {})
    with RestServer({"/config": CONFIG, **shown}) as server:
        kubernetes.add(pods("flink-red"))
        discovery = {"namespaces": ["flink"], "rest": server.url, "closed_world": True}
        fleet = Configured(folder, {"mode": "delete", "plans": str(folder / "plans")})
        state = str(folder / "state")  # Ceph's gateway cannot lock
        fleet.content["discovery"] = {**discovery, "state": state}
        fleet.content["storage_roots"] = [s3_settings(on_s3.root, state)]
        fleet.run()
    fleet.content["discovery"]["rest"] = "http://127.0.0.1:1"
    for _ in range(2):
        time.sleep(1.1)  # S3 has whole seconds
        fleet.run()
    return on_s3.orphans & on_s3.contents().keys()


CONFIG = as_json({"flink-version": "1.20.0", "refresh-interval": 3000})


def s3_settings(root: str, state: str) -> dict[str, Any]:
    margins = ("grace_period", "clock_skew", "quiet_period", "quarantine_period")
    return {
        "root": root,
        "state": state,
        "closed_world": True,
        "ended_job": [S3_JOB, B],
        "allow_short_margins": True,
        **dict.fromkeys(margins, "0"),
    }
