"""Specs of the operator's resources, and every configuration that may be that of a cluster.

Source: Flink Kubernetes operator 1.8-1.15 and July 2026; ``SpecUtils`` (a spec inside a status is
JSON text, beside ``resource_metadata`` since 1.3), ``ConfigObjectNode`` (a nested
``flinkConfiguration``, since 1.13).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from orphangc.core.discovery.discovered_facts import Origin, UnclearFact
from orphangc.core.discovery.sources.pod_templates import (
    ConfigMaps,
    Found,
    PodPlace,
    pod_sources,
    text_of_file,
)
from orphangc.core.discovery.texts.configuration_texts import CONFIGURATION_FILES
from orphangc.core.discovery.texts.flink_options import FoundOptions, Options, text_options
from orphangc.core.discovery.texts.job_arguments import FoundArguments
from orphangc.core.discovery.texts.strict_fields import DocumentField, UnclearFieldError, guarded

DEPLOYMENT, SESSION_JOB = "FlinkDeployment", "FlinkSessionJob"
SNAPSHOT, BLUE_GREEN = "FlinkStateSnapshot", "FlinkBlueGreenDeployment"
SPEC_PATHS: Mapping[str, tuple[str, ...]] = {
    DEPLOYMENT: ("spec",),
    SESSION_JOB: ("spec",),
    BLUE_GREEN: ("spec", "template", "spec"),
}
_SPEC_FIELDS = frozenset(
    {
        *("image", "imagePullPolicy", "serviceAccount", "flinkVersion", "ingress", "podTemplate"),
        *("jobManager", "taskManager", "logConfiguration", "mode", "job", "restartNonce"),
        *("flinkConfiguration", "deploymentName"),
    }
)
_JOB_FIELDS = frozenset(
    {
        *("jarURI", "parallelism", "entryClass", "args", "state", "savepointTriggerNonce"),
        *("initialSavepointPath", "checkpointTriggerNonce", "upgradeMode"),
        *("allowNonRestoredState", "savepointRedeployNonce"),
    }
)
"""Fields of a spec, and of the job in it, that are read, or name no place."""
_WANTED_STATES = frozenset({"running", "suspended"})
_SPECS = ("lastReconciledSpec", "lastStableSpec")
_REFERENCES = frozenset({"configMap", "configMapRef", "configMapKeyRef"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource as the API server shows it.

    Attributes:
        kind: Its kind.
        namespace: Its namespace.
        document: The JSON document.
        maps: ConfigMaps of its namespace.
        surrounding: Options of the session cluster that it runs in.
        deployments: Names of the FlinkDeployments of its namespace.
        job_managers: Names of the workloads of its namespace that may run a JobManager.

    """

    kind: str
    namespace: str
    document: Mapping[str, Any]
    maps: ConfigMaps = field(default_factory=dict)
    surrounding: Options = field(default_factory=dict)
    deployments: frozenset[str] = frozenset()
    job_managers: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Return its name, "" if it has none."""
        metadata = self.document.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        return name if isinstance(name, str) else ""

    @property
    def origin(self) -> Origin:
        """Return it as the place of facts."""
        return Origin(kind=self.kind, namespace=self.namespace, name=self.name)

    @property
    def uid(self) -> str:
        """Return Kubernetes' identity of it, "" if it shows none."""
        metadata = self.document.get("metadata")
        uid = metadata.get("uid") if isinstance(metadata, Mapping) else None
        return uid if isinstance(uid, str) else ""

    @property
    def clusters(self) -> tuple[str, ...]:
        """Return the names of the clusters that the operator makes for it.

        Source: Flink Kubernetes operator 1.14-1.16, ``BlueGreenUtils``: a FlinkDeployment for each
        colour.
        """
        if self.kind == BLUE_GREEN:
            return (f"{self.name}-blue", f"{self.name}-green")
        return (self.name,) if self.kind == DEPLOYMENT else ()


