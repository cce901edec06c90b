"""What is not searched, read or shown blocks every storage root: claims cross roots."""

import pytest

from orphangc.core.discovery.discovered_world import world_of_discovery
from orphangc.core.discovery.sources.read_resources import FileText, discovery_of
from orphangc.core.discovery.texts.flink_options import Reading
from support.discovered import ALL, blocks_of, found, namespace
from support.flink_resources import (
    a_deployment,
    a_plain_deployment,
    a_session_job,
    configuration,
)

MADE = {"flink-config-orders": {"flink-conf.yaml": ""}}
TEMPLATED = {"state.savepoints.dir": "s3://kept/${TEAM}/x"}


def blocks(*documents, **more):
    return blocks_of(world_of_discovery(found(documents, **more)))


@pytest.mark.parametrize(
    "config",
    [
        {"state.checkpoints.dir": "s3://prod/${TEAM}/x"},
        {"state.checkpoints.dir": "file:///data/x"},
        {"state.checkpoints.dir": "s3://prod/x", "s3.endpoint": "http://minio:9000"},
    ],
)
def test_a_checkpoint_directory_that_is_not_searched_blocks_every_root(config) -> None:
    """Its checkpoints may refer to files of any root."""
    assert blocks(a_deployment(config=config)) == (ALL,)
    assert blocks(a_session_job(config=config)) == (ALL,)


def test_a_savepoint_directory_that_is_not_searched_blocks_its_places_only() -> None:
    """Beside a checkpoint directory that is known."""
    config = {**configuration(), **TEMPLATED}
    assert blocks(a_deployment(config=config)) == (("s3://kept/", "s3://prod/checkpoints"),)


NO_DIRECTORY = {
    "deployment": ([a_deployment(config=TEMPLATED)], ()),
    "workload": (
        [
            a_plain_deployment(
                container={"args": ["jobmanager", "-Dstate.savepoints.dir=s3://a/%x"]}
            )
        ],
        (),
    ),
    "session job": ([a_session_job(config=TEMPLATED)], ()),
    "file": (
        [],
        (FileText(path="/x/config.yaml", text="state.savepoints.dir: s3://kept/${TEAM}/x"),),
    ),
}


@pytest.mark.parametrize("name", NO_DIRECTORY)
def test_another_part_does_not_hide_that_no_checkpoint_directory_is_named(name) -> None:
    """In each of the sources."""
    documents, files = NO_DIRECTORY[name]
    assert ALL in blocks(*documents, files=files)


@pytest.mark.parametrize(
    "more",
    [
        {"config": {"high-availability.type": "com.acme.Ha"}},
        {
            "config": {"a": "b"},
            "podTemplate": {
                "spec": {
                    "containers": [
                        {"name": "flink-main-container", "lifecycle": {"postStart": {"exec": {}}}}
                    ]
                }
            },
        },
        {"config": "text"},
    ],
)
def test_an_explained_part_does_not_explain_what_is_missing(more) -> None:
    """The directory is still not named."""
    shown = found([a_deployment(**more)])
    stated = [each.statement for one in shown.resources for each in one.unclear if each.statement]
    missing = [e.statement for one in shown.resources for e in one.unclear if e.is_absence]
    explained = set(stated) - set(missing)
    assert explained
    assert blocks_of(world_of_discovery(shown, explained=explained)) == (ALL,)


ELSEWHERE = "-Dstate.checkpoints.dir=s3://other/x"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("kubernetes.jobmanager.entrypoint.args", ELSEWHERE),
        ("containerized.master.env.FLINK_PROPERTIES", "state.checkpoints.dir: s3://other/x"),
        ("env.java.opts.jobmanager", ELSEWHERE),
        ("env.java.opts.all", "-XX:+UseG1GC -DFLINK_CONF_DIR=/data"),
        ("kubernetes.pod-template-file.jobmanager", "/data/pod.yaml"),
        ("kubernetes.pod-template-file", "/data/pod.yaml"),
        ("kubernetes.hadoop.conf.config-map.name", "core-site"),
        ("execution.checkpointing.storage", "com.acme.Storage"),
        ("state.checkpoint-storage", "com.acme.Storage"),
        (" execution.checkpointing.dir", "s3://other/x"),
        ("state.checkpoints.dir ", "s3://other/x"),
    ],
)
def test_an_option_that_sets_what_is_not_read_blocks_everything(option, value) -> None:
    """What it sets may be a second checkpoint directory."""
    assert ALL in blocks(a_deployment(config={**configuration(), option: value}))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("env.java.opts.all", "-XX:+UseG1GC -Duser.timezone=UTC"),
        ("kubernetes.pod-template-file.jobmanager", "/tmp/flink_op_generated_podTemplate_1.yaml"),
        ("kubernetes.pod-template-file.taskmanager", "/data/pod.yaml"),
        ("execution.checkpointing.storage", "filesystem"),
    ],
)
def test_an_option_that_sets_nothing_of_flink_blocks_nothing(option, value) -> None:
    """Nor a file that the operator made of what is read."""
    assert blocks(a_deployment(config={**configuration(), option: value})) == ()


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_an_endpoint_in_the_environment_counts_as_one_in_an_option(name) -> None:
    """Its bucket is another one than that of the same name here."""
    container = {"name": "flink-main-container", "env": [{"name": name, "value": "http://m:9000"}]}
    pod = {"spec": {"containers": [container]}}
    assert blocks(a_deployment(podTemplate=pod)) == (ALL,)
    near = Reading(endpoints=frozenset({"m:9000"}))
    assert blocks(a_deployment(podTemplate=pod), reading=near) == ()


