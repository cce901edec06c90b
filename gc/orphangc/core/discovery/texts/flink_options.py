"""Flink's options that name places, in every spelling, and the directories that they name.

Source: Flink 1.14-2.3, ``CheckpointingOptions``, ``HighAvailabilityOptions``,
``FsStateChangelogOptions``, ``ForStOptions``, ``StateRecoveryOptions``, ``RestOptions``,
``SecurityOptions``, ``KubernetesConfigOptions``, ``StateBackendLoader``;
``PipelineOptionsInternal``.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flinkstate.places.locations import UNREADABLE, Alias, Location, StoreKind, named_place
from flinkstate.text.redaction import redacted
from orphangc.core.cluster.place_options import (
    CHANGELOG_OPTIONS,
    CHECKPOINT_OPTIONS,
    CLUSTER_ID_OPTIONS,
    DEFAULT_SCHEME,
    FORST_OPTIONS,
    HA_OPTIONS,
    HA_TYPE_OPTIONS,
    NO_PLACES,
    RESTORE_OPTIONS,
    SAVEPOINT_OPTIONS,
    ZOOKEEPER_ROOT_OPTIONS,
    is_path,
    with_file_system,
)
from orphangc.core.discovery.discovered_facts import (
    DirectoryFact,
    DirectoryUse,
    DiscoveredFact,
    Origin,
    PinFact,
    UnclearFact,
    digest_of,
)
from orphangc.core.world.store_servers import host_of, server_at

_Scalar = str | int | float | bool | None
Options = Mapping[str, tuple[str, ...]]
"""Every value that any source of one resource gives an option, by dotted name."""

DIRECTORY_OPTIONS: Mapping[str, DirectoryUse] = {
    **dict.fromkeys(CHECKPOINT_OPTIONS, DirectoryUse.CHECKPOINTS),
    **dict.fromkeys(SAVEPOINT_OPTIONS, DirectoryUse.SAVEPOINTS),
    **dict.fromkeys(HA_OPTIONS, DirectoryUse.HA),
    **dict.fromkeys(CHANGELOG_OPTIONS, DirectoryUse.CHANGELOG),
    **dict.fromkeys(FORST_OPTIONS, DirectoryUse.FORST),
}
"""Use by option."""

_SUBDIRECTORY_OPTIONS = ("execution.checkpointing.create-subdir", "state.checkpoints.create-subdir")
ZOOKEEPER_OPTIONS = ("high-availability.zookeeper.quorum", "recovery.zookeeper.quorum")
FIXED_JOB_ID = "$internal.pipeline.job-id"
ENTROPY_KEY = "s3.entropy.key"
TLS_OPTIONS = ("security.ssl.rest.enabled", "security.ssl.enabled")
"""Options of TLS in REST; the second one counts where the first is not set.

