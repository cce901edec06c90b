"""Answers that good S3 servers never give, and some do: no doubt is read as good news."""

import time
from collections import Counter
from datetime import UTC, datetime

import pytest
import stamina

from contracts.places import FILLED, listed, rows
from contracts.servers.stub import BUCKET, Answer, error, page
from orphangc.adapters.open import open_state_files, open_storage
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.errors import NotReportedError, SettingsError, StorageUnreachableError
from support import speed

STAMP = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch):
    """Retries wait for seconds; here they do not wait, but their number stays."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    with stamina.set_testing(testing=True, attempts=9, cap=True):
        yield


def opened():
    return open_storage(f"s3://{BUCKET}")


def read_by(uri: str, *, is_fast: bool) -> list[dict]:
    """Return all rows of a root as the fast or the slow reader reads them."""
    storage = open_storage(uri)
    storage.is_fast = is_fast
    return rows(storage)


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
        page(["c"], extra="<IsTruncated>true</IsTruncated>"),
        page(["c"], truncated="true", token="t2", extra="<IsTruncated>false</IsTruncated>"),
        page(["c"], truncated="true", token="t2",
             extra="<NextContinuationToken>t3</NextContinuationToken>"),
        Answer("<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>x</Key>"
               "<LastModified>yesterday</LastModified><ETag>e</ETag><Size>1</Size></Contents>"
               "</ListBucketResult>"),
        Answer("<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>x</Key>"
               "</Contents></ListBucketResult>"),
        Answer("<html><IsTruncated>false</IsTruncated></html>"),
        Answer(f"<Proxied>{page(['c']).body}</Proxied>"),
        Answer("<ListVersionsResult><IsTruncated>false</IsTruncated><Version><Key>c</Key>"
               "</Version></ListVersionsResult>"),
        *(Answer(page(["c"]).body.replace(">7<", f">{size}<")) for size in ("", "7.5", "9" * 30)),
        Answer(page(["c"]).body.replace("Contents>", "contents>")),
        page(["c"], extra="<KeyCount>one</KeyCount>"),
        page(["c"], extra="<KeyCount>1</KeyCount><KeyCount>2</KeyCount>"),
    ],
    ids=["no-token", "same-token", "no-flag", "html", "empty", "cut-off", "denied", "slow-down",
         "no-bucket", "odd-flag", "two-flags", "other-flags", "two-tokens", "odd-time", "no-facts",
         "another-top", "wrapped", "versions", "no-size", "half-size", "huge-size", "other-rows",
         "odd-count", "two-counts"],
)  # fmt: skip
def test_a_bad_second_page_is_an_error(stub, second):
    """The first thousand keys are not the listing, nor is a bad page that comes first."""
    stub.answer = lambda request: (
        second if "continuation-token" in request.query
        else page(["a", "b"], truncated="true", token="t1")
    )  # fmt: skip
    with pytest.raises(StorageUnreachableError):
        rows(opened())
    stub.answer = lambda _: second
    with pytest.raises(StorageUnreachableError):
        rows(opened())


@pytest.mark.parametrize(
    ("keys", "prefix"),
    [(["cp/a/b/_metadata"], ""), ([], "cp/a"), ([], "cp/a/b/"), ([], "cp/"), ([], "cp/%FF/")],
    ids=["no-delimiter", "no-slash", "two-levels", "itself", "no-utf-8"],
)
def test_a_level_that_shows_another_one_is_an_error(stub, keys, prefix):
    """What is in a folder that no request can name, or that was not shown, is not searched."""
    folder = f"<CommonPrefixes><Prefix>{prefix}</Prefix></CommonPrefixes>" if prefix else ""
    stub.answer = lambda _: page(keys, extra=f"{folder}<EncodingType>url</EncodingType>")
    with pytest.raises(StorageUnreachableError):
        open_storage(f"s3://{BUCKET}/cp").folder()


def test_a_page_that_names_another_one_is_not_the_last(stub):
    """Of two statements that contradict each other, the one counts that shows more."""
    stub.answer = lambda request: (
        page(["c"]) if "continuation-token" in request.query else page(["a", "b"], token="t1")
    )  # fmt: skip
    assert listed(opened()) == ["a", "b", "c"]


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
        opened().folder()
    assert time.monotonic() - begun < speed.patience()
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


@pytest.mark.parametrize("key", ["a%FF/_metadata", "b/old_metadata%FE", "chk-1/x%FF"])
def test_a_checkpoint_whose_name_is_no_utf_8_is_an_error(stub, key):
    """No request can name it, and what is read by the name that it is shown by is another one."""
    answer = page(["a%5Cxff/_metadata", "z%FF", key])
    stub.answer = lambda _: Answer(
        answer.body.replace("<IsT", "<EncodingType>url</EncodingType><IsT")
    )
    with pytest.raises(StorageUnreachableError, match="may be a checkpoint"):
        listed(open_storage(f"s3://{BUCKET}"))


def test_both_readers_agree_on_a_real_listing(filled_place):
    """Several pages, from a server that is not of our making."""
    if not filled_place.uri.startswith("s3:"):
        pytest.skip("only S3 has such pages")
    fast, slow = (read_by(filled_place.uri, is_fast=is_fast) for is_fast in (True, False))
    assert len(fast) == len(FILLED)
    assert fast == slow


def test_both_readers_agree_on_odd_keys(s3_place):
    """Entities, escapes and control characters, as real servers write them."""
    s3_place.put_all(["a b", "a+b", "a%2Fb", "é", "d/", "x//y", "q&<>\"'", "c\x01", "%", "a&amp;b"])
    fast, slow = (read_by(s3_place.uri, is_fast=is_fast) for is_fast in (True, False))
    assert len(fast) == 10
    assert fast == slow


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


def test_what_is_listed_is_not_absent(stub):
    """A cache remembers an answer from before a halt was written, or a lock, or a memory."""
    stub.answer = lambda r: page(["cp/halt.json"]) if r.is_listing else error("NoSuchKey", 404)
    with pytest.raises(StorageUnreachableError, match="is listed"):
        open_storage(f"s3://{BUCKET}/cp").read("halt.json", max_bytes=9)
    with pytest.raises(StorageUnreachableError, match="is listed"):
        open_state_files(f"s3://{BUCKET}/cp").read("halt.json")
    assert open_storage(f"s3://{BUCKET}/cp").read("halt", max_bytes=9) is None


def test_an_absent_bucket_is_not_an_absent_object(stub):
    """A HEAD answer has no code: 404 may mean either."""
    stub.answer = lambda r: Answer(status=404) if r.method == "HEAD" else error("NoSuchBucket", 404)
    with pytest.raises(StorageUnreachableError, match="NoSuchBucket"):
        opened().stat(["x"])


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("AccessDenied", "orphangc policy --provider aws"),
        ("NoSuchBucket", "AWS_ENDPOINT_URL"),
        ("InvalidAccessKeyId", "AWS_ACCESS_KEY_ID"),
        ("SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"),
        ("ExpiredToken", "renew"),
        ("AuthorizationHeaderMalformed", "AWS_REGION"),
        ("RequestTimeTooSkewed", "clock"),
    ],
)
def test_a_code_carries_what_to_check(stub, code, hint):
    """An operator meets it in the first hour."""
    stub.answer = lambda _: error(code, 403)
    with pytest.raises(StorageUnreachableError, match=f"{code}.*; .*{hint}"):
        opened().read("x", max_bytes=9)


@pytest.mark.usefixtures("stub")
def test_an_endpoint_that_does_not_answer_is_named(monkeypatch):
    """By host and port: it may be another one than the operator thinks."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(StorageUnreachableError, match=r"connect to the endpoint 127\.0\.0\.1:1$"):
        opened().read("x", max_bytes=9)


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


