"""JobManagers that no operator made, in Deployments, StatefulSets and Jobs, read into facts.

Source: Flink 1.14-2.3, ``flink-kubernetes`` (labels ``type``, ``component``), the pages on
standalone clusters in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from orphangc.core.discovery.discovered_facts import (
    ClusterFact,
    Fact,
    ResourceFacts,
    UnclearFact,
    gathered_facts,
)
from orphangc.core.discovery.sources.cluster_services import ha_facts, rest_uri
from orphangc.core.discovery.sources.operator_resources import (
    source_facts,
    with_missing_directory,
)
from orphangc.core.discovery.sources.operator_specs import (
    Resource,
    made_maps,
    options_of,
    read_maps,
)
from orphangc.core.discovery.sources.pod_templates import PROPERTIES, Found, PodPlace, pod_sources
from orphangc.core.discovery.texts.flink_options import (
    Reading,
    all_of,
    first_of,
)
from orphangc.core.discovery.texts.strict_fields import DocumentField, UnclearFieldError, guarded

WORKLOADS = ("Deployment", "StatefulSet", "Job")
"""Kinds whose pods may be JobManagers: an application may run as a Job."""

_NATIVE, _STANDALONE = "flink-native-kubernetes", "flink-standalone-kubernetes"
_STARTING = frozenset({"standalone-job", "jobmanager.sh", "standalone-job.sh"})
_TASK_MANAGERS = frozenset({"taskmanager", "taskmanager.sh", "kubernetes-taskmanager.sh"})
_POD = ("spec", "template", "spec")
_SIGNS = ("org.apache.flink", "jobmanager", "standalone-job", "start-cluster.sh", "FLINK_")
_OPERATOR = "flink-kubernetes-operator"
"""Image of the operator itself, which runs no job."""
_OURS = "orphangc"
"""Image of this program, whose release may have any name."""
_RPC_PORT = 6123
_FLINKS = "flink"
"""Part of the name of what is Flink's: its folder, its file, a ConfigMap."""
_LABELS = frozenset({"jobmanager", _FLINKS})
"""Values of labels that say that Flink runs."""


def is_job_manager(document: Mapping[str, Any]) -> bool:
    """Return whether a workload is a JobManager's, by its labels or by what its containers say.

    A container that starts one counts whatever the labels say, and whatever is beside it.
    """
    words = _words_of(document)
    names = {each.rpartition("/")[2] for each in words}
    if names & _STARTING or any(map(_starts_job_manager, _containers_of(document))):
        return True
    if is_task_manager(document):
        return False
    is_labelled = _component_of(document) == "jobmanager" or labels_of(document).get("type") in {
        _NATIVE,
        _STANDALONE,
    }
    return is_labelled or "jobmanager" in names or PROPERTIES in words


def _starts_job_manager(container: Any) -> bool:
    """Return whether the command or the arguments of a container begin with that of Flink's image.

    Elsewhere the word is mostly a host.
    """
    return any(
        isinstance(words, list) and words[:1] == ["jobmanager"]
        for words in (_at(container, (), "command"), _at(container, (), "args"))
    )


def is_task_manager(document: Mapping[str, Any]) -> bool:
    """Return whether a workload is a TaskManager's, by its label or a command of its containers.

    Without a label, each container with a sign of Flink must start one.
    """
    if _component_of(document) == "taskmanager":
        return True
    known = [(each, _starts_task_manager(each)) for each in _containers_of(document)]
    return any(is_one for _, is_one in known) and all(
        is_one or not _may_run_flink(each) for each, is_one in known
    )


def _starts_task_manager(container: Any) -> bool:
    words = {part for each in _texts([container]) for part in each.split()}
    return bool({each.rpartition("/")[2] for each in words} & _TASK_MANAGERS)


def _containers_of(document: Mapping[str, Any]) -> list[Any]:
    found = _at(document, _POD, "containers")
    return found if isinstance(found, list) else []


