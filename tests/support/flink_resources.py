"""The operator's resources as documents, and the schemas that its releases give them.

The schemas (``operator_schemas.yaml``) are written by hand from the facts of the operator's custom
resource definitions (releases 1.8.0 to 1.15.0 and July 2026). What changed between releases stands
in ``SINCE``.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

JOB = "5d2f1c0e9a8b7c6d5e4f3a2b1c0d9e8f"
OTHER = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1"
RELEASES = ("1.8", "1.9", "1.10", "1.11", "1.12", "1.13", "1.14", "1.15", "1.16")
"""The last one is the state of July 2026."""

SCHEMAS: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("operator_schemas.yaml").read_text()
)["kinds"]
SINCE = {
    ("FlinkStateSnapshot", ""): "1.10",
    ("FlinkBlueGreenDeployment", ""): "1.14",
    ("FlinkDeployment", "status.jobStatus.upgradeSavepointPath"): "1.10",
    ("FlinkSessionJob", "status.jobStatus.upgradeSavepointPath"): "1.10",
    ("FlinkDeployment", "status.conditions"): "1.15",
}
"""Kinds and fields that an older release does not know: its API server drops such a field."""
_NESTED_CONFIGURATION = "1.13"
"""Since then ``flinkConfiguration`` may be nested; before, it is a map of texts."""
_TYPES = {"string": str, "integer": int, "boolean": bool, "map": dict, "open": object}


class SchemaError(Exception):
    """The API server refuses a document."""


def _number(release: str) -> int:
    return RELEASES.index(release)


def admitted(document: dict[str, Any], release: str = RELEASES[-1]) -> dict[str, Any]:
    """Return a document as the API server of an operator's release stores it.

    Raises:
        SchemaError: A field has another type, or the kind does not exist yet.

    """
    kind = document["kind"]
    if _number(release) < _number(SINCE.get((kind, ""), RELEASES[0])):
        raise SchemaError(f"{kind} is not defined in {release}")
    stored = deepcopy(document)
    for part in ("spec", "status"):
        if part in stored:
            stored[part] = _pruned(stored[part], SCHEMAS[kind][part], kind, part, release)
    return stored


def _pruned(value: Any, schema: Any, kind: str, path: str, release: str) -> Any:  # noqa: PLR0917
    if value is None or path.endswith("flinkConfiguration"):
        return _configuration(value, kind, path, release)
    if isinstance(schema, dict):
        _must(isinstance(value, dict), f"{kind} {path} must be an object")
        return {
            name: _pruned(each, schema[name], kind, f"{path}.{name}", release)
            for name, each in value.items()
            if name in schema and _is_known(kind, f"{path}.{name}", release)
        }
    if isinstance(schema, list):
        _must(isinstance(value, list), f"{kind} {path} must be an array")
        return [_pruned(each, schema[0], kind, path, release) for each in value]
    _must(_fits(value, schema), f"{kind} {path} must be of type {schema}")
    return value


def _fits(value: Any, schema: str) -> bool:
    if "|" in schema:
        return value in schema.split("|")
    is_truth = isinstance(value, bool)
    return isinstance(value, _TYPES[schema]) and (is_truth <= (schema in {"boolean", "open"}))


def _configuration(value: Any, kind: str, path: str, release: str) -> Any:
    is_flat = isinstance(value, dict) and all(isinstance(e, str) for e in value.values())
    may_be_nested = _number(release) >= _number(_NESTED_CONFIGURATION)
    _must(value is None or is_flat or may_be_nested, f"{kind} {path} must be a map of texts")
    return value


def _must(is_right: bool, why: str) -> None:  # noqa: FBT001
    if not is_right:
        raise SchemaError(why)


def _is_known(kind: str, path: str, release: str) -> bool:
    return _number(release) >= _number(SINCE.get((kind, path), RELEASES[0]))


def configuration(root: str = "s3://prod/checkpoints", **more: str) -> dict[str, Any]:
    """Return a flat configuration with a checkpoint directory, other options by keyword."""
    spelled = {name.replace("__", "."): value for name, value in more.items()}
    return {"state.checkpoints.dir": root, **spelled}


def a_resource(
    kind: str, name: str, spec: dict[str, Any], status: dict[str, Any] | None = None
) -> dict[str, Any]:
    document = {
        "apiVersion": "flink.apache.org/v1beta1",
        "kind": kind,
        "metadata": {"name": name, "generation": 1, "uid": f"uid-of-{name}"},
        "spec": spec,
    }
    return document if status is None else {**document, "status": status}


def a_status(job_id: str = JOB, state: str = "RUNNING", **more: Any) -> dict[str, Any]:
    return {
        "jobStatus": {"jobId": job_id, "jobName": "orders", "state": state, **more.pop("job", {})},
        "jobManagerDeploymentStatus": "READY",
        "lifecycleState": "STABLE",
        "observedGeneration": 1,
        "reconciliationStatus": {"state": "DEPLOYED"},
        **more,
    }


def a_deployment(
    name: str = "orders",
    config: dict[str, Any] | None = None,
    *,
    status: dict[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Return a FlinkDeployment of one application."""
    given = configuration() if config is None else config
    job = {"jarURI": "local:///job.jar", "state": "running", "upgradeMode": "last-state"}
    content = {"flinkVersion": "v1_18", "flinkConfiguration": given, "job": job, **spec}
    shown = a_status() if status is None else status
    return a_resource("FlinkDeployment", name, {k: v for k, v in content.items() if v}, shown)


