"""Alerts, dashboard and scrape targets of the chart are those that the monitoring tests know."""

import json
import re

import pytest
import yaml

from deploy.charts import CHART, ROOTS, collector, daemon, rendered, the

pytestmark = pytest.mark.ci

RULES = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())
ALERTS = [rule["alert"] for group in RULES["groups"] for rule in group["rules"] if "alert" in rule]


def alerts_of(objects) -> list[str]:
    groups = the(objects, "PrometheusRule")["spec"]["groups"]
    return [rule["alert"] for group in groups for rule in group["rules"] if "alert" in rule]


def test_the_rules_go_out_as_they_were_tested(helm4):
    """What Prometheus expands is left to Prometheus."""
    assert the(rendered(helm4, "daemon"), "PrometheusRule")["spec"] == RULES


def test_an_alert_can_be_left_out(helm4):
    """A group without alerts goes too."""
    kept = ALERTS[0]
    values = daemon(prometheusRule={"enabled": True, "disabled": ALERTS[1:]})
    objects = rendered(helm4, values)
    assert alerts_of(objects) == [kept]
    assert len(the(objects, "PrometheusRule")["spec"]["groups"]) == 1


def test_rules_can_be_added(helm4):
    """In a group of their own; a template of Prometheus is escaped once."""
    groups = the(rendered(helm4, "everything"), "PrometheusRule")["spec"]["groups"]
    [rule] = groups[-1]["rules"]
    assert rule["annotations"]["description"] == "{{ $value }} objects in nightly."
    assert alerts_of(rendered(helm4, "everything")) == [*ALERTS, "OrphanGcNothingListed"]


@pytest.mark.parametrize("kind", ["Deployment", "CronJob"])
def test_alerts_hear_a_release_of_any_name(helm4, kind):
    """They select daemon and CronJob by a part of the name, which a release may change."""
    values = daemon(prometheusRule={"enabled": True}, fullnameOverride="state-cleaner", kind=kind)
    objects = rendered(helm4, values)
    name = the(objects, kind)["metadata"]["name"]
    patterns = re.findall(r'(?:job|cronjob)=~"([^"]+)"', str(the(objects, "PrometheusRule")))
    assert len(patterns) > 1
    assert name == "state-cleaner"
    assert all(re.fullmatch(pattern, name) for pattern in patterns)
    assert all(re.fullmatch(pattern, "nightly-orphangc") for pattern in patterns)


def test_runbooks_can_lie_elsewhere(helm4):
    """Every link follows."""
    prefix = "https://wiki.example.com/gc/"
    values = daemon(prometheusRule={"enabled": True, "runbookUrlPrefix": prefix})
    rules = [
        rule
        for group in the(rendered(helm4, values), "PrometheusRule")["spec"]["groups"]
        for rule in group["rules"]
        if "alert" in rule
    ]
    assert all(rule["annotations"]["runbook_url"].startswith(prefix) for rule in rules)


def test_the_dashboard_is_what_grafanas_sidecar_looks_for(helm4):
    """By label, in the namespace that it looks at."""
    [config_map] = [
        each
        for each in rendered(helm4, "everything")
        if each["metadata"]["name"] == "nightly-orphangc-dashboard"
    ]
    assert config_map["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert config_map["metadata"]["namespace"] == "monitoring"
    shown = json.loads(config_map["data"]["orphangc.json"])
    assert shown == json.loads((CHART / "files" / "dashboard.json").read_text())


@pytest.mark.parametrize("case", ["daemon", "kubernetes"])
def test_what_is_scraped_is_the_daemon(helm4, case):
    """A ServiceMonitor finds the Service, a PodMonitor the pods."""
    objects = rendered(helm4, case)
    if case == "daemon":
        spec = the(objects, "ServiceMonitor")["spec"]
        [endpoint] = spec["endpoints"]
        found = the(objects, "Service")["metadata"]["labels"]
    else:
        spec = the(objects, "PodMonitor")["spec"]
        [endpoint] = spec["podMetricsEndpoints"]
        found = collector(objects)["metadata"]["labels"]
    assert (endpoint["port"], endpoint["path"]) == ("http", "/metrics")
    assert spec["selector"]["matchLabels"].items() <= found.items()
    assert spec["namespaceSelector"]["matchNames"] == ["flink-gc"]


def test_a_daemon_of_another_name_is_still_known_to_the_alerts(helm4):
    """They select by a job that holds the program's name; a renamed release's gets it."""
    monitored = {"serviceMonitor": {"enabled": True}}
    renamed = rendered(helm4, daemon(fullnameOverride="collector", **monitored))
    [relabeling] = the(renamed, "ServiceMonitor")["spec"]["endpoints"][0]["relabelings"]
    assert relabeling == {"targetLabel": "job", "replacement": "orphangc-collector"}
    as_shipped = rendered(helm4, daemon(**monitored))
    assert "relabelings" not in the(as_shipped, "ServiceMonitor")["spec"]["endpoints"][0]


def test_nothing_of_the_operators_is_made_unless_it_is_asked_for(helm4):
    """A cluster may be without it."""
    values = {"config": ROOTS}
    kinds = {
        each["kind"]
        for objects in (rendered(helm4, values), rendered(helm4, daemon()))
        for each in objects
    }
    assert not kinds & {"ServiceMonitor", "PodMonitor", "PrometheusRule", "NetworkPolicy"}