def has_sign_of_flink(document: Mapping[str, Any]) -> bool:
    """Return whether a workload may run Flink, by any sign of it."""
    if any(str(value).lower() in _LABELS for value in labels_of(document).values()):
        return True
    found = [_at(document, _POD, kind) for kind in ("containers", "initContainers")]
    volumes = _at(document, _POD, "volumes")
    return any(
        _may_run_flink(each) or _is_given_flinks(each, volumes)
        for part in found
        if isinstance(part, list)
        for each in part
    )


def _is_given_flinks(container: Any, volumes: Any) -> bool:
    """Return whether a folder, file or ConfigMap that a container is given is of Flink.

    The name of a Secret says nothing: what else writes into Flink's bucket has the same one.
    """
    image = str(_at(container, (), "image")).lower()
    if _OPERATOR in image or _OURS in image:
        return False
    mounts = _list(_at(container, (), "volumeMounts"))
    mounted = {str(_at(each, (), "name")) for each in mounts}
    sources = [e for e in _list(volumes) if str(_at(e, (), "name")) in mounted]
    given = [
        *(_at(each, (), name) for each in mounts for name in ("mountPath", "subPath")),
        *(_at(each, ("configMap",), "name") for each in sources),
        *(_at(e, ("configMapRef",), "name") for e in _list(_at(container, (), "envFrom"))),
        _at(container, (), "workingDir"),
    ]
    return any(_FLINKS in str(each).lower() for each in given)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _may_run_flink(container: Any) -> bool:
    image = str(_at(container, (), "image")).lower()
    if _OPERATOR in image:
        return False
    ports = _at(container, (), "ports")
    is_open = any(
        _at(each, (), "containerPort") == _RPC_PORT
        for each in (ports if isinstance(ports, list) else ())
    )
    texts = list(_texts([container]))
    return "flink" in image or is_open or any(sign in text for text in texts for sign in _SIGNS)


def unrecognised_facts(resource: Resource) -> ResourceFacts:
    """Return that a workload with a sign of Flink is not understood."""
    origin = resource.origin
    why = (
        "has a sign of Flink, and is recognised neither as a JobManager nor as a TaskManager: label"
        f" it with its component, or name {origin.resource} in discovery.without_state"
    )
    unclear = UnclearFact(why=why, is_everywhere=True, is_absence=True, origin=origin)
    return ResourceFacts(origin=origin, uid=resource.uid, unclear=(unclear,))


def _component_of(document: Mapping[str, Any]) -> Any:
    labels = labels_of(document)
    return labels.get("component") or labels.get("app.kubernetes.io/component") or ""


def _words_of(document: Mapping[str, Any]) -> set[str]:
    return {part for each in _texts(_at(document, _POD, "containers")) for part in each.split()}


def _at(document: Any, path: Iterable[str], *last: str) -> Any:
    value = document
    for name in (*path, *last):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _texts(containers: Any) -> Iterator[str]:
    """Yield command, arguments and names of variables of all containers."""
    for each in containers if isinstance(containers, list) else ():
        parts = [_at(each, (), name) for name in ("command", "args", "env")]
        for part in (p for value in parts if isinstance(value, list) for p in value):
            text = part.get("name") if isinstance(part, Mapping) else part
            if isinstance(text, str):
                yield text


def is_operated(document: Mapping[str, Any]) -> bool:
    """Return whether an operator's resource stands for a Deployment."""
    metadata = document.get("metadata")
    owners = metadata.get("ownerReferences") if isinstance(metadata, Mapping) else None
    found = owners if isinstance(owners, list) else []
    return any(
        isinstance(each, Mapping) and each.get("kind") == "FlinkDeployment" for each in found
    )


