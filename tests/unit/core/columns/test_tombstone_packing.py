"""What keys are looked up by; that rows come back as they were stands in ``test_tombstones``."""

import hashlib

import pyarrow as pa

from orphangc.core.columns.tombstone_packing import words_of_keys
from orphangc.core.columns.uuid_words import bytes_of, uuid_tails
from support.builders import NAME, UUID


def test_keys_without_a_uuid_are_looked_up_by_digests_of_their_own() -> None:
    """Were they all looked up by the same, each look-up would go through all of them."""
    texts = [NAME, "", "x", f"a/41_{NAME}", "é", f"{NAME}/y"]
    keys = pa.array(texts).cast(pa.binary())
    tails = uuid_tails(keys)
    found = bytes_of(*words_of_keys(keys, tails))
    digests = [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts]
    assert [found[at : at + 16] for at in range(0, 16 * len(texts), 16)] == [
        UUID,
        digests[1],
        digests[2],
        UUID,
        digests[4],
        digests[5],
    ]
    assert bytes_of(tails.hi, tails.lo) == UUID + bytes(32) + UUID + bytes(32)
