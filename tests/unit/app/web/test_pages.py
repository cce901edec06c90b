"""What a person sees first, and that everybody can see it."""

import re
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from time import process_time

import pytest

from orphangc.app.config.configuration import HttpSettings
from orphangc.app.render.advice import CONDITIONS as ADVICE
from orphangc.app.render.advice import GUARDS
from orphangc.app.web.page_templates import MODE_TEXT, RESULT_TEXT, assets
from orphangc.core.decision.conditions import CONDITIONS
from orphangc.core.documents.plan import BlockedPart, RefusedPart
from orphangc.core.documents.run_record import RunResult, StoppedPart, SweptPart
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.shown import RunMode
from orphangc.core.model.types import Action, Outcome
from orphangc.core.world.known_world import KnownCluster, PlaceKind, SearchedPlace, WorldChange
from support import speed
from unit.app.render.html_pages import parse
from unit.app.render.test_plan_html import HOSTILE, contrast
from unit.app.web.client import Client
from unit.app.web.plans import a_kept_plan
from unit.app.web.statuses import (
    NOW,
    ORDERS,
    OTHER_ROOT,
    ROOT,
    STORIES,
    a_job,
    a_record,
    a_root,
    a_status,
    a_world,
    amounts,
    crowded,
    fresh,
    reporting,
    troubled,
    well,
    without_plan,
)


def seen(status, path="/", http=None):
    answer = Client(status, http=http).get(path)
    assert answer.status_code == 200, answer.text
    return parse(answer.text)


def words(element) -> str:
    """Return the text of an element, its white space made plain."""
    return re.sub(r"\s+", " ", element.text).strip()


def pages_of(status):
    paths = ["/", "/ui/runs", "/ui/nowhere"]
    for root in status.roots:
        for run in root.records[:2]:
            paths += [f"/ui/runs/{run.run_id}", f"/ui/runs/{run.run_id}/objects?key=x"]
        paths += [f"/ui/jobs/{job.job_id}" for job in root.jobs[:1]]
    return paths


# --- what a person sees first


def test_before_the_first_run_the_page_shows_what_will_happen_and_when():
    """A new user wants to know whether it works, and whether it is dangerous."""
    page = seen(fresh())
    assert words(page.all("h1")[0]) == "○Nothing has been looked at yet"
    text = words(page)
    assert "The first run starts in 4 minutes" in text
    assert "Nothing is changed or deleted by it, whatever the mode" in text
    assert "orphangc run --config FILE" in text


def test_before_the_records_were_read_no_run_is_called_the_first():
    """After a restart, while a run goes on."""
    root = a_root(unread="its records have not been read yet", running_since=NOW)
    text = words(seen(a_status(root)))
    assert "have not been read yet" in text
    assert "first run" not in text


def test_after_a_report_the_page_shows_what_was_found_and_how_to_go_on():
    """Report mode is where everybody begins, and must not be where everybody ends."""
    page = seen(reporting())
    assert words(page.all("h1")[0]) == "●78.0 GB could be freed"
    text = words(page)
    assert "about 2 USD a month" in text
    assert "it changes and deletes nothing until you say so" in text
    (steps,) = page.all("section", id="next")
    assert "--closed-world" in steps.text
    assert "--flink-rest" in steps.text
    assert "mode: quarantine" in steps.text
    assert not page.all("section", id="needs")


def test_all_is_well_is_said_as_such():
    """Green without words is a colour."""
    page = seen(well())
    assert words(page.all("h1")[0]) == "●All is well: nothing to do"
    text = words(page)
    assert "120.0 GB have been deleted so far" in text


def test_what_the_last_sweep_deleted_is_no_longer_said_to_be_there():
    """The plan was made before its own sweep."""
    page = seen(well())
    assert "which deleted 3.0 GB of it" in words(page)
    assert re.search(r"12\.\d GB of 136\.\d GB belong to no checkpoint", words(page))


def test_every_trouble_is_listed_with_what_to_do_the_worst_first():
    page = seen(troubled())
    assert words(page.all("h1")[0]) == "■8 things need you"
    (needs,) = page.all("ol", **{"class": "needs"})
    titles = [words(each) for each in needs.all("h3")]
    assert titles[0].startswith("Deletion was halted")
    assert titles[1] == "Files that checkpoints refer to are missing"
    assert {"The last run: storage unreachable", "A checkpoint cannot be read (2 jobs)"} < set(
        titles
    )
    todos = [words(each) for each in needs.all("p", **{"class": "todo"})]
    assert len(todos) == len(titles) == 8
    assert all(len(todo) > len("What to do: Nothing.") for todo in todos)