def labels_of(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the labels of a Deployment and of its pods: Flink's own examples label the pods only.

    Source: Flink 1.14-2.3, the page on standalone clusters in Kubernetes.
    """
    found: dict[str, Any] = {}
    for path in (("metadata", "labels"), ("spec", "template", "metadata", "labels")):
        value = _at(document, path)
        found |= value if isinstance(value, Mapping) else {}
    return found


def names_of(documents: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the names of resources."""
    names = (_at(document, ("metadata", "name")) for document in documents)
    return frozenset(name for name in names if isinstance(name, str))


def made_config_maps(kind: str, documents: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of the ConfigMaps that the operator makes for resources of one kind."""
    found = (Resource(kind=kind, namespace="", document=document) for document in documents)
    return [name for each in found for name in made_maps(each)]


def workload_facts(resource: Resource, reading: Reading) -> ResourceFacts:
    """Return what a workload of a JobManager says."""
    origin = resource.origin
    sources = list(guarded(origin, _sources(resource)))
    options = options_of(sources)
    reading = replace(reading, options=options)
    is_enough = not may_have_pods(resource.document, resource.kind)
    facts = [
        each.model_copy(update={"is_until_remembered": is_enough})
        if isinstance(each, UnclearFact) and each.is_until_shown
        else each
        for each in source_facts(sources, origin, reading)
    ]
    facts += guarded(origin, _services(resource, reading))
    found = gathered_facts(origin, iter(facts), uid=resource.uid, read=read_maps(resource))
    return with_missing_directory(found, options)


def _sources(resource: Resource) -> Iterator[Found]:
    pod = DocumentField(resource.document).child(*_POD)
    if pod.value is None:
        raise UnclearFieldError(pod.path, "is missing")
    volumes = (*pod.child("volumes").items(), *_claims(resource))
    yield from pod_sources(
        PodPlace(pod=pod, origin=resource.origin, maps=resource.maps, volumes=volumes)
    )


def _claims(resource: Resource) -> Iterator[DocumentField]:
    """Yield the volumes that a StatefulSet claims for each of its pods."""
    claims = DocumentField(resource.document).child("spec", "volumeClaimTemplates")
    for each in claims.items() if resource.kind == "StatefulSet" else ():
        name = each.child("metadata", "name").text()
        yield DocumentField({"name": name, "persistentVolumeClaim": {}}, each.path)


def _services(resource: Resource, reading: Reading) -> Iterator[Fact]:
    cluster = first_of(reading.options, "kubernetes.cluster-id") or resource.name
    yield from ha_facts(reading.options, resource.origin, cluster)
    yield ClusterFact(
        uri=_rest_of(resource, reading, cluster),
        is_asked=_may_answer(DocumentField(resource.document), resource.kind),
        origin=resource.origin.of("spec"),
    )


def _rest_of(resource: Resource, reading: Reading, cluster: str) -> str:
    """Return the address: a native cluster has ``<id>-rest``, another the JobManager's address."""
    named = all_of(reading.options, "jobmanager.rpc.address")
    address = next((each for each in named if "$" not in each), "")
    if labels_of(resource.document).get("type") in {_NATIVE, _STANDALONE} or not address:
        return rest_uri(cluster, resource.namespace, reading)
    uri = rest_uri("\0", resource.namespace, reading)
    return uri.replace("\0-rest", address).replace("\0", address)


def may_have_pods(document: Mapping[str, Any], kind: str) -> bool:
    """Return whether a pod of a workload may run; also where what it says is not understood."""
    try:
        return _may_answer(DocumentField(document), kind)
    except UnclearFieldError:
        return True


def _may_answer(document: DocumentField, kind: str) -> bool:
    """Return whether a pod may run: not without replicas, and not of a Job that has ended."""
    if kind == "Job":
        ended = [each.child("type").text() for each in _true_conditions(document)]
        return not {"Complete", "Failed"} & set(ended)
    replicas = document.child("spec", "replicas")
    if replicas.value is not None and not isinstance(replicas.value, int):
        raise replicas.error("is no number")
    return replicas.value is None or replicas.value > 0


def _true_conditions(document: DocumentField) -> Iterator[DocumentField]:
    for each in document.child("status", "conditions").items():
        if each.child("status").text() == "True":
            yield each
