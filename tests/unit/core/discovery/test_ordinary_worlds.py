"""Worlds as users of the operator have them: each plans, or names the one step that lifts it."""

import pytest

from orphangc.core.discovery.discovered_world import world_of_discovery
from orphangc.core.discovery.remembered_facts import memory_of, united
from support.discovered import ALL, ROOT, blocks_of, found
from support.flink_resources import (
    JOB,
    a_deployment,
    a_plain_deployment,
    a_session_job,
    a_status,
    configuration,
    reconciled,
)

LAST_STATE = "KUBERNETES_OPERATOR_LAST_STATE"
STATE = {
    "state.checkpoints.dir": ROOT,
    "state.savepoints.dir": "s3://prod/savepoints",
    "high-availability.type": "kubernetes",
    "high-availability.storageDir": "s3://prod/ha",
    "execution.checkpointing.interval": "60 s",
    "kubernetes.operator.snapshot.resource.enabled": "true",
    "kubernetes.operator.savepoint.history.max.count": "5",
}
MADE = """\
blob.server.port: 6124
high-availability.type: kubernetes
high-availability.storageDir: s3://prod/ha
job-result-store.storage-path: s3://prod/ha/job-result-store/orders/0b2f
kubernetes.pod-template-file.jobmanager: /tmp/flink_op_generated_podTemplate_12.yaml
kubernetes.jobmanager.owner.reference: uid:1,name:orders,kind:FlinkDeployment,controller:false
$internal.flink.version: v1_20
$internal.pipeline.job-id: 5d2f1c0e9a8b7c6d5e4f3a2b1c0d9e8f
$internal.application.main: com.example.Orders
kubernetes.jobmanager.cpu.amount: 1.0
execution.target: kubernetes-application
execution.shutdown-on-application-finish: false
pipeline.jars: local:///opt/flink/usrlib/orders.jar
env.java.opts.all: --add-opens=java.base/java.util=ALL-UNNAMED -XX:+UseG1GC
state.backend.rocksdb.localdir: /tmp/rocksdb
execution.savepoint.path: KUBERNETES_OPERATOR_LAST_STATE
state.checkpoints.dir: s3://prod/checkpoints
"""
MAPS = {"flink-config-orders": {"flink-conf.yaml": MADE, "log4j-console.properties": "a = b"}}


def main(**container):
    return {"name": "flink-main-container", **container}


def template(volumes=(), **container):
    return {"spec": {"containers": [main(**container)], "volumes": list(volumes)}}


def running(**more):
    """Return an application that the operator upgraded from its last state."""
    status = a_status(
        job={"upgradeSavepointPath": LAST_STATE},
        reconciliationStatus={"lastReconciledSpec": reconciled(STATE), "state": "DEPLOYED"},
    )
    return a_deployment(config=STATE, status=status, image="flink:1.20", **more)


PVC = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
SCRIPT = {"name": "sql", "configMap": {"name": "sql"}}
SQL = "SET 'execution.checkpointing.interval' = '10s';\nINSERT INTO out SELECT * FROM orders;\n"
WORLDS = {
    "checkpoints and HA, after an upgrade": [running()],
    "a session with two jobs": [
        {**running(), "spec": {"flinkVersion": "v1_20", "flinkConfiguration": STATE}},
        a_session_job("one", "orders"),
        a_session_job("two", "orders", status={"jobStatus": {"jobId": JOB, "state": "RUNNING"}}),
    ],
    "a volume": [
        running(
            podTemplate=template(
                [PVC, {"name": "jars", "emptyDir": {}}, {"name": "keys", "secret": {}}],
                volumeMounts=[
                    {"name": "data", "mountPath": "/flink-data"},
                    {"name": "jars", "mountPath": "/opt/flink/usrlib"},
                    {"name": "keys", "mountPath": "/etc/secrets"},
                ],
                env=[{"name": "AWS_SECRET_ACCESS_KEY", "valueFrom": {"secretKeyRef": {}}}],
            )
        )
    ],
    "Python": [running(job={"args": ["-pyclientexec", "/usr/bin/python3", "-py", "/opt/demo.py"]})],
    "a runner of SQL": [
        running(
            job={"args": ["/opt/flink/usrlib/sql/simple.sql"]},
            podTemplate=template(
                [SCRIPT], volumeMounts=[{"name": "sql", "mountPath": "/opt/flink/usrlib/sql"}]
            ),
        )
    ],
    "credentials of a Secret": [
        running(
            flinkConfiguration={
                **STATE,
                "kubernetes.env.secretKeyRef": "env:AWS_ACCESS_KEY_ID,secret:s3,key:id",
                "kubernetes.secrets": "tls:/etc/tls",
            }
        )
    ],
}


