"""Terminal and Markdown say the same as the page, and obey no foreign text."""

import errno
import re
from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from flinkstate.places.locations import canonical
from flinkstate.text.shown_text import human_bytes, visible
from orphangc.adapters.files.translate import unreachable
from orphangc.app.console.text import duration, id_ranges, share
from orphangc.app.render.advice import GUARDS, LINK, _advice, condition_advice, guard_advice
from orphangc.app.render.plan.plan_html import render_html
from orphangc.app.render.plan.plan_markdown import code, render_markdown
from orphangc.app.render.plan.plan_tables import outcome_tables, plan_tables
from orphangc.app.render.plan.plan_view import plan_view
from orphangc.app.render.stops import Fate, stops
from orphangc.collect.decide.breakdown import Breakdown
from orphangc.collect.observe.checkpoints import _why_closed
from orphangc.core.documents.plan import AreaPart, BlockedPart, RefusedPart, Tally
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.settings import parse_duration
from orphangc.core.model.types import Action, AreaName, Reason, Scope
from unit.app.render.plan_builder import (
    NOW,
    ORDERS,
    PAYMENTS,
    SESSIONS,
    a_job,
    a_plan,
    hostile_plan,
    many_jobs,
    story_jobs,
)
from unit.app.render.printed import printed as on_terminal

HOSTILE = (
    "[red]x[/red] [link=https://evil]y[/link]",
    "[/]",
    "\x1b[31mred\x1b[0m\x00\x07\x9b2J",
    "a|b`c*d_e\n\n# title\n- item",
    "`" * 5 + "|",
    "a|b",
    "trailing \\",
    "a\\|b",
    "<script>alert(1)</script> &amp; <!--",
    "@everyone #123 https://evil.example [x](https://evil.example)",
    "\u202egpj.exe",
    ":warning: [bold]",
)


def printed(parts, width=100) -> str:
    return on_terminal(parts, width, force_terminal=True, color_system="standard")


def plain(parts, width=100) -> str:
    """Return the text that is shown, without our own colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", printed(parts, width))


# --- the terminal


def test_a_plan_says_why_it_was_made_on_spark():
    """What ``auto`` compared; a plan of this process needs no reason on a terminal."""
    chosen = {"engine": "spark", "engine_reason": "90,000 objects (run 1): one process is late"}
    plan, breakdown = a_plan(**chosen)
    sentence = "spark engine: 90,000 objects (run 1): one process is late"
    assert sentence in re.sub(r"<[^>]+>", "", render_html(plan, breakdown))
    assert "made on Spark: 90,000 objects (run 1)" in plain(plan_tables(plan, breakdown))
    plan, breakdown = a_plan(**{**chosen, "engine": "local"})
    assert "90,000" not in plain(plan_tables(plan, breakdown))


def test_a_plan_on_a_terminal_says_what_would_go_and_what_stops_it():
    """The same sentence as on the page, the tallies, the jobs, and what to do."""
    plan, breakdown = a_plan()
    text = plain(plan_tables(plan, breakdown))
    flowing = " ".join(text.split())
    assert "lay 460 tombstones and, with --delete, delete 310 objects (21.0 GB)" in flowing
    assert all(job in text for job in (ORDERS, PAYMENTS, SESSIONS))
    assert "27,186,254,422" in text
    assert "Look for the missing files first" in flowing


@pytest.mark.parametrize("width", [100, 120])
def test_no_line_is_wider_than_the_terminal_and_no_column_falls_off(width):
    """A hundred columns are enough for every table."""
    plan, breakdown = a_plan()
    lines = plain(plan_tables(plan, breakdown), width).splitlines()
    assert max(map(len, lines)) <= width
    (head,) = [line for line in lines if "listed" in line and "missing" in line]
    assert head.split()[-1] == "missing"
    assert any("184,803,200,353" in line for line in lines)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_is_printed_and_never_obeyed(text):
    """Rich's markup stays text, and no escape but our own colours reaches the terminal."""
    plan, breakdown = hostile_plan(text)
    parts = plan_tables(plan, breakdown)
    shown = printed(parts, 400)
    assert not re.search(r"[\x00-\x09\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e]", shown)
    assert not re.search(r"\x1b(?!\[[0-9;]*m)", shown)
    assert visible(text) in plain(parts, 400)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_outcome_is_printed_and_never_obeyed(text):
    """A store's error message is foreign text too."""
    outcome = {
        "run_id": text,
        "root": text,
        "deleting": True,
        "counts": {f"delete/{text}": {"objects": 1, "bytes": 2}},
        "refused": {text: text},
        "stopped": text,
        "interrupted_runs": [text],
        "exit_code": 1,
    }
    shown = printed(outcome_tables(outcome), 400)
    assert not re.search(r"[\x00-\x09\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e]", shown)
    assert not re.search(r"\x1b(?!\[[0-9;]*m)", shown)
    assert visible(text) in plain(outcome_tables(outcome), 400)


