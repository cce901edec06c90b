"""The picture of a lineage: pure geometry, and the same in words."""

from html.parser import HTMLParser
from typing import Any

import pytest

from orphangc.app.render.retention.lineage_picture import (
    JOBS_DRAWN,
    WIDTH,
    lineage_picture,
    render_lineages,
)
from unit.app.render.retention.lineage_parts import DAY, NOW, checkpoint, edge, job, lineage, report

HOSTILE = "<script>alert(1)</script>\x1b[31m"


def test_jobs_are_rows_in_time() -> None:
    picture = lineage_picture(lineage(), NOW)
    assert [row.y for row in picture.rows] == sorted({row.y for row in picture.rows})
    assert [row.x for row in picture.rows] == sorted({row.x for row in picture.rows})
    ends = [row.x + row.width for row in picture.rows]
    assert ends == sorted(ends)
    assert ends[-1] == pytest.approx(985), "a living job goes on to the right edge"
    assert [row.is_over for row in picture.rows] == [True, True, False]
    assert (picture.begin, picture.end) == ("2026-08-14 00:00:00 UTC", "2026-11-22 00:00:00 UTC")


def test_each_checkpoint_is_on_the_row_of_its_job_by_shape_and_fate() -> None:
    picture = lineage_picture(lineage(), NOW)
    assert [(mark.kind, mark.fate) for mark in picture.marks] == [
        ("checkpoint", "expires"),
        ("savepoint", "kept"),
        ("checkpoint", "kept"),
    ]
    assert [mark.y for mark in picture.marks] == [row.y for row in picture.rows]
    quarantined = lineage(checkpoints=[checkpoint(0, expired_at=NOW)])
    assert lineage_picture(quarantined, NOW).marks[0].fate == "quarantined"


def test_an_edge_goes_from_what_was_restored_to_the_begin_of_the_job() -> None:
    picture = lineage_picture(lineage(), NOW)
    first, newer = picture.marks[0], picture.rows[1]
    assert picture.edges[0].path.startswith(f"M{first.x:g} {first.y:g}C")
    assert picture.edges[0].path.endswith(f" {newer.x:g} {newer.y:g}")
    unknown = lineage(continuations=[edge(0, 1, checkpoint="")])
    (drawn,) = lineage_picture(unknown, NOW).edges
    older = picture.rows[0]
    assert drawn.path.startswith(f"M{older.x + older.width:g} {older.y:g}C")


def test_the_picture_in_words_names_every_job_and_what_it_continued() -> None:
    words = lineage_picture(lineage(), NOW).alternative
    assert words.startswith("Lineage prod/orders: 3 jobs, 3 checkpoints.")
    assert f"Job {0:032x}, ended from 2026-08-14 00:00:00 UTC to 2026-08-24 00:00:00 UTC" in words
    assert "1 checkpoint, of which 1 would expire; 42 bytes that only it holds." in words
    assert f"It continued {1:032x}." in words


NOTHING_KNOWN = {"first_life_at": None, "last_life_at": None}
ODD = {
    "no job": {"jobs": [], "continuations": []},
    "no time": {"jobs": [job(0, **NOTHING_KNOWN)], "checkpoints": [checkpoint(0, stored_at=None)]},
    "one moment": {"jobs": [job(0, first_life_at=NOW, last_life_at=NOW)], "checkpoints": []},
    "the future": {"jobs": [job(0, last_life_at=NOW + DAY)]},
    "many": {"jobs": [job(number) for number in range(JOBS_DRAWN + 5)]},
    "a loop": {"continuations": [edge(0, 1), edge(1, 0), edge(0, 0)]},
}


@pytest.mark.parametrize("case", ODD)
def test_whatever_is_drawn_is_inside_the_picture(case) -> None:
    picture = lineage_picture(lineage(**ODD[case]), NOW)
    for row in picture.rows:
        assert 0 <= row.x < row.x + row.width <= WIDTH
        assert 0 < row.y < picture.height
    assert all(0 <= mark.x <= WIDTH for mark in picture.marks)
    assert len(picture.rows) <= JOBS_DRAWN
    assert picture.left_out == (5 if case == "many" else 0)


class Elements(HTMLParser):
    """Elements of a page, and the attributes that could load or run something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.active: list[str] = []
        self.labels: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.names.append(tag)
        self.active += [name for name, _ in attrs if name in {"src", "style"} or name[:2] == "on"]
        self.labels += [value for name, value in attrs if tag == "svg" and name == "aria-label"]


def test_the_page_draws_what_a_hostile_name_says_and_runs_nothing() -> None:
    part = lineage(name=HOSTILE, jobs=[job(0, resources=(HOSTILE,)), job(1), job(2)])
    page = render_lineages(report(part, root=HOSTILE), 0.02)
    found = Elements(page)
    assert "svg" in found.names
    assert "circle" in found.names
    assert not found.active
    assert not {"script", "img", "link", "iframe"} & set(found.names)
    assert any("3 jobs, 3 checkpoints" in label for label in found.labels)
    assert "\x1b" not in page
    assert "default-src 'none'" in page


def test_a_report_without_a_lineage_says_so() -> None:
    page = render_lineages(report(), 0.02)
    assert "No checkpoint was found" in page
