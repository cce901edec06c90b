"""Properties of reader, writer and both passes over random and damaged files."""

import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flinkstate.metadata.reader import read_metadata
from flinkstate.metadata.writer import write_metadata
from flinkstate.values.metadata_values import Metadata
from unit.flinkstate.metadata import by_hand as hand
from unit.flinkstate.metadata.both_passes import accept, agree
from unit.flinkstate.metadata.golden_files import golden, golden_files
from unit.flinkstate.metadata.metadata_strategies import (
    metadata_of_1_11,
    metadata_of_1_14,
    metadata_values,
)

SMALL_FILES = [file for file in golden_files() if len(file.data) < 8_000]
BYTE_VALUES = (0x00, 0x01, 0x02, 0x2F, 0x7F, 0x80, 0xC0, 0xFF)

THOROUGH = 50 if os.environ.get("ORPHANGC_EXHAUSTIVE") else 1

slow = settings(
    deadline=None, max_examples=60 * THOROUGH, suppress_health_check=[HealthCheck.too_slow]
)


@slow
@given(metadata_values())
def test_what_is_written_is_read_back(metadata: Metadata) -> None:
    """Any value that keeps to the format, in every version."""
    read, _ = accept(write_metadata(metadata))
    assert read == metadata


@slow
@given(metadata_of_1_11() | metadata_of_1_14())
def test_an_old_layout_is_never_mistaken_for_the_final_one(metadata: Metadata) -> None:
    """Channel state of 1.11 and changelogs of 1.14, both under version 3."""
    read, _ = accept(write_metadata(metadata))
    assert read == metadata


@settings(slow, max_examples=200 * THOROUGH)
@given(
    st.sampled_from(SMALL_FILES),
    st.lists(
        st.tuples(st.integers(0, 2**16), st.sampled_from(BYTE_VALUES) | st.integers(0, 255)),
        min_size=1,
        max_size=4,
    ),
)
def test_both_passes_judge_a_damaged_file_alike(file, changes) -> None:
    """And whatever is accepted is fully accounted for, raw UUIDs included."""
    damaged = bytearray(file.data)
    for place, value in changes:
        damaged[place % len(damaged)] = value
    agree(bytes(damaged))


@settings(slow, max_examples=100 * THOROUGH)
@given(
    st.sampled_from(SMALL_FILES), st.integers(0, 2**16), st.integers(0, 40), st.binary(max_size=12)
)
def test_both_passes_judge_a_spliced_file_alike(file, place, removed, inserted) -> None:
    """Bytes cut out, put in, or both."""
    at = place % len(file.data)
    agree(file.data[:at] + inserted + file.data[at + removed :])


@slow
@given(metadata_values(), st.data())
def test_both_passes_judge_a_damaged_random_file_alike(metadata, data) -> None:
    """The layouts that no golden file holds."""
    damaged = bytearray(write_metadata(metadata))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(8, len(damaged) - 1))
        damaged[place] = data.draw(st.sampled_from(BYTE_VALUES) | st.integers(0, 255))
    agree(bytes(damaged))


@settings(slow, max_examples=200 * THOROUGH)
@given(st.binary(max_size=80), st.integers(2, 7))
def test_random_bytes_raise_nothing_but_the_one_error(tail: bytes, version: int) -> None:
    """Behind a good header, anything may come."""
    agree(hand.MAGIC + hand.i4(version) + hand.i8(1) + tail)
    agree(hand.MAGIC + hand.i4(version) + hand.i8(1) + hand.i4(0) + hand.i4(1) + tail)


def run_of(kind: str, count: int = 40) -> bytes:
    """A file with one named list of look-alikes."""
    uuid = "01234567-89ab-4def-8123-{:012x}"
    make = {
        "files": lambda number: hand.file_handle(f"s3://b/shared/{uuid.format(number)}"),
        "relative": lambda number: hand.relative_handle(uuid.format(number)),
        "segments": lambda number: hand.segment_handle(f"s3://b/shared/{uuid.format(number)}"),
    }[kind]
    entries = [hand.utf(f"{number:06d}.sst") + make(number) for number in range(count)]
    return hand.with_keyed(hand.incremental(hand.listed(*entries)))


@pytest.mark.parametrize("kind", ["files", "relative", "segments"])
def test_no_byte_of_a_run_escapes_the_fast_pass(kind: str) -> None:
    """Each byte of the first, some middle and the last entry, changed to several values."""
    data = run_of(kind)
    read, references = accept(data)
    assert len(references.paths) + len(references.relative_names) >= 40
    assert write_metadata(read) == data
    size = len(run_of(kind, 11)) - len(run_of(kind, 10))
    start = data.index(b"000000.sst") - 2
    for entry in (0, 1, 2, 20, 38, 39):
        for place in range(start + entry * size, start + (entry + 1) * size):
            for value in (0x00, 0x2F, 0xC3):
                agree(data[:place] + bytes([value]) + data[place + 1 :])


@pytest.mark.parametrize(
    "name",
    [
        "1.10.3/classic",
        "1.14.6/changelog",
        "2.3.0/filemerging",
        "2.3.0/unaligned-merged",
        "2.3.0/classic-savepoint-props",
    ],
)
def test_both_passes_agree_after_any_change_of_one_byte(name: str) -> None:
    """A sample of all places and values; most of what is accepted is a name or a number."""
    data = golden(name).data
    rng = random.Random(name)
    for _ in range(500):
        place = rng.randrange(len(data))
        agree(data[:place] + bytes([rng.choice(BYTE_VALUES)]) + data[place + 1 :])


def test_a_long_run_is_read_alike_by_both_passes() -> None:
    """Longer than any window of the fast pass, and ending within one."""
    data = run_of("files", 5000)
    metadata, references = accept(data)
    assert references.handles == 5002
    assert len(set(references.paths)) == 5001
    assert len(metadata.operators[0].subtasks[0].managed_keyed.shared) == 5000


def test_reading_does_not_depend_on_what_was_read_before() -> None:
    """No state is kept between files."""
    first, second = golden("2.3.0/classic").data, run_of("segments")
    assert (accept(first), accept(second), accept(first)) == (
        accept(first),
        accept(second),
        accept(first),
    )
    assert read_metadata(second) == read_metadata(second)
