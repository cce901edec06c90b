"""Read the configuration file: one YAML file, completed and overridden by the environment.

The file is untrusted: its length, depth and number of values are bounded, and no key of it is lost.
An alias is a few bytes that stand for a whole value. Nine aliases in each of ten levels are more
values than a machine has memory for. Of a key that stands twice PyYAML keeps the last: places to
search would be left out without a word.

Its storage roots are completed by its common settings, by each other, and by what was discovered.
After that each of them says all that its runs need.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
import yaml
from pydantic import BaseModel, ValidationError
from pydantic_settings.exceptions import SettingsError as UnusableVariableError

from flinkstate.files.paths import located, meet, spellings
from flinkstate.places.locations import Alias, Location, canonical, parse_alias
from flinkstate.text.problems import NO_VALUE, in_one_line, nearest, problems_in, yaml_problem
from flinkstate.text.redaction import reason_of
from orphangc.adapters.storage_options import use_storage_options
from orphangc.app.config.configuration import ConfigSection, Configuration, ScheduledRoot
from orphangc.app.config.in_world import in_world, joined
from orphangc.app.config.validate import (
    SINGULAR,
    SPELLED,
    as_in_files,
    check_outside,
    prepared,
    validated,
)
from orphangc.core.model.settings import SiblingStatements, StorageRootSettings
from orphangc.core.model.shown import shown_fields
from orphangc.errors import SettingsError

if TYPE_CHECKING:  # most files discover nothing
    from orphangc.core.discovery.discovered_world import DiscoveredWorld

log = structlog.get_logger()

_MOST_BYTES = 1 << 20
_MOST_VALUES = 100_000
_SECTIONS: Mapping[str, type[BaseModel]] = {
    name: each.annotation
    for name, each in Configuration.model_fields.items()
    if isinstance(each.annotation, type) and issubclass(each.annotation, ConfigSection)
}
IMPLIED = (
    StorageRootSettings.model_fields.keys() - shown_fields(StorageRootSettings).keys() - {"root"}
)
"""Settings of a storage root that no file states: the loader and discovery add them."""
_REMOVED = frozenset({"without_state", "explained", "forgotten"})
"""Settings of discovery that older files have."""
_OF_ROOT = re.compile(r"^(storage_roots\.[0-9]+)(?:\.|: )")
_VARIABLE = re.compile(r"\$(\$|\{([^{}]*)\})")
_OF_ALL = ("empty_roots", "flink_rest", "kubernetes_ha", "zookeeper_ha", "pin")
"""Settings that hold for every storage root of a file, whichever states them."""


def load_configuration(path: Path) -> Configuration:
    """Return the checked configuration; every storage root has its mode and its schedule.

    ``${NAME}`` in a text is the environment's NAME, ``$$`` a dollar sign: the file names a password
    and does not hold it.

    Raises:
        SettingsError: The file cannot be read, is no YAML, or holds unknown keys (the message
            names the nearest known ones) or wrong values. The message names all, in one line.
    """
    content = _read(path)
    if not isinstance(content, dict):
        raise SettingsError(f"{path}: a mapping with the key storage_roots is needed")
    problems: list[str] = []
    content = _prepared(_completed(content, "", problems), path, problems)
    configuration = _validated(content, problems)
    if problems or configuration is None:
        by = f", overridden by {', '.join(names)}" if (names := overriding()) else ""
        raise SettingsError(f"{path}{by}: {in_one_line(problems)}")
    if not configuration.storage_roots and not configuration.discovery.is_on:
        raise SettingsError(
            f"{path}: discovery: name namespaces, files or flink_rest to read"
            if content.get("discovery")
            else f"{path}: storage_roots: a list of at least one storage root is needed"
        )
    return with_defaults(configuration, path)


def _read(path: Path) -> Any:
    """Return the one document of a file.

    Raises:
        SettingsError: The file cannot be read, is too large, or is no YAML. The message is one line
            and quotes nothing of the file, which may hold a password.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise SettingsError(f"{path} has more than {_MOST_BYTES} bytes")
        return _parsed(data.decode("utf-8"))
    except (OSError, UnicodeDecodeError) as err:
        raise SettingsError(f"cannot read {path}: {reason_of(err)}") from err
    except (yaml.YAMLError, *NO_VALUE) as err:
        raise SettingsError(f"{path} is no YAML: {yaml_problem(err)}{_hint(err)}") from err


