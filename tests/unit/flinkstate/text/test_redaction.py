"""No credential survives, nothing that is a mere name is taken away, and no name takes long."""

import json
import time

import pytest

from flinkstate.text.redaction import redacted
from support import speed

HIDDEN = "p4ssw0rdOfSomebody"


@pytest.mark.parametrize(
    "text",
    [
        "AccountKey=X;", "SharedAccessKey=X", "secretAccessKey=X", "accessToken=X", "pwd=X",
        "api.key=X", 'token="X"', '{"token":"X"}', "{'secret': 'X'}", "password: X", "sig%3DX",
        "Authorization: Bearer X", "http://user:pa'X@host/x", "ABFSS://c:X@acc/y", "s3:/me:X@b",
        "http://me:a/X@host/x", "'https://me:X/b@host'",
    ],
)  # fmt: skip
def test_no_form_of_a_secret_stays(text: str) -> None:
    assert HIDDEN not in redacted(text.replace("X", HIDDEN))


@pytest.mark.parametrize(
    "text", ["a_" * 50_000, "x://" + ":" * 50_000, "//a" * 30_000, "@" * 50_000]
)
def test_no_name_keeps_anybody_busy(text: str) -> None:
    """A second for a hundred thousand characters is what a busy machine takes at the most."""
    began = time.process_time()
    redacted(text)
    assert time.process_time() - began < speed.scaled(5)


@pytest.mark.parametrize(
    "text",
    [
        "ABFSS://container@account/x", "s3://bucket/a@b",
        "abfs://container@account.dfs.core.windows.net/ck", "mail me@host",
        "/flink/job:1/a@b", "2026-11-20T10:11:12Z by me@host", "the design is = 7",
        "hdfs://nn:8020/ck@prod/x", "s3://bucket/ck/?versions", "token is absent", "assigned=7",
        "file:///a:b/c@d",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(text: str) -> None:
    """Names of places are what messages are read for."""
    assert redacted(text) == text


def test_what_is_left_is_a_url_and_is_left_alone_a_second_time() -> None:
    """Messages go through several hands."""
    once = redacted(f"GET https://me:{HIDDEN}@h/b?list-type=2&X-Amz-Signature={HIDDEN}&a=b")
    assert once == "GET https://h/b?list-type=2&X-Amz-Signature=***&a=b"
    assert redacted(once) == once
    assert redacted(f"//me:{HIDDEN}@h/b") == "//h/b"
    assert json.loads(redacted(json.dumps({"u": f"http://me:{HIDDEN}@h"}))) == {"u": "http://h"}
