"""Resources of every kind, upgrade mode and state, and the worlds that they describe, by hand."""

from dataclasses import dataclass, field
from functools import reduce
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flinkstate.places.locations import parse_alias
from orphangc.core.discovery.discovered_facts import Discovery
from orphangc.core.discovery.discovered_world import DiscoveredWorld, world_of_discovery
from orphangc.core.discovery.remembered_facts import DiscoveryMemory, memory_of, successions, united
from orphangc.core.discovery.sources.read_resources import (
    FileText,
    NamespaceDocuments,
    discovery_of,
)
from orphangc.core.discovery.texts.flink_options import Reading
from orphangc.core.model.joined_facts import joined
from support.discovered import ALL, ROOT, SAVEPOINTS, acknowledged, blocks_of, found
from support.flink_resources import (
    JOB,
    OTHER,
    RELEASES,
    SCHEMAS,
    SchemaError,
    a_blue_green,
    a_deployment,
    a_resource,
    a_session_job,
    a_snapshot_resource,
    a_status,
    admitted,
    changed,
    configuration,
    fields_of,
    reconciled,
)

REST = "http://orders-rest.flink:8081"
JOB_STATES = frozenset(SCHEMAS["FlinkDeployment"]["status"]["jobStatus"]["state"].split("|"))


@dataclass(frozen=True, kw_only=True)
class Case:
    """Documents, and the world that a person reads from them."""

    documents: tuple[dict[str, Any], ...]
    maps: dict[str, dict[str, str]] = field(default_factory=dict)
    roots: tuple[str, ...] = (ROOT,)
    extra: tuple[str, ...] = ()
    clusters: tuple[str, ...] = (REST,)
    ha: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    jobs: tuple[str, ...] = (JOB,)
    blocks: tuple[str, ...] = ()


def of(config: dict[str, Any], **expected: Any) -> Case:
    """Return the case of one running application."""
    return Case(documents=(a_deployment(config=config),), **expected)


def suspended(mode: str, **more: Any) -> dict[str, Any]:
    status = a_status(
        state="FINISHED", jobManagerDeploymentStatus="MISSING", lifecycleState="SUSPENDED", **more
    )
    return a_deployment(status=status, job={"state": "suspended", "upgradeMode": mode})


CONF = f"state.checkpoints.dir: {ROOT}\nstate.savepoints.dir: {SAVEPOINTS}  # kept\n"
SAVED = f"{SAVEPOINTS}/savepoint-6"

