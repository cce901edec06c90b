"""What is not in the listing, and what the listing was: shown alike by every rendering."""

import pytest

from orphangc.app.render.plan.plan_html import render_html
from orphangc.app.render.plan.plan_markdown import render_markdown
from orphangc.app.render.plan.plan_tables import plan_tables
from orphangc.app.render.plan.plan_view import STATUS_TEXT
from orphangc.core.documents.plan import ExtraStatus
from orphangc.core.documents.s3_inventory import Inventory
from unit.app.render.html_pages import parse
from unit.app.render.plan_builder import NOW, ORDERS, a_plan, some_extras
from unit.app.render.printed import printed

UNKNOWN = {
    "uploads": None,
    "upload_bytes": None,
    "uploads_of_unknown_size": None,
    "oldest_upload_at": None,
    "noncurrent_versions": None,
    "noncurrent_bytes": None,
    "delete_markers": None,
}


BUT_STATUS = {name: None for name in UNKNOWN if name != "uploads"}
"""Of one area; ``uploads`` of ``some_extras`` is the status of all."""


def on_terminal(plan, breakdown) -> str:
    return printed(plan_tables(plan, breakdown), 200)


def on_page(plan, breakdown) -> str:
    return parse(render_html(plan, breakdown)).text


RENDERINGS = {"terminal": on_terminal, "markdown": render_markdown, "page": on_page}


@pytest.fixture(params=RENDERINGS)
def shown(request):
    """Return how a plan with these changes is shown, with single spaces."""

    def show(**changes) -> str:
        return " ".join(RENDERINGS[request.param](*a_plan(**changes)).replace("`", "").split())

    return show


def test_every_kind_is_reported_with_its_bytes(shown):
    """Rounded and exactly, and how old the oldest upload is."""
    text = shown(extras=some_extras())
    for part in ("Unfinished uploads", "3.4 GB", "3,400,000,000", "2026-08-23 14:44:12 UTC"):
        assert part in text
    for part in ("Noncurrent versions", "52.0 GB", "52,000,000,000", "Delete markers", "790"):
        assert part in text
    assert "Directory markers" in text
    assert "unknown" not in reported_uploads(text)


def reported_uploads(text: str) -> str:
    """Return the words from the last mention of uploads in the rows to the next kind."""
    end = text.index("Noncurrent versions", text.index("Unfinished uploads"))
    return text[text.rindex("Unfinished uploads", 0, end) : end]


def test_uncounted_bytes_make_an_at_least(shown):
    """A bound on requests is no bound on bytes."""
    text = shown(extras=some_extras(uploads_of_unknown_size=5))
    assert "at least 3.4 GB" in text
    assert "bytes of 5 of them unknown" in text


@pytest.mark.parametrize("status", sorted(set(ExtraStatus) - {ExtraStatus.COUNTED}))
def test_what_is_unknown_is_called_so_and_never_zero(shown, status):
    """With the reason; nothing that was not counted has a number."""
    text = shown(extras=some_extras(uploads=status, versions=status, **BUT_STATUS))
    assert STATUS_TEXT[status] in text
    assert "unknown" in reported_uploads(text)
    assert not any(digit in reported_uploads(text) for digit in "0123456789")


@pytest.mark.parametrize("rendering", ["terminal", "markdown"])
def test_nothing_found_takes_no_place_where_place_is_dear(rendering):
    """The page says zero; a terminal has better things to show."""
    nothing = some_extras().model_copy(update={"areas": ()})
    for extras in (None, nothing, nothing.model_copy(update={"versions": ExtraStatus.NOT_ASKED})):
        assert "Unfinished uploads" not in RENDERINGS[rendering](*a_plan(extras=extras))
    page = parse(render_html(*a_plan(extras=nothing)))
    (section,) = page.all("section", id="extras")
    assert "Unfinished uploads" in section.text


def test_the_page_shows_each_job_and_what_removes_it():
    """A sweep never does."""
    page = parse(render_html(*a_plan(extras=some_extras())))
    (section,) = page.all("section", id="extras")
    assert ORDERS in section.text
    assert "AbortIncompleteMultipartUpload" in section.text
    assert any(link.attributes["href"] == "#extras" for link in page.all("a"))
    assert not parse(render_html(*a_plan())).all("section", id="extras")


def test_an_unknown_number_is_unknown_in_the_table_of_jobs_too():
    """Not zero, not "None"."""
    extras = some_extras(uploads=ExtraStatus.FORBIDDEN, versions=ExtraStatus.NOT_ASKED)
    area = extras.areas[0].model_copy(update=UNKNOWN)
    page = parse(render_html(*a_plan(extras=extras.model_copy(update={"areas": (area,)}))))
    (section,) = page.all("section", id="extras")
    row = section.all("table")[-1].all("tbody")[0].all("tr")[0]
    assert [cell.text for cell in row.all("td")[1:]] == ["unknown"] * 5 + ["3"]


def test_a_plan_from_an_inventory_says_so_first(shown):
    """How old it is, and what it cannot show."""
    part = Inventory(uri="s3://reports/daily/manifest.json", created_at=NOW, objects=12_345)
    text = shown(inventory=part)
    assert "inventory begun 2026-11-21 14:44:12 UTC, of 12,345 objects" in text
    assert "a sweep looks at each object before it deletes it" in text
    assert "inventory begun" not in shown()
