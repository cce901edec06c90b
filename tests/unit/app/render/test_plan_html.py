"""The report is one honest page: it needs nothing else, and nothing from outside steers it."""

import re
import time
from collections import Counter
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flinkstate.text.shown_text import visible
from orphangc.app.render.plan.plan_html import JOBS_IN_PICTURE, render_html
from orphangc.app.render.reason_groups import (
    ACTIONS,
    AGE_LABELS,
    BOUND_TEXT,
    KIND_OF,
    KINDS,
    REASONS,
)
from orphangc.collect.decide.breakdown import Breakdown
from orphangc.core.model.bounds import BoundName
from orphangc.core.model.tallies import AgeBucket, summed
from orphangc.core.model.types import Action, Reason
from support import speed
from unit.app.render.html_pages import parse
from unit.app.render.plan_builder import (
    FRAUD,
    LEGACY,
    NOW,
    ORDERS,
    PAYMENTS,
    SESSIONS,
    a_job,
    a_plan,
    hostile_plan,
    many_jobs,
)

HOSTILE = (
    "<script>alert(1)</script>",
    '" onload="alert(1)" x=\'',
    "'><img src=x onerror=alert(1)>",
    "</style></title></code></svg><script>x</script>",
    "{{ 7 * 7 }}{% include '/etc/passwd' %}",
    "a|b`c*d_e[red]f[/red]\n\n# title\n- item",
    "\x1b[31mred\x1b[0m\x00\x07\x9b2J",
    "\u202egpj.exe\u200b\ufeff",
    "&lt;b&gt; &amp; &#60;",
    "--delete<script>--x",
    "]]><!-- -->",
)


@pytest.fixture(scope="module")
def story():
    """Return the plan, its breakdown and its page, once for all who only look."""
    plan, breakdown = a_plan()
    text = render_html(plan, breakdown)
    return plan, breakdown, text, parse(text)


def tags_of(page):
    """Return how often each element occurs, with the names of its attributes."""
    return Counter((each.tag, *sorted(each.attributes)) for each in page.all())


# --- what a person sees


def test_the_first_screen_says_which_root_when_and_what_would_go(story):
    """The reader need not scroll to learn what a sweep of this plan would do."""
    plan, _, _, page = story
    (header,) = page.all("header")
    assert header.all("h1")[0].text == plan.root
    assert "2026-11-21 14:44:12 UTC" in header.text
    assert "lay 460 tombstones" in header.text
    assert "delete 310 objects (21.0 GB)" in header.text
    assert "120 objects (6.2 GB) more are due in blocked jobs, and stay" in header.text


def test_every_kind_is_reported_in_people_s_units_and_exactly(story):
    """Rounded numbers are for eyes, exact ones for checks."""
    plan, _, _, page = story
    (kinds,) = page.all("ul", **{"class": "kinds"})
    sums = Counter()
    for tally in plan.tallies:
        sums[KIND_OF[tally.reason]] += tally.bytes
    for kind, words in KINDS.items():
        (card,) = [each for each in kinds.all("li") if words.label in each.text]
        assert f"{sums[kind]:,} B" in card.text
    assert "27.2 GB" in kinds.text


def test_every_job_shows_its_bounds_and_which_one_decided(story):
    """A cutoff without its reason cannot be checked."""
    page = story[-1]
    deciding = [row.text for row in page.all("tr", **{"class": "decides"})]
    assert len(deciding) == 5
    assert sum("oldest_own_root" in row for row in deciding) == 4
    assert sum("quiet_period" in row for row in deciding) == 1
    assert any("unknown" in row for row in deciding)


def test_a_refused_and_a_blocked_job_are_shown_with_advice(story):
    """The reader of "refused" needs the next step, not the source code."""
    (section,) = story[-1].all("section", id="stops")
    assert "damaged_latest_root" in section.text
    assert "already damaged?" in section.text
    assert "Look for the missing files first" in section.text
    assert "closed_world: 2 jobs" in re.sub(r"\s+", " ", section.text)


