"""What the collection needs from outside, one verb each; adapters provide it.

Keys are relative to the storage root that an adapter was opened for. Every method translates
the failures of its library: what cannot be reached raises ``StorageUnreachableError``, and no
error is ever turned into an empty answer.
"""

from __future__ import annotations

from orphangc.core.decision.kernel import VERDICT_SCHEMA
from orphangc.ports.callbacks import Progress, Waiter
from orphangc.ports.cluster import ExportFolder, Exports, HaMetadata, JobRegistry, Nonces
from orphangc.ports.rows import (
    OUTCOME_SCHEMA,
    OutcomeSink,
    Pile,
    Scratch,
    Spool,
    SpoolPart,
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
from orphangc.ports.storage_extras import HIDDEN_SCHEMA, Extras, HiddenKind, Inventoried

__all__ = [
    "HIDDEN_SCHEMA",
    "LISTING_SCHEMA",
    "OUTCOME_SCHEMA",
    "VERDICT_SCHEMA",
    "Deleter",
    "DeletionResult",
    "DeletionStatus",
    "ExportFolder",
    "Exports",
    "Extras",
    "Folder",
    "HaMetadata",
    "HiddenKind",
    "Inventoried",
    "JobRegistry",
    "Lister",
    "Nonces",
    "OutcomeSink",
    "Pile",
    "Progress",
    "Reader",
    "Scratch",
    "Spool",
    "SpoolPart",
    "StateFiles",
    "Storage",
    "StoreClock",
    "StoreTime",
    "Undeleter",
    "VerdictSink",
    "Waiter",
]
