"""The settings of one storage root, and a retention policy, as options of the commands.

A command takes those that it needs together, by name. The module of the settings is not loaded
for them: it loads Pydantic, and help needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from flinkstate.console.options import AliasOption
from flinkstate.files.paths import located
from orphangc.app.wiring.engine_choice import LOCAL, EngineChoice
from orphangc.core.model.codes import SearchScope
from orphangc.errors import SettingsError

Values = dict[str, Any]
"""Values of options by the names of their settings."""


class EngineName(StrEnum):
    """Engine that lists and decides."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


DEFAULTS: Mapping[str, Any] = {
    "grace_period": "72h",
    "quarantine_period": "24h",
    "checkpoint_id_margin": 1,
    "clock_skew": "15m",
    "quiet_period": "7d",
    "registry_wait": "5m",
    "inventory_max_age": "72h",
    "max_delete_share": 0.5,
    "search": SearchScope.STORAGE,
    "delete_rate": 3200,
    "spark_threshold": 10_000_000,
    "engine": EngineName.AUTO,
}
"""Defaults of settings as options take and show them; a test compares them with the settings, whose
module loads Pydantic."""


_Texts = list[str] | None


def _option(kind: Any, text: str, *names: str, **more: Any) -> tuple[Any, ...]:
    return kind, text, names, more


