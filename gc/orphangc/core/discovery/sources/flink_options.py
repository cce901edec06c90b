"""Flink's options that name places, in every spelling, and the directories that they name.

Source: Flink 1.14-2.3, ``CheckpointingOptions``, ``HighAvailabilityOptions``,
``FsStateChangelogOptions``, ``ForStOptions``, ``StateRecoveryOptions``, ``RestOptions``,
``SecurityOptions``, ``KubernetesConfigOptions``; ``PipelineOptionsInternal``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from orphangc.core.discovery.discovered_facts import (
    DirectoryFact,
    DirectoryUse,
    Fact,
    Origin,
    PinFact,
    UnclearFact,
)
from orphangc.core.model.locations import Alias, Location, canonical
from orphangc.core.model.redaction import redacted

Options = Mapping[str, str]
"""Values by dotted name."""

DIRECTORY_OPTIONS: Mapping[str, DirectoryUse] = {
    "execution.checkpointing.dir": DirectoryUse.CHECKPOINTS,
    "state.checkpoints.dir": DirectoryUse.CHECKPOINTS,
    "state.backend.fs.checkpointdir": DirectoryUse.CHECKPOINTS,
    "execution.checkpointing.savepoint-dir": DirectoryUse.SAVEPOINTS,
    "state.savepoints.dir": DirectoryUse.SAVEPOINTS,
    "savepoints.state.backend.fs.dir": DirectoryUse.SAVEPOINTS,
    "high-availability.storageDir": DirectoryUse.HA,
    "high-availability.zookeeper.storageDir": DirectoryUse.HA,
    "recovery.zookeeper.storageDir": DirectoryUse.HA,
    "job-result-store.storage-path": DirectoryUse.HA,
    "state.changelog.dstl.dfs.base-path": DirectoryUse.CHANGELOG,
    "dstl.dfs.base-path": DirectoryUse.CHANGELOG,
    "state.backend.forst.primary-dir": DirectoryUse.FORST,
    "state.backend.forst.remote-dir": DirectoryUse.FORST,
}
"""Use by option; all spellings of one option that are set count, for a reader cannot know which
of them the running version prefers."""

PIN_OPTIONS = ("execution.state-recovery.path", "execution.savepoint.path")
STORAGE_OPTIONS = ("execution.checkpointing.storage", "state.checkpoint-storage")
SUBDIRECTORY_OPTIONS = ("execution.checkpointing.create-subdir", "state.checkpoints.create-subdir")
HA_TYPE_OPTIONS = ("high-availability.type", "high-availability", "recovery.mode")
CLUSTER_ID_OPTIONS = (
    "high-availability.cluster-id",
    "high-availability.zookeeper.path.namespace",
    "recovery.zookeeper.path.namespace",
)
ZOOKEEPER_ROOT_OPTIONS = ("high-availability.zookeeper.path.root", "recovery.zookeeper.path.root")
ZOOKEEPER_OPTIONS = ("high-availability.zookeeper.quorum", "recovery.zookeeper.quorum")
FIXED_JOB_ID = "$internal.pipeline.job-id"
REST_SSL = "security.ssl.rest.enabled"
ENDPOINT_OPTIONS = ("s3.endpoint", "s3a.endpoint", "fs.s3a.endpoint", "presto.s3.endpoint")

_PLACES = frozenset({*DIRECTORY_OPTIONS, *PIN_OPTIONS})
_READ = frozenset(
    {
        *_PLACES,
        *STORAGE_OPTIONS,
        *SUBDIRECTORY_OPTIONS,
        *HA_TYPE_OPTIONS,
        *CLUSTER_ID_OPTIONS,
        *ZOOKEEPER_ROOT_OPTIONS,
        *ZOOKEEPER_OPTIONS,
        *ENDPOINT_OPTIONS,
        FIXED_JOB_ID,
        REST_SSL,
        "rest.port",
        "fs.default-scheme",
        "kubernetes.cluster-id",
        "kubernetes.namespace",
    }
)
"""Options whose value must be one text, number or truth value."""
_KNOWN = frozenset({*_PLACES, *HA_TYPE_OPTIONS, *CLUSTER_ID_OPTIONS, *ZOOKEEPER_ROOT_OPTIONS})
_STATE_PREFIXES = ("state.", "execution.", "savepoints.", "high-availability", "recovery.", "dstl.")
_SHORTCUTS = frozenset({"checkpoint-dir", "local"})
"""Values of ForSt's directory that name no place.

