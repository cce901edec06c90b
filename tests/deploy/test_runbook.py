"""Each alert has its section in the runbook, and each section its alert."""

import re

import pytest
import yaml
from typer.testing import CliRunner

from deploy.fixtures import MONITORING
from deploy.program_metrics import known_series
from orphangc.app.cli import app
from orphangc.core.model.codes import Condition, Guard

pytestmark = pytest.mark.ci

RUNBOOK = (MONITORING / "runbook.md").read_text()
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", RUNBOOK, re.MULTILINE | re.DOTALL))
ALERTS = {
    rule["alert"]: rule
    for group in yaml.safe_load((MONITORING / "rules.yaml").read_text())["groups"]
    for rule in group["rules"]
}
PARTS = ("Meaning", "At risk", "Look at", "Do", "Ignore when")


def test_each_alert_has_a_section_and_each_section_an_alert():
    """No link leads nowhere, and no page waits for an alert that is gone."""
    assert SECTIONS.keys() == ALERTS.keys()


@pytest.mark.parametrize("alert", ALERTS)
def test_the_link_leads_to_the_section(alert):
    """Anchors are headings in lower case."""
    anchor = ALERTS[alert]["annotations"]["runbook_url"].rpartition("#")[2]
    assert anchor in {heading.lower() for heading in SECTIONS}


@pytest.mark.parametrize("alert", SECTIONS)
def test_a_section_answers_every_question(alert):
    """What it means, what is at risk, where to look, what to do, when to ignore it."""
    found = re.findall(r"^\*\*([A-Z][a-z ]+)\.\*\* \S", SECTIONS[alert], re.MULTILINE)
    assert tuple(found) == PARTS


def test_guards_and_conditions_that_are_named_exist():
    """In code font stand words of the program."""
    words = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", RUNBOOK))
    rules = {*map(str, Guard), *map(str, Condition)}
    assert len(words & rules) > 5
    others = {"run_id", *known_series()}
    assert words <= rules | others


@pytest.mark.parametrize(
    "command", sorted(set(re.findall(r"`orphangc ((?:registry )?[a-z]+)", RUNBOOK)))
)
def test_a_command_of_the_runbook_exists(command):
    """Nobody is sent to type what is not there; its options are those of the program."""
    told = CliRunner().invoke(app, [*command.split(), "--help-all"], env={"COLUMNS": "400"})
    assert told.exit_code == 0, told.output
    for line in re.findall(rf"`orphangc {command}([^`]*)`", RUNBOOK):
        for option in re.findall(r"--[a-z-]+", line):
            assert option in told.output
