"""ConfigMaps and resources as Flink and its operator write them, and as they might."""

import json
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.core.cluster.kubernetes_json import config_map_holds, kubernetes_facts
from orphangc.core.cluster.place_options import NO_PLACES
from orphangc.errors import RegistryUnavailableError
from support.kubernetes_server import a_config_map, retained, saved

JOB = "5d2f1c0e9a8b7c6d5e4f3a2b1c0d9e8f"
OTHER = "0" * 32
DEPLOYMENTS = "flinkdeployments"


def holds(name: str, *keys: str) -> list:
    return list(config_map_holds("flink", name, keys))


def facts_of(document, plural: str = DEPLOYMENTS):
    return kubernetes_facts("flink", [], {plural: [document]})


def saved_map(name: str):
    document = saved(name)
    return holds(document["metadata"]["name"], *document["data"])


@pytest.mark.parametrize(("name", "ids"), [("ha-job", {41, 42}), ("ha-job-1.14", {7})])
def test_the_config_map_of_a_job_tells_cluster_job_and_retained_ids(name: str, ids) -> None:
    """Names and keys say all of it, in the newer and in the older layout."""
    (hold,) = saved_map(name)
    assert (hold.job_id, hold.cluster) == (JOB, "kubernetes:flink/orders")
    assert hold.retained_ids == ids
    assert hold.uri.startswith("kubernetes:flink/configmaps/orders-")


def test_the_config_map_of_a_cluster_tells_the_jobs_whose_graphs_it_keeps() -> None:
    """They would be started again; the addresses of leaders of ended jobs stay behind."""
    (hold,) = saved_map("ha-cluster")
    assert (hold.job_id, hold.cluster) == (JOB, "kubernetes:flink/orders")
    leader = "org.apache.flink.k8s.leader." + JOB
    assert holds("orders-cluster-config-map", leader) == []
    (plan,) = holds("orders-cluster-config-map", f"executionPlan-{OTHER}", leader)
    assert plan.job_id == OTHER


def test_up_to_1_14_the_config_map_of_the_dispatcher_keeps_the_graphs() -> None:
    """Its name has another ending, and the cluster is the same."""
    (hold,) = holds("orders-dispatcher-leader", f"jobGraph-{JOB}", "address")
    assert (hold.job_id, hold.cluster) == (JOB, "kubernetes:flink/orders")


def test_a_checkpoint_is_retained_by_the_job_that_the_config_map_is_named_after() -> None:
    """A graph of another job beside it holds that job, and none of these checkpoints."""
    found = holds(f"orders-{JOB}-config-map", *retained(41), "counter", f"jobGraph-{OTHER}")
    assert {hold.job_id: hold.retained_ids for hold in found} == {JOB: {41}, OTHER: frozenset()}


@pytest.mark.parametrize("ending", ["config-map", "jobmanager-leader"])
@pytest.mark.parametrize("cluster", ["a", "a-b-c", f"x-{OTHER}", f"{OTHER}-{OTHER}", "deadbeef-1"])
def test_a_name_is_read_from_the_right(cluster: str, ending: str) -> None:
    """A cluster id may hold dashes, hex, and even something like a job id."""
    (hold,) = holds(f"{cluster}-{JOB}-{ending}", *retained(3))
    assert hold.cluster == f"kubernetes:flink/{cluster}"
    assert (hold.job_id, hold.retained_ids) == (JOB, {3})


def test_a_job_without_any_checkpoint_yet_is_held() -> None:
    """Its ConfigMap is made when the job starts."""
    (hold,) = holds(f"orders-{JOB}-config-map")
    assert (hold.job_id, hold.retained_ids) == (JOB, frozenset())


@pytest.mark.parametrize(
    "name",
    ["orders-resourcemanager-leader", "orders-restserver-leader", "orders-dispatcher-leader", "x"],
)
def test_config_maps_of_leaders_hold_nobody(name: str) -> None:
    """They outlive the jobs."""
    assert holds(name, "address", "sessionId") == []


@pytest.mark.parametrize(
    ("name", "key"),
    [
        (f"orders-{JOB}-config-map", "checkpointID-42"),
        (f"orders-{JOB}-config-map", "checkpointID-"),
        ("orders-something", "checkpointID-0000000000000000042"),
        (f"orders-{JOB[:31]}-config-map", "checkpointID-0000000000000000042"),
        (f"orders-{JOB.upper()}-config-map", "checkpointID-0000000000000000042"),
    ],
)
def test_a_retained_checkpoint_that_cannot_be_understood_is_no_answer(name: str, key: str) -> None:
    """Fail closed: a layout of a release whose code was not read."""
    with pytest.raises(RegistryUnavailableError, match=r"^kubernetes:flink/configmaps/orders"):
        holds(name, key)


