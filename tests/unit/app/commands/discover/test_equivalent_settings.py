"""The configuration by hand: the loader takes it, and its world is the discovered one."""

from pathlib import Path
from typing import Any

import pytest
import stamina
import yaml

from flinkstate.places.locations import canonical
from orphangc.app.commands.discover.show_discovery import (
    discovery_of_call,
    discovery_tables,
    yaml_of,
)
from orphangc.app.config.load import IMPLIED, load_configuration
from orphangc.app.wiring.discovering import Discovered, load_and_discover
from support.flink_resources import (
    a_blue_green,
    a_deployment,
    a_session_job,
    a_snapshot_resource,
    a_status,
)
from support.kubernetes_server import KubernetesServer
from unit.app.render.printed import printed

SESSION = [
    a_deployment(
        "session",
        {
            "execution.checkpointing.dir": "s3://prod/ck",
            "execution.checkpointing.savepoint-dir": "s3://prod/sp",
            "high-availability.type": "kubernetes",
            "high-availability.storageDir": "s3://prod/ha",
        },
        status={**a_status(""), "jobStatus": {}},
    ),
    a_session_job("report", "session"),
    a_snapshot_resource(),
]
UNCLEAR = [a_deployment(), a_deployment("team", {"state.checkpoints.dir": "s3://prod/${TEAM}/ck"})]
RICH = [
    a_deployment(
        "rich",
        {
            "state.checkpoints.dir": "s3://rich/ck",
            "state.savepoints.dir": "s3://rich/sp",
            "high-availability": "zookeeper",
            "high-availability.zookeeper.quorum": "zk-0:2181,zk-1:2181",
            "high-availability.storageDir": "s3://rich/ha",
            "dstl.dfs.base-path": "s3://rich/dstl",
            "security.ssl.rest.enabled": "true",
            "rest.port": "8443",
        },
        status=a_status("c" * 32, job={"upgradeSavepointPath": "s3://rich/old/savepoint-7"}),
    ),
    a_blue_green(),
]
WORLDS = {"one": [a_deployment()], "session": SESSION, "rich": RICH}


def found_in(server: KubernetesServer, documents: list[dict[str, Any]], **given: Any) -> Discovered:
    """Return what is discovered of documents on an API server."""
    for each in documents:
        (server.operate if each["kind"].startswith("Flink") else server.add)(each)
    return discovery_of_call(None, {"namespaces": ["flink"], **given})


def loaded(text: str, folder: Path) -> dict[str, Any]:
    """Return the storage roots of a configuration's text, by their URIs."""
    path = folder / "by-hand.yaml"
    path.write_text(text)
    return {each.root: each for each in load_configuration(path).storage_roots}


def searched(root: Any) -> set[str]:
    """Return every place that a storage root searches besides itself."""
    return {str(canonical(each)) for each in (*root.extra_roots, *root.siblings)}


@pytest.mark.parametrize("name", WORLDS)
def test_the_printed_configuration_gives_the_same_world(kubernetes, tmp_path, name) -> None:
    """Settings, places, clusters, HA and pins of each storage root."""
    given = {"closed_world": True, "defaults": {"grace_period": "5d", "max_delete_share": 0.2}}
    found = found_in(kubernetes, WORLDS[name], **given)
    assert found.world.unclear == ()
    again = loaded(yaml_of(found), tmp_path)
    assert set(again) == set(found.world.known_roots)
    for root in found.configuration.storage_roots:
        hand = again[root.root]
        assert searched(hand) == searched(root)
        left_out = {*IMPLIED, "extra_roots", "empty_roots"}
        assert {*hand.empty_roots} == {*root.empty_roots, *root.without_checkpoints}
        assert hand.model_dump(exclude=left_out) == root.model_dump(exclude=left_out)
    assert "&id" not in yaml_of(found)


