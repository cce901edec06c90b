"""The configuration file: one YAML file, many storage roots, overridden by the environment."""

from __future__ import annotations

import difflib
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from orphangc.core.run_record import RunMode
from orphangc.core.settings import Duration, Place, StorageRootSettings
from orphangc.errors import SettingsError
from orphangc.shell.options import first_problem, settings_from

__all__ = [
    "Configuration",
    "HttpSettings",
    "LeaderElectionSettings",
    "LogSettings",
    "MetricsSettings",
    "ScheduledRoot",
    "load_configuration",
]


class _Section(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_default=True, hide_input_in_errors=True
    )


class ScheduledRoot(StorageRootSettings):
    """A storage root, when it is looked at, and how far that may go."""

    mode: RunMode | None = None
    """How far its runs may go; else what the file says for all."""
    schedule: str | None = None
    """When: five cron fields, or a duration; else what the file says for all."""
    engine: Literal["auto", "local", "spark"] = "auto"
    """Who lists and decides."""
    work: Place | None = None
    """Folder that all of Spark's executors see."""

    @property
    def bare(self) -> StorageRootSettings:
        """Return what a plan is made with."""
        return StorageRootSettings(
            **self.model_dump(include=set(StorageRootSettings.model_fields))
        )


class HttpSettings(_Section):
    """Where the daemon answers."""

    host: str = "127.0.0.1"
    """Address to listen at; loopback unless somebody means otherwise."""
    port: int = Field(default=8080, ge=0, le=65535)
    """Port to listen at; 0 takes a free one."""


class MetricsSettings(_Section):
    """Where a single run leaves its metrics; the daemon is scraped."""

    pushgateway: HttpUrl | None = None
    """Pushgateway to push to after each run."""
    push_job: str = "orphangc"
    """The ``job`` that the metrics are grouped by there."""
    textfile: Path | None = None
    """File for the node exporter's textfile collector."""


class LogSettings(_Section):
    """Logs, on stderr."""

    format: Literal["auto", "json", "console"] = "auto"
    """``auto``: lines for people on a terminal, JSON elsewhere."""
    level: Literal["debug", "info", "warning"] = "info"
    """Least severe events that are shown; deletions always are."""


class LeaderElectionSettings(_Section):
    """A Kubernetes Lease decides which of several daemons runs; the lock guards each root too."""

    enabled: bool = False
    """Whether to ask for it."""
    namespace: str | None = None
    """Of the Lease; else the pod's own."""
    name: str = "orphangc"
    """Of the Lease."""
    lease_duration: Duration = timedelta(seconds=15)
    """How long others wait for a leader that renews no more."""
    renew_deadline: Duration = timedelta(seconds=10)
    """How long a leader tries to renew before it stops leading."""
    retry_period: Duration = timedelta(seconds=2)
    """How often is tried."""


class Configuration(BaseSettings):
    """Everything that the configuration file may say."""

    model_config = SettingsConfigDict(
        extra="forbid", frozen=True, env_prefix="ORPHANGC_", env_nested_delimiter="__"
    )

    mode: RunMode = RunMode.REPORT
    """How far runs may go, where a storage root says nothing else."""
    schedule: str = "6h"
    """When runs start, where a storage root says nothing else: five cron fields, or a duration."""
    timezone: str = "UTC"
    """Of the cron fields."""
    plans: Path | None = None
    """Folder for the plans of runs; else below this user's own state folder."""
    keep_plans: int = Field(default=3, ge=1)
    """Plans to keep of each storage root."""
    http: HttpSettings = HttpSettings()
    """Where the daemon answers."""
    metrics: MetricsSettings = MetricsSettings()
    """Where a single run leaves its metrics."""
    log: LogSettings = LogSettings()
    """Logs."""
    leader_election: LeaderElectionSettings = LeaderElectionSettings()
    """Which of several daemons runs."""
    storage_roots: tuple[ScheduledRoot, ...]
    """The storage roots, each with its own schedule, safety margins and sources of evidence."""

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
