"""The operator's resources, read into facts.

Source: Flink Kubernetes operator 1.8-1.15 and July 2026, custom resource definitions v1beta1;
``SpecUtils`` (a spec inside a status is JSON text, beside ``resource_metadata`` since 1.3),
``ConfigObjectNode`` (a nested ``flinkConfiguration``, since 1.13), ``CommonStatus``,
``ApplicationReconciler.setJobIdIfNecessary`` (a new job id at each start but from last state),
``BlueGreenUtils`` (1.14: a FlinkDeployment for each colour).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from flinkstate.places.checkpoint_names import is_job_id
from orphangc.core.discovery.discovered_facts import (
    MADE,
    ClusterFact,
    DirectoryUse,
    DiscoveredFact,
    JobFact,
    Origin,
    ResourceFacts,
    UnclearFact,
    gathered_facts,
)
from orphangc.core.discovery.sources.cluster_services import ha_facts, rest_uri
from orphangc.core.discovery.texts.configuration_texts import CONFIGURATION_FILES, options_of_file
from orphangc.core.discovery.texts.flink_options import (
    FIXED_JOB_ID,
    FoundOptions,
    Options,
    Reading,
    directory_fact,
    joined,
    option_facts,
    pinned,
    text_options,
)
from orphangc.core.discovery.texts.strict_fields import (
    FoundField,
    Holds,
    JsonText,
    Schema,
    UnclearFieldError,
    fields_of,
    guarded,
    text_at,
    value_at,
)

DEPLOYMENT, SESSION_JOB = "FlinkDeployment", "FlinkSessionJob"
SNAPSHOT, BLUE_GREEN = "FlinkStateSnapshot", "FlinkBlueGreenDeployment"

_SPEC: Schema = {
    "flinkConfiguration": Holds.CONFIGURATION,
    "job": {"initialSavepointPath": Holds.PIN},
    "ingress": {"template": Holds.TEXT},
    "deploymentName": Holds.TEXT,
}
_PAIR: Schema = {"template": {"spec": _SPEC}}
_JOB_STATUS: Schema = {
    "jobId": Holds.JOB,
    "upgradeSavepointPath": Holds.PIN,
    "savepointInfo": {
        "lastSavepoint": {"location": Holds.PIN},
        "savepointHistory": [{"location": Holds.PIN}],
    },
}
_RECONCILED: Schema = {"lastReconciledSpec": JsonText(_SPEC), "lastStableSpec": JsonText(_SPEC)}
_OPERATED: Schema = {
    "spec": _SPEC,
    "status": {"jobStatus": _JOB_STATUS, "reconciliationStatus": _RECONCILED},
}
_SCHEMAS: Mapping[str, Schema] = {
    DEPLOYMENT: _OPERATED,
    SESSION_JOB: _OPERATED,
    SNAPSHOT: {"spec": {"savepoint": {"path": Holds.TARGET}}, "status": {"path": Holds.PIN}},
    BLUE_GREEN: {
        "spec": _PAIR,
        "status": {"jobStatus": _JOB_STATUS, "lastReconciledSpec": JsonText(_PAIR)},
    },
}
_MUST_BE: Mapping[str, tuple[str, ...]] = {
    SESSION_JOB: ("spec", "deploymentName"),
    BLUE_GREEN: ("spec", "template", "spec"),
}
"""A field that must be there, by kind; of any other one its spec."""

ConfigMaps = Mapping[str, Mapping[str, str | None]]
"""Texts of each readable ConfigMap of one namespace, by its name; ``None`` for bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource as the API server shows it.

    Attributes:
        surrounding: Options of the session cluster that it runs in.
        deployments: Names of the FlinkDeployments of its namespace.
        workloads: Names of the Deployments and StatefulSets of its namespace.
    """

    kind: str
    namespace: str
    document: Mapping[str, Any]
    maps: ConfigMaps = field(default_factory=dict)
    surrounding: Options = field(default_factory=dict)
    deployments: frozenset[str] = frozenset()
    workloads: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Return its name, "" if it has none."""
        return text_at(self.document, "metadata", "name")

    @property
    def origin(self) -> Origin:
        """Return it as the place of facts."""
        return Origin(kind=self.kind, namespace=self.namespace, name=self.name)

    @property
    def clusters(self) -> tuple[str, ...]:
        """Return the names of the clusters that the operator makes for it."""
        if self.kind == BLUE_GREEN:
            return (f"{self.name}-blue", f"{self.name}-green")
        return (self.name,) if self.kind == DEPLOYMENT else ()

    @property
    def made(self) -> tuple[str, ...]:
        """Return the names of the ConfigMaps that the operator makes for these clusters."""
        return tuple(f"{MADE}{name}" for name in self.clusters)

    @property
    def state(self) -> str:
        """Return the state of its JobManager by its status, "" if it shows none."""
        return text_at(self.document, "status", "jobManagerDeploymentStatus")

    @property
    def is_running(self) -> bool:
        """Return whether a JobManager of it may run: its workload is there, or its status says so.

        The status may be of before its start; an operator writes one before it makes a workload.

        Source: operator 1.8-1.16, ``AbstractFlinkResourceReconciler.reconcile``.
        """
        return not self.workloads.isdisjoint(self.clusters) or self.state not in {"", "MISSING"}


