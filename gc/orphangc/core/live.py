"""The live set: everything that some root, registry snapshot or pin refers to."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

__all__ = ["LiveSet"]


@dataclass(slots=True)
class LiveSet:
    """UUIDs that are in use, from two independent oracles.

    Every flat artifact's name ends in a UUID, and UUIDs are unique, so the UUID of a referenced
    base name covers its path, its base name, and its id-less form alike (R5): aliases, moved
    trees and FLINK-39964's wrong directories included.

    Attributes:
        parsed: From the references that the parser found, registry entries, and pins.
        raw: From a search of the roots' raw bytes, which no parser bug can hide (R7).

    """

    parsed: set[bytes] = field(default_factory=set)
    raw: set[bytes] = field(default_factory=set)

    def __contains__(self, uuid: bytes) -> bool:
        """Return whether either oracle names the UUID."""
        return uuid in self.parsed or uuid in self.raw

    def digest(self) -> str:
        """Return a sha256 over the sorted members: the identity of the evidence."""
        digest = hashlib.sha256()
        for uuid in sorted(self.parsed | self.raw):
            digest.update(uuid)
        return digest.hexdigest()
