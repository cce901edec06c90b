"""The operator's resources, read into facts.

Source: Flink Kubernetes operator 1.8-1.15 and July 2026, custom resource definitions v1beta1;
``SpecUtils`` (a spec inside a status is JSON text, beside ``resource_metadata`` since 1.3),
``ConfigObjectNode`` (a nested ``flinkConfiguration``, since 1.13), ``CommonStatus``,
``ApplicationReconciler.setJobIdIfNecessary`` (a new job id at each start but from last state).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from orphangc.core.discovery.discovered_facts import (
    ClusterFact,
    Fact,
    HaFact,
    JobFact,
    Origin,
    PinFact,
    ResourceFacts,
    UnclearFact,
    gathered_facts,
)
from orphangc.core.discovery.sources.configuration_texts import CONFIGURATION_FILES
from orphangc.core.discovery.sources.flink_options import (
    CLUSTER_ID_OPTIONS,
    FIXED_JOB_ID,
    HA_TYPE_OPTIONS,
    REST_SSL,
    ZOOKEEPER_OPTIONS,
    ZOOKEEPER_ROOT_OPTIONS,
    FoundOptions,
    Options,
    Reading,
    all_of,
    first_of,
    joined,
    keeps_no_files,
    option_facts,
    text_options,
    understood,
)
from orphangc.core.discovery.sources.pod_templates import (
    ConfigMaps,
    Found,
    PodPlace,
    pod_sources,
    text_of_file,
)
from orphangc.core.discovery.sources.strict_fields import DocumentField, UnclearFieldError, guarded
from orphangc.core.model.types import is_job_id

JOB_STATES = frozenset(
    {
        "CANCELED",
        "CANCELLING",
        "CREATED",
        "FAILED",
        "FAILING",
        "FINISHED",
        "INITIALIZING",
        "RECONCILING",
        "RESTARTING",
        "RUNNING",
        "SUSPENDED",
    }
)
_DEPLOYMENT_STATES = frozenset({"READY", "DEPLOYED_NOT_READY", "DEPLOYING", "MISSING", "ERROR"})
_WANTED_STATES = frozenset({"running", "suspended"})
_SNAPSHOT_STATES = frozenset({"COMPLETED", "FAILED", "IN_PROGRESS", "TRIGGER_PENDING", "ABANDONED"})
_SPECS = ("lastReconciledSpec", "lastStableSpec")
_DEFAULT_PORT = "8081"
_ZOOKEEPER_PORT = 2181


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource as the API server shows it.

    Attributes:
        kind: Its kind.
        namespace: Its namespace.
        document: The JSON document.
        maps: ConfigMaps of its namespace.
        surrounding: Options of the session cluster that it runs in.

    """

    kind: str
    namespace: str
    document: Mapping[str, Any]
    maps: ConfigMaps = field(default_factory=dict)
    surrounding: Options = field(default_factory=dict)

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


def resource_facts(resource: Resource, reading: Reading) -> ResourceFacts:
    """Return what a resource of the operator says."""
    origin, document = resource.origin, DocumentField(resource.document)
    sources = resource_sources(resource)
    options = joined(options_of(sources), resource.surrounding)
    reading = replace(reading, options=options)
    facts = list(source_facts(sources, origin, reading))
    for part in _PARTS[resource.kind]:
        facts += guarded(origin, part(document, resource, reading))
    if not resource.name:
        facts.append(UnclearFact(why="it has no name", is_everywhere=True, origin=origin))
    found = gathered_facts(origin, iter(facts), uid=resource.uid)
    without = _without_directory(found, resource, options)
    return (
        found
        if without is None
        else found.model_copy(update={"unclear": (*found.unclear, without)})
    )


def resource_sources(resource: Resource) -> list[Found]:
    """Return every configuration that may be that of a resource's cluster.

    The present spec, those of the status, and the ConfigMap that Flink or its operator made: it has
    the operator's own defaults.
    """
    origin, document = resource.origin, DocumentField(resource.document)
    parts = [
        source(document, resource)
        for source in (_spec, _effective, _specs_of_status)
        if resource.kind in _SPEC_PATHS
    ]
    return [each for part in parts for each in guarded(origin, part)]


