"""Opens a container: account and credentials as adlfs finds them."""

from __future__ import annotations

import re
from typing import Any

import requests
from adlfs import AzureBlobFileSystem
from azure.core.pipeline.transport import RequestsTransport
from azure.storage.blob import BlobServiceClient, ContainerClient, ExponentialRetry
from requests.adapters import HTTPAdapter

from flinkstate.places.locations import Location
from orphangc.adapters.files.translate import one_line
from orphangc.adapters.storage_options import storage_options
from orphangc.errors import SettingsError

_ACCOUNT = re.compile(
    r"(?P<container>[^@]+)@(?P<account>[^.]+)(?P<zone>(\.z\d+)?)\.dfs\.(?P<cloud>.+)"
)
_PUBLIC_CLOUD = "core.windows.net"
_ATTEMPTS = 5
BACKOFF: dict[str, Any] = {"initial_backoff": 1, "increment_base": 2, "random_jitter_range": 1}
"""Seconds before a request is repeated: 1, 3, 5, 9."""
_CONNECTIONS = 64


def open_service(
    location: Location, *, attempts: int = _ATTEMPTS
) -> tuple[BlobServiceClient, ContainerClient]:
    """Return the clients of the account and the container that a location names.

    adlfs reads ``storage_options``, ``AZURE_STORAGE_*`` and fsspec's own settings: a connection
    string, a key, a SAS token, a service principal; without any of them, Azure's default
    credentials are taken (workload identity, managed identity, the command line's login).

    Raises:
        SettingsError: There are no credentials, or they are another account's.
    """
    named = _ACCOUNT.fullmatch(location.authority)
    container = named["container"] if named else location.authority
    options: dict[str, Any] = {"use_listings_cache": False, "skip_instance_cache": True}
    if named:
        options["account_name"] = named["account"]
        if named["cloud"] != _PUBLIC_CLOUD:
            host = f"{named['account']}{named['zone']}"
            options["account_host"] = f"{host}.blob.{named['cloud']}"
    try:
        file_system = AzureBlobFileSystem(**{**options, **storage_options(location)})
        service = _service(file_system, attempts)
    except (ValueError, TypeError) as err:
        raise SettingsError(one_line(f"cannot open {location}: {err}")) from err
    if named and service.account_name not in {named["account"], None}:  # a host of their own
        raise SettingsError(
            f"{location} is in account {named['account']}, but the credentials are those of"
            f" account {service.account_name}"
        )
    return service, service.get_container_client(container)


def _service(found: AzureBlobFileSystem, attempts: int) -> BlobServiceClient:
    """Return a client with the credentials that adlfs has found."""
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(pool_maxsize=_CONNECTIONS))
    settings: dict[str, Any] = {
        "retry_policy": ExponentialRetry(**BACKOFF, retry_total=attempts - 1),
        "connection_timeout": 5,
        "read_timeout": 60,
        "max_single_put_size": 1 << 30,
        "transport": RequestsTransport(session=session),
    }
    if found.connection_string is not None:
        return BlobServiceClient.from_connection_string(found.connection_string, **settings)
    credential = found.sync_credential or found.account_key or found.sas_token
    return BlobServiceClient(found.account_url, credential=credential, **settings)
