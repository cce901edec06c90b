"""Deployments of JobManagers that no operator made, read into facts.

Source: Flink 1.14-2.3, ``flink-kubernetes`` (labels ``type``, ``component``), the pages on
standalone clusters in Kubernetes, and the entry point of the official image (FLINK_PROPERTIES).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from orphangc.core.discovery.discovered_facts import (
    ClusterFact,
    DirectoryUse,
    Fact,
    Origin,
    ResourceFacts,
    gathered_facts,
)
from orphangc.core.discovery.sources.configuration_texts import (
    CONFIGURATION_FILES,
    options_of_file,
    options_of_lines,
)
from orphangc.core.discovery.sources.flink_options import (
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
    pin_facts,
    rest_uri,
)
from orphangc.core.discovery.sources.strict_fields import DocumentField, UnclearFieldError, guarded

ConfigMaps = Mapping[str, Mapping[str, str]]
"""Texts of each readable ConfigMap of one namespace, by its name."""

_NATIVE, _STANDALONE = "flink-native-kubernetes", "flink-standalone-kubernetes"
_SETTING = re.compile(r"-D\s*([^=\s]+)=(.*)", re.DOTALL)
_PROPERTIES = "FLINK_PROPERTIES"
_RESTORE = ("-s", "--fromSavepoint")
_REFERENCES = frozenset({"configMap", "configMapRef", "configMapKeyRef"})


def is_job_manager(labels: Mapping[str, str]) -> bool:
    """Return whether labels are those of a JobManager."""
    component = labels.get("component") or labels.get("app.kubernetes.io/component") or ""
    return component == "jobmanager" or labels.get("type") in {_NATIVE, _STANDALONE}


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
        value: Any = document
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        found |= value if isinstance(value, Mapping) else {}
    return found


def effective_configuration(
    name: str, namespace: str, maps: ConfigMaps
) -> tuple[Mapping[str, Any], Origin] | None:
    """Return the configuration that Flink or its operator made for a cluster, if it is there.

    Raises:
        UnclearFieldError: It cannot be understood.

    """
    found = f"flink-config-{name}"
    for file in CONFIGURATION_FILES:
        if (text := maps.get(found, {}).get(file)) is not None:
            origin = Origin(kind="ConfigMap", namespace=namespace, name=found, field=file)
            return options_of_file(file, text), origin
    return None


def named_config_maps(deployments: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of the ConfigMaps that Deployments of JobManagers mount or refer to."""
    found: list[str] = []
    for document in deployments:
        if is_job_manager(labels_of(document)):
            found += _names(document.get("spec"))
    return list(dict.fromkeys(found))


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


def deployment_facts(resource: Resource, maps: ConfigMaps, reading: Reading) -> ResourceFacts:
    """Return what a Deployment of a JobManager says.

    Args:
        resource: The Deployment.
        maps: ConfigMaps of its namespace.
        reading: How paths are read.

    """
    origin = resource.origin
    facts = list(guarded(origin, _facts(resource, maps, reading)))
    found = gathered_facts(origin, iter(facts), uid=resource.uid)
    if found.uses(DirectoryUse.CHECKPOINTS) or found.unclear:
        return found
    if first_of(text_options(_merged(resource, maps)), STORAGE_OPTIONS) == "jobmanager":
        return found
    return found.model_copy(update={"unclear": (missing_directory(origin),)})


def _facts(resource: Resource, maps: ConfigMaps, reading: Reading) -> Iterator[Fact]:
    origin = resource.origin
    for content, where in _configurations(resource, maps):
        yield from option_facts(content, where, reading, field=where.field)
    options = text_options(_merged(resource, maps))
    for path in _restored(resource):
        yield from pin_facts(path, origin, reading, options)
    cluster = options.get("kubernetes.cluster-id") or resource.name
    yield from ha_facts(options, origin, cluster)
    yield ClusterFact(
        uri=_rest_of(resource, options, reading, cluster),
        is_asked=_replicas(resource) > 0,
        origin=origin.of("spec"),
    )


def _rest_of(resource: Resource, options: Mapping[str, str], reading: Reading, cluster: str) -> str:
    """Return the address: a native cluster has ``<id>-rest``, another the JobManager's address."""
    labels = DocumentField(resource.document).child("metadata", "labels").mapping()
    address = options.get("jobmanager.rpc.address", "")
    if labels.get("type") in {_NATIVE, _STANDALONE} or not address:
        return rest_uri(cluster, resource.namespace, options, reading)
    uri = rest_uri("\0", resource.namespace, options, reading)
    return uri.replace("\0-rest", address).replace("\0", address)


def _replicas(resource: Resource) -> int:
    value = DocumentField(resource.document).child("spec", "replicas").value
    if value is None:
        return 1
    if not isinstance(value, int):
        raise UnclearFieldError("spec.replicas", "is no number")
    return value


