"""Deletion in S3: whatever a server answers, each key gets its true result and one request."""

import re
import socket
from dataclasses import replace
from datetime import UTC, datetime
from xml.sax.saxutils import unescape

import pytest

from contracts.places import facts
from contracts.servers.stub import BUCKET, Answer, error, head, page
from orphangc.adapters.open import open_storage
from orphangc.adapters.s3 import bucket_requests as s3_delete_requests
from orphangc.adapters.s3.requests import s3_client
from orphangc.core.model.types import StoredObject
from orphangc.errors import StorageUnreachableError
from orphangc.ports import DeletionStatus, Storage

STAMP = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
DELETED, GONE, CHANGED = DeletionStatus.DELETED, DeletionStatus.GONE, DeletionStatus.CHANGED
FAILED, REFUSED, UNKNOWN = DeletionStatus.FAILED, DeletionStatus.REFUSED, DeletionStatus.UNKNOWN


class Experienced:
    """A place whose storages have deleted before, so that they send requests of their own."""

    def __init__(self, place) -> None:
        self._place = place

    def __getattr__(self, name: str):
        return getattr(self._place, name)

    def open(self) -> Storage:
        """Open the storage, and let botocore delete something else first."""
        storage = self._place.open()
        self._place.put("first")
        (result,) = storage.delete([facts(storage, "first")])
        assert result.status is DELETED
        return storage


@pytest.fixture
def place(s3_place, monkeypatch) -> Experienced:
    """A place in S3 where botocore is not allowed to delete more than once."""
    usual = s3_delete_requests.DeleteRequests._through_botocore
    count = []

    def once(self, wanted):
        count.append(wanted)
        assert len(count) == 1, "botocore had to help"
        return usual(self, wanted)

    monkeypatch.setattr(s3_delete_requests.DeleteRequests, "_through_botocore", once)
    return Experienced(s3_place)


