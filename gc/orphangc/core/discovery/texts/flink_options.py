"""Flink's options that name places, in every spelling, and the directories that they name.

Source: Flink 1.14-2.3, ``CheckpointingOptions``, ``HighAvailabilityOptions``,
``FsStateChangelogOptions``, ``ForStOptions``, ``StateRecoveryOptions``, ``RestOptions``,
``SecurityOptions``, ``KubernetesConfigOptions``; ``PipelineOptionsInternal``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from orphangc.core.discovery.discovered_facts import (
    DirectoryFact,
    DirectoryUse,
    Fact,
    Origin,
    PinFact,
    UnclearFact,
    digest_of,
)
from orphangc.core.discovery.texts.unread_options import (
    STATE_PREFIXES,
    STORAGE_OPTIONS,
    spelled,
    why_unread,
)
from orphangc.core.model.locations import Alias, Location, canonical
from orphangc.core.model.redaction import redacted

Options = Mapping[str, tuple[str, ...]]
"""Every value that any source of one resource gives an option, by dotted name."""

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
DEFAULT_SCHEME, ENTROPY_KEY = "fs.default-scheme", "s3.entropy.key"
TLS_OPTIONS = ("security.ssl.rest.enabled", "security.ssl.enabled")
"""Options of TLS in REST; the second one counts where the first is not set.

Source: Flink 1.14-2.3, ``SecurityOptions.isRestSSLEnabled``.
"""

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
        FIXED_JOB_ID,
        *TLS_OPTIONS,
        "rest.port",
        DEFAULT_SCHEME,
        ENTROPY_KEY,
        "kubernetes.cluster-id",
        "kubernetes.namespace",
    }
)
"""Options whose value must be one text, number or truth value."""
_NO_PLACES = re.compile(
    r"state\.backend\.rocksdb\.(?:localdir|checkpointdir|log\.dir)"
    r"|state\.backend\.forst\.(?:local-dir|cache\.dir|log\.dir)"
    r"|execution\.checkpointing\.local-backup\.dirs"
    r"|(?:high-availability|recovery)\.zookeeper\.path\..+"
)
"""Options that name local folders of one TaskManager, and nodes of ZooKeeper.

Source: Flink 1.14-2.3, ``RocksDBOptions``, ``ForStOptions``, ``RocksDBConfigurableOptions``,
``StateRecoveryOptions``, ``CheckpointingOptions``, ``HighAvailabilityOptions``.
"""
_SHORTCUTS = frozenset({"checkpoint-dir", "local", "local-dir"})
"""Values of ForSt's directory that name no place.

Source: Flink 2.0-2.3, ``ForStOptions``, ``ForStStateBackend``.
"""
_LIKE_A_PLACE = re.compile(
    r"(?:state|execution|savepoints|high-availability|recovery|dstl)\.(?!.*local).*(?:dir|path)"
)
"""Names of options that may be misspelled names of places."""
LAST_STATE = "KUBERNETES_OPERATOR_LAST_STATE"
"""What the operator writes for a path where a job restores by its HA metadata: it names no place.