@pytest.mark.parametrize("mode", [RunMode.REPORT, RunMode.DELETE])
def test_what_has_disappeared_stands_first_with_the_command_that_lifts_it(mode):
    """In every mode: what only blocks a deletion that is not enabled yet stands further down."""
    command = f"orphangc world acknowledge {ROOT} place_lost s3://old --state s3://ops/orphangc"
    lost = BlockedPart(condition=Condition.PLACE_LOST, message=f"s3://old held 3: run: {command}")
    page = seen(a_status(a_root(a_record(jobs=[a_job(blocked=(lost,))]), settings={"mode": mode})))
    (needs,) = page.all("ol", **{"class": "needs"})
    assert "A place that held checkpoints holds none any more" in words(needs)
    assert [words(each) for each in needs.all("code", **{"class": "line"})] == [command]
    assert "What to do: Mount the place" in words(needs)


def test_the_page_shows_what_was_searched_and_what_has_changed():
    """Places, clusters and changes, each in a table; a doubt is said in words too."""
    (section,) = (each for each in seen(troubled()).all() if each.attributes.get("id") == "world")
    assert "What was searched: 3 places" in words(section)
    rows = [[words(c) for c in tr.all() if c.tag in {"td", "th"}] for tr in section.all("tr")]
    assert ["s3://acme-flink-prod-eu/savepoints", "extra root", "0", "▲ none found", "", ""] in rows
    assert [OTHER_ROOT, "sibling", "", "▲ out of reach", "", ""] in rows
    assert ["http://orders.flink:8081", "● yes", "1", ORDERS] in rows
    assert ["k8s://flink", "▲ no", "0", ""] in rows
    silent = "A cluster with living jobs is not heard any more"
    assert [row[2:] for row in rows if silent in row] == [[silent, "▲ no: it blocks"]]


def test_a_plan_of_a_version_without_a_world_shows_none_of_it():
    status = a_status(a_root(a_record(world=None)))
    assert not [each for each in seen(status).all() if each.attributes.get("id") == "world"]


def test_a_run_that_deleted_shows_the_command_that_brings_it_back():
    """With the folder of its plan; and no other run does."""
    deleted = SweptPart(action=Action.DELETE, outcome=Outcome.DONE, objects=47, bytes=1)
    record = a_record(swept=(deleted,), plan_folder="/var/lib/my plans/1")
    path = f"/ui/runs/{record.run_id}"
    assert "orphangc undelete '/var/lib/my plans/1'" in words(seen(a_status(a_root(record)), path))
    failed = record.model_copy(
        update={"swept": (deleted.model_copy(update={"outcome": Outcome.FAILED}),)}
    )
    assert "orphangc undelete" not in words(seen(a_status(a_root(failed)), path))


def test_a_first_run_in_delete_mode_says_why_it_only_reported():
    """Configured and done differ on purpose."""
    reason = "the first run on a storage root only reports"
    record = a_record(effective_mode=RunMode.REPORT, effective_mode_reason=reason)
    status = a_status(a_root(record))
    assert f"no further than report only: {reason}" in words(seen(status))
    assert reason in words(seen(status, f"/ui/runs/{record.run_id}"))


def test_a_run_of_another_mode_than_todays_was_not_held_back():
    """The file was changed since; what it was then went as far as it said."""
    record = a_record(mode=RunMode.DELETE, effective_mode=RunMode.DELETE)
    root = a_root(record, settings={"mode": RunMode.QUARANTINE})
    assert "no further than" not in words(seen(a_status(root)))


def test_the_price_is_an_assumption_that_is_said_and_can_be_set():
    """No bill is guessed."""
    http = HttpSettings(price_per_gib_month=1, currency="EUR")
    text = words(seen(reporting(), http=http))
    assert (
        "about 73 EUR a month, assuming 1.0 EUR a GiB and month (http.price_per_gib_month)" in text
    )


def test_old_numbers_are_said_to_be_old():
    """A run that made no plan has not looked."""
    status = a_status(
        a_root(without_plan(0, error="no credentials"), a_record(20)), now=NOW + timedelta(hours=1)
    )
    text = words(seen(status))
    assert "The numbers are those of the newest plan" in text
    assert "There is no recent plan" in text
    assert "no credentials" in text


