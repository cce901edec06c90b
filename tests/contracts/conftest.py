"""One suite for each port; here are the places that it runs against."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from contracts.places import FolderPlace, GenericPlace, MemoryPlace, S3Place
from contracts.servers import radosgw
from contracts.servers.moto import moto_server
from contracts.servers.stub import Stub, stub_server

S3 = ("moto", pytest.param("radosgw", marks=pytest.mark.s3))
ALL = ("local", "memory", "generic", *S3)


@pytest.fixture(scope="session")
def moto_url() -> Iterator[str]:
    with moto_server() as url:
        yield url


@pytest.fixture(scope="session")
def radosgw_url() -> Iterator[str]:
    if (reason := radosgw.why_not()) is not None:
        if "s3" in os.environ.get("ORPHANGC_REQUIRE", ""):
            pytest.fail(f"ORPHANGC_REQUIRE asks for a real S3 server, but radosgw is {reason}")
        pytest.skip(f"radosgw is {reason}")
    with radosgw.radosgw_server() as url:
        yield url


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path) -> None:
    """Nothing of this machine's own AWS settings reaches a test."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "FSSPEC_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-credentials"))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


def use(monkeypatch, url: str, access_key: str, secret_key: str) -> None:
    """Name an endpoint and keys in the environment, as an operator does."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret_key)


def make_place(kind: str, request, monkeypatch):
    """Return a new empty place of a kind, reachable through the environment."""
    match kind:
        case "local":
            return FolderPlace(request.getfixturevalue("tmp_path"))
        case "generic":
            return GenericPlace(request.getfixturevalue("tmp_path"))
        case "memory":
            return MemoryPlace()
        case "moto":
            keys = ("AK", "SK")
        case _:
            keys = (radosgw.ACCESS_KEY, radosgw.SECRET_KEY)
    url = request.getfixturevalue(f"{kind}_url")
    use(monkeypatch, url, *keys)
    return S3Place(url, *keys)


@pytest.fixture(params=ALL)
def place(request, monkeypatch):
    """Any place."""
    return make_place(request.param, request, monkeypatch)


@pytest.fixture(params=S3)
def s3_place(request, monkeypatch):
    """A place in S3."""
    return make_place(request.param, request, monkeypatch)


@pytest.fixture
def local_place(tmp_path):
    return FolderPlace(tmp_path)


@pytest.fixture
def stub(monkeypatch) -> Iterator[Stub]:
    with stub_server() as server:
        use(monkeypatch, server.url, "AK", "SK")
        yield server