def test_what_is_not_understood_takes_the_closed_world_away(kubernetes, tmp_path) -> None:
    """A file written by hand cannot say what that part blocks, so it may not state that all is
    searched; a comment names the part.
    """
    found = found_in(kubernetes, UNCLEAR, closed_world=True)
    assert all(each.closed_world and each.unclear for each in found.configuration.storage_roots)
    text = yaml_of(found)
    assert not any(each.closed_world for each in loaded(text, tmp_path).values())
    assert "# NOT EQUIVALENT" in text
    assert "# - FlinkDeployment/flink/team spec.flinkConfiguration.state.checkpoints.dir" in text
    kubernetes.objects["flinkdeployments"].pop("team")
    stated = found_in(kubernetes, [], closed_world=True)
    assert yaml.safe_load(yaml_of(stated))["storage_roots"][0]["closed_world"] is True
    assert "NOT EQUIVALENT" not in yaml_of(stated)


def test_credentials_stay_where_they_are(tmp_path, monkeypatch) -> None:
    """Neither settings nor comments have them; a comment says so."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    file = tmp_path / "config.yaml"
    file.write_text("execution.checkpointing.dir: s3://prod/ck")
    address = "http://gc:hunter2@127.0.0.1:1"
    with stamina.set_testing(testing=True, attempts=1):
        found = discovery_of_call(None, {"files": [file], "flink_rest": [address]})
    text = yaml_of(found)
    assert "hunter2" not in text
    assert "# Credentials of REST addresses are left out." in text
    assert loaded(text, tmp_path)["s3://prod/ck"].flink_rest == ("http://127.0.0.1:1",)


def shown_of(found: Discovered, width: int = 400) -> str:
    return printed(discovery_tables(found), width)


def test_a_part_that_is_not_understood_comes_first_with_what_lifts_it(kubernetes) -> None:
    """Where, what, what follows, and the one statement that lifts it."""
    found = found_in(kubernetes, UNCLEAR)
    (part,) = found.world.unclear
    command = f"--config FILE discovery_unclear '{part.what}'"
    lines = [each.strip() for each in shown_of(found).splitlines()]
    assert lines[0].endswith("1 part not understood, which blocks deletion")
    first = "FlinkDeployment/flink/team spec.flinkConfiguration.state.checkpoints.dir"
    assert lines[1].startswith(f"▲ blocks everything: {first}: dir 's3://prod/")
    assert "discovery.alias" in lines[1]
    assert lines[1].endswith(f"run: orphangc world acknowledge {command}")


def test_a_table_has_no_empty_column_and_no_folded_job_id(kubernetes) -> None:
    """Of jobs without a name and without a successor."""
    found = found_in(kubernetes, SESSION)
    shown = shown_of(found, 100)
    assert found.discovery.resources[1].jobs[0].job_id in shown
    assert "followed by" not in shown


def test_what_only_an_earlier_cycle_saw_is_shown_so(kubernetes, tmp_path) -> None:
    config = tmp_path / "orphangc.yaml"
    config.write_text(
        f"discovery: {{namespaces: [flink], state: {tmp_path / 'state'}}}\nplans: {tmp_path}/plans"
    )
    kubernetes.operate(a_deployment("gone", {"state.checkpoints.dir": "s3://old/ck"}))
    load_and_discover(config, is_remembered=True)
    kubernetes.objects["flinkdeployments"].clear()
    kubernetes.operate(a_deployment())
    rows = [
        each for each in shown_of(discovery_of_call(config, {})).splitlines() if "s3://" in each
    ]
    assert any("s3://old/ck" in each and "earlier" in each for each in rows)
    assert any("s3://prod/checkpoints" in each and "now" in each for each in rows)


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda _: None, "not of the operator's"),
        (lambda s: s.denied.add("flinkdeployments"), "let this account list it"),
        (lambda s: setattr(s, "namespace", "other"), "correct the namespace"),
    ],
)
def test_a_mistake_of_the_first_day_is_named_with_what_lifts_it(kubernetes, prepare, said) -> None:
    """An empty or mistyped namespace, no operator, a missing right."""
    prepare(kubernetes)
    (part,) = found_in(kubernetes, []).discovery.unclear
    assert str(part.origin) == "Namespace/flink"
    assert said in part.why
