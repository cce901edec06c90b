"""Flink's REST answers as bytes, read into the facts of ``core.cluster.job_facts``.

Unknown fields are ignored, since every release adds some; a needed field that is missing or of
another type makes the whole answer unusable. Numbers must be numbers and truth values truth
values: what Flink would not write is not guessed at.

Source: Flink 1.14-2.3, ``runtime.rest.messages``: ``DashboardConfiguration``,
``JobIdsWithStatusOverview``, ``JobDetailsInfo``, ``CheckpointingStatistics``,
``CheckpointConfigInfo``, ``ConfigurationInfo``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from orphangc.core.cluster.job_facts import (
    GLOBALLY_TERMINAL,
    CheckpointFacts,
    ClusterSettings,
    JobFacts,
    PerhapsRestInstant,
    RestCount,
    RestInstant,
    RestMillis,
    RestoredFacts,
)
from orphangc.core.cluster.place_options import (
    CHECKPOINT_OPTIONS,
    CLUSTER_ID_OPTIONS,
    HA_TYPE_OPTIONS,
    NO_HA,
    ZOOKEEPER_ROOT_OPTIONS,
    named_folders,
)
from orphangc.core.cluster.zookeeper_paths import zookeeper_address
from orphangc.core.model.types import FIXED_JOB_IDS, JobId
from orphangc.core.times.instants import LATEST, from_milliseconds
from orphangc.errors import RegistryUnavailableError

CONFIG_PATH = "/config"
OPTIONS_PATH = "/jobmanager/config"
JOBS_PATH = "/jobs"

_STATISTICS_CACHE = "rest.cache.checkpoint-statistics.timeout"
_LONGEST_CACHE_SECONDS = 86_400.0
_KUBERNETES = ("kubernetes.namespace", "kubernetes.cluster-id")
_ZOOKEEPER = "high-availability.zookeeper.quorum"
_NO_CHECKPOINTING = re.compile(rb"Checkpointing (?:is not|has not been) enabled")
_DURATION = re.compile(r"(\d{1,15}) *([a-zµ]*)")
_SECONDS = {
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
"""Flink's units of time but the two below a millisecond, which no cache has.

Source: Flink 1.14-2.3, ``org.apache.flink.util.TimeUtils``.
"""

_Id32 = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class _RestModel(BaseModel):
    """Base of all answers: immutable, exact types, unknown fields ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, hide_input_in_errors=True)


class _Config(_RestModel):
    refresh_interval: RestCount = Field(alias="refresh-interval")
    flink_version: str = Field(alias="flink-version", min_length=1)


class _Option(_RestModel):
    key: str
    value: str


class _ListedJob(_RestModel):
    id: _Id32
    status: str = Field(min_length=1)


class _Jobs(_RestModel):
    jobs: list[_ListedJob]


class _Timestamps(_RestModel):
    initializing: RestMillis = Field(alias="INITIALIZING")
    created: RestMillis = Field(alias="CREATED")


class _RestJob(_RestModel):
    jid: _Id32
    state: str = Field(min_length=1)
    now: RestInstant | None = None
    start_time: RestInstant = Field(alias="start-time")
    # each Flink states it (1.15-2.3, JobDetailsInfo): an answer that leaves it out dates no end
    end_time: PerhapsRestInstant = Field(default=LATEST, alias="end-time")
    timestamps: _Timestamps


class _Counts(_RestModel):
    in_progress: RestCount
    completed: RestCount


class _Latest(_RestModel):
    completed: CheckpointFacts | None
    savepoint: CheckpointFacts | None
    restored: RestoredFacts | None


class _Checkpoints(_RestModel):
    counts: _Counts
    latest: _Latest
    history: list[CheckpointFacts]


class _CheckpointConfig(_RestModel):
    checkpoint_interval_ms: RestCount = Field(alias="interval")
    checkpoint_timeout_ms: RestCount = Field(alias="timeout")
    max_concurrent: RestCount
    state_backend: str | None
    checkpoint_storage: str | None
    changelog_enabled: bool | None = Field(default=None, alias="state_changelog_enabled")