def test_what_cannot_be_understood_is_shown_as_far_as_it_is_worth() -> None:
    """Sixty letters of a key; it may be as long as a megabyte."""
    with pytest.raises(RegistryUnavailableError) as caught:
        holds(f"orders-{JOB}-config-map", "checkpointID-" + "1234567890" * 9)
    assert str(caught.value) == (
        f"kubernetes:flink/configmaps/orders-{JOB}-config-map: key 'checkpointID-"
        f"{'1234567890' * 4}1234567' spells no checkpoint id"
    )


@given(
    st.from_regex(r"[a-z]([-a-z0-9]{0,43}[a-z0-9])?", fullmatch=True),
    st.text("0123456789abcdef", min_size=32, max_size=32),
    st.sets(st.integers(0, 2**63 - 1), max_size=5),
)
def test_whatever_flink_writes_is_read_back(cluster: str, job: str, ids: set[int]) -> None:
    """Every cluster id of 45 characters that Kubernetes accepts."""
    (hold,) = holds(f"{cluster}-{job}-config-map", *retained(*ids), "counter")
    assert (hold.cluster, hold.job_id) == (f"kubernetes:flink/{cluster}", job)
    assert hold.retained_ids == ids


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("flinkdeployment-running", ("job RUNNING",)),
        ("flinkdeployment-suspended", ("suspended",)),
        ("flinkdeployment-finished", None),
    ],
)
def test_finished_is_over_only_if_nobody_suspended_it(name: str, expected) -> None:
    """The operator writes FINISHED for a job that it suspends with its last state."""
    found = facts_of(saved(name)).holds
    assert [hold.states for hold in found] == ([expected] if expected else [])
    assert all(hold.job_id == JOB and not hold.cluster for hold in found)


def spoilt(*keys: str, value, name: str = "flinkdeployment-running"):
    """Return a saved resource with another value at a place."""
    document = inner = deepcopy(saved(name))
    for each in keys[:-1]:
        inner = inner[each]
    inner[keys[-1]] = value
    return document


def finished_but(path: str, value):
    return spoilt(*path.split("."), value=value, name="flinkdeployment-finished")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("status.jobStatus.state", "FAILED"),
        ("status.jobStatus.state", "SUSPENDED"),
        ("status.jobStatus.state", "RECONCILING"),
        ("status.jobStatus.state", "SOME_NEW_WORD"),
        ("status.jobStatus.state", None),
        ("status.reconciliationStatus.state", "UPGRADING"),
        ("status.reconciliationStatus.state", "ROLLING_BACK"),
        ("status.lifecycleState", "SUSPENDED"),
        ("spec.job.state", "suspended"),
        ("metadata.generation", 4),
        ("metadata.generation", "4"),
        ("status.observedGeneration", 2),
        ("status.observedGeneration", True),
        ("status.observedGeneration", None),
        ("status.jobManagerDeploymentStatus", "DEPLOYING"),
        ("status.jobManagerDeploymentStatus", "DEPLOYED_NOT_READY"),
        ("status.jobManagerDeploymentStatus", "ERROR"),
        ("status.lifecycleState", "CREATED"),
        ("status.lifecycleState", "UPGRADING"),
        ("status.lifecycleState", "FAILED"),
        ("status.lifecycleState", "SOME_NEW_WORD"),
    ],
)
def test_whatever_is_not_plainly_over_holds_the_job(path: str, value) -> None:
    """FAILED too: the operator may start it again from its last state."""
    (hold,) = facts_of(finished_but(path, value)).holds
    assert hold.job_id == JOB


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("status.jobManagerDeploymentStatus", "MISSING"),
        ("status.lifecycleState", "DEPLOYED"),
        ("status.lifecycleState", "FINISHED"),
        ("status.observedGeneration", 4),
        ("status.jobStatus.state", "CANCELED"),
    ],
)
def test_a_finished_job_of_a_calm_resource_is_over(path: str, value) -> None:
    """What the operator itself writes beside a job that has ended."""
    assert facts_of(finished_but(path, value)).holds == ()


@pytest.mark.parametrize(("generation", "held"), [(3, 0), (2, 1), (None, 1)])
def test_older_operators_note_the_generation_beside_the_spec(generation, held: int) -> None:
    """They have no ``status.observedGeneration``."""
    document = saved("flinkdeployment-finished")
    del document["status"]["observedGeneration"]
    told = {"resource_metadata": {"metadata": {"generation": generation}}, "spec": {}}
    document["status"]["reconciliationStatus"]["lastReconciledSpec"] = json.dumps(told)
    words = [("generation 3 not observed yet",)] * held
    assert [each.states for each in facts_of(document).holds] == words


