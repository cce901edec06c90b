"""HEAD requests that do without botocore: addressed and signed as its own, for any key."""

import socket
from typing import Any
from urllib.parse import unquote

import pytest

from contracts.servers.stub import BUCKET, Answer, error, page
from flinkstate.places.locations import canonical
from orphangc.adapters import storage_options
from orphangc.adapters.open import open_storage
from orphangc.core.model.types import ObjectKey
from orphangc.errors import StorageUnreachableError

FACTS = {"ETag": '"e"', "Last-Modified": "Sat, 21 Nov 2026 14:00:00 GMT"}
KEYS = [
    "plain",
    "a b",
    "per%41cent",
    "plus+",
    "q?mark",
    "hash#",
    "\u00fc/\u65e5\u672c",
    "a//b",
    "x;y=z&",
]


def header(request: Any, name: str) -> str | None:
    return next((v for n, v in request.headers.items() if n.lower() == name.lower()), None)


def is_own(request: Any) -> bool:
    """Return whether a request was sent without botocore, which numbers its attempts."""
    return header(request, "amz-sdk-invocation-id") is None


def there(request: Any) -> Answer:
    return Answer("", headers=FACTS, length=7) if request.method == "HEAD" else page([])


def heads(stub: Any) -> list[Any]:
    return [each for each in stub.requests if each.method == "HEAD"]


@pytest.mark.parametrize("root", ["", "/cp"])
@pytest.mark.parametrize("style", ["path", "virtual"])
def test_only_the_first_goes_through_botocore(stub, monkeypatch, style: str, root: str) -> None:
    """Bucket in the path or in the host; every byte of a key is named."""
    resolve = socket.getaddrinfo

    def resolved(host: Any, *more: Any, **named: Any) -> Any:
        return resolve("127.0.0.1" if "s3.test" in str(host) else host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    port = stub.url.rpartition(":")[2]
    options = {
        "endpoint_url": f"http://s3.test:{port}",
        "config_kwargs": {"s3": {"addressing_style": style}},
    }
    top = canonical(f"s3://{BUCKET}")
    monkeypatch.setattr(storage_options, "_stated", {top: options})
    stub.answer = there
    storage = open_storage(f"s3a://{BUCKET}{root}")
    for key in KEYS:
        (found,) = storage.stat([ObjectKey(key)])
        assert (found.key, found.size, found.etag) == (key, 7, "e")
    sent = heads(stub)
    assert [is_own(each) for each in sent] == [False] + [True] * (len(KEYS) - 1)
    bucket, host = ("", f"{BUCKET}.") if style == "virtual" else (f"/{BUCKET}", "")
    assert {header(each, "Host") for each in sent} == {f"{host}s3.test:{port}"}
    assert [unquote(each.path) for each in sent] == [f"{bucket}{root}/{key}" for key in KEYS]
    scopes = {header(each, "Authorization").partition("Signature=")[0] for each in sent[1:]}
    assert len(scopes) == 1


def test_what_is_absent_is_none_and_the_bucket_is_asked_for(stub) -> None:
    """A HEAD answer has no body: an absent bucket looks like an absent key."""
    stub.answer = lambda r: error("NoSuchKey", 404) if r.method == "HEAD" else page([])
    storage = open_storage(f"s3://{BUCKET}")
    assert storage.stat([*map(ObjectKey, "abc")]) == [None] * 3
    stub.answer = lambda _: error("NoSuchBucket", 404)
    with pytest.raises(StorageUnreachableError, match="NoSuchBucket"):
        storage.stat([ObjectKey("d")])


@pytest.mark.parametrize(
    "odd",
    [
        Answer("", headers={"ETag": '"e"'}, length=7),
        Answer("", headers={"Last-Modified": FACTS["Last-Modified"]}, length=7),
        Answer("", status=503),
        Answer("", status=301, headers={"Location": "http://127.0.0.1:9/"}),
    ],
    ids=["no time", "no etag", "not now", "elsewhere"],
)
def test_an_odd_answer_is_asked_for_again_through_botocore(stub, odd: Answer) -> None:
    """Its word is final, and here it is a good one."""
    stub.answer = there
    storage = open_storage(f"s3://{BUCKET}")
    storage.stat([ObjectKey("first")])
    stub.answer = lambda r: odd if is_own(r) else there(r)
    (found,) = storage.stat([ObjectKey("a")])
    assert (found.size, found.etag) == (7, "e")
    assert [is_own(each) for each in heads(stub)] == [False, True, False]


def test_without_a_time_or_an_etag_an_object_has_none(stub) -> None:
    """Then it is never deleted: it equals no object that was judged."""
    stub.answer = lambda r: Answer("", headers={}, length=7) if r.method == "HEAD" else page([])
    storage = open_storage(f"s3://{BUCKET}")
    for _ in range(2):
        (found,) = storage.stat([ObjectKey("a")])
        assert (found.modified_at, found.etag) == (None, None)
