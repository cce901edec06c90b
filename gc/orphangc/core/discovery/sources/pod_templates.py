"""Pod templates of JobManagers, read by what is known to bring configuration, and by nothing else.

Each environment, mount and command that could bring configuration is either read as a whole or not
understood; what cannot bring any is named here (``_HARMLESS_KEYS``, mounts away from the folder of
the configuration, sidecars with another image).

Source: Kubernetes 1.20-1.34, ``PodSpec``; Flink 1.14-2.3, entry point of the official image.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orphangc.core.discovery.discovered_facts import Origin, UnclearFact, digest_of
from orphangc.core.discovery.texts.command_lines import REFERENCE, CommandLine, command_line
from orphangc.core.discovery.texts.configuration_texts import (
    CONFIGURATION_FILES,
    options_of_file,
    options_of_lines,
)
from orphangc.core.discovery.texts.flink_options import FoundOptions
from orphangc.core.discovery.texts.job_arguments import FoundArguments
from orphangc.core.discovery.texts.mounted_files import words_of_file
from orphangc.core.discovery.texts.strict_fields import (
    DocumentField,
    UnclearFieldError,
    attempted,
    guarded,
)

ConfigMaps = Mapping[str, Mapping[str, str | None]]
"""Texts of each readable ConfigMap of one namespace, by its name; ``None`` for bytes."""

PROPERTIES, _FOLDER, _HOME = "FLINK_PROPERTIES", "FLINK_CONF_DIR", "FLINK_HOME"
_ENDPOINTS = frozenset({"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"})
"""Variables that name the S3 store, as the option ``s3.endpoint`` does."""
_OTHER_IMAGE = "FLINK_CFG_"
"""Beginning of variables by which another maker's image of Flink is configured."""
_USUAL_FOLDER = "/opt/flink/conf"
_OWN_IMAGE = re.compile(
    r"(?:docker\.io/)?(?:library/|apache/)?flink(?::[\w.\-]+)?(?:@sha256:[0-9a-f]+)?"
)
"""Images of Flink's own, whose configuration names no place."""
_MAIN_CONTAINER = "flink-main-container"
"""Name of the container in the operator's pod templates that Flink completes.

One without a name may be merged with it: the operator merges two templates by position.
"""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variables:
    """Environment of a container.

    Attributes:
        container: The container.
        values: Values by name, ``None`` if one is not known.
        harmless: Names of those that can hold no option, though their values are not known.
        hidden: Prefixes of further names that a Secret may give.

    """

    container: DocumentField
    values: Mapping[str, str | None]
    harmless: frozenset[str]
    hidden: frozenset[str]

    @property
    def known(self) -> dict[str, str]:
        """Return the values that are known."""
        return {name: value for name, value in self.values.items() if value is not None}

    def value(self, name: str) -> str:
        """Return the value of a variable, "" if none is set.

        Raises:
            UnclearFieldError: It is not known.

        """
        if name not in self.values and _may_be_hidden(name, self.hidden):
            why = f"takes a Secret as a whole, which may give {name}: give {name} itself, if empty"
            raise self.container.child("envFrom").error(why)
        value = self.values.get(name, "")
        if value is None:
            raise self.container.child("env").error(f"gives {name} from what is not readable")
        return value


def _may_be_hidden(name: str, prefixes: Iterable[str]) -> bool:
    return any(name.startswith(each) for each in prefixes)


Found = FoundOptions | FoundArguments | DocumentField | UnclearFact
"""A configuration, words that a job reads, a checkpoint or savepoint to start from, or what is not
understood."""


def pod_sources(place: PodPlace) -> Iterator[Found]:
    """Yield every configuration of a pod template, and what of it is not understood."""
    yield from guarded(place.origin, _containers(place))


def _containers(place: PodPlace) -> Iterator[Found]:
    containers = list(place.pod.child("containers").items())
    if place.is_completed:
        main = [each for each in containers if each.child("name").text() in {_MAIN_CONTAINER, ""}]
        for each in main:
            yield from guarded(place.origin, _of_container(each, place, None))
        return
    lines = [(each, _line_of(each, place)) for each in containers]
    understood = [(each, line) for each, line in lines if isinstance(line, CommandLine)]
    starting = [(each, line) for each, line in understood if line.starts_job_manager]
    images = {each.child("image").text() for each, _ in starting}
    if not starting and len(understood) == len(lines):
        raise place.pod.child("containers").error("start no JobManager")
    for container, line in lines:
        is_beside = images and container.child("image").text() not in images
        if isinstance(line, UnclearFact) and not is_beside:
            yield line
    for container, command in starting:
        yield from guarded(place.origin, _of_container(container, place, command))


