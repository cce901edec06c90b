"""Ports: what the collection needs from other systems, one verb each; adapters implement them.

Keys are relative to the storage root that an adapter was opened for. Every method translates
the errors of its library: a storage that cannot be reached raises ``StorageUnreachableError``.
No error becomes an empty answer.
"""

from __future__ import annotations

from orphangc.core.decision.kernel import VERDICT_SCHEMA
from orphangc.ports.callbacks import Progress, Waiter
from orphangc.ports.cluster import (
    ClusterClient,
    ExporterChannel,
    ExporterReader,
    HaMetadata,
    NonceWriter,
)
from orphangc.ports.row_files import (
    OUTCOME_SCHEMA,
    OutcomeSink,
    Spool,
    SpoolPart,
    TemporaryRows,
    TemporarySpace,
    VerdictSink,
)
from orphangc.ports.state import StateFiles
from orphangc.ports.storage import (
    LISTING_SCHEMA,
    Deleter,
    DeletionResult,
    DeletionStatus,
    Folder,
    Lister,
    Reader,
    Storage,
    StoreClock,
    StoreTime,
    Undeleter,
)
from orphangc.ports.storage_extras import (
    HIDDEN_SCHEMA,
    EarlierListing,
    EmptyFolders,
    Extras,
    HiddenKind,
    Inventoried,
    ListedEarlier,
    MayAvoidListing,
    ShowsLaterFolders,
    SmallRoot,
    Upload,
    last_folders,
)

__all__ = [
    "HIDDEN_SCHEMA",
    "LISTING_SCHEMA",
    "OUTCOME_SCHEMA",
    "VERDICT_SCHEMA",
    "ClusterClient",
    "Deleter",
    "DeletionResult",
    "DeletionStatus",
    "EarlierListing",
    "EmptyFolders",
    "ExporterChannel",
    "ExporterReader",
    "Extras",
    "Folder",
    "HaMetadata",
    "HiddenKind",
    "Inventoried",
    "ListedEarlier",
    "Lister",
    "MayAvoidListing",
    "NonceWriter",
    "OutcomeSink",
    "Progress",
    "Reader",
    "ShowsLaterFolders",
    "SmallRoot",
    "Spool",
    "SpoolPart",
    "StateFiles",
    "Storage",
    "StoreClock",
    "StoreTime",
    "TemporaryRows",
    "TemporarySpace",
    "Undeleter",
    "Upload",
    "VerdictSink",
    "Waiter",
    "last_folders",
]