def test_every_job_and_every_root_and_every_setting_is_there(story):
    """The page stands for the plan: nothing of it is only in a file elsewhere."""
    plan, _, text, page = story
    summaries = " ".join(each.text for each in page.all("summary"))
    for job in (ORDERS, PAYMENTS, SESSIONS, LEGACY, FRAUD):
        assert job in summaries
    (roots,) = page.all("section", id="roots")
    assert all(root.uri in roots.text for root in plan.roots)
    (shown,) = page.all("section", id="settings")
    assert all(name in shown.text for name in type(plan.settings).model_fields)
    for value in (plan.plan_id, plan.live_set_sha256, plan.tool_version):
        assert value in text
    assert all(warning in text for warning in plan.warnings)
    assert all(key in text for job in plan.jobs for key in job.missing)


def test_credentials_of_a_rest_endpoint_are_not_on_the_page(story):
    """The page is mailed around."""
    assert "secret" not in story[2]
    assert "http://flink-orders:8081" in story[2]


# --- the pictures


def bars_of(page, anchor):
    """Return the rows of a picture: name, and bytes in per cent by kind."""
    (section,) = page.all("section", id=anchor)
    (bars,) = section.all("ul", **{"class": "bars"})
    rows = {}
    for row in bars.all("li"):
        (name,) = row.all("span", **{"class": "name"})
        label = (name.all("code") or [name])[0].text.strip()
        rects = row.all("svg")[0].all("rect")
        rows[label] = {
            each.attributes["fill"][len("url(#p-") : -1]: (
                float(each.attributes["x"].rstrip("%")),
                float(each.attributes["width"].rstrip("%")),
            )
            for each in rects
        }
    return rows


def expected(breakdown, name_of):
    """Return bytes by row and kind as the breakdown has them."""
    sums = {}
    for cell in breakdown.cells():
        row = sums.setdefault(name_of(cell), Counter())
        row[KIND_OF[cell.reason].value] += cell.amount.bytes
    return sums


@pytest.mark.parametrize(
    ("anchor", "name_of"),
    [
        ("by-job", lambda cell: cell.job_id or "(no job)"),
        ("by-age", lambda cell: AGE_LABELS[cell.age]),
    ],
)
def test_the_widths_of_a_picture_are_the_numbers(story, anchor, name_of):
    """A bar that is twice as long means twice the bytes, and parts touch without a gap."""
    _, breakdown, _, page = story
    drawn, numbers = bars_of(page, anchor), expected(breakdown, name_of)
    widest = max(sum(row.values()) for row in numbers.values())
    for name, row in numbers.items():
        edge = 0.0
        for kind, (x, width) in drawn[name].items():
            assert x == pytest.approx(edge, abs=1e-3)
            assert width == pytest.approx(100 * row[kind] / widest, abs=1e-3)
            edge = x + width
        assert edge == pytest.approx(100 * sum(row.values()) / widest, abs=1e-3)
        assert set(drawn[name]) == {kind for kind, size in row.items() if size}
    assert all(not row for name, row in drawn.items() if name not in numbers)


def test_the_bar_of_everything_is_as_wide_as_the_picture(story):
    """The first bar is the listing: its parts fill it."""
    (section,) = story[-1].all("section", id="listing")
    rects = section.all("svg", **{"class": "bar tall"})[0].all("rect")
    assert sum(float(r.attributes["width"].rstrip("%")) for r in rects) == pytest.approx(100)


def test_the_numbers_of_a_picture_stand_in_a_table_too(story):
    """A reader who cannot see the picture, or prints it grey, has the same numbers."""
    _, breakdown, _, page = story
    for anchor, name_of in (
        ("by-job", lambda cell: cell.job_id or "(no job)"),
        ("by-age", lambda cell: AGE_LABELS[cell.age]),
    ):
        (section,) = page.all("section", id=anchor)
        (table,) = section.all("table")
        rows = {row.all("th")[0].text.strip(): row.text for row in table.all("tr")[1:]}
        for name, amounts in expected(breakdown, name_of).items():
            for size in amounts.values():
                assert f"{size:,} B" in rows[name]