Source: Flink Kubernetes operator 1.8-1.15, ``AbstractJobReconciler``, ``ApplicationReconciler``.
"""
_OF_CHECKPOINTS = frozenset({DirectoryUse.CHECKPOINTS, DirectoryUse.ARGUMENTS})
"""Uses of a directory whose checkpoints may refer to files of any storage root."""
_ENTROPY = "_entropy_"
_TEMPLATE = re.compile(rf"[${{}}<>*%#;,|\[\]\s\0\ud800-\udfff]|@[\w.\-]+@|{_ENTROPY}")
"""Characters at which a tool replaces a part of a path, or a release ends it, or no name has."""
_ENDPOINT = re.compile(
    r"(?:flink\.hadoop\.)?(?:s3|s3a|s3p|fs\.s3|fs\.s3a|presto\.s3)\.(?:bucket\.(?P<bucket>.+)\.)?endpoint"
)
"""Options that name an S3 store, for one bucket or for all."""
_WITH_BUCKET = frozenset({"s3", "gs", "oss", "cos", "obs"})
"""Schemes whose authority is a bucket, and nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How paths in configurations are read.

    Attributes:
        aliases: What paths mean here.
        is_local_here: Whether a local path is one of this machine: true of its own files, and not
            of a pod's.
        endpoints: Hosts of the S3 store that this process reaches; empty for AWS's own.
        rest: Template of the address of a REST service.
        options: Options of all sources of the resource that is read.

    """

    aliases: Sequence[Alias] = ()
    is_local_here: bool = False
    endpoints: frozenset[str] = frozenset()
    rest: str = "{scheme}://{name}-rest.{namespace}:{port}"
    options: Options = field(default_factory=dict)


def flat_options(content: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value of a nested configuration with its dotted name."""
    for key, value in content.items():
        name = f"{above}.{key}" if above else str(key)
        if isinstance(value, Mapping):
            yield from flat_options(value, name)
        else:
            yield name, value


