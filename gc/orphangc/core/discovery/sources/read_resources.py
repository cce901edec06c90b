"""Everything that the API server and configuration files showed, as one discovery."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orphangc.core.discovery.discovered_facts import (
    ClusterFact,
    DirectoryUse,
    Discovery,
    Fact,
    Origin,
    ResourceFacts,
    UnclearFact,
    gathered_facts,
)
from orphangc.core.discovery.sources.configuration_texts import options_of_file
from orphangc.core.discovery.sources.flink_options import (
    REST_SSL,
    STORAGE_OPTIONS,
    Reading,
    first_of,
    option_facts,
    text_options,
)
from orphangc.core.discovery.sources.operator_resources import (
    Resource,
    ha_facts,
    missing_directory,
    resource_facts,
    session_cluster_of,
)
from orphangc.core.discovery.sources.plain_deployments import (
    ConfigMaps,
    deployment_facts,
    effective_configuration,
    is_job_manager,
    is_operated,
    labels_of,
)
from orphangc.core.discovery.sources.strict_fields import UnclearFieldError, guarded

DEPLOYMENT = "Deployment"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceDocuments:
    """What the API server showed of one namespace.

    Attributes:
        namespace: Its name.
        resources: Documents by kind: the operator's kinds, and ``Deployment``.
        config_maps: Texts of the readable ConfigMaps that resources may name.
        unknown_kinds: Further kinds of the operator's group: their fields are not known.
        problems: Listings that failed, and why.
        is_selected: Whether the API server listed it; otherwise only a setting names it.

    """

    namespace: str
    resources: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    config_maps: ConfigMaps = field(default_factory=dict)
    unknown_kinds: Sequence[str] = ()
    problems: Sequence[str] = ()
    is_selected: bool = False


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
        found += _of_namespace(each, reading)
        found += [_of_unknown_kind(kind, each.namespace) for kind in each.unknown_kinds]
        origin = Origin(kind="Namespace", namespace="", name=each.namespace)
        unclear += [
            UnclearFact(why=problem, is_everywhere=True, origin=origin) for problem in each.problems
        ]
    found += [_of_file(each, replace(reading, is_local_here=True)) for each in files]
    return Discovery(resources=tuple(found), unclear=tuple(unclear))


def shows_flink(shown: NamespaceDocuments) -> bool:
    """Return whether a namespace shows any resource of Flink's."""
    return any(
        kind != DEPLOYMENT or is_job_manager(labels_of(each))
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
    deployments = {
        str(each["metadata"]["name"])
        for each in shown.resources.get("FlinkDeployment", ())
        if isinstance(each.get("metadata"), Mapping) and "name" in each["metadata"]
    }
    for kind, documents in shown.resources.items():
        for document in documents:
            resource = Resource(kind=kind, namespace=shown.namespace, document=document)
            if kind != DEPLOYMENT:
                yield _of_resource(resource, shown.config_maps, reading, deployments)
            elif _is_plain(document, resource.name, deployments):
                yield deployment_facts(resource, shown.config_maps, reading)


def _is_plain(document: Mapping[str, Any], name: str, deployments: set[str]) -> bool:
    """Return whether a Deployment is a JobManager's, and no operator's resource stands for it."""
    known = labels_of(document)
    is_covered = is_operated(document) and name in deployments
    return is_job_manager(known) and not is_covered and known.get("component") != "taskmanager"


def _of_resource(
    resource: Resource, maps: ConfigMaps, reading: Reading, deployments: set[str]
) -> ResourceFacts:
    extra: list[UnclearFact] = []
    if resource.kind == "FlinkDeployment":
        try:
            effective = effective_configuration(resource.name, resource.namespace, maps)
        except UnclearFieldError as err:
            why = f"its ConfigMap flink-config-{resource.name}: {err.field} {err}"
            extra.append(UnclearFact(why=why, is_everywhere=True, origin=resource.origin))
            effective = None
        if effective is not None:
            content, origin = effective
            resource = replace(resource, configuration=content, configuration_origin=origin)
    found = resource_facts(resource, reading)
    if resource.kind == "FlinkSessionJob" and not found.uses(DirectoryUse.CHECKPOINTS):
        cluster = session_cluster_of(resource)
        if cluster and cluster not in deployments and not found.unclear:
            why = f"runs in the session cluster {cluster}, which is not seen"
            origin = resource.origin.of("spec.deploymentName")
            extra.append(
                UnclearFact(why=why, is_everywhere=True, is_until_read=True, origin=origin)
            )
    return found.model_copy(update={"unclear": (*found.unclear, *extra)})


def _of_file(file: FileText, reading: Reading) -> ResourceFacts:
    origin = Origin(kind="File", namespace="", name=file.path)
    return gathered_facts(origin, guarded(origin, _file_facts(file, origin, reading)))


def _file_facts(file: FileText, origin: Origin, reading: Reading) -> Iterator[Fact]:
    if file.text is None:
        yield UnclearFact(why=file.problem, is_everywhere=True, is_until_read=True, origin=origin)
        return
    content = options_of_file(file.path.rpartition("/")[2], file.text)
    facts = list(option_facts(content, origin, reading, field=""))
    yield from facts
    options = text_options(content)
    yield from ha_facts(options, origin, options.get("high-availability.cluster-id", "default"))
    if address := options.get("rest.address") or options.get("jobmanager.rpc.address"):
        scheme = "https" if options.get(REST_SSL) == "true" else "http"
        uri = f"{scheme}://{address}:{options.get('rest.port') or '8081'}"
        yield ClusterFact(uri=uri, origin=origin.of("rest.address"))
    names_one = any(getattr(each, "use", None) is DirectoryUse.CHECKPOINTS for each in facts)
    is_said = names_one or any(isinstance(each, UnclearFact) for each in facts)
    if not is_said and first_of(options, STORAGE_OPTIONS) != "jobmanager":
        yield missing_directory(origin)
