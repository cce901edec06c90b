"""The proof that a person made of one storage, kept in the state location (R27)."""

import hashlib
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from flinkstate.places.locations import Location
from orphangc.core.times.instants import Instant
from orphangc.ports import StateFiles


def proof_name(storage: Location) -> str:
    """Return the name of the proof of a storage in a state location."""
    return f"proofs/{hashlib.sha256(str(storage.top).encode()).hexdigest()[:32]}.json"


class StorageProof(BaseModel):
    """A proof that ``doctor --prove`` made in a storage, and all of whose checks passed.

    Attributes:
        storage: URI of the top of the storage: scheme and bucket, host or container.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    storage: str
    proven_at: Instant
    tool_version: str
    client: str
    checks: tuple[str, ...]

    def is_of(self, storage: Location, tool_version: str, client: str) -> bool:
        """Return whether this storage was proven, by this program and this client of it."""
        asked = (str(storage.top), tool_version, client)
        return (self.storage, self.tool_version, self.client) == asked

    def words(self, now: datetime) -> str:
        """Return its age and its versions for people."""
        days = (now - self.proven_at).days
        at = self.proven_at.date().isoformat()
        client = f" with {self.client}" if self.client else ""
        return f"proven {days} days ago ({at}) by orphangc {self.tool_version}{client}"


def write_proof(files: StateFiles, storage: Location, proof: StorageProof) -> None:
    """Keep a proof; it replaces an older one of the same storage."""
    files.write(proof_name(storage), proof.model_dump_json(indent=1).encode())


def read_proof(files: StateFiles, storage: Location) -> StorageProof | None:
    """Return a storage's proof if it has a readable one, or raise ``StorageUnreachableError``."""
    data = files.read(proof_name(storage))
    if data is None:
        return None
    try:
        return StorageProof.model_validate_json(data)
    except ValueError:
        return None
