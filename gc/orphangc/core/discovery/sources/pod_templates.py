"""Pod templates of JobManagers, read by what is known to bring configuration, and by nothing else.

Each environment, mount and command that could bring configuration is either read as a whole or not
understood; what cannot bring any is named here (``_HARMLESS_KEYS``, mounts away from the folder of
the configuration, sidecars with another image).

Source: Kubernetes 1.20-1.34, ``PodSpec``; Flink 1.14-2.3, entry point of the official image.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from orphangc.core.discovery.discovered_facts import Origin, UnclearFact
from orphangc.core.discovery.sources.command_lines import CommandLine, command_line
from orphangc.core.discovery.sources.configuration_texts import (
    CONFIGURATION_FILES,
    options_of_file,
    options_of_lines,
)
from orphangc.core.discovery.sources.flink_options import FoundOptions
from orphangc.core.discovery.sources.strict_fields import (
    DocumentField,
    UnclearFieldError,
    guarded,
)

ConfigMaps = Mapping[str, Mapping[str, str | None]]
"""Texts of each readable ConfigMap of one namespace, by its name; ``None`` for bytes."""

PROPERTIES, _FOLDER, _HOME = "FLINK_PROPERTIES", "FLINK_CONF_DIR", "FLINK_HOME"
_OTHER_IMAGE = "FLINK_CFG_"
"""Beginning of variables by which another maker's image of Flink is configured."""
_USUAL_FOLDER = "/opt/flink/conf"
_MAIN_CONTAINER = "flink-main-container"
"""Name of the container in the operator's pod templates that Flink completes."""
_HINT = "give a command that is understood, or state it in discovery.explained"
_FIELDS = re.compile(r"metadata\.(?:name|namespace|uid)|spec\.nodeName|status\.(?:pod|host)IPs?")
"""Fields of a pod that can hold no option."""
_CONFIGURES = re.compile(r"(?:^|[^a-z])conf(?:ig|s|iguration)?(?:$|[^a-z])", re.IGNORECASE)
"""Name of a folder in which a configuration may be."""
_HARMLESS_KEYS = frozenset(
    {
        *("name", "image", "imagePullPolicy", "ports", "resources", "resizePolicy", "stdin", "tty"),
        *("livenessProbe", "readinessProbe", "startupProbe", "securityContext", "workingDir"),
        *("stdinOnce", "terminationMessagePath", "terminationMessagePolicy", "volumeDevices"),
        *("command", "args", "env", "envFrom", "volumeMounts", "lifecycle", "restartPolicy"),
    }
)
"""Fields of a container that bring no configuration, or are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPlace:
    """The pod template of one resource.

    Attributes:
        pod: Its pod spec.
        origin: The resource.
        maps: ConfigMaps of its namespace.
        volumes: Volumes of its pods, those of another template that is merged with it included.
        is_completed: Whether Flink's operator gives it its command and its configuration.

    """

    pod: DocumentField
    origin: Origin
    maps: ConfigMaps
    volumes: tuple[DocumentField, ...]
    is_completed: bool = False


@dataclass(frozen=True, slots=True)
class _Variables:
    """Environment of a container.

    Attributes:
        container: The container.
        known: Values by name.
        harmless: Names whose values are unknown, and can hold no option.
        unknown: Names whose values are unknown.
        hidden: Prefixes of names that a Secret may give.

    """

    container: DocumentField
    known: dict[str, str] = field(default_factory=dict)
    harmless: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)

    @property
    def names(self) -> set[str]:
        """Return the names of all variables that are set."""
        return {*self.known, *self.harmless, *self.unknown}

    def value(self, name: str) -> str:
        """Return the value of a variable, "" if none is set.

        Raises:
            UnclearFieldError: It is not known.

        """
        if name in self.unknown | self.harmless:
            raise self.container.child("env").error(f"gives {name} from what is not readable")
        if name not in self.known and any(name.startswith(each) for each in self.hidden):
            why = f"takes a Secret as a whole, which may give {name}: give {name} itself, if empty"
            raise self.container.child("envFrom").error(why)
        return self.known.get(name, "")


Found = FoundOptions | DocumentField | UnclearFact
"""A configuration, a checkpoint or savepoint to start from, or what is not understood."""


def pod_sources(place: PodPlace) -> Iterator[Found]:
    """Yield every configuration of a pod template, and what of it is not understood."""
    yield from guarded(place.origin, _containers(place))


def _containers(place: PodPlace) -> Iterator[Found]:
    containers = list(place.pod.child("containers").items())
    if place.is_completed:
        main = [each for each in containers if each.child("name").text() == _MAIN_CONTAINER]
        for each in main:
            yield from guarded(place.origin, _of_container(each, place, None))
        return
    lines = [(each, _line_of(each, place)) for each in containers]
    starting = [c for c, line in lines if _starts_job_manager(line)]
    unclear = [(c, line) for c, line in lines if isinstance(line, UnclearFact)]
    if not starting and not unclear:
        raise place.pod.child("containers").error("start no JobManager")
    images = {each.child("image").text() for each in starting}
    for container, why in unclear:
        if not starting or container.child("image").text() in images:
            yield why
    for container, line in lines:
        if isinstance(line, CommandLine) and line.starts_job_manager:
            yield from guarded(place.origin, _of_container(container, place, line))


def _starts_job_manager(line: CommandLine | UnclearFact) -> bool:
    return isinstance(line, CommandLine) and line.starts_job_manager


def _line_of(container: DocumentField, place: PodPlace) -> CommandLine | UnclearFact:
    """Return the command line of a container, or why it is not understood."""
    try:
        variables = _variables(container, place)
        words = [e.text() for name in ("command", "args") for e in container.child(name).items()]
    except UnclearFieldError as err:
        return err.fact(place.origin, hint=_HINT)
    try:
        return command_line(words, variables.known, frozenset(variables.harmless))
    except UnclearFieldError as err:
        said = UnclearFieldError(f"{container.path}.args", str(err), value=words)
        return said.fact(place.origin, hint=_HINT)


def _of_container(
    container: DocumentField, place: PodPlace, line: CommandLine | None
) -> Iterator[Found]:
    """Yield what one container is configured by; ``line`` is ``None`` where Flink writes it."""
    unknown = set(container.mapping()) - _HARMLESS_KEYS
    if unknown:
        raise UnclearFieldError(container.path, f"has {sorted(unknown)}", value=sorted(unknown))
    if container.child("lifecycle", "postStart").value is not None:
        raise container.child("lifecycle").error("has a postStart hook")
    variables = _variables(container, place)
    if foreign := [each for each in sorted(variables.names) if each.startswith(_OTHER_IMAGE)]:
        why = f"gives {foreign[0]}, a variable of another image than Flink's own"
        raise container.child("env").error(why)
    if text := variables.value(PROPERTIES):
        where = place.origin.of(f"{container.path}.env.{PROPERTIES}")
        yield FoundOptions(options_of_lines(PROPERTIES, text), where)
    if line is not None:
        yield FoundOptions(line.settings, place.origin.of(f"{container.path}.args"))
        yield from (DocumentField(each, f"{container.path}.args") for each in line.restored)
    folders = {_USUAL_FOLDER, variables.value(_FOLDER), *(line.folders if line else ())}
    if home := variables.known.get(_HOME):
        folders.add(f"{home}/conf")
    for mount in container.child("volumeMounts").items():
        yield from guarded(place.origin, _of_mount(mount, place, folders - {""}))


def _variables(container: DocumentField, place: PodPlace) -> _Variables:
    """Return the environment; a later entry wins, and each may refer to earlier ones."""
    found = _Variables(container)
    for source in container.child("envFrom").items():
        prefix = source.child("prefix").text()
        if source.child("configMapRef").value is not None:
            for key, text in _config_map(source.child("configMapRef"), place).items():
                _set(found, f"{prefix}{key}", text)
        else:
            found.hidden.add(prefix)
    for variable in container.child("env").items():
        _set(found, variable.child("name").text(), _value(variable, found, place), variable)
    return found


def _set(
    found: _Variables, name: str, value: str | None, variable: DocumentField | None = None
) -> None:
    for names in (found.harmless, found.unknown):
        names.discard(name)
    found.known.pop(name, None)
    reference = variable and variable.child("valueFrom", "fieldRef", "fieldPath").text()
    if value is not None:
        found.known[name] = value
    elif reference and _FIELDS.fullmatch(reference):
        found.harmless.add(name)
    else:
        found.unknown.add(name)


def _value(variable: DocumentField, found: _Variables, place: PodPlace) -> str | None:
    """Return the value of one variable, ``None`` if it is not known."""
    reference = variable.child("valueFrom", "configMapKeyRef")
    if reference.value is not None:
        return _config_map(reference, place).get(reference.child("key").text())
    if variable.child("valueFrom").value is not None:
        return None
    text = variable.child("value").text()
    names = re.findall(r"\$\(([^()\s]+)\)", text)
    if "$$" in text or any(name not in found.known for name in names):
        return None
    return re.sub(r"\$\(([^()\s]+)\)", lambda match: found.known[match[1]], text)


def _config_map(reference: DocumentField, place: PodPlace) -> Mapping[str, str | None]:
    name = reference.child("name").text()
    if name not in place.maps:
        why = f"is the ConfigMap {name}, which is not readable"
        raise UnclearFieldError(reference.path, why, is_until_read=True)
    return place.maps[name]


def _of_mount(mount: DocumentField, place: PodPlace, folders: Iterable[str]) -> Iterator[Found]:
    """Yield the configuration files of a mount; one that may hide some is not understood."""
    name, path = mount.child("name").text(), mount.child("mountPath").text()
    volumes = [each for each in place.volumes if each.child("name").text() == name]
    if len(volumes) != 1:
        raise mount.error(f"mounts {name}, which is no volume of the template")
    if mount.child("subPathExpr").text():
        raise mount.error("has a subPathExpr")
    part = mount.child("subPath").text()
    for source in (volumes[0], *volumes[0].child("projected", "sources").items()):
        if source.child("configMap").value is not None:
            yield from _files(source.child("configMap"), place, path, part)
    if not _is_read(volumes[0]) and _may_configure(path, folders):
        kinds = sorted(set(volumes[0].mapping()) - {"name"})
        why = f"mounts {kinds or 'a volume of no kind'} at {path}, where a configuration may be"
        raise UnclearFieldError(mount.path, why, value=[mount.value, volumes[0].value])


def _is_read(volume: DocumentField) -> bool:
    """Return whether all that a volume holds is read: ConfigMaps alone."""
    sources = list(volume.child("projected", "sources").items())
    kinds = {key for each in sources or [volume] for key in each.mapping()}
    return kinds <= {"name", "configMap"} and "configMap" in kinds


def _may_configure(path: str, folders: Iterable[str]) -> bool:
    parts = path.strip("/").split("/")
    is_named = parts[-1] in CONFIGURATION_FILES or any(map(_CONFIGURES.search, parts))
    inside = f"{path.rstrip('/')}/"
    around = [f"{each.rstrip('/')}/" for each in folders]
    return is_named or any(a.startswith(inside) or inside.startswith(a) for a in around)


def _files(source: DocumentField, place: PodPlace, path: str, part: str) -> Iterator[FoundOptions]:
    """Yield the configuration files of a ConfigMap, under the names that their mount gives them."""
    content = _config_map(source, place)
    targets = {item.child("key").text(): item.child("path").text() for item in _items(source)}
    for key in targets or content:
        if key not in content:
            raise source.error(f"names the key {key}, which is not there")
        target = targets.get(key, key)
        names = {key, target.rpartition("/")[2]}
        if target == part:
            names.add(path.rpartition("/")[2])
        for name in sorted(names & set(CONFIGURATION_FILES)):
            map_name = source.child("name").text()
            where = Origin(
                kind="ConfigMap", namespace=place.origin.namespace, name=map_name, field=key
            )
            yield FoundOptions(text_of_file(name, content[key]), where)


def _items(source: DocumentField) -> Iterator[DocumentField]:
    yield from source.child("items").items()


def text_of_file(name: str, text: str | None) -> Mapping[str, Any]:
    """Return the options of a configuration file in a ConfigMap.

    Raises:
        UnclearFieldError: It cannot be understood.

    """
    if text is None:
        raise UnclearFieldError(name, "is no text")
    return options_of_file(name, text)
