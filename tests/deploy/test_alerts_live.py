"""From the program's registry through a real Prometheus to a firing alert, and back to silence."""

from collections.abc import Iterator

import pytest
from prometheus_client import start_http_server

from deploy.prometheusbed import Prometheus, hurried_rules
from deploy.records import ROOT, SICK, a_run
from integration.harness.flinkbed.waiting import wait_until
from orphangc.app.config.configuration import ScheduledRoot
from orphangc.app.telemetry.metrics import Metrics
from orphangc.core.documents.run_record import RunResult
from support import speed

pytestmark = [pytest.mark.prometheus, pytest.mark.ci]

INTERVAL_SECONDS = round(speed.scaled(6))  # a busy machine must not look like a missing run


@pytest.fixture
def metrics() -> Metrics:
    """Of a daemon with one storage root."""
    return Metrics([ScheduledRoot(root=ROOT, schedule=f"{INTERVAL_SECONDS}s")], "1")


@pytest.fixture
def server(metrics, prometheus, jsonnet, tmp_path) -> Iterator[Prometheus]:
    rules = hurried_rules(jsonnet, tmp_path / "rules.yaml", {"slackSeconds": 0})
    httpd, thread = start_http_server(0, addr="127.0.0.1", registry=metrics.registry)
    target = f"127.0.0.1:{httpd.server_port}"
    try:
        with Prometheus(prometheus, tmp_path, jobs={"orphangc": [target]}, rules=rules) as running:
            yield running
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()


def test_alerts_fire_and_fall_silent(metrics: Metrics, server: Prometheus):
    """A healthy daemon is silent; a sick run and the silence after it fire; a good run clears."""

    def healthy_for(samples: int) -> bool:
        metrics.observe(a_run())
        return (server.value_of("count_over_time(orphangc_build_info[5m])") or 0) >= samples

    wait_until("some samples of a healthy daemon", lambda: healthy_for(5), pause=0.5)
    assert server.firing() == set()

    metrics.observe(a_run(RunResult.SOME_DELETES_FAILED, **SICK))
    expected = {
        ("OrphangcUnreadableRoot", ROOT),
        ("OrphangcRefused", ROOT),
        ("OrphangcDeleteErrors", ROOT),
        ("OrphangcMissingLiveFile", ROOT),
        ("OrphangcRegistryStale", ROOT),
        ("OrphangcNotRunRecently", ROOT),
    }
    wait_until("all alerts", lambda: server.firing() == expected, pause=0.5)

    def is_clear() -> bool:
        metrics.observe(a_run())
        return server.firing() == {("OrphangcDeleteErrors", ROOT)}

    wait_until("silence, but for what happened within the day", is_clear, pause=0.5)


def test_a_daemon_that_dies_is_missed(prometheus, jsonnet, tmp_path):
    """Nothing answers: the only alert left is the one that needs no metrics."""
    rules = hurried_rules(jsonnet, tmp_path / "rules.yaml")
    target = "127.0.0.1:1"  # nobody listens there
    with Prometheus(prometheus, tmp_path, jobs={"orphangc": [target]}, rules=rules) as server:
        wait_until("the alert", lambda: ("OrphangcAbsent", "") in server.firing(), pause=0.5)
        assert {name for name, _ in server.firing()} == {"OrphangcAbsent"}
