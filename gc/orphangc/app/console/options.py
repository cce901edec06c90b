"""The options that describe one storage root, and a retention policy, for all commands.

A command takes those that are settings together, by name. The module of the settings is not loaded
for them: it loads Pydantic, and help needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from flinkstate.console.options import AliasOption, OutputOption
from flinkstate.tables.printing import Output
from orphangc.app.console.setting_texts import SETTINGS, Texts
from orphangc.core.model.shown import RunMode, SearchScope, Shown
from orphangc.errors import SettingsError

if TYPE_CHECKING:
    from orphangc.app.wiring.engines import EngineChoice

__all__ = ["AliasOption", "Output", "OutputOption"]


class SchemaOf(StrEnum):
    """File that a JSON schema describes."""

    CONFIGURATION = "configuration"
    DECLARATIONS = "declarations"


SearchOrNone = Annotated[
    SearchScope | None,
    typer.Option(
        help="What is searched: storage (default) needs all of each bucket, places less.",
        rich_help_panel="Evidence",
    ),
]
Root = Annotated[
    str, typer.Argument(help="The storage root: holds the job directories.", metavar="ROOT")
]
PlanFolder = Annotated[Path, typer.Argument(help="Folder of a saved plan.", metavar="DIR")]
DoctorConfig = Annotated[Path | None, typer.Option("--config", help="The configuration file.")]
Prove = Annotated[
    str | None,
    typer.Option(
        metavar="URI",
        help="Try in a new folder in URI, which is removed again, what a deletion relies on: order"
        " and names of a listing, conditional delete, clock, lock, undelete.",
    ),
]
ProofState = Annotated[
    str | None,
    typer.Option(
        "--state",
        metavar="URL",
        help="State location that keeps a proof: it allows deletion there.",
    ),
]
ConfigFile = Annotated[Path, typer.Option(help="The configuration file.")]


class Provider(StrEnum):
    """Provider of a storage."""

    AWS = "aws"
    CEPH = "ceph"
    GCS = "gcs"
    AZURE = "azure"


class Partition(StrEnum):
    """Partition of AWS."""

    AWS = "aws"
    CHINA = "aws-cn"
    US_GOV = "aws-us-gov"


ProviderOption = Annotated[Provider, typer.Option(help="Provider whose policy language is used.")]
PolicyRoot = Annotated[
    str | None,
    typer.Option(help="Storage root: the URI that holds the job directories.", metavar="URI"),
]
PolicyConfig = Annotated[
    Path | None, typer.Option(help="Configuration file, for all of its storage roots at once.")
]
PolicyMode = Annotated[
    RunMode | None,
    typer.Option(help="Highest mode of the runs; by default the file's, or delete without a file."),
]
MayUndelete = Annotated[bool, typer.Option("--undelete", help="Also allow undelete.")]
MayExamine = Annotated[
    bool,
    typer.Option("--doctor", help="Also allow doctor to read lifecycle rules and Object Lock."),
]
MayExpire = Annotated[
    bool, typer.Option("--expire", help="Also allow sweeps of plans of expire; a file says it.")
]
PartitionOption = Annotated[Partition, typer.Option(help="Partition of AWS.")]


Values = dict[str, Any]
"""Values of options by the names of their settings."""


class EngineName(StrEnum):
    """Engine that lists and decides."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


DEFAULTS: Mapping[str, Any] = {
    **{name: default for name, (_, default, *_) in SETTINGS.items() if default is not None},
    "engine": EngineName.AUTO,
}
"""Defaults of settings as options take and show them: a duration as text."""

