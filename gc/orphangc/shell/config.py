"""The configuration file: one YAML file, many storage roots, overridden by the environment."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from orphangc.core.settings import StorageRootSettings
from orphangc.errors import SettingsError
from orphangc.shell.options import first_problem, settings_from

__all__ = ["Configuration", "load_configuration"]


class Configuration(BaseSettings):
    """Everything that the configuration file may say."""

    model_config = SettingsConfigDict(
        extra="forbid", frozen=True, env_prefix="ORPHANGC_", env_nested_delimiter="__"
    )

    storage_roots: tuple[StorageRootSettings, ...]
    """The storage roots, each with its own safety margins and sources of evidence."""

    @classmethod
    def settings_customise_sources(  # noqa: PLR0917 - pydantic's signature
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let the environment win over the file."""
        return (env_settings, init_settings)


def load_configuration(path: Path) -> Configuration:
    """Return the checked configuration.

    Raises:
        SettingsError: In one line: the file cannot be read, is no YAML, or says something that
            is unknown (with the nearest known key) or wrong.

    """
    content = _read(path)
    _check_keys(content, Configuration.model_fields, path, "")
    roots = content.get("storage_roots")
    if not isinstance(roots, list) or not roots:
        raise SettingsError(f"{path}: storage_roots: a list of at least one storage root is needed")
    checked = [_root_settings(each, path, position) for position, each in enumerate(roots)]
    try:
        return Configuration(**{**content, "storage_roots": checked})
    except ValidationError as err:
        raise SettingsError(f"{path}: {first_problem(err)}") from err


def _read(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as err:
        raise SettingsError(f"cannot read {path}: {err}") from err
    except yaml.YAMLError as err:
        problem = " ".join(str(err).split())
        raise SettingsError(f"{path} is no YAML: {problem}") from err
    if not isinstance(content, dict):
        raise SettingsError(f"{path}: a mapping with the key storage_roots is needed")
    return content


def _root_settings(content: object, path: Path, position: int) -> dict[str, Any]:
    where = f"storage_roots.{position}"
    if not isinstance(content, dict):
        raise SettingsError(f"{path}: {where}: a mapping is needed")
    _check_keys(content, StorageRootSettings.model_fields, path, f"{where}.")
    try:
        return settings_from(content).model_dump()
    except SettingsError as err:
        raise SettingsError(f"{path}: {where}: {err}") from err


def _check_keys(content: dict[str, Any], known: Any, path: Path, where: str) -> None:
    for key in content:
        if key not in known:
            nearest = difflib.get_close_matches(str(key), list(known), n=1)
            hint = f"; did you mean {nearest[0]}?" if nearest else ""
            raise SettingsError(f"{path}: unknown key {where}{key}{hint}")