def _merged(resource: Resource, maps: ConfigMaps) -> dict[str, Any]:
    try:
        return {k: v for content, _ in _configurations(resource, maps) for k, v in content.items()}
    except UnclearFieldError:
        return {}


def _configurations(
    resource: Resource, maps: ConfigMaps
) -> Iterator[tuple[Mapping[str, Any], Origin]]:
    """Yield the mounted files, the variable of the image and the options of the command line."""
    pod = DocumentField(resource.document).child("spec", "template", "spec")
    if pod.value is None:
        raise UnclearFieldError(pod.path, "is missing")
    yield from _mounted(pod, resource, maps)
    for container in pod.child("containers").items():
        yield from _of_container(container, resource, maps)


def _mounted(
    pod: DocumentField, resource: Resource, maps: ConfigMaps
) -> Iterator[tuple[Mapping[str, Any], Origin]]:
    for volume in pod.child("volumes").items():
        projected = [volume, *volume.child("projected", "sources").items()]
        for each in projected:
            if each.child("secret").value is not None and _holds_configuration(each, "secret"):
                raise UnclearFieldError(volume.path, "is a Secret that holds the configuration")
            name = each.child("configMap", "name").text()
            if name and name not in maps:
                raise UnclearFieldError(
                    volume.path,
                    f"is the ConfigMap {name}, which is not readable",
                    is_until_read=True,
                )
            for file in CONFIGURATION_FILES if name else ():
                if file in maps[name]:
                    where = Origin(
                        kind="ConfigMap", namespace=resource.namespace, name=name, field=file
                    )
                    yield options_of_file(file, maps[name][file]), where


def _holds_configuration(volume: DocumentField, source: str) -> bool:
    items = volume.child(source, "items")
    names = {each.child("key").text() for each in items.items()}
    names |= {each.child("path").text() for each in items.items()}
    own = volume.child("name").value
    return bool(names & set(CONFIGURATION_FILES)) or (isinstance(own, str) and "flink-conf" in own)


def _of_container(
    container: DocumentField, resource: Resource, maps: ConfigMaps
) -> Iterator[tuple[Mapping[str, Any], Origin]]:
    for variable in container.child("env").items():
        if variable.child("name").text() == _PROPERTIES:
            yield _properties(variable, resource, maps)
    for source in container.child("envFrom").items():
        name = source.child("configMapRef", "name").text()
        if name and name not in maps:
            why = f"is the ConfigMap {name}, which is not readable"
            raise UnclearFieldError(source.path, why, is_until_read=True)
        if name and _PROPERTIES in maps[name]:
            where = Origin(
                kind="ConfigMap", namespace=resource.namespace, name=name, field=_PROPERTIES
            )
            yield options_of_lines(maps[name][_PROPERTIES]), where
    matches = [match for each in _arguments(container) if (match := _setting(each))]
    found = {match[1]: match[2] for match in matches}
    if found:
        yield found, resource.origin.of("spec.template.spec.containers.args")


def _properties(
    variable: DocumentField, resource: Resource, maps: ConfigMaps
) -> tuple[Mapping[str, Any], Origin]:
    reference = variable.child("valueFrom", "configMapKeyRef")
    if variable.child("valueFrom").value is None:
        where = resource.origin.of(f"{variable.path}.{_PROPERTIES}")
        return options_of_lines(variable.child("value").text()), where
    text = maps.get(reference.child("name").text(), {}).get(reference.child("key").text())
    if text is None:
        raise UnclearFieldError(variable.path, f"gives {_PROPERTIES} from what is not readable")
    return options_of_lines(text), resource.origin.of(f"{variable.path}.{_PROPERTIES}")


def _arguments(container: DocumentField) -> list[str]:
    """Return the words of the command line; ``-D`` and its value may be two of them."""
    words = [each.text() for name in ("command", "args") for each in container.child(name).items()]
    words = [part for each in words for part in (each.split() if " " in each else [each])]
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] == "-D":
            joined[-1] = f"-D{word}"
        else:
            joined.append(word)
    return joined


def _setting(word: str) -> re.Match[str] | None:
    return _SETTING.fullmatch(word)


def _restored(resource: Resource) -> Iterator[DocumentField]:
    """Yield the savepoints that command lines name."""
    pod = DocumentField(resource.document).child("spec", "template", "spec")
    for container in pod.child("containers").items():
        words = _arguments(container)
        path = f"{container.path}.args"
        for option, value in itertools.pairwise(words):
            if option in _RESTORE:
                yield DocumentField(value, path)
        for word in words:
            if word.startswith("--fromSavepoint="):
                yield DocumentField(word.partition("=")[2], path)