Source: Flink 1.14-2.3, ``SecurityOptions.isRestSSLEnabled``.
"""

_STORAGE_OPTIONS = ("execution.checkpointing.storage", "state.checkpoint-storage")
_STATE_PREFIXES = (
    *("state.", "execution.", "savepoints.", "high-availability", "recovery.", "dstl."),
    "job-result-store.",
)
_PLACES = frozenset({*DIRECTORY_OPTIONS, *RESTORE_OPTIONS})
_READ = frozenset(
    {
        *_PLACES,
        *_STORAGE_OPTIONS,
        *_SUBDIRECTORY_OPTIONS,
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
_AROUND = frozenset(
    name.rsplit(".", depth)[0] for name in _READ for depth in range(1, name.count(".") + 1)
).difference(_READ, {"state.backend"})
"""Names around those, in a nested configuration: each must be a mapping."""
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
_LIKE_A_PLACE = re.compile(
    r"(?:state|execution|savepoints|high-availability|recovery|dstl)\.(?!.*local).*(?:dir|path)"
)
"""Names of options of state that a later Flink may have for a place."""
_ENTROPY = "_entropy_"
_TEMPLATE = re.compile(rf"[${{}}<>*%#;,|\[\]\s\0\ud800-\udfff]|(@|__)[\w.\-]+\1|{_ENTROPY}")
"""Characters at which a tool replaces a part of a path, or a release ends it, or no name has."""
_ENDPOINT = re.compile(
    r"(?:flink\.hadoop\.)?(?:s3|s3a|s3p|fs\.s3|fs\.s3a|presto\.s3)\.(?:bucket\.(?P<bucket>.+)\.)?endpoint"
)
"""Options that name an S3 store, for one bucket or for all."""
_NOT_KNOWN = "where its files are is not known"
_ELSEWHERE = (
    (
        f"leads the name of a bucket to another one: {_NOT_KNOWN}",
        r"(?:(?:flink\.hadoop\.)?fs\.)?s3[anp]?\.(?:bucket\..+\.)?accesspoint\.arn",
        "",
    ),
    (
        f"chooses a file system that is not known: {_NOT_KNOWN}",
        r"(?:flink\.hadoop\.)?fs\.s3[anp]?\.impl",
        r"org\.apache\.hadoop\.fs\.s3a\.S3AFileSystem",
    ),
    (
        f"names a state backend that is not known: {_NOT_KNOWN}",
        r"state\.backend(?:\.type)?",
        r"hashmap|rocksdb|forst|filesystem|jobmanager|org\.apache\.flink\.[\w.]+BackendFactory",
    ),
    (
        f"names a storage of checkpoints that is not known: {_NOT_KNOWN}",
        r"execution\.checkpointing\.storage|state\.checkpoint-storage",
        "jobmanager|filesystem",
    ),
    (
        (
            "is false: its checkpoints lie in no job directory; configure this storage root by"
            " hand, with owner, and acknowledge this"
        ),
        "|".join(map(re.escape, _SUBDIRECTORY_OPTIONS)),
        "true",
    ),
)
"""Why files lie in another place than any option names: options, and their harmless values.

