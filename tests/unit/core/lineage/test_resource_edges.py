"""Jobs that one Kubernetes resource ran one after the other, and no two resources of one name."""

import pytest

from orphangc.core.cluster.kubernetes_json import kubernetes_facts
from orphangc.core.lineage.continuation import LineageMemory, ResourceJob, resource_continuations
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.core.model.joined_facts import joined
from support.builders import ago
from support.flink_resources import JOB, OTHER, a_deployment, a_session_job, a_status
from unit.core.lineage.lineage_builders import a_checkpoint, a_job, expired

PLACES = {JOB: "/ck/one", OTHER: "/ck/two"}


def ran(job: str, at: str, identity: str = "FlinkDeployment/uid-1") -> ResourceJob:
    return ResourceJob(
        resource="flink/orders",
        job_id=job,
        identity=identity,
        first_seen_at=ago(at),
        seen_at=ago(at),
    )


@pytest.mark.parametrize(
    ("identity", "edges"),
    [
        ("FlinkDeployment/uid-1", [("/ck/one", "/ck/two")]),
        ("FlinkDeployment/uid-2", []),
        ("FlinkSessionJob/uid-1", []),
        ("", []),
    ],
)
def test_only_the_same_resource_makes_one_job_the_successor_of_another(identity, edges) -> None:
    """One that was made anew under its name, or is of another kind, may have begun from nothing."""
    found = resource_continuations([ran(JOB, "2h"), ran(OTHER, "1h", identity)], PLACES)
    assert [(each.older, each.newer) for each in found] == edges


@pytest.mark.parametrize("is_stateless", [True, False])
@pytest.mark.parametrize("from_nothing", [[OTHER], []])
def test_a_stateless_redeploy_gives_up_what_was_stored_before_it(
    is_stateless, from_nothing
) -> None:
    """Only where the newer job is known to have begun from nothing: it may be a rollback."""
    newer = ran(OTHER, "40d").model_copy(update={"is_stateless": is_stateless})
    before = ran(JOB, "90d").model_copy(update={"is_stateless": True})
    edges = [*resource_continuations([before, newer], PLACES, from_nothing)]
    old, young = (a_job(n, places=(p,), is_running=n == OTHER) for n, p in PLACES.items())
    checkpoints = [a_checkpoint("/ck/one", 7, age=50), a_checkpoint("/ck/one", 8, age=30)]
    checkpoints.append(a_checkpoint("/ck/two", 3, age=1))
    gone = expired([old, young], checkpoints, edges, RetentionPolicy())
    assert gone == ({"/ck/one/chk-7"} if is_stateless and from_nothing else set())


def test_a_stateless_resource_says_so_of_the_job_that_it_runs() -> None:
    """Each cycle has to have seen it so."""
    shown = a_deployment("orders", status=a_status(JOB))
    assert not kubernetes_facts("flink", [], {"flinkdeployments": [shown]}).names[0].is_stateless
    shown["spec"]["job"]["upgradeMode"] = "stateless"
    (name,) = kubernetes_facts("flink", [], {"flinkdeployments": [shown]}).names
    assert name.is_stateless
    sightings = [ran(JOB, "2h").model_copy(update={"is_stateless": each}) for each in (True, False)]
    memories = [LineageMemory(resource_jobs=(each,)) for each in sightings]
    assert not joined(*memories).resource_jobs[0].is_stateless


def test_jobs_of_which_an_earlier_release_remembers_no_identity_get_no_edge() -> None:
    """Forgetting an edge only splits a lineage; a later cycle completes what it sees again."""
    assert not list(resource_continuations([ran(JOB, "2h", ""), ran(OTHER, "1h", "")], PLACES))
    memories = [
        LineageMemory(resource_jobs=(ran(JOB, at, i),)) for at, i in (("2h", ""), ("1h", "x"))
    ]
    for each in (memories, memories[::-1]):
        (job,) = joined(*each).resource_jobs
        assert (job.identity, job.first_seen_at) == ("x", ago("2h"))


def test_kind_and_uid_make_the_identity_of_a_resource() -> None:
    """Two kinds may have resources of one name."""
    document = a_deployment("orders", status=a_status(JOB))
    other = a_session_job("orders")
    resources = {"flinkdeployments": [document], "flinksessionjobs": [other]}
    facts = kubernetes_facts("flink", [], resources)
    assert {(e.name, e.identity) for e in facts.names} == {
        ("flink/orders", "FlinkDeployment/uid-of-orders"),
        ("flink/orders", "FlinkSessionJob/uid-of-orders"),
    }
    del document["metadata"]["uid"]
    facts = kubernetes_facts("flink", [], {"flinkdeployments": [document]})
    assert [each.identity for each in facts.names] == [""]
