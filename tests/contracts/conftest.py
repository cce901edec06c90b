"""One suite for each port; here are the places that it runs against."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.places import (
    FILLED,
    AzurePlace,
    FolderPlace,
    GcsPlace,
    GenericPlace,
    MemoryPlace,
    S3Place,
)
from contracts.servers import azurite, radosgw
from contracts.servers.azurite import azurite_url
from contracts.servers.gcs import gcs_url, testbench_url
from contracts.servers.stub import Stub, stub_server
from support.leaks import S3_KEYS
from support.missing import give_up

__all__ = ["azurite_url", "gcs_url", "testbench_url"]

S3 = ("moto", pytest.param("radosgw", marks=pytest.mark.s3))
CLOUDS = (
    pytest.param("azurite", marks=pytest.mark.azurite),
    "gcs",
    pytest.param("testbench", marks=pytest.mark.testbench),
)
ALL = ("local", "memory", "generic", *S3, *CLOUDS)


_SETTINGS = ("AWS_", "AZURE_", "FSSPEC_", "GOOGLE_", "STORAGE_EMULATOR_")

PROMISED = ("deleter", "extras", "least_privilege", "lister")
"""Suites that run against a store's real server with README's command; the others do so in the
class ``ci``, and against moto always."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let real servers bear out the promises first."""
    for item in items:
        if not item.nodeid.startswith("tests/contracts/"):
            continue
        is_real = item.get_closest_marker("s3") or item.get_closest_marker("azurite")
        is_late = item.path.stem.removeprefix("test_") not in PROMISED
        if (is_real and is_late) or item.get_closest_marker("testbench"):
            item.add_marker(pytest.mark.ci)


@pytest.fixture(scope="session")
def radosgw_url() -> Iterator[str]:
    if (reason := radosgw.why_not()) is not None:
        give_up("s3", f"radosgw is {reason}")
    with radosgw.radosgw_server() as url:
        yield url


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path, quick_sessions) -> None:  # noqa: ARG001
    """Nothing of this machine's own settings of a cloud reaches a test."""
    for name in [name for name in os.environ if name.startswith(_SETTINGS)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-credentials"))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


def use(monkeypatch, url: str, access_key: str, secret_key: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret_key)


def reach(kind: str, request, monkeypatch) -> tuple[str, ...] | None:
    """Name a kind's server in the environment; return URL and keys, ``None`` without a server."""
    if kind == "azurite":
        url = request.getfixturevalue("azurite_url")
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string(url))
        return (url,)
    if kind in {"gcs", "testbench"}:
        url = request.getfixturevalue(f"{kind}_url")
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", url)
        return (url,)
    if kind not in {"moto", "radosgw"}:
        return None
    keys = (radosgw.ACCESS_KEY, radosgw.SECRET_KEY) if kind == "radosgw" else S3_KEYS
    server = (request.getfixturevalue(f"{kind}_url"), *keys)
    use(monkeypatch, *server)
    return server


def make_place(kind: str, folder: Path, server: tuple[str, ...] | None):
    match kind:
        case "local":
            place = FolderPlace(folder)
        case "generic":
            place = GenericPlace(folder)
        case "memory":
            place = MemoryPlace()
        case "azurite":
            place = AzurePlace(*server)
        case "gcs" | "testbench":
            place = GcsPlace(*server)
        case _:
            place = S3Place(*server)
    place.kind = kind
    return place


@pytest.fixture(params=ALL)
def place(request, monkeypatch, tmp_path):
    return make_place(request.param, tmp_path, reach(request.param, request, monkeypatch))


@pytest.fixture(params=S3)
def s3_place(request, monkeypatch, tmp_path):
    return make_place(request.param, tmp_path, reach(request.param, request, monkeypatch))


@pytest.fixture(scope="session")
def filled_places() -> dict:
    """The places that hold ``FILLED``: filled once, for tests that only read."""
    return {}


@pytest.fixture(params=ALL)
def filled_place(request, monkeypatch, filled_places, tmp_path_factory):
    """Any place with over a page of keys, and over a page of names on one level."""
    kind = request.param
    server = reach(kind, request, monkeypatch)
    if kind not in filled_places:
        filled_places[kind] = make_place(kind, tmp_path_factory.mktemp(kind), server)
        filled_places[kind].put_all(FILLED)
    return filled_places[kind]


@pytest.fixture
def local_place(tmp_path):
    return FolderPlace(tmp_path)


@pytest.fixture
def stub(monkeypatch) -> Iterator[Stub]:
    with stub_server() as server:
        use(monkeypatch, server.url, "AK", "SK")
        yield server
