"""Storages of a kind that is not tested: one of them may be proven by itself (R27)."""

from __future__ import annotations

from flinkstate.places.locations import Location
from orphangc import __version__
from orphangc.adapters.open import open_state_files
from orphangc.app.wiring.clock import now
from orphangc.ports import Storage


def with_proof(storage: Storage, state: Location) -> Storage:
    """Return a storage that counts as tested if the state location holds a proof of it.

    A proof by another version of orphangc or of the storage's client proves nothing.

    Raises:
        StorageUnreachableError: The state location cannot be read.
    """
    if storage.is_tested:
        return storage
    from orphangc.collect.state.storage_proof import read_proof  # noqa: PLC0415 - rarely used

    proof = read_proof(open_state_files(state), storage.location)
    if proof is not None and proof.is_of(storage.location, __version__, storage.client):
        storage.is_tested, storage.proof = True, proof.words(now())
    return storage