def _line_of(container: DocumentField, place: PodPlace) -> CommandLine | UnclearFact:
    """Return the command line of a container, or why it is not understood."""
    try:
        variables = _variables(container, place)
        words = [e.text() for name in ("command", "args") for e in container.child(name).items()]
    except UnclearFieldError as err:
        return err.fact(place.origin, hint=_HINT)
    try:
        return command_line(words, variables.known, variables.harmless)
    except UnclearFieldError as err:
        said = UnclearFieldError(f"{container.path}.args", str(err), value=words)
        return said.fact(place.origin, hint=_HINT)


def _of_container(
    container: DocumentField, place: PodPlace, line: CommandLine | None
) -> Iterator[Found]:
    """Yield what one container is configured by; ``line`` is ``None`` where Flink writes it."""
    variables, origin = _variables(container, place), place.origin
    for part in (_strange_fields, _strange_hooks, _strange_variables):
        yield from guarded(origin, part(variables))
    yield from guarded(origin, _properties(variables, place))
    yield from guarded(origin, _endpoints_of(variables, place))
    for name, value in variables.values.items():
        where = origin.of(f"{container.path}.env.{name}")
        text = f"${{{name}}}" if value is None else value
        yield FoundArguments([f"{name}={text}"] if name != PROPERTIES else [], where)
    if line is not None:
        yield FoundOptions(line.settings, place.origin.of(f"{container.path}.args"))
        yield from (DocumentField(each, f"{container.path}.args") for each in line.restored)
        yield FoundArguments(line.arguments, place.origin.of(f"{container.path}.args"))
    folder, unknown = attempted(origin, lambda: variables.value(_FOLDER))
    yield from unknown
    folders = {folder, *(line.folders if line else ())}
    if home := variables.known.get(_HOME):
        folders.add(f"{home}/conf")
    named = {each.rstrip("/") for each in folders} - {"", _USUAL_FOLDER}
    yield from _of_image(container, place, named)
    for mount in container.child("volumeMounts").items():
        yield from guarded(place.origin, _of_mount(mount, place, {_USUAL_FOLDER, *named}))


def _of_image(
    container: DocumentField, place: PodPlace, named: Collection[str]
) -> Iterator[UnclearFact]:
    """Yield that an image may hold a configuration, unless it is Flink's own, or it is hidden.

    The operator mounts a configuration over the usual folder; over any other one that variables or
    arguments name, only the template does.
    """
    image, used = container.child("image"), set(named) or {_USUAL_FOLDER}
    hidden = {
        each.child("mountPath").text().rstrip("/")
        for each in container.child("volumeMounts").items()
        if not each.child("subPath").text()
    }
    is_flinks = bool(_OWN_IMAGE.fullmatch(image.text())) and not place.is_completed
    is_mounted = used <= hidden or (place.is_completed and not named)
    if not is_mounted and not is_flinks:
        folder, name = min(used - hidden), image.text()[:80] or "(that of the spec)"
        yield UnclearFact(
            why=f"may have a configuration in its image {name}: let its REST service"
            f" show it, or mount a ConfigMap over {folder}",
            is_everywhere=True,
            is_until_read=True,
            is_until_shown=True,
            source=f"image {image.text()}",
            digest=digest_of(image.text()),
            origin=place.origin.of(f"{container.path}.image"),
        )


def _strange_fields(variables: _Variables) -> Iterator[Found]:
    unknown = sorted(set(variables.container.mapping()) - _HARMLESS_KEYS)
    if unknown:
        raise UnclearFieldError(variables.container.path, f"has {unknown}", value=unknown)
    yield from ()


def _strange_hooks(variables: _Variables) -> Iterator[Found]:
    lifecycle = variables.container.child("lifecycle")
    if lifecycle.child("postStart").value is not None:
        raise lifecycle.error("has a postStart hook")
    yield from ()


