"""A server of Google Cloud Storage that is the test's own; requests are repeated at once."""

from collections.abc import Iterator

import pytest

from contracts.places import GcsPlace
from contracts.servers.gcs import GcsServer, gcs_server
from orphangc.adapters.gcs import requests as gcs_requests


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[GcsServer]:
    monkeypatch.setattr(gcs_requests, "FIRST_WAIT", 0.001)
    with gcs_server() as found:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", found.url)
        yield found


@pytest.fixture
def place(server: GcsServer) -> GcsPlace:
    return GcsPlace(server.url)
