"""Everything that the API server and configuration files showed, as one discovery."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orphangc.core.discovery.discovered_facts import (
    ClusterFact,
    Discovery,
    Fact,
    Origin,
    ResourceFacts,
    UnclearFact,
    digest_of,
    gathered_facts,
)
from orphangc.core.discovery.sources.cluster_services import ha_facts
from orphangc.core.discovery.sources.operator_resources import (
    resource_facts,
    session_cluster_of,
    with_missing_directory,
)
from orphangc.core.discovery.sources.operator_specs import Resource, options_of, resource_sources
from orphangc.core.discovery.sources.plain_deployments import (
    WORKLOADS,
    has_sign_of_flink,
    is_job_manager,
    is_operated,
    is_task_manager,
    may_have_pods,
    names_of,
    unrecognised_facts,
    workload_facts,
)
from orphangc.core.discovery.sources.pod_templates import ConfigMaps
from orphangc.core.discovery.texts.configuration_texts import options_of_file
from orphangc.core.discovery.texts.flink_options import (
    FoundOptions,
    Options,
    Reading,
    first_of,
    port_of_rest,
    scheme_of_rest,
    text_options,
)
from orphangc.core.discovery.texts.job_arguments import configuration_facts
from orphangc.core.discovery.texts.strict_fields import UnclearFieldError, guarded


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceDocuments:
    """What the API server showed of one namespace.

    Attributes:
        namespace: Its name.
        resources: Documents by kind: the operator's kinds, and workloads.
        config_maps: Texts of the readable ConfigMaps that resources may name.
        unknown_kinds: Further kinds of the operator's group: their fields are not known.
        problems: Listings that failed, and why.
        is_selected: Whether the API server listed it; otherwise only a setting names it.
        is_operated: Whether the API server knows the operator's resources.

    """

    namespace: str
    resources: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    config_maps: ConfigMaps = field(default_factory=dict)
    unknown_kinds: Sequence[str] = ()
    problems: Sequence[str] = ()
    is_selected: bool = False
    is_operated: bool = True


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
        unclear += [
            UnclearFact(why=problem, is_everywhere=True, is_until_read=True, origin=origin)
            for problem in problems
        ]
    found += [_of_file(each, replace(reading, is_local_here=True)) for each in files]
    return Discovery(resources=tuple(found), unclear=tuple(unclear))


def shows_flink(shown: NamespaceDocuments) -> bool:
    """Return whether a namespace shows any resource of Flink's."""
    return any(
        kind not in WORKLOADS or is_job_manager(each)
        for kind, documents in shown.resources.items()
        for each in documents
    )


def _of_unknown_kind(kind: str, namespace: str) -> ResourceFacts:
    """Return that a kind of a later operator may stand for jobs."""
    origin = Origin(kind=kind, namespace=namespace, name="*")
    why = (
        "is a kind of an operator that is newer than this program; if none of its resources keeps"
        f" state, name {origin.resource} in discovery.without_state"
    )
    unclear = UnclearFact(why=why, is_everywhere=True, is_absence=True, origin=origin)
    return ResourceFacts(origin=origin, unclear=(unclear,))


def _of_namespace(shown: NamespaceDocuments, reading: Reading) -> Iterator[ResourceFacts]:
    job_managers = [
        name
        for kind in WORKLOADS
        for document in shown.resources.get(kind, ())
        if may_have_pods(document, kind)
        for name in names_of([document])
    ]
    resources = [
        Resource(
            kind=kind,
            namespace=shown.namespace,
            document=document,
            maps=shown.config_maps,
            deployments=names_of(shown.resources.get("FlinkDeployment", ())),
            job_managers=frozenset(job_managers),
        )
        for kind, documents in shown.resources.items()
        for document in documents
    ]
    sessions = {
        each.name: options_of(resource_sources(each))
        for each in resources
        if each.kind == "FlinkDeployment" and each.name
    }
    for each in resources:
        if each.kind == "FlinkSessionJob":
            yield _of_session_job(each, reading, sessions)
        elif each.kind not in WORKLOADS:
            yield resource_facts(each, reading)
        elif not _is_covered(each, sessions):
            yield from _of_workload(each, reading)


def _of_workload(resource: Resource, reading: Reading) -> Iterator[ResourceFacts]:
    document = resource.document
    if is_job_manager(document):
        yield workload_facts(resource, reading)
    elif has_sign_of_flink(document) and not is_task_manager(document):
        yield unrecognised_facts(resource)


def _is_covered(resource: Resource, deployments: Collection[str]) -> bool:
    """Return whether a resource of the operator stands for a workload."""
    return is_operated(resource.document) and resource.name in deployments


def _of_session_job(
    resource: Resource, reading: Reading, sessions: Mapping[str, Options]
) -> ResourceFacts:
    """Return what a session job says; it inherits the options of its cluster."""
    cluster = session_cluster_of(resource)
    found = resource_facts(replace(resource, surrounding=sessions.get(cluster, {})), reading)
    read = (*found.read, *(f"FlinkDeployment/{name}" for name in sessions))
    found = found.model_copy(update={"read": read})
    if cluster in sessions:
        return found
    unclear = UnclearFact(
        why=f"runs in the session cluster {cluster or 'of no name'}, which is not seen: its"
        " defaults, its savepoints and HA services are not known",
        is_everywhere=True,
        is_until_read=True,
        source=f"FlinkDeployment/{cluster}",
        digest=digest_of(cluster),
        origin=resource.origin.of("spec.deploymentName"),
    )
    return found.model_copy(update={"unclear": (*found.unclear, unclear)})


def _of_file(file: FileText, reading: Reading) -> ResourceFacts:
    origin = Origin(kind="File", namespace="", name=file.path)
    found = gathered_facts(origin, guarded(origin, _file_facts(file, origin, reading)))
    return with_missing_directory(found, _options_of_file(file))


def _options_of_file(file: FileText) -> Options:
    """Return the options of a configuration file, none of one that is not understood."""
    try:
        return text_options(options_of_file(file.path.rpartition("/")[2], file.text or ""))
    except UnclearFieldError:
        return {}


def _file_facts(file: FileText, origin: Origin, reading: Reading) -> Iterator[Fact]:
    if file.text is None:
        yield UnclearFact(why=file.problem, is_everywhere=True, is_until_read=True, origin=origin)
        return
    content = options_of_file(file.path.rpartition("/")[2], file.text)
    options = text_options(content)
    found = FoundOptions(content, origin)
    yield from configuration_facts(found, replace(reading, options=options))
    yield from ha_facts(options, origin, "default")
    if address := first_of(options, "rest.address", "jobmanager.rpc.address"):
        uri = f"{scheme_of_rest(options)}://{address}:{port_of_rest(options)}"
        yield ClusterFact(uri=uri, origin=origin.of("rest.address"))
