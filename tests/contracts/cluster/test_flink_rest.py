"""Flink's REST API as ``ClusterClient``: real answers are read; no failure means "no jobs"."""

import base64
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import stamina

from integration.harness.flinkbed import cluster as flinkbed
from integration.harness.flinkbed.cluster import Cluster
from integration.harness.flinkbed.fixtures import flink_cluster, started_flink_cluster
from integration.harness.flinkbed.settings import DEFAULT_RETAINED, ON_REQUEST
from orphangc.adapters.flink import flink_rest
from orphangc.adapters.flink.flink_rest import FlinkRest
from orphangc.core.cluster.job_facts import (
    ClusterFacts,
    JobFacts,
    eligibility_problem,
    external_paths,
    is_not_subsumed,
    is_same_incarnation,
)
from orphangc.core.model.flink_versions import is_tested_version
from orphangc.core.model.types import JobId
from orphangc.errors import RegistryUnavailableError, SettingsError
from orphangc.ports import ClusterClient
from support import speed
from support.rest_server import SCENARIOS, RestServer, as_json, saved, saved_routes, send

__all__ = ["flink_cluster", "started_flink_cluster"]

NOW = datetime(2026, 11, 21, 14, tzinfo=UTC)
HEALTHY = "1.20.5/healthy"
# scenario: newest completed, with savepoints, restored, pending
EXPECTED = {
    "healthy": (6, 6, None, ()),
    "aborted": (11, 11, 7, ()),
    "live-pending": (9, 9, 4, (10,)),
    "savepoints": (6, 6, None, ()),
    "tm-kill": (12, 12, 7, ()),
    "2.3.0/healthy": (6, 6, 5, ()),
    "2.3.0/aborted": (10, 10, 7, ()),
}


@pytest.fixture(autouse=True)
def _no_waiting() -> Iterator[None]:
    """Retries happen, at most as often as the adapter wants, and at once."""
    with stamina.set_testing(True, attempts=9, cap=True):
        yield


def registry(url: str, *, seconds: float | None = None) -> ClusterClient:
    timeout = timedelta(seconds=speed.answer() if seconds is None else seconds)
    return FlinkRest(url, timeout=timeout)


def observed(scenario: str) -> ClusterFacts:
    with RestServer(saved_routes(scenario)) as server:
        return registry(server.url).observe()


def only_job(cluster: ClusterFacts) -> JobFacts:
    (job,) = cluster.jobs.values()
    return job


def job_route(suffix: str = "", scenario: str = HEALTHY) -> str:
    return f"/jobs/{saved(scenario, 'job')['jid']}{suffix}"


def failure(server: RestServer, *, seconds: float | None = None) -> str:
    with pytest.raises(RegistryUnavailableError) as caught:
        registry(server.url, seconds=seconds).observe()
    message = str(caught.value)
    assert "\n" not in message
    assert server.url in message
    assert "nothing is known of its jobs" in message
    return message


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_saved_cluster_is_read(scenario: str) -> None:
    """Fifteen real clusters of three releases give the numbers that they showed."""
    cluster = observed(scenario)
    version, _, name = scenario.partition("/")
    job = only_job(cluster)
    completed, with_savepoints, restored, pending = EXPECTED.get(scenario, EXPECTED[name])
    assert cluster.flink_version == version
    assert is_tested_version(cluster.flink_version)
    assert cluster.cache_seconds == 0.2
    assert (job.status, job.is_globally_terminal) == ("RUNNING", False)
    assert (job.max_concurrent, job.checkpoint_interval_ms) == (1, 2000)
    assert job.latest_completed_id == completed
    assert max((e.id for e in job.checkpoints if e.is_completed), default=None) == with_savepoints
    assert (job.restored and job.restored.id) == restored
    assert job.in_progress_ids == pending
    assert job.in_progress_count == len(pending)
    assert job.changelog_enabled is (None if version == "1.15.4" else False)
    assert eligibility_problem(job) is None


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_path_that_a_cluster_shows_is_reported(scenario: str) -> None:
    """Nothing in the raw answer that looks like a path is left out."""
    raw = saved(scenario, "job-checkpoints")
    shown = {each.get("external_path") for each in raw["history"]}
    shown |= {(each or {}).get("external_path") for each in raw["latest"].values()}
    assert external_paths(observed(scenario)) == shown - {None}
    assert all(path.startswith("file:/tmp/flink-checkpoints/") for path in shown - {None})


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_two_looks_at_one_cluster_prove_its_newest_checkpoint_only(scenario: str) -> None:
    """The same answer twice: same incarnation, the newest checkpoint unsubsumed, older ones not."""
    before, after = only_job(observed(scenario)), only_job(observed(scenario))
    newest = after.latest_completed_id
    assert newest is not None
    assert is_same_incarnation(before, after)
    assert is_not_subsumed(newest, before, after)
    assert not is_not_subsumed(newest - 1, before, after)