@pytest.mark.parametrize(
    "header",
    [
        "Fri, 31 Dec 99999 23:59:59 GMT",
        "Mon, 01 Jan 0001 00:00:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 -2359",
        "99999999999999999999",
        "1e300",
        "yesterday",
        None,
    ],
)
def test_a_time_that_is_none_leaves_an_object_without_a_time(stub, header):
    """Botocore raises a ``RuntimeError`` for two of them, and reads the year 1 as 2001."""
    headers = {"ETag": '"e"'} | ({} if header is None else {"Last-Modified": header})
    stub.answer = lambda _: Answer(headers=headers, length=7)
    (found,) = opened().stat(["x"])
    assert found == StoredObject(key="x", size=7, modified_at=None, etag="e")


def test_a_page_with_the_year_one_is_a_page(stub):
    """Go writes it where it knows no time: unknown, which keeps the object."""
    stub.answer = lambda _: Answer(
        page(["a"]).body.replace("2026-01-02T03:04:05.678Z", "0001-01-01T00:00:00Z")
    )
    (row,) = rows(opened())
    assert row["modified_at"] is None


@pytest.mark.parametrize("code", ["AccessDenied", "NotImplemented"])
def test_buckets_that_may_not_be_listed_are_not_known(stub, code):
    """An account of one bucket: nothing follows from it but that the others are unknown."""
    stub.answer = lambda _: error(code, 403)
    with pytest.raises(NotReportedError, match="ListAllMyBuckets"):
        opened().buckets()


