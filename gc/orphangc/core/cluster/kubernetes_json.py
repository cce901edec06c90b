"""Names and keys of HA ConfigMaps, and the Flink operator's resources, read into facts.

A resource is read wherever the operator may put a thing: specs stand inside specs, and inside
JSON texts of a status, so that whole documents are walked. What cannot be understood and may name
a job or a savepoint makes the answer unusable: it is not guessed at.

Source: Flink 1.12-1.14 ``KubernetesHaServices``; 1.15-2.3 ``KubernetesLeaderElectionHaServices``,
``KubernetesCheckpointStoreUtil``, ``KubernetesCheckpointIDCounter``, ``Constants``; Flink
Kubernetes operator (2026-07) ``FlinkUtils.isValidHaConfigMap``, ``AbstractFlinkService``,
``CommonStatus``, ``SpecUtils``, custom resource definitions v1beta1.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from flinkstate.places.checkpoint_names import is_job_id
from orphangc.core.cluster.ha_facts import (
    JOB,
    FolderNamed,
    HaFacts,
    Hold,
    JobNamed,
    PlaceNamed,
    checkpoint_id_of,
)
from orphangc.core.cluster.place_options import (
    DEFAULT_SCHEME,
    FOLDER_OPTIONS,
    NO_PLACES,
    RESTORE_OPTIONS,
    default_schemes,
    named_folders,
    named_origins,
    restored_from,
    with_file_system,
)
from orphangc.core.model.types import FIXED_JOB_IDS, EvidenceSource, JobId
from orphangc.errors import RegistryUnavailableError

HA_SELECTOR = "configmap-type=high-availability"
"""The label that Flink gives to every ConfigMap of its HA services (1.12-2.3)."""

_PAIR = "FlinkBlueGreenDeployment"
KINDS: Mapping[str, str] = {
    "flinkdeployments": "FlinkDeployment",
    "flinksessionjobs": "FlinkSessionJob",
    "flinkstatesnapshots": "FlinkStateSnapshot",
    "flinkbluegreendeployments": _PAIR,
}
"""Kind by plural, all of ``flink.apache.org/v1beta1``."""

_JOB_CONFIG_MAP = re.compile(r"(.+)-([0-9a-f]{32})-(?:config-map|jobmanager-leader)", re.ASCII)
"""A cluster id may contain dashes and hex itself, so the name is read from the right."""
_CHECKPOINT_KEY = "checkpointID-"
_PLAN_KEY = re.compile(r"(?:jobGraph|executionPlan)-([0-9a-f]{32})", re.ASCII)

_OVER = frozenset({"FINISHED", "CANCELED"})
"""States of a job that never restarts; FAILED is not one: the operator may restart it.

The operator writes FINISHED also for a job that it suspended, so the state alone proves nothing.
Source: operator, ``AbstractFlinkService.cancelJob``, ``updateStatusAfterClusterDeletion``.
"""
_SETTLED = frozenset({"DEPLOYED", "ROLLED_BACK"})
_DEPLOYED_OR_GONE = frozenset({"READY", "MISSING"})
"""States of a JobManager's deployment in which nothing starts: DEPLOYING is none, nor an error.

Source: operator, ``JobManagerDeploymentStatus``.
"""
_CALM = frozenset({"DEPLOYED", "STABLE", "ROLLED_BACK", "FINISHED", "DELETING", "DELETED"})
"""Lifecycle states in which the operator is about to start nothing.

Source: operator, ``CommonStatus.getLifecycleState``, ``ResourceLifecycleState``.
"""
_SPEC_GENERATION = (
    "status.reconciliationStatus.lastReconciledSpec.resource_metadata.metadata.generation"
)
"""Where operators before ``status.observedGeneration`` note which spec they reconciled last."""
_OPTIONS = frozenset({*FOLDER_OPTIONS, *RESTORE_OPTIONS, DEFAULT_SCHEME})
_PLACE_KEYS = ("initialSavepointPath", "upgradeSavepointPath")
_INSIDE = re.compile(r"(?:savepointInfo|checkpointInfo)\..*location")
_TAKEN, _STATED, _EXISTS = "status.path", "spec.savepoint.path", "spec.savepoint.alreadyExists"
"""Fields of a FlinkStateSnapshot: what was taken; what exists already, or the folder to make it in,
as the operator writes it for each periodic savepoint; and which of both that is.

