"""Ports: what the collection needs from other systems, one verb each; adapters implement them.

Keys are relative to the storage root that an adapter was opened for. Every method translates
the errors of its library: a storage that cannot be reached raises ``StorageUnreachableError``.
No error becomes an empty answer.
"""

from orphangc.core.decision.kernel import VERDICT_SCHEMA as VERDICT_SCHEMA
from orphangc.ports.callbacks import Progress as Progress
from orphangc.ports.callbacks import Waiter as Waiter
from orphangc.ports.cluster import ClusterClient as ClusterClient
from orphangc.ports.cluster import FactsSource as FactsSource
from orphangc.ports.cluster import HaMetadata as HaMetadata
from orphangc.ports.row_files import OUTCOME_SCHEMA as OUTCOME_SCHEMA
from orphangc.ports.row_files import OutcomeSink as OutcomeSink
from orphangc.ports.row_files import Spool as Spool
from orphangc.ports.row_files import SpoolPart as SpoolPart
from orphangc.ports.row_files import VerdictSink as VerdictSink
from orphangc.ports.state import StateFiles as StateFiles
from orphangc.ports.storage import Storage as Storage
from orphangc.ports.storage_values import HIDDEN_SCHEMA as HIDDEN_SCHEMA
from orphangc.ports.storage_values import LISTING_SCHEMA as LISTING_SCHEMA
from orphangc.ports.storage_values import DeletionResult as DeletionResult
from orphangc.ports.storage_values import DeletionStatus as DeletionStatus
from orphangc.ports.storage_values import EarlierListing as EarlierListing
from orphangc.ports.storage_values import EarlierPart as EarlierPart
from orphangc.ports.storage_values import Folder as Folder
from orphangc.ports.storage_values import HiddenKind as HiddenKind
from orphangc.ports.storage_values import StoreTime as StoreTime
from orphangc.ports.storage_values import Upload as Upload
