"""The page of one checkpoint: what it holds, for checkpoints that the run itself has read."""

from pathlib import Path

import pytest

from orphangc.app.daemon.scheduler import Children
from orphangc.core.documents.run_record import RunRecord
from orphangc.errors import OrphanGcError
from unit.app.render.html_pages import parse
from unit.app.render.retention.lineage_parts import checkpoint, lineage, report
from unit.app.web.client import Client
from unit.app.web.statuses import ORDERS, a_job, a_root, a_status
from unit.app.web.test_lineage_page import kept
from unit.flinkstate.metadata.golden_files import golden

GOLDEN = golden("2.3.0/classic").folder


def a_run(folder: Path, *uris: object) -> RunRecord:
    parts = [checkpoint(0, uri=str(uri), job_id=ORDERS) for uri in uris]
    document = report(lineage(checkpoints=parts)).model_dump_json()
    return kept(folder / "plan", document).model_copy(update={"jobs": (a_job(),)})


def asked(record: RunRecord, uri: object, **options):
    client = Client(a_status(a_root(record, settings={"root": record.root})), **options)
    return client.get(f"/ui/runs/{record.run_id}/checkpoints", params={"uri": str(uri)})


def test_the_page_shows_what_a_checkpoint_holds(tmp_path) -> None:
    """In the view of ``inspect --html``, without what its policy forbids."""
    page = parse(asked(a_run(tmp_path, GOLDEN), GOLDEN).text)
    headings = {each.text.strip() for each in page.all("h3")}
    assert {"Bytes by operator and state", "States"} <= headings
    assert page.all("svg", **{"class": "bar"})
    assert not page.all("script")
    assert not any("style" in each.attributes for each in page.all())
    ids = [each.attributes["id"] for each in page.all() if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    assert f"orphangc inspect {GOLDEN}" in page.text


def test_a_person_comes_from_the_job_to_its_checkpoints(tmp_path) -> None:
    record = a_run(tmp_path, GOLDEN)
    client = Client(a_status(a_root(record, settings={"root": record.root})))
    listed = f"/ui/runs/{record.run_id}/checkpoints?job={ORDERS}"
    assert listed in client.get(f"/ui/jobs/{ORDERS}").text
    links = parse(client.get(listed).text).all("a")
    (link,) = [each.attributes["href"] for each in links if "?uri=" in each.attributes["href"]]
    assert "Bytes by operator" in client.get(link).text
    assert "?uri=" not in client.get(listed.replace(ORDERS, "0" * 32)).text


@pytest.mark.parametrize("uri", ["/etc", "s3://elsewhere/chk-1", "", f"{GOLDEN}/../utf", "\x00"])
def test_a_place_that_the_run_did_not_read_is_not_opened(tmp_path, uri) -> None:
    """A request must not make the daemon connect to other stores."""

    def opened(checkpoint: str, _: object) -> str:
        pytest.fail(f"{checkpoint} is opened")

    answer = asked(a_run(tmp_path, GOLDEN), uri, part=opened)
    assert answer.status_code == 404
    assert "read no such checkpoint" in answer.text


def test_what_is_gone_is_said_on_the_page(tmp_path) -> None:
    """Flink removes its own checkpoints; a page is no error of the daemon."""
    gone = tmp_path / "storage" / "chk-7"
    answer = asked(a_run(tmp_path, gone), gone)
    assert answer.status_code == 200
    assert "Not read: there is no checkpoint" in answer.text


def test_what_cannot_be_read_in_time_is_a_problem_without_secrets(tmp_path) -> None:
    uri = "s3://key:opensesame@store/chk-1"

    def late(_: str, __: object) -> str:
        raise OrphanGcError("it could not be read within 20 s")

    answer = asked(a_run(tmp_path, uri), uri, part=late)
    assert answer.status_code == 503
    assert "within 20 s" in answer.text
    assert "opensesame" not in answer.text


def test_a_child_reads_the_checkpoint_in_bounded_time(tmp_path) -> None:
    """The daemon itself loads no storage client."""
    config = tmp_path / "orphangc.yaml"
    config.write_text("storage_roots: [{root: /cp, state: /state}]")
    children = Children(config)
    assert "Bytes by operator" in children.page_part(str(GOLDEN), [])
    with pytest.raises(OrphanGcError, match="within 0 s"):
        Children(config, page_seconds=0).page_part(str(GOLDEN), [])
    children.end()
    with pytest.raises(OrphanGcError, match="is ending"):
        children.page_part(str(GOLDEN), [])
