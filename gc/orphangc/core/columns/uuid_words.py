"""UUIDs as pairs of numbers: read from the ends of many texts at once, and written back.

A UUID's 16 bytes are two unsigned big-endian words, so the order of the pairs is the order of
the bytes, and of the lower-case texts.
"""

import binascii
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

UUID_LENGTH = 36
HEX_LENGTH = 32

_DASHES = np.array([8, 13, 18, 23])
_DIGITS = np.setdiff1d(np.arange(UUID_LENGTH), _DASHES)
_ZERO, _DASH = b"0-"
_HEXADECIMAL = b"0123456789abcdef"
_OTHERS_TO_ZERO = bytes(byte if byte in _HEXADECIMAL else _ZERO for byte in range(256))
_Letters = npt.NDArray[np.uint8]
_Words = npt.NDArray[np.uint64]
_Mask = npt.NDArray[np.bool_]


class Sixteen(NamedTuple):
    """Sixteen bytes that each of n texts shows, as lower-case hexadecimal digits.

    Attributes:
        hi: uint64[n], the first eight; 0 without them.
        lo: uint64[n], the others; 0 without them.
    """

    has: _Mask
    hi: _Words
    lo: _Words


def uuid_tails(texts: pa.BinaryArray) -> Sixteen:
    """Return the UUIDs that UTF-8 texts end in; ``names.uuid_of`` for many, none of them null."""
    return _read(texts, UUID_LENGTH, _read_tails)


def hex_heads(texts: pa.BinaryArray) -> Sixteen:
    """Return the 32 hexadecimal digits that texts start with, as MD5 sums do; none is null."""
    return _read(texts, HEX_LENGTH, _read_heads)


def _read(texts: pa.BinaryArray, length: int, read: Callable[[pa.BinaryArray], Sixteen]) -> Sixteen:
    is_long = np.asarray(pc.binary_length(texts)) >= length
    if is_long.all():
        return read(texts)
    found = Sixteen(
        has=np.zeros(len(texts), np.bool_),
        hi=np.zeros(len(texts), np.uint64),
        lo=np.zeros(len(texts), np.uint64),
    )
    for column, part in zip(found, read(texts.filter(pa.array(is_long))), strict=True):
        column[is_long] = part
    return found


def _read_tails(texts: pa.BinaryArray) -> Sixteen:
    tails = _letters(pc.binary_slice(texts, -UUID_LENGTH), UUID_LENGTH)
    has_dashes = (tails.take(_DASHES, axis=1) == _DASH).all(axis=1)
    return _decoded(tails.take(_DIGITS, axis=1), has_dashes)


def _read_heads(texts: pa.BinaryArray) -> Sixteen:
    heads = _letters(pc.binary_slice(texts, 0, HEX_LENGTH), HEX_LENGTH)
    return _decoded(heads, np.ones(len(heads), np.bool_))


def _decoded(letters: _Letters, is_candidate: _Mask) -> Sixteen:
    digits = letters.tobytes()
    # unhexlify also takes capitals, and raises at anything else: what it gets has neither
    harmless = digits.translate(_OTHERS_TO_ZERO)
    is_same = np.frombuffer(digits, np.uint64) == np.frombuffer(harmless, np.uint64)
    has = is_same.reshape(-1, 4).all(axis=1) & is_candidate
    hi, lo = words_of(binascii.unhexlify(harmless))
    if not has.all():
        hi[~has] = lo[~has] = 0
    return Sixteen(has, hi, lo)


def _letters(texts: pa.BinaryArray, width: int) -> _Letters:
    if len(texts) == 0:
        return np.empty((0, width), np.uint8)
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]].reshape(len(texts), width)


def words_of(uuids: bytes) -> tuple[_Words, _Words]:
    """Return the two columns of consecutive UUIDs, 16 bytes each."""
    pairs = np.frombuffer(uuids, ">u8").reshape(-1, 2)
    return pairs[:, 0].astype(np.uint64), pairs[:, 1].astype(np.uint64)


def bytes_of(hi: _Words, lo: _Words) -> bytes:
    """Return the UUIDs of two columns one after the other, 16 bytes each."""
    return np.column_stack((hi, lo)).astype(">u8").tobytes()


def uuid_texts(hi: _Words, lo: _Words) -> pa.StringArray:
    """Return UUIDs as Flink spells them: what ``uuid_tails`` reads back."""
    letters = np.full((len(hi), UUID_LENGTH), _DASH, np.uint8)
    letters[:, _DIGITS] = _encoded(hi, lo)
    return _texts(letters)


def texts_of(hi: _Words, lo: _Words) -> list[str]:
    """Return the same as a list."""
    texts: list[str] = uuid_texts(hi, lo).to_pylist()
    return texts


def hex_texts(hi: _Words, lo: _Words) -> pa.StringArray:
    """Return 32 hexadecimal digits each: what ``hex_heads`` reads back."""
    return _texts(_encoded(hi, lo))


def _encoded(hi: _Words, lo: _Words) -> _Letters:
    digits = binascii.hexlify(bytes_of(hi, lo))
    return np.frombuffer(digits, np.uint8).reshape(-1, HEX_LENGTH)


def _texts(letters: _Letters) -> pa.StringArray:
    count, width = letters.shape
    offsets = np.arange(0, letters.size + 1, width, dtype=np.int32)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(letters))