def resource_sources(resource: Resource) -> list[Found]:
    """Return every configuration that may be that of a resource's cluster.

    The present spec, those of the status, and the ConfigMap that Flink or its operator made: it has
    the operator's own defaults.
    """
    origin, document = resource.origin, DocumentField(resource.document)
    parts = [
        source(document, resource)
        for source in (_spec, _effective, _specs_of_status)
        if resource.kind in SPEC_PATHS
    ]
    return [each for part in parts for each in guarded(origin, part)]


def options_of(sources: Iterable[Found]) -> Options:
    """Return the options of all configurations that were found."""
    return text_options(*(each.content for each in sources if isinstance(each, FoundOptions)))


def _spec(document: DocumentField, resource: Resource) -> Iterator[Found]:
    """Yield what the present spec names."""
    spec = document.child(*SPEC_PATHS[resource.kind])
    if spec.value is None:
        raise UnclearFieldError(spec.path, "is missing")
    yield from _of_spec(spec, resource)


def _of_spec(spec: DocumentField, resource: Resource) -> Iterator[Found]:
    """Yield what each part of a spec names; one that is not understood hides no other."""
    for part in (
        *(_configuration, _initial_savepoint, _arguments, _pod_templates, _wanted_state),
        _further,
    ):
        yield from guarded(resource.origin, part(spec, resource))


def _configuration(spec: DocumentField, resource: Resource) -> Iterator[Found]:
    content = spec.child("flinkConfiguration")
    yield FoundOptions(content.mapping(), resource.origin.of(content.path))


def _initial_savepoint(spec: DocumentField, _: Resource) -> Iterator[Found]:
    yield spec.child("job", "initialSavepointPath")


def _arguments(spec: DocumentField, resource: Resource) -> Iterator[Found]:
    words = spec.child("job", "args")
    found = [each.text() for each in words.items()]
    yield FoundArguments(found, resource.origin.of(words.path))


def _further(spec: DocumentField, resource: Resource) -> Iterator[Found]:
    yield from further_fields(spec, _SPEC_FIELDS, resource.origin)
    yield from further_fields(spec.child("job"), _JOB_FIELDS, resource.origin)


def further_fields(
    around: DocumentField, known: Collection[str], origin: Origin
) -> Iterator[FoundArguments]:
    """Yield the texts in fields that a later operator adds, to be read as arguments are.

    Args:
        around: The field with all of them.
        known: Names of those that this program knows.
        origin: The resource.

    """
    for name in sorted(set(around.mapping()) - set(known)):
        field = around.child(name)
        words = [f"{name}={text}" for text in _texts_in(field.value)]
        yield FoundArguments(words, origin.of(field.path))


def _texts_in(value: object) -> Iterator[str]:
    """Yield every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts_in(each)


def _wanted_state(spec: DocumentField, _: Resource) -> Iterator[Found]:
    spec.child("job", "state").word(_WANTED_STATES)
    yield from ()


def _pod_templates(spec: DocumentField, resource: Resource) -> Iterator[Found]:
    """Yield what both templates of a JobManager's pod name: they are merged."""
    found = [
        each
        for path in (("podTemplate",), ("jobManager", "podTemplate"))
        for each in guarded(resource.origin, _pod_with_volumes(spec, *path))
    ]
    yield from (each for each in found if isinstance(each, UnclearFact))
    pods = [each for each in found if not isinstance(each, UnclearFact)]
    volumes = _distinct(volume for _, own in pods for volume in own)
    for pod, _ in pods:
        place = PodPlace(
            pod=pod,
            origin=resource.origin,
            maps=resource.maps,
            volumes=volumes,
            is_completed=True,
        )
        yield from pod_sources(place)


def _distinct(volumes: Iterable[DocumentField]) -> tuple[DocumentField, ...]:
    """Return each volume once, also where both templates define it in the same way."""
    found: list[DocumentField] = []
    for each in volumes:
        if each.value not in [known.value for known in found]:
            found.append(each)
    return tuple(found)