def test_two_jobs_are_two_incarnations() -> None:
    """Nothing that one job says speaks for another."""
    one, other = only_job(observed(HEALTHY)), only_job(observed("2.3.0/healthy"))
    assert not is_same_incarnation(one, other)


def test_a_listed_job_without_details_fails_the_observation() -> None:
    """The saved list has jobs that ended; without their answers their checkpoints are unknown."""
    routes = saved_routes("1.20.5/tm-kill")
    routes["/jobs"] = as_json(saved("1.20.5/tm-kill", "jobs"))
    with RestServer(routes) as server:
        assert "answered 404" in failure(server)


def test_an_answer_without_a_body_says_that_it_gives_no_reason() -> None:
    """As a proxy in front of Flink refuses."""
    routes = saved_routes(HEALTHY)
    routes["/config"] = (401, b"")
    with RestServer(routes) as server:
        assert "/config: answered 401: no reason given;" in failure(server)


def test_a_job_without_checkpointing_has_no_facts_about_it() -> None:
    """Flink says so by a 404 of its own; the gate stays shut."""
    routes = saved_routes(HEALTHY)
    routes[job_route("/checkpoints")] = as_json(
        {"errors": ["...RestHandlerException: Checkpointing has not been enabled.\n\tat x"]}, 404
    )
    routes[job_route("/checkpoints/config")] = as_json(
        {"errors": ["...RestHandlerException: Checkpointing is not enabled for this job (4a).\n"]},
        404,
    )
    with RestServer(routes) as server:
        job = only_job(registry(server.url).observe())
    assert job.max_concurrent is job.state_backend is job.latest_completed_id is None
    assert job.checkpoints == ()
    assert "no checkpoint configuration" in (eligibility_problem(job) or "")


@pytest.mark.parametrize("suffix", ["", "/checkpoints", "/checkpoints/config"])
def test_a_job_that_vanishes_is_not_a_job_without_checkpoints(suffix: str) -> None:
    """Another 404 at the same place is a failure."""
    routes = saved_routes(HEALTHY)
    routes[job_route(suffix)] = as_json({"errors": ["Job 4ae4a2986a0e not found"]}, 404)
    with RestServer(routes) as server:
        message = failure(server)
    assert f"{job_route(suffix)}: answered 404" in message


def test_a_cluster_without_jobs_is_an_answer() -> None:
    """An empty list, said by Flink, is a fact."""
    with RestServer({**saved_routes(HEALTHY), "/jobs": as_json({"jobs": []})}) as server:
        assert registry(server.url).observe().jobs == {}


@pytest.mark.parametrize("path", ["/config", "/jobmanager/config", "/jobs", "details"])
@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_lasting_server_error_fails_after_bounded_attempts(path: str, status: int) -> None:
    """Four attempts, then the answer counts as missing."""
    path = job_route() if path == "details" else path
    body = b'{"errors":["Service temporarily unavailable due to an ongoing leader election."]}'
    with RestServer({**saved_routes(HEALTHY), path: (status, body)}) as server:
        message = failure(server)
        assert server.asked[path] == 4
    assert f"{path}: answered {status}" in message
    assert "leader election" in message


def test_a_passing_server_error_is_waited_out() -> None:
    """A leader election between two attempts costs nothing but time."""
    routes = saved_routes(HEALTHY)
    good = routes["/jobs"]
    with RestServer(routes) as server:

        def sometimes(handler: BaseHTTPRequestHandler) -> None:
            assert isinstance(good, tuple)
            send(handler, *((503, b"") if server.asked["/jobs"] < 3 else good))

        routes["/jobs"] = sometimes
        assert len(registry(server.url).observe().jobs) == 1
        assert server.asked["/jobs"] == 3


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_refusal_is_not_repeated(status: int) -> None:
    """What the server means, it means the second time too."""
    with RestServer({**saved_routes(HEALTHY), "/jobs": (status, b"no")}) as server:
        assert f"answered {status}: no" in failure(server)
        assert server.asked["/jobs"] == 1


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"<html>please log in</html>",
        b"null",
        b"[]",
        b"{}",
        b'{"jobs":null}',
        b'{"jobs":[{}]}',
        b'{"jobs":[{"id":"x","status":"RUNNING"}]}',
        b'{"jobs":[{"id":"' + b"A" * 32 + b'","status":"RUNNING"}]}',
        b"\xff\xfe",
        b'{"jobs":[',
        b"[" * 100_000,
    ],
)
def test_garbage_is_not_an_empty_list(garbage: bytes) -> None:
    """Whatever is not Flink's list of jobs fails, and the message names the path."""
    with RestServer({**saved_routes(HEALTHY), "/jobs": (200, garbage)}) as server:
        assert "/jobs: " in failure(server)