def test_buckets_are_listed_to_their_end(stub):
    """Each answer may leave some to the next."""
    names = iter(("one", "two"))
    begin = '<ListAllMyBucketsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Buckets>'

    def answer(_):
        name = next(names)
        more = "<ContinuationToken>x</ContinuationToken>" if name == "one" else ""
        body = f"{begin}<Bucket><Name>{name}</Name></Bucket></Buckets>{more}"
        return Answer(f"{body}</ListAllMyBucketsResult>")

    stub.answer = answer
    assert opened().buckets() == ("s3://one", "s3://two")


@pytest.mark.parametrize(
    "body", ["<html>please log in</html>", "<B><Buckets><Bucket/></Buckets></B>"]
)
def test_an_answer_that_names_no_buckets_is_no_list_of_them(stub, body):
    """A proxy's page would hide every other bucket."""
    stub.answer = lambda _: Answer(body)
    with pytest.raises(StorageUnreachableError):
        opened().buckets()


@pytest.mark.parametrize("row", ["Version", "Upload", "DeleteMarker"])
@pytest.mark.parametrize("inside", ["", "<Key>a</Key><Key>b</Key>"])
def test_what_no_listing_shows_has_a_form_too(stub, row, inside):
    """A row that lacks its key, or has two, is damage that is said, and no crash."""
    stub.versioning = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
    stub.answer = lambda _: Answer(
        f"<Result><IsTruncated>false</IsTruncated><{row}>{inside}</{row}></Result>"
    )
    with pytest.raises(StorageUnreachableError):
        [*opened().versions(), *opened().uploads()]


def test_buckets_without_an_end_are_no_answer(stub):
    """An answer that is followed by itself would be asked for without end."""
    begin = '<ListAllMyBucketsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Buckets>'
    answers = iter(range(9))

    def answer(_):
        assert next(answers) < 8
        body = "<Bucket><Name>one</Name></Bucket></Buckets><ContinuationToken>x</ContinuationToken>"
        return Answer(f"{begin}{body}</ListAllMyBucketsResult>")

    stub.answer = answer
    with pytest.raises(StorageUnreachableError, match="followed by itself"):
        opened().buckets()


def test_a_redirection_that_names_no_region_is_an_answer(stub):
    """Botocore asked such a store for the region of the bucket without end: a traceback."""
    stub.answer = lambda _: error("PermanentRedirect", 301)
    with pytest.raises(StorageUnreachableError, match=r"PermanentRedirect.*AWS_REGION"):
        rows(opened())
    with pytest.raises(StorageUnreachableError, match=r"PermanentRedirect.*AWS_REGION"):
        open_state_files(f"s3://{BUCKET}/state").read("x.json")
    with pytest.raises(StorageUnreachableError, match=r"301.*AWS_REGION"):
        opened().stat(ObjectKey("x"))
    assert len(stub.requests) < 20