CASES: dict[str, Case] = {
    "a running application, 1.x spelling": Case(documents=(a_deployment(),)),
    "2.x spelling": of({"execution.checkpointing.dir": ROOT}),
    "nested configuration": of(
        {"execution": {"checkpointing": {"dir": ROOT, "savepoint-dir": SAVEPOINTS}}},
        extra=(SAVEPOINTS,),
    ),
    "the oldest spelling": of({"state.backend.fs.checkpointdir": ROOT}),
    "both spellings name two directories": of(
        configuration(execution__checkpointing__dir="s3://prod/new"), roots=(ROOT, "s3://prod/new")
    ),
    "two schemes of one bucket": of(configuration("s3p://prod/checkpoints/")),
    "savepoints, HA, changelog, ForSt": of(
        configuration(
            state__savepoints__dir=SAVEPOINTS,
            **{
                "high-availability.type": "kubernetes",
                "high-availability.storageDir": "s3://prod/ha",
                "dstl.dfs.base-path": "s3://prod/dstl",
                "state.backend.forst.primary-dir": "s3://prod/forst",
            },
        ),
        extra=(SAVEPOINTS, "s3://prod/ha", "s3://prod/dstl", "s3://prod/forst"),
        ha=("flink",),
    ),
    "ForSt beside the checkpoints": of(
        configuration(**{"state.backend.forst.primary-dir": "checkpoint-dir"})
    ),
    "ZooKeeper": of(
        configuration(
            **{
                "high-availability": "zookeeper",
                "high-availability.zookeeper.quorum": "zk-0, zk-1:2182",
                "high-availability.cluster-id": "/orders",
            }
        ),
        ha=("zk-0:2181,zk-1:2182/flink",),
    ),
    "ZooKeeper below a path of its own, and Flink directly below it": of(
        configuration(
            **{
                "high-availability": "zookeeper",
                "high-availability.zookeeper.quorum": "zk-0, zk-1/shared",
                "high-availability.zookeeper.path.root": "/",
            }
        ),
        ha=("zk-0:2181,zk-1:2181/shared",),
    ),
    "HA services of an unknown class": of(
        configuration(**{"high-availability": "com.ours.Ha"}), blocks=(ALL,)
    ),
    "TLS and another port": of(
        configuration(**{"security.ssl.rest.enabled": "true", "rest.port": "9443"}),
        clusters=("https://orders-rest.flink:9443",),
    ),
    "suspended, last-state": Case(documents=(suspended("last-state"),), clusters=(), blocks=(ALL,)),
    "suspended, its configuration is still there": Case(
        documents=(suspended("last-state"),),
        maps={"flink-config-orders": {"flink-conf.yaml": CONF}},
        extra=(SAVEPOINTS,),
        clusters=(),
    ),
    "suspended with a savepoint": Case(
        documents=(
            suspended("savepoint", job={"upgradeSavepointPath": f"{SAVEPOINTS}/savepoint-7"}),
        ),
        clusters=(),
        pins=(f"{SAVEPOINTS}/savepoint-7",),
        blocks=(ALL,),
    ),
    "suspended, stateless": Case(documents=(suspended("stateless"),), clusters=(), blocks=(ALL,)),
    "not deployed yet": Case(
        documents=(a_deployment(status={}),), clusters=(), jobs=(), blocks=(ALL,)
    ),
    **{
        f"a job that is {state}, upgraded by {mode}": Case(
            documents=(
                a_deployment(
                    status=a_status(state=state), job={"state": "running", "upgradeMode": mode}
                ),
            )
        )
        for state, mode in zip(
            sorted(JOB_STATES), cycle(("savepoint", "last-state", "stateless")), strict=False
        )
    },
    "its JobManager fails": Case(
        documents=(
            a_deployment(status=a_status(state="RECONCILING", jobManagerDeploymentStatus="ERROR")),
        )
    ),
    "an initial savepoint and a history": Case(
        documents=(
            a_deployment(
                job={
                    "state": "running",
                    "initialSavepointPath": "s3://old/sp/savepoint-1/_metadata",
                },
                status=a_status(
                    job={
                        "savepointInfo": {
                            "lastSavepoint": {"location": f"{SAVEPOINTS}/savepoint-3"},
                            "savepointHistory": [{"location": f"{SAVEPOINTS}/savepoint-2"}],
                        }
                    }
                ),
            ),
        ),
        pins=("s3://old/sp/savepoint-1", f"{SAVEPOINTS}/savepoint-3", f"{SAVEPOINTS}/savepoint-2"),
    ),
    "an upgrade to another directory": Case(
        documents=(
            a_deployment(
                config=configuration("s3://prod/new"),
                status=a_status(
                    reconciliationStatus={
                        "state": "UPGRADING",
                        "lastReconciledSpec": reconciled(configuration("s3://prod/was")),
                        "lastStableSpec": reconciled(configuration()),
                    }
                ),
            ),
        ),
        roots=("s3://prod/new", "s3://prod/was", ROOT),
    ),
    "the operator's defaults": of(
        {"taskmanager.numberOfTaskSlots": "2"},
        maps={"flink-config-orders": {"flink-conf.yaml": CONF}},
        extra=(SAVEPOINTS,),
    ),
    "the operator's defaults, 2.x file": of(
        {"parallelism.default": 2},
        maps={"flink-config-orders": {"config.yaml": f"state:\n  checkpoints:\n    dir: {ROOT}\n"}},
    ),
    "no directory at all": of({"parallelism.default": "2"}, roots=()),
    "checkpoints in the JobManager's memory": of(
        {"state.checkpoint-storage": "jobmanager"}, roots=()
    ),
    "a templated path": of(
        configuration("s3://prod/teams/${TEAM}/checkpoints"), roots=(), blocks=(ALL,)
    ),
    "a templated bucket": of(configuration("s3://${BUCKET}/checkpoints"), roots=(), blocks=(ALL,)),
    "a templated path of a job that was restored": Case(
        documents=(
            a_deployment(
                config=configuration("s3://prod/teams/{{team}}"),
                job={"initialSavepointPath": f"{ROOT}/{OTHER}/chk-4"},
            ),
        ),
        roots=(),
        pins=(f"{ROOT}/{OTHER}/chk-4",),
        blocks=(ALL,),
    ),
    "entropy injection": of(
        configuration("s3://prod/_entropy_/checkpoints"), roots=(), blocks=(ALL,)
    ),
    "a path without a file system": of(
        configuration("/flink/checkpoints"), roots=(), blocks=(ALL,)
    ),
    "a path of the default file system": of(
        configuration("/checkpoints", **{"fs.default-scheme": "s3://prod"})
    ),
    "a password in a path": of(
        configuration("s3://user:pass@prod/checkpoints"), roots=(), blocks=(ALL,)
    ),
    "a path of its pods": of(
        configuration("file:///flink-data/checkpoints"), roots=(), blocks=(ALL,)
    ),
    "an option of a later Flink": of(
        configuration(**{"state.savepoint.dir": SAVEPOINTS}), extra=(SAVEPOINTS,)
    ),
    "another store of the same name": of(
        configuration(**{"s3.endpoint": "http://minio:9000"}), roots=(), blocks=(ALL,)
    ),
    "arguments, a pod template, an image": Case(
        documents=(
            a_deployment(
                image="ours/orders:7",
                job={"state": "running", "args": ["--checkpoint-dir", "s3://${X}/x"]},
                podTemplate={"spec": {"containers": [{"envFrom": [{"secretRef": {}}]}]}},
            ),
        )
    ),
    "a pair and the operator's defaults": Case(
        documents=(a_blue_green(),),
        maps={"flink-config-pair-green": {"flink-conf.yaml": CONF}},
        extra=(SAVEPOINTS,),
        clusters=(),
    ),
    "a snapshot to take, and one that exists": Case(
        documents=(
            a_resource(
                "FlinkStateSnapshot",
                "one",
                {"savepoint": {"path": SAVEPOINTS}},
                {"state": "FAILED"},
            ),
            a_resource(
                "FlinkStateSnapshot",
                "two",
                {"savepoint": {"path": "s3://kept/savepoint-1", "alreadyExists": True}},
            ),
        ),
        roots=(),
        extra=(SAVEPOINTS,),
        clusters=(),
        pins=("s3://kept/savepoint-1",),
        jobs=(),
    ),
    "an option that Flink is not known to have": of(
        configuration(**{"state.checkpoint.dir": "/x"}), blocks=(ALL,)
    ),
    "no job directories": of(
        configuration(**{"state.checkpoints.create-subdir": "false"}), blocks=(ALL,)
    ),
    "a session and its job": Case(
        documents=(a_deployment("session", status=a_status(job={"jobId": ""})), a_session_job()),
        clusters=("http://session-rest.flink:8081",),
        jobs=(OTHER,),
    ),
    "a session job with a directory of its own": Case(
        documents=(
            a_deployment("session"),
            a_session_job(config={"execution.checkpointing.dir": "s3://prod/reports"}),
        ),
        roots=(ROOT, "s3://prod/reports"),
        clusters=("http://session-rest.flink:8081",),
        jobs=(JOB, OTHER),
    ),
    "a session job whose cluster is not seen": Case(
        documents=(a_session_job(),), roots=(), clusters=(), jobs=(OTHER,), blocks=(ALL,)
    ),
    "snapshots of every state": Case(
        documents=(
            a_deployment(),
            *(
                a_snapshot_resource(state.lower().replace("_", "-"), f"{SAVEPOINTS}/{state}", state)
                for state in ("COMPLETED", "FAILED", "IN_PROGRESS", "ABANDONED")
            ),
            a_snapshot_resource("pending", "", "TRIGGER_PENDING"),
        ),
        pins=tuple(
            f"{SAVEPOINTS}/{state}" for state in ("COMPLETED", "FAILED", "IN_PROGRESS", "ABANDONED")
        ),
    ),
    "blue and green": Case(
        documents=(
            a_blue_green(),
            a_deployment("pair-blue", config=configuration("s3://prod/blue")),
        ),
        roots=(ROOT, "s3://prod/blue"),
        clusters=("http://pair-blue-rest.flink:8081",),
        jobs=(JOB, JOB),
    ),
}