def a_session_job(
    name: str = "report",
    cluster: str = "session",
    config: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    spec: dict[str, Any] = {"deploymentName": cluster, "job": {"state": "running"}}
    if config is not None:
        spec["flinkConfiguration"] = config
    status = {"jobStatus": {"jobId": OTHER, "state": "RUNNING"}}
    return a_resource("FlinkSessionJob", name, spec, {**status, **more})


def a_snapshot_resource(
    name: str = "nightly", path: str = "s3://prod/savepoints/savepoint-1", state: str = "COMPLETED"
) -> dict[str, Any]:
    spec = {"jobReference": {"kind": "FlinkDeployment", "name": "orders"}, "savepoint": {}}
    return a_resource("FlinkStateSnapshot", name, spec, {"state": state, "path": path})


def a_blue_green(name: str = "pair", config: dict[str, Any] | None = None) -> dict[str, Any]:
    spec = {"template": {"spec": a_deployment(config=config)["spec"]}}
    return a_resource(
        "FlinkBlueGreenDeployment",
        name,
        spec,
        {"blueGreenState": "ACTIVE_BLUE", "jobStatus": {"jobId": JOB, "state": "RUNNING"}},
    )


def made_maps(document: dict[str, Any]) -> dict[str, dict[str, str | None]]:
    """Return the ConfigMaps that the operator makes for a resource whose cluster is there."""
    kind, shown = document["kind"], document.get("status", {})
    name = f"flink-config-{document['metadata'].get('name')}"
    if kind == "FlinkBlueGreenDeployment":
        return {f"{name}-blue": {"flink-conf.yaml": ""}}
    is_there = isinstance(shown, dict) and shown.get("jobManagerDeploymentStatus", "MISSING")
    if kind == "FlinkDeployment" and is_there != "MISSING":
        return {name: {"flink-conf.yaml": ""}}
    return {}


def a_plain_deployment(
    name: str = "flink-jobmanager", labels: dict[str, str] | None = None, **pod: Any
) -> dict[str, Any]:
    """Return a Deployment of a JobManager that no operator made."""
    container = {
        "name": "jobmanager",
        "image": "flink:1.20",
        "args": ["jobmanager"],
        **pod.pop("container", {}),
    }
    kind = pod.pop("kind", "Deployment")
    shown = {"app": "flink", "component": "jobmanager"} if labels is None else labels
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": shown, "uid": f"uid-of-{name}"},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [container], **pod}}},
    }


def reconciled(config: dict[str, Any], **job: Any) -> str:
    """Return the JSON text of a spec inside a status, as operators since 1.3 write it."""
    return json.dumps(
        {
            "spec": {"flinkConfiguration": config, "job": {"state": "running", **job}},
            "resource_metadata": {"apiVersion": "flink.apache.org/v1beta1"},
        }
    )


def fields_of(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every field below spec and status."""
    if isinstance(document, dict):
        for name, each in document.items():
            if path or name in {"spec", "status"}:
                yield (*path, name)
                yield from fields_of(each, (*path, name))
    elif isinstance(document, list):
        for position, each in enumerate(document):
            yield from fields_of(each, (*path, position))


def changed(document: Any, path: tuple[Any, ...], change: Any) -> Any:
    """Return a copy in which one field is removed (``None``) or has another value."""
    copy = deepcopy(document)
    around = copy
    for name in path[:-1]:
        around = around[name]
    if change is None:
        del around[path[-1]]
    else:
        around[path[-1]] = change
    return copy
