"""The writer refuses values that no file of their version can hold."""

import struct
from dataclasses import replace

import pytest

from flinkstate.metadata.reader import read_metadata
from flinkstate.metadata.writer import write_metadata
from flinkstate.values.handles import (
    BytesHandle,
    ChannelHandle,
    FileHandle,
    KeyGroupOffsets,
    KeyGroupsHandle,
    MergedChannelHandle,
    MergedOperatorHandle,
)
from flinkstate.values.metadata_values import LayoutVariant, Metadata, Operator, Subtask
from unit.flinkstate.metadata.golden_files import golden

FILE = FileHandle(path="s3://b/x", size=1)
MERGED = MergedChannelHandle(code=3, subtask=0, size=1, delegate=FILE, channels=())


def of_subtask(version: int, **fields) -> Metadata:
    subtask = Subtask(index=0, duration=-1 if version == 2 else None, **fields)
    return of_operator(version, subtasks=(subtask,))


def of_operator(version: int, **fields) -> Metadata:
    chain_length = 1 if version == 2 else None
    operator = Operator(
        id="00" * 16, parallelism=1, max_parallelism=128, chain_length=chain_length, **fields
    )
    return Metadata(
        format_version=version, checkpoint_id=1, master_states=(), operators=(operator,)
    )


def test_a_version_or_variant_that_does_not_exist_is_not_written() -> None:
    """The old layouts are of version 3."""
    empty = read_metadata(golden("2.3.0/empty").data)
    for version in (0, 1, 8):
        with pytest.raises(ValueError, match="version"):
            write_metadata(replace(empty, format_version=version))
    with pytest.raises(ValueError, match="version 6"):
        write_metadata(replace(empty, variant=LayoutVariant.FLINK_1_11))


@pytest.mark.parametrize(
    "metadata",
    [
        of_subtask(4, managed_keyed=FILE),
        of_subtask(
            4,
            managed_operator=KeyGroupsHandle(
                code=3, groups=KeyGroupOffsets(first=0, offsets=()), delegate=FILE
            ),
        ),
        of_subtask(4, input_channels=(MERGED,)),
        of_subtask(6, output_channels=(MERGED,)),
        of_subtask(2, is_finished=True),
        of_operator(2, subtasks=None),
        of_operator(4, subtasks=None, coordinator=BytesHandle(name="", data=b"")),
        of_operator(4, subtasks=(), coordinator=FILE),
    ],
)
def test_a_handle_or_marker_out_of_place_is_not_written(metadata: Metadata) -> None:
    """Flink would not read it, nor would we."""
    with pytest.raises(ValueError, match=r"code|merged|finished"):
        write_metadata(metadata)


def test_a_merged_operator_handle_needs_a_segment() -> None:
    """Its delegate is a part of a merged file, or of none."""
    handle = MergedOperatorHandle(
        states=(), taskowned_directory="/t", shared_directory="/s", is_empty=False, delegate=FILE
    )
    with pytest.raises(ValueError, match="code 2"):
        write_metadata(of_subtask(4, managed_operator=handle))


def test_a_number_beyond_its_field_is_not_written() -> None:
    """It would come back as another number."""
    with pytest.raises(struct.error):
        write_metadata(
            of_subtask(
                4,
                managed_operator=None,
                input_channels=(
                    ChannelHandle(
                        code=1, subtask=2**31, gate=0, channel=0, offsets=(), size=0, delegate=FILE
                    ),
                ),
            )
        )


def test_merged_channel_handles_are_written_from_version_6_on() -> None:
    """Before, a channel handle has no kind to say so."""
    metadata = of_subtask(6, input_channels=(MERGED,))
    assert read_metadata(write_metadata(metadata)) == metadata