@pytest.mark.parametrize(
    ("name", "suffix", "field"),
    [
        ("job", "", "jid"),
        ("job", "", "state"),
        ("job", "", "start-time"),
        ("job", "", "timestamps"),
        ("job-checkpoints", "/checkpoints", "counts"),
        ("job-checkpoints", "/checkpoints", "latest"),
        ("job-checkpoints", "/checkpoints", "history"),
        ("job-checkpoints-config", "/checkpoints/config", "max_concurrent"),
        ("job-checkpoints-config", "/checkpoints/config", "interval"),
        ("job-checkpoints-config", "/checkpoints/config", "timeout"),
        ("job-checkpoints-config", "/checkpoints/config", "state_backend"),
        ("job-checkpoints-config", "/checkpoints/config", "checkpoint_storage"),
    ],
)
@pytest.mark.parametrize("damage", ["missing", "wrong"])
def test_a_needed_field_that_is_missing_or_ill_typed_is_named(
    name: str, suffix: str, field: str, damage: str
) -> None:
    """Path and field stand in the message; the other fields do not make up for it."""
    answer: dict[str, Any] = saved(HEALTHY, name)
    if damage == "missing":
        del answer[field]
    else:
        answer[field] = ["1"] if field == "counts" else 1.5
    with RestServer({**saved_routes(HEALTHY), job_route(suffix): as_json(answer)}) as server:
        message = failure(server)
    assert f"{job_route(suffix)}: field {field}" in message


@pytest.mark.parametrize("path", ["/config", "/jobmanager/config"])
def test_the_cluster_settings_are_needed(path: str) -> None:
    """Without them neither version nor cache age is known."""
    with RestServer({**saved_routes(HEALTHY), path: as_json({"a": 1})}) as server:
        assert f"{path}: " in failure(server)


def test_a_hanging_server_is_given_up() -> None:
    """Each attempt ends at the timeout."""
    with RestServer(saved_routes(HEALTHY)) as server:
        server.routes["/jobs"] = lambda _: server.stopped.wait(speed.patience()) and None
        message = failure(server, seconds=speed.scaled(0.1))
        assert server.asked["/jobs"] == 4
        server.stopped.set()
    assert "/jobs: no answer in time" in message


def test_a_dripping_server_is_given_up() -> None:
    """A byte now and then keeps every read alive; the whole answer has a limit too."""

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(1000):
            if server.stopped.wait(0.02):
                return
            try:
                handler.wfile.write(b" ")
                handler.wfile.flush()
            except OSError:
                return

    with RestServer(saved_routes(HEALTHY)) as server:
        server.routes["/jobs"] = drip
        assert "/jobs: the answer took too long" in failure(server, seconds=speed.scaled(0.15))


def test_an_answer_that_breaks_off_is_not_an_answer() -> None:
    """Half a body is a failure of the connection, tried again and then fatal."""

    def half(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"jobs":[]}')
        handler.close_connection = True

    with RestServer({**saved_routes(HEALTHY), "/jobs": half}) as server:
        assert "/jobs: RemoteProtocolError" in failure(server)
        assert server.asked["/jobs"] == 4


def test_an_endless_answer_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server cannot fill our memory."""
    monkeypatch.setattr(flink_rest, "_MAX_ANSWER_BYTES", 100)
    with RestServer(saved_routes(HEALTHY)) as server:
        assert "the answer is too long" in failure(server)


def test_nobody_listening_is_a_failure() -> None:
    """A refused connection never means that no job runs."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(RegistryUnavailableError, match="/config: ConnectError"):
            registry(url).observe()


def test_a_redirect_is_not_followed() -> None:
    """Not even to a server that would answer, which sees no request and no password."""
    with RestServer(saved_routes(HEALTHY)) as other, RestServer({}) as server:
        server.routes["/config"] = lambda handler: send(
            handler, 302, b"", Location=f"{other.url}/config"
        )
        assert "/config: answered 302, a redirect" in failure(server)
        assert not other.asked


