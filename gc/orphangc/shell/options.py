"""The options that say everything about one storage root, shared by every command that needs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from orphangc.core.settings import StorageRootSettings
from orphangc.errors import SettingsError
from orphangc.shell.compose import absolute, located
from orphangc.shell.engines import EngineChoice

__all__ = ["Output", "is_json", "settings_from"]

_SAFETY, _EVIDENCE, _LIMITS = "Safety margins", "Evidence", "Limits"
_LISTING = "Listing"


class Output(StrEnum):
    """How data is shown on stdout."""

    TABLE = "table"
    JSON = "json"


class Engine(StrEnum):
    """Who lists and decides."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


OutputOption = Annotated[
    Output | None,
    typer.Option("--output", help="table (default on a terminal) or json (default elsewhere)."),
]
GracePeriod = Annotated[
    str,
    typer.Option(help="Age below which nothing is an orphan.", rich_help_panel=_SAFETY),
]
QuarantinePeriod = Annotated[
    str,
    typer.Option(help="How long a tombstone must stand before deletion.", rich_help_panel=_SAFETY),
]
CheckpointIdMargin = Annotated[
    int,
    typer.Option(
        help="Checkpoint ids below the oldest retained one that still count as young.",
        rich_help_panel=_SAFETY,
    ),
]
ClockSkew = Annotated[
    str, typer.Option(help="Slack in every comparison of two clocks.", rich_help_panel=_SAFETY)
]
QuietPeriod = Annotated[
    str,
    typer.Option(
        help="How long an ended job's directory must have been still.", rich_help_panel=_SAFETY
    ),
]
AllowShortGracePeriod = Annotated[
    bool,
    typer.Option(
        "--allow-short-grace-period",
        help="Accept a grace period below 24h.",
        rich_help_panel=_SAFETY,
    ),
]
ScopeOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Also report on taskowned, exclusive or changelog; never collected. Repeatable."
    ),
]
Registry = Annotated[
    list[str] | None,
    typer.Option(
        help="Registry snapshot, or a folder of them. Repeatable.", rich_help_panel=_EVIDENCE
    ),
]
ExtraRoots = Annotated[
    list[str] | None,
    typer.Option(
        help="Savepoints and other storages whose checkpoints may refer here. Repeatable.",
        rich_help_panel=_EVIDENCE,
    ),
]
ClosedWorld = Annotated[
    bool,
    typer.Option(
        "--closed-world",
        help="State that ROOT and the extra roots are all there is.",
        rich_help_panel=_EVIDENCE,
    ),
]
EndedJob = Annotated[
    list[str] | None,
    typer.Option(
        help="State that this job (or 'all') is over. Repeatable.", rich_help_panel=_EVIDENCE
    ),
]
Owner = Annotated[
    str | None,
    typer.Option(
        help="The one job of a directory not named by a job id.", rich_help_panel=_EVIDENCE
    ),
]
FlinkRestOption = Annotated[
    list[str] | None,
    typer.Option(
        "--flink-rest", help="Flink REST endpoint to ask. Repeatable.", rich_help_panel=_EVIDENCE
    ),
]
AliasOption = Annotated[
    list[str] | None,
    typer.Option(
        help="FROM=TO: paths inside _metadata that start with FROM mean TO. Repeatable.",
        rich_help_panel=_EVIDENCE,
    ),
]
Pin = Annotated[
    list[str] | None,
    typer.Option(help="File or folder that must stay. Repeatable.", rich_help_panel=_EVIDENCE),
]
AcknowledgeRoot = Annotated[
    list[str] | None,
    typer.Option(
        "--unsafe-acknowledge-root",
        help="URI=SHA256 of a _metadata known to be broken. Repeatable.",
        rich_help_panel=_EVIDENCE,
    ),
]
Inventory = Annotated[
    str | None,
    typer.Option(
        help="S3 Inventory to plan from instead of listing: a manifest.json, or the folder of"
        " its reports.",
        rich_help_panel=_LISTING,
    ),
]
InventoryMaxAge = Annotated[
    str,
    typer.Option(help="Age above which an inventory is refused.", rich_help_panel=_LISTING),
]
NoncurrentVersions = Annotated[
    bool,
    typer.Option(
        "--noncurrent-versions",
        help="Also count noncurrent versions: takes a second listing.",
        rich_help_panel=_LISTING,
    ),
]
EngineOption = Annotated[Engine, typer.Option(help="Who lists and decides.")]
SparkThreshold = Annotated[int, typer.Option(help="Objects from which 'auto' would choose Spark.")]
Work = Annotated[
    str | None,
    typer.Option(
        help="Folder that all of Spark's executors see; holds their files while they work."
    ),
]
State = Annotated[
    str | None,
    typer.Option(help="Where tombstones, journal, history and lock live; never inside ROOT."),
]
MaxDeleteShare = Annotated[
    float,
    typer.Option(help="Largest part of a job's objects that may go.", rich_help_panel=_LIMITS),
]
MaxDeletes = Annotated[
    int | None, typer.Option(help="Most objects of one sweep.", rich_help_panel=_LIMITS)
]
DeleteRate = Annotated[
    int,
    typer.Option(
        help="Most keys a second that a sweep deletes; throttling lowers it.",
        rich_help_panel=_LIMITS,
    ),
]

_PLACES = ("root", "state", "registry", "extra_roots", "pin", "inventory")


def settings_from(values: Mapping[str, Any]) -> StorageRootSettings:
    """Return the settings that options, or a part of the configuration file, amount to.

    Raises:
        SettingsError: In one line: which setting, and what is wrong with it.

    """
    given = {name: value for name, value in values.items() if value is not None}
    for name in (*_PLACES, "alias"):
        if name in given:
            given[name] = _each(given[name], _absolute_alias if name == "alias" else absolute)
    try:
        return StorageRootSettings.model_validate(given)
    except ValidationError as err:
        raise SettingsError(first_problem(err)) from err


def _each(value: Any, change: Callable[[str], str]) -> Any:
    """Return a text, or each text of a list, changed; what is neither is judged later."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return tuple(_each(each, change) for each in value)
    return value


def _absolute_alias(text: str) -> str:
    source, _, target = text.partition("=")
    return f"{absolute(source)}={absolute(target)}" if source and target else text


def first_problem(err: ValidationError) -> str:
    """Return the first validation error in one line, without the value that may be secret."""
    first = err.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message


def engine_choice(engine: Engine, work: str | None) -> EngineChoice:
    """Return who lists and decides.

    Raises:
        SettingsError: ``--work`` names no place, or is of no use.

    """
    if engine is not Engine.SPARK:
        if work is not None:
            raise SettingsError("--work is for --engine spark")
        return EngineChoice()
    return EngineChoice(is_spark=True, work=None if work is None else located(work))


def is_json(output: Output | None, *, is_terminal: Callable[[], bool]) -> bool:
    """Return whether data is to be printed as JSON."""
    if output is None:
        return not is_terminal()
    return output is Output.JSON


PlanFolder = Annotated[Path, typer.Argument(help="Folder of a saved plan.", metavar="DIR")]
