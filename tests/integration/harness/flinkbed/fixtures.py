"""The cluster as a pytest fixture; without Java or jars its tests are skipped, with the reason."""

import os
from collections.abc import Iterator

import pytest

from integration.harness.flinkbed.cluster import Cluster
from integration.harness.flinkbed.distribution import java_tool, job_jar
from integration.harness.flinkbed.settings import as_numbers
from integration.harness.flinkbed.waiting import ResourceMissingError
from support.missing import give_up

VERSIONS = os.environ.get("ORPHANGC_FLINK_VERSIONS", "1.20.5,2.3.0").split(",")
NEWEST = max(VERSIONS, key=as_numbers)
EVERY = [
    pytest.param(version, marks=() if version == NEWEST else pytest.mark.nightly)
    for version in VERSIONS
]
"""The newest Flink wherever tests run; each other one by night."""

NIGHTLY = [pytest.param(version, marks=pytest.mark.nightly) for version in VERSIONS]
"""Each version, by night only."""


def require_flink(version: str) -> None:
    """Skip the test, or fail it if ORPHANGC_REQUIRE names flink, where Flink cannot be had."""
    try:
        java_tool("java")
        job_jar(version)
    except ResourceMissingError as err:
        give_up("flink", f"{version}: {err}")


@pytest.fixture(scope="session", params=EVERY)
def started_flink_cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A running cluster of each version, one for all modules."""
    require_flink(request.param)
    with Cluster(request.param, tmp_path_factory.mktemp(f"flink-{request.param}-")) as cluster:
        yield cluster


@pytest.fixture
def flink_cluster(started_flink_cluster: Cluster) -> Iterator[Cluster]:
    """The session's cluster; whatever the test left running or broken is put right afterwards."""
    yield started_flink_cluster
    started_flink_cluster.tidy()
