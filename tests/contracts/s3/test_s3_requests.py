"""List requests that do without botocore: addressed and signed as its own, and as patient."""

import json
import re
import ssl
import sys
import threading
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_address

import fsspec
import pytest
import stamina
from aiobotocore.signers import AioRequestSigner
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from contracts.servers.stub import BUCKET, Answer, error, page, stub_server
from orphangc.adapters.files.translate import host_now
from orphangc.adapters.open import open_storage
from orphangc.adapters.s3.requests import request_template, s3_client
from orphangc.collect.listing.list_storage import RangeLister
from orphangc.collect.listing.storage_metadata import metadata_in
from orphangc.collect.listing.work_stealing import RangeCursor, RangeScheduler
from orphangc.core.ranges.key_ranges import KeyRange, landmarks
from orphangc.errors import StorageUnreachableError
from support import speed
from support.processes import no_thread_left
from unit.collect.listing.ordered_storage import MemorySpool

KEYS = [f"k{number:02}" for number in range(24)]
CUT = Answer("<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>k02</Key>")


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch):
    """Retries wait for seconds; here they do not wait, but their number stays."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0)
    with stamina.set_testing(testing=True, attempts=99, cap=True), no_thread_left():
        yield


def served(request, *, keys=KEYS, size: int = 2, order=str) -> Answer:
    """Return the page that a good server would give: the token is the number of its first key."""
    start = int(request.query.get("continuation-token", "0"))
    if "start-after" in request.query:
        start = sum(order(key) <= order(request.query["start-after"]) for key in keys)
    end = start + size
    is_last = end >= len(keys)
    more = {} if is_last else {"truncated": "true", "token": str(end)}
    return page(keys[start:end], **more)


def opened(stub, **good):
    stub.answer = stub.answer if good.pop("as_told", False) else lambda r: served(r, **good)
    return open_storage(f"s3://{BUCKET}")


def keys_of(storage, *bounds) -> list[str]:
    return [key for batch in storage.pages(KeyRange(*bounds)) for key in batch["key"].to_pylist()]


def header(request, name: str) -> str | None:
    return next((v for n, v in request.headers.items() if n.lower() == name.lower()), None)


def is_own(request) -> bool:
    """Return whether a request was sent without botocore, which numbers its attempts."""
    return header(request, "amz-sdk-invocation-id") is None


def access_key(request) -> str:
    return re.search(r"Credential=([^/]*)/", header(request, "Authorization"))[1]


# -- the usual way -----------------------------------------------------------------------------


def test_only_the_first_request_goes_through_botocore(stub):
    """All others have its address, its headers and its signature's scope."""
    storage = opened(stub)
    assert keys_of(storage) == KEYS
    first, *others = stub.requests
    assert [is_own(request) for request in stub.requests] == [False] + [True] * 11
    assert {request.path for request in others} == {first.path}
    assert {header(request, "User-Agent") for request in others} == {header(first, "User-Agent")}
    scopes = {re.split(r"Signature=", header(r, "Authorization"))[0] for r in others}
    (scope,) = scopes
    assert "/us-east-1/s3/aws4_request" in scope
    assert storage.list_requests == 12


def test_a_store_that_states_no_length_is_listed_all_the_same(stub):
    """Through the session: each key once."""
    storage = opened(stub, as_told=True)
    stub.answer = lambda r: replace(served(r), headers={"Content-Encoding": "identity"})
    assert keys_of(storage) == KEYS


def test_a_session_token_is_sent(stub, monkeypatch):
    """Roles have one."""
    monkeypatch.setenv("AWS_SESSION_TOKEN", "the-token")
    assert keys_of(opened(stub)) == KEYS
    assert {header(request, "X-Amz-Security-Token") for request in stub.requests} == {"the-token"}