def _parsed(text: str) -> Any:
    loader = yaml.SafeLoader(text)
    try:
        document = loader.get_single_node()
        if document is None:
            return None
        _check_repeated_keys(document, set())
        if _values(document, {}) > _MOST_VALUES:
            raise yaml.YAMLError(f"its aliases stand for more than {_MOST_VALUES} values")
        return loader.construct_document(document)
    finally:
        loader.dispose()


def _check_repeated_keys(node: yaml.Node, checked: set[yaml.Node]) -> None:
    if node in checked or not isinstance(node, yaml.CollectionNode):
        return
    checked.add(node)
    seen: set[str] = set()
    for each in node.value:
        if isinstance(node, yaml.MappingNode):
            key = each[0]
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"key {key.value!r} stands a second time", problem_mark=key.start_mark
                )
            seen.add(str(key.value))
        for part in each if isinstance(each, tuple) else (each,):
            _check_repeated_keys(part, checked)


def _values(node: yaml.Node, known: dict[yaml.Node, int]) -> int:
    """Return how many values a node is once every alias is spelled out."""
    if node not in known:
        known[node] = -1
        children = node.value if isinstance(node, yaml.CollectionNode) else ()
        parts = [
            part for each in children for part in (each if isinstance(each, tuple) else (each,))
        ]
        known[node] = 1 + sum(_values(part, known) for part in parts)
    elif known[node] < 0:
        raise yaml.YAMLError("an alias stands inside of what it names")
    return known[node]


def _hint(err: Any) -> str:
    mark = getattr(err, "problem_mark", None)
    is_variable = "${" in (getattr(mark, "buffer", None) or "")
    return '; between braces a variable needs quotes: "${NAME}"' if is_variable else ""


def _prepared(content: dict[str, Any], path: Path, problems: list[str]) -> dict[str, Any]:
    """Return the known keys of a file, by the names of fields, with absolute places."""
    content = _without_removed(_known(content, Configuration, "", problems), path)
    for name, section in _SECTIONS.items():
        if isinstance(content.get(name), dict):
            content[name] = _known(content[name], section, f"{name}.", problems)
    if isinstance(roots := content.get("storage_roots"), list):
        content["storage_roots"] = [
            _root(each, path, f"storage_roots.{position}", problems)
            for position, each in enumerate(roots)
        ]
    discovery = content.get("discovery")
    if isinstance(discovery, dict) and isinstance(discovery.get("defaults"), dict):
        where, defaults = "discovery.defaults", discovery["defaults"]
        said = sorted({"root", "state", "closed_world"} & {*defaults})
        problems += (f"{where}.{key}: discovery itself says that" for key in said)
        defaults = _root(defaults, path, where, problems)
        content["discovery"] = {**discovery, "defaults": defaults}
    return content


def _validated(content: Mapping[str, Any], problems: list[str]) -> Configuration | None:
    """Return the configuration, or ``None`` after adding every problem that it has."""
    try:
        return Configuration(**content)
    except ValidationError as err:
        problems += (_by_root(each) for each in problems_in(err))
    except UnusableVariableError as err:
        problems.append(f"environment: {err}")
    return None


def _by_root(problem: str) -> str:
    """Return a problem with the words of files, if it is one of a storage root."""
    match = _OF_ROOT.match(problem)
    return f"{match[1]}: {as_in_files(problem[match.end() :])}" if match else problem


