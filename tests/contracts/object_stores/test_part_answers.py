"""What answers to a request for a part of an object: those bytes, all of a short one, or an error.

A proxy, a gateway or a cache may answer with another part than it was asked for: the beginning of
a ``_metadata`` would be another file's, and the rest of it would lack what it refers to.
"""

import re

import pytest

from contracts.servers.azurite import ACCOUNT, connection_string
from contracts.servers.stub import BUCKET, Answer, stub_server
from orphangc.adapters.azure import container
from orphangc.adapters.gcs import requests as gcs_requests
from orphangc.adapters.open import open_storage
from orphangc.errors import StorageUnreachableError
from support.leaks import S3_KEYS

URIS = {
    "s3": f"s3://{BUCKET}",
    "abfs": f"abfs://{BUCKET}@{ACCOUNT}.dfs.core.windows.net",
    "gs": f"gs://{BUCKET}",
}
FACTS = {"ETag": '"e"', "Last-Modified": "Fri, 02 Jan 2026 03:04:05 GMT"}


@pytest.fixture(params=URIS)
def storage(request, monkeypatch):
    """A storage of each kind, whose server answers a request for an object as a test defines."""
    none = {"initial_backoff": 0, "increment_base": 0, "random_jitter_range": 0}
    monkeypatch.setattr(container, "BACKOFF", none)
    monkeypatch.setattr(gcs_requests, "FIRST_WAIT", 0.001)
    with stub_server() as stub:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection_string(stub.url))
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", stub.url)
        monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
        for name, key in zip(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), S3_KEYS, strict=True):
            monkeypatch.setenv(name, key)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        yield open_storage(URIS[request.param]), stub


def given(storage, told: Answer):
    """Let the server answer so; skip what Azure's client refuses by itself."""
    opened, stub = storage
    if opened.location.scheme == "abfs" and not re.search(r"/\d", told.headers["Content-Range"]):
        pytest.skip("Azure states the length, and its client wants it")
    stub.answer = lambda _: told
    return opened


def part(stated: str, body: bytes, length: int | None = None) -> Answer:
    return Answer(body, 206, {"Content-Range": stated, **FACTS}, length)


ANOTHER = {
    "another place": (0, part("bytes 2-5/9", b"2345")),
    "another place, to the end": (0, part("bytes 7-8/9", b"78")),
    "less": (0, part("bytes 0-1/9", b"01")),
    "less, of an unknown length": (0, part("bytes 0-1/*", b"01")),
    "less than it states": (0, part("bytes 0-3/9", b"01")),
    "more": (0, part("bytes 0-8/9", b"012345678")),
    "no statement": (0, part("", b"01")),
    "an odd statement": (0, part("0-3", b"0123")),
    "another place of the rest": (4, part("bytes 0-3/9", b"0123")),
    "less, of no stated length": (0, part("bytes 0-3/9", b"01", -1)),
    "less of the rest": (4, part("bytes 4-5/9", b"45")),
}


@pytest.mark.parametrize("answer", ANOTHER)
def test_another_part_than_the_one_that_was_asked_for_is_an_error(storage, answer) -> None:
    """Whatever a server takes for the part, and however short."""
    start, told = ANOTHER[answer]
    opened = given(storage, told)
    with pytest.raises(StorageUnreachableError):
        opened.part("x", start=start, size=4)


WHOLE = {
    "the part": (0, part("bytes 0-3/9", b"0123"), b"0123"),
    "the part, of an unknown length": (0, part("bytes 0-3/*", b"0123"), b"0123"),
    "all": (0, part("bytes 0-1/2", b"01"), b"01"),
    "the end": (4, part("bytes 4-5/6", b"45"), b"45"),
}


@pytest.mark.parametrize("answer", WHOLE)
def test_a_part_that_ends_where_the_object_ends_is_whole(storage, answer) -> None:
    """Fewer bytes than were asked for are all there are."""
    start, told, found = WHOLE[answer]
    assert given(storage, told).part("x", start=start, size=4) == found