def test_credentials_that_expire_are_refreshed(stub, monkeypatch, tmp_path):
    """A listing may outlive them many times."""
    soon = (host_now() + timedelta(minutes=5)).isoformat()  # refreshed at each use
    script = tmp_path / "credentials.py"
    script.write_text(
        f"import json, pathlib; seen = pathlib.Path({str(tmp_path / 'seen')!r})\n"
        "count = len(seen.read_text()) + 1 if seen.exists() else 1; seen.write_text('x' * count)\n"
        f"print(json.dumps({{'Version': 1, 'AccessKeyId': f'AK{{count:03}}', 'SecretAccessKey': "
        f"'s', 'Expiration': {json.dumps(soon)}}}))\n"
    )
    config = tmp_path / "config"
    config.write_text(f"[default]\ncredential_process = {sys.executable} {script}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setattr(request_template, "_SIGNER_SECONDS", 0.0)
    assert keys_of(opened(stub, size=6)) == KEYS
    names = [access_key(request) for request in stub.requests]
    assert len(set(names)) == len(names)
    assert names == sorted(names)


def test_credentials_are_not_asked_for_at_every_page(stub, monkeypatch):
    """Asking means a look into files, or a request to a role's server, where they are refreshed."""
    asked = []
    original = AioRequestSigner.get_auth_instance

    def asking(self, **signature):
        asked.append(signature)
        return original(self, **signature)

    monkeypatch.setattr(AioRequestSigner, "get_auth_instance", asking)
    storage = opened(stub)
    before = len(asked)
    assert keys_of(storage) == KEYS
    assert len(asked) - before == 2  # botocore for the first page, and once for all later pages


def test_an_anonymous_client_signs_nothing(stub, monkeypatch):
    """Public buckets are read without any key."""
    monkeypatch.setitem(fsspec.config.conf, "s3", {"anon": True})
    assert keys_of(opened(stub)) == KEYS
    assert {header(request, "Authorization") for request in stub.requests} == {None}
    assert is_own(stub.requests[-1])


def test_what_fsspec_knows_of_s3_is_honoured_and_its_caches_are_not(stub, monkeypatch):
    """Its configuration is for all programs; one that reads often may want a cache."""
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    known = {"endpoint_url": stub.url, "key": "AKofFSSPEC", "secret": "s"}
    cached = {"use_listings_cache": True, "skip_instance_cache": False, "max_paths": 9}
    monkeypatch.setitem(fsspec.config.conf, "s3", {**known, **cached})
    assert keys_of(opened(stub)) == KEYS
    assert {access_key(request) for request in stub.requests} == {"AKofFSSPEC"}


def test_a_proxy_is_used(stub, monkeypatch):
    """The one that botocore takes from the environment."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://store.invalid")
    monkeypatch.setenv("HTTP_PROXY", stub.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert keys_of(opened(stub)) == KEYS
    assert {header(request, "Host") for request in stub.requests} == {"store.invalid"}
    assert [is_own(request) for request in stub.requests[1:]] == [True] * 11


def test_certificates_are_checked_against_the_configured_bundle(monkeypatch, tmp_path):
    """A private authority is trusted where it is named, and nowhere else."""
    tls, bundle = certificate(tmp_path)
    with stub_server(tls=tls) as stub:
        monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AK")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "SK")
        monkeypatch.setenv("AWS_CA_BUNDLE", bundle)
        storage = opened(stub)
        assert keys_of(storage) == KEYS
        assert [is_own(request) for request in stub.requests[1:]] == [True] * 11
        monkeypatch.delenv("AWS_CA_BUNDLE")
        with pytest.raises(StorageUnreachableError, match=r"(?i)certificate|ssl|connect"):
            opened(stub).folder()


def certificate(folder) -> tuple[ssl.SSLContext, str]:
    """Return a server's TLS and the file with its self-signed certificate for 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = host_now()
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "cert.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    return context, str(files[0])


# -- trouble -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "trouble",
    [
        error("SlowDown", 503),
        error("SlowDown", 429),
        error("InternalError", 500),
        Answer("<html>bad gateway</html>", 502),
        Answer("", 504),
        CUT,
        Answer("", 200),
        Answer(CUT.body, length=5000),
        Answer("<html>please log in</html>"),
        Answer("<Error><Code>InternalError</Code></Error>"),
    ],
    ids=["503", "429", "500", "502", "504", "cut-xml", "empty", "cut-body", "html", "error-in-200"],
)
@pytest.mark.parametrize("times", [1, 6])
def test_what_passes_is_overcome_with_the_same_token(stub, trouble, times):
    """Whether once or often, nothing is left out and nothing comes twice."""
    storage = opened(stub, as_told=True)
    asked: list[str | None] = []

    def answer(request):
        token = request.query.get("continuation-token")
        asked.append(token)
        return trouble if token == "12" and asked.count("12") <= times else served(request, size=6)

    stub.answer = answer
    assert keys_of(storage) == KEYS
    assert asked == [None, "6", *["12"] * (times + 1), "18"]
    assert storage.list_requests == len(asked)


@pytest.mark.parametrize("trouble", [error("SlowDown", 503), CUT, Answer(CUT.body, length=5000)])
def test_trouble_that_does_not_pass_is_an_error_in_the_end(stub, trouble):
    """A bounded number of requests for one page."""
    storage = opened(stub, as_told=True)
    stub.answer = lambda r: trouble if "continuation-token" in r.query else served(r)
    with pytest.raises(StorageUnreachableError) as caught:
        keys_of(storage)
    assert len(stub.requests) == 1 + 8
    assert "SlowDown" in str(caught.value) or trouble.status == 200