OTHER = {"image": "ours/run:1", "command": ["/run.sh"], "args": []}
SIGNS = {
    "image": {**OTHER, "image": "registry/flink-orders:1"},
    "port": {**OTHER, "ports": [{"containerPort": 6123}]},
    "class": {**OTHER, "command": ["java", "org.apache.flink.container.entrypoint.Any"]},
    "script": {**OTHER, "command": ["sh", "-c", "true;jobmanager.sh;true"]},
    "variable": {**OTHER, "env": [{"name": "FLINK_CONF_DIR", "value": "/x"}]},
}


@pytest.mark.parametrize("name", SIGNS)
def test_a_workload_with_a_sign_of_flink_blocks_until_it_is_stated_to_keep_no_state(name) -> None:
    """It may be a JobManager of another maker."""
    documents = [a_deployment(), a_plain_deployment("x", {"app": "x"}, container=SIGNS[name])]
    assert blocks(*documents) == (ALL,)
    stated = world_of_discovery(found(documents), without_state=["Deployment/flink/x"])
    assert blocks_of(stated) == ()


def test_a_label_in_another_case_is_a_sign_of_flink() -> None:
    """Its pods may be a JobManager's."""
    labels = {"component": "JobManager"}
    assert blocks(a_plain_deployment("x", labels, container=OTHER)) == (ALL,)


@pytest.mark.parametrize(
    ("labels", "container"),
    [
        ({"app": "x"}, OTHER),
        ({"component": "taskmanager"}, SIGNS["image"]),
        ({"app": "x"}, {**SIGNS["image"], "args": ["taskmanager"]}),
        ({"app": "x"}, {**SIGNS["variable"], "image": "ghcr.io/apache/flink-kubernetes-operator"}),
    ],
)
def test_a_workload_that_is_no_job_manager_blocks_nothing(labels, container) -> None:
    """A TaskManager, the operator, another program."""
    assert blocks(a_plain_deployment("x", labels, container=container)) == ()


def test_a_hook_hides_no_variable_of_its_container() -> None:
    """Explaining the hook does not take out what the variable names."""
    container = {
        "name": "flink-main-container",
        "lifecycle": {"postStart": {"exec": {}}},
        "env": [{"name": "FLINK_PROPERTIES", "value": "state.savepoints.dir: s3://kept/sp"}],
    }
    shown = found([a_deployment(podTemplate={"spec": {"containers": [container]}})])
    assert world_of_discovery(shown).extra_roots == ("s3://kept/sp",)


def beside(*containers, **labels):
    """Return a workload whose pods have these containers."""
    document = a_plain_deployment("x", labels)
    document["spec"]["template"]["spec"]["containers"] = [
        {"name": f"c{number}", "image": "flink:1.20", **each}
        for number, each in enumerate(containers)
    ]
    return document


SET = "-Dstate.checkpoints.dir=s3://prod/checkpoints"


def test_a_task_manager_beside_a_job_manager_does_not_hide_it() -> None:
    """In one pod, or by a label that is copied from the other one."""
    job_manager, task_manager = {"args": ["jobmanager", SET]}, {"args": ["taskmanager"]}
    for document in (
        beside(job_manager, task_manager),
        beside(task_manager, job_manager),
        beside(job_manager, component="taskmanager"),
        beside({"command": ["/docker-entrypoint.sh"], **job_manager}, component="taskmanager"),
    ):
        shown = world_of_discovery(found([document]))
        assert (shown.storage_roots, blocks_of(shown)) == (("s3://prod/checkpoints",), ())


