"""The status page in a real headless Chromium, as wide as a desk and as narrow as a phone."""

import json
import struct
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import uvicorn
from prometheus_client import CollectorRegistry

from orphangc.app.render_checkpoint.checkpoint_html import page_part
from orphangc.app.web.http_app import create_app
from support import speed
from support.processes import until
from unit.app.web.plans import a_kept_plan
from unit.app.web.statuses import STORIES, Source, a_record, a_root, a_status, crowded

pytestmark = pytest.mark.chromium

DESK, PHONE = 1280, 390
LOOKS = [(DESK, "light"), (PHONE, "light"), (DESK, "dark"), (PHONE, "dark"), (375, "light")]

OVERFLOWING = """
[...document.querySelectorAll('body *')].filter(each => {
  if (each.closest('.scroll') || each.closest('svg') || each.matches('.skip')) return false;
  const box = each.getBoundingClientRect();
  return box.width > 0 && box.right > document.documentElement.clientWidth + 0.5;
}).map(each => each.tagName + ': ' + each.textContent.trim().slice(0, 60))
"""


@contextmanager
def served(source: Source) -> Iterator[str]:
    app = create_app(source, CollectorRegistry(), page_part)
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="error", lifespan="off", server_header=False
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(speed.command())


@pytest.fixture(scope="module")
def source() -> Source:
    """What the served app tells of; tests change it."""
    return Source(a_status())


@pytest.fixture(scope="module")
def base(source: Source) -> Iterator[str]:
    """Where the app is served, once for the module."""
    with served(source) as url:
        yield url


def paths_of(status) -> list[str]:
    paths = ["/", "/ui/runs"]
    root = next((each for each in status.roots if each.jobs), None)
    if root is not None:
        run = root.newest_plan.run_id
        paths += [f"/ui/runs/{run}{each}" for each in ("", "/objects?key=x", "/lineages")]
        paths += [f"/ui/jobs/{root.jobs[0].job_id}"]
    return paths


def pixels(png: bytes) -> tuple[int, int, set[bytes]]:
    """Return width, height and the different rows of a PNG; a picture has many."""
    assert png.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", png[16:24])
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        data += png[at + 8 : at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    raw = zlib.decompress(data)
    stride = len(raw) // height
    return width, height, {raw[row * stride : (row + 1) * stride] for row in range(height)}


@pytest.mark.parametrize("story", STORIES)
def test_pages_render_without_a_complaint_and_fit_the_screen(story, browser, source, base):
    """No error, no request to anybody else, nothing that sticks out, at a desk and on a phone."""
    source.now = STORIES[story]()
    for path in paths_of(source.now):
        for width, scheme in LOOKS if path == "/" else LOOKS[:2]:
            browser.open(base + path, width=width, scheme=scheme)
            where = f"{path} at {width}, {scheme}"
            assert browser.look.complaints == [], where
            assert all(url.startswith(base + "/") for url in browser.look.requests), where
            assert browser.evaluate("document.styleSheets.length") == 1, where
            assert browser.evaluate("document.documentElement.scrollWidth") <= width, where
            assert browser.evaluate(f"JSON.stringify({OVERFLOWING})") == "[]", where


def test_the_page_is_painted_in_the_scheme_that_is_asked_for(browser, source, base):
    """Dark is dark, and something is drawn."""
    source.now = STORIES["well"]()
    for width, scheme in LOOKS:
        browser.open(base + "/", width=width, scheme=scheme)
        ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == {"light": "rgb(244, 245, 247)", "dark": "rgb(20, 23, 26)"}[scheme]
        shot_width, height, rows = pixels(browser.screenshot())
        assert shot_width == width
        assert height > 1000
        assert len(rows) > 200


def test_what_matters_stands_on_the_first_screen(browser, source, base):
    """Nobody scrolls to learn whether something is wrong; not on a phone either."""
    for story, first in (
        ("fresh", "Nothing has been looked at yet"),
        ("reporting", "78.0 GB could be freed"),
        ("well", "All is well: nothing to do"),
        ("troubled", "8 things need you"),
    ):
        source.now = STORIES[story]()
        browser.open(base + "/", width=PHONE)
        told = browser.evaluate(
            "(() => { const h = document.querySelector('h1'), l = document.querySelector('.lead');"
            " return JSON.stringify([h.textContent, l.getBoundingClientRect().bottom]) })()"
        )
        heading, bottom = json.loads(told)
        assert first in heading
        assert bottom < 400


def test_the_keyboard_reaches_everything_and_the_focus_is_seen(browser, source, base):
    """The first stop skips to the content; every further one is outlined."""
    source.now = STORIES["reporting"]()
    browser.open(base + "/", width=DESK)
    browser.press("Tab")
    assert browser.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert browser.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    browser.press("Enter")
    assert browser.evaluate("location.hash") == "#main"
    seen = set()
    for _ in range(12):
        browser.press("Tab")
        seen.add(browser.evaluate("document.activeElement.outerHTML"))
        assert browser.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert len(seen) == 12


def test_a_screen_reader_is_told_every_picture_and_every_field(browser, source, base, tmp_path):
    """By Chromium's own accessibility tree: what has a role that needs a name has one."""
    record = a_kept_plan(tmp_path / "plan")
    kept = a_status(a_root(record, settings={"root": record.root}))
    for status in (STORIES["well"](), STORIES["troubled"](), kept):
        source.now = status
        for path in paths_of(status):
            browser.open(base + path, width=DESK)
            named = {"image", "img", "link", "button", "textbox", "heading", "table", "region"}
            nodes = [
                node
                for node in browser.accessible_tree()
                if not node["ignored"] and node["role"]["value"] in named
            ]
            unnamed = [node for node in nodes if not node.get("name", {}).get("value", "").strip()]
            assert nodes
            assert unnamed == [], path


def test_a_person_finds_out_why_an_object_goes(browser, source, base, tmp_path):
    """From the first page to one object by clicking, and by typing its name."""
    record = a_kept_plan(tmp_path / "plan")
    source.now = a_status(a_root(record, settings={"root": record.root}))
    browser.open(base + "/", width=PHONE)
    run = f"/ui/runs/{record.run_id}"
    assert browser.evaluate(f"document.querySelector('a[href=\"{run}\"]') !== null")
    browser.open(f"{base}{run}/objects", width=PHONE)
    key = browser.evaluate("document.querySelector('.examples a code').textContent")
    browser.open(base + run, width=PHONE)
    browser.evaluate(f"document.querySelector('#key').value = {json.dumps(key)}")
    browser.evaluate("document.querySelector('#key').focus()")
    browser.press("Enter")
    browser.wait_until_loaded()
    assert browser.evaluate("document.querySelector('h1').textContent") == key
    assert "due for deletion" in browser.evaluate("document.body.textContent") or (
        "It is to be deleted" in browser.evaluate("document.body.textContent")
    )
    assert browser.look.complaints == []


def test_foreign_text_runs_no_script(browser, source, base):
    """The strictest policy is the second wall; nothing even tries to climb it."""
    evil = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
    source.now = a_status(a_root(a_record(warnings=(evil,), error=evil, stopped=evil)))
    browser.open(base + "/", width=DESK)
    assert "taken" not in browser.evaluate("document.title")
    assert "<img src=x" in browser.evaluate("document.body.textContent")
    assert browser.look.complaints == []


def test_a_large_platform_is_shown_while_somebody_waits(browser, source, base):
    """Twenty storage roots, four hundred jobs."""
    source.now = replace(crowded(20, 20))
    browser.open(base + "/", width=PHONE)
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE
