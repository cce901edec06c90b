"""What all sources of a discovery show: each cluster is asked once, and silence is no answer."""

from typing import Any

from orphangc.collect.discovery import ClusterAnswer, shown_now
from orphangc.collect.state.discovery_memory import Memories
from orphangc.core.discovery.discovered_facts import Discovery, Origin, UnclearFact
from orphangc.core.discovery.remembered_facts import memory_of, successions, united
from orphangc.core.discovery.sources.read_resources import FileText
from orphangc.core.discovery.texts.flink_options import Reading
from orphangc.core.model.types import JobId
from support.discovered import found as found_in
from support.discovered import namespace
from support.flink_resources import JOB, OTHER, a_deployment, a_plain_deployment, a_status

HAND, ORDERS = "http://by-hand:8081", "http://orders-rest.flink:8081"
FILE = FileText(path="/flink-conf.yaml", text="rest.address: orders-rest.flink\n")
DAMAGED = UnclearFact(why="x", origin=Origin(kind="State", namespace="", name="/state"))


def runs(job: str) -> dict[str, Any]:
    document = a_deployment(status=a_status(job))
    document["metadata"]["uid"] = "uid-of-orders"
    return document


def shown(answers: dict[str, ClusterAnswer]) -> tuple[Discovery, list[str]]:
    """Return what is discovered, and the addresses that were asked; others are silent."""
    asked: list[str] = []

    def ask(address: str) -> ClusterAnswer:
        asked.append(address)
        return answers.get(address, ClusterAnswer(problem="no answer"))

    documents = namespace([runs(JOB)]), namespace([], name="empty")
    documents[0].resources["Deployment"] = [a_plain_deployment("flink-plain")]
    found = shown_now(
        documents,
        [FILE],
        [HAND, ORDERS],
        ask,
        reading=Reading(),
        memories=Memories(problems=(DAMAGED,)),
        selection="",
    )
    return found, sorted(asked)


def test_each_cluster_is_asked_once_whatever_names_it() -> None:
    """By hand, by a resource, by a file, or perhaps by a workload."""
    found, asked = shown({})
    plain = [f"http://flink-plain{each}.flink:8081" for each in ("", "-rest")]
    assert asked == sorted([HAND, ORDERS, *plain])
    assert [each.resource for each in found.unnamed] == ["Deployment/flink/flink-plain"]


def test_what_is_silent_is_not_understood_in_one_order() -> None:
    """Memories, clusters by hand, namespaces; what only looks like Flink blocks nothing."""
    found, _ = shown({ORDERS: ClusterAnswer()})
    named = [each.origin.resource for each in found.unclear]
    assert named == ["State//state", f"Cluster/{HAND}", "Namespace/empty"]


def test_a_cluster_without_a_configuration_may_list_jobs() -> None:
    """It blocks, and its jobs are shown all the same."""
    answer = ClusterAnswer(jobs={JobId(JOB): "RUNNING"}, problem="no configuration")
    found, _ = shown({HAND: answer})
    (job,) = (each for one in found.resources if one.origin.name == HAND for each in one.jobs)
    assert (job.job_id, job.state, str(job.origin)) == (JOB, "RUNNING", f"Cluster/{HAND} /jobs")


def test_a_cluster_that_still_lists_a_job_does_not_keep_it_from_being_over() -> None:
    """Whether it lives there, REST is asked again (R34, E5)."""
    found, _ = shown({ORDERS: ClusterAnswer(jobs={JobId(OTHER): "FINISHED"})})
    (over,) = successions(united(found, memory_of(found_in([runs(OTHER)]))))
    assert (over.job_id, over.successor) == (OTHER, JOB)
