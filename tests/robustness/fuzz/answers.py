"""What the outside says: Flink's REST API, Kubernetes, ZooKeeper, an S3 server."""

import json
import re
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from orphangc.adapters.object_store.bucket import RequestError
from orphangc.adapters.s3.pages.page_parser import read_page
from orphangc.adapters.s3.pages.parsed_pages import parse_page
from orphangc.core.cluster.kubernetes_json import KINDS, kubernetes_facts
from orphangc.core.cluster.rest_json import JobAnswers, cluster_settings, job_facts, listed_jobs
from orphangc.core.cluster.zookeeper_paths import zookeeper_facts
from orphangc.errors import RegistryUnavailableError
from robustness.fuzz.mutating import mutated, mutated_json, mutated_values
from robustness.fuzz.target import Target
from support import kubernetes_server
from support.builders import JOB
from support.rest_server import SAVED
from unit.adapters.s3.pages.test_page_parser import PAGES, SHAPE


def _json(path: Path) -> Any:
    return json.loads(path.read_bytes())


REST = [
    json.dumps({each.stem: _json(each) for each in sorted(folder.glob("*.json"))}).encode()
    for folder in sorted(SAVED.glob("*/*"))
]


def check_cluster(value: Any, _: Path) -> None:
    """Read the answers of a cluster, any of which may be anything."""
    told = {
        name: json.dumps(value.get(name) if isinstance(value, dict) else value).encode()
        for name in ("config", "jobmanager-config", "jobs", "job", "job-checkpoints",
                     "job-checkpoints-config")
    }  # fmt: skip
    settings = cluster_settings(told["config"], told["jobmanager-config"])
    listed = listed_jobs(told["jobs"])
    answers = JobAnswers(
        details=told["job"],
        checkpoints=told["job-checkpoints"],
        config=told["job-checkpoints-config"],
    )
    for job_id, status in listed.items():
        job_facts(job_id, status, answers, settings.flink_version)


def check_one_answer(data: bytes, _: Path) -> None:
    """Read bytes as any of the answers; one may fit, and then is no error."""
    refused = 0
    reads = (
        lambda: cluster_settings(data, b'[{"key":"k","value":"v"}]'),
        lambda: cluster_settings(b'{"refresh-interval":3000,"flink-version":"1.20.5"}', data),
        lambda: listed_jobs(data),
        lambda: job_facts(JOB, "RUNNING", JobAnswers(details=data, checkpoints=data, config=data),
                          "1.20.5"),
    )  # fmt: skip
    for read in reads:
        try:
            read()
        except RegistryUnavailableError:
            refused += 1
    assert refused >= len(reads) - 1


RESOURCES = [
    json.dumps({kind: [_json(path)]}).encode()
    for path in sorted(kubernetes_server.SAVED.glob("flink*.json"))
    for kind, name in KINDS.items()
    if path.name.startswith(name.lower())
]
CONFIG_MAPS = [
    json.dumps([content["metadata"]["name"], list(content["data"])]).encode()
    for path in sorted(kubernetes_server.SAVED.glob("ha-*.json"))
    if "data" in (content := _json(path))
]


def check_resources(value: Any, _: Path) -> None:
    """Read custom resources: documents that users write, so anything may stand anywhere in them."""
    known = {
        kind: [each for each in some if isinstance(each, dict)]
        for kind, some in value.items()
        if kind in KINDS and isinstance(some, list)
    }
    kubernetes_facts("flink", [], known)


def check_config_map(value: Any, _: Path) -> None:
    """Read names and keys of a ConfigMap, which are texts."""
    texts = [each for each in value if isinstance(each, str)]
    keys = [key for each in value if isinstance(each, list) for key in each]
    kubernetes_facts("flink", [(texts[0] if texts else "", map(str, keys))], {})


NODES = [f"/flink/orders/jobs/{JOB}/checkpoints/0000000000000000041", f"/flink/x/jobgraphs/{JOB}"]
odd_texts = st.text(max_size=20) | st.sampled_from(["/", "//", "checkpoints", "0" * 400, "\n", "٤"])
nodes = st.lists(
    st.builds(
        lambda node, at, text: node[: at % (len(node) + 1)] + text + node[at % (len(node) + 1) :],
        st.sampled_from(NODES),
        st.integers(0, 120),
        odd_texts,
    ),
    max_size=4,
)


_NOT_SHOWN = re.compile(rb"<!--.*?-->|<\?.*?\?>", re.DOTALL)
"""Comments, and the instructions that mutation makes of ``<?xml``: no element stands in them."""


def check_page(data: bytes, _: Path) -> None:
    """Make sure that no key of a listing is lost: a ``_metadata`` unseen protects nothing."""
    page = read_page(data, "cp/") or parse_page(data, "cp/", SHAPE)
    shown = _NOT_SHOWN.sub(b"", data)
    assert page.objects.num_rows == shown.count(b"<Key>")
    assert page.is_truncated == (b"<IsTruncated>true" in data)


TARGETS = (
    Target("cluster", mutated_values(REST), check_cluster, (RegistryUnavailableError,)),
    Target("one answer", mutated_json(REST), check_one_answer, ()),
    Target("resources", mutated_values(RESOURCES), check_resources, (RegistryUnavailableError,)),
    Target(
        "config map", mutated_values(CONFIG_MAPS), check_config_map, (RegistryUnavailableError,)
    ),
    Target("nodes", nodes, lambda paths, _: zookeeper_facts("u", "e", paths) and None, ()),
    Target("page", mutated(list(PAGES.values())), check_page, (RequestError,)),
)