def test_an_outcome_shows_what_was_done_and_what_was_not():
    """Counts by verdict and outcome, the refused jobs, and why it ended early."""
    outcome = {
        "run_id": "20261121T144412Z",
        "root": "s3://b/c",
        "deleting": True,
        "counts": {
            "delete/done": {"objects": 310, "bytes": 20_956_071_754},
            "delete/failed": {"objects": 2, "bytes": 1000},
        },
        "refused": {SESSIONS: "damaged_latest_root: already damaged?"},
        "stopped": "the lock was taken over",
        "interrupted_runs": [],
        "exit_code": 3,
    }
    text = plain(outcome_tables(outcome))
    for expected in ("310", "20,956,071,754", "failed", SESSIONS, "lock was taken over", "code 3"):
        assert expected in text


def test_an_outcome_with_nothing_in_it_is_shown_as_nothing():
    """A sweep without orphans is a result, and an old file may lack a field."""
    assert "nothing" in plain(outcome_tables({"counts": {}, "refused": {}}))
    assert "nothing deleted" in plain(outcome_tables({}))


def test_one_cause_of_many_jobs_names_two_and_counts_the_rest():
    """The same sentence is not printed for each job."""
    (block,) = [job.blocked for job in story_jobs() if job.job_id == PAYMENTS]
    plan, breakdown = a_plan(jobs=tuple(a_job(f"{n:032x}", blocked=block) for n in range(5)))
    text = plain(plan_tables(plan, breakdown))
    assert "and 3 more" in text


def test_an_empty_plan_has_no_table_of_jobs():
    """A table without a row is noise."""
    plan, breakdown = a_plan(jobs=())
    assert "deletion" not in plain(plan_tables(plan, breakdown))


def test_of_many_jobs_a_terminal_shows_some_and_counts_the_rest():
    """A thousand rows are too many to scroll."""
    plan, breakdown = many_jobs(120)
    text = plain(plan_tables(plan, breakdown))
    assert "70 more jobs stand in plan.json" in text


# --- the sentence


def test_no_tombstone_is_promised_where_a_condition_of_the_world_is_unmet():
    """A sweep lays none there; of other jobs it does, and says how many wait."""
    lost = BlockedPart(condition=Condition.PLACE_LOST, message="s3://x is not named any more")
    jobs = tuple(
        job.model_copy(update={"blocked": (lost,)}) if job.job_id == ORDERS else job
        for job in story_jobs()
    )
    plan, breakdown = a_plan(jobs=jobs)
    sentence = plan_view(plan, breakdown).headline
    assert "lay 420 tombstones" in sentence
    assert "40 objects (2.8 GB) get no tombstone yet" in sentence
    everywhere = tuple(job.model_copy(update={"blocked": (lost,)}) for job in story_jobs())
    summary = plan_view(*a_plan(jobs=everywhere))
    assert "lay no tombstones and, with --delete, delete nothing" in summary.headline


def test_a_tombstone_that_is_dropped_is_reported():
    """Something that is in use again is the most important thing to know."""
    plan, breakdown = a_plan()
    revived = Tally(
        scope=Scope.SHARED, action=Action.REVIVE, reason=Reason.REFERENCED, objects=3, bytes=9
    )
    found = plan.model_copy(update={"tallies": (*plan.tallies, revived)})
    assert "drop 3 of what is in use again" in plan_view(found, breakdown).headline


def test_if_every_job_is_refused_the_sentence_says_that_nothing_is_known():
    """A refusal is never shown as an empty success."""
    refused = tuple(job for job in story_jobs() if job.refused)
    plan, breakdown = a_plan(jobs=refused)
    assert "Every job is refused" in plan_view(plan, breakdown).headline


