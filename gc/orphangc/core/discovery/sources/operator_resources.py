"""The operator's resources, read into facts.

Source: Flink Kubernetes operator 1.8-1.15 and July 2026, custom resource definitions v1beta1;
``SpecUtils`` (a spec inside a status is JSON text, beside ``resource_metadata`` since 1.3),
``ConfigObjectNode`` (a nested ``flinkConfiguration``, since 1.13), ``CommonStatus``,
``ApplicationReconciler.setJobIdIfNecessary`` (a new job id at each start but from last state).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orphangc.core.discovery.discovered_facts import (
    ClusterFact,
    DirectoryUse,
    Fact,
    HaFact,
    JobFact,
    Origin,
    PinFact,
    ResourceFacts,
    UnclearFact,
    gathered_facts,
)
from orphangc.core.discovery.sources.flink_options import (
    CLUSTER_ID_OPTIONS,
    FIXED_JOB_ID,
    HA_TYPE_OPTIONS,
    REST_SSL,
    STORAGE_OPTIONS,
    ZOOKEEPER_OPTIONS,
    ZOOKEEPER_ROOT_OPTIONS,
    Options,
    Reading,
    first_of,
    option_facts,
    text_options,
    understood,
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
        configuration: Effective configuration, if a ConfigMap holds it; "" otherwise.
        configuration_origin: Place of that.

    """

    kind: str
    namespace: str
    document: Mapping[str, Any]
    configuration: Mapping[str, Any] | None = None
    configuration_origin: Origin | None = None

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
    parts = _PARTS[resource.kind]
    facts = [each for part in parts for each in guarded(origin, part(document, resource, reading))]
    if not resource.name:
        facts.append(UnclearFact(why="it has no name", is_everywhere=True, origin=origin))
    found = gathered_facts(origin, iter(facts), uid=resource.uid)
    without = _without_directory(found, resource)
    return (
        found
        if without is None
        else found.model_copy(update={"unclear": (*found.unclear, without)})
    )


_Part = Callable[[DocumentField, Resource, Reading], Iterator[Fact]]


