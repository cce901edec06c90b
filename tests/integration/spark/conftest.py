"""Where Spark cannot run, its tests are skipped with the reason, or fail if it was asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands.helpers import run
from commands.surroundings import own_surroundings
from contracts.servers.moto import moto_server
from integration.sparkbed import modes, places, pythons
from integration.sparkbed.places import Place, Planned
from leaks import S3_KEYS

__all__ = ["own_surroundings"]

FIXTURES = ("1.15.4/changelog", "2.3.0/restore-claim")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session", autouse=True)
def spark() -> None:
    """Make sure that Spark can run."""
    reason = pythons.why_not()
    if reason is not None and "spark" in os.environ.get("ORPHANGC_REQUIRE", ""):
        pytest.fail(f"ORPHANGC_REQUIRE asks for Spark: {reason}", pytrace=False)
    if reason is not None:
        pytest.skip(f"no Spark: {reason}")


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
def all_places(s3_url, tmp_path_factory) -> dict[str, Place]:
    """Storages by name; those with odd names have tombstones already."""
    folder = tmp_path_factory.mktemp("places")
    found = [places.fixture(name, folder / name.replace("/", "-")) for name in FIXTURES]
    odd = [
        places.odd_folder(folder / "odd", seed=7),
        places.odd_bucket(s3_url, S3_KEYS, seed=11),
    ]
    for number, place in enumerate(odd):
        out = folder / f"first-{number}"
        places.plan(run, place, out)
        assert run("sweep", out).code == 0
    return {place.name: place for place in (*found, *odd)}


@pytest.fixture(scope="session")
def local_plans(all_places, tmp_path_factory) -> dict[str, Planned]:
    """What the local engine says of each."""
    folder = tmp_path_factory.mktemp("local")
    return {
        name: places.plan(run, place, folder / str(number), "--engine", "local")
        for number, (name, place) in enumerate(all_places.items())
    }


@pytest.fixture(params=(*FIXTURES, "odd names in a folder", "odd names in S3"))
def place_and_plan(request, all_places, local_plans) -> tuple[Place, Planned]:
    """A storage, and what the local engine says of it."""
    return all_places[request.param], local_plans[request.param]


@pytest.fixture(scope="session", params=modes.MODES)
def spark_mode(request, s3_url, tmp_path_factory) -> Iterator[modes.Runner]:  # noqa: ARG001 - see below
    """What runs a command with Spark; the storages are there, and S3 is in the environment."""
    folder = tmp_path_factory.mktemp(request.param)
    with modes.running(request.param, folder) as runner:
        yield runner
