"""Ports: what the collection needs from other systems, one verb each; adapters implement them.

Keys are relative to the storage root that an adapter was opened for. Every method translates
the errors of its library: a storage that cannot be reached raises ``StorageUnreachableError``.
No error becomes an empty answer.
"""

from __future__ import annotations

from orphangc.core.decision.kernel import VERDICT_SCHEMA
from orphangc.ports.callbacks import Progress, Waiter
from orphangc.ports.cluster import ClusterClient, ExporterChannel, FactsSource, HaMetadata
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
from orphangc.ports.storage import Storage
from orphangc.ports.storage_values import (
    HIDDEN_SCHEMA,
    LISTING_SCHEMA,
    DeletionResult,
    DeletionStatus,
    EarlierListing,
    EarlierPart,
    Folder,
    HiddenKind,
    StoreTime,
    Upload,
)

__all__ = [
    "HIDDEN_SCHEMA",
    "LISTING_SCHEMA",
    "OUTCOME_SCHEMA",
    "VERDICT_SCHEMA",
    "ClusterClient",
    "DeletionResult",
    "DeletionStatus",
    "EarlierListing",
    "EarlierPart",
    "ExporterChannel",
    "FactsSource",
    "Folder",
    "HaMetadata",
    "HiddenKind",
    "OutcomeSink",
    "Progress",
    "Spool",
    "SpoolPart",
    "StateFiles",
    "Storage",
    "StoreTime",
    "TemporaryRows",
    "TemporarySpace",
    "Upload",
    "VerdictSink",
    "Waiter",
]
