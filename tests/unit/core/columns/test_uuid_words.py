"""Sixteen bytes are read from texts exactly, whatever else stands among them."""

import numpy as np
import pyarrow as pa
import pytest

from orphangc.core.columns.uuid_words import bytes_of, hex_heads, hex_texts, uuid_tails, words_of
from support.builders import NAME, UUID

SUM = "9b2c1a526f1e4a4e9d0b0a4c6f1e2d3c"
SHORTER = ["", "x", NAME[:-1], SUM[:-1]]


def binary(*texts: str) -> pa.BinaryArray:
    return pa.array(texts, pa.string()).cast(pa.binary())


@pytest.mark.parametrize("shorter", [[], SHORTER])
def test_a_uuid_at_the_end_is_read_to_its_last_bit(shorter: list[str]) -> None:
    """A half that was read as a floating point number would be another UUID, and not in use."""
    has, hi, lo = uuid_tails(binary(*shorter, NAME, f"41_{NAME}", NAME.upper()))

    assert has.tolist() == [False] * len(shorter) + [True, True, False]
    assert (has.dtype, hi.dtype, lo.dtype) == (np.bool_, np.uint64, np.uint64)
    assert bytes_of(hi, lo) == bytes(16 * len(shorter)) + UUID * 2 + bytes(16)


@pytest.mark.parametrize("shorter", [[], SHORTER])
def test_a_sum_at_the_start_is_read_to_its_last_bit(shorter: list[str]) -> None:
    """ETags begin with one; those of multipart uploads go on, and others are something else."""
    shorter = [each[:31] for each in shorter]
    texts = [*shorter, SUM, f"{SUM}-17", SUM.upper(), f"x{SUM}", "0" * 32, f"{SUM[:31]}é"]
    has, hi, lo = hex_heads(binary(*texts))

    found = [False] * len(shorter) + [True, True, False, False, True, False]
    assert has.tolist() == found
    assert (has.dtype, hi.dtype, lo.dtype) == (np.bool_, np.uint64, np.uint64)
    sums = [bytes.fromhex(SUM)] * 2 + [bytes(16)] * 4
    assert bytes_of(hi, lo) == bytes(16 * len(shorter)) + b"".join(sums)


def test_a_part_of_a_larger_column_is_read_as_if_it_stood_alone() -> None:
    """Arrow's slices share their buffers."""
    texts = binary(*[f"{SUM}{number}" for number in range(9)]).slice(3, 4)
    assert bytes_of(*hex_heads(texts)[1:]) == bytes.fromhex(SUM) * 4
    assert hex_heads(texts.slice(0, 0)).has.tolist() == []


def test_sums_and_their_texts_are_inverse() -> None:
    """The first and the last of all included."""
    sums = [bytes(16), bytes.fromhex(SUM), b"\xff" * 16]
    assert hex_texts(*words_of(b"".join(sums))).to_pylist() == [each.hex() for each in sums]
    assert hex_texts(*words_of(b"")).to_pylist() == []
