"""``storage_options`` of the configuration open a bucket that the environment does not know."""

import json
from pathlib import Path

import fsspec.config
import pytest
import yaml

from cli.helpers import metadata, run
from cli.stories_on_s3 import S3Story, use_s3
from contracts.servers.moto import moto_server
from orphangc.adapters import storage_options
from safety.incidents.test_absent_places import naming
from support.leaks import S3_KEYS
from support.rest_server import RestServer

MARGINS = {
    **dict.fromkeys(("grace_period", "clock_skew", "quiet_period", "quarantine_period"), "0"),
    "allow_short_margins": True,
}


@pytest.fixture
def unknown(on_s3: S3Story, monkeypatch) -> S3Story:
    """Return the story, with nothing about the server in the environment."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(storage_options, "_stated", {})
    return on_s3


def configured(story: S3Story, tmp_path: Path, url: str | None = None, **more: object) -> Path:
    options = {"endpoint_url": url, "key": S3_KEYS[0], "secret": S3_KEYS[1], **more}
    root = {
        "root": story.root,
        "state": f"s3://{story.bucket}/state",
        "ended_job": ["all"],
        "closed_world": True,
        "storage_options": options,
    }
    config = tmp_path / "orphangc.yaml"
    config.write_text(yaml.safe_dump({"plans": str(tmp_path / "plans"), "storage_roots": [root]}))
    return config


def test_a_run_reads_and_writes_a_bucket_by_its_options(
    unknown: S3Story, s3_server: str, tmp_path: Path
) -> None:
    """The storage root and the state location are in it; no record holds the secret."""
    ran = run("run", "--config", configured(unknown, tmp_path, s3_server), "--output", "json")
    assert ran.code == 0, ran.err
    keys = {row["Key"] for row in unknown.client.list_objects_v2(Bucket=unknown.bucket)["Contents"]}
    states = [key for key in keys if key.startswith("state/")]
    assert states
    for key in states:
        data = unknown.client.get_object(Bucket=unknown.bucket, Key=key)["Body"].read()
        assert S3_KEYS[1].encode() not in data
    assert S3_KEYS[1] not in ran.out + ran.err
    assert all(S3_KEYS[1] not in p.read_text() for p in tmp_path.rglob("plan.json"))


def test_a_wrong_option_is_a_mistake_in_the_settings(
    unknown: S3Story, s3_server: str, tmp_path: Path
) -> None:
    """No traceback, and the secret beside it stays unsaid."""
    config = configured(unknown, tmp_path, s3_server, no_such_option=1)
    ran = run("run", "--config", config)
    assert ran.code == 2, ran.err
    assert "storage_options: s3fs has no option no_such_option" in ran.err
    assert S3_KEYS[1] not in ran.err


def test_doctor_shows_no_value_of_an_option(
    unknown: S3Story, s3_server: str, tmp_path: Path
) -> None:
    config = configured(unknown, tmp_path, s3_server)
    ran = run("doctor", "--config", config, "--output", "json")
    found = {each["check"]: each["health"] for each in json.loads(ran.out)}
    assert found["list"] == found["read"] == "good"
    assert S3_KEYS[1] not in ran.out + ran.err


@pytest.mark.parametrize("option", ["endpoint_url", "client_kwargs"])
def test_the_store_of_a_bucket_is_the_one_that_its_options_lead_to(
    unknown: S3Story, s3_server: str, tmp_path: Path, option: str
) -> None:
    """Not the environment's: a bucket of AWS's counted as searched by one of its name elsewhere."""
    stated = s3_server if option == "endpoint_url" else {"endpoint_url": s3_server}
    config = configured(unknown, tmp_path, **{option: stated})
    content, flinks = yaml.safe_load(config.read_text()), tmp_path / "flink-conf.yaml"
    content["discovery"] = {"files": [str(flinks)], "state": str(tmp_path / "state")}
    config.write_text(yaml.safe_dump(content))
    for endpoint, said in ((s3_server, []), ("https://s3.eu-west-1.amazonaws.com", ["S3 store"])):
        flinks.write_text(f"state.checkpoints.dir: {unknown.root}\ns3.endpoint: {endpoint}\n")
        ran = run("discover", "--config", config, "--output", "json")
        unclear = [each["why"] for each in ran.json["not_understood"]]
        assert len(unclear) == len(said), unclear
        assert all(word in why for word, why in zip(said, unclear, strict=True))


@pytest.mark.parametrize("names", ["the environment", "fsspec", "a profile"])
def test_the_store_of_a_bucket_is_the_one_that_the_client_reaches(
    tmp_path: Path, monkeypatch, names: str
) -> None:
    """Whatever names it: a bucket of AWS's counted as searched by one of its name elsewhere."""
    monkeypatch.setattr(storage_options, "_stated", {})
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    profile = tmp_path / "config"
    profile.write_text("[default]\nendpoint_url = http://minio:9000\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(profile if names == "a profile" else tmp_path))
    if names == "the environment":
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://MinIO:9000")
    if names == "fsspec":  # what FSSPEC_S3_ENDPOINT_URL says to a new process
        monkeypatch.setitem(fsspec.config.conf, "s3", {"endpoint_url": "http://MinIO:9000"})
    flinks = tmp_path / "config.yaml"
    for endpoint, unclear in (("minio:9000", 0), ("https://s3.eu-west-1.amazonaws.com", 1)):
        flinks.write_text(f"state.checkpoints.dir: s3://bucket/ck\ns3.endpoint: {endpoint}\n")
        shown = run("discover", "--file", flinks, "--output", "json").json
        assert len(shown["not_understood"]) == unclear


@pytest.mark.parametrize("named_by", ["a cluster", "the settings"])
def test_a_bucket_that_the_environment_finds_in_another_store_is_not_searched(
    unknown: S3Story, s3_server: str, monkeypatch, named_by: str
) -> None:
    """The storage was moved, with the names of its buckets: the old one still has savepoints."""
    bucket, live = f"{unknown.bucket}-savepoints", min(unknown.orphans)
    path = f"s3a://{unknown.bucket}/checkpoints/{live}"
    unknown.client.create_bucket(Bucket=bucket)
    with moto_server() as old:
        earlier = use_s3(monkeypatch, old)
        earlier.create_bucket(Bucket=bucket)
        for client, data in ((earlier, metadata(3, [])), (unknown.client, metadata(9, [path]))):
            client.put_object(Bucket=bucket, Key="sp/savepoint-1/_metadata", Body=data)
        named = {"state.savepoints.dir": f"s3://{bucket}/sp"} if named_by == "a cluster" else {}
        with RestServer(naming(*named.items())) as server:
            config = configured(unknown, unknown.folder, s3_server)
            content = yaml.safe_load(config.read_text())
            extra = {} if named else {"extra_root": [f"s3://{bucket}/sp"]}
            content["storage_roots"][0] |= {"flink_rest": [server.url], **MARGINS, **extra}
            config.write_text(yaml.safe_dump({**content, "mode": "delete"}))
            ran = [run("run", "--config", config) for _ in range(3)][-1]
            assert live in unknown.contents()
            assert ran.code == (4 if named else 10), ran.err
            assert "let the environment name the same store" in ran.err
            monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server)
            for _ in range(10):  # S3 shows whole seconds
                assert run("run", "--config", config).code == 0
                if (left := unknown.orphans & {*unknown.contents()}) == {live}:
                    break
    assert left == {live}
