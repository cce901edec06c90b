"""Nothing can be changed, every answer carries its headers, and errors are clean."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.app.config.configuration import HttpSettings
from unit.app.web.client import Client

PATHS = ("/", "/jobs", "/runs", "/metrics", "/healthz", "/ui/runs", "/openapi.json", "/nowhere")
CLIENT = Client()


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"])
@pytest.mark.parametrize("path", PATHS)
def test_only_reading_is_answered(method, path):
    """There is no way to change anything over HTTP, on whatever path."""
    answer = CLIENT.ask(method, path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("path", PATHS)
def test_head_says_what_get_says_without_the_body(path):
    """Monitors and load balancers ask with HEAD."""
    head, get = CLIENT.ask("HEAD", path), CLIENT.get(path)
    assert (head.status_code, head.content) == (get.status_code, b"")
    assert head.headers["content-type"] == get.headers["content-type"]


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_leaves_a_browser_no_choice(path):
    """No foreign script, no text made code, no frame, no guessing of types, nothing kept."""
    headers = CLIENT.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert [each.strip() for each in policy.split(";") if "script" in each] == [
        "script-src 'self'",
        "require-trusted-types-for 'script'",
    ]
    assert "trusted-types 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


def test_an_unknown_path_is_a_document_for_programs_and_a_page_for_browsers():
    """A stack trace is neither."""
    document = CLIENT.get("/nowhere")
    assert document.status_code == 404
    assert document.json()["status"] == 404
    page = CLIENT.get("/nowhere", headers={"Accept": "text/html,*/*;q=0.8"})
    assert page.status_code == 404
    assert "To the status page" in page.text
    assert CLIENT.get("/ui/nowhere").headers["content-type"].startswith("text/html")


def test_a_bug_shows_nothing_of_itself():
    """The client learns that there is a log, not what stands in memory."""

    class Broken:
        def status(self):
            raise RuntimeError("password=hunter2")

        def is_alive(self):
            return True

    client = Client(source=Broken())
    for path in ("/", "/jobs", "/readyz"):
        answer = client.get(path)
        assert answer.status_code == 500
        assert "hunter2" not in answer.text
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert client.get("/healthz").status_code == 200


def test_named_hosts_keep_other_names_out_but_probes_get_in():
    """A page of another site cannot read this one by a name that it lets point here."""
    client = Client(http=HttpSettings(allowed_hosts=("orphangc.example", "[::1]")))
    for host in ("orphangc.example", "ORPHANGC.example:8080", "[::1]:8080"):
        assert client.get("/", headers={"Host": host}).status_code == 200
    for host in ("evil.example", "orphangc.example.evil.example", "", "[::1", "x@orphangc.example"):
        assert client.get("/", headers={"Host": host}).status_code == 421
        assert client.get("/jobs", headers={"Host": host}).status_code == 421
        assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    ("host", "known", "strange"),
    [
        ("127.0.0.1", ("localhost:8080", "127.0.0.1", "[::1]:8080"), "evil.example"),
        ("10.1.2.3", ("10.1.2.3:8080", "localhost"), "10.1.2.4"),
        ("fd00::1", ("[fd00::1]:8080", "127.0.0.1"), "[fd00::2]"),
    ],
)
def test_by_default_loopback_and_the_configured_host_are_answered(host, known, strange):
    """A name of another site that points here reads nothing."""
    client = Client(http=HttpSettings(host=host))
    assert {client.get("/", headers={"Host": each}).status_code for each in known} == {200}
    assert client.get("/", headers={"Host": strange}).status_code == 421


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_daemon_on_every_interface_answers_any_name_unless_some_are_given(host):
    """A service and an ingress have names that it cannot know."""
    assert Client(http=HttpSettings(host=host)).get("/", headers={"Host": "x"}).status_code == 200


def test_large_answers_are_compressed_if_asked():
    """A page over a thousand jobs is large."""
    answer = CLIENT.get("/", headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in CLIENT.get("/", headers={"Accept-Encoding": ""}).headers


def test_a_proxy_s_path_is_in_every_link():
    """Behind an ingress the app does not stand at the top."""
    client = Client(http=HttpSettings())
    client.app.root_path = "/tools/orphangc"
    text = client.get("/tools/orphangc/").text
    assert 'href="/tools/orphangc/ui/runs"' in text
    assert 'href="/ui/' not in text


@given(path=st.text(max_size=60), accept=st.sampled_from(["text/html", "*/*", ""]))
def test_no_path_makes_it_stumble(path, accept):
    """Whatever is asked for gets a clean answer."""
    url = quote(f"/ui/{path}" if accept else f"/{path}", errors="replace")
    answer = CLIENT.get(url, headers={"Accept": accept})
    assert answer.status_code in {200, 404, 422}
