"""What ships is what the mixin renders, and it speaks of metrics that the program has."""

import json
import re
import sys
from pathlib import Path

import pytest
import yaml

from deploy.fixtures import MONITORING
from deploy.program_metrics import exposition, known_series
from deploy.promql import grouping_labels, selectors
from orphangc.core.model.codes import MEMORY_CONDITIONS, Condition, Guard
from support.processes import finished

pytestmark = pytest.mark.ci

MIXIN = MONITORING / "mixin"
CHART = MONITORING.parents[1] / "helm" / "orphangc" / "files"
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())
RULES = [
    rule
    for group in yaml.safe_load((MONITORING / "rules.yaml").read_text())["groups"]
    for rule in group["rules"]
]
EXPRESSIONS = {
    **{rule["alert"]: rule["expr"] for rule in RULES},
    **{
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in DASHBOARD["panels"]
        for target in panel.get("targets", [])
    },
}
ADDED_BY_PROMETHEUS = {"namespace", "job", "instance", "cronjob"}


def output_of(*command: object, given: str | None = None) -> str:
    done = finished(command, input=given)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("source", "copies"),
    [
        ("rules.jsonnet", (MONITORING / "rules.yaml", CHART / "alerts.yaml")),
        ("dashboard.jsonnet", (MONITORING / "dashboard.json", CHART / "dashboard.json")),
    ],
)
def test_what_ships_is_rendered_from_the_mixin(jsonnet, source, copies):
    """Nobody has edited a rendered file, or forgotten to run render.sh."""
    options = ["--string"] if source == "rules.jsonnet" else []
    rendered = output_of(jsonnet, *options, MIXIN / source)
    for copy in copies:
        assert copy.read_text() == rendered, f"run deploy/monitoring/render.sh: {copy.name}"


def test_the_mixin_is_formatted(jsonnetfmt):
    """One style, as jsonnetfmt has it."""
    output_of(jsonnetfmt, "--test", *MIXIN.glob("*sonnet*"))


def test_every_setting_of_the_mixin_is_used(jsonnet):
    """A setting that nothing reads would promise something."""
    fields = output_of(
        jsonnet, "-e", f"std.objectFields((import '{MIXIN}/mixin.libsonnet')._config)"
    )
    users = "".join((MIXIN / f"{name}.libsonnet").read_text() for name in ("alerts", "dashboard"))
    documented_only = {"quietGuards", "quietConditions"}
    assert [
        name for name in json.loads(fields) if name not in documented_only and name not in users
    ] == []


def test_a_selector_reaches_every_series(jsonnet):
    """Two installations in one Prometheus can be told apart."""
    changed = "{_config+:: {selector: 'cluster=\"a\"'}}"
    mixin = f"(import '{MIXIN}/mixin.libsonnet') + {changed}"
    rules = output_of(jsonnet, "-e", f"({mixin}).prometheusAlerts")
    for group in json.loads(rules)["groups"]:
        for rule in group["rules"]:
            for name, matchers in selectors(rule["expr"]):
                assert matchers.get("cluster") == ("=", "a"), (rule["alert"], name)


def test_every_guard_and_condition_is_spoken_for(jsonnet):
    """What is added to the program must be put somewhere: alerted on, or quiet."""
    config = json.loads(
        output_of(
            jsonnet,
            "-e",
            f"local c = (import '{MIXIN}/mixin.libsonnet')._config;"
            " [c.guards, c.quietGuards, c.conditions, c.quietConditions]",
        )
    )
    alerted, quiet, conditions, settings = map(set, config)
    assert alerted | quiet | {"unreadable_root"} == {str(guard) for guard in Guard}
    assert not alerted & quiet
    assert conditions | settings | {"halted"} == {str(condition) for condition in Condition}
    assert not conditions & settings
    assert set(map(str, MEMORY_CONDITIONS)) < conditions, "only a person's word lifts them"


@pytest.mark.parametrize("where", EXPRESSIONS)
def test_every_series_and_label_value_is_one_of_the_programs(where):
    """A metric that was renamed leaves no alert or panel that is silent for ever."""
    known = known_series()
    expr = EXPRESSIONS[where]
    labels: set[str] = set()
    for name, matchers in selectors(expr):
        assert name in known
        labels |= known[name].keys()
        for label, (operator, value) in matchers.items():
            if label in ADDED_BY_PROMETHEUS or value.startswith("$"):
                continue
            for each in value.split("|") if operator == "=~" else [value]:
                assert each in known[name][label], f"{name} has no {label}={each}"
    if labels:
        assert grouping_labels(expr) <= labels | ADDED_BY_PROMETHEUS


def test_every_metric_of_the_program_is_shown_or_alerted_on():
    """What nobody looks at need not be counted."""
    used = {name for expr in EXPRESSIONS.values() for name, _ in selectors(expr)}
    assert {name for name in known_series() if not name.endswith("_bucket")} - used == set()


def test_the_exposition_is_clean(promtool):
    """Names, units, types and help are as Prometheus wants them."""
    output_of(promtool, "check", "metrics", given=exposition())


def test_every_expression_of_the_dashboard_is_valid(promtool, tmp_path):
    """Prometheus parses each one, with the variables filled in."""
    rules = [
        {"record": f"panel_{number}", "expr": _filled_in(expr)}
        for number, expr in enumerate(EXPRESSIONS.values())
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    output_of(promtool, "check", "rules", file)


def _filled_in(expr: str) -> str:
    filled = expr.replace("$__rate_interval", "5m").replace("$__range", "1d")
    filled = re.sub(r"\$(job|instance|root)\b", ".*", filled)
    assert "$" not in filled, f"an unknown variable in {filled}"
    return filled


@pytest.mark.parametrize("name", ["rules.yaml", "alertmanager.example.yaml"])
def test_the_yaml_is_clean(name):
    """Indentation, spaces, duplicate keys; long lines are expressions."""
    relaxed = "{extends: default, rules: {line-length: disable, document-start: disable}}"
    yamllint = Path(sys.executable).parent / "yamllint"
    output_of(yamllint, "--strict", "-d", relaxed, MONITORING / name)


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        ("alertname=OrphangcHalted severity=critical", "orphangc-pager"),
        ("alertname=OrphangcRefused severity=warning guard=gate", "orphangc-ticket"),
        ("alertname=OrphangcOrphanBytesGrowing severity=info", "orphangc-digest"),
        ("alertname=SomethingElse severity=critical", "default"),
    ],
)
def test_the_example_routes_by_severity(amtool, labels, receiver):
    """Critical wakes somebody, a warning makes a ticket, info waits."""
    config = MONITORING / "alertmanager.example.yaml"
    output_of(amtool, "check-config", config)
    routed = output_of(
        amtool, "config", "routes", "test", f"--config.file={config}", *labels.split()
    )
    assert routed.split() == [receiver]


def test_inhibitions_name_alerts_that_exist():
    """A rule that is renamed takes its inhibition along."""
    config = yaml.safe_load((MONITORING / "alertmanager.example.yaml").read_text())
    matchers = [
        matcher
        for rule in config["inhibit_rules"]
        for matcher in (*rule["source_matchers"], *rule["target_matchers"])
    ]
    named = {name for matcher in matchers for name in re.findall(r"Orphangc\w+", matcher)}
    assert named <= {rule["alert"] for rule in RULES}
    assert len(named) > 5
