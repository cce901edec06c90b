"""The port ``HaMetadata`` over Kubernetes: the official client, real HTTP, and its failures."""

import importlib
from datetime import timedelta

import pytest
import stamina

from orphangc.adapters.flink.ha_metadata import KubernetesHa
from orphangc.adapters.kubernetes.namespace_listing import selected_namespaces
from orphangc.errors import RegistryUnavailableError, SettingsError
from support import speed
from support.kubernetes_server import CRDS, KubernetesServer, a_config_map, retained, saved, send

JOB = "5d2f1c0e9a8b7c6d5e4f3a2b1c0d9e8f"
QUICK = timedelta(seconds=speed.scaled(0.2))


@pytest.fixture
def server(tmp_path, monkeypatch):
    with KubernetesServer() as running:
        monkeypatch.setenv("KUBECONFIG", str(running.kubeconfig(tmp_path)))
        yield running


@pytest.fixture
def quick_retries():
    """Attempts follow each other at once: how long they wait is the library's."""
    with stamina.set_testing(testing=True, attempts=4, cap=True):
        yield


def observed(timeout: timedelta | None = None):
    patient = timedelta(seconds=speed.answer())
    return KubernetesHa("flink", timeout=timeout or patient).observe()


def test_a_namespace_is_read_completely(server) -> None:
    """ConfigMaps of HA and all four kinds of resources."""
    for name in (
        "ha-cluster",
        "ha-job",
        "flinkdeployment-suspended",
        "flinksessionjob-suspended",
        "flinkstatesnapshot",
        "flinkbluegreendeployment",
    ):
        server.add(saved(name))
    facts = observed()
    assert {hold.uri.rpartition("/")[2] for hold in facts.holds} == {
        "orders-cluster-config-map",
        f"orders-{JOB}-config-map",
        "orders",
        "orders-bg",
    }
    assert {hold.job_id for hold in facts.holds} == {JOB}
    assert len(facts.places) == 10
    assert (facts.uri, facts.things) == ("kubernetes:flink", 6)


def test_it_only_lists(server) -> None:
    """Read-only: seven GETs, and nothing else."""
    server.add(saved("ha-job"))
    observed()
    assert server.discovered == {"/apis/": 1, "/apis/flink.apache.org/v1beta1": 1}
    assert server.asked == {"GET configmaps": 1, **{f"GET {each}": 1 for each in CRDS}}


def test_other_config_maps_are_not_asked_for(server) -> None:
    """By label, as Flink itself finds them."""
    server.add(a_config_map(f"x-{JOB}-config-map", *retained(3), **{"configmap-type": "other"}))
    assert observed().holds == ()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_all_pages_are_read(server, count: int) -> None:
    """A part of a listing would hide jobs."""
    for number in range(count):
        server.add(a_config_map(f"orders-{number:032x}-config-map", *retained(number)))
    found = {(hold.job_id, *hold.retained_ids) for hold in observed().holds}
    assert found == {(f"{number:032x}", number) for number in range(count)}


def test_a_listing_that_expires_half_way_is_begun_again(server) -> None:
    """410: what the server still remembers of it is not one moment."""
    for number in range(6):
        server.add(a_config_map(f"orders-{number:032x}-config-map"))
    server.expires_after = 1

    listing = server._list

    def once(*args) -> None:
        listing(*args)
        if server.expires_after == 0 and "continue" in args[2]:
            server.expires_after = None

    server._list = once
    assert len(observed().holds) == 6


def test_a_listing_that_always_expires_is_no_answer(server) -> None:
    """Bounded, and an error at last."""
    for number in range(6):
        server.add(a_config_map(f"orders-{number:032x}-config-map"))
    server.expires_after = 0
    with pytest.raises(RegistryUnavailableError, match="no listing came to its end"):
        observed()
    assert server.asked["GET configmaps"] == 6


@pytest.mark.parametrize("plural", CRDS)
def test_a_kind_that_is_not_defined_has_no_resources(server, plural: str) -> None:
    """Discovery does not show it: an older operator."""
    server.add(saved("ha-job"))
    server.undefined.add(plural)
    assert len(observed().holds) == 1
    assert server.asked[f"GET {plural}"] == 0


