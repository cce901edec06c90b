"""The dashboard keeps the rules that Grafana's own linter has, and fits one screen."""

import json

import pytest

from deploy.fixtures import MONITORING
from deploy.promql import selectors

pytestmark = pytest.mark.ci

DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
VARIABLES = {each["name"]: each for each in DASHBOARD["templating"]["list"]}
OF_REPLICAS = {"orphangc_build_info"}
UNITS = {"bytes", "s", "short"}


def test_it_can_be_provisioned():
    """A stable identity; who imports it again does not get a second one."""
    assert DASHBOARD["uid"] == "orphangc"
    assert DASHBOARD["title"]
    assert DASHBOARD["tags"]
    assert DASHBOARD["schemaVersion"] >= 36
    assert DASHBOARD["editable"] is False
    assert "id" not in DASHBOARD


def test_its_variables():
    """Data source first; all others may be everything, what is pushed too."""
    assert list(VARIABLES) == ["datasource", "job", "instance", "root"]
    assert VARIABLES["datasource"]["query"] == "prometheus"
    for name in ("job", "instance", "root"):
        assert VARIABLES[name]["allValue"] == ".*", "also the empty instance of what is pushed"
        assert VARIABLES[name]["includeAll"]
        assert VARIABLES[name]["multi"]
        assert VARIABLES[name]["datasource"]["uid"] == "${datasource}"


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_says_what_it_shows(panel):
    """Title, description, unit, data source, and something to show."""
    assert panel["title"]
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    assert panel["targets"]
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_target_keeps_to_the_variables(panel):
    """What is chosen above holds for every panel; rates span at least two scrapes."""
    for target in panel["targets"]:
        assert target["datasource"]["uid"] == "${datasource}"
        asked = list(selectors(target["expr"]))
        assert asked
        for name, matchers in asked:
            wanted = {"job", "instance"} if name in OF_REPLICAS else {"job", "instance", "root"}
            for variable in wanted:
                assert matchers[variable] == ("=~", f"${variable}"), name
        if "rate(" in target["expr"] or "increase(" in target["expr"]:
            assert "[$__rate_interval]" in target["expr"] or "[$__range]" in target["expr"]
        if panel["type"] == "timeseries":
            assert target["legendFormat"]


def test_nothing_overlaps_and_all_fits():
    """Rows are filled to the edge, and the whole is one tall screen."""
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
    height = max(y for _, y in taken) + 1
    assert len(taken) == 24 * height
    assert height <= 32


def test_a_table_renames_every_column():
    """No header says "Value #C"."""
    table = next(panel for panel in PANELS if panel["type"] == "table")
    organize = next(each for each in table["transformations"] if each["id"] == "organize")
    renamed = organize["options"]["renameByName"]
    assert set(renamed) == {"root", *(f"Value #{target['refId']}" for target in table["targets"])}
    headers = {override["matcher"]["options"] for override in table["fieldConfig"]["overrides"]}
    assert headers == set(renamed.values()) - {"Storage root"}
