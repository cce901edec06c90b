"""The settings of the configuration file, and their defaults."""

from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, field_serializer
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from orphangc.app.config.schedule import DEFAULT_SCHEDULE, check_schedule, check_timezone
from orphangc.app.config.validate import validated
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.core.model.settings import (
    NO_SWITCH,
    AliasText,
    NamespaceName,
    Place,
    Price,
    RestUrl,
    StorageRootSettings,
    Switch,
    Whole,
    http_url,
    without_credentials,
)
from orphangc.core.model.shown import RunMode
from orphangc.errors import SettingsError

Schedule = Annotated[str, AfterValidator(check_schedule)]


class ConfigSection(BaseModel):
    """A part of the configuration file below a key of its own."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_default=True, hide_input_in_errors=True
    )


PushUrl = Annotated[
    str,
    AfterValidator(lambda value: http_url(value, "a Pushgateway")),
    PlainSerializer(without_credentials, return_type=str, when_used="json"),
]


class ScheduledRoot(StorageRootSettings):
    """A storage root with its schedule and its mode."""

    mode: RunMode | None = None
    """Highest mode of its runs; by default that of the whole file."""
    schedule: Schedule | None = None
    """When its runs start: five cron fields, or a duration; by default that of the whole file."""
    engine: Literal["auto", "local", "spark"] = "auto"
    """Engine that lists and decides."""
    spark_threshold: Annotated[int, Field(ge=1), NO_SWITCH] | None = None
    """Number of objects from which ``auto`` chooses Spark, if a cluster and ``work`` are there; by
    default what one process plans in half of the time between two runs, as the last ones measured
    it."""
    work: Place | None = None
    """Folder that every Spark executor can reach."""
    expire: RetentionPolicy | None = None
    """Retention policy for checkpoints of jobs that are over; without one nothing expires."""
    storage_options: dict[str, Any] = Field(default_factory=dict)
    """Options of fsspec's file system for the bucket or container of the storage root, such as
    ``endpoint_url`` or ``profile``; they stand before the environment, and no plan records them."""

    @field_serializer("storage_options", when_used="json")
    def _hidden(self, options: dict[str, Any]) -> dict[str, str]:
        """Return the names alone: the values may be secrets."""
        return dict.fromkeys(options, "***")

    @property
    def bare(self) -> StorageRootSettings:
        """Return the settings of a plan, without those of scheduled runs."""
        return StorageRootSettings(**self.model_dump(include=set(StorageRootSettings.model_fields)))


_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_EVERY_INTERFACE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - it is compared, not bound


class HttpSettings(ConfigSection):
    """HTTP endpoint of the daemon."""

    host: str = "127.0.0.1"
    """Address that the daemon listens at; loopback by default."""
    port: Whole = Field(default=8080, ge=0, le=65535)
    """Port that the daemon listens at; 0 takes a free one."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names that the daemon answers, against DNS rebinding; none given: those of loopback and
    ``host``, or any where ``host`` is an address of every interface."""
    price_per_gib_month: Price = Field(default=0.023, ge=0)
    """Price of a GiB a month on the status page; the default is S3 Standard's list price."""
    currency: str = Field(default="USD", max_length=8)
    """Currency of that price."""

    @property
    def known_hosts(self) -> tuple[str, ...]:
        """Return the host names that are answered, none for any."""
        if self.allowed_hosts or self.host in _EVERY_INTERFACE:
            return self.allowed_hosts
        own = f"[{self.host}]" if ":" in self.host else self.host
        return tuple(dict.fromkeys((*_LOOPBACK, own)))


class MetricsSettings(ConfigSection):
    """Targets for the metrics of single runs; Prometheus scrapes the daemon."""

    pushgateway: PushUrl | None = None
    """Pushgateway to push to after each run."""
    push_job: str = "orphangc"
    """Value of the label ``job`` of pushed metrics."""
    textfile: Path | None = None
    """File for the node exporter's textfile collector."""


class LogSettings(ConfigSection):
    """Logs, on stderr."""

    format: Literal["auto", "json", "console"] = "auto"
    """``auto``: lines for people on a terminal, JSON elsewhere."""
    level: Literal["debug", "info", "warning"] = "info"
    """Least severity of the events that are shown; batches of deletions are always shown."""
    audit_log: str | None = None
    """``stderr``, or a file to append to: a JSON line for each object that was to be deleted."""