Source: operator 1.10-1.16, ``StateSnapshotReconciler``, ``FlinkStateSnapshotUtils``.
"""


def kubernetes_facts(
    namespace: str,
    config_maps: Iterable[tuple[str, Iterable[str]]],
    resources: Mapping[str, Iterable[Mapping[str, Any]]],
) -> HaFacts:
    """Return the facts of one namespace.

    Args:
        config_maps: Name and keys of each HA ConfigMap.
        resources: The custom resources by plural, as JSON documents.

    Raises:
        RegistryUnavailableError: A part of a resource cannot be understood.
    """
    maps = [(name, list(keys)) for name, keys in config_maps]
    holds = [hold for name, keys in maps for hold in config_map_holds(namespace, name, keys)]
    named: set[PlaceNamed | FolderNamed] = set()
    names: set[JobNamed] = set()
    documents = [(_kind_of(plural), each) for plural, some in resources.items() for each in some]
    for kind, document in documents:
        by = _name_of(namespace, kind, document)
        leaves = list(_leaves(document, by))
        named.update(_named(leaves, by, kind))
        holds += _resource_holds(leaves, by)
        of_kind, bearer = _bearer(kind, document["metadata"])
        identity = f"{of_kind}/{uid}" if (uid := bearer.get("uid")) else ""
        names.update(_names(leaves, f"{namespace}/{bearer['name']}", identity))
    return HaFacts(
        uri=f"kubernetes:{namespace}",
        holds=tuple(sorted(holds, key=lambda hold: (hold.job_id, hold.uri))),
        places=tuple(sorted(each for each in named if isinstance(each, PlaceNamed))),
        folders=tuple(sorted(each for each in named if isinstance(each, FolderNamed))),
        names=tuple(sorted(names)),
        things=len(maps) + len(documents),
    )


def _kind_of(plural: str) -> str:
    if plural not in KINDS:
        raise RegistryUnavailableError(
            f"unusable answer: there are {plural}, a kind of an operator that is newer than this"
            " program; who is alive is unknown"
        )
    return KINDS[plural]


def _bearer(kind: str, metadata: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return kind and metadata of what a resource's jobs are named after: of a colour, its pair.

    The operator makes a resource for each colour, and another one for each change.

    Source: operator 1.14-1.16, ``BlueGreenKubernetesService.getDependentObjectMeta``.
    """
    owners = metadata.get("ownerReferences")
    for each in owners if isinstance(owners, list) else ():
        if isinstance(each, Mapping) and each.get("kind") == _PAIR and each.get("name"):
            return _PAIR, each
    return kind, metadata


def config_map_holds(namespace: str, name: str, keys: Iterable[str]) -> Iterator[Hold]:
    """Yield what a ConfigMap holds: its own job, or those whose graphs a cluster's one keeps.

    An entry that is marked for deletion counts: its checkpoint is not deleted yet. Addresses of
    leaders do not: Flink leaves those of jobs that have ended.
    """
    uri = f"kubernetes:{namespace}/configmaps/{name}"
    jobs: dict[str, None] = {}
    ids: set[int] = set()
    for key in keys:
        if plan := _PLAN_KEY.fullmatch(key):
            jobs[plan[1]] = None
        if key.startswith(_CHECKPOINT_KEY):
            ids.update(_id_of(uri, key))
    match = _JOB_CONFIG_MAP.fullmatch(name)
    cluster = match[1] if match else _cluster_of(name)
    if match:
        jobs[match[2]] = None
    elif ids:
        raise RegistryUnavailableError(f"{uri} retains checkpoints of a job that it does not name")
    for job_id in jobs:
        yield Hold(
            job_id=JobId(job_id),
            source=EvidenceSource.KUBERNETES,
            uri=uri,
            cluster=f"kubernetes:{namespace}/{cluster}",
            retained_ids=frozenset(ids) if match and job_id == match[2] else frozenset(),
        )


def _id_of(uri: str, key: str) -> list[int]:
    found = checkpoint_id_of(key.removeprefix(_CHECKPOINT_KEY))
    if found is None:
        raise RegistryUnavailableError(f"{uri}: key {key[:60]!r} spells no checkpoint id")
    return [found]


def _cluster_of(name: str) -> str:
    for ending in ("-cluster-config-map", "-dispatcher-leader"):
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name


def _name_of(namespace: str, kind: str, document: Mapping[str, Any]) -> str:
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if not isinstance(name, str) or not name:
        raise RegistryUnavailableError(f"unusable answer: a {kind} in {namespace} has no name")
    return f"kubernetes:{namespace}/{kind}/{name}"


