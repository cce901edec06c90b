"""The rules are what the mixin renders, and each alert fires when it must and only then."""

from pathlib import Path

import pytest
import yaml

from deploy.fixtures import MONITORING
from deploy.stories import STORIES, as_promtool
from support.processes import finished

pytestmark = pytest.mark.ci

RULES = MONITORING / "rules.yaml"
ALERTS = {
    rule["alert"]: rule
    for group in yaml.safe_load(RULES.read_text())["groups"]
    for rule in group["rules"]
}


def run(*command: object) -> None:
    done = finished(command)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_are_valid(promtool):
    """Prometheus takes them, and its linter finds nothing."""
    run(promtool, "check", "rules", "--lint=all", "--lint-fatal", RULES)


@pytest.mark.parametrize("alert", ALERTS)
def test_each_alert_has_a_story_that_fires_it_and_one_that_does_not(alert):
    """An alert that was never seen firing, or never silent, is a hope."""
    fires = ["fires" in story for story in STORIES[alert]]
    assert {*fires} == {True, False}


@pytest.mark.parametrize("alert", ALERTS)
def test_the_stories_of(alert: str, promtool: Path, tmp_path: Path):
    """Exactly the expected alerts fire, with these labels and these words."""
    rules = tmp_path / "rules.yaml"  # this rule alone: promtool evaluates all that it is given
    rules.write_text(yaml.safe_dump({"groups": [{"name": "one", "rules": [ALERTS[alert]]}]}))
    stories = {
        "rule_files": [str(rules)],
        "evaluation_interval": "5m",
        "tests": [as_promtool(ALERTS[alert], story) for story in STORIES[alert]],
    }
    file = tmp_path / "stories.yaml"
    file.write_text(yaml.safe_dump(stories))
    run(promtool, "test", "rules", file)


@pytest.mark.parametrize("alert", ALERTS.values(), ids=ALERTS)
def test_an_alert_says_what_its_reader_needs(alert):
    """One first word, a severity that the routes know, whole sentences."""
    assert alert["alert"].startswith("Orphangc")
    assert alert["labels"]["severity"] in {"critical", "warning", "info"}
    annotations = alert["annotations"]
    assert annotations.keys() == {"summary", "description", "runbook_url"}
    assert annotations["summary"].endswith(".")
    assert "{{" not in annotations["summary"], "a summary is the same for all, to group by"
    assert "$labels." in annotations["description"]
    assert annotations["runbook_url"].endswith(f"#{alert['alert'].lower()}")
    assert alert["for"] != "0m"
