"""The configuration that the chart makes is one that orphangc reads, and means what was asked."""

import copy
import json
from contextlib import nullcontext

import pytest
import yaml

from deploy.charts import CASES, CHART, ROOTS, collector, daemon, rendered, template, the
from orphangc.app.config.configuration import Configuration
from orphangc.app.config.load import load_configuration
from orphangc.core.model.settings import SAFE_MINIMUMS
from orphangc.core.model.shown import RunMode
from orphangc.errors import SettingsError
from support.accepted import write_into

pytestmark = pytest.mark.ci

WITH_CONFIG = [case for case in CASES if case != "existing"]


def configuration(helm, tmp_path, values) -> Configuration:
    """Return what orphangc reads out of the ConfigMap."""
    content = the_config_map(rendered(helm, values))["data"]["config.yaml"]
    path = tmp_path / "config.yaml"
    path.write_text(content)
    return load_configuration(path)


def the_config_map(objects):
    [volume] = [v for v in collector(objects)["spec"]["volumes"] if v["name"] == "config"]
    name = volume["configMap"]["name"]
    [found] = [m for m in objects if m["kind"] == "ConfigMap" and m["metadata"]["name"] == name]
    return found


@pytest.mark.parametrize("case", WITH_CONFIG)
def test_orphangc_reads_what_the_chart_writes(helm4, tmp_path, case):
    """With its own checks: an unknown key or a wrong value would stop it in the cluster."""
    found = configuration(helm4, tmp_path, case)
    assert found.storage_roots or found.discovery.namespaces


def test_as_shipped_a_run_only_reports(helm4, tmp_path):
    """Whoever sets nothing but a storage root deletes nothing."""
    config = configuration(helm4, tmp_path, "report")
    assert config.mode is RunMode.REPORT
    assert {each.mode for each in config.storage_roots} <= {None, RunMode.REPORT}
    assert config.metrics.pushgateway is None


def test_templates_in_the_configuration_are_expanded(helm4, tmp_path):
    """Such as the namespace, in a state location that several releases share."""
    config = configuration(helm4, tmp_path, "everything")
    assert config.storage_roots[0].state == "s3://flink-gc/flink-gc"
    assert config.storage_roots[0].mode is RunMode.DELETE
    assert config.mode is RunMode.QUARANTINE
    assert config.metrics.push_job == "nightly"


def test_a_cronjob_and_its_configuration_agree_on_when(helm4, tmp_path):
    """Alerts go by the configuration's schedule, pods by the CronJob's."""
    config = configuration(helm4, tmp_path, "everything")
    spec = the(rendered(helm4, "everything"), "CronJob")["spec"]
    assert (spec["schedule"], spec["timeZone"]) == (config.schedule, config.timezone)


def test_plans_lie_where_the_pod_may_write(helm4, tmp_path):
    """Its root file system is read-only."""
    config = configuration(helm4, tmp_path, "daemon")
    [container] = collector(rendered(helm4, "daemon"))["spec"]["containers"]
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    assert str(config.plans.parent) in mounts
    chosen = daemon(config={**ROOTS, "plans": "/tmp/plans"})
    assert str(configuration(helm4, tmp_path, chosen).plans) == "/tmp/plans"


def test_namespaces_of_both_places_are_read(helm4, tmp_path):
    """Those in the configuration are written by hand: the chart's own value takes none of them."""
    own = {"namespaces": ["flink"], "state": "s3://ops/orphangc"}
    written = {"namespaces": ["payments", "flink"], "closed_world": True}
    values = {"discovery": own, "config": {"discovery": written}}
    found = configuration(helm4, tmp_path, values).discovery
    assert (set(found.namespaces), found.closed_world) == ({"flink", "payments"}, True)
    roles = [e["metadata"]["namespace"] for e in rendered(helm4, values) if e["kind"] == "Role"]
    assert roles == ["flink", "payments"]


def test_a_configuration_that_is_there_is_mounted_and_none_is_made(helm4):
    """The chart then knows nothing of its content."""
    objects = rendered(helm4, "existing")
    assert "ConfigMap" not in {each["kind"] for each in objects}
    volumes = collector(objects)["spec"]["volumes"]
    assert {"name": "config", "configMap": {"name": "settings-of-ours"}} in volumes
    assert the(objects, "CronJob")["spec"]["schedule"] == "@daily"


def test_the_schema_knows_every_key_of_the_configuration():
    """And its durations and counts: what is misspelt is refused, and nothing that is right."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    complete = copy.deepcopy(schema)
    write_into(complete)
    assert schema == complete


MEASURES = [
    *(
        {name: value}
        for name in SAFE_MINIMUMS
        for value in ("59s", "23h59m", "1D", " 24h60m", "1x")
    ),
    *({"grace_period": value} for value in (0, "0", "", "24", "{{ print 2 }}d", "{{ print 2 }}h")),
    *({"grace_period": "1h", "allow_short_margins": value} for value in (True, "True", False)),
    *({"registry_wait": value} for value in ("1s", "1y")),
    *({"max_deletes": value} for value in (0, "5", -1, "x")),
    {"expire": {"keep_within": "4y"}},
    {"expire": {"keep_within": "4d", "keep_last": 0}},
]


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_the_chart_takes_the_durations_and_counts_that_orphangc_takes(helm4, tmp_path, measure):
    """What a run would refuse is refused at installation."""
    root = {**ROOTS["storage_roots"][0], **measure}
    done = template(helm4, {"config": {"storage_roots": [root]}})
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"storage_roots": [root]}).replace("{{ print 2 }}", "2"))
    with nullcontext() if done.returncode == 0 else pytest.raises(SettingsError):
        load_configuration(path)


def test_the_schema_knows_every_value_that_is_shipped():
    """And no other: what is misspelt is refused."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert set(schema["properties"]) == set(values)
    for name, value in values.items():
        described = schema["properties"][name].get("properties")
        if described and name != "config":
            assert set(described) == set(value), name
