"""The settings of one storage root, and a retention policy, as options of the commands.

A command takes those that it needs together, by name. The module of the settings is not loaded
for them: it loads Pydantic, and help needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from flinkstate.files.paths import located
from orphangc.app.console.setting_texts import SETTINGS, Texts
from orphangc.app.wiring.engine_choice import LOCAL, EngineChoice
from orphangc.errors import SettingsError

Values = dict[str, Any]
"""Values of options by the names of their settings."""


class EngineName(StrEnum):
    """Engine that lists and decides."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


DEFAULTS: Mapping[str, Any] = {
    **{name: default for name, (_, default, _) in SETTINGS.items() if default is not None},
    "engine": EngineName.AUTO,
}
"""Defaults of settings as options take and show them: a duration as text."""

_More = tuple[Any, str, Mapping[str, Any]]


def _option(kind: Any, text: str, **more: Any) -> _More:
    return kind, text, more


def _of(name: str, **more: Any) -> tuple[str, _More]:
    """Return the option of a setting, with what it has beside its kind and its text."""
    kind, _, text = SETTINGS[name]
    return name, (kind, text, more)


def _panel(title: str | None, options: Iterable[tuple[str, _More]]) -> Iterator[tuple[str, Any]]:
    """Yield the options of one group of the help; a switch has no opposite."""
    for name, (kind, text, given) in options:
        more = dict(given)
        switch = (f"--{name.replace('_', '-')}",) if kind is bool else ()
        names = more.pop("names", switch)
        after = more.pop(
            "after", "" if kind is not Texts or "epeatable" in text else " Repeatable."
        )
        option = typer.Option(*names, help=f"{text}{after}", rich_help_panel=title, **more)
        yield name, Annotated[kind, option]


_OPTIONS: Mapping[str, Any] = dict(
    [
        *_panel(
            "Safety margins",
            map(
                _of,
                (
                    *("grace_period", "quarantine_period", "checkpoint_id_margin", "clock_skew"),
                    *("quiet_period", "allow_short_margins"),
                ),
            ),
        ),
        *_panel(
            "Evidence",
            [
                *map(_of, ("registry", "registry_wait", "search", "closed_world", "owner", "pin")),
                *map(_of, ("flink_rest", "unsafe_acknowledge_root")),
                _of("merged_within", metavar="JOB|all"),
                _of("ended_job", metavar="JOB|all"),
                _of("job_archives", metavar="URI", names=("--job-archive", "--job-archives")),
                _of("extra_roots", names=("--extra-root", "--extra-roots")),
                _of("empty_roots", metavar="URI", names=("--empty-root", "--empty-roots")),
                _of("search_except", metavar="URI"),
                _of("accept_flink_version", metavar="VERSION"),
                _of("kubernetes_ha", metavar="NAMESPACE"),
                _of("zookeeper_ha", metavar="HOSTS/PATH"),
                _of("alias", metavar="FROM=TO"),
            ],
        ),
        *_panel("Listing", map(_of, ("inventory", "inventory_max_age", "noncurrent_versions"))),
        *_panel(
            "Limits",
            [
                *map(_of, ("abort_uploads", "max_deletes", "delete_rate")),
                _of("max_delete_share", metavar="SHARE|JOB=SHARE"),
            ],
        ),
        *_panel(
            None,
            [
                _of("state"),
                _of("allow_short_grace_period", hidden=True),
                _of("scope", after=" Repeatable, or with commas between."),
            ],
        ),
        *_panel(
            None,
            {
                "engine": _option(EngineName, "Engine that lists and decides."),
                "spark_threshold": _option(
                    int | None,
                    "Number of objects from which 'auto' chooses Spark, if SPARK_MASTER or"
                    " SPARK_REMOTE and --work name a cluster; by default what one process plans"
                    " in half of the time between two runs, as the last ones measured it.",
                    min=1,
                ),
                "work": _option(
                    str | None,
                    "Folder that every Spark executor can reach, for files during the run.",
                ),
                "keep_last": _option(
                    int | None, "The newest checkpoints of a lineage that stay: 1 or more."
                ),
                "keep_within": _option(
                    str | None, "Age, counted from the newest one, up to which all stay."
                ),
                "keep_daily": _option(
                    int | None, "Days, in UTC, of which the newest savepoint stays."
                ),
                "keep_weekly": _option(
                    int | None, "Weeks, from Monday in UTC, of which the newest savepoint stays."
                ),
                "keep_monthly": _option(
                    int | None, "Months, in UTC, of which the newest savepoint stays."
                ),
                "ended_for": _option(
                    str | None, "Time since a job's last sign of life; 30d if a policy is given."
                ),
                "dead": _option(
                    Texts,
                    "Lineage that is given up, by a resource or a job id of it; of one that goes"
                    " on, the branch of that job: even the last checkpoint may go; repeatable.",
                ),
                "continued": _option(
                    Texts,
                    "The newer job was restored from this checkpoint of the older one, NEWER=URI,"
                    " or began from NEWER=nothing; NEWER=OLDER joins both, and lets nothing go;"
                    " repeatable.",
                    metavar="NEWER=OLDER@ID",
                ),
                "savepoints": _option(
                    Texts,
                    "Extra root, or folder in one, whose self-contained savepoints may go with all"
                    " of their files; repeatable.",
                ),
            }.items(),
        ),
    ]
)
"""The option of each setting; one without a default is absent, or off."""

POLICY = (
    *("keep_last", "keep_within", "keep_daily", "keep_weekly", "keep_monthly"),
    *("ended_for", "dead", "continued", "savepoints"),
)
"""Options of a retention policy."""

SEARCHED = ("extra_roots", "empty_roots", "search", "search_except", "closed_world")
"""Options that say where checkpoints are searched for."""

ASKED = ("flink_rest", "accept_flink_version", "kubernetes_ha", "zookeeper_ha", "alias", "pin")
"""Options that say which sources are asked about jobs, and what their answers mean."""

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


def engine_choice(
    *, engine: EngineName, work: str | None, spark_threshold: int | None
) -> EngineChoice:
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
            return EngineChoice(work=place, is_auto=True, threshold=spark_threshold)
