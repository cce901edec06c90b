"""The options that describe one storage root, shared by the commands that take them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from flinkstate.console.options import AliasOption, OutputOption
from flinkstate.tables.printing import Output
from orphangc.core.model.shown import RunMode, SearchScope

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