def test_colour_is_never_the_only_carrier_of_meaning(story):
    """Every kind has its own pattern, every bar says its parts in words, every mark has a word."""
    page = story[-1]
    drawings = {
        (
            pattern.attributes.get("patterntransform", ""),
            *(tuple(mark.attributes.items()) for mark in pattern.all() if mark.tag != "rect"),
        )
        for pattern in page.all("pattern")
    }
    assert len(drawings) == len(KINDS)
    for svg in page.all("svg", role="img"):
        for rect in svg.all("rect"):
            title = rect.all("title")[0].text
            assert title.split(":")[0] in svg.attributes["aria-label"]
    for mark in page.all("span"):
        if mark.text.strip() in {"■", "▲", "●"}:
            assert mark.attributes.get("aria-hidden") or mark.attributes.get("aria-label")


def test_of_many_jobs_the_largest_are_drawn_and_the_rest_is_counted():
    """A picture of a thousand bars shows nothing; what it leaves out is said beside it."""
    plan, breakdown = many_jobs(60)
    page = parse(render_html(plan, breakdown))
    assert len(bars_of(page, "by-job")) == JOBS_IN_PICTURE
    (section,) = page.all("section", id="by-job")
    assert "50 largest are drawn; 10 more" in section.text
    sizes = summed(breakdown.cells(), lambda cell: cell.job_id).values()
    smallest = sum(sorted(amount.bytes for amount in sizes)[:10])
    assert f"{smallest / 1e6:.1f} MB" in section.all("figcaption")[0].text
    assert len(section.all("table")[0].all("tr")) == 61


# --- nothing from outside steers the page


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_stays_a_name(text):
    """Whatever a bucket or an error message holds, the page has the elements it would have."""
    page = parse(render_html(*hostile_plan(text)))
    harmless = parse(render_html(*hostile_plan("harmless")))
    benign, found = tags_of(harmless), tags_of(page)
    option = ("code", "class")  # a message may name an option, which is set off
    assert {k: n for k, n in found.items() if k != option} == {
        k: n for k, n in benign.items() if k != option
    }
    assert page.all("h1")[0].text == visible(text)
    assert not page.all("script")