def mistyped_options(content: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each option that is read, with its value, if that is no text, number or truth value.

    ``high-availability`` is both an option and, nested, the name around others.
    """
    for key, value in content.items():
        name = f"{above}.{key}" if above else str(key)
        is_around = isinstance(value, Mapping) and any(
            each.startswith(f"{name}.{key}") for each in _READ for key in value
        )
        is_read = name in _READ or _LIKE_A_PLACE.fullmatch(name) or _ENDPOINT.fullmatch(name)
        if is_read and not is_around and not isinstance(value, str | int | float | bool | None):
            yield name, value
        if isinstance(value, Mapping):
            yield from mistyped_options(value, name)


@dataclass(frozen=True, slots=True)
class FoundOptions:
    """A configuration, and its place: resource and field."""

    content: Mapping[str, Any]
    origin: Origin


def text_options(*contents: Mapping[str, Any]) -> Options:
    """Return the scalar values of configurations as texts, as Flink reads them."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in (each for content in contents for each in flat_options(content)):
        if isinstance(value, str | int | float | bool) and (text := spelled(value)):
            found[name] = tuple(dict.fromkeys((*found.get(name, ()), text)))
    return found


def joined(one: Options, other: Options) -> Options:
    """Return every value that either of two sources gives an option."""
    names = dict.fromkeys((*one, *other))
    return {
        name: tuple(dict.fromkeys((*one.get(name, ()), *other.get(name, ())))) for name in names
    }


def all_of(options: Options, *names: str) -> tuple[str, ...]:
    """Return every value of these options, in the order of the names."""
    return tuple(dict.fromkeys(value for name in names for value in options.get(name, ())))


def first_of(options: Options, *names: str) -> str:
    """Return the first value of these options, "" if none is set."""
    return next(iter(all_of(options, *names)), "")


def scheme_of_rest(options: Options) -> str:
    """Return the scheme of a cluster's REST address."""
    return "https" if first_of(options, *TLS_OPTIONS).lower() == "true" else "http"


def port_of_rest(options: Options) -> str:
    """Return the port of a cluster's REST address (``RestOptions.PORT``)."""
    return first_of(options, "rest.port") or "8081"


def is_read_as_state(name: str) -> bool:
    """Return whether an option is one of state, which is read or not understood as such."""
    return name in _READ or name.startswith(STATE_PREFIXES)


def keeps_no_files(options: Options) -> bool:
    """Return whether every source that names a storage of checkpoints names the memory."""
    return {each.lower() for each in all_of(options, *STORAGE_OPTIONS)} == {"jobmanager"}


def option_facts(found: FoundOptions, reading: Reading) -> Iterator[Fact]:
    """Yield the directories and pins of a configuration, and its options that are not understood.

    Args:
        found: The configuration, flat or nested.
        reading: How its paths are read.

    """
    content, origin = found.content, found.origin
    for name, value in mistyped_options(content):
        yield UnclearFact(
            why=f"{name} is no text",
            is_everywhere=True,
            use=DIRECTORY_OPTIONS.get(name),
            digest=digest_of(value),
            origin=origin.below(name),
        )
    for name, value in flat_options(content):
        where = origin.below(name)
        if (unread := why_unread(name, value)) is not None:
            why = f"{name} {unread}"
            digest = digest_of(value)
            yield UnclearFact(why=why, is_everywhere=True, digest=digest, origin=where)
        if name in _PLACES:
            place = _place(name, value, where, reading)
            yield from () if place is None else (place,)
        elif (problem := _misspelled(name, value)) is not None:
            yield _unclear(problem, str(value), where, reading)
    yield from _sub_directory(content, origin, reading)


def _place(name: str, value: Any, where: Origin, reading: Reading) -> Fact | None:
    """Return the place in an option, or why it names none that is known; ``None`` if it is empty.

    Args:
        name: Name of the option.
        value: Its value.
        where: Place of the option.
        reading: How paths are read.

    """
    use = DIRECTORY_OPTIONS.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        digest = digest_of(value)
        return UnclearFact(
            why="is no text", is_everywhere=True, use=use, digest=digest, origin=where
        )
    if use is DirectoryUse.FORST and value.strip().lower() in _SHORTCUTS:
        return None
    if use is not None:
        return directory_fact(value.strip(), use, where, reading)
    return next(pinned(value.strip(), where, reading), None)


def pinned(value: str, where: Origin, reading: Reading) -> Iterator[PinFact | UnclearFact]:
    """Yield the checkpoint or savepoint that a path names, or why it names none that is known."""
    if value == LAST_STATE:
        return
    found = understood(value, where, reading)
    if isinstance(found, UnclearFact):
        yield found
    else:
        place = found.parent if found.name == "_metadata" else found
        yield PinFact(uri=str(place), origin=where)


def directory_fact(
    value: str, use: DirectoryUse, where: Origin, reading: Reading
) -> DirectoryFact | UnclearFact:
    """Return the directory that a path names, or why it names none that is known here.

    A directory of checkpoints that cannot be searched blocks every storage root: its checkpoints
    may refer to files of any of them.
    """
    found = understood(value, where, reading)
    if not isinstance(found, UnclearFact):
        return DirectoryFact(uri=str(found), use=use, origin=where)
    wide = {"reach": (), "is_everywhere": True} if use in _OF_CHECKPOINTS else {}
    return found.model_copy(update={"use": use, **wide})


def understood(value: str, where: Origin, reading: Reading) -> Location | UnclearFact:
    """Return the place that a path names, or why it names none that is known here.

    A path without a scheme is one of Flink's default file system, which ``fs.default-scheme`` may
    choose, also in the operator's defaults.
    """
    shown, defaults = redacted(value), all_of(reading.options, DEFAULT_SCHEME)
    if value.startswith("/") and len(defaults) > 1:
        why = f"{shown} is in one of several default file systems"
        return UnclearFact(why=why, is_everywhere=True, origin=where)
    if value.startswith("/") and defaults:
        value = defaults[0].rstrip("/") + value
    for key in all_of(reading.options, ENTROPY_KEY):
        value = value.replace(key, _ENTROPY)
    if _TEMPLATE.search(value):
        return _unclear("is a template; only its beginning is known", value, where, reading)
    try:
        place, here = canonical(value), canonical(value, reading.aliases)
    except ValueError:
        why = f"{shown!r} is neither an absolute path nor a URI"
        return UnclearFact(why=why, is_everywhere=True, origin=where)
    if (problem := _authority_problem(place)) is not None:
        return UnclearFact(why=f"{shown} {problem}", is_everywhere=True, origin=where)
    if (problem := _unknown_here(place, here, reading)) is not None:
        is_anywhere = value.startswith("/") or not (place.authority or place.scheme == "file")
        reach = () if is_anywhere else meant_by(place, reading.aliases)
        why = f"{shown} {problem}"
        return UnclearFact(why=why, reach=reach, is_everywhere=is_anywhere, origin=where)
    return here


def _unknown_here(place: Location, here: Location, reading: Reading) -> str | None:
    """Return why a place in a configuration may mean another one here, ``None`` if it does not."""
    is_local = place.scheme == "file"
    is_stated = any(each.source.contains(place) for each in reading.aliases)
    if not is_stated and (not reading.is_local_here if is_local else not place.authority):
        return "is a path inside its pods: say with discovery.alias what it means here"
    other = (each for each in _endpoints(here, reading) if not _is_same_store(each, reading))
    endpoint = next(other, None)
    if endpoint is None:
        return None
    return (
        f"is in the S3 store {redacted(endpoint)}, and this process reaches another: name it in"
        " discovery.s3_endpoints if both are one"
    )


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


def _authority_problem(place: Location) -> str | None:
    """Return why the authority of a place cannot be the name of a bucket or a service."""
    user = place.authority.rpartition("@")[0]
    if ":" in user or redacted(str(place)) != str(place):
        return "holds a password"
    if place.scheme in _WITH_BUCKET and (user or not place.authority):
        return "names no bucket, or a user before it"
    return None


def _endpoints(place: Location, reading: Reading) -> Iterator[str]:
    """Yield the S3 endpoints that options name for a place, for its bucket or for all."""
    for name, values in reading.options.items() if place.scheme == "s3" else ():
        match = _ENDPOINT.fullmatch(name)
        if match and match["bucket"] in {None, place.authority}:
            yield from values


def _is_same_store(endpoint: str, reading: Reading) -> bool:
    host, known = host_of(endpoint), reading.endpoints
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
    has_bucket = place.scheme == "file" or (
        bool(place.authority) and _authority_problem(place) is None
    )
    return place if has_bucket and "://" in value else None


def is_in_some_bucket(uri: str) -> bool:
    """Return whether a URI, whatever else it holds, is of a scheme that has buckets."""
    return canonical(f"{uri.partition(':')[0]}://x/").scheme in _WITH_BUCKET


def _unclear(problem: str, value: str, where: Origin, reading: Reading) -> UnclearFact:
    prefix = literal_prefix(value)
    return UnclearFact(
        why=f"{where.field.rpartition('.')[2]} {redacted(value)!r} {problem}",
        reach=() if prefix is None else meant_by(prefix, reading.aliases),
        is_everywhere=prefix is None,
        digest=digest_of(value),
        origin=where,
    )


def _misspelled(name: str, value: Any) -> str | None:
    """Return why an unknown option may name a place of state."""
    if name in _READ:
        return None
    if _folded(name) in {_folded(each) for each in _PLACES}:
        return "stands under an option that Flink does not know: it is spelled otherwise"
    if not name.startswith(STATE_PREFIXES) or _NO_PLACES.fullmatch(name):
        return None
    if isinstance(value, str) and value and ("/" in value or _LIKE_A_PLACE.fullmatch(name)):
        return "stands under an option that Flink is not known to have, and may be a place"
    return None


def _folded(name: str) -> str:
    return re.sub(r"[-_.]", "", name.lower())


def _sub_directory(content: Mapping[str, Any], origin: Origin, reading: Reading) -> Iterator[Fact]:
    for name in SUBDIRECTORY_OPTIONS:
        if any(each.lower() != "true" for each in text_options(content).get(name, ())):
            roots = all_of(reading.options, *DIRECTORY_OPTIONS)
            places = [prefix for each in roots if (prefix := literal_prefix(each))]
            known = [uri for each in places for uri in meant_by(each, reading.aliases)]
            yield UnclearFact(
                why=f"{name} is false: its checkpoints lie in no job directory; configure this"
                " storage root by hand, with owner",
                reach=tuple(known),
                is_everywhere=not known or len(places) < len(roots),
                digest=digest_of(roots),
                origin=origin.below(name),
            )