def test_without_the_operator_there_are_no_resources(server) -> None:
    """Its group is not installed."""
    server.add(saved("ha-job"))
    del server.groups["flink.apache.org"]
    assert len(observed().holds) == 1
    assert server.asked == {"GET configmaps": 1}


@pytest.mark.parametrize("plural", CRDS)
def test_a_kind_that_is_defined_and_not_found_is_unknown(server, plural: str) -> None:
    """404 of a proxy, or of an API server that has not built its tables yet."""
    server.faults[plural] = 404
    with pytest.raises(RegistryUnavailableError, match=f"{plural}.* answered 404"):
        observed()


def test_a_kind_that_another_version_alone_serves_is_unknown(server) -> None:
    """An operator moves one kind after the other on: a suspended job's resource is not empty."""
    server.groups["flink.apache.org"] = ["v1", "v1beta1"]
    server.newer.add("flinkdeployments")
    server.add(saved("flinkdeployment-suspended"))
    with pytest.raises(RegistryUnavailableError, match=r"flinkdeployments\..* answered 404"):
        observed()


@pytest.mark.parametrize("answer", ["none", "a resource", "403"])
def test_a_kind_of_a_later_operator_is_no_empty_answer(server, answer: str) -> None:
    """One resource of it may be a job that is suspended; that there is none, only a list shows."""
    server.further = ("flinkfleets", "flinkfleets/status")
    if answer == "403":
        server.denied.add("flinkfleets")
    if answer == "a resource":
        server.add({"kind": "FlinkFleet", "metadata": {"name": "orders"}, "spec": {}})
    if answer == "none":
        assert observed().holds == ()
    else:
        with pytest.raises(RegistryUnavailableError, match="flinkfleets"):
            observed()


@pytest.mark.parametrize("code", [401, 403, 404])
def test_a_discovery_without_an_answer_leaves_everything_unknown(server, code: int) -> None:
    """Any authenticated user may ask it."""
    server.discovery = code
    with pytest.raises(RegistryUnavailableError, match=f"discovery of flink.apache.org: .*{code}"):
        observed()


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({}, "no API group at all"),
        ({"apps": ["v1"], "flink.apache.org": ["v2"]}, r"shows \['v2'\], and not v1beta1"),
    ],
)
def test_a_discovery_that_cannot_be_right_is_no_answer(server, groups, words: str) -> None:
    """No API server is without groups; and resources of another version cannot be read."""
    server.groups = groups
    with pytest.raises(RegistryUnavailableError, match=words):
        observed()


@pytest.mark.parametrize("plural", ["configmaps", *CRDS])
def test_a_listing_that_is_cut_off_is_no_answer(server, plural: str) -> None:
    """More items remain, and no token leads to them."""
    document = {"kind": "List", "metadata": {"remainingItemCount": 3}, "items": []}
    server.faults[plural] = lambda handler: send(handler, 200, document)
    with pytest.raises(RegistryUnavailableError, match=f"{plural} is cut off: 3 items remain"):
        observed()


def test_a_listing_of_namespaces_that_is_cut_off_is_no_answer(server, monkeypatch) -> None:
    """More namespaces remain, and no token leads to them."""
    item = {"metadata": {"name": "flink"}}
    document = {"kind": "List", "metadata": {"remainingItemCount": 3}, "items": [item]}
    monkeypatch.setattr(server, "_list_namespaces", lambda handler, _: send(handler, 200, document))
    with pytest.raises(RegistryUnavailableError, match="namespaces is cut off: 3 items remain"):
        selected_namespaces(None, timeout=timedelta(seconds=speed.answer()))


@pytest.mark.parametrize("plural", ["configmaps", *CRDS])
def test_what_may_not_be_listed_is_unknown(server, plural: str) -> None:
    """403 is an error: it proves no job ended."""
    server.denied.add(plural)
    with pytest.raises(RegistryUnavailableError, match=f"{plural}.* in namespace flink: .*403"):
        observed()
    assert server.asked[f"GET {plural}"] == 1  # asking again would not help


