"""Operator ids from uids: the ids under which a checkpoint stores an operator's state."""

import struct

_MASK = (1 << 64) - 1
_C1, _C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
_BLOCK = 16


def operator_id(uid: str) -> str:
    """Return the operator id of a uid, 32 hex digits.

    The id is the 128-bit MurmurHash3 (x64 form, seed 0) of the uid's UTF-8 bytes. A lone surrogate
    becomes a question mark, as in Java. An operator whose job calls ``setUidHash`` has two ids: the
    hash, and this one, or one that Flink generates for want of a uid. Flink restores it from the
    hash if the checkpoint has that, and stores it under the other one in all its own checkpoints.

    Source: Flink 1.8-2.3, ``StreamGraphHasherV2.generateUserSpecifiedHash``, ``OperatorID``; Flink
    1.20.5 and 2.3.0, ``StreamGraphUserHashHasher``, ``JobVertex.getOperatorIDs``,
    ``StateAssignmentOperation.assignStates``, ``PendingCheckpoint.updateOperatorState``.
    """
    data = uid.encode("utf-8", "replace")
    h1 = h2 = 0
    whole = len(data) - len(data) % _BLOCK
    for k1, k2 in struct.iter_unpack("<QQ", data[:whole]):
        h1 = _add(_rotated(h1 ^ _first(k1), 27), h2) * 5 + 0x52DCE729 & _MASK
        h2 = _add(_rotated(h2 ^ _second(k2), 31), h1) * 5 + 0x38495AB5 & _MASK
    k1, k2 = struct.unpack("<QQ", data[whole:].ljust(_BLOCK, b"\0"))
    h1 ^= _first(k1) ^ len(data)
    h2 ^= _second(k2) ^ len(data)
    h1 = _add(h1, h2)
    h2 = _add(h2, h1)
    h1, h2 = _mixed(h1), _mixed(h2)
    h1 = _add(h1, h2)
    h2 = _add(h2, h1)
    return struct.pack("<QQ", h1, h2).hex()


def _add(one: int, other: int) -> int:
    return one + other & _MASK


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK


def _first(block: int) -> int:
    return _rotated(block * _C1 & _MASK, 31) * _C2 & _MASK


def _second(block: int) -> int:
    return _rotated(block * _C2 & _MASK, 33) * _C1 & _MASK


def _mixed(value: int) -> int:
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & _MASK
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ value >> 33
