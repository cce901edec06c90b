"""The operator's resources, read into facts.

Source: Flink Kubernetes operator 1.8-1.15 and July 2026, custom resource definitions v1beta1;
``SpecUtils`` (a spec inside a status is JSON text, beside ``resource_metadata`` since 1.3),
``ConfigObjectNode`` (a nested ``flinkConfiguration``, since 1.13), ``CommonStatus``,
``ApplicationReconciler.setJobIdIfNecessary`` (a new job id at each start but from last state).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from orphangc.core.cluster.job_facts import NOT_ADDRESSABLE
from orphangc.core.discovery.discovered_facts import (
    REST_SOURCE,
    ClusterFact,
    DirectoryUse,
    Fact,
    JobFact,
    Origin,
    ResourceFacts,
    UnclearFact,
    digest_of,
    gathered_facts,
)
from orphangc.core.discovery.sources.cluster_services import ha_facts, rest_uri
from orphangc.core.discovery.sources.operator_specs import (
    BLUE_GREEN,
    DEPLOYMENT,
    SESSION_JOB,
    SNAPSHOT,
    SPEC_PATHS,
    Resource,
    further_fields,
    made_configurations,
    made_maps,
    options_of,
    read_maps,
    resource_sources,
    runs,
    shown_state,
)
from orphangc.core.discovery.sources.pod_templates import Found
from orphangc.core.discovery.texts.flink_options import (
    FIXED_JOB_ID,
    FoundOptions,
    Options,
    Reading,
    directory_fact,
    joined,
    keeps_no_files,
    pinned,
    text_options,
)
from orphangc.core.discovery.texts.job_arguments import (
    FoundArguments,
    argument_facts,
    configuration_facts,
)
from orphangc.core.discovery.texts.strict_fields import (
    DocumentField,
    UnclearFieldError,
    attempted,
    guarded,
)
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
_JOB_STATUS = frozenset(
    {
        *("jobId", "jobName", "state", "startTime", "updateTime", "upgradeSavepointPath"),
        *("savepointInfo", "checkpointInfo"),
    }
)
"""Fields of the status of a job that are read, or name no place."""
_STATUS = frozenset(
    {
        *("jobStatus", "error", "observedGeneration", "lifecycleState", "reconciliationStatus"),
        *("clusterInfo", "jobManagerDeploymentStatus", "taskManager", "conditions"),
        *("blueGreenState", "lastReconciledSpec", "lastReconciledTimestamp", "abortTimestamp"),
        *("deploymentReadyTimestamp", "savepointTriggerId"),
        *("state", "path", "triggerId", "triggerTimestamp", "resultTimestamp", "failures"),
    }
)
"""Fields of a status that are read, or name no place: what an error says is no statement."""
_DEPLOYMENT_STATES = frozenset({"READY", "DEPLOYED_NOT_READY", "DEPLOYING", "MISSING", "ERROR"})
_SNAPSHOT_STATES = frozenset({"COMPLETED", "FAILED", "IN_PROGRESS", "TRIGGER_PENDING", "ABANDONED"})
_NO_DIRECTORY = (
    "names no checkpoint directory: the operator's defaults or the job's code may; set"
    " execution.checkpointing.dir"
)
_IN_MEMORY = (
    "keeps its checkpoints in the JobManager's memory, unless its job's code chooses a directory:"
    " let its REST service show that it does not"
)


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
    made = list(made_configurations(resource))
    is_effective = bool(made) and all(isinstance(each, FoundOptions) for each in made)
    found = gathered_facts(
        origin,
        iter(facts),
        uid=resource.uid,
        is_effective=is_effective,
        read=read_maps(resource),
    )
    unseen = _unseen_parts(found, resource, options)
    return found.model_copy(update={"unclear": (*found.unclear, *unseen)})


def source_facts(sources: Iterable[Found], origin: Origin, reading: Reading) -> Iterator[Fact]:
    """Yield the facts of everything that was found in one resource."""
    for each in sources:
        if isinstance(each, FoundOptions):
            yield from configuration_facts(each, reading)
        elif isinstance(each, FoundArguments):
            yield from argument_facts(each, reading)
        elif isinstance(each, DocumentField):
            yield from guarded(origin, pin_facts(each, origin, reading))
        else:
            yield each


_Part = Callable[[DocumentField, Resource, Reading], Iterator[Fact]]


def pin_facts(field: DocumentField, origin: Origin, reading: Reading) -> Iterator[Fact]:
    """Yield the checkpoint or savepoint that a field names, if it names one."""
    if field.text() in {"", NOT_ADDRESSABLE}:
        return
    yield from pinned(field.text(), origin.of(field.path), reading)


def _job_status(document: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    """Yield the job id and every checkpoint and savepoint in the status."""
    status = document.child("status", "jobStatus")
    yield from guarded(resource.origin, _job(status, document, resource))
    places = [
        lambda: [status.child("upgradeSavepointPath")],
        lambda: [status.child("savepointInfo", "lastSavepoint", "location")],
        lambda: list(status.child("savepointInfo", "savepointHistory").items()),
    ]
    for each in places:
        yield from guarded(resource.origin, _saved(each, resource, reading))
    yield from guarded(resource.origin, _later_fields(status, _JOB_STATUS, resource, reading))


def _later_fields(
    around: DocumentField, known: Collection[str], resource: Resource, reading: Reading
) -> Iterator[Fact]:
    """Yield the places in fields that a later operator adds, read as arguments are."""
    for each in further_fields(around, known, resource.origin):
        yield from argument_facts(each, reading)


def _status(document: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    yield from _later_fields(document.child("status"), _STATUS, resource, reading)


def _saved(
    places: Callable[[], Iterable[DocumentField]], resource: Resource, reading: Reading
) -> Iterator[Fact]:
    for each in places():
        yield from guarded(resource.origin, _location(each, resource, reading))


def _location(place: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    """Yield the checkpoint or savepoint of a field, or of an entry of a history."""
    is_entry = place.path.endswith("savepointHistory")
    found = place.child("location") if is_entry else place
    yield from pin_facts(found, resource.origin, reading)


def _job(status: DocumentField, document: DocumentField, resource: Resource) -> Iterator[Fact]:
    job_id = status.child("jobId").text()
    if job_id and not is_job_id(job_id):
        raise UnclearFieldError(status.child("jobId").path, f"names no job id: {job_id[:40]!r}")
    state, strange = attempted(resource.origin, lambda: status.child("state").word(JOB_STATES))
    name, unnamed = attempted(resource.origin, lambda: status.child("jobName").text())
    yield from (*strange, *unnamed)
    if job_id:
        yield JobFact(
            job_id=job_id,
            name=name,
            state=state,
            is_fixed=_is_id_chosen(document, resource),
            uid=resource.uid,
            origin=resource.origin.of(status.child("jobId").path),
        )


def _is_id_chosen(document: DocumentField, resource: Resource) -> bool:
    """Return whether the configuration chose a job id, or may have."""
    spec = document.child(*SPEC_PATHS[resource.kind])
    try:
        return FIXED_JOB_ID in text_options(spec.child("flinkConfiguration").mapping())
    except UnclearFieldError:
        return True


def _cluster(document: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    """Yield the REST service of a deployment; while it has no JobManager, nothing answers."""
    uri = rest_uri(resource.name, resource.namespace, reading)
    ingress = document.child("spec", "ingress", "template").text()
    if reading.rest == "ingress" and ingress:
        uri = _ingress_uri(ingress, resource)
    yield ClusterFact(uri=uri, is_asked=_may_run(resource), origin=resource.origin.of("spec"))


def _deployment_state(document: DocumentField, _: Resource, reading: Reading) -> Iterator[Fact]:  # noqa: ARG001
    document.child("status", "jobManagerDeploymentStatus").word(_DEPLOYMENT_STATES)
    yield from ()


def _ingress_uri(template: str, resource: Resource) -> str:
    address = template.replace("{{name}}", resource.name)
    address = address.replace("{{namespace}}", resource.namespace).split("(")[0]
    return address if "://" in address else f"https://{address}"


def _high_availability(_: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    yield from ha_facts(
        reading.options, resource.origin, resource.name, namespace=resource.namespace
    )


def _snapshot(document: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    """Yield the paths of a snapshot, whatever became of it."""
    if document.child("spec").value is None:
        raise UnclearFieldError("spec", "is missing")
    yield from guarded(resource.origin, _snapshot_state(document))
    for part in (_result, _target):
        yield from guarded(resource.origin, part(document, resource, reading))


def _snapshot_state(document: DocumentField) -> Iterator[Fact]:
    document.child("status", "state").word(_SNAPSHOT_STATES)
    yield from ()


def _result(document: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    yield from pin_facts(document.child("status", "path"), resource.origin, reading)


def _target(document: DocumentField, resource: Resource, reading: Reading) -> Iterator[Fact]:
    """Yield the folder that a savepoint is to be made in, or the one that exists already.

    Source: Flink Kubernetes operator 1.10-1.16, ``StateSnapshotReconciler``.
    """
    savepoint = document.child("spec", "savepoint")
    path, exists = savepoint.child("path"), savepoint.child("alreadyExists")
    where = resource.origin.of(path.path)
    if exists.value is not None and exists.value is not False:
        yield from guarded(resource.origin, pin_facts(path, resource.origin, reading))
    if exists.value is not True and path.text():
        yield directory_fact(path.text(), DirectoryUse.SAVEPOINTS, where, reading)
    exists.truth()


def _session(document: DocumentField, _: Resource, reading: Reading) -> Iterator[Fact]:  # noqa: ARG001
    if not document.child("spec", "deploymentName").text():
        raise UnclearFieldError("spec.deploymentName", "is missing: its cluster is unknown")
    yield from ()


_PARTS: Mapping[str, tuple[_Part, ...]] = {
    DEPLOYMENT: (_job_status, _status, _deployment_state, _cluster, _high_availability),
    SESSION_JOB: (_session, _job_status, _status),
    SNAPSHOT: (_snapshot, _status),
    BLUE_GREEN: (_job_status, _status, _high_availability),
}


def session_cluster_of(resource: Resource) -> str:
    """Return the name of the deployment that a session job runs in, "" if it is unknown."""
    try:
        return DocumentField(resource.document).child("spec", "deploymentName").text()
    except UnclearFieldError:
        return ""


def _unseen_parts(
    found: ResourceFacts, resource: Resource, options: Options
) -> Iterator[UnclearFact]:
    """Yield what a deployment may have beside its spec: its state may be in any place.

    A job of a session inherits its cluster's directory, and a pair has those of its children.
    """
    if not resource.clusters or resource.deployments & _children_of(resource):
        return
    is_running = runs(resource)
    missing = missing_directory(found, options)
    if missing is not None:
        is_unread = missing.is_until_read or not found.is_effective
        is_enough = not is_running and not missing.is_until_asked
        update = {"is_until_remembered": is_enough, "is_until_read": is_unread}
        yield missing.model_copy(update=update)
    if not found.is_effective:
        lifted = " it is read once that runs"
        if not is_running:
            lifted += ", or explained by a statement that it keeps nothing in other places"
        yield UnclearFact(
            why="the operator's defaults are not known, as no cluster of it has shown its"
            f" configuration (ConfigMap {' or '.join(made_maps(resource))}):{lifted}",
            is_everywhere=True,
            is_absence=missing is not None,
            is_until_remembered=not is_running,
            is_until_read=True,
            digest="" if is_running else digest_of(resource.uid or resource.name),
            origin=resource.origin,
        )


def _children_of(resource: Resource) -> frozenset[str]:
    """Return the names of the resources that a resource is known by."""
    return frozenset(resource.clusters if resource.kind == BLUE_GREEN else ())


def _may_run(resource: Resource) -> bool:
    """Return whether a JobManager of a deployment may answer, whatever its status says."""
    return runs(resource) or shown_state(resource) != "MISSING"


def with_missing_directory(found: ResourceFacts, options: Options) -> ResourceFacts:
    """Return the facts of a resource, and that no field of it names a checkpoint directory.

    Args:
        found: What the resource says.
        options: Its options.

    """
    missing = missing_directory(found, options)
    if missing is None:
        return found
    return found.model_copy(update={"unclear": (*found.unclear, missing)})


def missing_directory(found: ResourceFacts, options: Options) -> UnclearFact | None:
    """Return that no field of a resource names a checkpoint directory; ``None`` if one does.

    Where options keep checkpoints in memory, only its cluster can say that no code decides
    otherwise.

    Other parts that are not understood do not hide it: each may be explained on its own.

    Args:
        found: What the resource says.
        options: Its options.

    """
    if found.names_checkpoints:
        return None
    in_memory = keeps_no_files(options)
    why = _IN_MEMORY if in_memory else _NO_DIRECTORY
    return UnclearFact(
        why=f"{why}, or name {found.origin.resource} in discovery.without_state",
        is_everywhere=True,
        is_absence=True,
        is_until_read=in_memory or any(each.is_until_read for each in found.unclear),
        is_until_asked=in_memory,
        source=REST_SOURCE if in_memory else "",
        origin=found.origin,
    )
