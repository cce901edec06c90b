"""The pages make a site without a broken link; a link to nothing fails the build."""

import importlib.util
import sys
from pathlib import Path, PurePosixPath

import pytest

from support.processes import finished

pytestmark = pytest.mark.ci

TOP = Path(__file__).parents[3]
SPEC = importlib.util.spec_from_file_location("site_of_pages", TOP / ".ci" / "site.py")
assert SPEC is not None
assert SPEC.loader is not None
site = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(site)


def test_every_page_is_in_the_site(tmp_path: Path) -> None:
    """Each with its pictures, and the README is the first."""
    ran = finished([sys.executable, TOP / ".ci" / "site.py", tmp_path])
    assert (ran.returncode, ran.stderr) == (0, "")
    for page in site.tracked():
        suffix = ".html" if page.suffix == ".md" else page.suffix
        place = site.place_of(page).with_suffix(suffix)
        names = {place, place.with_name("index.html")}
        assert any((tmp_path / each).is_file() for each in names), page
    first = (tmp_path / "index.html").read_text()
    assert 'href="gc/guide/faq.html"' in first
    assert 'src="gc/pictures/cycle.svg"' in first


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[a](../SAFETY.md#limits)", "[a](../../gc/SAFETY.md#limits)"),
        ("[b](../../README.md)", "[b](../../index.md)"),
        ("[c](../orphangc/errors.py)", "c"),
        ("[d](https://example.org/x.md)", "[d](https://example.org/x.md)"),
        ("```\n[e](gone.md)\n```", "```\n[e](gone.md)\n```"),
    ],
)
def test_a_link_leads_where_it_leads_in_the_repository(link: str, shown: str) -> None:
    """One to code keeps its words alone."""
    known = {PurePosixPath(each) for each in ("README.md", "gc/SAFETY.md", "gc/guide/faq.md")}
    assert site.rendered(link, PurePosixPath("gc/guide/faq.md"), known) == shown


@pytest.mark.parametrize("target", ["gone.md", "index.md#nowhere-at-all"])
def test_a_link_to_nothing_fails_the_build(tmp_path: Path, monkeypatch, target: str) -> None:
    """To a page, or to a heading of one."""
    rendered = site.rendered

    def broken(text: str, page: PurePosixPath, known: set[PurePosixPath]) -> str:
        more = f"\n\n[x]({target})\n" if str(page) == "README.md" else ""
        return rendered(text, page, known) + more

    monkeypatch.setattr(site, "rendered", broken)
    with pytest.raises(SystemExit):
        site.build(tmp_path)
