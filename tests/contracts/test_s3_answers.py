"""Answers that good S3 servers never give, and some do: no doubt is read as good news."""

from __future__ import annotations

import re
import time
from collections import Counter
from datetime import UTC, datetime

import pytest
import stamina

from contracts.places import FILLED, listed, rows
from contracts.servers.stub import BUCKET, Answer, error, head, page
from orphangc.adapters.s3_client import S3Client
from orphangc.adapters.s3_listing import S3Pages
from orphangc.adapters.storages import open_state_files, open_storage
from orphangc.core.model import StoredObject
from orphangc.core.uris import canonical
from orphangc.errors import SettingsError, StorageUnreachableError
from orphangc.ports import DeletionStatus

STAMP = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch):
    """Retries wait for seconds; here they do not wait, but their number stays."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    with stamina.set_testing(testing=True, attempts=9, cap=True):
        yield


def opened():
    return open_storage(f"s3://{BUCKET}")


def judged(*keys: str) -> list[StoredObject]:
    """Return the objects as ``page`` and ``head`` show them."""
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
    """Return the answer to DeleteObjects."""
    body = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in deleted)
    for key, code in errors.items():
        body += f"<Error><Key>{key}</Key><Code>{code}</Code><Message>m</Message></Error>"
    return Answer(f"<DeleteResult>{body}</DeleteResult>")


def keys_in(request) -> list[str]:
    return re.findall(r"<Key>(.*?)</Key>", request.body.decode())


def read_by(uri: str, *, is_fast: bool) -> list[dict]:
    """Return all rows of a root as the fast or the slow reader reads them."""
    location = canonical(uri)
    pages = S3Pages(S3Client(location), is_fast=is_fast).pages(location.path[1:])
    return [row for found in pages for row in found.objects.to_pylist()]


# -- listing ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "second",
    [
        page(["c"], truncated="true"),
        page(["c"], truncated="true", token="t1"),
        page(["c"], truncated=""),
        Answer("<html>please log in</html>"),
        Answer(""),
        Answer("<ListBucketResult><Contents>"),
        error("AccessDenied", 403),
        error("SlowDown", 503),
        error("NoSuchBucket", 404),
        page(["c"], truncated="maybe"),
        Answer("<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>x</Key>"
               "<LastModified>yesterday</LastModified><ETag>e</ETag><Size>1</Size></Contents>"
               "</ListBucketResult>"),
        Answer("<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>x</Key>"
               "</Contents></ListBucketResult>"),
    ],
    ids=["no-token", "same-token", "no-flag", "html", "empty", "cut-off", "denied", "slow-down",
         "no-bucket", "odd-flag", "odd-time", "no-facts"],
)  # fmt: skip
def test_a_bad_second_page_is_an_error(stub, second):
    """The first thousand keys are not the listing."""
    stub.answer = lambda request: (
        second if "continuation-token" in request.query
        else page(["a", "b"], truncated="true", token="t1")
    )  # fmt: skip
    with pytest.raises(StorageUnreachableError):
        rows(opened())


def test_keys_from_outside_the_prefix_are_an_error(stub):
    """A server that ignores the prefix would lend us another root's files."""
    stub.answer = lambda _: page(["cp/a", "elsewhere/b"])
    with pytest.raises(StorageUnreachableError, match="elsewhere"):
        rows(open_storage(f"s3://{BUCKET}/cp"))


def test_a_storm_of_503_ends(stub):
    """A bounded number of requests, a bounded time, and then the error with its code."""
    stub.answer = lambda _: error("SlowDown", 503)
    storage = opened()
    with pytest.raises(StorageUnreachableError, match="SlowDown"):
        rows(storage)
    assert 1 < len(stub.requests) <= 5


def test_a_passing_503_is_overcome(stub):
    """One refusal is no reason to give up the run."""
    stub.answer = lambda _: page(["a"]) if len(stub.requests) > 2 else error("SlowDown", 503)
    assert listed(opened()) == ["a"]


