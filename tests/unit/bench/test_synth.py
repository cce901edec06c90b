"""The synthetic endpoint is itself held to what a stock client and plain sets expect of S3."""

import random
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from email.utils import parsedate_to_datetime

import boto3
import numpy as np
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError

from bench.synth.keyspace import Ages, KeySpace, Run, Stored
from bench.synth.layouts import BUCKET, LAYOUTS
from bench.synth.running import Synth, synth_server
from orphangc.app.wiring.clock import now as host_now

pytestmark = pytest.mark.ci

KEYS, JOBS, LIVE = 1205, 2, 40
THIRD = KEYS // 3
AGES = Ages(1_700_000_000, 1_710_000_000)


def client_of(synth: Synth, **config: object):
    """Return boto3's client without retries."""
    return boto3.client(
        "s3",
        endpoint_url=synth.url,
        aws_access_key_id="a",
        aws_secret_access_key="b",
        region_name="us-east-1",
        config=Config(retries={"total_max_attempts": 1}, **config),
    )


class Rig:
    """An endpoint, a client, and all keys as one plain listing shows them."""

    def __init__(self, synth: Synth) -> None:
        self.synth = synth
        self.client = client_of(synth)
        self.objects = self.listed()
        self.keys = [each["Key"] for each in self.objects]

    def pages(self, version: str = "list_objects_v2", **request: object) -> list[dict]:
        paginator = self.client.get_paginator(version)
        return list(paginator.paginate(Bucket=BUCKET, **request))

    def listed(self, version: str = "list_objects_v2", **request: object) -> list[dict]:
        """Return all objects of all pages."""
        return [
            each for page in self.pages(version, **request) for each in page.get("Contents", ())
        ]

    def names(self, version: str = "list_objects_v2", **request: object) -> list[str]:
        """Return all keys of all pages."""
        return [each["Key"] for each in self.listed(version, **request)]

    def delete(self, keys: list[str], **delete: object) -> dict:
        """Delete keys in one request."""
        objects = [{"Key": key} for key in keys]
        return self.client.delete_objects(Bucket=BUCKET, Delete={"Objects": objects, **delete})


@pytest.fixture(scope="module", params=LAYOUTS)
def rig(request) -> Iterator[Rig]:
    with synth_server(
        keys=KEYS, jobs=JOBS, live=LIVE, layout=request.param, per_checkpoint=30
    ) as synth:
        yield Rig(synth)


@pytest.fixture(scope="module")
def one_rig() -> Iterator[Rig]:
    with synth_server(keys=2345, layout="uuid", live=LIVE) as synth:
        yield Rig(synth)


@pytest.fixture
def healthy(one_rig) -> Iterator[Rig]:
    """Yield a rig whose faults and deletions end with the test."""
    defaults = one_rig.synth.control()
    yield one_rig
    one_rig.synth.control(reset=1, **defaults)


def one_level(pages: list[dict]) -> tuple[list[str], list[str]]:
    """Return the objects and the common prefixes of some pages."""
    objects = [each["Key"] for page in pages for each in page.get("Contents", ())]
    return objects, [each["Prefix"] for page in pages for each in page.get("CommonPrefixes", ())]


def byte_order(keys: list[str]) -> list[str]:
    return sorted(keys, key=str.encode)


def test_a_stock_client_sees_every_key_once_in_order(rig):
    """Benchmarks compare counts: a key too many or too few would be taken for a fault of ours."""
    assert len(rig.keys) == KEYS
    assert len(set(rig.keys)) == KEYS
    assert rig.keys == byte_order(rig.keys)
    assert rig.names("list_objects") == rig.keys
    assert rig.names(MaxKeys=100) == rig.keys


def test_the_same_arguments_make_the_same_storage(rig):
    """Interleaved rounds compare clients on one and the same storage."""
    assert rig.listed() == rig.objects


