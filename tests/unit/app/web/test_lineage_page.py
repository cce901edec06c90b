"""The page of a run's lineages, from what the run kept on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orphangc.app.web.pages.lineage_page import LINEAGES_DRAWN, shown_lineages
from orphangc.core.documents.run_record import ExpiryRecord, RunRecord
from unit.app.render.html_pages import parse
from unit.app.render.retention.lineage_parts import lineage, report
from unit.app.web.client import Client
from unit.app.web.statuses import a_record, a_root, a_status

DID = ExpiryRecord(
    expired=1, released=0, in_quarantine=0, in_use=0, unneeded_bytes=2, expiring_bytes=2
)


def kept(folder: Path, document: str) -> RunRecord:
    """Return the record of a run with a plan of ``expire``."""
    (folder / "expiry").mkdir(parents=True)
    (folder / "expiry" / "plan.json").write_text(document)
    return a_record(plan_folder=str(folder), expiry=DID, root="/cp")


def document(number: int = 1, **changes: object) -> str:
    """Return as much of a plan as the page reads."""
    found = report(*[lineage()] * number, **changes)
    return json.dumps({"expiry": found.model_dump(mode="json")})


def test_the_page_draws_the_lineages_of_a_run(tmp_path) -> None:
    record = kept(tmp_path / "plan", document())
    client = Client(a_status(a_root(record, settings={"root": record.root})))
    path = f"/ui/runs/{record.run_id}/lineages"
    page = parse(client.get(path).text)
    (picture,) = page.all("svg", **{"class": "lineage"})
    assert "Lineage prod/orders: 3 jobs, 3 checkpoints." in picture.attributes["aria-label"]
    assert "1 checkpoint of 3 would expire" in page.text
    assert not page.all("script")
    assert path in client.get(f"/ui/runs/{record.run_id}").text
    assert client.get("/ui/runs/none/lineages").status_code == 404


def test_no_more_are_drawn_than_a_page_can_hold(tmp_path) -> None:
    shown = shown_lineages(kept(tmp_path / "plan", document(LINEAGES_DRAWN + 1)))
    assert len(shown.drawn) == LINEAGES_DRAWN


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}", "no plan of expire"),
        ("[]", "no plan of expire"),
        ("not JSON", "no plan of expire"),
        (document(root="/elsewhere"), "another storage root"),
    ],
)
def test_what_is_no_plan_of_the_run_is_said(tmp_path, text, problem) -> None:
    assert problem in shown_lineages(kept(tmp_path / "plan", text)).problem


def test_a_run_without_a_policy_has_none() -> None:
    assert "no retention policy" in shown_lineages(a_record()).problem