def test_the_cases_have_every_kind_state_and_upgrade_mode() -> None:
    """More than thirty resources; what is true of each field below is true of all these."""
    shown = [each for case in CASES.values() for each in case.documents]
    jobs = [each["spec"]["job"] for each in shown if "job" in each["spec"]]
    states = {each["status"]["jobStatus"]["state"] for each in shown if _has_job(each)}
    assert len(shown) > 30
    assert {each["kind"] for each in shown} == {*SCHEMAS}
    assert {each.get("upgradeMode") for each in jobs} >= {"savepoint", "last-state", "stateless"}
    assert states == JOB_STATES


def _has_job(document: dict[str, Any]) -> bool:
    return "state" in document.get("status", {}).get("jobStatus", {})


@pytest.mark.parametrize("name", CASES)
def test_resources_describe_exactly_the_expected_world(name: str) -> None:
    """Storage roots, extra roots, clusters, HA, pins, jobs, and what blocks which prefixes."""
    case = CASES[name]
    discovery = found(case.documents, case.maps)
    world = world_of_discovery(discovery)
    assert world.storage_roots == case.roots
    assert world.extra_roots == case.extra
    assert world.clusters == case.clusters
    assert (*world.kubernetes_ha, *world.zookeeper_ha) == case.ha
    assert world.pins == case.pins
    assert tuple(job.job_id for one in discovery.resources for job in one.jobs) == case.jobs
    assert blocks_of(world) == case.blocks


