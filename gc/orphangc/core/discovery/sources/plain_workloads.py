"""Workloads that look like Flink without an operator: where their REST service may answer.

What they run, mount and are given is evidence of nothing. One that answers is a cluster to ask;
one that does not is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orphangc.core.discovery.discovered_facts import Origin
from orphangc.core.discovery.sources.cluster_services import rest_uri
from orphangc.core.discovery.texts.flink_options import Reading
from orphangc.core.discovery.texts.strict_fields import value_at

WORKLOADS = ("Deployment", "StatefulSet", "Job")
"""Kinds whose pods may be JobManagers: an application may run as a Job."""

_FLINK, _NO_JOB_MANAGERS = "flink", ("flink-kubernetes-operator", "orphangc", "taskmanager")


@dataclass(frozen=True, slots=True)
class PlainWorkload:
    """A workload that looks like Flink, and the addresses at which it may answer."""

    origin: Origin
    addresses: tuple[str, ...]


def plain_workload(
    kind: str, namespace: str, document: Mapping[str, Any], reading: Reading
) -> PlainWorkload | None:
    """Return a workload that may be a JobManager's; ``None`` for any other.

    Its Service has its name (Flink's pages on standalone clusters), or ends in ``-rest`` (a native
    cluster).
    """
    words = [each.lower() for each in _words(document)]
    looks = any(_FLINK in each or "jobmanager" in each for each in words)
    if not looks or any(each in word for word in words for each in _NO_JOB_MANAGERS):
        return None
    name = next(_texts(document, "metadata", "name"), "")
    native = rest_uri(name, namespace, reading)
    addresses = dict.fromkeys((native, native.replace(f"{name}-rest", name)))
    return PlainWorkload(Origin(kind=kind, namespace=namespace, name=name), tuple(addresses))


def is_operated(document: Mapping[str, Any]) -> bool:
    """Return whether an operator's resource stands for a workload."""
    owners = value_at(document, "metadata", "ownerReferences")
    found = owners if isinstance(owners, list) else ()
    return any(value_at(each, "kind") == "FlinkDeployment" for each in found)


def _words(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield its name, its labels, those of its pods, and the images of its containers."""
    pod = value_at(document, "spec", "template")
    yield from _texts(document, "metadata", "name")
    for labels in (value_at(document, "metadata", "labels"), value_at(pod, "metadata", "labels")):
        yield from (str(e) for e in labels.values()) if isinstance(labels, Mapping) else ()
    containers = value_at(pod, "spec", "containers")
    for each in containers if isinstance(containers, list) else ():
        yield from _texts(each, "image")


def _texts(value: Any, *path: str) -> Iterator[str]:
    found = value_at(value, *path)
    if isinstance(found, str):
        yield found