def options_of(sources: Iterable[Found]) -> Options:
    """Return the options of all configurations that were found."""
    return text_options(*(each.content for each in sources if isinstance(each, FoundOptions)))


def source_facts(sources: Iterable[Found], origin: Origin, reading: Reading) -> Iterator[Fact]:
    """Yield the facts of everything that was found in one resource."""
    for each in sources:
        if isinstance(each, FoundOptions):
            yield from option_facts(each, reading)
        elif isinstance(each, DocumentField):
            yield from guarded(origin, pin_facts(each, origin, reading))
        else:
            yield each


_Part = Callable[[DocumentField, Resource, Reading], Iterator[Fact]]


def _spec(document: DocumentField, resource: Resource) -> Iterator[Found]:
    """Yield what the present spec names."""
    spec = document.child(*_SPEC_PATHS[resource.kind])
    if spec.value is None:
        raise UnclearFieldError(spec.path, "is missing")
    yield from _of_spec(spec, resource)


def _of_spec(spec: DocumentField, resource: Resource) -> Iterator[Found]:
    content, job = spec.child("flinkConfiguration"), spec.child("job")
    yield FoundOptions(content.mapping(), resource.origin.of(content.path))
    yield job.child("initialSavepointPath")
    around = (spec, spec.child("jobManager"))
    pods = [each.child("podTemplate", "spec") for each in around]
    volumes = tuple(volume for pod in pods for volume in pod.child("volumes").items())
    for pod in pods:
        if pod.value is not None:
            place = PodPlace(
                pod=pod,
                origin=resource.origin,
                maps=resource.maps,
                volumes=volumes,
                is_completed=True,
            )
            yield from pod_sources(place)
    job.child("state").word(_WANTED_STATES)


def _effective(_: DocumentField, resource: Resource) -> Iterator[Found]:
    """Yield the configurations that the operator made: files of both formats, if both are there."""
    if resource.kind == _DEPLOYMENT:
        yield from made_configurations(resource)


def made_configurations(resource: Resource) -> Iterator[Found]:
    """Yield the configurations in the ConfigMap that is made for a cluster of a resource's name."""
    name = f"flink-config-{resource.name}"
    for file in CONFIGURATION_FILES:
        if file in (content := resource.maps.get(name, {})):
            where = Origin(kind="ConfigMap", namespace=resource.namespace, name=name, field=file)
            yield from guarded(resource.origin, _read(file, content[file], where))


def _read(file: str, text: str | None, where: Origin) -> Iterator[Found]:
    yield FoundOptions(text_of_file(file, text), where)


def pin_facts(field: DocumentField, origin: Origin, reading: Reading) -> Iterator[Fact]:
    """Yield the checkpoint or savepoint that a field names, if it names one."""
    if not field.text():
        return
    found = understood(field.text(), origin.of(field.path), reading)
    if isinstance(found, UnclearFact):
        yield found
    else:
        place = found.parent if found.name == "_metadata" else found
        yield PinFact(uri=str(place), origin=origin.of(field.path))


def _specs_of_status(document: DocumentField, resource: Resource) -> Iterator[Found]:
    """Yield what the specs name that the operator reconciled last, and that was stable last."""
    status = document.child("status")
    around = status if resource.kind == _BLUE_GREEN else status.child("reconciliationStatus")
    for name in _SPECS:
        yield from guarded(resource.origin, _spec_inside(around.child(name), resource))


def _spec_inside(text: DocumentField, resource: Resource) -> Iterator[Found]:
    parsed = text.parsed()
    spec = parsed.child("spec") if "spec" in parsed.mapping() else parsed
    if resource.kind == _BLUE_GREEN:
        spec = spec.child("template", "spec")
    if spec.value is not None:
        yield from _of_spec(spec, resource)


