"""The chart rendered by the real Helm, once a case: what the chart's tests look at."""

import functools
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from support.processes import finished

REPOSITORY = Path(__file__).parents[2]
CHART = REPOSITORY / "helm" / "orphangc"
CASES = tuple(sorted(path.name.removesuffix("-values.yaml") for path in CHART.glob("ci/*.yaml")))
NAMESPACE = "flink-gc"
RELEASE = "nightly"

Manifest = dict[str, Any]

ROOTS = {"storage_roots": [{"root": "s3://flink/checkpoints", "state": "s3://gc/orphangc"}]}
"""The least configuration."""

POD_KINDS = ("CronJob", "Deployment", "Pod")


def helm_run(helm: Path, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess:
    """Run helm without whatever this user has configured for it."""
    return finished(
        [helm, *arguments],
        input=stdin,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "HELM_NO_PLUGINS": "1"},
    )


def template(helm: Path, values: Manifest | str, *more: str) -> subprocess.CompletedProcess:
    """Run ``helm template`` with a case of ``ci/``, or with values."""
    is_case = isinstance(values, str)
    given = str(CHART / "ci" / f"{values}-values.yaml") if is_case else "-"
    arguments = ["template", RELEASE, str(CHART), f"--namespace={NAMESPACE}", f"--values={given}"]
    return helm_run(helm, *arguments, *more, stdin=None if is_case else yaml.safe_dump(values))


@functools.cache
def case_text(helm: Path, case: str) -> str:
    done = template(helm, case)
    assert done.returncode == 0, done.stderr
    return done.stdout


def manifests(text: str) -> list[Manifest]:
    return [each for each in yaml.safe_load_all(text) if each is not None]


def rendered(helm: Path, values: Manifest | str, *more: str) -> list[Manifest]:
    if isinstance(values, str) and not more:
        return manifests(case_text(helm, values))
    done = template(helm, values, *more)
    assert done.returncode == 0, done.stderr
    return manifests(done.stdout)


def of_kind(objects: list[Manifest], kind: str) -> list[Manifest]:
    return [each for each in objects if each["kind"] == kind]


def the(objects: list[Manifest], kind: str) -> Manifest:
    """Return the only object of a kind."""
    [found] = of_kind(objects, kind)
    return found


def pod_of(manifest: Manifest) -> Manifest:
    """Return the pod, with metadata and spec, that an object is or is a template of."""
    match manifest["kind"]:
        case "CronJob":
            return manifest["spec"]["jobTemplate"]["spec"]["template"]
        case "Deployment":
            return manifest["spec"]["template"]
        case _:
            return manifest


def pods(objects: list[Manifest]) -> Iterator[tuple[str, Manifest]]:
    """Yield every pod of a rendering with the name of what makes it."""
    for each in objects:
        if each["kind"] in POD_KINDS:
            yield f"{each['kind']}/{each['metadata']['name']}", pod_of(each)


def collector(objects: list[Manifest]) -> Manifest:
    """Return the pod that collects: the CronJob's or the Deployment's."""
    [pod] = [pod_of(each) for each in objects if each["kind"] in {"CronJob", "Deployment"}]
    return pod


def daemon(**values: Any) -> Manifest:
    return {"kind": "Deployment", "config": ROOTS, **values}