def test_start_after_is_exclusive_at_and_around_every_kind_of_key(rig):
    """Key ranges are cut anywhere: at keys, between keys, below and above all."""
    dice = random.Random(7)
    chosen = [rig.keys[0], rig.keys[-1], *dice.sample(rig.keys, 4)]
    edges = [cut for key in chosen for cut in (key, key[:-1], key + "0", key[: len(key) // 2])]
    for start in [*edges, "a", "checkpoints/", "zzz", "\U0010ffff"]:
        expected = [key for key in rig.keys if key.encode() > start.encode()][:9]
        for call, after in (
            (rig.client.list_objects_v2, {"StartAfter": start}),
            (rig.client.list_objects, {"Marker": start}),
        ):
            answer = call(Bucket=BUCKET, MaxKeys=9, **after)
            assert [each["Key"] for each in answer.get("Contents", ())] == expected, start


def test_a_prefix_and_a_delimiter_show_one_level(rig):
    """Roots are found level by level."""
    folders = sorted({key[: at + 1] for key in rig.keys for at, c in enumerate(key) if c == "/"})
    for prefix in ["", *folders[:3], *folders[-3:], "checkpoints/0", "chk"]:
        inside = [key[len(prefix) :] for key in rig.keys if key.startswith(prefix)]
        wanted = byte_order([prefix + name for name in inside if "/" not in name])
        below = byte_order({prefix + n.partition("/")[0] + "/" for n in inside if "/" in n})
        for version in ("list_objects_v2", "list_objects"):
            request = {"Prefix": prefix, "Delimiter": "/", "MaxKeys": max(2, len(wanted) // 3)}
            assert one_level(rig.pages(version, **request)) == (wanted, below), (version, prefix)


def test_an_odd_delimiter_is_honoured_inside_names(rig):
    """The short cut for slashes must not be taken for a delimiter that names contain."""
    prefix = (
        next(key for key in rig.keys if "/shared/" in key).partition("/shared/")[0] + "/shared/"
    )
    inside = [key[len(prefix) :] for key in rig.keys if key.startswith(prefix)]
    _, shared = one_level(rig.pages(Prefix=prefix, Delimiter="a-"))
    assert shared == byte_order({prefix + n.partition("a-")[0] + "a-" for n in inside if "a-" in n})


def test_a_head_request_tells_what_the_listing_tells(rig):
    """The re-check before a deletion compares the two."""
    for listed in random.Random(3).sample(rig.objects, 10):
        head = rig.client.head_object(Bucket=BUCKET, Key=listed["Key"])
        told = (head["ETag"], head["ContentLength"], head["LastModified"])
        assert told == (listed["ETag"], listed["Size"], listed["LastModified"])
    with pytest.raises(ClientError, match="404"):
        rig.client.head_object(Bucket=BUCKET, Key="checkpoints/none")


def test_roots_are_served_whole_and_in_parts(rig):
    """A plan reads them; some clients ask for ranges."""
    root = next(each for each in rig.objects if each["Key"].endswith("/_metadata"))
    body = rig.client.get_object(Bucket=BUCKET, Key=root["Key"])["Body"].read()
    assert len(body) == root["Size"]
    part = rig.client.get_object(Bucket=BUCKET, Key=root["Key"], Range="bytes=3-10")
    assert part["Body"].read() == body[3:11]
    shared = root["Key"].partition("/chk-")[0] + "/shared/"
    names = [key for key in rig.keys if key.startswith(shared) and len(key) >= len(shared) + 36]
    assert sum(name.encode() in body for name in names) == LIVE


def test_slashes_may_be_escaped_and_the_token_may_come_last(rig):
    """A page reader once stopped at the first page of a server that writes so."""
    rig.synth.control(radosgw=True)
    page = f"{rig.synth.url}/{BUCKET}?list-type=2&encoding-type=url&max-keys=2"
    try:
        assert rig.listed() == rig.objects
        with urllib.request.urlopen(page) as answer:
            raw = answer.read()
        assert b"checkpoints%2F" in raw
        assert raw.index(b"</Contents>") < raw.index(b"<NextContinuationToken>")
    finally:
        rig.synth.control(radosgw=False)


def test_stores_tell_their_time(healthy):
    """The cutoff comes from the Date header."""
    headers = healthy.client.head_bucket(Bucket=BUCKET)["ResponseMetadata"]["HTTPHeaders"]
    assert abs(parsedate_to_datetime(headers["date"]) - host_now()) < timedelta(minutes=1)


def test_what_a_bucket_has_none_of_is_said_so(healthy):
    """Versions and unfinished uploads are asked for by every plan."""
    assert "Status" not in healthy.client.get_bucket_versioning(Bucket=BUCKET)
    assert "Uploads" not in healthy.client.list_multipart_uploads(Bucket=BUCKET)
    with pytest.raises(ClientError, match="NoSuchBucket"):
        healthy.client.list_objects_v2(Bucket="other")


def test_a_page_has_at_most_a_thousand_keys_and_may_have_none(healthy):
    """Clients that ask for more get a page of S3's size."""
    listed = healthy.client.list_objects_v2
    assert len(listed(Bucket=BUCKET, MaxKeys=5000)["Contents"]) == 1000
    nothing = listed(Bucket=BUCKET, MaxKeys=0)
    assert (nothing["KeyCount"], nothing["IsTruncated"]) == (0, False)


def test_deleted_keys_are_gone_from_everything(rig):
    """Not only from the pages: HEAD, folders and the counters must agree."""
    nameable = [key for key in rig.keys if "\x01" not in key]  # XML has no way to say it
    gone = [nameable[0], *nameable[500:900], nameable[-1]]
    try:
        answer = rig.delete(gone, Quiet=False)
        assert [each["Key"] for each in answer["Deleted"]] == gone
        assert "Deleted" not in rig.delete([*gone[:3], "never/was"], Quiet=True)
        rig.client.delete_object(Bucket=BUCKET, Key=rig.keys[THIRD])
        left = [key for key in rig.keys if key not in {*gone, rig.keys[THIRD]}]
        assert rig.names() == left
        assert rig.synth.stats()["keys_gone"] == KEYS - len(left)
        with pytest.raises(ClientError, match="404"):
            rig.client.head_object(Bucket=BUCKET, Key=gone[0])
        rig.delete(nameable[:1000])
        rig.delete(nameable[1000:])
        assert set(rig.names()) == set(rig.keys) - set(nameable)
        if len(nameable) == KEYS:
            assert one_level(rig.pages(Delimiter="/")) == ([], [])
    finally:
        rig.synth.control(reset=1)


def test_a_condition_on_the_etag_protects_a_changed_object(healthy):
    """AWS honours it key by key."""
    (a, b) = healthy.objects[5:7]
    objects = [{"Key": a["Key"], "ETag": a["ETag"]}, {"Key": b["Key"], "ETag": '"other"'}]
    answer = healthy.client.delete_objects(Bucket=BUCKET, Delete={"Objects": objects})
    assert [each["Key"] for each in answer["Deleted"]] == [a["Key"]]
    assert [(e["Key"], e["Code"]) for e in answer["Errors"]] == [(b["Key"], "PreconditionFailed")]


def test_a_thousand_and_one_keys_are_refused(healthy):
    """As S3 refuses them."""
    with pytest.raises(ClientError, match="MalformedXML"):
        healthy.delete([f"k{number}" for number in range(1001)])


@pytest.mark.parametrize(
    ("fault", "said"), [("slowdown", "SlowDown"), ("internal", "InternalError")]
)
def test_a_share_of_requests_is_refused(healthy, fault, said):
    """Retries are measured against it."""
    healthy.synth.control(**{fault: 1})
    with pytest.raises(ClientError, match=said):
        healthy.names()
    assert healthy.synth.stats()[f"fault_{fault}"] == 1


@pytest.mark.parametrize("fault", ["cut", "torn", "lost"])
def test_a_broken_page_is_an_error_to_a_stock_client(healthy, fault):
    """A page that ends early must never pass for a short one."""
    healthy.synth.control(**{fault: 1})
    with pytest.raises((BotoCoreError, ClientError)):
        healthy.names()


def test_a_lost_answer_was_work_done(healthy):
    """The client cannot know: the next attempt finds the keys gone."""
    healthy.synth.control(lost=1)
    with pytest.raises(BotoCoreError):
        healthy.delete(healthy.keys[:10])
    healthy.synth.control(lost=0)
    assert healthy.names() == healthy.keys[10:]


def test_a_hanging_request_is_neither_answered_nor_done(healthy):
    """Timeouts are the client's to set."""
    healthy.synth.control(hang=1)
    impatient = client_of(healthy.synth, read_timeout=0.3)
    with pytest.raises(ReadTimeoutError):
        impatient.delete_object(Bucket=BUCKET, Key=healthy.keys[0])
    impatient.close()
    healthy.synth.control(hang=0)
    assert healthy.names() == healthy.keys


def test_pages_can_be_repeated_and_out_of_order(healthy):
    """An ordered listing that is neither must be noticed."""
    healthy.synth.control(reorder=1)
    assert sorted(healthy.names()) == healthy.keys != healthy.names()
    healthy.synth.control(reorder=0, repeat=1)
    listed = healthy.client.list_objects_v2
    token = listed(Bucket=BUCKET, MaxKeys=100)["NextContinuationToken"]
    second = listed(Bucket=BUCKET, MaxKeys=100, ContinuationToken=token)
    assert [each["Key"] for each in second["Contents"]] == healthy.keys[:100]


def test_keys_fail_one_by_one_inside_a_success(healthy):
    """S3 answers 200 even when keys failed."""
    healthy.synth.control(key_errors=0.3, key_error_code="AccessDenied")
    answer = healthy.delete(healthy.keys[:1000])
    failed = {each["Key"] for each in answer["Errors"]}
    assert {each["Code"] for each in answer["Errors"]} == {"AccessDenied"}
    assert 200 < len(failed) < 400
    assert healthy.names() == [
        key for key in healthy.keys if key in {*failed, *healthy.keys[1000:]}
    ]


def test_the_quota_of_deletions_counts_keys(healthy):
    """3,500 a second is a quota of keys, whatever the requests."""
    healthy.synth.control(delete_keys_rps=0.001, burst_seconds=1_500_000)  # refills in days
    healthy.delete(healthy.keys[:1000])
    with pytest.raises(ClientError, match="SlowDown"):
        healthy.delete(healthy.keys[1000:2000])
    healthy.synth.control(throttles_keys=True)
    answer = healthy.delete(healthy.keys[1000:2000])
    assert {each["Code"] for each in answer["Errors"]} == {"SlowDown"}
    stats = healthy.synth.stats()
    assert stats["keys_gone"] == 1000 + len(answer.get("Deleted", ()))
    assert stats["keys_throttled"] == 1000 + len(answer["Errors"])


def test_the_quota_of_listings_counts_requests(healthy):
    """5,500 a second for each prefix."""
    healthy.synth.control(list_rps=0.001, burst_seconds=2_000)
    healthy.names(MaxKeys=1000, Prefix=healthy.keys[0])
    with pytest.raises(ClientError, match="SlowDown"):
        healthy.names()


def test_latency_is_waited_for(healthy):
    """The benches measure how ranges hide it."""
    healthy.synth.control(latency_ms=300)
    impatient = client_of(healthy.synth, read_timeout=0.1)
    with pytest.raises(ReadTimeoutError):
        impatient.list_objects_v2(Bucket=BUCKET, MaxKeys=1)
    impatient.close()
    assert healthy.client.list_objects_v2(Bucket=BUCKET, MaxKeys=1)["KeyCount"] == 1


def test_a_control_that_there_is_none_of_is_refused(healthy):
    """A mistyped fault would be a test of nothing."""
    with pytest.raises(OSError, match="400"):
        healthy.synth.control(slowdwon=1)


@pytest.mark.parametrize("count", [1, 2, 999, 100_000_000])
def test_rank_and_key_are_inverse_at_any_size(count):
    """A hundred million keys are never all rendered; both ways of computing one must agree."""
    run = Run(b"head/", count, seed=count)
    positions = np.unique(np.linspace(0, count - 1, 300).astype(np.int64))
    keys = [run.key(int(position)) for position in positions]
    assert keys == sorted(set(keys))
    assert [f"head/{name}".encode() for name in run.names(positions)] == keys
    assert [run.rank(key) for key in keys] == positions.tolist()
    assert [run.rank(key + b"\0") for key in keys] == (positions + 1).tolist()
    space = KeySpace([run], [Stored(b"a", 1), Stored(b"z", 1)])
    strange = [b"head/0", b"x" * 36, b"head/" + b"z" * 36, keys[0][:-1] + b"\xff"]
    expected = [0, *(positions + 1).tolist(), *(-1 for _ in strange), count + 1]
    assert space.find_all([b"a", *keys, *strange, b"z"]).tolist() == expected


def test_keys_of_two_segments_never_interleave():
    """Ranks would be wrong without a word."""
    with pytest.raises(ValueError, match="interleaved"):
        KeySpace([Run(b"x/", 10)], [Stored(b"x/8", 1)])