def _without_removed(content: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return a file without statements that lifted blocks of discovery, which are no more.

    Whatever one of them said, without it nothing more is deleted.
    """
    section = content.get("discovery")
    if not isinstance(section, dict) or not _REMOVED & set(section):
        return content
    names = sorted(_REMOVED & set(section))
    log.warning(
        "setting.removed",
        settings=[f"discovery.{each}" for each in names],
        file=str(path),
        instead="what they lifted blocks no more, or: orphangc world acknowledge",
    )
    kept = {name: value for name, value in section.items() if name not in _REMOVED}
    return {**content, "discovery": kept}


def overriding() -> list[str]:
    """Return the names of the environment variables that override the file."""
    prefix = str(Configuration.model_config["env_prefix"])
    known = tuple(f"{prefix}{name}".upper() for name in Configuration.model_fields)
    return sorted(name for name in os.environ if name.upper().startswith(known))


def _completed(value: Any, where: str, problems: list[str]) -> Any:
    """Return a value with environment variables inserted in all its texts."""

    def replaced(match: re.Match[str]) -> str:
        if match[1] == "$":
            return "$"
        if match[2] not in os.environ:
            problems.append(f"{where}: the variable {match[2]!r} is not set")
        return os.environ.get(match[2], match[0])

    match value:
        case str():
            return _VARIABLE.sub(replaced, value)
        case dict():
            above = f"{where}." if where else ""
            return {key: _completed(each, f"{above}{key}", problems) for key, each in value.items()}
        case list():
            return [_completed(each, f"{where}.{i}", problems) for i, each in enumerate(value)]
        case _:
            return value


def _root(content: object, path: Path, where: str, problems: list[str]) -> object:
    if not isinstance(content, dict):
        return content  # the model reports it
    named = _with_field_names(content, f"{path}: {where}")
    return prepared(ScheduledRoot, _known(named, ScheduledRoot, f"{where}.", problems))


def _with_field_names(content: dict[str, Any], where: str) -> dict[str, Any]:
    """Return a storage root's part with the names of fields, and warn of old spellings."""
    renamed = {SINGULAR.get(key, key): value for key, value in content.items()}
    if len(renamed) < len(content):
        twice = next(old for new, old in SINGULAR.items() if {new, old} <= content.keys())
        raise SettingsError(f"{where}: {twice} is there twice, in its old and in its new spelling")
    for new, old in SINGULAR.items():
        if old in content:
            log.warning("settings.old_spelling", where=where, old=old, new=new)
    return renamed


def _known(
    content: Mapping[str, Any], model: type[BaseModel], where: str, problems: list[str]
) -> dict[str, Any]:
    """Return the settings that a model knows, after adding a problem for each other one."""
    known = model.model_fields.keys() - IMPLIED
    words = [SPELLED.get(name, name) if model is ScheduledRoot else name for name in sorted(known)]
    for key in content:
        if key not in known:
            hint = _home_of(str(key), model) or nearest(str(key), words)
            problems.append(f"unknown key {where}{key}{hint}")
    return {key: value for key, value in content.items() if key in known}


def _home_of(key: str, model: type[BaseModel]) -> str:
    of_root = ScheduledRoot.model_fields.keys() - IMPLIED
    if model is not ScheduledRoot and SINGULAR.get(key, key) in of_root:
        return "; it belongs to a storage root: write it below storage_roots[]"
    if model is not Configuration and key in Configuration.model_fields:
        return "; it belongs to the whole file: write it at the top"
    homes = [name for name, section in _SECTIONS.items() if key in section.model_fields]
    return f"; it belongs below {homes[0]}" if homes else ""


def with_defaults(configuration: Configuration, path: Path) -> Configuration:
    """Return the configuration with the common settings inserted in each storage root.

    Raises:
        SettingsError: Two storage roots are one place, or one contains the other: two runs would
            judge the same files by different evidence. Or the folder of plans is inside a storage
            root.
    """
    roots = tuple(
        each.model_copy(
            update={
                "root": str(each.location),
                "mode": each.mode or configuration.mode,
                "schedule": each.schedule or configuration.schedule,
            }
        )
        for each in configuration.storage_roots
    )
    names = [(each.root, spellings(each.location)) for each in roots]
    for (one, ones), (other, others) in combinations(names, 2):
        if meet(ones, others):
            raise SettingsError(
                f"{path}: storage roots {one} and {other} are, or contain, the same place"
            )
    plans = configuration.plans_folder.absolute()
    for each in roots:
        check_outside(each, [plans])
        if each.engine == "local" and each.work is not None:
            raise SettingsError(f"{path}: {each.root}: work is for engine: spark or auto")
    use_storage_options(_storage_options(roots, path))
    said = _statements(roots)
    complete = tuple(
        _with_others(each, [other for other in roots if other.root != each.root], said)
        for each in roots
    )
    return configuration.model_copy(update={"storage_roots": complete, "plans": plans})


def _storage_options(
    roots: Iterable[ScheduledRoot], path: Path
) -> dict[Location, Mapping[str, Any]]:
    """Return the options of the bucket of each storage root, which mostly has none."""
    found: dict[Location, Mapping[str, Any]] = {}
    for each in roots:
        top = each.location.top
        where = f"{path}: {each.root}: storage_options"
        if each.storage_options and top.scheme == "file":
            raise SettingsError(f"{where}: a local folder has none")
        if each.storage_options and (each.work is not None or each.engine == "spark"):
            raise SettingsError(f"{where}: Spark's executors know their environment only")
        if found.setdefault(top, each.storage_options) != each.storage_options:
            raise SettingsError(f"{where}: another storage root of {top} has other ones")
    return found


def _with_others(
    root: ScheduledRoot, others: Sequence[ScheduledRoot], said: Mapping[str, SiblingStatements]
) -> ScheduledRoot:
    """Return a storage root with the places, pins and clusters of all the others.

    Jobs of the others may need its files, and so may their pins, and checkpoints in their extra
    roots and clusters.
    """
    own = {root.root, *root.extra_roots}
    places = dict.fromkeys(place for o in others for place in (o.root, *o.extra_roots))
    update = {
        "siblings": tuple(place for place in places if place not in own),
        "sibling_statements": tuple(said[each.root] for each in others if each.root in said),
    }
    added = {name: [e for one in others for e in getattr(one, name)] for name in _OF_ALL}
    return joined(root, added).model_copy(update=update)


def _statements(roots: Sequence[ScheduledRoot]) -> dict[str, SiblingStatements]:
    """Return what storage roots state of jobs, by root.

    It is about its places that overlap no storage root, whose own settings speak of its jobs.
    """
    known = frozenset().union(*(spellings(each.location) for each in roots))
    return {
        each.root: SiblingStatements(
            places=(
                each.root,
                *(e for e in each.extra_roots if not meet(spellings(canonical(e)), known)),
            ),
            ended_job=each.ended_job,
            merged_within=each.merged_within,
        )
        for each in roots
        if each.ended_job or each.merged_within
    }


def with_world(
    configuration: Configuration,
    world: DiscoveredWorld,
    ended: Sequence[str],
    aliases: Sequence[Alias],
) -> Configuration:
    """Return a configuration with discovered storage roots, each with the whole world.

    Args:
        ended: Jobs that other jobs have followed.
        aliases: What discovered paths mean.

    Raises:
        SettingsError: A discovered storage root cannot be configured.
    """
    settings = configuration.discovery
    stated = [parse_alias(each) for each in settings.alias] if aliases else []
    meant = [Alias(each.source, canonical(str(each.target), aliases)) for each in stated]
    texts = tuple(dict.fromkeys(f"{e.source}={e.target}" for e in (*meant, *aliases)))
    known = settings.model_copy(update={"alias": texts}) if aliases else settings
    own = {"state": settings.state, "closed_world": settings.closed_world}
    new = [
        validated(ScheduledRoot, {**settings.defaults, "root": uri, **own})
        for uri in world.storage_roots
    ]
    added = {
        "empty_roots": settings.empty_roots,
        "flink_rest": world.clusters,
        "kubernetes_ha": [each for each in world.kubernetes_ha if each],
        "zookeeper_ha": world.zookeeper_ha,
        "alias": known.alias,
        "pin": world.pins,
        "ended_job": ended,
    }
    roots = tuple(joined(each, added) for each in (*configuration.storage_roots, *new))
    update = {"discovery": known, "storage_roots": roots}
    found = with_defaults(configuration.model_copy(update=update), Path("discovery"))
    searched = tuple(in_world(each, world) for each in found.storage_roots)
    return found.model_copy(update={"storage_roots": searched})


def chosen_roots(
    configuration: Configuration, only: Iterable[str] | None
) -> tuple[ScheduledRoot, ...]:
    """Return the named storage roots in the file's order, or all; ``SettingsError`` for another."""
    wanted = [str(located(each)) for each in only or ()]
    known = {each.root: each for each in configuration.storage_roots}
    for name in wanted:
        if name not in known:
            raise SettingsError(f"storage root {name} is not configured{nearest(name, known)}")
    return tuple(each for name, each in known.items() if not wanted or name in wanted)


def as_written(root: ScheduledRoot, *, without_defaults: bool = False) -> dict[str, Any]:
    """Return a storage root as a file says it: JSON values by the words of files."""
    shown = root.model_dump(mode="json", exclude={*IMPLIED}, exclude_defaults=without_defaults)
    return {SPELLED.get(name, name): value for name, value in shown.items()}