def test_a_refusal_in_the_middle_is_botocores_to_word(stub):
    """It is asked once more through botocore, and then final."""
    storage = opened(stub, as_told=True)
    stub.answer = lambda r: (
        error("AccessDenied", 403) if r.query.get("continuation-token") == "4" else served(r)
    )
    with pytest.raises(StorageUnreachableError, match="AccessDenied"):
        keys_of(storage)
    assert [is_own(request) for request in stub.requests] == [False, True, True, False]


@pytest.mark.parametrize("odd", [Answer(status=301), error("Odd", 400), error("Expired", 403)])
def test_where_botocore_knows_better_it_does_the_listing(stub, odd):
    """Its answers count, and after three such cases it is asked at once."""
    storage = opened(stub, as_told=True)
    stub.answer = lambda r: odd if is_own(r) else served(r)
    assert keys_of(storage) == KEYS
    own = [is_own(request) for request in stub.requests]
    assert own == [False] + [True, False] * 3 + [False] * 8


def test_a_store_that_is_too_slow_for_a_page_is_asked_for_smaller_ones(stub, monkeypatch):
    """Half the keys after each timeout; after four good pages, twice as many again."""
    monkeypatch.setitem(s3_client._CONFIG, "read_timeout", speed.scaled(1))
    too_late = threading.Event()
    storage = opened(stub, as_told=True)
    sizes: list[str | None] = []

    def answer(request):
        size = request.query.get("max-keys")
        sizes.append(size)
        if request.query.get("continuation-token") == "2" and int(size or 1000) > 300:
            too_late.wait(speed.patience())
        return served(request)

    stub.answer = answer
    assert keys_of(storage) == KEYS
    assert sizes == [None, None, "500", *["250"] * 4, *["500"] * 4, None, None, None]
    too_late.set()


# -- order, and answers that do not add up -----------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [(["a", "c"], ["b", "d"]), (["a", "b"], ["b", "c"]), (["b", "a"], ["c"]), (["a", "a"], ["b"]),
     (["a", "b"], ["a", "b"]), (["\U0001f642"], ["\ufb01"]), (["b"], ["B"])],
)  # fmt: skip
def test_pages_that_are_out_of_order_are_an_error(stub, first, second):
    """Were such a store listed by ranges, keys would be lost between them."""
    storage = opened(stub, as_told=True)
    stub.answer = lambda r: (
        page(second) if "continuation-token" in r.query
        else page(first, truncated="true", token="t")
    )  # fmt: skip
    with pytest.raises(StorageUnreachableError, match="not ordered"):
        keys_of(storage)


def test_a_store_that_ignores_where_to_start_is_an_error(stub):
    """Each part would be the whole: right in the end, and never at an end."""
    storage = opened(stub, as_told=True)
    stub.answer = lambda _: page(["a", "b", "c"])
    assert keys_of(storage, None, "b") == ["a", "b"]
    with pytest.raises(StorageUnreachableError, match="not ordered"):
        keys_of(storage, "b", None)


JOB = "4ae4a2986a0e1a49b0f165b58085d4b3"
CLAIMER = "flink/J/chk-1/_metadata"
BESIDE = ["README", "a", CLAIMER, "flink/J/shared/u", "flink-b/K/chk-9/_metadata", "z"]


def in_folders(key: str) -> list[str]:
    return key.split("/")


@pytest.mark.parametrize("own", ["flink-b", "flink-a"])
def test_what_a_store_of_folders_lists_before_a_cut_is_not_lost_behind_it(stub, own):
    """Versity's gateway, Ozone's file-system buckets, SeaweedFS: ``flink/`` before ``flink-b/``.

    By their bytes it comes behind: the part before the cut left it to the part behind, which begins
    behind it. The search of a bucket cuts out the storage root, so it never saw the claimer's.
    """
    storage = opened(stub, keys=sorted(BESIDE, key=in_folders), order=in_folders)
    with pytest.raises(StorageUnreachableError, match="not ordered"):
        metadata_in(storage, [own], lambda *_: None)
    storage = opened(stub, keys=sorted(BESIDE))
    assert CLAIMER in [each.key for each in metadata_in(storage, [own], lambda *_: None).objects]