Source: Flink 2.0-2.3, ``ForStOptions``, ``ForStStateBackend``.
"""
_LIKE_A_PLACE = re.compile(
    r"(?:state|execution|savepoints|high-availability|recovery|dstl)\.(?!.*local).*(?:dir|path)"
)
"""Names of options that may be misspelled names of places."""
_TEMPLATE = re.compile(r"[${}<>*%]|_entropy_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How paths in configurations are read.

    Attributes:
        aliases: What paths mean here.
        is_local_here: Whether a local path is one of this machine: true of its own files, and not
            of a pod's.
        endpoints: Hosts of the S3 store that this process reaches; empty for AWS's own.
        rest: Template of the address of a REST service.

    """

    aliases: Sequence[Alias] = ()
    is_local_here: bool = False
    endpoints: frozenset[str] = frozenset()
    rest: str = "{scheme}://{name}-rest.{namespace}:{port}"


def flat_options(content: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value of a nested configuration with its dotted name."""
    for key, value in content.items():
        name = f"{above}.{key}" if above else str(key)
        if isinstance(value, Mapping):
            yield from flat_options(value, name)
        else:
            yield name, value


def mistyped_options(content: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Yield each option that is read and whose value is neither text, number nor truth value.

    ``high-availability`` is both an option and, nested, the name around others.
    """
    for key, value in content.items():
        name = f"{above}.{key}" if above else str(key)
        is_around = isinstance(value, Mapping) and any(
            each.startswith(f"{name}.{key}") for each in _READ for key in value
        )
        is_read = name in _READ or _LIKE_A_PLACE.fullmatch(name)
        if is_read and not is_around and not isinstance(value, str | int | float | bool | None):
            yield name
        if isinstance(value, Mapping):
            yield from mistyped_options(value, name)


def text_options(content: Mapping[str, Any]) -> Options:
    """Return the scalar values of a configuration as texts, as Flink reads them."""
    return {
        name: _spelled(value)
        for name, value in flat_options(content)
        if isinstance(value, str | int | float | bool)
    }


def _spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def first_of(options: Options, names: Sequence[str]) -> str:
    """Return the value of the first of these options that is set, "" if none is."""
    return next((options[name] for name in names if options.get(name)), "")


def option_facts(
    content: Mapping[str, Any], origin: Origin, reading: Reading, *, field: str
) -> Iterator[Fact]:
    """Yield the directories and pins of a configuration, and its options that are not understood.

    Args:
        content: The configuration, flat or nested.
        origin: The resource or file.
        reading: How its paths are read.
        field: Field of the resource that holds the configuration, "" for a file.

    """
    options = text_options(content)
    for name in mistyped_options(content):
        where = origin.of(f"{field}.{name}".lstrip("."))
        yield UnclearFact(why=f"{name} is no text", is_everywhere=True, origin=where)
    for name, value in flat_options(content):
        where = origin.of(f"{field}.{name}".lstrip("."))
        if name in _PLACES:
            yield from _place(value, where, reading, options)
        elif (problem := _misspelled(name, value)) is not None:
            yield _unclear(problem, str(value), where, reading)
    yield from _sub_directory(options, origin, field, reading)


def _place(value: Any, where: Origin, reading: Reading, options: Options) -> Iterator[Fact]:
    """Yield the place in an option; ``where`` ends with its name."""
    if value is None or value == "":
        return
    if not isinstance(value, str):
        yield UnclearFact(why="is no text", is_everywhere=True, origin=where)
        return
    ends = (each for each in DIRECTORY_OPTIONS if where.field.endswith(each))
    use = DIRECTORY_OPTIONS.get(max(ends, key=len, default=""))
    if use is DirectoryUse.FORST and value.strip().lower() in _SHORTCUTS:
        return
    found = understood(value.strip(), where, reading, options)
    if isinstance(found, UnclearFact):
        yield found
    elif use is None:
        yield PinFact(uri=str(found), origin=where)
    else:
        yield DirectoryFact(uri=str(found), use=use, origin=where)


def understood(
    value: str, where: Origin, reading: Reading, options: Options
) -> Location | UnclearFact:
    """Return the place that a path names, or why it names none that is known here.

    A path without a scheme is one of Flink's default file system, which ``fs.default-scheme`` may
    choose, also in the operator's defaults.
    """
    shown, default = redacted(value), options.get("fs.default-scheme", "")
    if _TEMPLATE.search(value):
        return _unclear("is a template; only its beginning is known", value, where, reading)
    if value.startswith("/") and default:
        value = default.rstrip("/") + value
    try:
        place, own = canonical(value, reading.aliases), canonical(value)
    except ValueError:
        why = f"{shown!r} is neither an absolute path nor a URI"
        return UnclearFact(why=why, is_everywhere=True, origin=where)
    if ":" in place.authority.rpartition("@")[0]:
        return UnclearFact(why=f"{shown} holds a password", is_everywhere=True, origin=where)
    is_stated = reading.is_local_here or any(a.source.contains(own) for a in reading.aliases)
    if place.scheme == "file" and not is_stated:
        why = f"{shown} is a path inside its pods: say with discovery.alias what it means here"
        is_anywhere = value.startswith("/")
        reach = () if is_anywhere else meant_by(place, reading.aliases)
        return UnclearFact(why=why, reach=reach, is_everywhere=is_anywhere, origin=where)
    endpoint = first_of(options, ENDPOINT_OPTIONS)
    if place.scheme == "s3" and not _is_same_store(endpoint, reading.endpoints):
        why = (
            f"{shown} is in the S3 store {redacted(endpoint)}, and this process reaches another:"
            " name it in discovery.s3_endpoints if both are one"
        )
        return UnclearFact(why=why, reach=meant_by(place, reading.aliases), origin=where)
    return place


def meant_by(place: Location, aliases: Sequence[Alias]) -> tuple[str, ...]:
    """Return every place here that a path at or below ``place`` may mean, with each alias."""
    found = [str(place)]
    for alias in aliases:
        key = alias.source.key_of(place)
        if key is not None:
            found.append(str(alias.target.child(key)))
        elif place.contains(alias.source):
            found.append(str(alias.target))
    return tuple(dict.fromkeys(found))


def _is_same_store(endpoint: str, known: frozenset[str]) -> bool:
    if not endpoint:
        return True
    host = host_of(endpoint)
    return host in known or (not known and host.partition(":")[0].endswith(".amazonaws.com"))


def host_of(endpoint: str) -> str:
    """Return host and port of an endpoint, which may be spelled with or without a scheme.

    Return "" for what is no address.
    """
    try:
        return urlsplit(endpoint if "://" in endpoint else f"//{endpoint}").netloc.lower()
    except ValueError:
        return ""


def literal_prefix(value: str) -> Location | None:
    """Return the folder around every path of a template, ``None`` if any place may be meant.

    A path that is no template is that folder itself.
    """
    match = _TEMPLATE.search(value)
    folder = value[: match.start()].rpartition("/")[0] if match else value
    try:
        place = canonical(folder)
    except ValueError:
        return None
    has_bucket = place.scheme == "file" or bool(place.authority)
    return place if has_bucket and "://" in value else None


def _unclear(problem: str, value: str, where: Origin, reading: Reading) -> UnclearFact:
    prefix = literal_prefix(value)
    return UnclearFact(
        why=f"{where.field.rpartition('.')[2]} {redacted(value)!r} {problem}",
        reach=() if prefix is None else meant_by(prefix, reading.aliases),
        is_everywhere=prefix is None,
        origin=where,
    )


def _misspelled(name: str, value: Any) -> str | None:
    """Return why an unknown option may name a place of state."""
    if name in _KNOWN:
        return None
    if _folded(name) in {_folded(each) for each in _PLACES}:
        return "stands under an option that Flink does not know: it is spelled otherwise"
    if name.startswith(_STATE_PREFIXES) and isinstance(value, str) and "://" in value:
        return "stands under an option that is not known to name a place"
    return None


def _folded(name: str) -> str:
    return re.sub(r"[-_.]", "", name.lower())


def _sub_directory(
    options: Options, origin: Origin, field: str, reading: Reading
) -> Iterator[Fact]:
    for name in SUBDIRECTORY_OPTIONS:
        if options.get(name) == "false":
            roots = [options[each] for each in DIRECTORY_OPTIONS if options.get(each)]
            places = [prefix for each in roots if (prefix := literal_prefix(each))]
            known = [uri for each in places for uri in meant_by(each, reading.aliases)]
            yield UnclearFact(
                why=f"{name} is false: its checkpoints lie in no job directory; configure this"
                " storage root by hand, with owner",
                reach=tuple(known),
                is_everywhere=not known,
                origin=origin.of(f"{field}.{name}".lstrip(".")),
            )
