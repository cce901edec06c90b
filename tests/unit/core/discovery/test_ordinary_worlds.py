"""Worlds as users of the operator have them: each plans, or names the one step that lifts it."""

import pytest

from orphangc.core.discovery.discovered_world import world_of_discovery
from orphangc.core.discovery.remembered_facts import DiscoveryMemory, memory_of, united
from support.discovered import ROOT, found
from support.flink_resources import (
    JOB,
    a_deployment,
    a_session_job,
    a_snapshot_resource,
    a_status,
    configuration,
    reconciled,
)

LAST_STATE = "KUBERNETES_OPERATOR_LAST_STATE"
OURS = "s3://prod/ours/savepoints"
"""A folder that no option names: people choose it for the snapshots that they take."""
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


def running(**more):
    """Return an application that the operator upgraded from its last state."""
    status = a_status(
        job={"upgradeSavepointPath": LAST_STATE},
        reconciliationStatus={"lastReconciledSpec": reconciled(STATE), "state": "DEPLOYED"},
    )
    return a_deployment(config=STATE, status=status, image="flink:1.20", **more)


POD = {
    "spec": {
        "containers": [
            {
                "name": "flink-main-container",
                "command": ["/docker-entrypoint.sh"],
                "envFrom": [{"secretRef": {"name": "aws"}}, {"configMapRef": {"name": "absent"}}],
                "volumeMounts": [{"name": "conf", "mountPath": "/opt/flink/conf"}],
            },
            {"name": "side", "image": "ours/side:7"},
        ],
        "volumes": [{"name": "conf", "configMap": {"name": "absent", "optional": True}}],
    }
}
WORLDS = {
    "checkpoints and HA, after an upgrade": [running()],
    "a session with two jobs": [
        {**running(), "spec": {"flinkVersion": "v1_20", "flinkConfiguration": STATE}},
        a_session_job("one", "orders"),
        a_session_job("two", "orders", status={"jobStatus": {"jobId": JOB, "state": "RUNNING"}}),
    ],
    "pods of one's own": [running(podTemplate=POD, jobManager={"podTemplate": POD})],
    "an image, arguments": [running(job={"args": ["--checkpoint-dir", "/x", "s3://${X}/y"]})],
    "no checkpoints": [a_deployment("silent", {"parallelism.default": "2"}), running()],
    "options that start programs": [
        running(
            flinkConfiguration={
                **STATE,
                "kubernetes.env.secretKeyRef": "env:FLINK_PROPERTIES,secret:s3,key:id",
                "kubernetes.entry.path": "/opt/ours/start.sh",
                "env.java.opts.all": "-Dstate.checkpoints.dir=s3://x/y",
            }
        )
    ],
}


@pytest.mark.parametrize("name", WORLDS)
def test_an_ordinary_world_blocks_nothing(name) -> None:
    """In the first cycle, and in the next one."""
    shown = found(WORLDS[name], MAPS)
    world = world_of_discovery(united(shown, memory_of(shown)))
    assert [each.why for each in world.unclear] == []
    assert world.storage_roots == (ROOT,)


def test_an_id_that_was_chosen_once_stays_chosen() -> None:
    """The option that is taken out of the spec may be put back."""
    chosen = a_deployment(config={**configuration(), "$internal.pipeline.job-id": JOB})
    later = united(found([a_deployment()]), memory_of(found([chosen])))
    assert [each.is_fixed for one in later.resources for each in one.jobs] == [True]


def test_a_year_of_snapshots_and_upgrades_leaves_nothing_in_the_memory() -> None:
    """Their folder stays searched; each of their places would be asked for in each cycle."""
    memory, seen = DiscoveryMemory(), set()
    for number in range(30):
        checkpoint = f"{ROOT}/{JOB}/chk-{number}"
        periodic = a_snapshot_resource(f"checkpoint-{number}", checkpoint)
        manual = a_snapshot_resource(f"savepoint-{number}", f"{OURS}/savepoint-{number}")
        manual["spec"]["savepoint"] = {"path": OURS, "disposeOnDelete": True}
        upgraded = a_deployment(status=a_status(job={"upgradeSavepointPath": checkpoint}))
        shown = united(found([upgraded, periodic, manual]), memory)
        world = world_of_discovery(shown)
        seen.add((world.storage_roots, world.extra_roots, len(world.pins)))
        memory = memory_of(shown)
    assert seen == {((ROOT,), (OURS,), 2)}
    left = world_of_discovery(united(found([a_deployment()]), memory))
    assert (left.extra_roots, left.pins) == ((OURS,), ())
    assert len(memory.resources) <= 3


def test_the_folder_of_results_that_each_upgrade_gets_is_not_remembered() -> None:
    """It is below the folder of HA metadata, which is searched."""
    memory, seen = DiscoveryMemory(), set()
    for number in range(5):
        made = MADE.replace("orders/0b2f", f"orders/{number}")
        maps = {"flink-config-orders": {"flink-conf.yaml": made}}
        shown = united(found([running()], maps), memory)
        world, memory = world_of_discovery(shown), memory_of(shown)
        seen.add((len(world.extra_roots), len(world.without_checkpoints)))
    assert seen == {(3, 2)}, seen
    left = world_of_discovery(united(found([]), memory))
    assert "s3://prod/ha" in left.without_checkpoints


def test_a_storage_root_inside_another_one_stays_remembered() -> None:
    """Two runs would judge the same files by different evidence."""
    nested = a_deployment(config=configuration(f"{ROOT}/inside"))
    memory = memory_of(united(found([a_deployment()]), memory_of(found([nested]))))
    assert world_of_discovery(united(found([a_deployment()]), memory)).unclear