def test_the_password_is_sent_and_never_shown() -> None:
    """Basic authentication from the URL; neither the facts nor a failure repeat it."""
    with RestServer(saved_routes(HEALTHY)) as server:
        rest = registry(f"http://anna:s3cr%40t@{server.address}")
        cluster = rest.observe()
        token = base64.b64encode(b"anna:s3cr@t").decode()
        assert server.headers["Authorization"] == f"Basic {token}"
        server.routes["/config"] = (500, b"x")
        with pytest.raises(RegistryUnavailableError) as caught:
            rest.observe()
    assert rest.uri == cluster.uri == server.url
    assert server.url in str(caught.value)
    chain = [caught.value, caught.value.__cause__, caught.value.__cause__.__cause__]
    for shown in (*map(repr, chain), repr(cluster)):
        assert "anna" not in shown
        assert "s3cr" not in shown
        assert token not in shown


def test_a_prefix_of_a_proxy_stays_before_every_path() -> None:
    """YARN and gateways serve Flink below a path of theirs."""
    routes = {f"/proxy/app_1{path}": reply for path, reply in saved_routes(HEALTHY).items()}
    with RestServer(routes) as server:
        assert len(registry(f"{server.url}/proxy/app_1/").observe().jobs) == 1


@pytest.mark.parametrize(
    "url",
    [
        "",
        "flink:8081",
        "ftp://anna:s3cr3t@flink",
        "http://",
        "http://anna:s3cr3t@",
        "http://anna:s3cr3t@flink:port",
        "http://anna:s3cr3t@flink/?a=1",
        "http://anna:s3cr3t@flink/#a",
        "/jobs",
    ],
)
def test_what_is_no_address_is_a_settings_error(url: str) -> None:
    """Said before anything is asked, and without the password."""
    with pytest.raises(SettingsError) as caught:
        registry(url)
    assert "s3cr3t" not in str(caught.value)


def test_the_longer_cache_counts() -> None:
    """Checkpoint statistics may be cached for longer than ``/config`` states."""
    options = [{"key": "rest.cache.checkpoint-statistics.timeout", "value": "2 min"}]
    with RestServer({**saved_routes(HEALTHY), "/jobmanager/config": as_json(options)}) as server:
        assert registry(server.url).observe().cache_seconds == 120


@pytest.mark.flink
def test_a_living_flink_is_read(flink_cluster: Cluster, tmp_path: Path) -> None:
    """A killed TaskManager leaves the incarnation alone; an ended job says so; a new JobManager
    knows nothing of either, and absence is all that it tells.
    """
    rest = registry(flink_cluster.rest_url)
    job_id = JobId(flink_cluster.submit(tmp_path / "state", interval=ON_REQUEST))
    flink_cluster.wait_for_checkpoints(job_id, 2)
    cluster = rest.observe()
    job = cluster.jobs[job_id]
    assert (cluster.flink_version, eligibility_problem(job)) == (flink_cluster.version, None)
    assert job.latest_completed_id is not None

    flink_cluster.kill_taskmanager()
    flink_cluster.start_taskmanager()
    flink_cluster.wait_for_checkpoints(job_id, int(DEFAULT_RETAINED) + 1)
    after = rest.observe().jobs[job_id]
    assert after.restored is not None
    assert is_same_incarnation(job, after)
    assert after.latest_completed_id is not None
    assert not is_not_subsumed(job.latest_completed_id, job, after), "three are retained"
    assert is_not_subsumed(after.latest_completed_id, job, after)

    flink_cluster.cancel(job_id)
    assert rest.observe().jobs[job_id].is_globally_terminal
    flink_cluster.kill_jobmanager()
    flink_cluster.kill_taskmanager()
    with pytest.raises(RegistryUnavailableError):
        rest.observe()
    flink_cluster.start_jobmanager()
    assert rest.observe().jobs == {}


@pytest.mark.flink
def test_a_living_job_that_never_checkpoints_is_read(
    flink_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flink shows a streaming job without checkpointing as one that waits for ever; without a
    checkpoint folder the gate stays shut.
    """
    monkeypatch.setattr(flinkbed, "job_settings", lambda *_: {})
    job_id = JobId(flink_cluster.submit(tmp_path / "state"))
    job = registry(flink_cluster.rest_url).observe().jobs[job_id]
    assert (job.checkpoint_interval_ms, job.max_concurrent) == (2**63 - 1, 1)
    assert (job.checkpoints, job.latest_completed_id, job.restored) == ((), None, None)
    assert "checkpoint storage JobManagerCheckpointStorage" in (eligibility_problem(job) or "")