_OTHERS: Mapping[str, tuple[Any, Shown, str]] = {
    "engine": (EngineName, Shown(is_seldom=True), "Engine that lists and decides."),
    "spark_threshold": (
        int | None,
        Shown(is_seldom=True, least=1),
        (
            "Number of objects from which 'auto' chooses Spark, if SPARK_MASTER or SPARK_REMOTE and"
            " --work name a cluster; by default what one process plans in half of the time between"
            " two runs, as the last ones measured it."
        ),
    ),
    "work": (
        str | None,
        Shown(metavar="URL", is_seldom=True),
        "Folder that every Spark executor can reach, for files during the run.",
    ),
    "keep_last": (int | None, Shown(), "The newest checkpoints of a lineage that stay: 1 or more."),
    "keep_within": (
        str | None,
        Shown(metavar="DURATION"),
        "Age, counted from the newest one, up to which all stay.",
    ),
    "keep_daily": (
        int | None,
        Shown(is_seldom=True),
        "Days, in UTC, of which the newest savepoint stays.",
    ),
    "keep_weekly": (
        int | None,
        Shown(is_seldom=True),
        "Weeks, from Monday in UTC, of which the newest savepoint stays.",
    ),
    "keep_monthly": (
        int | None,
        Shown(is_seldom=True),
        "Months, in UTC, of which the newest savepoint stays.",
    ),
    "ended_for": (
        str | None,
        Shown(metavar="DURATION"),
        "Time since a job's last sign of life; 30d if a policy is given.",
    ),
    "dead": (
        Texts,
        Shown(),
        (
            "Lineage that is given up, by a resource or a job id of it; of one that goes on, the"
            " branch of that job: even the last checkpoint may go; repeatable."
        ),
    ),
    "continued": (
        Texts,
        Shown(metavar="NEWER=OLDER@ID", is_seldom=True),
        (
            "The newer job was restored from this checkpoint of the older one, NEWER=URI, or began"
            " from NEWER=nothing; NEWER=OLDER joins both, and lets nothing go; repeatable."
        ),
    ),
    "savepoints": (
        Texts,
        Shown(),
        (
            "Extra root, or folder in one, whose self-contained savepoints may go with all of their"
            " files; repeatable."
        ),
    ),
}
"""Kind, look and text of the options of engines and of retention policies."""


def _option(name: str, kind: Any, shown: Shown, text: str) -> Any:
    """Return the option of a setting; a switch has no opposite."""
    dashed = f"--{name.replace('_', '-')}"
    names: tuple[str, ...] = (dashed,) if kind is bool else ()
    option = typer.Option(
        *((dashed.removesuffix("s"), dashed) if shown.is_one else names),
        help=text,
        metavar=shown.metavar,
        rich_help_panel=shown.panel,
        hidden=shown.is_hidden,
        min=shown.least,
    )
    return Annotated[kind, option]


_OPTIONS: Mapping[str, Any] = {
    **{name: _option(name, kind, shown, text) for name, (kind, _, shown, text) in SETTINGS.items()},
    **{name: _option(name, *each) for name, each in _OTHERS.items()},
}
"""The option of each setting; one without a default is absent, or off."""

SELDOM = frozenset(
    {
        *(name for name, (_, _, shown, _) in SETTINGS.items() if shown.is_seldom),
        *(name for name, (_, shown, _) in _OTHERS.items() if shown.is_seldom),
    }
)
"""Those that ``--help`` leaves out where a command has more than fit a screen."""

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

ALL = (*(name for name in SETTINGS if name != "state"), *ENGINE, "state")
"""Every option of a plan."""


def _default(name: str, option: Any) -> Any:
    """Return the default of an option; one that may be repeated is absent, and its help says it."""
    if option.__origin__ is bool:
        return False
    is_own = option is not _OPTIONS.get(name)
    return None if is_own or option.__origin__ == Texts else DEFAULTS.get(name)


_Command = Callable[..., None]


def gathered(parameter: str, *names: str, **others: Any) -> Callable[[_Command], _Command]:
    """Return a decorator: a command has these options where one parameter stands, which takes them.

    Args:
        parameter: Name of the parameter, which gets the values by the names of the options.
        names: Names of settings, in the order of the help.
        others: Other options for some of them, or after them; absent by default.
    """
    options = {name: _OPTIONS.get(name) for name in names} | others

    def decorate(command: _Command) -> _Command:
        @wraps(command)
        def called(**given: Any) -> None:
            values = {name: given.pop(name) for name in options}
            command(**given, **{parameter: values})

        called.__annotations__ = get_type_hints(command, include_extras=True)
        new = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=_default(name, each), annotation=each)
            for name, each in options.items()
        ]
        parameters: list[Parameter] = []
        for each in signature(command).parameters.values():
            hint = called.__annotations__[each.name]
            parameters += new if each.name == parameter else [each.replace(annotation=hint)]
        called.__annotations__ = {each.name: each.annotation for each in parameters}
        called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return called

    return decorate


def engine_choice(
    *, engine: EngineName, work: str | None, spark_threshold: int | None
) -> EngineChoice:
    """Return the choice of engine; ``SettingsError`` if ``--work`` is no place, or not used."""
    if engine is EngineName.LOCAL and work is not None:
        raise SettingsError("--work is for --engine spark or auto")
    from orphangc.app.wiring.engines import EngineChoice  # noqa: PLC0415 - not for help

    return EngineChoice.of(engine, work, spark_threshold)