@pytest.mark.usefixtures("stub")
def test_a_closed_port_is_an_error_in_time(monkeypatch):
    """No endless waiting, no traceback, no user name in the message."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://user:pass@127.0.0.1:9")
    begun = time.monotonic()
    with pytest.raises(StorageUnreachableError) as caught:
        opened()
    assert time.monotonic() - begun < 20
    assert "pass" not in str(caught.value)
    assert "\n" not in str(caught.value)


CONTENTS = "<Contents><Key>{}</Key><LastModified>2026-01-02T03:04:05Z</LastModified>{}</Contents>"


@pytest.mark.parametrize(
    "body",
    [
        CONTENTS.format("a", "<ETag>&quot;x&quot;</ETag><Size>7</Size>")
        + CONTENTS.format("b", "<Size>8</Size><ETag>&quot;y&quot;</ETag>"),
        CONTENTS.format("a&amp;b", "<ETag>x</ETag><Size>7</Size>"),
        CONTENTS.format("a+%2B%2b%25", "<ETag>x</ETag><Size>7</Size>")
        + "<EncodingType>url</EncodingType>",
        CONTENTS.format("a", "<ETag>x</ETag><Size>7</Size><Owner><ID>i</ID></Owner>")
        + "<!--"
        + CONTENTS.format("no", "<ETag>x</ETag><Size>7</Size><Owner><ID>i</ID></Owner>")
        + "-->",
        "<Contents xmlns='u'><Key>odd</Key><LastModified>2026-01-02T03:04:05Z</LastModified>"
        "<ETag>x</ETag><Size>1</Size></Contents>"
        + CONTENTS.format("a", "<ETag>x</ETag><Size>7</Size>"),
        CONTENTS.format("a", "<ETag>x</ETag><Size>7</Size><Owner/><T>STANDARD</T>") * 3,
        CONTENTS.format("<![CDATA[a]]>", "<ETag>x</ETag><Size>7</Size>"),
        "\n ".join(CONTENTS.format(key, "\n<ETag>x</ETag>\n<Size>7</Size>") for key in "abc"),
        "",
    ],
    ids=["mixed-order", "entity", "encoded", "comment", "attribute", "empty-element", "cdata",
         "pretty", "none"],
)  # fmt: skip
def test_the_fast_reader_and_botocore_read_the_same(stub, body):
    """Whatever form a page has, both ways of reading give the same rows."""
    whole = f"<ListBucketResult>{body}<IsTruncated>false</IsTruncated></ListBucketResult>"
    stub.answer = lambda _: Answer(whole)
    fast, slow = (read_by(f"s3://{BUCKET}", is_fast=is_fast) for is_fast in (True, False))
    assert fast == slow
    assert len(fast) == body.count("</Key>") - body.count("<!--")


@pytest.mark.parametrize("is_fast", [True, False])
def test_encoded_keys_are_decoded_once(stub, is_fast):
    """A plus is a blank, an escape is its byte, and what then looks like an escape is a name."""
    keys = page(["a+b", "c%2Bd", "e%2525", "f%2Fg%2f", "%C3%A9", "%FF"])
    stub.answer = lambda _: Answer(
        keys.body.replace("<IsT", "<EncodingType>url</EncodingType><IsT")
    )
    found = [row["key"] for row in read_by(f"s3://{BUCKET}", is_fast=is_fast)]
    assert found == ["a b", "c+d", "e%25", "f/g/", "é", "\\xff"]


def test_both_readers_agree_on_a_real_listing(filled_place):
    """Several pages, from a server that is not of our making."""
    if filled_place.has_folders:
        pytest.skip("only S3 has pages")
    fast, slow = (read_by(filled_place.uri, is_fast=is_fast) for is_fast in (True, False))
    assert len(fast) == len(FILLED)
    assert fast == slow


def test_both_readers_agree_on_odd_keys(s3_place):
    """Entities, escapes and control characters, as real servers write them."""
    s3_place.put_all(["a b", "a+b", "a%2Fb", "é", "d/", "x//y", "q&<>\"'", "c\x01", "%", "a&amp;b"])
    fast, slow = (read_by(s3_place.uri, is_fast=is_fast) for is_fast in (True, False))
    assert len(fast) == 10
    assert fast == slow


# -- deleting --------------------------------------------------------------------------------


def test_slow_down_for_some_keys_is_tried_again_for_those_only(stub):
    """The answer is a 200; what was deleted is not asked for twice."""
    deletions(stub, outcome("a", b="SlowDown", c="InternalError"), outcome("b", "c"))
    results = opened().delete(judged("a", "b", "c"))
    assert {result.status for result in results} == {DeletionStatus.DELETED}
    assert [keys_in(request) for request in stub.asked("POST")] == [["a", "b", "c"], ["b", "c"]]


def test_keys_that_stay_refused_fail_with_their_code(stub):
    """A bounded number of requests; the others' results stand."""
    deletions(stub, outcome("a", b="SlowDown"), outcome(b="SlowDown"))
    first, second = opened().delete(judged("a", "b"))
    assert first.status is DeletionStatus.DELETED
    assert (second.status, second.error) == (DeletionStatus.FAILED, "SlowDown: m")
    assert len(stub.asked("POST")) == 5