def _strange_variables(variables: _Variables) -> Iterator[Found]:
    if foreign := [each for each in sorted(variables.values) if each.startswith(_OTHER_IMAGE)]:
        why = f"gives {foreign[0]}, a variable of another image than Flink's own"
        raise variables.container.child("env").error(why)
    yield from ()


def _properties(variables: _Variables, place: PodPlace) -> Iterator[Found]:
    if text := variables.value(PROPERTIES):
        where = place.origin.of(f"{variables.container.path}.env.{PROPERTIES}")
        yield FoundOptions(options_of_lines(PROPERTIES, text), where)


def _endpoints_of(variables: _Variables, place: PodPlace) -> Iterator[FoundOptions]:
    """Yield the S3 stores that variables name, as the option that names one."""
    for name in sorted(_ENDPOINTS & set(variables.values)):
        where = place.origin.of(f"{variables.container.path}.env.{name}")
        yield FoundOptions({"s3.endpoint": variables.value(name)}, where)


def _variables(container: DocumentField, place: PodPlace) -> _Variables:
    """Return the environment; a later entry wins, and each may refer to earlier ones."""
    common: dict[str, str | None] = {}
    hidden: set[str] = set()
    for source in container.child("envFrom").items():
        prefix, reference = source.child("prefix").text(), source.child("configMapRef")
        if reference.value is None:
            hidden.add(prefix)
        else:
            content = _config_map(reference, place)
            common |= {f"{prefix}{key}": text for key, text in content.items()}
    values = {n: None if _may_be_hidden(n, hidden) else value for n, value in common.items()}
    fields: dict[str, str] = {}
    for variable in container.child("env").items():
        name = variable.child("name").text()
        values[name] = _value(variable, values, place)
        fields[name] = variable.child("valueFrom", "fieldRef", "fieldPath").text()
    return _Variables(
        container=container,
        values=values,
        harmless=frozenset(name for name, path in fields.items() if _FIELDS.fullmatch(path)),
        hidden=frozenset(hidden),
    )


def _value(
    variable: DocumentField, earlier: Mapping[str, str | None], place: PodPlace
) -> str | None:
    """Return the value of one variable, ``None`` if it is not known."""
    reference = variable.child("valueFrom", "configMapKeyRef")
    if reference.value is not None:
        return _config_map(reference, place).get(reference.child("key").text())
    if variable.child("valueFrom").value is not None:
        return None
    text = variable.child("value").text()
    values = {name: earlier.get(name) for name in REFERENCE.findall(text)}
    if "$$" in text or None in values.values():
        return None
    return REFERENCE.sub(lambda match: values[match[1]] or "", text)


def _config_map(reference: DocumentField, place: PodPlace) -> Mapping[str, str | None]:
    name = reference.child("name").text()
    if name not in place.maps:
        why = f"is the ConfigMap {name}, which is not readable"
        source = f"ConfigMap/{name}"
        raise UnclearFieldError(reference.path, why, is_until_read=True, source=source)
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


def _files(source: DocumentField, place: PodPlace, path: str, part: str) -> Iterator[Found]:
    """Yield the files of a ConfigMap, under the names that their mount gives them.

    Flink reads its configuration files; the job's code may read any other one.
    """
    content = _config_map(source, place)
    items = source.child("items").items()
    targets = {item.child("key").text(): item.child("path").text() for item in items}
    for key in targets or content:
        if key not in content:
            raise source.error(f"names the key {key}, which is not there")
        target = targets.get(key, key)
        names = {key, target.rpartition("/")[2]}
        if target == part:
            names.add(path.rpartition("/")[2])
        map_name, space = source.child("name").text(), place.origin.namespace
        where = Origin(kind="ConfigMap", namespace=space, name=map_name, field=key)
        configurations = sorted(names & set(CONFIGURATION_FILES))
        for name in configurations:
            yield FoundOptions(text_of_file(name, content[key]), where)
        if not configurations:
            yield from words_of_file(key, content[key] or "", where)


def text_of_file(name: str, text: str | None) -> Mapping[str, Any]:
    """Return the options of a configuration file in a ConfigMap.

    Raises:
        UnclearFieldError: It cannot be understood.

    """
    if text is None:
        raise UnclearFieldError(name, "is no text")
    return options_of_file(name, text)