@pytest.mark.parametrize(
    "result", [each for each in RunResult if each not in {RunResult.DONE, RunResult.BLOCKED}]
)
def test_every_failure_is_shown_as_text(result):
    """An exit code is for programs."""
    record = without_plan(0, result=result)
    page = seen(a_status(a_root(record, a_record(1))))
    assert f"The last run: {RESULT_TEXT[result].title}" in words(page)
    assert (
        RESULT_TEXT[result].title
        in words(seen(a_status(a_root(record)), f"/ui/runs/{record.run_id}")).lower()
    )


@pytest.mark.parametrize("mode", [RunMode.REPORT, RunMode.DELETE])
@pytest.mark.parametrize("condition", [*Condition])
def test_a_blocked_storage_root_is_never_shown_as_nothing_to_do(mode, condition):
    """In no mode, and whether or not waiting may lift it; not even where no orphan is left."""
    job = a_job(blocked=(BlockedPart(condition=condition, message="because"),), amounts=())
    page = seen(a_status(a_root(a_record(jobs=[job]), settings={"mode": mode})))
    for each in (*page.all("title"), *page.all("h1")):
        assert "nothing to do" not in words(each).lower()


def test_what_was_not_judged_is_not_called_free_of_orphans():
    """Too young, or of no area with a rule: a later run may find some."""
    page = words(seen(a_status(a_root(a_record(amounts=amounts(live=3, young=2))))))
    assert "No orphan is known among 5.0 GB." in page
    assert "is left" not in page


@pytest.mark.parametrize("result", [RunResult.LOCKED, RunResult.INTERRUPTED, RunResult.MISSED])
def test_what_passes_by_itself_needs_no_person_until_it_comes_again(result):
    """Once is chance."""
    once = seen(a_status(a_root(without_plan(0, result=result), a_record(1))))
    assert "nothing to do" in words(once.all("h1")[0])
    assert once.all("section", id="waits")
    twice = [without_plan(0, result=result), without_plan(1, result=result), a_record(2)]
    assert "1 thing needs you" in words(seen(a_status(a_root(*twice))).all("h1")[0])


def test_every_guard_and_condition_has_a_headline_and_reaches_the_page():
    """A new guard without words fails here, not on a user's page."""
    assert set(RESULT_TEXT) == set(RunResult)
    assert set(MODE_TEXT) == set(RunMode)
    for guard in Guard:
        job = a_job(refused=RefusedPart(guard=guard, message="because"), amounts=amounts(refused=1))
        assert GUARDS[guard].title in words(seen(a_status(a_root(a_record(jobs=[job])))))
    for condition in Condition:
        job = a_job(blocked=(BlockedPart(condition=condition, message="because"),))
        assert ADVICE[condition].title in words(seen(a_status(a_root(a_record(jobs=[job])))))
    assert CONDITIONS


def test_a_job_says_whether_its_snapshot_may_go_and_what_it_stores():
    """The question that the FLIP is about."""
    page = seen(well(), f"/ui/jobs/{ORDERS}")
    assert "State self-sustained: ● yes" in words(page)
    assert page.all("section", id="growth")
    assert "cannot be known" in words(seen(troubled(), f"/ui/jobs/{ORDERS}"))


def test_every_link_leads_somewhere(tmp_path):
    """A page that is linked exists."""
    record = a_kept_plan(tmp_path / "plan")
    client = Client(a_status(a_root(record, a_record(1), settings={"root": record.root})))
    paths, done = ["/"], set()
    while paths:
        path = paths.pop()
        done.add(path)
        answer = client.get(path)
        assert answer.status_code == 200, path
        if "text/html" not in answer.headers["content-type"]:
            continue
        page = parse(answer.text)
        ids = {each.attributes["id"] for each in page.all() if "id" in each.attributes}
        for link in [e.attributes["href"] for e in page.all() if "href" in e.attributes]:
            if link.startswith("#"):
                assert link[1:] in ids, f"{path} leads to {link}"
            elif link not in done:
                paths.append(link)
    assert len(done) > 20


# --- everybody can see it