def test_a_refused_key_fails_at_once(stub):
    """AccessDenied does not pass by waiting."""
    deletions(stub, outcome("a", b="AccessDenied"))
    results = opened().delete(judged("a", "b"))
    assert results[1].error == "AccessDenied: m"
    assert len(stub.asked("POST")) == 1


def test_a_key_that_the_answer_does_not_mention_failed(stub):
    """Silence is not success."""
    deletions(stub, outcome("a", "stranger"))
    first, second = opened().delete(judged("a", "b"))
    assert (first.status, second.status) == (DeletionStatus.DELETED, DeletionStatus.FAILED)


def test_a_key_that_is_both_deleted_and_refused_failed(stub):
    """The worse news counts."""
    deletions(stub, outcome("a", a="AccessDenied"))
    assert opened().delete(judged("a"))[0].status is DeletionStatus.FAILED


def test_a_failed_condition_is_a_changed_object(stub):
    """The store saw another ETag after we had looked."""
    deletions(stub, outcome(a="PreconditionFailed"))
    assert opened().delete(judged("a"))[0].status is DeletionStatus.CHANGED


def test_the_condition_is_sent_with_every_key(stub):
    """It closes the moment between look and deletion where the store honours it."""
    deletions(stub, outcome("a", "b"))
    opened().delete(judged("a", "b"))
    (request,) = stub.asked("POST")
    assert re.findall(r"<ETag>(.*?)</ETag>", request.body.decode()) == ["e-a", "e-b"]
    assert b"<Quiet>true" not in request.body


def test_a_store_that_refuses_conditions_gets_none_after_another_look(stub):
    """OpenStack Swift rejects the request as malformed."""
    deletions(stub, error("MalformedXML"), outcome("a"))
    storage = opened()
    assert storage.delete(judged("a"))[0].status is DeletionStatus.DELETED
    assert [b"<ETag>" in request.body for request in stub.asked("POST")] == [True, False]
    assert len(stub.asked("HEAD")) == 2


@pytest.mark.parametrize("code", ["AccessDenied", "NoSuchBucket", "InvalidAccessKeyId"])
def test_a_request_that_is_refused_as_a_whole_is_an_error(stub, code):
    """Before anything was deleted, the caller learns it as an error."""
    deletions(stub, error(code, 403))
    with pytest.raises(StorageUnreachableError, match=code):
        opened().delete(judged("a"))


def test_what_was_deleted_before_a_refusal_is_not_forgotten(stub):
    """The second request fails as a whole: its keys failed, the first one's are deleted."""
    deletions(stub, outcome("a", b="SlowDown"), error("AccessDenied", 403))
    first, second = opened().delete(judged("a", "b"))
    assert (first.status, second.status) == (DeletionStatus.DELETED, DeletionStatus.FAILED)


