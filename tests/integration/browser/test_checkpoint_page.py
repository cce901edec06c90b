"""The page of ``inspect`` in a real browser: quiet, self-contained, and readable everywhere."""

from pathlib import Path

import pytest

from cli.helpers import run
from unit.flinkstate.metadata.golden_files import golden

pytestmark = pytest.mark.chromium

FOLDERS = ("2.3.0/classic", "2.3.0/unaligned-merged", "2.3.0/utf")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    folders = [golden(each).folder for each in FOLDERS]
    ran = run("inspect", *folders, "--against", folders[0], "--html", path, "--output", "jsonl")
    assert ran.code == 0, ran.err
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1100])
def test_the_page_asks_for_nothing_and_fits(page, browser, width, scheme) -> None:
    """One file, no complaint, no sideways scrolling, painted in the scheme that is asked for."""
    browser.open(page.as_uri(), width=width, scheme=scheme)
    assert (browser.look.requests, browser.look.complaints) == ([page.as_uri()], [])
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground.strip("rgb()").split(","))) > 384) == (scheme == "light")


def test_a_screen_reader_is_told_every_picture(page, browser) -> None:
    """Each bar has a name that says what its parts are, each table a caption."""
    browser.open(page.as_uri(), width=1100)
    nodes = [each for each in browser.accessible_tree() if not each.get("ignored")]
    names = [
        each["name"]["value"]
        for each in nodes
        if each.get("role", {}).get("value") in {"image", "img"}
    ]
    assert len(names) == browser.evaluate("document.querySelectorAll('svg.bar').length")
    assert all(": " in name for name in names)
    assert browser.evaluate("[...document.querySelectorAll('table')].every(t => t.caption)")