def test_config_maps_that_are_not_found_are_no_empty_answer(server) -> None:
    """Every cluster has ConfigMaps: a server that answers 404 is no API server."""
    server.undefined.add("configmaps")
    with pytest.raises(RegistryUnavailableError, match="404"):
        observed()


@pytest.mark.usefixtures("server")
def test_another_namespace_than_the_granted_one_is_unknown() -> None:
    """A role is of one namespace."""
    with pytest.raises(RegistryUnavailableError, match="403"):
        KubernetesHa("other", timeout=timedelta(seconds=speed.answer())).observe()


@pytest.mark.parametrize("code", [500, 503, 429])
@pytest.mark.usefixtures("quick_retries")
def test_a_server_that_is_ill_is_asked_again_and_then_given_up(server, code: int) -> None:
    server.faults["configmaps"] = code
    with pytest.raises(RegistryUnavailableError, match=str(code)):
        observed()
    assert server.asked["GET configmaps"] == 4


@pytest.mark.usefixtures("quick_retries")
def test_a_server_that_recovers_is_fine(server) -> None:
    """An API server that restarts."""
    server.add(saved("ha-job"))
    bad = [500, 503]

    def ill(handler) -> None:
        code = bad.pop()
        if not bad:
            del server.faults["configmaps"]
        send(handler, code, {})

    server.faults["configmaps"] = ill
    assert len(observed().holds) == 1


@pytest.mark.usefixtures("quick_retries")
def test_a_server_that_says_nothing_is_given_up_in_time(server) -> None:
    """Each attempt has its own end."""
    server.faults["configmaps"] = lambda _: server.stopped.wait(speed.patience())
    with pytest.raises(RegistryUnavailableError, match="no answer in time"):
        observed(QUICK)


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "List"},
        {"kind": "List", "metadata": {}, "items": None},
        {"kind": "List", "metadata": {}, "items": [{"metadata": {}}]},
        [],
        "text",
    ],
)
@pytest.mark.parametrize("plural", ["configmaps", "flinkdeployments"])
def test_an_answer_that_is_no_listing_is_no_empty_one(server, plural: str, document) -> None:
    """A proxy, or something else on that port."""
    server.faults[plural] = lambda handler: send(handler, 200, document)
    with pytest.raises(RegistryUnavailableError):
        observed()


@pytest.mark.parametrize("plural", ["configmaps", "flinkdeployments"])
def test_an_answer_that_is_nested_without_end_is_no_listing(server, plural: str) -> None:
    """Who may write a resource can make one that no parser reads."""

    def nested(handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.wfile.write(b"[" * 100_000)

    server.faults[plural] = nested
    with pytest.raises(RegistryUnavailableError, match="unusable answer"):
        observed()


@pytest.mark.usefixtures("quick_retries")
def test_nobody_there_is_unknown(server) -> None:
    server.stop()
    try:
        with pytest.raises(RegistryUnavailableError, match="no answer"):
            observed(QUICK)
    finally:
        server.start()


def test_no_kubeconfig_is_unknown(monkeypatch, tmp_path) -> None:
    """On a machine that has no access."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    with pytest.raises(RegistryUnavailableError, match="no usable access"):
        observed()


def test_an_error_holds_no_token(server) -> None:
    """Messages stand in plans and logs."""
    server.denied.add("configmaps")
    with pytest.raises(RegistryUnavailableError) as caught:
        observed()
    assert "a-secret-token" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_the_extra_the_operator_is_told_what_to_install(monkeypatch) -> None:
    """An option that cannot be heeded is a usage error, not an empty answer."""
    imported = importlib.import_module

    def absent(name: str, *args):
        if name.startswith("kubernetes"):
            raise ImportError(name)
        return imported(name, *args)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(SettingsError, match=r"orphangc\[kubernetes\]"):
        KubernetesHa("flink", timeout=QUICK)
