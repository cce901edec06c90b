"""Azure Blob Storage on loopback: Microsoft's Azurite, an npm package (``deploy/tools.py``).

Starts in about two seconds. It knows neither versions nor soft delete, and takes any batch.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from contracts.servers.processes import await_http, start
from deploy import tools
from support.leaks import AZURE_KEY
from support.missing import give_up
from support.ports import free_port

ACCOUNT = "orphangctests"

_PROGRAM = tools.azurite_if_fetched()  # before a test has a home of its own


def why_not() -> str | None:
    """Return why no Azurite can be started here, ``None`` if it can."""
    if _PROGRAM is None:
        return "not fetched: PYTHONPATH=tests python -m support.fetching"
    return None


def connection_string(url: str) -> str:
    """Return how an operator names the account of a server."""
    return (
        f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={AZURE_KEY};"
        f"BlobEndpoint={url}/{ACCOUNT};"
    )


@contextmanager
def azurite_server() -> Iterator[str]:
    """Yield the URL of a server that lives as long as the block, and keeps nothing."""
    port = free_port()
    with ExitStack() as stack:
        listen = ("--blobHost", "127.0.0.1", "--blobPort", port)
        keep = ("--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent")
        accounts = {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{AZURE_KEY}"}
        child = start(stack, "node", _PROGRAM, *listen, *keep, env={**os.environ, **accounts})
        url = f"http://127.0.0.1:{port}"
        await_http(url, child)
        yield url


@pytest.fixture(scope="session")
def azurite_url() -> Iterator[str]:
    if (reason := why_not()) is not None:
        give_up("azurite", reason)
    with azurite_server() as url:
        yield url