@pytest.fixture(params=["first", "later"])
def opened(request, stub, monkeypatch):
    """A storage whose next request goes through botocore, or is its own."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    storage = open_storage(f"s3://{BUCKET}")
    if request.param == "later":
        deletions(stub, outcome("z"))
        assert storage.delete(judged("z"))[0].status is DELETED
        stub.requests.clear()
    return storage


def judged(*keys: str) -> list[StoredObject]:
    return [StoredObject(key=k, size=7, modified_at=STAMP, etag=f"e-{k}") for k in keys]


def deletions(stub, *answers) -> None:
    """Let every HEAD find its object, and answer deletions one by one, the last for ever."""
    given = list(answers)

    def answer(request):
        if request.method == "HEAD":
            return head(request.path.rpartition("/")[2])
        if request.is_listing:
            return page([])
        return given.pop(0) if len(given) > 1 else given[0]

    stub.answer = answer


def outcome(*deleted: str, **errors: str) -> Answer:
    body = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in deleted)
    for key, code in errors.items():
        body += f"<Error><Key>{key}</Key><Code>{code}</Code><Message>m</Message></Error>"
    return Answer(f"<DeleteResult>{body}</DeleteResult>")


def keys_in(request) -> list[str]:
    return re.findall(r"<Key>(.*?)</Key>", request.body.decode())


def statuses(results) -> list[DeletionStatus]:
    return [result.status for result in results]


# --- what is said of single keys


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("SlowDown", REFUSED),
        ("Throttling", REFUSED),
        ("TooManyRequests", REFUSED),
        ("InternalError", UNKNOWN),
        ("ServiceUnavailable", UNKNOWN),
        ("OperationAborted", UNKNOWN),
        ("RequestTimeout", UNKNOWN),
        ("AccessDenied", FAILED),
        ("MethodNotAllowed", FAILED),
        ("Whatever", FAILED),
        ("NoSuchKey", GONE),
        ("PreconditionFailed", CHANGED),
        ("ConditionalRequestConflict", CHANGED),
    ],
)
def test_an_error_for_a_key_says_what_became_of_it(stub, opened, code, status):
    """The answer is a 200; the other key is deleted, and nothing is asked for twice.

    Where a person can do something about it, it says what.
    """
    deletions(stub, outcome("a", b=code))
    first, second = opened.delete(judged("a", "b"))
    assert (first.status, second.status) == (DELETED, status)
    policy = "; orphangc policy --provider aws|ceph prints what these credentials must be allowed"
    said = f"{code}: m{policy if code == 'AccessDenied' else ''}"
    assert second.error == (None if status in {GONE, CHANGED} else said)
    assert [keys_in(request) for request in stub.asked("POST")] == [["a", "b"]]


def test_of_a_key_that_the_answer_does_not_mention_nothing_is_known(stub, opened):
    """Silence is not success, and no failure either."""
    deletions(stub, outcome("a", "stranger"))
    assert statuses(opened.delete(judged("a", "b"))) == [DELETED, UNKNOWN]


@pytest.mark.parametrize(
    "row",
    ["<Deleted><Key>a</Key><Key>b</Key></Deleted>", "<Error><Key>a</Key><Code/><Code/></Error>"],
)
def test_of_an_answer_that_says_something_twice_nothing_is_known(stub, opened, row):
    """The request was carried out, or not; the sweep goes on and says so."""
    for _ in range(2):  # through botocore, and without it
        deletions(stub, Answer(f"<DeleteResult>{row}</DeleteResult>"))
        assert statuses(opened.delete(judged("a"))) == [UNKNOWN]


def test_a_key_that_is_both_deleted_and_refused_failed(stub, opened):
    """The worse news counts."""
    deletions(stub, outcome("a", a="AccessDenied"))
    assert statuses(opened.delete(judged("a"))) == [FAILED]


def test_keys_with_entities_are_told_of_under_their_own_names(stub, opened):
    """The answer spells them as XML does."""
    key = "a&b<c>'\""
    deletions(stub, Answer("<DeleteResult><Deleted><Key>a&amp;b&lt;c&gt;'&quot;</Key></Deleted>"
                           "</DeleteResult>"))  # fmt: skip
    stub_answer = stub.answer
    stub.answer = lambda r: head("x") if r.method == "HEAD" else stub_answer(r)
    wanted = StoredObject(key=key, size=7, modified_at=STAMP, etag="e-x")
    assert statuses(opened.delete([wanted])) == [DELETED]
    (request,) = stub.asked("POST")
    assert re.search(r"<Key>a&amp;b&lt;c&gt;.{1,6}.{1,6}</Key>", request.body.decode())


# --- what is said of the whole request


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (error("SlowDown", 503), REFUSED),
        (error("TooManyRequests", 429), REFUSED),
        (error("ServiceUnavailable", 503), UNKNOWN),
        (error("InternalError", 500), UNKNOWN),
        (Answer("<html>bad gateway</html>", 502), UNKNOWN),
        (Answer("", 504), UNKNOWN),
        (Answer("<DeleteResult><Deleted><Key>a</Key></Del", length=400), UNKNOWN),
        (Answer("no XML at all"), UNKNOWN),
    ],
    ids=["slow-down", "429", "503", "500", "502", "504", "cut-off", "no-xml"],
)
def test_a_request_that_may_have_worked_leaves_every_key_unknown(stub, opened, answer, status):
    """Only a refusal is sure to have touched nothing; and nothing is sent again by itself."""
    deletions(stub, answer)
    results = opened.delete(judged("a", "b"))
    assert statuses(results) == [status, status]
    assert all(result.error for result in results)
    assert len(stub.asked("POST")) == 1


def test_a_request_without_an_answer_leaves_every_key_unknown(stub, opened, monkeypatch):
    """It may have worked, or may still be at work."""
    deletions(stub, outcome("a"))
    usual = stub.answer

    def hang_up(request):
        if request.method == "POST":
            raise ConnectionAbortedError
        return usual(request)

    stub.answer = hang_up
    monkeypatch.setattr("socketserver.BaseServer.handle_error", lambda *_: None)
    assert statuses(opened.delete(judged("a", "b"))) == [UNKNOWN, UNKNOWN]


@pytest.mark.parametrize("code", ["AccessDenied", "NoSuchBucket", "InvalidAccessKeyId"])
def test_a_request_that_is_refused_as_a_whole_is_an_error(stub, opened, code):
    """Before anything was deleted, the caller learns it as an error, in botocore's words."""
    deletions(stub, error(code, 403))
    with pytest.raises(StorageUnreachableError, match=code):
        opened.delete(judged("a"))