def test_every_savepoint_that_a_deployment_names_is_a_place() -> None:
    """Spec, status, history, nested configuration, and the spec that runs, as JSON in JSON."""
    found = facts_of(saved("flinkdeployment-suspended")).places
    places = {each.path.rpartition("-")[2] for each in found}
    assert places == {"initial", "reconciled", "last", "older", "nested"}
    (by,) = {each.by for each in found}
    assert by == "kubernetes:flink/FlinkDeployment/orders"


@pytest.mark.parametrize(
    ("name", "plural", "expected"),
    [
        ("flinksessionjob-suspended", "flinksessionjobs", {"upgrade", "form"}),
        ("flinkstatesnapshot", "flinkstatesnapshots", {"stated", "taken"}),
        ("flinkbluegreendeployment", "flinkbluegreendeployments", {"blue"}),
    ],
)
def test_the_other_kinds_name_places_too(name: str, plural: str, expected) -> None:
    """A path in a pod template is none."""
    facts = facts_of(saved(name), plural)
    assert {each.path.rpartition("-")[2] for each in facts.places} == expected


@pytest.mark.parametrize(
    ("exists", "places", "folders"),
    [(True, 1, 0), (False, 0, 1), (None, 0, 1), ("yes", 1, 1), ({"a": 0}, 1, 1)],
)
def test_a_snapshot_names_a_savepoint_or_the_folder_to_make_it_in(exists, places, folders) -> None:
    """The operator writes the job's folder of savepoints there; people state what exists."""
    document = saved("flinkstatesnapshot")
    document["spec"]["savepoint"] = {"path": "s3://lake/nightly", "alreadyExists": exists}
    facts = facts_of(document, "flinkstatesnapshots")
    shown = [[each.path for each in found] for found in (facts.places, facts.folders)]
    assert [each.count("s3://lake/nightly") for each in shown] == [places, folders]


def test_a_blue_green_deployment_in_transition_holds_its_job() -> None:
    """Both sides are live then."""
    (hold,) = facts_of(saved("flinkbluegreendeployment"), "flinkbluegreendeployments").holds
    assert hold.states == ("TRANSITIONING_TO_GREEN",)


@pytest.mark.parametrize("name", ["flinkdeployment-running", "flinkdeployment-suspended"])
def test_folders_of_checkpoints_are_read_flat_and_nested(name: str) -> None:
    """An operator must learn of a place that was not named."""
    folders = {(each.option, each.path) for each in facts_of(saved(name)).folders}
    assert folders == {
        ("state.checkpoints.dir", "s3://lake/checkpoints"),
        ("state.savepoints.dir", "s3://lake/savepoints"),
        ("high-availability.storageDir", "s3://lake/ha"),
    }


def test_a_path_without_a_scheme_is_one_of_the_default_file_system() -> None:
    """Flink's ``fs.default-scheme``, which the same configuration chooses."""
    document = deepcopy(saved("flinkdeployment-running"))
    document["spec"]["flinkConfiguration"] |= {
        "fs.default-scheme": "hdfs://nn:8020/",
        "state.savepoints.dir": "/sp",
        "state.backend.forst.primary-dir": "checkpoint-dir",
    }
    document["spec"]["job"]["initialSavepointPath"] = "/sp/savepoint-1"
    facts = facts_of(document)
    assert "hdfs://nn:8020/sp" in {each.path for each in facts.folders}
    assert "hdfs://nn:8020/sp/savepoint-1" in {each.path for each in facts.places}
    assert "checkpoint-dir" not in {each.path for each in facts.folders}


