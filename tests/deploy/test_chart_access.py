"""What the pods may do in Kubernetes, and whom they may speak to: what they need, and no more."""

from datetime import timedelta
from urllib.parse import urlsplit

import pytest
import yaml

from deploy.charts import CASES, NAMESPACE, ROOTS, manifests, of_kind, rendered, template, the
from orphangc.adapters.flink.ha_metadata import KubernetesHa
from orphangc.adapters.kubernetes.namespace_listing import read_namespace, selected_namespaces
from orphangc.app.commands.discover.show_discovery import discovery_of_call
from orphangc.core.cluster.kubernetes_json import KINDS
from support import speed
from support.flink_resources import a_deployment, a_plain_deployment
from support.kubernetes_server import KubernetesServer

pytestmark = pytest.mark.ci

RBAC = {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}

ASKING = {"kubernetes", "existing", "discovery"}
"""Cases in which runs ask the API server."""
WORKLOADS = [
    {"apiGroups": ["apps"], "resources": ["deployments", "statefulsets"], "verbs": ["list"]},
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["list"]},
]

DISCOVERY = [
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]},
    {"apiGroups": ["flink.apache.org"], "resources": sorted(KINDS), "verbs": ["list"]},
]


def rules(role) -> list:
    return [{**each, "resources": sorted(each["resources"])} for each in role["rules"]]


@pytest.mark.parametrize("case", [case for case in CASES if case not in ASKING])
def test_who_needs_nothing_of_kubernetes_gets_nothing(helm4, case):
    """No Role, no binding."""
    assert not RBAC & {each["kind"] for each in rendered(helm4, case)}


def test_discovery_lists_in_the_namespaces_that_the_configuration_names(helm4):
    """A Role in each; nothing is watched, nothing read by name, nothing changed."""
    roles = [
        each
        for each in of_kind(rendered(helm4, "kubernetes"), "Role")
        if each["metadata"]["name"].endswith("-discovery")
    ]
    assert [each["metadata"]["namespace"] for each in roles] == ["flink-a", "flink-b"]
    assert all(rules(each) == DISCOVERY for each in roles)
    assert not of_kind(rendered(helm4, "kubernetes"), "ClusterRole")


def test_discovery_that_names_no_namespace_lists_in_all(helm4):
    """Only where nobody says which: the configuration lies elsewhere."""
    objects = rendered(helm4, "existing")
    assert rules(the(objects, "ClusterRole")) == DISCOVERY
    limited = rendered(helm4, "existing", "--set", "kubernetesDiscovery.watchNamespaces={flink-a}")
    assert the(limited, "Role")["metadata"]["namespace"] == "flink-a"
    assert not of_kind(limited, "ClusterRole")


def test_discovered_namespaces_are_listed_and_no_other(helm4):
    """Deployments, too: JobManagers without an operator; no Secret, no verb but ``list``."""
    roles = of_kind(rendered(helm4, "discovery"), "Role")
    assert [each["metadata"]["namespace"] for each in roles] == ["flink-a", "flink-b"]
    assert all(rules(each) == [*DISCOVERY, *WORKLOADS] for each in roles)
    assert not of_kind(rendered(helm4, "discovery"), "ClusterRole")


class RecordingServer(KubernetesServer):
    """An API server that notes what each request would need of RBAC: group, resource, verb."""

    def answer(self, handler, body) -> None:
        verbs = {"GET": "list"}
        match urlsplit(handler.path).path.strip("/").split("/"):
            case ["api", "v1", "namespaces"]:
                self.asked["", "namespaces", verbs.get(handler.command, handler.command)] += 1
            case ["api", "v1", "namespaces", _, plural, *name]:
                self.asked["", plural, "get" if name else verbs[handler.command]] += 1
            case ["apis", group, _, "namespaces", _, plural, *name]:
                self.asked[group, plural, "get" if name else verbs[handler.command]] += 1
            case ["apis", *_]:
                pass  # every account may read what the API server serves
        super().answer(handler, body)


@pytest.fixture
def recording(tmp_path, monkeypatch):
    with RecordingServer() as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
        server.operate(a_deployment())
        server.add(a_plain_deployment())
        yield server


def granted(role) -> set:
    return {
        (group, resource, verb)
        for each in role["rules"]
        for group in each["apiGroups"]
        for resource in each["resources"]
        for verb in each["verbs"]
    }


def needed(server) -> set:
    return {each for each in server.asked if isinstance(each, tuple)}


def test_a_role_grants_exactly_what_is_asked(helm4, recording):
    """What the adapters ask of the API server and what the chart grants are one set."""
    patient = timedelta(seconds=speed.answer())
    KubernetesHa("flink", timeout=patient).observe()
    role, *_ = of_kind(rendered(helm4, "kubernetes"), "Role")
    assert needed(recording) == granted(role)
    assert not read_namespace("flink", timeout=patient).problems
    role, *_ = of_kind(rendered(helm4, "discovery"), "Role")
    assert needed(recording) == granted(role)
    assert selected_namespaces("", timeout=patient) == ["flink"]
    objects = rendered(helm4, "discovery", "--set", "discovery.allNamespaces=true")
    assert needed(recording) == granted(the(objects, "ClusterRole"))


@pytest.mark.parametrize("choice", ["allNamespaces=true", "namespaceSelector=flink=yes"])
def test_namespaces_that_nobody_names_take_a_cluster_role(helm4, choice):
    """It also lists the namespaces themselves."""
    objects = rendered(helm4, "discovery", "--set", f"discovery.{choice}")
    namespaces = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list"]}
    assert rules(the(objects, "ClusterRole")) == [*DISCOVERY, *WORKLOADS, namespaces]


@pytest.mark.usefixtures("recording")
def test_one_value_is_enough_for_a_first_installation(helm4, tmp_path):
    """It reports; anything further needs a state that outlives the pod."""
    done = template(helm4, {}, "--set", "discovery.namespaces={flink}")
    assert done.returncode == 0, done.stderr
    config = yaml.safe_load(the(manifests(done.stdout), "ConfigMap")["data"]["config.yaml"])
    assert config["discovery"] == {"namespaces": ["flink"]}
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({**config, "plans": str(tmp_path / "plans")}))
    found = discovery_of_call(path, {})
    assert [each.root for each in found.configuration.storage_roots] == ["s3://prod/checkpoints"]
    assert found.configuration.mode == "report"
    further = ("--set", "discovery.namespaces={flink}", "--set", "config.mode=quarantine")
    assert "would die with the pod" in template(helm4, {}, *further).stderr


def test_every_binding_is_of_the_pods_own_account(helm4):
    """In the namespace where the pods are, whatever the namespace of the Role."""
    for case in ("kubernetes", "existing", "discovery"):
        objects = rendered(helm4, case)
        roles = {
            (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])
            for each in objects
        }
        bindings = of_kind(objects, "RoleBinding") + of_kind(objects, "ClusterRoleBinding")
        assert bindings
        for binding in bindings:
            accounts = {"kubernetes": "gc", "existing": "of-ours"}
            account = accounts.get(case, "nightly-orphangc")
            [subject] = binding["subjects"]
            expected = {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}
            assert subject == expected
            place = binding["metadata"].get("namespace")
            assert (binding["roleRef"]["kind"], place, binding["roleRef"]["name"]) in roles


def test_roles_can_be_left_to_somebody_else(helm4):
    """Who may not make Roles asks for them."""
    objects = rendered(helm4, "kubernetes", "--set", "rbac.create=false")
    assert not RBAC & {each["kind"] for each in objects}


def test_an_account_carries_the_identity_that_the_cloud_knows(helm4):
    """And Azure's pods the label that its webhook looks for."""
    account = the(rendered(helm4, "kubernetes"), "ServiceAccount")
    assert "eks.amazonaws.com/role-arn" in account["metadata"]["annotations"]
    [pod] = of_kind(rendered(helm4, "everything"), "Pod")
    assert pod["metadata"]["labels"]["azure.workload.identity/use"] == "true"


def test_a_cronjobs_pods_are_reached_by_nobody(helm4):
    """They listen at no port."""
    policy = the(rendered(helm4, "everything"), "NetworkPolicy")["spec"]
    assert policy["ingress"] == []
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    ports = {port["port"] for rule in policy["egress"] for port in rule["ports"]}
    assert ports == {53, 443, 6443, 8081, 9091}


def test_a_daemon_is_reached_at_its_port_by_who_scrapes_it(helm4):
    """And by the release's own test."""
    [rule] = the(rendered(helm4, "daemon"), "NetworkPolicy")["spec"]["ingress"]
    assert rule["ports"] == [{"port": "http", "protocol": "TCP"}]
    scraper, own = rule["from"]
    assert "namespaceSelector" in scraper
    assert own["podSelector"]["matchLabels"]["app.kubernetes.io/instance"] == "nightly"


def test_ports_of_the_world_outside_can_be_chosen(helm4):
    """A list of values replaces the whole default."""
    values = {"config": ROOTS, "networkPolicy": {"enabled": True, "egressPorts": [9000]}}
    policy = the(rendered(helm4, values), "NetworkPolicy")["spec"]
    assert [port["port"] for rule in policy["egress"] for port in rule["ports"]] == [53, 53, 9000]


@pytest.mark.parametrize(
    ("values", "ports"),
    [
        ({}, []),
        ({"flink_rest": ["http://jobmanager:9081", "https://gc:pa@ss@fraud"]}, [9081, 443]),
        ({"flink_rest": ["http://ingress.example.org/orders"]}, [80]),
        ({"zookeeper_ha": ["zk-0:2182,zk-1:2182/flink", "zk/flink"]}, [2182, 2181]),
    ],
)
def test_pods_reach_the_ports_that_the_configuration_names(helm4, values, ports):
    """A cluster that the policy cuts off would block, and no message could say why."""
    [root] = ROOTS["storage_roots"]
    config = {"storage_roots": [{**root, **values}]}
    policy = {"enabled": True, "egressPorts": []}
    objects = rendered(helm4, {"config": config, "networkPolicy": policy})
    rules = the(objects, "NetworkPolicy")["spec"]["egress"]
    assert [port["port"] for rule in rules for port in rule["ports"]] == [53, 53, *ports]


def test_a_store_and_what_discovery_finds_are_reached(helm4):
    """The endpoint that the pods are given, and the usual ports of REST and ZooKeeper."""
    values = {
        "discovery": {"namespaces": ["flink"]},
        "config": {"discovery": {"rest": "https://{name}.example.org:8443"}},
        "extraEnv": [
            {"name": "AWS_ENDPOINT_URL", "value": "http://minio.{{ .Release.Name }}:9000"}
        ],
        "networkPolicy": {"enabled": True, "egressPorts": [6443]},
    }
    rules = the(rendered(helm4, values), "NetworkPolicy")["spec"]["egress"]
    found = {port["port"] for rule in rules for port in rule["ports"]}
    assert found == {53, 6443, 8081, 2181, 8443, 9000}