def _leaves(document: Any, by: str, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value with its dotted path, also those inside JSON texts; indexes are left out.

    A pod template holds no state of Flink's, but paths of all kinds; it is not entered.
    """
    if isinstance(document, Mapping):
        for key, value in document.items():
            if key != "podTemplate":
                yield from _leaves(value, by, f"{path}.{key}" if path else str(key))
    elif isinstance(document, list):
        for each in document:
            yield from _leaves(each, by, path)
    elif isinstance(document, str) and path.endswith(("lastReconciledSpec", "lastStableSpec")):
        yield from _leaves(_parsed(document, f"{by} {path}"), by, path)
    else:
        yield path, document


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text) if text.strip() else None
    except (ValueError, RecursionError) as err:
        raise RegistryUnavailableError(f"unusable answer: {where} is no JSON") from err


def _of_snapshot(leaves: Iterable[tuple[str, Any]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields that name a snapshot, and those that name the folder to make it in.

    Where a field of another type says whether it exists, the stated path may be either.
    """
    said = [(path, value) for path, value in leaves if path.startswith(_EXISTS)]
    exists = [value if path == _EXISTS else path for path, value in said]
    is_to_make = all(each is None or each is False for each in exists)
    is_made = bool(exists) and all(each is True for each in exists)
    return (_TAKEN,) if is_to_make else (_TAKEN, _STATED), () if is_made else (_STATED,)


def _named(
    leaves: Sequence[tuple[str, Any]], by: str, kind: str
) -> Iterator[PlaceNamed | FolderNamed]:
    """Yield the checkpoints, savepoints and folders that the fields and options of one name."""
    taken, to_make = _of_snapshot(leaves) if kind == "FlinkStateSnapshot" else ((), ())
    options = _options(leaves, by)
    defaults = default_schemes(options)
    yield from (PlaceNamed(path, by) for path in named_origins(options))
    yield from (FolderNamed(path, name, by) for name, path in named_folders(options))
    for field, value in leaves:
        is_place = field.endswith(_PLACE_KEYS) or _INSIDE.search(field) or field in taken
        for text in _text(value, f"{by} {field}") if is_place or field in to_make else ():
            if is_place:
                yield from (PlaceNamed(path, by) for path in restored_from(text, defaults))
            if field in to_make:
                paths = with_file_system(text.strip(), defaults)
                yield from (FolderNamed(path, field, by) for path in paths)


def _options(leaves: Iterable[tuple[str, Any]], by: str) -> list[tuple[str, str]]:
    """Return the options that name places, with every text of each.

    What a job is restored from counts wherever it stands; a folder, in a configuration of Flink's.
    """
    found = ((path, _option_of(path), value) for path, value in leaves)
    return [
        (option, text)
        for path, option, value in found
        for text in (_text(value, f"{by} {path}") if option in _OPTIONS else ())
    ]


def _option_of(path: str) -> str:
    anywhere = (each for each in (*RESTORE_OPTIONS, DEFAULT_SCHEME) if path.endswith(each))
    return next(anywhere, path.rpartition("flinkConfiguration.")[2])


def _text(value: Any, where: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, str):
        raise RegistryUnavailableError(f"unusable answer: {where} is no text")
    return [value] if value.strip() else []


def _names(leaves: Sequence[tuple[str, Any]], name: str, identity: str) -> Iterator[JobNamed]:
    # what it was deployed with counts, too: the job may be that of another mode still
    modes = {value for path, value in leaves if path.endswith("job.upgradeMode")}
    is_stateless = ("spec.job.upgradeMode", "stateless") in leaves and modes == {"stateless"}
    is_id_chosen = any(path.endswith(FIXED_JOB_IDS) for path, _ in leaves)
    said = {path: value for path, value in leaves if isinstance(value, str)}
    # of a job that was stopped the path is that of its own last savepoint
    is_running = said.get("status.jobStatus.state") == "RUNNING"
    path = said.get("status.jobStatus.upgradeSavepointPath", "")
    origin = (path,) if is_running or path in NO_PLACES else ()
    job = said.get("status.jobStatus.jobId", "")
    if is_job_id(job):
        yield JobNamed(JobId(job), name, identity, is_stateless, is_id_chosen, origin)


def _resource_holds(leaves: Sequence[tuple[str, Any]], by: str) -> Iterator[Hold]:
    said = [(path, value) for path, value in leaves if isinstance(value, str)]
    jobs = {job for path, job in said if path.endswith("jobStatus.jobId") and job}
    states = [*_why_not_over(said), *_unobserved(dict(leaves))]
    for job in sorted(jobs):
        if not is_job_id(job):
            raise RegistryUnavailableError(f"unusable answer: {by} names no job id: {job[:40]!r}")
        if states:
            yield Hold(
                job_id=JobId(job), source=EvidenceSource.KUBERNETES, uri=by, states=tuple(states)
            )


def _why_not_over(said: Iterable[tuple[str, str]]) -> list[str]:
    stated = dict(said)
    words = []
    state = stated.get("status.jobStatus.state", "unknown")
    if state not in _OVER:
        words.append(f"{JOB}{state}")
    if any(
        value.lower() == "suspended" and path.endswith(("job.state", "lifecycleState"))
        for path, value in said
    ):
        words.append("suspended")
    reconciled = stated.get("status.reconciliationStatus.state", "DEPLOYED")
    if reconciled not in _SETTLED:
        words.append(f"reconciliation {reconciled}")
    deployment = stated.get("status.jobManagerDeploymentStatus", "READY")
    if deployment not in _DEPLOYED_OR_GONE:
        words.append(f"JobManager {deployment}")
    lifecycle = stated.get("status.lifecycleState", "STABLE")
    if lifecycle not in _CALM and "suspended" not in words:
        words.append(f"lifecycle {lifecycle}")
    stage = stated.get("status.blueGreenState", "ACTIVE")
    if not stage.startswith("ACTIVE"):
        words.append(stage)
    return words


def _unobserved(stated: Mapping[str, Any]) -> list[str]:
    """Return a word if the operator has not seen a resource's newest spec: it may start a job."""
    newest = stated.get("metadata.generation")
    observed = stated.get("status.observedGeneration")
    observed = stated.get(_SPEC_GENERATION) if observed is None else observed
    if newest is None or (_is_count(newest) and _is_count(observed) and observed >= newest):
        return []
    return [f"generation {newest} not observed yet"]


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