def names_of(documents: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the names of resources."""
    return frozenset(text_at(each, "metadata", "name") for each in documents) - {""}


def session_cluster_of(resource: Resource) -> str:
    """Return the name of the deployment that a session job runs in, "" if it is unknown."""
    found = text_at(resource.document, "spec", "deploymentName")
    return found.strip() if resource.kind == SESSION_JOB else ""


def configurations_of(resource: Resource) -> list[FoundOptions | UnclearFact]:
    """Return every configuration that may be that of a resource's cluster.

    The present spec, those of the status, and the ConfigMap that Flink or its operator made: it has
    the operator's own defaults.
    """
    origin, fields = resource.origin, fields_of(resource.document, _SCHEMAS[resource.kind])
    found = [
        FoundOptions(each.value, origin.of(each.path))
        for each in fields
        if isinstance(each, FoundField) and each.holds is Holds.CONFIGURATION
    ]
    return [*found, *_made_configurations(resource)]


def options_of(sources: Iterable[FoundOptions | UnclearFact]) -> Options:
    """Return the options of all configurations that were found."""
    return text_options(*(each.content for each in sources if isinstance(each, FoundOptions)))


def resource_facts(resource: Resource, reading: Reading) -> ResourceFacts:
    """Return what a resource of the operator says."""
    configurations = configurations_of(resource)
    options = joined(options_of(configurations), resource.surrounding)
    facts = _facts(resource, configurations, replace(reading, options=options))
    has_children = resource.kind == BLUE_GREEN and resource.deployments & set(resource.clusters)
    is_read = any(isinstance(each, FoundOptions) for each in _made_configurations(resource))
    return gathered_facts(
        resource.origin,
        facts,
        uid=text_at(resource.document, "metadata", "uid"),
        made=() if has_children else resource.made,
        is_made_read=is_read,
        is_effective=is_read,
        is_running=resource.is_running,
        session=session_cluster_of(resource),
    )


def _facts(
    resource: Resource, configurations: Sequence[FoundOptions | UnclearFact], reading: Reading
) -> Iterator[DiscoveredFact]:
    origin, document = resource.origin, resource.document
    for found in configurations:
        yield from option_facts(found, reading) if isinstance(found, FoundOptions) else (found,)
    fields = list(fields_of(document, _SCHEMAS[resource.kind]))
    for each in fields:
        if isinstance(each, UnclearFieldError):
            yield each.fact(origin)
        else:
            yield from guarded(origin, _of_field(each, resource, reading))
    needed = _MUST_BE.get(resource.kind, ("spec",))
    if not value_at(document, *needed):
        yield UnclearFact(why=f"{'.'.join(needed)} is missing: correct it", origin=origin)
    if not resource.name:
        yield UnclearFact(why="it has no name", origin=origin)
    if resource.kind in {DEPLOYMENT, BLUE_GREEN}:
        yield from ha_facts(reading.options, origin, resource.name, namespace=resource.namespace)
    if resource.kind == DEPLOYMENT:
        yield _cluster(resource, reading)


def _made_configurations(resource: Resource) -> Iterator[FoundOptions | UnclearFact]:
    for name in resource.made:
        content = resource.maps.get(name, {})
        for file in (each for each in CONFIGURATION_FILES if each in content):
            where = Origin(kind="ConfigMap", namespace=resource.namespace, name=name, field=file)
            yield from guarded(resource.origin, _read(file, content[file], where))


def _read(file: str, text: str | None, where: Origin) -> Iterator[FoundOptions]:
    if text is None:
        raise UnclearFieldError(file, "is no text")
    yield FoundOptions(options_of_file(file, text), where)


def _of_field(field: FoundField, resource: Resource, reading: Reading) -> Iterator[DiscoveredFact]:
    where = resource.origin.of(field.path)
    match field.holds:
        case Holds.JOB:
            yield _job(field, resource)
        case Holds.TARGET:
            yield from _target(field.value, resource, where, reading)
        case Holds.PIN:
            yield from pinned(field.value, where, reading)


def _job(field: FoundField, resource: Resource) -> JobFact:
    if not is_job_id(field.value):
        raise UnclearFieldError(field.path, f"names no job id: {field.value[:40]!r}")
    status = resource.document["status"]["jobStatus"]
    return JobFact(
        job_id=field.value,
        name=text_at(status, "jobName"),
        state=text_at(status, "state"),
        is_fixed=_is_id_chosen(resource),
        uid=text_at(resource.document, "metadata", "uid"),
        origin=resource.origin.of(field.path),
    )


def _is_id_chosen(resource: Resource) -> bool:
    spec = (each for each in fields_of(resource.document, _SCHEMAS[resource.kind]))
    return any(
        isinstance(each, UnclearFieldError)
        or (each.holds is Holds.CONFIGURATION and FIXED_JOB_ID in text_options(each.value))
        for each in spec
        if (each.field if isinstance(each, UnclearFieldError) else each.path).startswith("spec")
    )


def _target(
    path: str, resource: Resource, where: Origin, reading: Reading
) -> Iterator[DiscoveredFact]:
    """Yield the folder that a savepoint is to be made in, or the one that exists already.

    Source: Flink Kubernetes operator 1.10-1.16, ``StateSnapshotReconciler``.
    """
    exists = value_at(resource.document, "spec", "savepoint", "alreadyExists")
    if exists is not None and exists is not False:
        yield from pinned(path, where, reading)
    if exists is not True:
        yield directory_fact(path, DirectoryUse.SAVEPOINTS, where, reading)


def _cluster(resource: Resource, reading: Reading) -> ClusterFact:
    """Return the REST service of a deployment; while it has no JobManager, nothing answers."""
    uri = rest_uri(resource.name, resource.namespace, reading)
    ingress = text_at(resource.document, "spec", "ingress", "template")
    if reading.rest == "ingress" and ingress:
        address = ingress.replace("{{name}}", resource.name)
        address = address.replace("{{namespace}}", resource.namespace).split("(")[0]
        uri = address if "://" in address else f"https://{address}"
    return ClusterFact(uri=uri, is_asked=resource.is_running, origin=resource.origin.of("spec"))