@pytest.mark.parametrize("story", STORIES)
def test_pages_have_landmarks_one_heading_and_names_for_everything(story):
    """A screen reader can go through them."""
    status = STORIES[story]()
    client = Client(status)
    for path in pages_of(status):
        page = parse(client.get(path, headers={"Accept": "text/html"}).text)
        (html,) = page.all("html")
        assert html.attributes["lang"] == "en"
        assert (
            len(page.all("head")[0].all("title"))
            == len(page.all("main"))
            == len(page.all("h1"))
            == 1
        )
        assert page.all("header")
        assert page.all("footer")
        assert page.all("a", **{"class": "skip", "href": "#main"})
        headings = [int(e.tag[1]) for e in page.all() if re.fullmatch("h[1-6]", e.tag)]
        assert all(later <= earlier + 1 for earlier, later in pairwise(headings)), headings
        ids = [e.attributes["id"] for e in page.all() if "id" in e.attributes]
        assert len(ids) == len(set(ids))
        for each in page.all("svg"):
            is_hidden = each.attributes.get("aria-hidden") == "true"
            assert is_hidden or (each.attributes["role"] == "img" and each.attributes["aria-label"])
        for table in page.all("table"):
            assert table.all("caption")
            assert all("scope" in cell.attributes for cell in table.all("th"))
        for field in page.all("input"):
            assert page.all("label", **{"for": field.attributes["id"]})
        named = {
            e.attributes["aria-labelledby"] for e in page.all() if "aria-labelledby" in e.attributes
        }
        assert named <= set(ids)
        navs = [each.attributes["aria-label"] for each in page.all("nav")]
        assert len(navs) == len(set(navs))
        assert all(words(link) for link in page.all("a"))


@pytest.mark.parametrize("story", STORIES)
def test_pages_need_nothing_from_elsewhere_and_run_nothing(story):
    """No script but the one that refreshes, no inline style, no address of another host."""
    status = STORIES[story]()
    client = Client(status)
    for path in pages_of(status):
        text = client.get(path).text
        page = parse(text)
        scripts = [each.attributes for each in page.all("script")]
        assert scripts in ([], [{"src": f"/assets/{assets()['script'].name}", "defer": ""}])
        assert not any(each.text for each in page.all("script"))
        assert not page.all("style")
        for each in page.all():
            assert not any(name == "style" or name.startswith("on") for name in each.attributes)
            for name in ("href", "src", "action"):
                target = each.attributes.get(name, "/") or "#"  # "" is the page itself
                assert target.startswith(("/", "#")), target
                assert not target.startswith("//")


def test_the_style_sheet_is_found_by_its_content_and_loads_nothing():
    """A new version is a new name, so that it may be kept for ever."""
    client = Client()
    (link,) = parse(client.get("/").text).all("link", rel="stylesheet")
    answer = client.get(link.attributes["href"])
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]
    assert not re.search(r"@import|url\((?!#)", answer.text)
    assert client.get("/assets/style-0000000000000000.css").status_code == 404
    assert client.get("/assets/..%2f..%2fapp.py").status_code == 404


