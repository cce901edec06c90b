"""Everything that the API server and configuration files showed, as one discovery.

Workloads that look like Flink without an operator are asked for their REST service. What they run,
mount and are given is evidence of nothing: one that answers is a cluster to ask, one that does not
is a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orphangc.core.discovery.discovered_facts import (
    ClusterFact,
    DiscoveredFact,
    Discovery,
    Origin,
    ResourceFacts,
    UnclearFact,
    gathered_facts,
)
from orphangc.core.discovery.sources.cluster_services import configured_facts, rest_uri
from orphangc.core.discovery.sources.operator_resources import (
    ConfigMaps,
    Resource,
    configurations_of,
    names_of,
    options_of,
    resource_facts,
    session_cluster_of,
)
from orphangc.core.discovery.texts.configuration_texts import options_of_file
from orphangc.core.discovery.texts.flink_options import (
    Reading,
    first_of,
    port_of_rest,
    scheme_of_rest,
    text_options,
)
from orphangc.core.discovery.texts.strict_fields import guarded, text_at, value_at


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceDocuments:
    """What the API server showed of one namespace.

    Attributes:
        config_maps: Texts of the readable ConfigMaps that resources may name.
        unknown_kinds: Further kinds of the operator's group: their fields are not known.
        is_selected: Whether the API server listed it; otherwise only a setting names it.
    """

    namespace: str
    resources: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    config_maps: ConfigMaps = field(default_factory=dict)
    unknown_kinds: Sequence[str] = ()
    problems: Sequence[str] = ()
    is_selected: bool = False

    @property
    def has_resources(self) -> bool:
        """Return whether it shows a resource of the operator's."""
        return any(found for kind, found in self.resources.items() if kind not in WORKLOADS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileText:
    """A configuration file; ``text`` is ``None`` if it cannot be read, for ``problem``."""

    path: str
    text: str | None
    problem: str = ""


def discovery_of(
    namespaces: Iterable[NamespaceDocuments], files: Iterable[FileText], reading: Reading
) -> Discovery:
    """Return the facts of all namespaces and files."""
    found: list[ResourceFacts] = []
    unclear: list[UnclearFact] = []
    for each in namespaces:
        problems = list(each.problems)
        try:
            found += list(_of_namespace(each, reading))
        except RecursionError:
            problems.append("has a resource that is nested too deeply to be read")
        found += [_of_unknown_kind(kind, each.namespace) for kind in each.unknown_kinds]
        origin = Origin(kind="Namespace", namespace="", name=each.namespace)
        unclear += [UnclearFact(why=problem, origin=origin) for problem in problems]
    for file in files:
        origin = Origin(kind="File", namespace="", name=file.path)
        if file.text is None:
            unclear.append(UnclearFact(why=file.problem, origin=origin))
        else:
            facts = _file_facts(file.path, file.text, origin, reading)
            found.append(gathered_facts(origin, guarded(origin, facts)))
    return Discovery(resources=tuple(found), unclear=tuple(unclear))


def plain_workloads(shown: NamespaceDocuments, reading: Reading) -> Iterator[PlainWorkload]:
    """Yield the workloads of a namespace that may be JobManagers', and that no resource stands for.

    The Service of one has its name (Flink's pages on standalone clusters), or ends in ``-rest`` (a
    native cluster).
    """
    namespace, deployments = shown.namespace, names_of(shown.resources.get("FlinkDeployment", ()))
    for kind in WORKLOADS:
        documents = (e for e in shown.resources.get(kind, ()) if _may_be_a_job_manager(e))
        for document in documents:
            name = text_at(document, "metadata", "name")
            if name not in deployments:
                native = rest_uri(name, namespace, reading)
                addresses = dict.fromkeys((native, native.replace(f"{name}-rest", name)))
                origin = Origin(kind=kind, namespace=namespace, name=name)
                yield PlainWorkload(origin, tuple(addresses))


def _of_unknown_kind(kind: str, namespace: str) -> ResourceFacts:
    """Return that a kind of a later operator may stand for jobs."""
    origin = Origin(kind=kind, namespace=namespace, name="*")
    why = "is a kind of an operator that is newer than this program"
    return ResourceFacts(origin=origin, unclear=(UnclearFact(why=why, origin=origin),))


def _of_namespace(shown: NamespaceDocuments, reading: Reading) -> Iterator[ResourceFacts]:
    workloads = [names_of(shown.resources.get(kind, ())) for kind in WORKLOADS[:2]]
    resources = [
        Resource(
            kind=kind,
            namespace=shown.namespace,
            document=document,
            maps=shown.config_maps,
            deployments=names_of(shown.resources.get("FlinkDeployment", ())),
            workloads=frozenset().union(*workloads),
        )
        for kind, documents in shown.resources.items()
        for document in documents
        if kind not in WORKLOADS
    ]
    sessions = {
        each.name: options_of(configurations_of(each))
        for each in resources
        if each.kind == "FlinkDeployment" and each.name
    }
    for each in resources:
        around = sessions.get(session_cluster_of(each), {})
        is_inside = each.kind == "FlinkSessionJob"
        yield resource_facts(replace(each, surrounding=around) if is_inside else each, reading)


def _file_facts(path: str, text: str, origin: Origin, reading: Reading) -> Iterator[DiscoveredFact]:
    content = options_of_file(path.rpartition("/")[2], text)
    yield from configured_facts(content, origin, replace(reading, is_local_here=True))
    options = text_options(content)
    if address := first_of(options, "rest.address", "jobmanager.rpc.address"):
        uri = f"{scheme_of_rest(options)}://{address}:{port_of_rest(options)}"
        yield ClusterFact(uri=uri, origin=origin.of("rest.address"))


WORKLOADS = ("Deployment", "StatefulSet", "Job")
"""Kinds whose pods may be JobManagers: an application may run as a Job."""

_FLINK, _NO_JOB_MANAGERS = "flink", ("flink-kubernetes-operator", "orphangc", "taskmanager")


@dataclass(frozen=True, slots=True)
class PlainWorkload:
    """A workload that looks like Flink, and the addresses at which it may answer."""

    origin: Origin
    addresses: tuple[str, ...]


def _may_be_a_job_manager(document: Mapping[str, Any]) -> bool:
    """Return whether a workload may be a JobManager's, and no operator's resource owns it."""
    words = [each.lower() for each in _words(document)]
    looks = any(_FLINK in each or "jobmanager" in each for each in words)
    if not looks or any(each in word for word in words for each in _NO_JOB_MANAGERS):
        return False
    owners = value_at(document, "metadata", "ownerReferences")
    found = owners if isinstance(owners, list) else ()
    return all(value_at(each, "kind") != "FlinkDeployment" for each in found)


def _words(document: Mapping[str, Any]) -> Iterator[str]:
    pod = value_at(document, "spec", "template")
    yield text_at(document, "metadata", "name")
    for labels in (value_at(document, "metadata", "labels"), value_at(pod, "metadata", "labels")):
        yield from (str(e) for e in labels.values()) if isinstance(labels, Mapping) else ()
    containers = value_at(pod, "spec", "containers")
    for each in containers if isinstance(containers, list) else ():
        yield text_at(each, "image")