_Model = TypeVar("_Model", bound=_RestModel)
_OPTIONS = TypeAdapter(Annotated[list[_Option], Field(min_length=1)])


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAnswers:
    """The three answers about one job; ``None`` where Flink said that checkpointing is off."""

    details: bytes
    checkpoints: bytes | None
    config: bytes | None


def job_path(job_id: JobId) -> str:
    """Return the path of a job's details."""
    return f"{JOBS_PATH}/{job_id}"


def checkpoints_path(job_id: JobId) -> str:
    """Return the path of a job's checkpoint statistics."""
    return f"{JOBS_PATH}/{job_id}/checkpoints"


def checkpoint_config_path(job_id: JobId) -> str:
    """Return the path of a job's checkpoint configuration."""
    return f"{JOBS_PATH}/{job_id}/checkpoints/config"


def is_checkpointing_off(body: bytes) -> bool:
    """Return whether the body of a 404 means that the job has no checkpointing.

    A job that vanished between two requests gives a 404 as well, and so does a proxy.

    Source: Flink 1.14-2.3, ``CheckpointConfigHandler``, ``CheckpointingStatisticsHandler``.
    """
    return _NO_CHECKPOINTING.search(body) is not None


def cluster_settings(config: bytes, options: bytes) -> ClusterSettings:
    """Return version and cache age from ``/config`` and ``/jobmanager/config``.

    Job details live as long as the refresh interval. Checkpoint statistics have a setting of
    their own (1.20 and later), which ``/config`` does not show: were it longer, two requests at one
    cached answer would pass for "no checkpoint completed in between".

    Source: Flink 2.3, ``RestOptions.CACHE_CHECKPOINT_STATISTICS_TIMEOUT``,
    ``WebOptions.REFRESH_INTERVAL``, ``ExecutionGraphCache``.
    """
    settings = _read(_Config, config, CONFIG_PATH)
    try:
        listed = _OPTIONS.validate_json(options)
    except ValidationError as err:
        raise _unusable(OPTIONS_PATH, err) from err
    texts = [(option.key, option.value) for option in listed]
    modes = [option.value.strip().lower() for option in listed if option.key in HA_TYPE_OPTIONS]
    ages = [_seconds(option.value) for option in listed if option.key == _STATISTICS_CACHE]
    cache_seconds = max([settings.refresh_interval / 1000, *ages])
    if cache_seconds > _LONGEST_CACHE_SECONDS:
        raise RegistryUnavailableError(
            f"{CONFIG_PATH}: answers may be {cache_seconds:.0f} seconds old, and a plan waits until"
            f" they are new: set web.refresh-interval and {_STATISTICS_CACHE} to a day at most"
        )
    return ClusterSettings(
        flink_version=settings.flink_version,
        cache_seconds=cache_seconds,
        checkpoint_directories=frozenset(
            path for option, path in named_folders(texts) if option in CHECKPOINT_OPTIONS
        ),
        cluster_ids=frozenset(_cluster_ids(dict(texts))),
        are_ids_fixed=any(option.key in FIXED_JOB_IDS for option in listed),
        has_high_availability=bool(modes) and NO_HA.isdisjoint(modes),
        options=dict(texts),
    )


def _cluster_ids(options: Mapping[str, str]) -> Iterator[str]:
    """Yield the clusters of HA metadata that the options name, as a hold spells them.

    Without its namespace, or its ZooKeeper, a cluster id is the name of many clusters.
    """
    namespace, cluster = (options.get(key) for key in _KUBERNETES)
    if namespace and cluster:
        yield f"kubernetes:{namespace}/{cluster}"
    path = _first_of(options, CLUSTER_ID_OPTIONS)
    if (quorum := options.get(_ZOOKEEPER)) and path:
        root = _first_of(options, ZOOKEEPER_ROOT_OPTIONS) or "/flink"
        yield f"zookeeper://{zookeeper_address(quorum, root, path)}"


def _first_of(options: Mapping[str, str], keys: Iterable[str]) -> str | None:
    return next((options[key] for key in keys if key in options), None)