BY = "kubernetes:flink/FlinkDeployment/orders"
RECONCILED = ("status", "reconciliationStatus", "lastReconciledSpec")
NO_NAME = "a FlinkDeployment in flink has no name"
SEVEN_FOR_A_PLACE = json.dumps({"spec": {"job": {"initialSavepointPath": 7}}})


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            spoilt("status", "jobStatus", "jobId", value="not-a-job" * 9),
            f"{BY} names no job id: '{'not-a-job' * 4}not-'",
        ),
        (
            spoilt("status", "jobStatus", "jobId", value=JOB.upper()),
            f"{BY} names no job id: '{JOB.upper()}'",
        ),
        (
            spoilt("status", "jobStatus", "upgradeSavepointPath", value=7),
            f"{BY} status.jobStatus.upgradeSavepointPath is no text",
        ),
        (spoilt(*RECONCILED, value="{half"), f"{BY} {'.'.join(RECONCILED)} is no JSON"),
        (
            spoilt(*RECONCILED, value=SEVEN_FOR_A_PLACE),
            f"{BY} {'.'.join(RECONCILED)}.spec.job.initialSavepointPath is no text",
        ),
        (spoilt("metadata", value={}), NO_NAME),
        (spoilt("metadata", value=None), NO_NAME),
        (spoilt("metadata", "name", value=""), NO_NAME),
        (spoilt("metadata", "name", value=7), NO_NAME),
    ],
)
def test_a_resource_that_cannot_be_understood_is_no_answer(document, message: str) -> None:
    """Fail closed: it may name a job, or a savepoint. The message says where."""
    with pytest.raises(RegistryUnavailableError) as caught:
        facts_of(document)
    assert str(caught.value) == f"unusable answer: {message}"


@pytest.mark.parametrize("key", ["lastReconciledSpec", "lastStableSpec"])
def test_a_savepoint_in_the_json_text_of_a_status_is_a_place(key: str) -> None:
    """The operator goes back to the last stable spec; a blank text is no spec yet."""
    named = json.dumps({"spec": {"job": {"initialSavepointPath": "s3://lake/stable"}}})
    before = {each.path for each in facts_of(spoilt(*RECONCILED[:-1], key, value=" ")).places}
    facts = facts_of(spoilt(*RECONCILED[:-1], key, value=named))
    assert {each.path for each in facts.places} - before == {"s3://lake/stable"}


@pytest.mark.parametrize("word", [" \n", *sorted(NO_PLACES)])
def test_a_pod_template_and_words_for_no_place_name_none(word) -> None:
    """A container may have an option of any name."""
    before = facts_of(saved("flinkdeployment-running")).places
    assert (
        facts_of(spoilt("status", "jobStatus", "upgradeSavepointPath", value=word)).places == before
    )
    template = {"spec": {"initialSavepointPath": "s3://lake/none"}}
    assert facts_of(spoilt("spec", "podTemplate", value=template)).places == before


@pytest.mark.parametrize("state", [None, 7])
def test_a_job_whose_state_is_not_said_may_go_on(state) -> None:
    """A word for a missing answer."""
    (hold,) = facts_of(spoilt("status", "jobStatus", "state", value=state)).holds
    assert hold.states == ("job unknown",)


@pytest.mark.parametrize("status", [None, {}, {"jobStatus": {}}])
def test_a_resource_that_the_operator_has_not_seen_yet_names_what_it_names(status) -> None:
    """No job id yet, but maybe a savepoint to start from."""
    document = spoilt("status", value=status)
    facts = facts_of(document)
    assert facts.holds == ()
    assert [each.path for each in facts.places] == ["s3://lake/savepoints/savepoint-aaaaaa-initial"]


@pytest.mark.parametrize("option", ["execution.savepoint.path", "execution.state-recovery.path"])
def test_what_a_job_is_restored_from_is_a_place_wherever_a_resource_says_it(option) -> None:
    """In a status of another operator's, say."""
    document = saved("flinkdeployment-running")
    document["status"]["extra"] = {option: "s3://bucket/sp-1"}
    assert "s3://bucket/sp-1" in {each.path for each in facts_of(document).places}


def test_things_are_counted_so_that_a_mistyped_namespace_is_noticed() -> None:
    """Nothing at all is an answer, and worth a look."""
    assert kubernetes_facts("flink", [], {DEPLOYMENTS: []}).things == 0
    maps = [("x", ["address"])]
    resources = {DEPLOYMENTS: [saved("flinkdeployment-running")]}
    assert kubernetes_facts("flink", maps, resources).things == 2


def test_deep_documents_end_in_an_error_and_not_in_a_crash() -> None:
    """Nobody writes such; a text in a status could hold anything."""
    document = saved("flinkdeployment-running")
    document["status"]["reconciliationStatus"]["lastReconciledSpec"] = "[" * 100_000
    with pytest.raises(RegistryUnavailableError):
        facts_of(document)


def test_the_stand_ins_config_maps_are_like_the_saved_ones() -> None:
    """Tests that make their own must not differ in what counts."""
    made = a_config_map(f"orders-{JOB}-config-map", *retained(41, 42), "counter")
    shape = saved("ha-job")
    assert made["metadata"]["labels"] == shape["metadata"]["labels"]
    assert set(made["data"]) == set(shape["data"])
    assert json.dumps(made)
