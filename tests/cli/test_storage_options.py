"""``storage_options`` of the configuration open a bucket that the environment does not know."""

import json
from pathlib import Path

import pytest
import yaml

from cli.helpers import run
from cli.stories_on_s3 import S3Story
from orphangc.adapters import storage_options
from support.leaks import S3_KEYS


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
    assert "no_such_option" in ran.err
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