@pytest.mark.parametrize("name", WORLDS)
def test_an_ordinary_world_blocks_nothing(name) -> None:
    """In the first cycle, and in the next one."""
    shown = found(WORLDS[name], {**MAPS, "sql": {"simple.sql": SQL}})
    world = world_of_discovery(united(shown, memory_of(shown)))
    assert [each.why for each in world.unclear] == []
    assert world.storage_roots == (ROOT,)


@pytest.mark.parametrize(
    ("document", "step"),
    [
        (a_deployment("x", {"taskmanager.numberOfTaskSlots": "2"}), "discovery.without_state"),
        (a_deployment(config=configuration("file:///flink-data/ck")), "discovery.alias"),
        (running(podTemplate={"spec": {"containers": [1]}}), "discovery.explained"),
    ],
)
def test_a_block_names_the_one_step_that_lifts_it(document, step) -> None:
    """An example of the operator without state, one on a path of the node, and a mistake."""
    blocked = world_of_discovery(found([document], MAPS))
    assert all(step in each.why for each in blocked.unclear)
    assert blocks_of(blocked) == (ALL,)


def with_files(text, **more):
    files = {"sql": {"job.sql": text}}
    volume = template([SCRIPT], volumeMounts=[{"name": "sql", "mountPath": "/opt/flink/usrlib"}])
    return world_of_discovery(found([running(podTemplate=volume, **more)], {**MAPS, **files}))


@pytest.mark.parametrize(
    "text",
    [
        "SET 'state.checkpoints.dir' = 's3://kept/team';",
        "checkpoint.uri=s3://kept/team",
        "<conf><checkpoints>\n</checkpoints><dir>s3://kept/team/checkpoints</dir></conf>",
        "checkpoint: {dir: 's3://kept/team'}",
    ],
)
def test_a_file_of_a_job_that_speaks_of_checkpoints_is_read(text) -> None:
    """Its code may keep checkpoints there."""
    world = with_files(text)
    assert blocks_of(world) == ()
    assert world.extra_roots[-1].startswith("s3://kept/team")


def test_a_place_beside_checkpoints_in_a_file_of_a_job_blocks_in_a_searched_bucket() -> None:
    """As it does in an argument; a file that does not speak of checkpoints blocks nothing."""
    line = "path: s3://prod/other"
    assert blocks_of(with_files(f"checkpoint.interval: 1\n{line}\n")) != ()
    assert blocks_of(with_files(line)) == ()
    assert blocks_of(with_files("checkpoint.bucket: kept")) == (ALL,)