REST_TEMPLATE = "{scheme}://{name}-rest.{namespace}:{port}"


def _rest_template(value: str) -> str:
    try:
        filled = value.format(scheme="http", name="name", namespace="ns", port="8081")
    except (KeyError, IndexError, ValueError, AttributeError) as err:
        raise ValueError("only {scheme}, {name}, {namespace} and {port} can be filled in") from err
    if value != "ingress" and urlsplit(filled).scheme not in {"http", "https"}:
        raise ValueError("an address of a REST service is an http or https URL, or 'ingress'")
    return value


def _root_defaults(value: dict[str, Any]) -> dict[str, Any]:
    try:
        validated(ScheduledRoot, {**value, "root": "s3://bucket/checkpoints"})
    except SettingsError as err:
        raise ValueError(str(err)) from err
    return value


class DiscoverySettings(ConfigSection):
    """What is read to learn of storages, clusters, HA, jobs and savepoints."""

    namespaces: tuple[NamespaceName, ...] = ()
    """Kubernetes namespaces whose Flink resources describe the world."""
    namespace_selector: str | None = None
    """Label selector of further namespaces."""
    all_namespaces: Switch = False
    """Read every namespace."""
    files: tuple[Path, ...] = ()
    """Flink's configuration files: ``config.yaml``, ``flink-conf.yaml``."""
    flink_rest: tuple[RestUrl, ...] = ()
    """Flink REST endpoints that no resource shows."""
    rest: Annotated[str, AfterValidator(_rest_template)] = REST_TEMPLATE
    """Address of a cluster's REST service; ``ingress`` for that of its ingress."""
    state: Place | None = None
    """State location of discovered storage roots, and memory of the discovery."""
    defaults: Annotated[dict[str, Any], AfterValidator(_root_defaults)] = Field(
        default_factory=dict
    )
    """Settings of every discovered storage root: margins, limits, mode, schedule."""
    closed_world: Switch = False
    """The operator's statement: no checkpoint outside the searched storages refers to files in
    these (R3a)."""
    alias: tuple[AliasText, ...] = ()
    """``FROM=TO``: paths in configurations that start with FROM mean TO."""
    empty_roots: tuple[Place, ...] = ()
    """Discovered places that hold no checkpoint."""
    s3_endpoints: tuple[str, ...] = ()
    """S3 endpoints in Flink's configurations that are the store that this process reaches."""

    @property
    def is_on(self) -> bool:
        """Return whether there is anything to read."""
        asked = (self.namespaces, self.namespace_selector, self.files, self.flink_rest)
        return self.all_namespaces or any(asked)


class Configuration(BaseSettings):
    """The configuration file."""

    model_config = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        env_prefix="ORPHANGC_",
        env_nested_delimiter="__",
        hide_input_in_errors=True,
    )

    mode: RunMode = RunMode.REPORT
    """Highest mode of runs, unless a storage root has its own."""
    schedule: Schedule = DEFAULT_SCHEDULE
    """When runs start, unless a storage root has its own: five cron fields, or a duration."""
    timezone: Annotated[str, AfterValidator(check_timezone)] = "UTC"
    """Time zone of the cron fields."""
    run_at_start: Switch = True
    """Whether the daemon also runs every storage root soon after its start."""
    concurrent_runs: Whole = Field(default=1, ge=1)
    """Maximum number of runs at the same time, each of another storage root."""
    plans: Path | None = None
    """Folder for the plans of runs; by default below this user's state folder."""
    keep_plans: Whole = Field(default=3, ge=1)
    """Number of plans to keep of each storage root."""
    http: HttpSettings = HttpSettings()
    """HTTP endpoint of the daemon."""
    metrics: MetricsSettings = MetricsSettings()
    """Targets for the metrics of single runs."""
    log: LogSettings = LogSettings()
    """Format and level of logs."""
    discovery: DiscoverySettings = DiscoverySettings()
    """Kubernetes resources and configuration files that describe the world."""
    storage_roots: tuple[ScheduledRoot, ...] = ()
    """The storage roots, each with its own schedule, safety margins and sources of evidence; needed
    unless they are discovered."""

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
        if self.plans is not None:
            return self.plans
        from platformdirs import user_state_path  # noqa: PLC0415 - seldom needed

        return user_state_path("orphangc") / "plans"
