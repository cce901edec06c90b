"""Where Spark cannot run, its tests are skipped with the reason, or fail if it was asked for."""

import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from cli.helpers import run
from contracts.servers.moto import moto_server
from integration.harness.sparkbed import modes, places, pythons
from integration.harness.sparkbed.places import Place, Planned
from support.leaks import S3_KEYS
from support.missing import give_up

FIXTURES = ("1.15.4/changelog", "2.3.0/restore-claim")
IN_A_FOLDER = "odd names in a folder"
IN_S3 = "odd names in S3"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/integration/spark/"):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session", autouse=True)
def spark() -> None:
    """Make sure that Spark can run."""
    reason = pythons.why_not()
    if reason is not None:
        give_up("spark", reason)


@pytest.fixture(autouse=True)
def own_surroundings() -> None:
    """Leave the environment alone: one S3 server is in it for the whole session."""


@pytest.fixture(scope="session")
def s3_url() -> Iterator[str]:
    """An S3 server, named in the environment of everything that starts later."""
    with moto_server() as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", url)
        patch.setenv("AWS_ACCESS_KEY_ID", S3_KEYS[0])
        patch.setenv("AWS_SECRET_ACCESS_KEY", S3_KEYS[1])
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        yield url


@pytest.fixture(scope="session")
def made(s3_url, tmp_path_factory) -> Callable[[str], tuple[Place, Planned]]:
    """Makes a storage by its name, once, and what the local engine says of it."""

    @cache
    def make(name: str) -> tuple[Place, Planned]:
        folder = tmp_path_factory.mktemp("place")
        place = made_place(name, folder, s3_url)
        return place, places.plan(run, place, folder / "local", "--engine", "local")

    return make


def made_place(name: str, folder: Path, s3_url: str) -> Place:
    """Return a storage that real Flink left, or one with odd names, which has tombstones."""
    if name in FIXTURES:
        place = places.fixture(name, folder / "fixture")
    elif name == IN_S3:
        place = places.odd_bucket(s3_url, S3_KEYS, seed=11)
    else:
        place = places.odd_folder(folder / "odd", seed=7)
    places.plan(run, place, folder / "first")  # both engines find the memory that it leaves
    if name not in FIXTURES:
        assert run("sweep", folder / "first").code == 0
        time.sleep(1.1)  # S3 has whole seconds: a plan within this one finds no quarantine over
    return place


@pytest.fixture
def place_and_plan(request, made) -> tuple[Place, Planned]:
    """A storage, and what the local engine says of it."""
    return made(request.param)


@pytest.fixture(
    scope="session",
    params=["local", *(pytest.param(each, marks=pytest.mark.ci) for each in modes.ELSEWHERE)],
)
def spark_mode(request, s3_url, tmp_path_factory) -> Iterator[modes.Runner]:  # noqa: ARG001 - see below
    """What runs a command with Spark; the storages are there, and S3 is in the environment."""
    folder = tmp_path_factory.mktemp(request.param)
    with modes.running(request.param, folder) as runner:
        yield runner
