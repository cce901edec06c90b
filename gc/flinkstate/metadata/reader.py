"""The full pass over ``_metadata``: reads every byte into a value, or refuses the file."""

from flinkstate.layouts.format_versions import ALL_LAYOUTS
from flinkstate.metadata.field_readers import READERS
from flinkstate.metadata.parser import MetadataPass, parse_metadata
from flinkstate.values.metadata_values import Metadata


def read_metadata(data: bytes) -> Metadata:
    """Return the whole content of a ``_metadata`` file.

    Writing the value gives the same bytes. The reader supports versions 2 to 7, with any mixture
    of handle codes; version 7 is known from Flink's sources only.

    Raises:
        UnreadableMetadataError: The bytes are not exactly one metadata file. The references of
            the checkpoint are then unknown.

    Source: Flink 1.8-2.3, ``Checkpoints.loadCheckpointMetadata``.
    """
    frame = parse_metadata(data, _FULL)
    tables = frame.parser.tables
    return Metadata(
        format_version=tables.version,
        checkpoint_id=frame.checkpoint_id,
        master_states=tuple(frame.master_states),
        operators=tuple(frame.operators),
        properties=frame.properties,
        variant=tables.variant,
    )


_FULL = MetadataPass(
    steps={
        layout: tuple((name, READERS[part]) for name, part in layout.fields)
        for layout in ALL_LAYOUTS
    },
    record=lambda parser, layout: layout.make(
        **{name: read(parser) for name, read in parser.steps[layout]}
    ),
)