@pytest.mark.parametrize("release", RELEASES)
def test_the_schemas_of_a_release_admit_the_resources_that_it_knows(release: str) -> None:
    """What the API server of that release stores describes a world, too."""
    operated = [
        each for case in CASES.values() for each in case.documents if each["kind"] in SCHEMAS
    ]
    refused = set()
    for each in operated:
        try:
            stored = admitted(each, release)
        except SchemaError as err:
            refused.add(str(err).split(" must")[0].split(" in ")[0])
        else:
            assert found([stored]).resources
    older = RELEASES.index(release) < RELEASES.index("1.13")
    assert ("FlinkDeployment spec.flinkConfiguration" in refused) == older
    assert all("is not defined" in each or "flinkConfiguration" in each for each in refused)


def test_aliases_say_what_paths_and_templates_mean_here() -> None:
    """That of a template is longer than the part that a tool replaces."""
    texts = ("file:///flink-data=/mnt/flink", "s3://${B}/${TEAM}=s3://prod/red")
    texts += ("unreadable:///ck=s3://prod/blue", "unreadable:///file:/${HOME}=s3://prod/home")
    reading = Reading(aliases=tuple(map(parse_alias, texts)))
    spelled = [
        ("file:///flink-data/savepoints", ("/mnt/flink/savepoints",), ()),
        ("s3://${B}/${TEAM}/sp", ("s3://prod/red/sp",), ()),
        ("file:///flink-data/${TEAM}/sp", (), (ALL,)),
        ("s3://${B}/x/sp", (), (ALL,)),
        ("ck/sp", ("s3://prod/blue/sp",), ()),
        ("file://${HOME}/sp", ("s3://prod/home/sp",), ()),
        ("sp", (), (ALL,)),
    ]
    for value, extra, blocks in spelled:
        documents = [a_deployment(config=configuration(state__savepoints__dir=value))]
        world = world_of_discovery(found(documents, reading=reading))
        assert (world.extra_roots, blocks_of(world)) == (extra, blocks)