Source: Flink 1.14-2.3, ``StateBackendLoader``, ``CheckpointStorageLoader``; Hadoop 3.3-3.4,
``core-default.xml``.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How paths in configurations are read.

    Attributes:
        is_local_here: Whether a local path is one of this machine: true of its own files, and not
            of a pod's.
        server_of: Returns where this process reaches a bucket in S3, as ``server_at``, "" if that
            is not known.
        endpoints: Hosts that are stated to be the same.
    """

    aliases: Sequence[Alias] = ()
    is_local_here: bool = False
    server_of: Callable[[Location], str] = lambda _: ".amazonaws.com"
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
    """Yield each option that is read, with its value, if that is no text, number or truth value,
    or no text where it names a place, and each name around such options whose value is.

    ``high-availability`` is both an option and, nested, the name around others.
    """
    for key, value in content.items():
        name = f"{above}.{key}" if above else str(key)
        is_around = isinstance(value, Mapping) and any(
            each.startswith(f"{name}.{key}") for each in _READ for key in value
        )
        is_read = name in _READ or _LIKE_A_PLACE.fullmatch(name) or _ENDPOINT.fullmatch(name)
        is_option = isinstance(value, str | None if name in _PLACES else _Scalar)
        is_names = isinstance(value, Mapping | None)
        if (is_read and not is_around and not is_option) or (name in _AROUND and not is_names):
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
        if isinstance(value, str | int | float | bool) and (text := _spelled(value)):
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


def option_facts(found: FoundOptions, reading: Reading) -> Iterator[DiscoveredFact]:
    """Yield the directories and pins of a configuration, and its options that cannot be read."""
    content, origin = found.content, found.origin
    for name, value in mistyped_options(content):
        yield _unread("is of another type", value, origin.below(name))
    for name, value in flat_options(content):
        where = origin.below(name)
        for why in _leading_elsewhere(name, value):
            yield _unread(why, _spelled(value), where)
        use = _use_of(name, value)
        if isinstance(value, str) and (text := value.strip()):
            if name in RESTORE_OPTIONS:
                yield from pinned(text, where, reading)
            elif use and is_path(name, text):
                yield directory_fact(text, use, where, reading)


def _unread(why: str, value: object, where: Origin) -> UnclearFact:
    option = where.field.rpartition(".")[2]
    return UnclearFact(why=f"{option} {why}", digest=digest_of(value), origin=where)


def _use_of(name: str, value: object) -> DirectoryUse | None:
    """Return what a directory is used for that an option names, ``None`` if it names none.

    An option of state that Flink is not known to have may be one of a later Flink.
    """
    if name in DIRECTORY_OPTIONS:
        return DIRECTORY_OPTIONS[name]
    is_known = name in _READ or _NO_PLACES.fullmatch(name)
    if is_known or not name.startswith(_STATE_PREFIXES) or not isinstance(value, str):
        return None
    return DirectoryUse.UNKNOWN if "/" in value or _LIKE_A_PLACE.fullmatch(name) else None


def _leading_elsewhere(name: str, value: object) -> Iterator[str]:
    text = "" if value is None else _spelled(value)
    for why, option, harmless in _ELSEWHERE if text else ():
        if re.fullmatch(option, name) and not re.fullmatch(harmless, text, re.IGNORECASE):
            yield why


def _spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def pinned(value: str, where: Origin, reading: Reading) -> Iterator[PinFact | UnclearFact]:
    """Yield the checkpoint or savepoint that a path names, or why it names none that is known."""
    if value in NO_PLACES:
        return
    found = understood(value, where, reading)
    if isinstance(found, UnclearFact):
        yield found
    else:
        place = found.parent if found.name == "_metadata" else found
        yield PinFact(uri=str(place), origin=where, digest=digest_of(value))


def directory_fact(
    value: str, use: DirectoryUse, where: Origin, reading: Reading
) -> DirectoryFact | UnclearFact:
    """Return the directory that a path names, or why it names none that is known here."""
    found = understood(value, where, reading)
    if isinstance(found, UnclearFact):
        return found
    return DirectoryFact(uri=str(found), use=use, origin=where, digest=digest_of(value))


def understood(value: str, where: Origin, reading: Reading) -> Location | UnclearFact:
    """Return the place that a path names, or why it names none that is known here.

    A path without a scheme is one of Flink's default file system, which ``fs.default-scheme`` may
    choose, also in the operator's defaults.
    """
    spelled, *others = with_file_system(value, all_of(reading.options, DEFAULT_SCHEME))
    place = named_place(spelled)
    problem = _problem(spelled, place, reading)
    if others:
        problem = "is in one of several default file systems"
    if problem is None:
        return named_place(spelled, reading.aliases)
    option, said = where.field.rpartition(".")[2], redacted(value)
    as_alias = f" ({redacted(str(place))}=PLACE)" if place.scheme == UNREADABLE else ""
    lift = f"say with discovery.alias what it means here{as_alias}"
    why = f"{option} {said!r} {problem}: {lift}"
    return UnclearFact(why=why, digest=digest_of(value), origin=where)


def _problem(value: str, place: Location, reading: Reading) -> str | None:
    """Return why a path may mean another place here, ``None`` if it does not.

    An alias says what a path means. That of a template must be longer than the template's part.
    """
    known = (each.source.key_of(place) for each in reading.aliases)
    below = next((key for key in known if key is not None), None)
    for key in all_of(reading.options, ENTROPY_KEY):
        value = value.replace(key, _ENTROPY)
        below = below and below.replace(key, _ENTROPY)
    if _TEMPLATE.search(value if below is None else below):
        return "is a template"
    if below is not None:
        return None
    if place.scheme == UNREADABLE:
        return "is neither an absolute path nor a URI"
    if place.scheme == "file" and not reading.is_local_here:
        return "is a path inside its pods"
    return _authority_problem(place) or _other_store(place, reading)


def _other_store(place: Location, reading: Reading) -> str | None:
    stated = [each for each in _endpoints(place, reading) if host_of(each) not in reading.endpoints]
    server = reading.server_of(place) if stated else ""
    others = (each for each in stated if not server or server_at(host_of(each)) != server)
    endpoint = next(others, None)
    if endpoint is None:
        return None
    return (
        f"is in the S3 store {redacted(endpoint)}, and this process reaches another (or name it in"
        " discovery.s3_endpoints if both are one)"
    )


def _authority_problem(place: Location) -> str | None:
    user = place.authority.rpartition("@")[0]
    if ":" in user or redacted(str(place)) != str(place):
        return "holds a password"
    if place.kind is StoreKind.BUCKET and (user or not place.authority):
        return "names no bucket, or a user before it"
    if place.scheme != "file" and not place.authority:
        return "names no host, which the configuration of its file system chooses"
    return None


def _endpoints(place: Location, reading: Reading) -> Iterator[str]:
    for name, values in reading.options.items() if place.scheme == "s3" else ():
        match = _ENDPOINT.fullmatch(name)
        if match and match["bucket"] in {None, place.authority}:
            yield from values
