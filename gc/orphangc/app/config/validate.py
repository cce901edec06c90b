"""Validation of options and of keys of the configuration file."""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from flinkstate.files.paths import absolute, is_inside, local
from flinkstate.text.problems import in_one_line, problems_in
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.core.model.settings import IS_ALIAS, IS_PLACE, StorageRootSettings
from orphangc.core.model.shown import marked, shown_fields
from orphangc.errors import SettingsError

_Model = TypeVar("_Model", bound=BaseModel)

SINGULAR: Mapping[str, str] = {
    name.removesuffix("s"): name
    for name, shown in shown_fields(StorageRootSettings).items()
    if shown.is_one
}
"""Fields of settings, by the word of options and files; a field's own name is the old spelling."""
SPELLED = {old: new for new, old in SINGULAR.items()}
"""The same by field."""
_FIELD = re.compile(r"^[a-z_]+")
_SETTING = re.compile(r"^(?!root\b)([a-z_]+)(?:\.[0-9]+)?: ")
"""Start of a message about one setting; the root is an argument of most commands."""


def settings_from(values: Mapping[str, Any]) -> StorageRootSettings:
    """Return validated settings from options; a ``SettingsError`` names every wrong option, in one
    line.
    """
    return _validated(StorageRootSettings, values, _as_option)


def policy_from(values: Mapping[str, Any]) -> RetentionPolicy | None:
    """Return the policy of some options, ``None`` without one; raises as ``settings_from``."""
    is_stated = any(value is not None for value in values.values())
    return _validated(RetentionPolicy, values, _as_option) if is_stated else None


def validated(model: type[_Model], values: Mapping[str, Any]) -> _Model:
    """Return a model of validated settings, as discovery makes it; raises as ``settings_from``."""
    return _validated(model, values, as_in_files)


def _validated(
    model: type[_Model], values: Mapping[str, Any], shown: Callable[[str], str]
) -> _Model:
    try:
        return model.model_validate(prepared(model, values))
    except ValidationError as err:
        raise SettingsError(in_one_line([shown(each) for each in problems_in(err)])) from err


def as_in_files(problem: str) -> str:
    """Return a problem of one setting with the setting's word in files."""
    return _FIELD.sub(lambda match: SPELLED.get(match[0], match[0]), problem)


def _as_option(problem: str) -> str:
    return _SETTING.sub(lambda match: f"--{match[1].replace('_', '-')}: ", as_in_files(problem))


def prepared(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are given, with absolute places."""
    given = {name: value for name, value in values.items() if value is not None}
    for mark, change in ((IS_PLACE, absolute), (IS_ALIAS, _absolute_alias)):
        for name in marked(model, mark) & given.keys():
            given[name] = _each(given[name], change)
    return given


def _each(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return tuple(_each(each, change) for each in value)
    return value


def _absolute_alias(text: str) -> str:
    source, _, target = text.partition("=")
    return f"{absolute(source)}={absolute(target)}" if source and target else text


def check_outside(settings: StorageRootSettings, places: Iterable[Path | None]) -> None:
    """Raise ``SettingsError`` for a file below the storage root, which belongs to Flink."""
    for place in places:
        if place is not None and is_inside(local(place), settings.location):
            raise SettingsError(
                f"{place} is inside the storage root {settings.root}: choose another"
            )