def test_a_look_that_fails_keeps_the_object(stub):
    """One HEAD is denied: its key fails, and is not in the request."""
    deletions(stub, outcome("a"))
    usual = stub.answer
    stub.answer = lambda r: Answer(status=403) if r.path.endswith("/b") else usual(r)
    results = opened().delete(judged("a", "b"))
    assert [result.status for result in results] == [DeletionStatus.DELETED, DeletionStatus.FAILED]
    assert [keys_in(request) for request in stub.asked("POST")] == [["a"]]


def test_a_changed_object_is_not_even_asked_for(stub):
    """The second look is ours, so it works on stores that ignore conditions."""
    deletions(stub, outcome("a", "b"))
    changed = StoredObject(key="b", size=8, modified_at=STAMP, etag="e-b")
    results = opened().delete([*judged("a"), changed])
    assert results[1].status is DeletionStatus.CHANGED
    assert [keys_in(request) for request in stub.asked("POST")] == [["a"]]


def test_a_key_that_xml_cannot_hold_fails_alone(stub):
    """A control character would spoil the request for all others."""
    deletions(stub, outcome("a"))
    results = opened().delete(judged("a", "b\x01", ""))
    assert [result.status for result in results] == [
        DeletionStatus.DELETED, DeletionStatus.FAILED, DeletionStatus.FAILED,
    ]  # fmt: skip


# -- reading, time, state --------------------------------------------------------------------


def test_a_body_that_breaks_off_is_read_again(stub):
    """No retry of botocore covers what fails after the headers."""
    stub.answer = lambda _: Answer("whole" if len(stub.requests) > 1 else "who", length=5)
    assert opened().read("x", max_bytes=9) == b"whole"


def test_a_body_that_always_breaks_off_is_an_error(stub):
    """Half a _metadata is not read."""
    stub.answer = lambda _: Answer("who", length=5)
    with pytest.raises(StorageUnreachableError):
        opened().read("x", max_bytes=9)


def test_an_absent_bucket_is_not_an_absent_object(stub):
    """A HEAD answer has no code: 404 may mean either."""
    stub.answer = lambda r: Answer(status=404) if r.method == "HEAD" else error("NoSuchBucket", 404)
    with pytest.raises(StorageUnreachableError, match="NoSuchBucket"):
        opened().stat(["x"])


def test_a_store_that_ignores_conditional_writes_cannot_lock(stub):
    """Found out with a throwaway name before the first lock, which is never written."""
    stub.answer = lambda _: Answer(headers={"ETag": '"x"'})
    with pytest.raises(SettingsError, match="cannot lock"):
        open_state_files(f"s3://{BUCKET}/state").create("lock", b"me")
    assert not [r for r in stub.asked("PUT") if r.path.endswith("/lock")]
    assert len(stub.asked("DELETE")) == 1


def test_a_creation_whose_answer_was_lost_is_still_ours(stub):
    """The repetition is refused because of our own first attempt."""
    marks: dict[str, str] = {}
    seen: Counter[str] = Counter()

    def answer(request):
        mark = {name.lower(): value for name, value in request.headers.items()}.get(
            "x-amz-meta-orphangc-writer"
        )
        if request.method == "PUT":
            seen[request.path] += 1
            if request.path in marks:
                return error("PreconditionFailed", 412)
            marks[request.path] = mark
            if request.path.endswith("/lock"):
                return error("InternalError", 500)
        if request.method == "HEAD":
            return Answer(headers={"x-amz-meta-orphangc-writer": marks[request.path]})
        return Answer()

    stub.answer = answer
    state = open_state_files(f"s3://{BUCKET}/state")
    assert state.create("lock", b"me") is True
    assert seen[f"/{BUCKET}/state/lock"] == 2
    assert state.create("lock", b"me") is False


def test_a_store_without_a_date_header_tells_no_time(stub, monkeypatch):
    """Unknown is not now."""
    monkeypatch.setattr("http.server.BaseHTTPRequestHandler.date_time_string", lambda *_: "soon")
    stub.answer = lambda _: page([])
    assert opened().now().now is None