def test_credentials_that_expired_are_asked_for_again(stub, opened):
    """A request of our own is refused; botocore, which refreshes them, has the last word."""
    deletions(stub, error("ExpiredToken", 400), outcome("a"))
    if not opened._deletes._sender.template:
        pytest.skip("botocore's own first request has no fallback")
    assert statuses(opened.delete(judged("a"))) == [DELETED]


def test_a_timeout_leaves_every_key_unknown(stub, monkeypatch):
    """Bounded, and once."""
    monkeypatch.setitem(s3_client._CONFIG, "read_timeout", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        deletions(stub, outcome("z"))
        storage = open_storage(f"s3://{BUCKET}")
        storage.delete(judged("z"))
        requests = storage._deletes
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/{BUCKET}"
        requests._sender.template = replace(requests._sender.template, url=url)
        assert statuses(storage.delete(judged("a"))) == [UNKNOWN]


# --- conditions and revalidation


def test_the_condition_is_sent_with_every_key(stub, opened):
    """It closes the gap between revalidation and deletion if the store checks it.

    With the quotes that an ETag has in every answer of a store, which may compare texts.
    """
    deletions(stub, outcome("a", "b"))
    opened.delete(judged("a", "b"))
    (request,) = stub.asked("POST")
    sent = re.findall(r"<ETag>(.*?)</ETag>", request.body.decode())
    assert [unescape(each, {"&quot;": '"'}) for each in sent] == ['"e-a"', '"e-b"']
    assert b"<Quiet>true" not in request.body
    assert "Content-MD5" in request.headers or any("checksum" in n for n in request.headers)


def test_a_store_that_refuses_conditions_gets_none_after_another_look(stub, opened):
    """OpenStack Swift rejects the request as malformed."""
    deletions(stub, error("MalformedXML"), error("MalformedXML"), outcome("a"))
    if not opened._deletes._sender.template:
        deletions(stub, error("MalformedXML"), outcome("a"))
    assert statuses(opened.delete(judged("a"))) == [DELETED]
    conditions = [b"<ETag>" in request.body for request in stub.asked("POST")]
    assert (conditions[0], conditions[-1]) == (True, False)
    assert len(stub.asked("HEAD")) == 2


def test_a_look_that_fails_keeps_the_object(stub, opened):
    """One HEAD is denied: its key fails, and is not in the request."""
    deletions(stub, outcome("a"))
    usual = stub.answer
    stub.answer = lambda r: Answer(status=403) if r.path.endswith("/b") else usual(r)
    assert statuses(opened.delete(judged("a", "b"))) == [DELETED, FAILED]
    assert [keys_in(request) for request in stub.asked("POST")] == [["a"]]


def test_a_changed_object_is_not_even_asked_for(stub, opened):
    """The collector revalidates itself, so it works on stores that ignore conditions."""
    deletions(stub, outcome("a", "b"))
    changed = StoredObject(key="b", size=8, modified_at=STAMP, etag="e-b")
    assert statuses(opened.delete([*judged("a"), changed])) == [DELETED, CHANGED]
    assert [keys_in(request) for request in stub.asked("POST")] == [["a"]]


def test_a_key_that_xml_cannot_hold_fails_alone(stub, opened):
    """A control character would spoil the request for all others."""
    deletions(stub, outcome("a"))
    assert statuses(opened.delete(judged("a", "b\x01", ""))) == [DELETED, FAILED, FAILED]


# --- revalidation by listing


NAMES = [f"{number:04}" for number in range(300)]


def listed(stub, names: list[str], *, page_size: int = 1000) -> None:
    """Make the stub hold these objects, and answer listings, HEAD requests and deletions."""

    def answer(request):
        if request.method == "HEAD":
            key = request.path.rpartition("/")[2]
            return head(key) if key in names else Answer(status=404)
        if request.is_listing:
            token = request.query.get("continuation-token")
            after = token or request.query.get("start-after", "")
            within = request.query.get("prefix", "")
            found = sorted(name for name in names if name > after and name.startswith(within))
            here = found[: min(page_size, int(request.query.get("max-keys", 1000)))]
            is_cut = len(here) < len(found)
            flags = ("true", here[-1]) if is_cut else ("false", "")
            return page(here, truncated=flags[0], token=flags[1])
        return outcome(*keys_in(request))

    stub.answer = answer


def test_objects_that_lie_close_together_are_looked_at_by_one_listing(stub):
    """Three hundred HEAD requests, or one page; the facts are the same."""
    listed(stub, NAMES)
    storage = open_storage(f"s3://{BUCKET}")
    assert storage.stat(NAMES) == [judged(name)[0] for name in NAMES]
    assert (len(stub.asked("HEAD")), len([r for r in stub.requests if r.is_listing])) == (0, 1)


def test_what_a_listing_does_not_show_is_absent(stub):
    """Before, between, and after what it shows."""
    listed(stub, NAMES[1:150] + NAMES[151:299])
    found = open_storage(f"s3://{BUCKET}").stat(NAMES)
    assert [at for at, each in enumerate(found) if each is None] == [0, 150, 299]
    assert stub.asked("HEAD") == []


def test_objects_that_lie_far_apart_are_looked_at_one_by_one(stub):
    """One in fifty: after a page or two the rest is asked by HEAD, and nothing is asked twice."""
    names = [f"{number:06}" for number in range(5_000)]
    listed(stub, names, page_size=100)
    wanted = names[::50]
    found = open_storage(f"s3://{BUCKET}").stat(wanted)
    assert [each.key for each in found] == wanted
    pages = [request for request in stub.requests if request.is_listing]
    assert (len(pages), len(stub.asked("HEAD"))) == (1, 98)


def test_a_listing_that_fails_leaves_the_looks_to_head_requests(stub):
    """No error is ever an empty answer."""
    listed(stub, NAMES)
    usual = stub.answer
    stub.answer = lambda r: error("AccessDenied", 403) if r.query.get("start-after") else usual(r)
    found = open_storage(f"s3://{BUCKET}").stat(NAMES)
    assert [each.key for each in found] == NAMES
    assert len(stub.asked("HEAD")) == 300


def test_a_key_with_a_backslash_is_never_looked_up_in_a_listing(stub):
    """A listing spells what is no UTF-8 with one: it would be another object's."""
    listed(stub, [*NAMES, "\\xff"])
    storage = open_storage(f"s3://{BUCKET}")
    storage.stat([*NAMES, "\\xff"])
    assert [request.path for request in stub.asked("HEAD")] == [f"/{BUCKET}/%5Cxff"]


def test_both_ways_of_looking_tell_the_same(s3_place):
    """On real servers: times to the second, ETags, sizes, absence."""
    names = [f"shared/{number:03}" for number in range(120)]
    s3_place.put_all(names)
    s3_place.put("shared/050x", b"longer")
    storage = s3_place.open()
    wanted = [*names[10:90], "shared/050x", "shared/absent", "other"]
    by_listing = storage.heads(wanted)
    storage.avoid_listing()
    assert by_listing == storage.heads(wanted)
    assert by_listing.count(None) == 2
