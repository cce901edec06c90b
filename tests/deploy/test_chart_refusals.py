"""What must not be installed is refused, with a sentence that says what to do instead."""

import pytest

from deploy.charts import ROOTS, daemon, manifests, of_kind, template

pytestmark = pytest.mark.ci

NO_STATE = {"storage_roots": [{"root": "s3://flink/checkpoints"}]}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, "config.storage_roots is empty"),
        ({"config": NO_STATE}, "tombstones would die with the pod"),
        ({"existingConfigMap": "a", "config": ROOTS}, "config would be ignored"),
        ({"config": {**ROOTS, "schedule": "6h"}}, "a CronJob needs five cron fields"),
        ({"config": {**ROOTS, "schedule": "@daily"}}, "a CronJob needs five cron fields"),
        ({"config": ROOTS, "cronJob": {"schedule": "1 2 * * *"}}, "set config.schedule"),
        (
            {"config": {"storage_roots": [{**ROOTS["storage_roots"][0], "schedule": "1h"}]}},
            "a CronJob has one schedule",
        ),
        ({"config": ROOTS, "serviceMonitor": {"enabled": True}}, "config.metrics.pushgateway"),
        ({"config": ROOTS, "podMonitor": {"enabled": True}}, "config.metrics.pushgateway"),
        (daemon(config={**ROOTS, "http": {"host": "127.0.0.1"}}), "neither probes nor Prometheus"),
        (
            daemon(serviceMonitor={"enabled": True}, podMonitor={"enabled": True}),
            "scrape the daemon twice",
        ),
        (
            {"config": ROOTS, "extraEnv": [{"name": "ORPHANGC_MODE", "value": "delete"}]},
            "would win over config.mode unseen",
        ),
        (
            {"config": ROOTS, "extraEnv": [{"name": "ORPHANGC_STORAGE_ROOTS", "value": "[]"}]},
            "ORPHANGC_STORAGE_ROOTS would win",
        ),
        (
            {"discovery": {"namespaces": ["flink"], "state": "/state"}},
            "discovery.state is /state, which dies with the pod",
        ),
        (
            {"config": {"storage_roots": [{"root": "s3://b/x", "state": "/var/lib/orphangc"}]}},
            "dies with the pod",
        ),
        *(
            (
                {"config": {"storage_roots": [{"root": root, "state": state}]}},
                "inside the storage root",
            )
            for root in ("s3://b/x", "s3://b/x/")
            for state in ("s3://b/x", "s3://b/x/state")
        ),
        ({"config": {**ROOTS, "mode": "{{ .Values.nothing.here }}"}}, "nil pointer"),
        (
            {"config": ROOTS, "extraEnv": [{"name": "ORPHANGC_DISCOVERY", "value": "{}"}]},
            "ORPHANGC_DISCOVERY would win",
        ),
        *(
            ({"config": ROOTS, "kubernetesDiscovery": asked}, "kubernetesDiscovery only grants")
            for asked in ({"enabled": True}, {"watchNamespaces": ["flink"]})
        ),
        *(
            (
                {"discovery": {value: "one"}, "config": {**ROOTS, "discovery": {key: "other"}}},
                f"discovery.{value} and config.discovery.{key} differ",
            )
            for value, key in (("state", "state"), ("namespaceSelector", "namespace_selector"))
        ),
    ],
)
def test_values_that_would_do_harm_are_refused(helm4, values, expected):
    """By the templates: each is well-formed, and wrong."""
    done = template(helm4, values)
    assert done.returncode != 0
    assert expected in done.stderr


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"config": {**ROOTS, "mode": "destroy"}}, "mode"),
        ({"config": {**ROOTS, "moed": "delete"}}, "moed"),
        ({"config": {"storage_roots": [{"root": "s3://a/b", "quarantine": "1d"}]}}, "quarantine"),
        ({"config": {"storage_roots": [{"state": "s3://a/b"}]}}, "root"),
        ({"config": ROOTS, "kind": "DaemonSet"}, "kind"),
        ({"config": {**ROOTS, "http": {"prot": 1}}}, "prot"),
        (daemon(deployment={"replicas": 2}), "replicas"),
        ({"config": ROOTS, "dryRun": False}, "dryRun"),
        ({"config": ROOTS, "cronJob": {"schedule": "often"}}, "schedule"),
        ({"config": ROOTS, "cronJob": {"startingDeadlineSeconds": 5}}, "startingDeadlineSeconds"),
        ({"config": ROOTS, "image": {"digest": "sha256:12"}}, "digest"),
        ({"config": ROOTS, "image": {"repository": "With/Capitals"}}, "repository"),
        ({"config": ROOTS, "image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
        ({"config": ROOTS, "persistence": {"size": "much"}}, "size"),
        ({"config": ROOTS, "persistence": {"accessModes": ["ReadOnlyMany"]}}, "accessModes"),
        ({"config": ROOTS, "credentials": {"keys": {"AWS_REGION": "r"}}}, "existingSecret"),
        ({"config": ROOTS, "serviceMonitor": {"interval": "30 s"}}, "interval"),
        ({"config": ROOTS, "networkPolicy": {"egressPorts": [70000]}}, "egressPorts"),
        ({"config": ROOTS, "terminationGracePeriodSeconds": 1}, "terminationGracePeriodSeconds"),
        ({"config": ROOTS, "podLabels": {"a": 1}}, "podLabels"),
        ({"config": ROOTS, "fullnameOverride": "Not_A_Name"}, "fullnameOverride"),
        ({"discovery": {"namespaces": ["Flink_Prod"]}}, "namespaces"),
        ({"discovery": {"namespaces": "flink"}}, "namespaces"),
        ({"discovery": {"namespace": ["flink"]}}, "namespace"),
    ],
)
def test_the_schema_refuses_what_is_misspelt(helm, values, place):
    """Before anything is rendered; each line of Helm says it in words of its own."""
    done = template(helm, values)
    assert done.returncode != 0
    assert "schema" in done.stderr
    assert place in done.stderr


def test_a_claim_is_enough_of_a_state(helm4):
    """Without `state` the tombstones lie in the volume, which outlives the pod."""
    done = template(helm4, {"config": NO_STATE, "persistence": {"enabled": True}})
    [claim] = of_kind(manifests(done.stdout), "PersistentVolumeClaim")
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