def _pod_with_volumes(
    spec: DocumentField, *path: str
) -> Iterator[tuple[DocumentField, tuple[DocumentField, ...]]]:
    pod = spec.child(*path, "spec")
    if pod.value is not None:
        yield pod, tuple(pod.child("volumes").items())


def _effective(_: DocumentField, resource: Resource) -> Iterator[Found]:
    """Yield the configurations that the operator made: files of both formats, if both are there."""
    yield from made_configurations(resource)


def made_configurations(resource: Resource) -> Iterator[Found]:
    """Yield the configurations in the ConfigMaps that are made for the clusters of a resource."""
    for name in made_maps(resource):
        for file in CONFIGURATION_FILES:
            if file in (content := resource.maps.get(name, {})):
                where = Origin(
                    kind="ConfigMap", namespace=resource.namespace, name=name, field=file
                )
                yield from guarded(resource.origin, _read(file, content[file], where))


def made_maps(resource: Resource) -> tuple[str, ...]:
    """Return the names of the ConfigMaps that the operator makes for the clusters of a resource."""
    return tuple(f"flink-config-{name}" for name in resource.clusters)


def _read(file: str, text: str | None, where: Origin) -> Iterator[Found]:
    yield FoundOptions(text_of_file(file, text), where)


def _specs_of_status(document: DocumentField, resource: Resource) -> Iterator[Found]:
    """Yield what the specs name that the operator reconciled last, and that was stable last."""
    status = document.child("status")
    around = status if resource.kind == BLUE_GREEN else status.child("reconciliationStatus")
    for name in _SPECS:
        yield from guarded(resource.origin, _spec_inside(around.child(name), resource))


def _spec_inside(text: DocumentField, resource: Resource) -> Iterator[Found]:
    parsed = text.parsed()
    spec = parsed.child("spec") if "spec" in parsed.mapping() else parsed
    if resource.kind == BLUE_GREEN:
        spec = spec.child("template", "spec")
    if spec.value is not None:
        yield from _of_spec(spec, resource)


def runs(resource: Resource) -> bool:
    """Return whether a JobManager is there, by its workload or by the status of its deployment."""
    has_workload = bool(resource.job_managers & set(resource.clusters))
    return has_workload or shown_state(resource) not in {"", "MISSING"}


def shown_state(resource: Resource) -> str:
    """Return the state of a deployment's JobManager by its status, "" if it shows none."""
    status = resource.document.get("status")
    shown = status.get("jobManagerDeploymentStatus") if isinstance(status, Mapping) else None
    return shown if isinstance(shown, str) else ""


def read_maps(resource: Resource) -> tuple[str, ...]:
    """Return the ConfigMaps that a resource names and that were read, as sources of facts."""
    named = named_config_maps([resource.document])
    return tuple(f"ConfigMap/{name}" for name in named if name in resource.maps)


def named_config_maps(documents: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of the ConfigMaps that pod templates of resources mount or refer to.

    Those of the specs in the status count, too.
    """
    specs = [spec for each in documents for spec in (each.get("spec"), *_parsed(each))]
    return list(dict.fromkeys(name for spec in specs for name in _names(spec)))


def _parsed(document: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the specs in a status, those that can be understood."""
    status = DocumentField(document.get("status"))
    for around in ((), ("reconciliationStatus",)):
        for name in _SPECS:
            try:
                yield status.child(*around, name).parsed().value
            except UnclearFieldError:
                continue


def _names(value: Any) -> list[str]:
    """Return every name below a reference to a ConfigMap, wherever it stands."""
    if isinstance(value, list):
        return [name for each in value for name in _names(each)]
    if not isinstance(value, Mapping):
        return []
    own = [
        each["name"]
        for key, each in value.items()
        if key in _REFERENCES and isinstance(each, Mapping) and isinstance(each.get("name"), str)
    ]
    return [*own, *(name for each in value.values() for name in _names(each))]