def listed_jobs(body: bytes) -> dict[JobId, str]:
    """Return every job of ``/jobs`` with its status word."""
    listed = _read(_Jobs, body, JOBS_PATH).jobs
    jobs = {JobId(job.id): job.status for job in listed}
    if len(jobs) != len(listed):
        raise RegistryUnavailableError(f"{JOBS_PATH}: field jobs names a job twice")
    return jobs


def job_facts(job_id: JobId, listed_status: str, answers: JobAnswers, version: str) -> JobFacts:
    """Return the facts of one job from its three answers, or raise ``RegistryUnavailableError``.

    Args:
        listed_status: The status in ``/jobs``, which is live, while the details are cached.
    """
    details = _read(_RestJob, answers.details, job_path(job_id))
    if details.jid != job_id:
        raise RegistryUnavailableError(f"{job_path(job_id)}: field jid is {details.jid}")
    statistics = (
        None
        if answers.checkpoints is None
        else _read(_Checkpoints, answers.checkpoints, checkpoints_path(job_id))
    )
    checkpoints = _checkpoints(statistics)
    completed = [e.id for e in checkpoints if e.is_completed and not e.is_savepoint]
    return JobFacts(
        job_id=job_id,
        flink_version=version,
        status=listed_status if details.state in GLOBALLY_TERMINAL else details.state,
        started_at=details.start_time,
        ended_at=details.end_time,
        answered_at=details.now,
        incarnation=_incarnation(details.timestamps),
        **_config(job_id, answers.config),
        latest_completed_id=max(completed, default=None),
        restored=None if statistics is None else statistics.latest.restored,
        in_progress_ids=tuple(
            sorted(each.id for each in checkpoints if each.status == "IN_PROGRESS")
        ),
        in_progress_count=0 if statistics is None else statistics.counts.in_progress,
        completed_count=0 if statistics is None else statistics.counts.completed,
        checkpoints=checkpoints,
        graph_built_at=_built_at(details.timestamps),
    )


def _read(model: type[_Model], body: bytes, path: str) -> _Model:
    try:
        return model.model_validate_json(body)
    except ValidationError as err:
        raise _unusable(path, err) from err


def _unusable(path: str, err: ValidationError) -> RegistryUnavailableError:
    """Return one line that names path and field, without the value."""
    first = err.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    place = f"field {field}" if field else "the answer"
    return RegistryUnavailableError(f"unusable answer from Flink: {path}: {place}: {first['msg']}")


def _seconds(value: str) -> float:
    match = _DURATION.fullmatch(value.strip().lower())
    factor = None if match is None else _SECONDS.get(match[2])
    if match is None or factor is None:
        raise RegistryUnavailableError(
            f"unusable answer from Flink: {OPTIONS_PATH}: {_STATISTICS_CACHE} is no duration"
        )
    return int(match[1]) * factor


def _config(job_id: JobId, body: bytes | None) -> dict[str, Any]:
    if body is None:
        return dict.fromkeys(_CheckpointConfig.model_fields)
    return _read(_CheckpointConfig, body, checkpoint_config_path(job_id)).model_dump()


def _incarnation(timestamps: _Timestamps) -> str | None:
    """Return both start times, ``None`` while either has not come (the graph is not built)."""
    if not timestamps.initializing or not timestamps.created:
        return None
    return f"{timestamps.initializing}/{timestamps.created}"


def _built_at(timestamps: _Timestamps) -> datetime | None:
    """Return when the execution graph was built, and with it the tracker of checkpoints.

    Source: Flink 1.14-2.3, ``DefaultExecutionGraph``: the time of CREATED.
    """
    return from_milliseconds(timestamps.created) if timestamps.created else None


def _checkpoints(statistics: _Checkpoints | None) -> tuple[CheckpointFacts, ...]:
    """Return history and latest ones, newest first.

    The latest completed one and the latest savepoint stay known after they left the history. An
    id that stands twice counts as discarded if either says so.
    """
    if statistics is None:
        return ()
    latest = (statistics.latest.completed, statistics.latest.savepoint)
    found: dict[int, CheckpointFacts] = {}
    for shown in (*statistics.history, *(each for each in latest if each is not None)):
        if shown.id not in found or shown.discarded:
            found[shown.id] = shown
    return tuple(found[each] for each in sorted(found, reverse=True))