def _panel(title: str | None, **options: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the options of one group of the help; a switch has no opposite."""
    for name, (kind, text, names, more) in options.items():
        switch = (f"--{name.replace('_', '-')}",) if kind is bool else ()
        is_list = kind is _Texts and "epeatable" not in text
        shown = f"{text} Repeatable." if is_list else text
        option = typer.Option(*(names or switch), help=shown, rich_help_panel=title, **more)
        yield name, Annotated[kind, option]


_OPTIONS: Mapping[str, Any] = dict(
    [
        ("alias", AliasOption),
        *_panel(
            "Safety margins",
            grace_period=_option(str, "Minimum age of an orphan."),
            quarantine_period=_option(str, "Minimum time between tombstone and deletion."),
            checkpoint_id_margin=_option(
                int,
                "Number of checkpoint ids below the oldest retained one that still count as young.",
            ),
            clock_skew=_option(str, "Tolerance in every comparison of two clocks."),
            quiet_period=_option(
                str, "Time for which an ended job's directory must have been unchanged."
            ),
            allow_short_margins=_option(
                bool, "Accept a grace, quarantine or quiet period below 24h, a clock skew below 1m."
            ),
        ),
        *_panel(
            None,
            allow_short_grace_period=_option(
                bool, "Old name of --allow-short-margins.", hidden=True
            ),
            scope=_option(
                _Texts,
                "Area to collect: shared, exclusive (chk-N), savepoint, taskowned, changelog,"
                " merged or forst (default: every area that has a proven rule for the job)."
                " Repeatable, or with commas between.",
            ),
            engine=_option(EngineName, "Engine that lists and decides."),
            spark_threshold=_option(
                int,
                "Number of objects from which 'auto' chooses Spark, if SPARK_MASTER or"
                " SPARK_REMOTE and --work name a cluster.",
                min=1,
            ),
            work=_option(
                str | None, "Folder that every Spark executor can reach, for files during the run."
            ),
            state=_option(
                str | None, "Location of tombstones, journal, history and lock; never inside ROOT."
            ),
        ),
        *_panel(
            "Evidence",
            registry=_option(
                _Texts,
                "Registry snapshot, a folder of them, or the folder that exporters write into.",
            ),
            registry_wait=_option(str, "Maximum time for a running job's exporter to answer."),
            merged_within=_option(
                _Texts,
                "State that the running job merges files within each checkpoint alone"
                " (across-checkpoint-boundary is false), which Flink does not show.",
                metavar="JOB|all",
            ),
            job_archives=_option(
                _Texts,
                "Folder of Flink's JobResultStore, or of archives for the history server: shows"
                " which jobs ended.",
                "--job-archive",
                "--job-archives",
                metavar="URI",
            ),
            extra_roots=_option(
                _Texts,
                "Savepoints and other places whose checkpoints may refer to files here.",
                "--extra-root",
                "--extra-roots",
            ),
            empty_roots=_option(
                _Texts,
                "State that this extra root, or a folder that is gone, holds no checkpoint.",
                "--empty-root",
                "--empty-roots",
                metavar="URI",
            ),
            search=_option(
                SearchScope,
                "Search the whole storage around each named place, or the named places alone.",
            ),
            search_except=_option(
                _Texts,
                "State that this prefix holds no checkpoint: it is not searched.",
                metavar="URI",
            ),
            closed_world=_option(
                bool,
                "State that no checkpoint outside the searched storages refers to files in this"
                " one.",
            ),
            ended_job=_option(
                _Texts, "State that this job (or 'all') has ended.", metavar="JOB|all"
            ),
            owner=_option(
                str | None, "Id of the only job of a directory that is not named by a job id."
            ),
            flink_rest=_option(_Texts, "Flink REST endpoint to ask."),
            accept_flink_version=_option(
                _Texts,
                "Accept a vendor's build of a tested release, as REST shows it.",
                metavar="VERSION",
            ),
            kubernetes_ha=_option(
                _Texts,
                "Namespace whose HA ConfigMaps and Flink resources show which jobs are alive.",
                metavar="NAMESPACE",
            ),
            zookeeper_ha=_option(
                _Texts,
                "ZooKeeper whose HA metadata shows which jobs are alive: host:port,host:port/path.",
                metavar="HOSTS/PATH",
            ),
            pin=_option(_Texts, "File or folder that is never deleted."),
            unsafe_acknowledge_root=_option(
                _Texts, "URI=SHA256 of a _metadata known to be broken."
            ),
        ),
        *_panel(
            "Listing",
            inventory=_option(
                str | None,
                "S3 Inventory to plan from instead of listing: a manifest.json, or the folder"
                " of its reports.",
            ),
            inventory_max_age=_option(str, "Maximum age of an inventory."),
            noncurrent_versions=_option(
                bool, "Also count noncurrent versions; needs a second listing."
            ),
        ),
        *_panel(
            "Limits",
            abort_uploads=_option(
                bool,
                "A sweep with --delete also aborts unfinished uploads that nothing completes"
                " any more; nothing brings them back.",
            ),
            max_delete_share=_option(
                _Texts,
                "Largest share of a job's files in shared/ that may be deleted (default"
                f" {DEFAULTS['max_delete_share']}); JOB=SHARE for one job. Repeatable.",
                metavar="SHARE|JOB=SHARE",
            ),
            max_deletes=_option(int | None, "Maximum number of objects that one sweep deletes."),
            delete_rate=_option(
                int, "Maximum number of keys deleted per second; throttling lowers it."
            ),
        ),
        *_panel(
            None,
            keep_last=_option(
                int | None, "The newest checkpoints of a lineage that stay: 1 or more."
            ),
            keep_within=_option(
                str | None, "Age, counted from the newest one, up to which all stay."
            ),
            keep_daily=_option(int | None, "Days, in UTC, of which the newest savepoint stays."),
            keep_weekly=_option(
                int | None, "Weeks, from Monday in UTC, of which the newest savepoint stays."
            ),
            keep_monthly=_option(
                int | None, "Months, in UTC, of which the newest savepoint stays."
            ),
            ended_for=_option(
                str | None, "Time since a job's last sign of life; 30d if a policy is given."
            ),
            dead=_option(
                _Texts,
                "Lineage that is given up, by a resource or a job id of it; of one that goes"
                " on, the branch of that job: even the last checkpoint may go; repeatable.",
            ),
            continued=_option(
                _Texts,
                "The newer job was restored from this checkpoint of the older one, or"
                " NEWER=URI; NEWER=OLDER joins both, and lets nothing go; repeatable.",
                metavar="NEWER=OLDER@ID",
            ),
            savepoints=_option(
                _Texts,
                "Extra root, or folder in one, whose self-contained savepoints may go with all"
                " of their files; repeatable.",
            ),
        ),
    ]
)
"""The option of each setting; one without a default is absent, or off."""

POLICY = (
    *("keep_last", "keep_within", "keep_daily", "keep_weekly", "keep_monthly"),
    *("ended_for", "dead", "continued", "savepoints"),
)
"""Options of a retention policy."""

ENGINE = ("engine", "spark_threshold", "work")
"""Options of the engine."""

_SHOWN_ONLY = {"max_delete_share"}
"""Settings whose option is absent by default, and whose help states what holds then."""


def _default(name: str) -> Any:
    is_switch = _OPTIONS[name].__origin__ is bool
    return False if is_switch else None if name in _SHOWN_ONLY else DEFAULTS.get(name)


_Command = Callable[..., None]


def gathered(parameter: str, *names: str, **others: Any) -> Callable[[_Command], _Command]:
    """Return a decorator: a command has these options where one parameter stands, which takes them.

    Args:
        parameter: Name of the parameter, which gets the values by the names of the options.
        names: Names of settings, in the order of the help.
        others: Other options for some of them, absent by default.

    """

    def decorate(command: _Command) -> _Command:
        @wraps(command)
        def called(**given: Any) -> None:
            values = {name: given.pop(name) for name in names}
            command(**given, **{parameter: values})

        called.__annotations__ = get_type_hints(command, include_extras=True)
        options = [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                default=None if name in others else _default(name),
                annotation=others.get(name, _OPTIONS[name]),
            )
            for name in names
        ]
        parameters: list[Parameter] = []
        for each in signature(command).parameters.values():
            hint = called.__annotations__[each.name]
            parameters += options if each.name == parameter else [each.replace(annotation=hint)]
        called.__annotations__ = {each.name: each.annotation for each in parameters}
        called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return called

    return decorate


def engine_choice(*, engine: EngineName, work: str | None, spark_threshold: int) -> EngineChoice:
    """Return the engine that lists and decides; ``auto`` is decided where the size is known.

    Raises:
        SettingsError: ``--work`` names no place, or the engine does not use it.

    """
    if engine is EngineName.LOCAL and work is not None:
        raise SettingsError("--work is for --engine spark or auto")
    place = None if work is None else located(work)
    match engine:
        case EngineName.LOCAL:
            return LOCAL
        case EngineName.SPARK:
            return EngineChoice(is_spark=True, work=place)
        case EngineName.AUTO:
            return EngineChoice(work=place, threshold=spark_threshold)
