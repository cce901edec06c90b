"""The proof of a storage in the state location (R27)."""

from __future__ import annotations

from flinkstate.places.locations import Location
from orphangc.core.documents.storage_proof import StorageProof, proof_name
from orphangc.ports import StateFiles


def write_proof(files: StateFiles, storage: Location, proof: StorageProof) -> None:
    """Keep a proof; it replaces an older one of the same storage."""
    files.write(proof_name(storage), proof.model_dump_json(indent=1).encode())


def read_proof(files: StateFiles, storage: Location) -> StorageProof | None:
    """Return the proof of a storage; ``None`` without one, or if it cannot be read.

    Raises:
        StorageUnreachableError: The state location cannot be read.
    """
    data = files.read(proof_name(storage))
    if data is None:
        return None
    try:
        return StorageProof.model_validate_json(data)
    except ValueError:
        return None
