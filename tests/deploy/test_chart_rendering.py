"""The chart renders to what Kubernetes and the Prometheus operator accept, under Helm 3 and 4."""

import json
import sys
from pathlib import Path

import pytest
import yaml

from deploy.charts import CASES, CHART, RELEASE, case_text, helm_run, manifests, rendered
from support.processes import finished

pytestmark = pytest.mark.ci

OLDEST, NEWEST = "1.25", "1.37"
OPERATOR_KINDS = {"ServiceMonitor", "PodMonitor", "PrometheusRule"}
BIN = Path(sys.executable).parent

CHECK_CUSTOM_RESOURCES = """
import * as operator from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1";
import { readFileSync } from "node:fs";
const models = operator.default ?? operator;
for (const each of JSON.parse(readFileSync(0))) {
  try { new models[each.kind](each).validate(); console.log("good"); }
  catch (err) { console.log(String(err.message).split("\\n").join(" ")); }
}
"""


@pytest.mark.parametrize("case", CASES)
def test_both_lines_of_helm_render_the_same(helm3, helm4, case):
    """Byte for byte, so that every other test of a rendering needs only one of them."""
    assert case_text(helm3, case) == case_text(helm4, case)


def test_every_case_is_rendered_alike_twice(helm4):
    """Nothing is random, so that a GitOps tool sees no change where there is none."""
    first = case_text(helm4, "everything")
    case_text.cache_clear()
    assert case_text(helm4, "everything") == first


def test_helm_finds_nothing_to_complain_of(helm):
    """The values as they are shipped, and each case, pass the linter that takes warnings ill."""
    files = [f"--values={CHART}/ci/{case}-values.yaml" for case in CASES]
    for values in [[], *([each] for each in files)]:
        done = helm_run(helm, "lint", "--strict", *values, str(CHART))
        assert done.returncode == 0, done.stdout
        assert "[WARNING]" not in done.stdout


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_kubernetes_knows_every_field(helm4, tmp_path, version):
    """Strictly, at both ends of what the chart promises: an unknown field is an error."""
    command = [str(BIN / "kubernetes-validate"), "--strict", "-k", version]
    for case in CASES:
        command.append(str(tmp_path / f"{case}.yaml"))
        objects = rendered(helm4, case, f"--kube-version={version}")
        known = [each for each in objects if each["kind"] not in OPERATOR_KINDS]
        Path(command[-1]).write_text(yaml.safe_dump_all(known))
    done = finished(command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "find schema" not in done.stdout + done.stderr


def test_the_prometheus_operator_knows_every_field(helm4, node_modules):
    """Against the schemas of its custom resources, which also refuse what only looks right."""
    resources = [m for case in CASES for m in rendered(helm4, case) if m["kind"] in OPERATOR_KINDS]
    assert {each["kind"] for each in resources} == OPERATOR_KINDS
    wrong = json.loads(json.dumps(next(m for m in resources if m["kind"] == "ServiceMonitor")))
    wrong["spec"]["endpoints"][0]["interval"] = "30 s"
    *verdicts, of_wrong = _verdicts(node_modules, [*resources, wrong])
    assert set(verdicts) == {"good"}
    assert "interval" in of_wrong


def _verdicts(node_modules: Path, resources: list) -> list[str]:
    done = finished(
        ["node", "--input-type=module", "--eval", CHECK_CUSTOM_RESOURCES],
        cwd=node_modules.parent,
        input=json.dumps(resources),
        check=True,
    )
    return done.stdout.splitlines()


def test_yaml_is_tidy(helm4, tmp_path):
    """What is shipped, and what it renders to."""
    tidy = "{extends: relaxed, rules: {line-length: disable, indentation: disable}}"
    for case in CASES:
        (tmp_path / f"{case}.yaml").write_text(case_text(helm4, case))
    shipped = [CHART / "Chart.yaml", CHART / "values.yaml", CHART / "ci"]
    command = [str(BIN / "yamllint"), "--strict", "-d", tidy, str(tmp_path), *map(str, shipped)]
    done = finished(command)
    assert done.returncode == 0, done.stdout


def test_the_package_holds_what_is_installed_and_no_more(helm, tmp_path):
    """Rules and dashboard go along; the cases of the tests do not."""
    done = helm_run(helm, "package", str(CHART), f"--destination={tmp_path}")
    assert done.returncode == 0, done.stderr
    [package] = tmp_path.glob("*.tgz")
    listed = finished(["tar", "-tzf", package], check=True).stdout.split()
    for name in ("files/alerts.yaml", "files/dashboard.json", "values.schema.json", "README.md"):
        assert f"orphangc/{name}" in listed
    assert not [name for name in listed if "/ci/" in name]


@pytest.mark.parametrize("case", CASES)
def test_every_object_says_whose_it_is(helm4, case):
    """The recommended labels, and those that are wished for everywhere."""
    wished = {"team": "streaming"} if case == "everything" else {}
    for each in manifests(case_text(helm4, case)):
        if each["metadata"]["name"] == f"{RELEASE}-extra":
            continue
        labels = each["metadata"]["labels"]
        assert labels["app.kubernetes.io/instance"] == RELEASE
        assert labels["app.kubernetes.io/managed-by"] == "Helm"
        assert {"app.kubernetes.io/name", "app.kubernetes.io/version", "helm.sh/chart"} < set(
            labels
        )
        assert wished.items() <= labels.items()


def test_a_long_name_is_cut_to_what_a_cronjob_may_have(helm4):
    """Its controller adds 11 characters to make the name of a Job."""
    values = {"config": {"storage_roots": [{"root": "s3://a/b", "state": "s3://c/d"}]}}
    long = "a" * 30 + "-" + "b" * 22
    for name in (long, "x" * 51 + "-y"):
        [cron_job] = [
            each
            for each in rendered(helm4, {**values, "fullnameOverride": name})
            if each["kind"] == "CronJob"
        ]
        assert len(cron_job["metadata"]["name"]) <= 52
        assert cron_job["metadata"]["name"].rstrip("-") == cron_job["metadata"]["name"]
