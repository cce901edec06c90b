"""Two real Flink clusters behind fake resources: what nobody configured is collected, and restores.

The chart is rendered by the real Helm with ``discovery.namespaces`` and margins of a test; the
configuration that the pods would mount runs here.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.charts import of_kind, rendered
from deploy.fixtures import helm4
from integration.harness.command import NO_MARGINS, Finished, installed_orphangc
from integration.harness.flinkbed.cluster import Cluster
from integration.harness.flinkbed.fixtures import NEWEST, require_flink
from integration.harness.flinkbed.truth import retained
from integration.harness.flinkbed.waiting import wait_until
from integration.harness.orphan_workload import RETAINED, haunted, restore_all
from support.flink_resources import a_deployment, a_session_job, a_status
from support.kubernetes_server import KubernetesServer

__all__ = ["helm4"]

pytestmark = [pytest.mark.flink, pytest.mark.nightly]

MARGINS = {name: value for name, value in NO_MARGINS.items() if name != "closed_world"}


def chart_configuration(helm: Path, folder: Path) -> Path:
    """Return the configuration that the chart's pods would mount."""
    values = {
        "discovery": {"namespaces": ["flink"], "state": str(folder / "state")},
        "extraVolumeMounts": [{"name": "state", "mountPath": str(folder)}],
        "config": {
            "mode": "delete",
            "plans": str(folder / "plans"),
            "discovery": {
                "rest": "{scheme}://127.0.0.1:{port}",
                "alias": [f"{folder}={folder}"],
                "closed_world": True,
                "defaults": MARGINS,
            },
        },
    }
    (found,) = (
        e for e in of_kind(rendered(helm, values), "ConfigMap") if "config.yaml" in e["data"]
    )
    path = folder / "orphangc.yaml"
    path.write_text(found["data"]["config.yaml"])
    return path


def resources(first: Cluster, second: Cluster, folder: Path, jobs: list[str]) -> list[dict]:
    """Return an application in 1.x spelling, and a session with a job in 2.x spelling."""
    one, other = ({"rest.port": each.rest_url.rpartition(":")[2]} for each in (first, second))
    session = a_deployment(
        "session",
        {**other, "execution": {"checkpointing": {"dir": f"file://{folder}/second"}}},
        status={**a_status(""), "jobStatus": {}},
    )
    running = {"jobId": jobs[1], "state": "RUNNING"}
    job = a_session_job("billing", "session", jobStatus=running)
    options = {**one, "state.checkpoints.dir": f"file://{folder}/first"}
    return [a_deployment("orders", options, status=a_status(jobs[0])), session, job]


def ran(config: Path) -> Finished:
    return installed_orphangc("run", "--config", config, "--output", "json")


def deleted(done: Finished) -> int:
    swept: list[dict[str, Any]] = [e for record in done.document for e in record["swept"]]
    return sum(e["objects"] for e in swept if (e["action"], e["outcome"]) == ("delete", "done"))


def test_two_clusters_that_only_resources_name_are_collected_and_restore(
    helm4: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Discover, plan, quarantine, delete; then every retained checkpoint of both restores."""
    require_flink(NEWEST)
    with (
        Cluster(NEWEST, tmp_path / "flink-1") as first,
        Cluster(NEWEST, tmp_path / "flink-2") as second,
        KubernetesServer() as kubernetes,
    ):
        monkeypatch.setenv("KUBECONFIG", str(kubernetes.kubeconfig(tmp_path)))
        pairs = [(first, tmp_path / "first"), (second, tmp_path / "second")]
        made = [haunted(cluster, base) for cluster, base in pairs]
        jobs, lost = [job for job, _ in made], {path for _, files in made for path in files}
        for each in resources(first, second, tmp_path, jobs):
            kubernetes.operate(each)
        config = chart_configuration(helm4, tmp_path)

        shown = json.loads(installed_orphangc("discover", "--config", config).out)
        assert shown["not_understood"] == []
        assert {each["uri"] for each in shown["storage_roots"]} == {str(b) for _, b in pairs}
        assert {each["job_id"] for each in shown["jobs"]} == set(jobs)

        for _ in range(2):  # a report, then tombstones
            done = ran(config)
            assert (done.code, deleted(done)) == (0, 0), str(done)
        assert all(path.exists() for path in lost)
        for (cluster, _), job in zip(pairs, jobs, strict=True):
            cluster.wait_for_checkpoints(job, 1)
        done = ran(config)
        assert (done.code, deleted(done)) == (0, len(lost)), str(done)
        assert not any(path.exists() for path in lost)

        for (cluster, base), job in zip(pairs, jobs, strict=True):
            cluster.wait_for_checkpoints(job, RETAINED)
            cluster.cancel(job, between_checkpoints=True)
            wait_until("the subsumed ones to go", lambda d=base / job: len(retained(d)) == RETAINED)
            restore_all(cluster, base / job)
    assert yaml.safe_load(config.read_text())["discovery"]["namespaces"] == ["flink"]