def schemes() -> dict[str, dict[str, str]]:
    """Return the colours by custom property of the light and the dark scheme."""
    text = assets()["style"].text
    found = {"light": {}, "dark": {}}
    for query, body in re.findall(r"(@media \([^)]*dark\) \{\s*)?:root \{(.*?)\}", text, re.DOTALL):
        found["dark" if query else "light"] |= dict(
            re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", body)
        )
    return {"light": found["light"], "dark": {**found["light"], **found["dark"]}}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast_on_every_ground(scheme):
    """WCAG AA: 4.5 to 1 for text."""
    colours = schemes()[scheme]
    grounds = ["surface", "ground", "go-ground", "stop-ground", "wait-ground", "idle-ground"]
    for ground in grounds:
        for text in ("ink", "muted", "link", "stop", "wait", "go"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    assert contrast(colours["surface"], colours["link"]) >= 4.5  # the button


# --- nothing from outside steers it


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_and_messages_stay_text(text, tmp_path):
    """Names in a bucket and error messages are anybody's."""
    job = a_job(
        text,
        directories=(text,),
        refused=RefusedPart(guard=text, message=text),
        blocked=(BlockedPart(condition=text, message=text),),
    )
    record = a_record(
        jobs=[job, a_job(ORDERS, directories=(text,), blocked=job.blocked)],
        result=RunResult.FAILED,
        error=text,
        stopped=text,
        warnings=(text,),
        effective_mode_reason=text,
        effective_mode=RunMode.REPORT,
        plan_folder=str(tmp_path / "none"),
        tool_version=text,
        world=a_world(
            changed=(WorldChange(condition=text, what=text, since=NOW),),
            places=(
                SearchedPlace(uri=text, kind=PlaceKind.REPORTED, job_directories=0, checkpoints=1),
            ),
            clusters=(KnownCluster(uri=text, jobs=(text,), answers=False, problem=text),),
        ),
    )
    status = a_status(a_root(record), not_ready=text)
    plain = a_status(a_root(a_record(jobs=[a_job(), a_job("1" * 32)])))
    for path in ("/", f"/ui/runs/{record.run_id}", f"/ui/jobs/{ORDERS}"):
        page = parse(Client(status).get(path).text)
        allowed = {each.tag for each in parse(Client(plain).get("/").text).all()}
        assert not {"img", "b"} & {each.tag for each in page.all()}
        assert len(page.all("script")) <= 1
        assert {each.tag for each in page.all()} <= allowed | {
            "p",
            "dl",
            "dt",
            "dd",
            "nav",
            "form",
            "label",
            "input",
            "button",
            "h3",
            "div",
            "article",
            "ol",
        }
        for each in page.all():
            assert not any(name.startswith("on") for name in each.attributes)
    for path in (f"/ui/runs/{record.run_id}/objects", "/ui/runs"):
        page = parse(Client(status).get(path, params={"key": text, "root": text}).text)
        assert not {"img", "b"} & {each.tag for each in page.all()}
        assert all(each.attributes["src"] for each in page.all("script"))


def test_many_jobs_and_roots_are_shown_within_a_second_or_so():
    """A large platform is where the page is needed most."""
    begun = process_time()
    answer = Client(crowded(20, 50)).get("/")
    assert answer.status_code == 200
    assert process_time() - begun < speed.scaled(5)
    assert answer.text.count('class="job-item"') == 1000
    assert len(answer.content) < 4_000_000


def test_the_runs_page_can_be_asked_for_one_storage_root():
    """Twenty roots make a long list."""
    page = parse(Client(troubled()).get("/ui/runs", params={"root": ROOT}).text)
    rows = page.all("table")[0].all("tbody")[0].all("tr")
    assert len(rows) == 3


def test_a_job_stands_beside_the_name_of_its_deployment() -> None:
    """An id says nothing to a person; the resource that runs it does."""
    refused = RefusedPart(guard=Guard.UNREADABLE_ROOT, message=f"job {ORDERS} left a file")
    named = a_job(resources=("flink/orders",), refused=refused)
    status = a_status(a_root(a_record(jobs=(named,))))
    client, shown = Client(status), f"{ORDERS} (flink/orders)"
    run_id = status.roots[0].newest.run_id
    for path in ("/", f"/ui/jobs/{ORDERS}", f"/ui/runs/{run_id}"):
        page = parse(client.get(path).text)
        assert f"job {shown} left a file" in words(page), path
        links = {each.attributes["href"] for each in page.all("a") if words(each) == shown}
        assert links == {f"/ui/jobs/{ORDERS}"}, path
    assert words(parse(client.get(f"/ui/jobs/{ORDERS}").text).all("h1")[0]) == shown


def test_a_discovery_that_fails_stands_on_the_page() -> None:
    """A daemon without a storage root would otherwise wait for a first run that never comes."""
    why = "Namespace/flnk: shows nothing of Flink: correct its name"
    page = seen(replace(a_status(), roots=(), discovery_problem=why))
    (needs,) = page.all("ol", **{"class": "needs"})
    assert why in words(needs)
    assert "Discovery failed" in words(needs)
    assert "No storage root is known yet" in words(page)
    assert "Discovery failed" not in words(seen(a_status()))


def test_a_run_that_could_delete_nothing_is_amber_and_says_of_how_many_jobs():
    """A green "Done" would hide that nothing will ever be deleted."""
    stopped = StoppedPart(jobs=2, of_jobs=2, code="closed_world", message="nobody stated that")
    record = a_record(0, result=RunResult.BLOCKED, blocked=stopped)
    page = seen(a_status(a_root(record)), f"/ui/runs/{record.run_id}")
    assert "banner blocked" in {each.attributes.get("class") for each in page.all("section")}
    assert "Nothing can be deleted of 2 of 2 jobs: nobody stated that" in words(page)