def _job_status(document: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    """Yield the job id and every checkpoint and savepoint in the status."""
    status = document.child("status", "jobStatus")
    yield from guarded(resource.origin, _job(status, document, resource))
    info = status.child("savepointInfo")
    places = [
        status.child("upgradeSavepointPath"),
        info.child("lastSavepoint", "location"),
        *(each.child("location") for each in info.child("savepointHistory").items()),
    ]
    for each in places:
        yield from guarded(resource.origin, pin_facts(each, resource.origin, reading))


def _job(status: DocumentField, document: DocumentField, resource: Resource) -> Iterator[Fact]:
    job_id, state = status.child("jobId").text(), status.child("state").word(JOB_STATES)
    if job_id and not is_job_id(job_id):
        raise UnclearFieldError(status.child("jobId").path, f"names no job id: {job_id[:40]!r}")
    if job_id:
        spec = document.child(*_SPEC_PATHS[resource.kind])
        fixed = text_options(spec.child("flinkConfiguration").mapping()).get(FIXED_JOB_ID, ())
        yield JobFact(
            job_id=job_id,
            name=status.child("jobName").text(),
            state=state,
            is_fixed=bool(fixed),
            uid=resource.uid,
            origin=resource.origin.of(status.child("jobId").path),
        )


def _cluster(document: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    """Yield the REST service of a deployment; while it has no JobManager, nothing answers."""
    deployed = document.child("status", "jobManagerDeploymentStatus").word(_DEPLOYMENT_STATES)
    uri = rest_uri(resource.name, resource.namespace, reading)
    ingress = document.child("spec", "ingress", "template").text()
    if reading.rest == "ingress" and ingress:
        uri = _ingress_uri(ingress, resource)
    yield ClusterFact(uri=uri, is_asked=deployed != "MISSING", origin=resource.origin.of("spec"))


def rest_uri(name: str, namespace: str, reading: Reading) -> str:
    """Return the address of a REST service."""
    template = reading.rest if reading.rest != "ingress" else Reading().rest
    return template.format(
        scheme="https" if first_of(reading.options, REST_SSL) == "true" else "http",
        name=name,
        namespace=namespace,
        port=first_of(reading.options, "rest.port") or _DEFAULT_PORT,
    )


def _ingress_uri(template: str, resource: Resource) -> str:
    address = template.replace("{{name}}", resource.name)
    address = address.replace("{{namespace}}", resource.namespace).split("(")[0]
    return address if "://" in address else f"https://{address}"


def _high_availability(_: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    yield from ha_facts(reading.options, resource.origin, resource.name)


def ha_facts(options: Options, origin: Origin, name: str) -> Iterator[Fact]:
    """Yield all HA services that any source of a configuration names.

    A kind that is not known is not understood.
    """
    where = origin.of("high-availability.type")
    for word in all_of(options, *HA_TYPE_OPTIONS):
        if word.upper() == "NONE":
            continue
        if word.lower() == "kubernetes" or "KubernetesHaServicesFactory" in word:
            clusters = all_of(options, "kubernetes.cluster-id") or (name,)
            namespaces = all_of(options, "kubernetes.namespace") or (origin.namespace,)
            for namespace, cluster in product(namespaces, clusters):
                yield HaFact(type="kubernetes", where=namespace, cluster_id=cluster, origin=where)
        elif word.lower() == "zookeeper" and all_of(options, *ZOOKEEPER_OPTIONS):
            for place, cluster in product(
                _zookeepers(options), all_of(options, *CLUSTER_ID_OPTIONS) or (name,)
            ):
                yield HaFact(type="zookeeper", where=place, cluster_id=cluster, origin=where)
        else:
            yield UnclearFact(
                why=f"{word[:60]!r} is no kind of HA services that is known here: which of its jobs"
                " are only suspended cannot be seen",
                is_everywhere=True,
                origin=where,
            )


def _zookeepers(options: Options) -> Iterator[str]:
    """Yield each ZooKeeper with the path in it, as ``host:port,host:port/path``."""
    roots = all_of(options, *ZOOKEEPER_ROOT_OPTIONS) or ("flink",)
    for quorum, root in product(all_of(options, *ZOOKEEPER_OPTIONS), roots):
        hosts = [each.strip() for each in quorum.split(",")]
        spelled = ",".join(each if ":" in each else f"{each}:{_ZOOKEEPER_PORT}" for each in hosts)
        yield f"{spelled}/{root.strip('/')}"


def _snapshot(document: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    """Yield the paths of a snapshot, whatever became of it."""
    spec, status = document.child("spec"), document.child("status")
    if spec.value is None:
        raise UnclearFieldError("spec", "is missing")
    status.child("state").word(_SNAPSHOT_STATES)
    for each in (status.child("path"), spec.child("savepoint", "path")):
        yield from guarded(resource.origin, pin_facts(each, resource.origin, reading))


def _session(document: DocumentField, _: Resource, reading: Reading) -> Iterator[Fact]:  # noqa: ARG001
    if not document.child("spec", "deploymentName").text():
        raise UnclearFieldError("spec.deploymentName", "is missing: its cluster is unknown")
    yield from ()


_DEPLOYMENT, _SESSION_JOB = "FlinkDeployment", "FlinkSessionJob"
_SNAPSHOT, _BLUE_GREEN = "FlinkStateSnapshot", "FlinkBlueGreenDeployment"
_SPEC_PATHS: Mapping[str, tuple[str, ...]] = {
    _DEPLOYMENT: ("spec",),
    _SESSION_JOB: ("spec",),
    _BLUE_GREEN: ("spec", "template", "spec"),
}
_PARTS: Mapping[str, tuple[_Part, ...]] = {
    _DEPLOYMENT: (_job_status, _cluster, _high_availability),
    _SESSION_JOB: (_session, _job_status),
    _SNAPSHOT: (_snapshot,),
    _BLUE_GREEN: (_job_status, _high_availability),
}


def session_cluster_of(resource: Resource) -> str:
    """Return the name of the deployment that a session job runs in, "" if it is unknown."""
    try:
        return DocumentField(resource.document).child("spec", "deploymentName").text()
    except UnclearFieldError:
        return ""


def _without_directory(
    found: ResourceFacts, resource: Resource, options: Options
) -> UnclearFact | None:
    """Return that a deployment names no checkpoint directory, so its state may be in any place.

    A job of a session inherits its cluster's directory; one whose checkpoints stay in the
    JobManager's memory needs none.
    """
    if resource.kind != _DEPLOYMENT:
        return None
    missing = missing_directory(found, options)
    if missing is None:
        return None
    is_unread = missing.is_until_read or f"flink-config-{resource.name}" not in resource.maps
    update = {"is_until_remembered": not _may_run(resource), "is_until_read": is_unread}
    return missing.model_copy(update=update)


def _may_run(resource: Resource) -> bool:
    """Return whether a JobManager of a deployment may be there."""
    status = resource.document.get("status")
    shown = status.get("jobManagerDeploymentStatus") if isinstance(status, Mapping) else None
    return shown != "MISSING"


def missing_directory(found: ResourceFacts, options: Options) -> UnclearFact | None:
    """Return that no field of a resource names a checkpoint directory; ``None`` if one does.

    Other parts that are not understood do not hide it: each may be explained on its own.

    Args:
        found: What the resource says.
        options: Its options: one whose checkpoints stay in memory needs no directory.

    """
    if found.names_checkpoints or keeps_no_files(options):
        return None
    return UnclearFact(
        why="names no checkpoint directory: the operator's defaults or the job's code may; set"
        f" execution.checkpointing.dir, or name {found.origin.resource} in discovery.without_state",
        is_everywhere=True,
        is_absence=True,
        is_until_read=any(each.is_until_read for each in found.unclear),
        origin=found.origin,
    )