def test_a_kind_that_is_not_known_blocks_until_it_is_acknowledged() -> None:
    """A later operator may have one more, as it once had no FlinkBlueGreenDeployment."""
    shown = NamespaceDocuments(namespace="flink", unknown_kinds=("flinkfleets",))
    discovery = discovery_of([shown], (), Reading())
    assert blocks_of(world_of_discovery(discovery)) == (ALL,)
    stated = world_of_discovery(discovery, acknowledged=acknowledged(discovery))
    assert blocks_of(stated) == ()


def test_zookeeper_without_its_address_is_a_known_kind_that_lacks_it() -> None:
    """A person is to add the quorum, not to look for another kind."""
    config = configuration(**{"high-availability": "ZOOKEEPER"})
    (unclear,) = world_of_discovery(found([a_deployment(config=config)])).unclear
    assert unclear.why.startswith("high-availability.zookeeper.quorum is missing: ")


def test_no_secret_of_a_configuration_is_shown() -> None:
    """An option that is not understood is named without the password in its value."""
    config = configuration(**{"state.backend.own": "jdbc://user:a-password@host/x"})
    (unclear,) = world_of_discovery(found([a_deployment(config=config)])).unclear
    assert "a-password" not in unclear.why


@pytest.mark.parametrize("namespace", ["no", "on", "12:30", "1_000", "123", "'0123'"])
def test_a_text_that_is_a_value_of_yaml_1_1_is_a_text(namespace) -> None:
    """HA metadata of Norway's jobs is in the namespace ``no``, and not in ``false``."""
    text = f"high-availability.type: kubernetes\nkubernetes.namespace: {namespace}\n"
    discovery = discovery_of([], [FileText(path="/conf/config.yaml", text=text)], Reading())
    assert world_of_discovery(discovery).kubernetes_ha == (namespace.strip("'"),)


@pytest.mark.parametrize("null", ["", "~", "null"])
@pytest.mark.parametrize("name", ["rest", "rest.address", "state.savepoints.dir"])
def test_a_name_without_a_value_names_nothing_and_blocks_nothing(name, null) -> None:
    """Of ``rest:`` a person may have commented out every option."""
    text = f"execution.checkpointing.dir: {ROOT}\n{name}: {null}\nhigh-availability.type: {null}\n"
    discovery = discovery_of([], [FileText(path="/conf/config.yaml", text=text)], Reading())
    world = world_of_discovery(discovery)
    assert (len(world.storage_roots), world.unclear) == (1, ())
    assert world.clusters == ()