@pytest.mark.parametrize("order", [in_folders, str])
def test_a_cut_that_is_made_on_the_way_loses_nothing_in_a_store_of_folders(stub, order):
    """While a page is under way, an idle stream takes the half from within ``team-a/`` on.

    By folders all of ``team/`` comes before; it is on that page, and behind the cut by its bytes.
    """
    names = [f"{number:03x}" for number in range(8)]
    keys = sorted((f"{e}/{JOB}/{name}" for e in ("team-a", "team") for name in names), key=order)
    spool, cursors = MemorySpool(), list[RangeCursor]()
    known = landmarks((), {f"team-a/{JOB}": names}, {f"team-a/{JOB}": 10_000})
    scheduler = RangeScheduler([KeyRange()], known)

    def answer(request):
        if len(cursors) == 1:
            cursors.append(scheduler.take())
        return served(request, keys=keys, order=order)

    stub.answer = answer
    lister = RangeLister(opened(stub, as_told=True), spool, scheduler)
    cursors.append(scheduler.take())
    with nullcontext() if order is str else pytest.raises(StorageUnreachableError, match="ordered"):
        for number in range(2):
            list(lister._list_range(cursors[number], 1000))
        assert spool.keys == sorted(keys)
    assert len(cursors) == 2


def test_the_last_object_behind_a_cut_may_go_while_it_is_asked_for(stub):
    """Then nothing is behind it on either side, and the order is as good as before."""
    storage, listed = opened(stub, as_told=True), iter([["a", CLAIMER]])
    stub.answer = lambda request: served(request, keys=next(listed, ["a"]))
    assert keys_of(storage, None, "flink-b/") == ["a"]


def test_a_page_with_fewer_keys_than_it_counts_is_an_error(stub):
    """Something between the store and us lost some."""
    storage = opened(stub, as_told=True)
    stub.answer = lambda _: page(["a", "b"], extra="<KeyCount>3</KeyCount>")
    with pytest.raises(StorageUnreachableError, match="fewer keys"):
        keys_of(storage)


def test_a_token_is_followed_although_the_page_is_read_by_botocore(stub):
    """Odd pages between usual ones cost time only."""
    storage = opened(stub, as_told=True)

    def answer(request):
        usual = served(request)
        if request.query.get("continuation-token") in {"4", "8"}:
            return Answer(usual.body.replace("<Key>", "<!-- odd --><Key>", 1))
        return usual

    stub.answer = answer
    assert keys_of(storage) == KEYS
    assert storage.read_by == {"bytes": 10, "botocore": 2}


def test_an_answer_without_keys_in_the_middle_is_not_the_end(stub):
    """S3 may give an empty page with a token."""
    storage = opened(stub, as_told=True)
    stub.answer = lambda r: {
        None: page([], truncated="true", token="x"), "x": page(["a"], truncated="true", token="y"),
        "y": page([], truncated="true", token="z"), "z": page(["b"]),
    }[r.query.get("continuation-token")]  # fmt: skip
    assert keys_of(storage) == ["a", "b"]
    assert keys_of(storage, None, "a") == ["a"]


# -- directory buckets -------------------------------------------------------------------------


SESSION = (
    "<CreateSessionResult><Credentials><SessionToken>t</SessionToken>"
    "<SecretAccessKey>s</SecretAccessKey><AccessKeyId>SESSION</AccessKeyId>"
    "<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></CreateSessionResult>"
)


def test_a_directory_bucket_is_listed_in_one_stream(stub):
    """It has no order and no StartAfter; its sessions are botocore's business."""
    unordered = ["d/z", "d/a", "d/m"]
    stub.answer = lambda r: (
        Answer(SESSION) if "session" in r.query else served(r, keys=unordered, size=1)
    )
    storage = open_storage("s3://stubbed--usw2-az1--x-s3/d")
    assert not storage.is_ordered
    assert keys_of(storage) == ["z", "a", "m"]
    with pytest.raises(ValueError, match="no order"):
        keys_of(storage, "a", None)
    listings = [request for request in stub.requests if request.is_listing]
    assert {access_key(request) for request in listings} == {"SESSION"}
    assert {request.query["prefix"] for request in listings} == {"d/"}


def test_what_is_absent_in_a_directory_bucket_is_absent(stub):
    """It lists no prefix but a folder's; a look whether the bucket is there asks for that one."""

    def answer(request):
        if "session" in request.query:
            return Answer(SESSION)
        if not request.is_listing:
            return error("NoSuchKey", 404)
        is_folder = request.query["prefix"].endswith("/")
        return page(["d/a/other"]) if is_folder else error("InvalidArgument", 400)

    stub.answer = answer
    storage = open_storage("s3://stubbed--usw2-az1--x-s3/d")
    assert storage.stat(["a/x", "a/y"]) == [None, None]
    assert storage.part("a/x", start=0, size=4) is None