def test_if_every_job_is_blocked_nothing_is_promised_to_go():
    """All that is due is held back."""
    blocked = tuple(job for job in story_jobs() if job.blocked and not job.refused)
    summary = plan_view(*a_plan(jobs=blocked))
    assert summary.deletable.objects == 0
    assert "delete nothing" in summary.headline


def test_one_stop_names_all_jobs_that_it_stops_and_refusals_come_first():
    """The same advice fifty times is no advice."""
    found = stops(story_jobs())
    assert [stop.fate for stop in found] == [Fate.REFUSED, *[Fate.BLOCKED] * 4]
    (closed,) = [stop for stop in found if stop.code == "closed_world"]
    assert [each.name for each in closed.jobs] == [PAYMENTS, SESSIONS]


@pytest.mark.parametrize("codes", [("one",), ("one", "two", "three")])
def test_a_table_of_advice_has_each_code_and_no_other(codes):
    """A slip in a code is found where the table is read, not where a person misses the advice."""
    table = "one: Title\n    What to do.\ntwo (waits): Title\n    Nothing to do.\n"
    assert [each.waits for each in _advice(table, ("one", "two")).values()] == [False, True]
    with pytest.raises(ValueError, match="no code, or lacks"):
        _advice(table, codes)


def test_what_another_version_calls_something_still_gets_a_sentence():
    """An old plan is rendered, not refused."""
    assert "another version" in guard_advice("gone", "").text
    assert "another version" in condition_advice("gone").text


@pytest.mark.parametrize(
    "why",
    [
        unreachable("stat a", OSError(errno.ELOOP, "Too many levels", "a")),
        _why_closed(f"{ORDERS}/shared", canonical("/cp")),
        _why_closed(f"{ORDERS}/chk-7", canonical("/cp")),
    ],
)
def test_a_link_is_not_called_a_broken_checkpoint(why):
    """Nothing is to be repaired: the target of the link must be named."""
    refused = [RefusedPart(guard=Guard.UNREADABLE_ROOT, message=f"{each}") for each in (why, "cut")]
    jobs = [a_job(ORDERS, refused=each) for each in refused]
    assert [each.advice for each in stops(jobs)] == [LINK, GUARDS[Guard.UNREADABLE_ROOT]]


def test_a_checkpoint_that_may_be_whole_is_not_to_be_removed_first():
    """What may not be read looks broken: the right to read comes before any other advice."""
    said = GUARDS[Guard.UNREADABLE_ROOT].text
    assert 0 <= said.find("the right to read") < said.find("remove")


# --- Markdown


def tables_of(tokens):
    """Return the number of cells of each row, table by table."""
    rows = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append(0)
        elif token.type in {"td_open", "th_open"}:
            rows[-1] += 1
    return rows


def shape(text: str):
    return [token.type for token in MarkdownIt("gfm-like", {"linkify": False}).parse(text)]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_breaks_no_table_and_no_list(text):
    """Pipes, backticks and line ends leave the structure as a harmless name does."""
    assert shape(render_markdown(*hostile_plan(text))) == shape(
        render_markdown(*hostile_plan("harmless"))
    )


@settings(max_examples=200)
@example("a\\|b")
@example("a|b")
@example("`|`")
@example("<b>&amp;</b>")
@example(" x ")
@example("lone \udcff half")
@given(st.text(min_size=1, max_size=30))
def test_code_reads_back_as_the_visible_text_in_one_cell(text):
    """Whatever stands in a name, a reader sees exactly it, in its own cell, as code."""
    if not visible(text).strip():
        assert code(text) == "(empty)"
        return
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    page = markdown.render(f"| {code(text)} | 2 |\n| --- | --- |\n")
    match = re.search(r"<tr>\s*<th>(.*?)</th>\s*<th>2</th>\s*</tr>", page, re.DOTALL)
    assert match is not None
    inner = re.fullmatch(r"<code>(.*)</code>", match[1], re.DOTALL)
    assert inner is not None
    references = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&amp;": "&"}
    read = re.sub("|".join(references), lambda m: references[m[0]], inner[1])
    assert read == visible(text)


