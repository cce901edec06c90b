"""The name of a job: its id and the resources that run it, alike in every rendering."""

import json
from typing import Any

import pytest

from orphangc.app.commands.operate.self_sustained import check_tables
from orphangc.app.commands.operate.users_of import user_tables
from orphangc.app.config.configuration import LogSettings
from orphangc.app.render.plan.plan_html import render_html
from orphangc.app.render.plan.plan_tables import outcome_tables
from orphangc.app.render.retention.lineage_tables import lineage_tables
from orphangc.app.render.shown_names import JobNames, name_of
from orphangc.app.render.world_tables import world_tables
from orphangc.app.telemetry.audit_log import log_plan
from orphangc.app.telemetry.logs import configure_logs
from orphangc.core.documents.plan import BlockedPart
from orphangc.core.world.known_world import ClosedWorld, KnownCluster, OutsidePath, World
from unit.app.render.html_pages import parse
from unit.app.render.plan_builder import ORDERS, PAYMENTS, SESSIONS, a_job, a_plan, some_extras
from unit.app.render.printed import printed as on_terminal
from unit.app.render.retention import lineage_parts
from unit.app.render.test_render_unlisted import RENDERINGS

NAMED = f"{ORDERS} (shop/orders)"
NAMES = JobNames({ORDERS: ("shop/orders",)})
DEPENDENT = BlockedPart(
    condition="dependent_job", message=f"job {ORDERS}, whose state refers to files here, is blocked"
)
JOBS = (a_job(resources=("shop/orders",)), a_job(PAYMENTS, blocked=(DEPENDENT,)))


def printed(tables: Any) -> str:
    """Return tables as a wide terminal shows them, with single spaces."""
    return " ".join(on_terminal(tables, 400).split())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"job {ORDERS}, which runs", f"job {NAMED}, which runs"),
        (f"job {ORDERS} is alive; job {ORDERS}", f"job {NAMED} is alive; job {NAMED}"),
        (f"job {SESSIONS} is alive", f"job {SESSIONS} is alive"),
        (f"run --ended-job {ORDERS}", f"run --ended-job {ORDERS}"),
        (f"--max-delete-share {ORDERS}=0.9", f"--max-delete-share {ORDERS}=0.9"),
        (f"s3://b/{ORDERS}/chk-1", f"s3://b/{ORDERS}/chk-1"),
        (f"job {ORDERS}@http://other:8081", f"job {ORDERS}@http://other:8081"),
    ],
)
def test_a_sentence_names_its_jobs_and_a_command_stays_as_it_is(text, shown) -> None:
    """What is copied into a shell must work there."""
    assert NAMES.in_text(text) == shown


def test_a_job_of_several_directories_has_the_names_of_all() -> None:
    """And files of no job have none."""
    several = JobNames.of([a_job(resources=(each,)) for each in ("shop/orders", "shop/again")])
    assert several(ORDERS) == f"{ORDERS} (shop/orders, shop/again)"
    assert NAMES("") == "(no job)"
    assert name_of(a_job("", directories=("s3://b/x",))) == "s3://b/x"


@pytest.mark.parametrize("rendering", RENDERINGS)
def test_every_rendering_of_a_plan_names_jobs_in_rows_messages_and_warnings(rendering) -> None:
    plan, breakdown = a_plan(jobs=JOBS, warnings=(f"job {ORDERS}: doubtful",))
    text = " ".join(RENDERINGS[rendering](plan, breakdown).replace("`", "").split())
    text = text.replace("&#40;", "(").replace("&#41;", ")").replace("&#47;", "/")
    assert f"job {NAMED}, whose state refers" in text.replace("<code>", "")
    assert f"job {NAMED}: doubtful" in text.replace("&#58;", ":")
    assert text.count(NAMED) >= 3