@settings(max_examples=25, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_no_control_character_reaches_the_page(text):
    """What a terminal or a text direction would obey is spelled out."""
    page = render_html(*hostile_plan(text))
    assert not re.search(
        r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", page
    )
    page.encode()
    parse(page)


def test_the_page_needs_nothing_else(story):
    """No script, no request, no asset: it can be mailed, archived and read in ten years."""
    _, _, text, page = story
    assert not page.all("script")
    assert not page.all("link")
    assert not page.all("img")
    assert "@import" not in text
    for element in page.all():
        for name, value in element.attributes.items():
            assert not name.startswith("on"), (element.tag, name)
            if name in {"src", "href", "xlink:href", "action", "data", "style"}:
                assert value.startswith("#"), (element.tag, name, value)
    assert set(re.findall(r"url\(([^)]*)\)", text)) <= {f"#p-{kind}" for kind in KINDS}
    (policy,) = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert policy.attributes["content"].startswith("default-src 'none'")


# --- for everybody


def test_the_page_has_landmarks_headings_and_tables_that_can_be_read_aloud(story):
    """One h1, no level skipped, every table captioned, every header scoped, every id once."""
    page = story[-1]
    assert len(page.all("main")) == len(page.all("header")) == len(page.all("nav")) == 1
    levels = [int(each.tag[1]) for each in page.all() if re.fullmatch(r"h[1-6]", each.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    for table in page.all("table"):
        assert len(table.all("caption")) == 1
        assert all(head.attributes.get("scope") for head in table.all("th"))
    ids = Counter(each.attributes["id"] for each in page.all() if "id" in each.attributes)
    assert set(ids.values()) == {1}
    for link in page.all("a"):
        assert link.attributes["href"][1:] in ids
    assert page.all("html")[0].attributes["lang"] == "en"


def luminance(colour: str) -> float:
    channels = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_text_and_pictures_have_enough_contrast_in_light_dark_and_print(story):
    """Text at least 4.5, parts of a picture at least 3, in each of the three palettes."""
    palettes = [
        dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6});", block))
        for block in re.findall(r":root \{(.*?)\}", story[2], re.DOTALL)
    ]
    assert len(palettes) == 3
    for palette in palettes:
        for text in ("ink", "muted", "link", "stop", "wait", "go"):
            assert contrast(palette[text], palette["surface"]) >= 4.5, text
            assert contrast(palette[text], palette["ground"]) >= 4.5, text
        for kind in KINDS:
            assert contrast(palette[kind], palette["surface"]) >= 3, kind


# --- the edges


def test_a_plan_without_jobs_is_a_page_that_says_so():
    """An empty picture is no picture, and no division by zero."""
    empty = {"jobs": (), "roots": (), "tallies": (), "reported": (), "warnings": ()}
    plan, _ = a_plan(objects_listed=0, bytes_listed=0, **empty)
    page = parse(render_html(plan, Breakdown(NOW)))
    assert "No job was judged" in page.all("header")[0].text
    assert not page.all("ul", **{"class": "bars"})


def test_objects_without_bytes_are_counted_though_no_bar_shows_them():
    """A thousand empty objects are still a thousand objects."""
    plan, breakdown = a_plan()
    breakdown.sums = breakdown.sums.set_column(
        breakdown.sums.column_names.index("bytes"), "bytes", [[0] * breakdown.sums.num_rows]
    )
    page = parse(render_html(plan, breakdown))
    assert all(not row for row in bars_of(page, "by-job").values())


def test_a_breakdown_of_another_cycle_is_not_passed_off_as_the_plan_s():
    """Pictures that do not belong to the plan are called out."""
    plan, _ = a_plan()
    assert "do not add up" in render_html(plan, Breakdown(NOW))
    assert "do not add up" not in render_html(*a_plan())


def test_an_unsigned_plan_and_an_unknown_time_are_shown_as_such():
    """What is missing has a word, not an empty place."""
    plan, breakdown = a_plan()
    unsigned = plan.model_copy(update={"plan_id": ""})
    assert "not signed" in render_html(unsigned, breakdown)


def test_a_thousand_jobs_are_rendered_within_seconds():
    """A large platform is where the page is needed most."""
    plan, breakdown = many_jobs(1000)
    start = time.process_time()
    page = render_html(plan, breakdown)
    assert time.process_time() - start < speed.scaled(10)
    assert len(page) < 12_000_000
    assert page.count('class="job"') == 1000


def test_every_word_of_the_collector_has_words_for_people():
    """A new reason, bound or bucket without its words fails here, not on a user's page."""
    assert set(KIND_OF) == set(REASONS) == set(Reason)
    assert set(ACTIONS) == set(Action)
    assert set(KIND_OF.values()) == set(KINDS)
    assert set(BOUND_TEXT) == set(BoundName)
    assert set(AGE_LABELS) == set(AgeBucket)


def test_a_long_list_is_cut_and_says_by_how_much():
    """Ten thousand missing files do not bury the page."""
    plan, breakdown = a_plan(jobs=(a_job(missing=tuple(f"shared/{n}" for n in range(10_000))),))
    text = render_html(plan, breakdown)
    assert "9,950 more; plan.json names the first 1,000." in text
    assert "10,000 missing references" in text


def test_the_age_of_a_cutoff_is_reported_in_the_words_of_the_settings():
    """An instant alone makes people count on their fingers."""
    plan, breakdown = a_plan(jobs=(a_job(cutoff=NOW - timedelta(days=1, hours=12)),))
    assert "1d12h before this plan" in render_html(plan, breakdown)