@pytest.mark.parametrize(
    ("name", "text", "roots"),
    [
        ("flink-conf.yaml", f"# state.checkpoints.dir: s3://old\nstate.checkpoints.dir: {ROOT}", 1),
        ("flink-conf.yaml", f"state.checkpoints.dir:{ROOT}", 1),
        ("flink-conf.yaml", f"state.checkpoints.dir: {ROOT}\nstate.checkpoints.dir: s3://x", 0),
        ("flink-conf.yaml", f"state.checkpoints.dir: {ROOT}\nno option", 0),
        ("prod.yaml", f"state.checkpoints.dir: {ROOT}", 0),
        ("flink-config.yaml", f"execution:\n  checkpointing.dir: {ROOT}", 0),
        ("config.yaml", f"a: 1\nexecution.checkpointing.dir: {ROOT}\na: 2", 0),
        ("config.yaml", f"execution:\n  checkpointing.dir: {ROOT}", 1),
        ("config.yaml", "execution: &a\n  b: *a", 0),
        ("config.yaml", "- a list", 0),
        ("config.yaml", "a: {", 0),
        ("config.yaml", f"state.checkpoints.dir: {ROOT}\nkubernetes.namespace: 0123", 0),
        ("config.yaml", f"state.checkpoints.dir: {ROOT}\nkubernetes.namespace: 0x10", 0),
        ("config.yaml", f"state.checkpoints.dir: {ROOT}\nkubernetes.namespace: +5", 0),
        ("config.yaml", "a: !!int ''", 0),
        ("config.yaml", "a: !!bool x", 0),
        ("config.yaml", "a: !!timestamp x", 0),
        ("config.yaml", "state.checkpoints.dir: 2026-11-28", 0),
        ("config.yaml", "state.checkpoints.dir: {2026-11-28: x, 1: x, a: x}", 0),
        ("config.yaml", f"state.checkpoints.dir: {ROOT}\na: {{1: x, '1': y}}", 0),
    ],
)
def test_a_file_is_read_as_flink_reads_it_or_blocks(name, text, roots) -> None:
    """Both formats; a line that Flink skips names nothing, and what is no YAML is said."""
    discovery = discovery_of([], [FileText(path=f"/conf/{name}", text=text)], Reading())
    world = world_of_discovery(discovery)
    assert len(world.storage_roots) == roots
    assert blocks_of(world) == (() if roots else (ALL,))


@pytest.mark.parametrize("text", ["", "# a: 1\n", "---\n", "~\n", "null\n", "{}\n"])
def test_a_file_without_content_names_nothing(text) -> None:
    """Flink 1.19.3 and 2.3.0 read them so; a template writes them where no option is set."""
    discovery = discovery_of([], [FileText(path="/conf/config.yaml", text=text)], Reading())
    assert blocks_of(world_of_discovery(discovery)) == ()


def wrong_types(document, path) -> list:
    value = document
    for name in path:
        value = value[name]
    if isinstance(value, dict):
        return ["a text", [1]]
    return [{"a": [1]}, [{"a": 1}]] if not isinstance(value, list) else [{"a": [1]}, "a text", [1]]


def says(world: DiscoveredWorld) -> dict[str, set]:
    """Return everything that keeps files: the more, the fewer are deleted."""
    searched = {*world.storage_roots, *world.extra_roots}
    ha = {*world.kubernetes_ha, *world.zookeeper_ha}
    pins = {each for each in world.pins if each.rpartition("/")[0] not in searched}
    return {"searched": searched, "ha": ha, "pins": pins}


def keeps_as_much(world: DiscoveredWorld, other: DiscoveredWorld) -> bool:
    """Return whether a world protects all that another one protects, or blocks everything."""
    if world.unclear:
        return True
    mine, theirs = says(world), says(other)
    return all(theirs[kind] <= mine[kind] for kind in mine) and not other.unclear


@pytest.mark.parametrize("name", CASES)
def test_a_field_of_another_type_blocks_or_changes_nothing(name: str) -> None:
    """What is mistyped is never read as absent."""
    case = CASES[name]
    whole = world_of_discovery(found(case.documents, case.maps))
    for position, document in enumerate(case.documents):
        for path in fields_of(document):
            if path[-1] == "jobManagerDeploymentStatus":
                continue  # it names no place, and decides which documents are made here
            for wrong in wrong_types(document, path):
                broken = changed(document, path, wrong)
                rest = (*case.documents[:position], broken, *case.documents[position + 1 :])
                world = world_of_discovery(found(rest, case.maps))
                assert keeps_as_much(world, whole), (path, wrong)