def _spec(document: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    """Yield what the present spec names."""
    spec = document.child(*_SPEC_PATHS[resource.kind])
    if spec.value is None:
        raise UnclearFieldError(spec.path, "is missing")
    yield from _of_spec(spec, resource.origin, reading)


def _of_spec(spec: DocumentField, origin: Origin, reading: Reading) -> Iterator[Fact]:
    content = spec.child("flinkConfiguration")
    yield from option_facts(content.mapping(), origin, reading, field=content.path)
    job = spec.child("job")
    yield from pin_facts(
        job.child("initialSavepointPath"), origin, reading, text_options(content.mapping())
    )
    job.child("state").word(_WANTED_STATES)


def pin_facts(
    field: DocumentField, origin: Origin, reading: Reading, options: Options
) -> Iterator[Fact]:
    """Yield the checkpoint or savepoint that a field names, if it names one."""
    if not field.text():
        return
    found = understood(field.text(), origin.of(field.path), reading, options)
    if isinstance(found, UnclearFact):
        yield found
    else:
        place = found.parent if found.name == "_metadata" else found
        yield PinFact(uri=str(place), origin=origin.of(field.path))


def _specs_of_status(
    document: DocumentField, resource: Resource, reading: Reading
) -> Iterator[Fact]:
    """Yield what the specs name that the operator reconciled last, and that was stable last."""
    status = document.child("status")
    around = status if resource.kind == _BLUE_GREEN else status.child("reconciliationStatus")
    for name in _SPECS:
        yield from guarded(resource.origin, _spec_inside(around.child(name), resource, reading))


def _spec_inside(text: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    parsed = text.parsed()
    spec = parsed.child("spec") if "spec" in parsed.mapping() else parsed
    if resource.kind == _BLUE_GREEN:
        spec = spec.child("template", "spec")
    if spec.value is not None:
        yield from _of_spec(spec, resource.origin, reading)


def _job_status(document: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    """Yield the job id and every checkpoint and savepoint in the status."""
    status = document.child("status", "jobStatus")
    yield from guarded(resource.origin, _job(status, document, resource))
    options = _options(resource)
    info = status.child("savepointInfo")
    places = [
        status.child("upgradeSavepointPath"),
        info.child("lastSavepoint", "location"),
        *(each.child("location") for each in info.child("savepointHistory").items()),
    ]
    for each in places:
        yield from guarded(resource.origin, pin_facts(each, resource.origin, reading, options))


def _job(status: DocumentField, document: DocumentField, resource: Resource) -> Iterator[Fact]:
    job_id, state = status.child("jobId").text(), status.child("state").word(JOB_STATES)
    if job_id and not is_job_id(job_id):
        raise UnclearFieldError(status.child("jobId").path, f"names no job id: {job_id[:40]!r}")
    if job_id:
        spec = document.child(*_SPEC_PATHS[resource.kind])
        fixed = text_options(spec.child("flinkConfiguration").mapping()).get(FIXED_JOB_ID, "")
        yield JobFact(
            job_id=job_id,
            name=status.child("jobName").text(),
            state=state,
            is_fixed=bool(fixed),
            uid=resource.uid,
            origin=resource.origin.of(status.child("jobId").path),
        )


def _options(resource: Resource) -> Options:
    """Return the options of the spec, those of the effective configuration behind them."""
    try:
        spec = DocumentField(resource.document).child(*_SPEC_PATHS[resource.kind])
        own = text_options(spec.child("flinkConfiguration").mapping())
    except UnclearFieldError:
        own = {}
    return {**text_options(resource.configuration or {}), **own}


def _effective(_: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    """Yield what the configuration names that the operator made: its own defaults are in it."""
    if resource.configuration is not None and resource.configuration_origin is not None:
        origin = resource.configuration_origin
        yield from option_facts(resource.configuration, origin, reading, field=origin.field)


def _cluster(document: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    """Yield the REST service of a deployment; while it has no JobManager, nothing answers."""
    deployed = document.child("status", "jobManagerDeploymentStatus").word(_DEPLOYMENT_STATES)
    options = _options(resource)
    uri = rest_uri(resource.name, resource.namespace, options, reading)
    ingress = document.child("spec", "ingress", "template").text()
    if reading.rest == "ingress" and ingress:
        uri = _ingress_uri(ingress, resource)
    yield ClusterFact(uri=uri, is_asked=deployed != "MISSING", origin=resource.origin.of("spec"))


def rest_uri(name: str, namespace: str, options: Options, reading: Reading) -> str:
    """Return the address of a REST service."""
    template = reading.rest if reading.rest != "ingress" else Reading().rest
    return template.format(
        scheme="https" if options.get(REST_SSL) == "true" else "http",
        name=name,
        namespace=namespace,
        port=options.get("rest.port") or _DEFAULT_PORT,
    )


def _ingress_uri(template: str, resource: Resource) -> str:
    address = template.replace("{{name}}", resource.name)
    address = address.replace("{{namespace}}", resource.namespace).split("(")[0]
    return address if "://" in address else f"https://{address}"


def _high_availability(
    _: DocumentField,
    resource: Resource,
    reading: Reading,  # noqa: ARG001
) -> Iterator[Fact]:
    yield from ha_facts(_options(resource), resource.origin, resource.name)


def ha_facts(options: Options, origin: Origin, name: str) -> Iterator[Fact]:
    """Yield the HA services that a configuration names; a kind that is not known is said."""
    word = first_of(options, HA_TYPE_OPTIONS)
    where = origin.of("high-availability.type")
    if not word or word.upper() == "NONE":
        return
    if word.lower() == "kubernetes" or "KubernetesHaServicesFactory" in word:
        cluster = options.get("kubernetes.cluster-id") or name
        namespace = options.get("kubernetes.namespace") or origin.namespace
        yield HaFact(type="kubernetes", where=namespace, cluster_id=cluster, origin=where)
    elif word.lower() == "zookeeper" and first_of(options, ZOOKEEPER_OPTIONS):
        root = "/" + (first_of(options, ZOOKEEPER_ROOT_OPTIONS) or "flink").strip("/")
        hosts = [each.strip() for each in first_of(options, ZOOKEEPER_OPTIONS).split(",")]
        quorum = ",".join(each if ":" in each else f"{each}:{_ZOOKEEPER_PORT}" for each in hosts)
        cluster = first_of(options, CLUSTER_ID_OPTIONS) or name
        yield HaFact(type="zookeeper", where=f"{quorum}{root}", cluster_id=cluster, origin=where)
    else:
        yield UnclearFact(
            why=f"{word[:60]!r} is no kind of HA services that is known here: which of its jobs are"
            " only suspended cannot be seen",
            is_everywhere=True,
            origin=where,
        )


def _snapshot(document: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    """Yield the paths of a snapshot, whatever became of it."""
    spec, status = document.child("spec"), document.child("status")
    if spec.value is None:
        raise UnclearFieldError("spec", "is missing")
    status.child("state").word(_SNAPSHOT_STATES)
    for field in (status.child("path"), spec.child("savepoint", "path")):
        yield from guarded(resource.origin, pin_facts(field, resource.origin, reading, {}))


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
    _DEPLOYMENT: (_spec, _effective, _specs_of_status, _job_status, _cluster, _high_availability),
    _SESSION_JOB: (_session, _spec, _specs_of_status, _job_status),
    _SNAPSHOT: (_snapshot,),
    _BLUE_GREEN: (_spec, _specs_of_status, _job_status),
}


def session_cluster_of(resource: Resource) -> str:
    """Return the name of the deployment that a session job runs in, "" if it is unknown."""
    try:
        return DocumentField(resource.document).child("spec", "deploymentName").text()
    except UnclearFieldError:
        return ""


def _without_directory(found: ResourceFacts, resource: Resource) -> UnclearFact | None:
    """Return that a deployment names no checkpoint directory, so its state may be in any place.

    A job of a session inherits its cluster's directory; one whose checkpoints stay in the
    JobManager's memory needs none.
    """
    if resource.kind != _DEPLOYMENT or found.uses(DirectoryUse.CHECKPOINTS):
        return None
    if any(each.is_everywhere for each in found.unclear) or _has_unclear_directory(found):
        return None
    if first_of(_options(resource), STORAGE_OPTIONS) == "jobmanager":
        return None
    missing = missing_directory(resource.origin)
    return missing.model_copy(
        update={
            "is_until_remembered": not _may_run(resource),
            "is_until_read": resource.configuration is None,
        }
    )


def _may_run(resource: Resource) -> bool:
    """Return whether a JobManager of a deployment may be there."""
    status = resource.document.get("status")
    shown = status.get("jobManagerDeploymentStatus") if isinstance(status, Mapping) else None
    return shown != "MISSING"


def _has_unclear_directory(found: ResourceFacts) -> bool:
    return any(
        each.origin.field.endswith((".dir", "checkpointdir", "create-subdir"))
        for each in found.unclear
    )


def missing_directory(origin: Origin) -> UnclearFact:
    """Return that no field of a resource names a checkpoint directory."""
    return UnclearFact(
        why="names no checkpoint directory: the operator's defaults or the job's code may; set"
        f" execution.checkpointing.dir, or name {origin.resource} in discovery.without_state",
        is_everywhere=True,
        is_absence=True,
        origin=origin,
    )
