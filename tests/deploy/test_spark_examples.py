"""The examples for Spark: valid YAML, restricted pods, and configurations that orphangc reads."""

import sys
from pathlib import Path

import pytest
import yaml

from deploy.charts import CHART, collector, helm_run, manifests
from deploy.images import REPOSITORY
from deploy.pod_security import problems_of
from orphangc.app.config.load import load_configuration
from orphangc.core.model.shown import RunMode
from support.processes import finished

pytestmark = pytest.mark.ci

SPARK = REPOSITORY / "deploy" / "spark"
BIN = Path(sys.executable).parent


def example(name: str):
    return yaml.safe_load((SPARK / f"{name}.yaml").read_text())


def test_yaml_is_tidy():
    """Every example, strictly."""
    tidy = "{extends: relaxed, rules: {line-length: {max: 120}}}"
    command = [str(BIN / "yamllint"), "--strict", "-d", tidy, str(SPARK)]
    done = finished(command)
    assert done.returncode == 0, done.stdout


def test_orphangc_reads_the_configuration(tmp_path):
    """It only reports, and runs on Spark."""
    path = tmp_path / "config.yaml"
    path.write_text(example("configmap")["data"]["config.yaml"])
    config = load_configuration(path)
    assert config.mode is RunMode.REPORT
    assert [(root.engine, bool(root.work)) for root in config.storage_roots] == [("spark", True)]
    assert config.schedule == example("kubeflow-scheduled")["spec"]["schedule"]


def test_a_schedule_starts_what_the_single_run_is():
    """The template is the same, so that one was tried when the other was; but for its life."""
    single = example("kubeflow-application")["spec"]
    del single["timeToLiveSeconds"]  # the schedule has a history limit
    scheduled = example("kubeflow-scheduled")["spec"]
    assert scheduled["template"] == single
    assert scheduled["concurrencyPolicy"] == "Forbid"


@pytest.mark.parametrize("part", ["driver", "executor"])
def test_kubeflows_pods_are_restricted(part):
    """The operator puts one security context at the pod and at the container."""
    spec = example("kubeflow-application")["spec"]
    context = spec[part]["securityContext"]
    container = {"name": part, "securityContext": context}
    assert problems_of({"spec": {"securityContext": context, "containers": [container]}}) == []
    assert spec["restartPolicy"] == {"type": "Never"}


@pytest.mark.parametrize("part", ["driverSpec", "executorSpec"])
def test_apaches_pods_are_restricted(part):
    """By the pod template that both are made of."""
    spec = example("apache-application")["spec"]
    assert problems_of(spec[part]["podTemplateSpec"]) == []
    assert spec["applicationTolerations"]["restartConfig"]["restartPolicy"] == "Never"


def test_every_way_runs_the_same_command():
    """``main.py`` with ``run`` and the file that is mounted."""
    kubeflow = example("kubeflow-application")["spec"]
    apache = example("apache-application")["spec"]
    assert kubeflow["arguments"] == apache["driverArgs"]
    assert kubeflow["mainApplicationFile"] == apache["pyFiles"]
    assert kubeflow["arguments"] == ["run", "--config", "/etc/orphangc/config.yaml"]


def test_the_chart_asks_a_spark_that_is_there(helm4, tmp_path):
    """A CronJob without Java: its environment says where Spark Connect answers."""
    values = SPARK / "connect-values.yaml"
    done = helm_run(helm4, "template", "a", str(CHART), f"--values={values}")
    assert done.returncode == 0, done.stderr
    objects = manifests(done.stdout)
    [container] = collector(objects)["spec"]["containers"]
    assert {"name": "SPARK_REMOTE", "value": "sc://SPARK-CONNECT:15002"} in container["env"]
    path = tmp_path / "config.yaml"
    path.write_text(next(m for m in objects if m["kind"] == "ConfigMap")["data"]["config.yaml"])
    assert load_configuration(path).storage_roots[0].engine == "spark"