@pytest.mark.parametrize(
    "text",
    [
        "job:\n  checkpoint:\n    # where\n    dir: s3://far/team\n  sink: s3://lake/x\n",
        "checkpoint:\n  - s3://far/team\nsink: s3://lake/x\n",
        'checkpoint {\n  dir = "s3://far/team"\n}\nsink = s3://lake/x\n',
        '{\n  "checkpoint": {\n    "dir": "s3://far/team"\n  },\n  "sink": "s3://lake/x"\n}',
        "[checkpoint]\ninterval = 1\ndir = s3://far/team\n[sink]\ndir = s3://lake/x\n",
        "<checkpoint>\n  <dir>s3://far/team</dir>\n</checkpoint>\n<sink>s3://lake/x</sink>\n",
    ],
    ids=["YAML", "list", "HOCON", "JSON", "sections", "XML"],
)
def test_a_place_inside_a_part_that_speaks_of_checkpoints_is_searched(text) -> None:
    """Its own line says nothing of them; a place beside that part is of another bucket."""
    world = with_files(text)
    assert (world.extra_roots[-1:], blocks_of(world)) == (("s3://far/team",), ())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fs.s3a.endpoint", "http://minio:9000"),
        ("fs.s3a.bucket.prod.endpoint", "http://minio:9000"),
        ("fs.s3a.bucket.prod.accesspoint.arn", "arn:aws:s3:eu-west-1:1:accesspoint/x"),
        ("fs.s3a.impl", "com.acme.FileSystem"),
    ],
)
def test_hadoops_options_in_a_mounted_file_are_read(name, value) -> None:
    """Another store, or another bucket, stands behind the same URI."""
    text = f"<property>\n<name>{name}</name>\n <value>{value}</value></property>"
    files = {"hadoop": {"core-site.xml": f"<configuration>{text}</configuration>"}}
    volume = {"name": "sql", "configMap": {"name": "hadoop"}}
    pod = template([volume], volumeMounts=[{"name": "sql", "mountPath": "/etc/hadoop"}])
    document = running(podTemplate=pod)
    assert ALL in blocks_of(world_of_discovery(found([document], {**MAPS, **files})))
    harmless = {"hadoop": {"core-site.xml": text.replace(name, "fs.s3a.threads.max")}}
    assert blocks_of(world_of_discovery(found([document], {**MAPS, **harmless}))) == ()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("kubernetes.env.secretKeyRef", "env:FLINK_PROPERTIES,secret:s,key:k"),
        ("kubernetes.env.secretKeyRef", "env:A,secret:s,key:k;env:CHECKPOINT_DIR,secret:s,key:c"),
        ("kubernetes.env.secretKeyRef", [{"env": "FLINK_CONF_DIR", "secret": "s", "key": "k"}]),
        ("kubernetes.secrets", "s:/opt/flink/conf"),
        ("kubernetes.secrets", {"s": "/opt/flink/conf"}),
    ],
)
def test_a_secret_that_an_option_brings_may_configure(option, value) -> None:
    """Flink makes a variable or a folder of it."""
    config = {**STATE, option: value}
    assert blocks_of(world_of_discovery(found([a_deployment(config=config)]))) == (ALL,)


def test_a_folder_of_an_image_that_a_variable_names_may_configure() -> None:
    """Whatever is mounted over the usual folder, which is not read then."""
    elsewhere = [{"name": "FLINK_CONF_DIR", "value": "/opt/app/conf"}]
    world = world_of_discovery(found([running(podTemplate=template(env=elsewhere))], MAPS))
    assert blocks_of(world) == (ALL,)
    container = {
        "image": "ours/orders:7",
        "env": elsewhere,
        "volumeMounts": [{"name": "conf", "mountPath": "/opt/flink/conf"}],
    }
    volumes = [{"name": "conf", "configMap": {"name": "conf"}}]
    plain = a_plain_deployment(container=container, volumes=volumes)
    maps = {"conf": {"flink-conf.yaml": f"state.checkpoints.dir: {ROOT}"}}
    assert blocks_of(world_of_discovery(found([plain], maps))) == (ALL,)
    container["volumeMounts"][0]["mountPath"] = "/opt/app/conf"
    assert blocks_of(world_of_discovery(found([plain], maps))) == ()


def test_a_container_without_a_name_is_that_of_flink() -> None:
    """Two templates are merged by position."""
    text = "state.savepoints.dir: s3://kept/x"
    pod = {"spec": {"containers": [{"env": [{"name": "FLINK_PROPERTIES", "value": text}]}]}}
    world = world_of_discovery(found([running(jobManager={"podTemplate": pod})], MAPS))
    assert "s3://kept/x" in world.extra_roots


def test_a_claim_of_a_stateful_set_is_a_volume() -> None:
    """Over the folder of the configuration it blocks."""
    for path, blocks in (("/data", ()), ("/opt/flink/conf", (ALL,))):
        container = {
            "args": ["jobmanager", f"-Dstate.checkpoints.dir={ROOT}"],
            "volumeMounts": [{"name": "data", "mountPath": path}],
        }
        document = a_plain_deployment(kind="StatefulSet", container=container)
        document["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": {}}]
        assert blocks_of(world_of_discovery(found([document]))) == blocks


