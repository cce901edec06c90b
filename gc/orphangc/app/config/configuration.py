"""What the configuration file may say, and what holds where it is silent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from orphangc.app.config.paths import default_plans
from orphangc.app.config.schedule import check_schedule, check_timezone
from orphangc.core.documents.run_record import RunMode
from orphangc.core.model.settings import Place, StorageRootSettings, without_credentials

Schedule = Annotated[str, AfterValidator(check_schedule)]


class _ConfigSection(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_default=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )


def _pushgateway(value: str | None) -> str | None:
    if value is not None and urlsplit(value).scheme not in {"http", "https"}:
        raise ValueError("a Pushgateway is an http or https URL")
    return value


PushUrl = Annotated[
    str,
    AfterValidator(_pushgateway),
    PlainSerializer(without_credentials, return_type=str, when_used="json"),
]


class ScheduledRoot(StorageRootSettings):
    """A storage root, when it is looked at, and how far that may go."""

    mode: RunMode | None = None
    """How far its runs may go; else what the file says for all."""
    schedule: Schedule | None = None
    """When: five cron fields, or a duration; else what the file says for all."""
    engine: Literal["auto", "local", "spark"] = "auto"
    """Who lists and decides."""
    work: Place | None = None
    """Folder that all of Spark's executors see."""

    @property
    def bare(self) -> StorageRootSettings:
        """Return what a plan is made with."""
        return StorageRootSettings(**self.model_dump(include=set(StorageRootSettings.model_fields)))


class HttpSettings(_ConfigSection):
    """Where the daemon answers."""

    host: str = "127.0.0.1"
    """Address to listen at; loopback unless somebody means otherwise."""
    port: int = Field(default=8080, ge=0, le=65535)
    """Port to listen at; 0 takes a free one."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names that are answered, against DNS rebinding; none given: any."""
    price_per_gib_month: float = Field(default=0.023, ge=0)
    """What a GiB costs a month, for the status page; the default is S3 Standard's list price."""
    currency: str = Field(default="USD", max_length=8)
    """Of that price."""


class MetricsSettings(_ConfigSection):
    """Where a single run leaves its metrics; the daemon is scraped."""

    pushgateway: PushUrl | None = None
    """Pushgateway to push to after each run."""
    push_job: str = "orphangc"
    """The ``job`` that the metrics are grouped by there."""
    textfile: Path | None = None
    """File for the node exporter's textfile collector."""


class LogSettings(_ConfigSection):
    """Logs, on stderr."""

    format: Literal["auto", "json", "console"] = "auto"
    """``auto``: lines for people on a terminal, JSON elsewhere."""
    level: Literal["debug", "info", "warning"] = "info"
    """Least severe events that are shown; deletions always are."""


class Configuration(BaseSettings):
    """Everything that the configuration file may say."""

    model_config = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        env_prefix="ORPHANGC_",
        env_nested_delimiter="__",
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    mode: RunMode = RunMode.REPORT
    """How far runs may go, where a storage root says nothing else."""
    schedule: Schedule = "6h"
    """When runs start, where a storage root says nothing else: five cron fields, or a duration."""
    timezone: Annotated[str, AfterValidator(check_timezone)] = "UTC"
    """Of the cron fields."""
    run_at_start: bool = True
    """Whether the daemon runs every storage root soon after it has started, too."""
    concurrent_runs: int = Field(default=1, ge=1)
    """How many runs the daemon has going on at the same time, each of another storage root."""
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
    storage_roots: tuple[ScheduledRoot, ...] = Field(min_length=1)
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

    @property
    def plans_folder(self) -> Path:
        """Return where the plans of runs are kept."""
        return default_plans() if self.plans is None else self.plans