@pytest.mark.parametrize("name", CASES)
def test_a_field_that_is_removed_is_remembered_and_said(name: str) -> None:
    """After a cycle that read it, its removal narrows nothing; before, it blocks or is no fact."""
    case = CASES[name]
    first = found(case.documents, case.maps)
    memory, whole = memory_of(first), world_of_discovery(first)
    for position, document in enumerate(case.documents):
        for path in fields_of(document):
            less = changed(document, path, None)
            rest = (*case.documents[:position], less, *case.documents[position + 1 :])
            now = found(rest, case.maps)
            world = world_of_discovery(united(now, memory))
            kept = says(world)["searched"] >= says(whole)["searched"]
            assert kept or world.unclear, path
            alone = world_of_discovery(now)
            narrowed = says(alone)["searched"] < says(whole)["searched"]
            known = united(now, memory).resources
            earlier = [e for one in known for e in one.directories if not e.is_present]
            assert not narrowed or earlier or alone.unclear, path


RENAMED = [
    changed(each, ("metadata", "name"), f"{each['metadata']['name']}-{number}")
    for number, each in enumerate(each for case in CASES.values() for each in case.documents)
]
SESSION = a_deployment("session")
"""The cluster of the session jobs, without which each of them blocks everything."""
EVERYTHING = [
    each for each in RENAMED if ALL not in blocks_of(world_of_discovery(found([SESSION, each])))
]
"""Resources of every kind, none of which blocks everything: beside such a one nothing is shown."""


def shown(numbers):
    return found([SESSION, *(EVERYTHING[each] for each in sorted(numbers))])


def test_resources_of_each_kind_are_removed() -> None:
    """None of the kinds blocks by itself."""
    assert {each["kind"] for each in EVERYTHING} == {*SCHEMAS}


@given(seen=st.sets(st.integers(0, len(EVERYTHING) - 1), max_size=6), data=st.data())
@settings(max_examples=60)
def test_removing_resources_never_takes_anything_out_of_the_world(seen, data) -> None:
    """What an earlier cycle saw stays searched, pinned, asked for HA, and blocked."""
    before = shown(seen)
    left = data.draw(st.sets(st.sampled_from(sorted(seen)))) if seen else set()
    now = shown(left)
    whole = united(before, DiscoveryMemory())
    less = united(now, memory_of(before))
    assert keeps_as_much(world_of_discovery(less), world_of_discovery(whole))
    assert {each.job_id for each in successions(less)} <= {e.job_id for e in successions(whole)}


ALONE = [name for name, case in CASES.items() if len(case.documents) == 1]
UNREAD = ("defaults are not known", "session cluster")
"""What reading the source later explains."""


@given(first=st.sampled_from(ALONE), second=st.sampled_from(ALONE))
@settings(max_examples=80)
def test_a_resource_that_says_another_thing_later_takes_nothing_out(first, second) -> None:
    """Whatever it says: every state, mode and mistake is followed by every other one."""
    one, other = CASES[first], CASES[second]
    (before,), (after,) = one.documents, other.documents
    if before["kind"] != after["kind"]:
        return
    whole = world_of_discovery(shown_before := found([before], one.maps))
    lasting = tuple(e for e in whole.unclear if not any(why in e.why for why in UNREAD))
    changed_one = {**after, "metadata": before["metadata"]}
    now = united(found([changed_one], {**one.maps, **other.maps}), memory_of(shown_before))
    world = world_of_discovery(now)
    searched = says(world)["searched"]
    pins = tuple(each for each in whole.pins if each.rpartition("/")[0] not in searched)
    assert keeps_as_much(world, whole.model_copy(update={"unclear": lasting, "pins": pins}))


@given(seen=st.sets(st.integers(0, len(EVERYTHING) - 1), max_size=5), data=st.data())
@settings(max_examples=30)
def test_the_order_of_cycles_and_writers_changes_no_memory(seen, data) -> None:
    """Two writers that never saw each other's facts remember all of them."""
    chosen = data.draw(st.permutations(sorted(seen)))
    each = [memory_of(shown([i])) for i in chosen]
    one, other = (reduce(joined, order, DiscoveryMemory()) for order in (each, each[::-1]))
    spoken = [says(world_of_discovery(united(Discovery(), m))) for m in (one, other)]
    assert spoken[0] == spoken[1]
    assert DiscoveryMemory.model_validate_json(one.model_dump_json()) == one


