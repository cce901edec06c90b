"""What people read of the chart: its table of values, and what it says when it is installed.

The table is made from the comments in values.yaml. When it is old:
``readme-generator --values helm/orphangc/values.yaml --readme helm/orphangc/README.md``
"""

import shutil

import pytest
import yaml

import orphangc
from deploy.charts import CHART, NAMESPACE, RELEASE, ROOTS, daemon, helm_run
from support.processes import finished

pytestmark = pytest.mark.ci


def test_the_table_of_values_is_what_the_comments_say(node_modules, tmp_path):
    """Every value has a comment, every comment a value, and the README has them all."""
    readme = shutil.copy(CHART / "README.md", tmp_path / "README.md")
    command = [str(node_modules / ".bin" / "readme-generator")]
    command += ["--values", str(CHART / "values.yaml"), "--readme", str(readme)]
    done = finished(command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert readme.read_text() == (CHART / "README.md").read_text(), "run readme-generator"


def test_chart_and_program_are_released_together():
    """The image's tag comes from the chart, its keys from the program."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == orphangc.__version__


def notes(helm, values) -> str:
    """Return what an installation says, without a cluster."""
    done = helm_run(
        helm,
        *("install", RELEASE, str(CHART), f"--namespace={NAMESPACE}", "--dry-run=client"),
        "--values=-",
        stdin=yaml.safe_dump(values),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.partition("NOTES:")[2]


def test_whoever_installs_it_reads_that_it_only_reports(helm4):
    """In capitals, with the one setting that changes it. Helm 3 shows notes to clusters only."""
    said = notes(helm4, {"config": ROOTS})
    assert "REPORT ONLY" in said
    assert "config.mode" in said
    assert f"--from=cronjob/{RELEASE}-orphangc" in said


@pytest.mark.parametrize("place", ["all", "root"])
def test_whoever_lets_it_delete_reads_where(helm4, place):
    """The one for all, or the one of a storage root."""
    [root] = ROOTS["storage_roots"]
    values = {"config": {**ROOTS, "mode": "delete"}}
    if place == "root":
        values = {"config": {"storage_roots": [{**root, "mode": "delete"}]}}
    said = notes(helm4, values)
    assert "REPORT ONLY" not in said
    assert f"{root['root']}: DELETE" in said


def test_a_daemon_says_where_its_page_is(helm4):
    """With a command that can be copied."""
    said = notes(helm4, daemon(service={"port": 80}))
    assert f"port-forward service/{RELEASE}-orphangc 8080:80" in said


def test_alerts_without_metrics_are_warned_of(helm4):
    """A CronJob that pushes nowhere has none."""
    alerting = {"prometheusRule": {"enabled": True}}
    assert "WARNING" in notes(helm4, {"config": ROOTS, **alerting})
    pushing = {**ROOTS, "metrics": {"pushgateway": "http://pushgateway:9091"}}
    assert "WARNING" not in notes(helm4, {"config": pushing, **alerting})


def test_a_configuration_of_yours_is_your_business(helm4):
    """The chart cannot see whether its state outlives the pod, and says so."""
    said = notes(helm4, {"existingConfigMap": "ours"})
    assert "Every storage root needs a `state` outside the pod" in said


def test_an_installation_that_discovers_reads_that_it_only_reports(helm4):
    """No storage root is known yet, and none is named."""
    said = notes(helm4, {"discovery": {"namespaces": ["flink", "flink-b"]}})
    assert "in namespaces flink, flink-b" in said
    assert "orphangc discover --namespace flink --namespace flink-b" in said
    assert "discovery.state" in said
    assert "config.discovery.closed_world" in said
    asked = {"namespaces": ["flink"], "state": "s3://gc/orphangc"}
    said = notes(helm4, {"discovery": asked, "config": {"discovery": {"closed_world": True}}})
    assert "REPORT ONLY" in said
    assert "discovery.state" not in said
    assert "closed_world" not in said
    assert "in every namespace" in notes(helm4, {"discovery": {"allNamespaces": True}})
    said = notes(helm4, {"discovery": asked, "config": {"mode": "delete"}})
    assert "REPORT ONLY" not in said
    assert "every storage root that is discovered: DELETE" in said