def test_an_id_that_was_chosen_once_stays_chosen() -> None:
    """The option that is taken out of the spec may be put back."""
    chosen = a_deployment(config={**configuration(), "$internal.pipeline.job-id": JOB})
    later = united(found([a_deployment()]), memory_of(found([chosen])))
    assert [each.is_fixed for one in later.resources for each in one.jobs] == [True]


def test_a_folder_that_is_not_readable_hides_no_mounted_configuration() -> None:
    """A statement that explains the variable explains no other part."""
    container = {
        "env": [{"name": "FLINK_CONF_DIR", "valueFrom": {"secretKeyRef": {}}}],
        "volumeMounts": [{"name": "conf", "mountPath": "/opt/flink/conf"}],
    }
    volumes = [{"name": "conf", "configMap": {"name": "conf"}}]
    maps = {"conf": {"flink-conf.yaml": f"state.checkpoints.dir: {ROOT}"}}
    shown = found([a_plain_deployment(container=container, volumes=volumes)], maps)
    world = world_of_discovery(shown)
    assert (world.storage_roots, blocks_of(world)) == ((ROOT,), (ALL,))


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("state:\n  checkpoints.dir: s3://kept/x\n", (ALL,)),
        ("state:\n\n # a comment\n  savepoints:\n    dir: s3://kept/x\n", (ALL,)),
        ("  state.savepoints.dir: s3://kept/x\n  rest.port: 1", ()),
        ("state.savepoints.dir:\nrest.port: 1", ()),
        ("  state.savepoints.dir:\nrest.port: 1", ()),
    ],
)
def test_nested_lines_in_a_variable_are_not_understood(text, blocks) -> None:
    """An image's entry point may append them to a YAML file."""
    pod = template(env=[{"name": "FLINK_PROPERTIES", "value": text}])
    assert blocks_of(world_of_discovery(found([running(podTemplate=pod)], MAPS))) == blocks


@pytest.mark.parametrize(
    ("claim", "blocks"), [("data", ()), ("another", (ALL,))], ids=["the same", "another"]
)
def test_a_volume_may_stand_in_both_templates(claim, blocks) -> None:
    """Two that differ are merged by position, and not understood."""
    mounts = [{"name": "data", "mountPath": "/data"}]
    both = template([PVC], volumeMounts=mounts)
    other = template([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}])
    document = running(podTemplate=both, jobManager={"podTemplate": other})
    assert blocks_of(world_of_discovery(found([document], MAPS))) == blocks


@pytest.mark.parametrize("around", ["spec", "job", "status"])
def test_an_unknown_field_of_a_resource_is_read_as_an_argument(around) -> None:
    """A reference to a snapshot stood in the spec of a job while release 1.10 was made."""
    document = a_deployment(status=a_status())
    place = {"job": document["spec"]["job"]}.get(around, document.get(around))
    place["initialStateReference"] = {"path": "s3://kept/sp/nightly"}
    place["otherOnes"] = [{"checkpoint": f"s3://kept/{JOB}/chk-7"}]
    world = world_of_discovery(found([document]))
    assert (world.extra_roots, world.pins) == (
        ("s3://kept/sp/nightly",),
        (f"s3://kept/{JOB}/chk-7",),
    )


def test_a_field_of_a_later_operator_is_read_as_an_argument() -> None:
    """A reference to a snapshot was one while release 1.10 was made."""
    at = {"upgradeSnapshotReference": {"path": "s3://kept/sp/nightly"}, "other": ["s3://lake/x", 1]}
    checkpoint = f"s3://kept/{JOB}/chk-7"
    status = a_status(job={**at, "restored": {"from": checkpoint}})
    world = world_of_discovery(found([a_deployment(status=status)]))
    assert (world.extra_roots, world.pins) == (("s3://kept/sp/nightly",), (checkpoint,))
    assert blocks_of(world) == ()
