"""Prometheus and the kubelet get what they ask for, without a look at any storage."""

import gzip

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as classic

from unit.app.web.client import Client
from unit.app.web.statuses import Source, a_status, fresh

REGISTRY = CollectorRegistry()
Counter("orphangc_runs", "Runs.", ["root"], registry=REGISTRY).labels("s3://bücket/x").inc(7)
CLIENT = Client(registry=REGISTRY)
OPEN = "application/openmetrics-text;version=1.0.0"


def test_alive_is_asked_of_the_scheduler_and_of_nothing_else():
    """A slow status must not look like death: the kubelet would restart the pod."""
    client = Client(source=Source(a_status()))
    assert client.get("/healthz").json() == {"status": "alive"}
    assert client.source.asked == ["is_alive"]
    client.source.alive = False
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json()["detail"] == "The scheduler has stopped."


def test_not_ready_says_why():
    """A bare 503 is no help."""
    answer = Client(a_status(not_ready="the configuration is being read")).get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["detail"] == "the configuration is being read"


def test_ready_says_no_more_than_that():
    answer = Client(fresh()).get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ready"})


def test_metrics_come_in_the_format_that_is_asked_for():
    """Prometheus asks for OpenMetrics, curl for anything."""
    plain = CLIENT.get("/metrics")
    assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert next(each.name for each in classic(plain.text)) == "orphangc_runs"
    strict = CLIENT.get("/metrics", headers={"Accept": f"{OPEN},text/plain;q=0.5"})
    assert strict.headers["content-type"].startswith(OPEN.replace(";", "; "))
    (family, *_) = open_metrics(strict.text)
    assert family.samples[0].labels == {"root": "s3://bücket/x"}


def test_metrics_are_compressed_for_clients_that_can_read_that():
    """Prometheus always asks for gzip."""
    registry = CollectorRegistry()
    counter = Counter("orphangc_runs", "Runs.", ["root"], registry=registry)
    for number in range(100):
        counter.labels(f"s3://bucket/{number}").inc()
    client = Client(registry=registry)
    raw = client.get("/metrics", headers={"Accept-Encoding": "gzip"})
    assert raw.headers["content-encoding"] == "gzip"
    assert raw.text == client.get("/metrics", headers={"Accept-Encoding": "identity"}).text
    assert len(gzip.compress(raw.content)) < len(raw.content)


@pytest.mark.parametrize(
    "accept",
    [
        "application/openmetrics-text;version=1.x",  # the library compares "x" with 0
        "application/openmetrics-text;version=",
        "application/openmetrics-text; version=1.0.0; escaping=allow-utf-8",
        "text/plain;version=one",
        "text/plain;version=1.0.0;version=<b>",
        ",,,;;;",
        "*/*",
    ],
)
def test_no_version_that_a_client_names_breaks_the_metrics(accept):
    """An answer of 500 here is a gap in every graph."""
    answer = CLIENT.get("/metrics", headers={"Accept": accept})
    assert answer.status_code == 200
    assert "<" not in answer.headers["content-type"]


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=80))
def test_no_accept_header_breaks_the_metrics(accept):
    """Whatever a client accepts, it gets metrics."""
    for kind in ("", "text/plain;version=", OPEN[:-5]):
        headers = httpx.Headers({"Accept": f"{kind}{accept}"})
        assert CLIENT.get("/metrics", headers=headers).status_code == 200