@pytest.mark.parametrize("anchor", ["by-job", "reported", "extras", "roots"])
def test_every_table_of_the_report_names_its_jobs(anchor) -> None:
    """An id alone sends the reader back to kubectl."""
    (section,) = parse(render_html(*a_plan(jobs=JOBS, extras=some_extras()))).all(
        "section", id=anchor
    )
    cells = [each.text for each in section.all("code") if ORDERS in each.text]
    assert [each for each in cells if each.startswith(ORDERS)] != []
    assert {each for each in cells if each.startswith(ORDERS)} == {NAMED}


def test_the_picture_of_the_report_links_a_named_job_and_marks_its_fate() -> None:
    """Rows of the picture and jobs of the page have one name."""
    (section,) = parse(render_html(*a_plan(jobs=JOBS))).all("section", id="by-job")
    (link,) = [each for each in section.all("a") if each.text == NAMED]
    assert link.attributes["href"].startswith("#job-")


def test_the_world_names_the_jobs_of_its_clusters() -> None:
    """Five of many, and how many more."""
    many = tuple(f"{n:032x}" for n in range(7))
    world = World(
        places=(),
        outside=(OutsidePath(uri="s3://x", named_by=("y",), jobs=(ORDERS,)),),
        clusters=(
            KnownCluster(uri="http://a", jobs=(ORDERS, PAYMENTS), answers=True),
            KnownCluster(uri="http://b", jobs=many, answers=True),
        ),
        closed_world=ClosedWorld(stated=False, covers=()),
    )
    shown = printed(world_tables(world, names=NAMES))
    assert shown.count(NAMED) == 2
    assert PAYMENTS in shown
    assert many[4] in shown
    assert many[5] not in shown
    assert "and 2 more" in shown


def test_lineages_name_jobs_and_who_was_restored() -> None:
    """By the resource that ran them."""
    runs = lineage_parts.job(0, job_id=ORDERS, resources=("shop/orders",))
    savepoint = lineage_parts.checkpoint(0, job_id="", restored_by=(ORDERS,))
    lineage = lineage_parts.lineage(jobs=[runs], checkpoints=[savepoint], continuations=[])
    shown = printed(lineage_tables(lineage_parts.report(lineage)))
    assert shown.count(NAMED) == 2


def test_what_needs_a_snapshot_and_what_a_sweep_refused_is_named() -> None:
    """`users-of`, `self-sustained` and `sweep`."""
    user = {"job_id": ORDERS, "resources": ["shop/orders"], "place": None, "why": "", "bytes": None}
    user |= {"references": 0, "checkpoints": []}
    users = {"snapshot": "s3://b/sp", "statement": "1 needs it", "users": [user]}
    assert NAMED in printed(user_tables(users))
    answer = {"job_id": ORDERS, "resources": ("shop/orders",), "root": "s3://b/ck", "looks": []}
    answer |= {"seen": {"value": None}, "state_self_sustained": None}
    assert f"job {NAMED} below s3://b/ck" in printed(check_tables(answer))
    outcome = {"refused": {ORDERS: "closed_world: not stated"}}
    assert NAMED in printed(outcome_tables(outcome, NAMES))


def test_a_log_line_about_a_job_has_its_resources(capsys) -> None:
    """The id stays a field of its own: searches of logs rely on it."""
    plan, _ = a_plan(jobs=JOBS)
    configure_logs(LogSettings(format="json"))
    log_plan(plan.model_copy(update={"jobs": (*JOBS[1:], JOBS[0])}), logs_blocked=True)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    (blocked,) = [each for each in lines if each["event"] == "job.blocked"]
    assert (blocked["job_id"], "resources" in blocked) == (PAYMENTS, False)
    assert f"job {NAMED}, whose" in blocked["reason"]
    named = a_job(resources=("shop/orders",), blocked=(DEPENDENT,))
    log_plan(plan.model_copy(update={"jobs": (named,)}), logs_blocked=True)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    (blocked,) = [each for each in lines if each["event"] == "job.blocked"]
    assert blocked["resources"] == ["shop/orders"]