def test_markdown_says_the_same_as_the_page():
    """The summary has the sentence, the exact bytes, the jobs, the stops and the plan_id."""
    plan, breakdown = a_plan()
    text = render_markdown(plan, breakdown)
    assert "delete 310 objects (21.0 GB)" in text
    assert "27,186,254,422" in text
    assert f"`{ORDERS}`" in text
    assert "refused by `damaged_latest_root`, 1 job" in text
    assert plan.plan_id in text
    assert len(text.splitlines()) < 60


def test_markdown_of_many_jobs_stays_short():
    """A pull request is no place for a thousand rows."""
    text = render_markdown(*many_jobs(500))
    assert "The 10 largest of 500 jobs." in text
    assert len(text) < 10_000


def test_markdown_of_an_empty_plan_is_a_sentence():
    """Nothing is shown as nothing."""
    plan, _ = a_plan(jobs=(), tallies=(), roots=(), warnings=(), objects_listed=0, bytes_listed=0)
    assert "No job was judged" in render_markdown(plan, Breakdown(NOW))


# --- words


def test_bytes_are_reported_in_decimal_units_as_storage_is_sold():
    """A bill and this page use the same units."""
    assert human_bytes(0) == "0 bytes"
    assert human_bytes(1_500) == "1.5 kB"
    assert human_bytes(20_956_071_754) == "21.0 GB"


@given(st.integers(0, 10_000 * 86_400))
def test_a_duration_is_written_as_the_settings_read_it(seconds):
    """What the page shows can be pasted into the configuration."""
    assert parse_duration(duration(seconds)) == timedelta(seconds=seconds)


def test_only_nothing_is_0_per_cent_and_only_all_is_100():
    """Rounding never hides a rest."""
    assert share(0, 10) == "0 %"
    assert share(1, 10**9) == "<1 %"
    assert share(10**9 - 1, 10**9) == ">99 %"
    assert share(5, 5) == "100 %"
    assert share(0, 0) == "0 %"


def test_neighbouring_ids_are_drawn_together():
    """Fifty retained checkpoints are one range."""
    assert id_ranges([]) == ""
    assert id_ranges([3, 7, 8, 9]) == "3, 7-9"
    assert id_ranges(range(0, 100, 2), limit=2) == "... 96, 98"


@given(st.text())
def test_visible_text_can_be_printed_and_encoded_everywhere(text):
    """No control, no direction mark, no half character is left."""
    shown = visible(text)
    shown.encode()
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)


def test_a_job_whose_owner_is_unknown_is_called_by_its_directory():
    """An empty name is no help."""
    plan, breakdown = a_plan(jobs=(a_job("", directories=("s3://b/shared-dir",)),))
    assert "s3://b/shared-dir" in plain(plan_tables(plan, breakdown))
    assert "s3://b/shared-dir" in render_markdown(plan, breakdown)


def test_each_area_says_what_it_holds_and_why_files_stay():
    """Live, orphaned, too young and not provable are all that was listed."""
    why = "a running database may read files that no checkpoint names"
    kept = AreaPart(area=AreaName.FORST, rule="", kept_because=why)
    judged = AreaPart(area=AreaName.EXCLUSIVE, rule="R31, R32", kept_because=None)
    jobs = (a_job(areas=(kept, judged)), a_job("ab" * 16, areas=(kept,)))
    plan, breakdown = a_plan(jobs=jobs)
    rows = {row.scope: row for row in plan_view(plan, breakdown).areas}
    listed = sum(
        each.bytes
        for row in rows.values()
        for each in (row.kinds["live"], row.orphaned, row.kinds["young"], row.unproven)
    )
    assert listed == plan.bytes_listed
    assert rows["shared"].reasons == (f"2 jobs: {why}",)
    assert why in render_markdown(plan, breakdown)
    shown = " ".join(printed(plan_tables(plan, breakdown)).split())
    assert f"shared kept, 2 jobs: {why}" in shown


def test_jobs_that_share_a_reason_stand_together():
    """The same paragraph for each of a hundred jobs hides the one that differs."""
    jobs = [f"{number:032x}" for number in range(1, 101)]
    refused = {job: f"no_roots: no checkpoint of {job} is left" for job in jobs}
    refused[jobs[-1]] = "restarting: it is starting"
    shown = plain(outcome_tables({"refused": refused}))
    assert shown.count("no checkpoint of") == 1
    assert "and 97 more" in shown
    assert "restarting: it is starting" in shown