def test_a_container_that_is_not_understood_beside_a_task_manager_blocks() -> None:
    """It may start a JobManager; one that is no container of Flink's does not."""
    task_manager, script = {"args": ["taskmanager"]}, {"args": ["/start.sh"]}
    assert blocks(beside(task_manager, script)) == (ALL,)
    assert blocks(beside(task_manager, {"image": "fluentd", "args": ["x"]})) == ()
    assert blocks(beside(task_manager, {"args": ["wait", "jobmanager"]}, component="x")) == (ALL,)


MOUNTS = [{"name": "c", "mountPath": "/opt/flink/conf"}]
GIVEN = {
    "a mount over Flink's folder": {"volumeMounts": MOUNTS},
    "a mount of its file": {
        "volumeMounts": [{"name": "c", "mountPath": "/etc/x", "subPath": "flink-conf.yaml"}]
    },
    "its working directory": {"workingDir": "/opt/flink"},
    "variables of its ConfigMap": {"envFrom": [{"configMapRef": {"name": "flink-env"}}]},
}


def unlabelled(container, labels=None, **more):
    """Return a workload of an image of its owner's, whose command says nothing of Flink."""
    document = a_plain_deployment(labels=labels or {"app": "orders"}, **more)
    container = {"name": "main", "image": "ours/orders:7", "args": ["/run.sh"], **container}
    document["spec"]["template"]["spec"]["containers"] = [container]
    return document


@pytest.mark.parametrize("name", GIVEN)
def test_a_workload_that_is_given_a_folder_of_flinks_blocks(name) -> None:
    """Its command is a script of its image's own, its label that of an application."""
    volumes = [{"name": "c", "configMap": {"name": "orders"}}]
    assert blocks(unlabelled(GIVEN[name], volumes=volumes)) == (ALL,)
    assert blocks(unlabelled({}, volumes=volumes)) == ()


def test_a_workload_whose_volume_or_label_is_named_after_flink_blocks() -> None:
    """The operator itself does not, nor what only speaks of it in another label."""
    mounted = {"volumeMounts": [{"name": "c", "mountPath": "/etc/orders"}]}
    volumes = [{"name": "c", "configMap": {"name": "flink-conf"}}]
    assert blocks(unlabelled(mounted, volumes=volumes)) == (ALL,)
    assert blocks(unlabelled({}, volumes=volumes)) == ()
    ours = {**mounted, "image": "registry.example.org/orphangc:1"}
    assert blocks(unlabelled(ours, volumes=volumes)) == ()
    volumes = [{"name": "c", "secret": {"secretName": "flink"}}]
    secret = {**mounted, "envFrom": [{"secretRef": {"name": "flink-s3"}}]}
    assert blocks(unlabelled(secret, volumes=volumes)) == ()
    assert blocks(unlabelled({}, labels={"app.kubernetes.io/name": "flink"})) == (ALL,)
    assert blocks(unlabelled({}, labels={"app": "flink-dashboards"})) == ()
    operator = {"image": "apache/flink-kubernetes-operator:1.15", **GIVEN["its working directory"]}
    assert blocks(unlabelled(operator, labels={"app": "flink-kubernetes-operator"})) == ()


def test_a_session_job_of_its_own_directory_needs_its_cluster() -> None:
    """Savepoints and HA are the cluster's; to hide the cluster frees nothing that it blocks."""
    job = a_session_job(config=configuration("s3://prod/reports"))
    shown = found([job])
    (part,) = world_of_discovery(shown).unclear
    assert "session cluster session, which is not seen" in part.why
    statement = part.why.rpartition("(")[2].rstrip(")")
    assert blocks_of(world_of_discovery(shown, explained=[statement])) == ()
    assert blocks(a_deployment("session"), job) == ()


@pytest.mark.parametrize(
    ("template", "blocked"),
    [
        ("{scheme}://{name}.example.org", (ALL,)),
        ("{scheme}://{name}.{namespace}.example.org", ()),
    ],
)
def test_two_clusters_at_one_address_block(template, blocked) -> None:
    """Only one of them answers there, and its answer says nothing of the other one."""
    reading = Reading(rest=template)
    spaces = [namespace([a_deployment()], MADE, name=each) for each in ("one", "two")]
    shown = discovery_of(spaces, (), reading)
    assert blocks_of(world_of_discovery(shown)) == blocked
    for part in world_of_discovery(shown).unclear:
        assert "http://orders.example.org" in part.why
        statement = part.why.rpartition("(")[2].rstrip(")")
        assert blocks_of(world_of_discovery(shown, explained=[statement])) == ()
    alone = discovery_of([spaces[0]], (), reading)
    assert blocks_of(world_of_discovery(alone)) == ()
