"""The options that describe one storage root, shared by the commands that take them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from flinkstate.console.options import AliasOption, OutputOption
from flinkstate.files.paths import located
from flinkstate.tables.printing import Output
from orphangc.app.wiring.engine_choice import LOCAL, EngineChoice
from orphangc.core.model.codes import SearchScope
from orphangc.errors import SettingsError

__all__ = ["AliasOption", "Output", "OutputOption"]

_SAFETY, _EVIDENCE, _LIMITS = "Safety margins", "Evidence", "Limits"
_LISTING = "Listing"

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
}
"""Defaults of settings as options take and show them; a test compares them with the settings, whose
module loads Pydantic."""


def default_of(setting: str) -> Any:
    """Return the default of a setting as its option takes and shows it: a duration as text."""
    return DEFAULTS[setting]


class SchemaOf(StrEnum):
    """File that a JSON schema describes."""

    CONFIGURATION = "configuration"
    DECLARATIONS = "declarations"


class EngineName(StrEnum):
    """Engine that lists and decides."""

    AUTO = "auto"
    LOCAL = "local"
    SPARK = "spark"


GracePeriod = Annotated[
    str,
    typer.Option(help="Minimum age of an orphan.", rich_help_panel=_SAFETY),
]
QuarantinePeriod = Annotated[
    str,
    typer.Option(help="Minimum time between tombstone and deletion.", rich_help_panel=_SAFETY),
]
CheckpointIdMargin = Annotated[
    int,
    typer.Option(
        help="Number of checkpoint ids below the oldest retained one that still count as young.",
        rich_help_panel=_SAFETY,
    ),
]
ClockSkew = Annotated[
    str, typer.Option(help="Tolerance in every comparison of two clocks.", rich_help_panel=_SAFETY)
]
QuietPeriod = Annotated[
    str,
    typer.Option(
        help="Time for which an ended job's directory must have been unchanged.",
        rich_help_panel=_SAFETY,
    ),
]
AllowShortMargins = Annotated[
    bool,
    typer.Option(
        "--allow-short-margins",
        help="Accept a grace, quarantine or quiet period below 24h, a clock skew below 1m.",
        rich_help_panel=_SAFETY,
    ),
]
AllowShortGracePeriod = Annotated[
    bool,
    typer.Option(
        "--allow-short-grace-period",
        help="Old name of --allow-short-margins.",
        hidden=True,
    ),
]
ScopeOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Area to collect: shared, exclusive (chk-N), savepoint, taskowned, changelog, merged"
        " or forst (default: every area that has a proven rule for the job). Repeatable, or with"
        " commas between."
    ),
]
Registry = Annotated[
    list[str] | None,
    typer.Option(
        help="Registry snapshot, a folder of them, or the folder that exporters write into."
        " Repeatable.",
        rich_help_panel=_EVIDENCE,
    ),
]
RegistryWait = Annotated[
    str,
    typer.Option(
        help="Maximum time for a running job's exporter to answer.", rich_help_panel=_EVIDENCE
    ),
]
MergedWithin = Annotated[
    list[str] | None,
    typer.Option(
        metavar="JOB|all",
        help="State that the running job merges files within each checkpoint alone"
        " (across-checkpoint-boundary is false), which Flink does not show. Repeatable.",
        rich_help_panel=_EVIDENCE,
    ),
]
JobArchives = Annotated[
    list[str] | None,
    typer.Option(
        "--job-archive",
        "--job-archives",
        metavar="URI",
        help="Folder of Flink's JobResultStore, or of archives for the history server: shows which"
        " jobs ended. Repeatable.",
        rich_help_panel=_EVIDENCE,
    ),
]
ExtraRoots = Annotated[
    list[str] | None,
    typer.Option(
        "--extra-root",
        "--extra-roots",
        help="Savepoints and other places whose checkpoints may refer to files here. Repeatable.",
        rich_help_panel=_EVIDENCE,
    ),
]
EmptyRoots = Annotated[
    list[str] | None,
    typer.Option(
        "--empty-root",
        "--empty-roots",
        metavar="URI",
        help="State that this extra root, or a folder that is gone, holds no checkpoint."
        " Repeatable.",
        rich_help_panel=_EVIDENCE,
    ),
]
Search = Annotated[
    SearchScope,
    typer.Option(
        help="Search the whole storage around each named place, or the named places alone.",
        rich_help_panel=_EVIDENCE,
    ),
]
SearchOrNone = Annotated[
    SearchScope | None,
    typer.Option(
        help="What is searched: storage (default) needs all of each bucket, places less.",
        rich_help_panel=_EVIDENCE,
    ),
]
SearchExcept = Annotated[
    list[str] | None,
    typer.Option(
        metavar="URI",
        help="State that this prefix holds no checkpoint: it is not searched. Repeatable.",
        rich_help_panel=_EVIDENCE,
    ),
]
ClosedWorld = Annotated[
    bool,
    typer.Option(
        "--closed-world",
        help="State that no checkpoint outside the searched storages refers to files in this one.",
        rich_help_panel=_EVIDENCE,
    ),
]
EndedJob = Annotated[
    list[str] | None,
    typer.Option(
        metavar="JOB|all",
        help="State that this job (or 'all') has ended. Repeatable.",
        rich_help_panel=_EVIDENCE,
    ),
]
Owner = Annotated[
    str | None,
    typer.Option(
        help="Id of the only job of a directory that is not named by a job id.",
        rich_help_panel=_EVIDENCE,
    ),
]
FlinkRestOption = Annotated[
    list[str] | None,
    typer.Option(
        "--flink-rest", help="Flink REST endpoint to ask. Repeatable.", rich_help_panel=_EVIDENCE
    ),
]
AcceptFlinkVersion = Annotated[
    list[str] | None,
    typer.Option(
        "--accept-flink-version",
        metavar="VERSION",
        help="Accept a vendor's build of a tested release, as REST shows it. Repeatable.",
        rich_help_panel=_EVIDENCE,
    ),
]
KubernetesHaOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kubernetes-ha",
        metavar="NAMESPACE",
        help="Namespace whose HA ConfigMaps and Flink resources show which jobs are alive."
        " Repeatable.",
        rich_help_panel=_EVIDENCE,
    ),
]
ZooKeeperHaOption = Annotated[
    list[str] | None,
    typer.Option(
        "--zookeeper-ha",
        metavar="HOSTS/PATH",
        help="ZooKeeper whose HA metadata shows which jobs are alive: host:port,host:port/path."
        " Repeatable.",
        rich_help_panel=_EVIDENCE,
    ),
]
Pin = Annotated[
    list[str] | None,
    typer.Option(
        help="File or folder that is never deleted. Repeatable.", rich_help_panel=_EVIDENCE
    ),
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
    typer.Option(help="Maximum age of an inventory.", rich_help_panel=_LISTING),
]
NoncurrentVersions = Annotated[
    bool,
    typer.Option(
        "--noncurrent-versions",
        help="Also count noncurrent versions; needs a second listing.",
        rich_help_panel=_LISTING,
    ),
]
AbortUploads = Annotated[
    bool,
    typer.Option(
        "--abort-uploads",
        help="A sweep with --delete also aborts unfinished uploads that nothing completes any"
        " more; nothing brings them back.",
        rich_help_panel=_LIMITS,
    ),
]
EngineOption = Annotated[EngineName, typer.Option(help="Engine that lists and decides.")]
SparkThreshold = Annotated[
    int,
    typer.Option(
        help="Number of objects from which 'auto' chooses Spark, if SPARK_MASTER or SPARK_REMOTE"
        " and --work name a cluster.",
        min=1,
    ),
]
Work = Annotated[
    str | None,
    typer.Option(help="Folder that every Spark executor can reach, for files during the run."),
]
State = Annotated[
    str | None,
    typer.Option(help="Location of tombstones, journal, history and lock; never inside ROOT."),
]
MaxDeleteShare = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SHARE|JOB=SHARE",
        help="Largest share of a job's files in shared/ that may be deleted (default"
        f" {default_of('max_delete_share')}); JOB=SHARE for one job. Repeatable.",
        rich_help_panel=_LIMITS,
    ),
]
MaxDeletes = Annotated[
    int | None,
    typer.Option(help="Maximum number of objects that one sweep deletes.", rich_help_panel=_LIMITS),
]
DeleteRate = Annotated[
    int,
    typer.Option(
        help="Maximum number of keys deleted per second; throttling lowers it.",
        rich_help_panel=_LIMITS,
    ),
]


def engine_choice(engine: EngineName, work: str | None, threshold: int) -> EngineChoice:
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
            return EngineChoice(work=place, threshold=threshold)


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
    typer.Option("--state", help="State location that keeps a proof: it allows deletion there."),
]
ConfigFile = Annotated[Path, typer.Option(help="The configuration file.")]


class HighestMode(StrEnum):
    """Highest mode of runs; see ``RunMode``."""

    REPORT = "report"
    QUARANTINE = "quarantine"
    DELETE = "delete"


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
    HighestMode | None,
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
