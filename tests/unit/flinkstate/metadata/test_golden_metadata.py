"""What Flink wrote is read as Flink reads it, and written as Flink wrote it."""

import os
import random
from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest

from flinkstate.inspection.metadata_json import describe
from flinkstate.metadata import parser
from flinkstate.metadata.cursor import Cursor
from flinkstate.metadata.reader import read_metadata
from flinkstate.metadata.references import read_references
from flinkstate.metadata.writer import write_metadata
from flinkstate.values.metadata_values import LayoutVariant
from unit.flinkstate.metadata.both_passes import UUID, check_agreement, raw_uuid_set, refuse
from unit.flinkstate.metadata.golden_files import (
    GoldenFile,
    comparable,
    contractual,
    every_golden_file,
    golden,
    golden_files,
    handles_in,
)

EXHAUSTIVE = bool(os.environ.get("ORPHANGC_EXHAUSTIVE"))
DIRECTORY = "s3://elsewhere/chk-1"
SMALL = (
    "1.10.3/classic",
    "1.11.4/unaligned",
    "1.14.6/changelog",
    "1.15.4/changelog",
    "1.18.1/classic-unclaimed-props",
    "1.20.1/filemerging",
    "2.0.2/null-props",
    "2.3.0/empty",
    "2.3.0/finished",
    "2.3.0/unaligned-merged",
    "2.3.0/utf",
)


@every_golden_file
def test_the_document_is_what_flink_itself_reads(file: GoldenFile) -> None:
    """Every key, type word, number and text, nested alike."""
    ours = contractual(describe(read_metadata(file.data), directory=DIRECTORY))
    expected = comparable(file.expected, file, DIRECTORY)
    assert comparable(ours, file, DIRECTORY) == expected


@every_golden_file
def test_writing_what_was_read_gives_the_same_bytes(file: GoldenFile) -> None:
    """Nothing in the file is lost, and nothing is normalised."""
    assert write_metadata(read_metadata(file.data)) == file.data


@every_golden_file
def test_the_fast_pass_finds_the_files_that_flink_refers_to(file: GoldenFile) -> None:
    """Judged by Flink's own reading, not by our other pass."""
    handles = handles_in(file.expected["operators"])
    of_type = {
        word: [each for each in handles if each["type"] == word]
        for word in ("file", "segment", "relative", "operator-merged")
    }
    found = read_references(file.data)
    absolute = [each["path"] for each in of_type["file"] + of_type["segment"]]
    directories = {
        each[key] for each in of_type["operator-merged"] for key in ("taskowned_dir", "shared_dir")
    }
    assert sorted(found.paths) == sorted(absolute)
    assert sorted(found.relative_names) == sorted(each["relative"] for each in of_type["relative"])
    assert set(found.directories) == directories
    assert found.handles == len(handles)
    assert found.checkpoint_id == file.expected["checkpoint_id"]
    assert found.format_version == file.expected["format_version"]


@every_golden_file
def test_both_passes_agree_on_what_flink_wrote(file: GoldenFile) -> None:
    """Same paths in the same order, same counts, same savepoint flag."""
    check_agreement(file.data, read_metadata(file.data), read_references(file.data))


@every_golden_file
def test_raw_uuids_hold_every_base_name_that_is_a_uuid(file: GoldenFile) -> None:
    """The second opinion never knows less than the parser."""
    found = read_references(file.data)
    names = [PurePosixPath(path).name for path in found.paths] + list(found.relative_names)
    uuids = {bytes.fromhex(name.replace("-", "")) for name in names if UUID.fullmatch(name)}
    assert uuids <= raw_uuid_set(file.data)


@every_golden_file
def test_one_byte_more_is_refused(file: GoldenFile) -> None:
    """Trailing bytes mean that something was not understood."""
    for extra in (b"\x00", b"\x70", b"\xff"):
        error = refuse(file.data + extra)
        assert error.offset <= len(file.data)


def boundaries(data: bytes, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every place in the file where some field begins or ends."""
    seen = {0}

    class Recording(Cursor):
        __slots__ = ()

        def skip(self, size: int) -> int:
            start = super().skip(size)
            seen.update((start, self.position))
            return start

        def utf(self) -> str:
            text = super().utf()
            seen.add(self.position)
            return text

    with monkeypatch.context() as patch:
        patch.setattr(parser, "Cursor", Recording)
        read_metadata(data)
    return sorted(seen - {len(data)})


def prefixes(file: GoldenFile, fields: list[int]) -> Iterator[int]:
    """Lengths of the proper prefixes worth trying for a file of that size."""
    size = len(file.data)
    if file.name in SMALL or (EXHAUSTIVE and size < 10_000):
        yield from range(size)
        return
    rng = random.Random(size)
    yield from rng.sample(fields, min(len(fields), 6))
    yield from (rng.randrange(size) for _ in range(3))
    yield size - 1


@every_golden_file
def test_no_proper_prefix_is_accepted(file: GoldenFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """A half-written file is no checkpoint that refers to less."""
    for length in prefixes(file, boundaries(file.data, monkeypatch)):
        error = refuse(file.data[:length])
        assert error.offset <= length


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("1.11.4/unaligned", LayoutVariant.FLINK_1_11),
        ("1.14.6/changelog", LayoutVariant.FLINK_1_14),
        ("1.15.4/changelog", LayoutVariant.FINAL),
        ("1.14.6/unaligned", LayoutVariant.FINAL),
    ],
)
def test_the_two_silent_layout_changes_are_recognised(name: str, variant: LayoutVariant) -> None:
    """The old layouts are tried only where the final one does not fit."""
    assert read_metadata(golden(name).data).variant is variant


@pytest.mark.parametrize("name", ["1.11.4/unaligned", "1.14.6/changelog"])
@pytest.mark.parametrize("version", [2, 4, 5, 6, 7])
def test_an_old_layout_is_refused_outside_version_3(name: str, version: int) -> None:
    """The fall-backs are for the one version that hides them."""
    data = golden(name).data
    refuse(data[:4] + version.to_bytes(4, "big") + data[8:])
    refuse(data[:4] + version.to_bytes(4, "big") + data[8:] + bytes.fromhex("aced000570"))


def test_all_versions_that_flink_wrote_are_among_the_golden_files() -> None:
    """The folder has not quietly lost a version or a variant."""
    assert {file.expected["format_version"] for file in golden_files()} == {2, 3, 4, 5, 6}
    assert len(golden_files()) == 136