def test_a_resource_that_is_made_anew_under_its_name_takes_nothing_of_the_first_one_back() -> None:
    """What the first one named may be needed by a job that goes on elsewhere."""
    hidden = a_deployment("hidden", configuration("s3://${BUCKET}/checkpoints"))
    memory = memory_of(found([hidden]))
    anew = a_deployment("hidden")
    anew["metadata"]["uid"] = "uid-of-another"
    assert blocks_of(world_of_discovery(united(found([anew]), memory))) == (ALL,)


def test_a_storage_root_inside_another_one_blocks_both() -> None:
    """Two runs would judge the same files by different evidence."""
    inner = a_deployment("inner", configuration(f"{ROOT}/team"))
    world = world_of_discovery(found([a_deployment(), inner]))
    assert world.storage_roots == (ROOT,)
    assert blocks_of(world) == (ALL,)
    by_hand = world_of_discovery(found([a_deployment()]), configured=["s3://prod"])
    assert (by_hand.storage_roots, blocks_of(by_hand)) == ((), (ALL,))


def test_a_suspended_deployment_is_known_by_what_its_cluster_said() -> None:
    """Its effective configuration goes with the cluster; where nothing runs, memory is enough."""
    config = {"parallelism.default": "2"}
    maps = {"flink-config-orders": {"flink-conf.yaml": CONF}}
    memory = memory_of(found([a_deployment(config=config)], maps))
    gone = suspended("last-state")
    gone["spec"]["flinkConfiguration"] = config
    world = world_of_discovery(united(found([gone]), memory))
    assert (world.storage_roots, blocks_of(world)) == ((ROOT,), ())
    assert blocks_of(world_of_discovery(found([gone]))) == (ALL,)
    running = world_of_discovery(united(found([a_deployment(config=config)]), memory))
    assert (running.storage_roots, blocks_of(running)) == ((ROOT,), ())


def runs(job: str, *, uid: str = "uid-of-orders", name: str = "orders", state: str = "RUNNING"):
    document = a_deployment(name, status=a_status(job, state))
    document["metadata"]["uid"] = uid
    return document


FIRST, SECOND = "1" * 31 + "a", "2" * 31 + "b"


@pytest.mark.parametrize(
    ("now", "over"),
    [
        ([runs(SECOND)], {FIRST}),
        ([runs(FIRST)], set()),
        ([runs(SECOND, state="FAILED")], set()),
        ([runs(SECOND, state="")], set()),
        ([runs(SECOND, uid="another")], set()),
        ([runs(SECOND), runs(FIRST, name="moved", uid="other")], set()),
        ([runs(SECOND, name="renamed")], set()),
        ([], set()),
    ],
)
def test_a_job_is_over_only_if_its_own_resource_runs_another(now, over) -> None:
    """E5: the same object of Kubernetes, one that runs, and no other resource names the old id."""
    memory = memory_of(found([runs(FIRST)]))
    named = successions(united(found(now), memory))
    assert {each.job_id for each in named} == over
    assert all(each.successor == SECOND for each in named)


@pytest.mark.parametrize(
    "job", ["0" * 32, "0" * 16 + "12345678" * 2, "12345678" * 2 + "0" * 15 + "3"]
)
def test_an_id_that_may_come_back_is_never_over_by_its_successor(job) -> None:
    """R34: a fixed id needs other evidence."""
    memory = memory_of(found([runs(job)]))
    assert not successions(united(found([runs(SECOND)]), memory))


def test_the_old_word_for_no_high_availability_blocks_nothing() -> None:
    """Flink still takes it for none."""
    config = configuration(**{"high-availability": "standalone"})
    assert blocks_of(world_of_discovery(found([a_deployment(config=config)]))) == ()
