"""The page of a run's lineages, from what the run kept on this machine."""

from pathlib import Path

import pytest

from orphangc.app.web.pages.run_pages import LINEAGES_DRAWN, shown_lineages
from orphangc.core.documents.lineage_report import LINEAGES_FILE
from orphangc.core.documents.run_record import RunRecord
from orphangc.core.lineage.retention_policy import RetentionPolicy
from unit.app.render.html_pages import parse
from unit.app.render.retention.lineage_parts import lineage, report
from unit.app.web.client import Client
from unit.app.web.statuses import a_record, a_root, a_status, without_plan


def kept(folder: Path, document: str) -> RunRecord:
    folder.mkdir(parents=True)
    (folder / LINEAGES_FILE).write_text(document)
    return a_record(plan_folder=str(folder), root="/cp")


def document(number: int = 1, **changes: object) -> str:
    return report(*[lineage()] * number, **changes).model_dump_json()


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (None, "there is no retention policy, so nothing expires"),
        (RetentionPolicy(keep_last=1), "1 checkpoint of 3 would expire"),
    ],
)
def test_the_page_draws_the_lineages_of_a_run(tmp_path, policy, sentence) -> None:
    """With a retention policy or without one: every run has lineages."""
    record = kept(tmp_path / "plan", document(policy=policy))
    client = Client(a_status(a_root(record, settings={"root": record.root})))
    path = f"/ui/runs/{record.run_id}/lineages"
    page = parse(client.get(path).text)
    (picture,) = page.all("svg", **{"class": "lineage"})
    assert "Lineage prod/orders: 3 jobs, 3 checkpoints." in picture.attributes["aria-label"]
    assert sentence in page.text
    assert not page.all("script")
    assert path in client.get(f"/ui/runs/{record.run_id}").text
    assert client.get("/ui/runs/none/lineages").status_code == 404


def test_each_checkpoint_leads_to_its_page(tmp_path) -> None:
    record = kept(tmp_path / "plan", document())
    client = Client(a_status(a_root(record, settings={"root": record.root})))
    page = parse(client.get(f"/ui/runs/{record.run_id}/lineages").text)
    links = [
        each.attributes["href"] for each in page.all("a") if "?uri=" in each.attributes["href"]
    ]
    assert [each.partition("?uri=")[2] for each in links] == [f"/cp/{n}/chk-9" for n in range(3)]


def test_no_more_are_drawn_than_a_page_can_hold(tmp_path) -> None:
    shown = shown_lineages(kept(tmp_path / "plan", document(LINEAGES_DRAWN + 1)))
    assert len(shown.drawn) == LINEAGES_DRAWN


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}", "no lineages in"),
        ("[]", "no lineages in"),
        ("not JSON", "no lineages in"),
        (document(root="/elsewhere"), "another storage root"),
    ],
)
def test_what_are_no_lineages_of_the_run_is_said(tmp_path, text, problem) -> None:
    assert problem in shown_lineages(kept(tmp_path / "plan", text)).problem


def test_a_run_without_a_plan_has_none() -> None:
    assert "made no plan" in shown_lineages(without_plan()).problem
