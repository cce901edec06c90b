"""Layouts that are legal in each format version.

Source: Flink 1.8-2.3, ``MetadataV2V3SerializerBase``, ``MetadataV2Serializer`` to
``MetadataV7Serializer``, ``ChannelStateHandleSerializer``.
"""

from dataclasses import dataclass

from flinkstate.layouts.handle_layouts import (
    BYTES_CODE,
    INCREMENT_CODES,
    INPUTS,
    INPUTS_1_11,
    KEYED,
    KEYED_1_14,
    OPERATOR_HANDLES,
    OUTPUTS,
    OUTPUTS_1_11,
    RECORD_LISTS,
    SEGMENT_CODES,
    STREAMS,
)
from flinkstate.layouts.record_layouts import RecordLayout, RecordPart, layout_of
from flinkstate.values import metadata_values as model
from flinkstate.values.metadata_values import LayoutVariant

MAGIC = 0x4960672D
MASTER_MAGIC = 0xC96B1696
VERSIONS = range(2, 8)
NO_PROPERTIES = b"\xac\xed\x00\x05\x70"
"""The Java stream of a null, which represents absent properties."""

_OLDEST = 2
_CHANNELS_SINCE = 3
_FINISHED_SINCE = 3
VARIANTS_IN = 3
_PROPERTIES_SINCE = 4
_NAMES_SINCE = 5
_CHANNEL_KINDS_SINCE = 6
_REFERENCE_SINCE = 7

MASTER_STATE = layout_of(
    model.MasterState, version=RecordPart.I4, name=RecordPart.UTF, payload=RecordPart.BLOB
)


def _operator(version: int) -> RecordLayout:
    named = (
        {"name": RecordPart.OPTIONAL_UTF, "uid": RecordPart.OPTIONAL_UTF}
        if version >= _NAMES_SINCE
        else {}
    )
    middle = (
        {"chain_length": RecordPart.I4}
        if version == _OLDEST
        else {"coordinator": RecordPart.COORDINATOR}
    )
    return layout_of(
        model.Operator,
        **named,
        id=RecordPart.OPERATOR_ID,
        parallelism=RecordPart.I4,
        max_parallelism=RecordPart.I4,
        **middle,
        subtasks=RecordPart.SUBTASKS,
    )


def _subtask(version: int) -> RecordLayout:
    unused = {"duration": RecordPart.DURATION} if version == _OLDEST else {}
    channels = {"input_channels": RecordPart.INPUTS, "output_channels": RecordPart.OUTPUTS}
    return layout_of(
        model.Subtask,
        index=RecordPart.INDEX,
        **unused,
        managed_operator=RecordPart.OPTIONAL_OPERATOR,
        raw_operator=RecordPart.OPTIONAL_OPERATOR,
        managed_keyed=RecordPart.KEYED,
        raw_keyed=RecordPart.KEYED,
        **(channels if version >= _CHANNELS_SINCE else {}),
        **({"ref_checkpoint_id": RecordPart.REFERENCE} if version >= _REFERENCE_SINCE else {}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Layouts that are legal in one file, by slot and code."""

    version: int
    variant: LayoutVariant
    operator: RecordLayout
    subtask: RecordLayout
    streams: dict[int, RecordLayout]
    segments: dict[int, RecordLayout]
    coordinators: dict[int, RecordLayout]
    keyed: dict[int, RecordLayout]
    increments: dict[int, RecordLayout]
    operator_handles: dict[int, RecordLayout]
    inputs: dict[int, RecordLayout]
    outputs: dict[int, RecordLayout]
    smallest_channel: int

    @property
    def has_channel_kinds(self) -> bool:
        """Return whether a channel handle begins with its kind; older files have plain handles
        only.
        """
        return self.version >= _CHANNEL_KINDS_SINCE

    @property
    def has_finished_markers(self) -> bool:
        """Return whether subtasks and operators may be marked as finished."""
        return self.version >= _FINISHED_SINCE

    @property
    def has_properties(self) -> bool:
        """Return whether the checkpoint properties follow the operators."""
        return self.version >= _PROPERTIES_SINCE


def _tables(version: int, variant: LayoutVariant) -> Tables:
    keyed = KEYED_1_14 if variant is LayoutVariant.FLINK_1_14 else KEYED
    is_1_11 = variant is LayoutVariant.FLINK_1_11
    inputs = INPUTS_1_11 if is_1_11 else INPUTS
    return Tables(
        version=version,
        variant=variant,
        operator=_operator(version),
        subtask=_subtask(version),
        streams=STREAMS,
        segments={code: STREAMS[code] for code in SEGMENT_CODES},
        coordinators={BYTES_CODE: STREAMS[BYTES_CODE]},
        keyed=keyed,
        increments={code: keyed[code] for code in INCREMENT_CODES},
        operator_handles=OPERATOR_HANDLES,
        inputs=inputs,
        outputs=OUTPUTS_1_11 if is_1_11 else OUTPUTS,
        smallest_channel=min(layout.smallest for layout in inputs.values()),
    )


_TABLES = {
    (version, variant): _tables(version, variant)
    for version in VERSIONS
    for variant in (LayoutVariant if version == VARIANTS_IN else (LayoutVariant.FINAL,))
}


def tables_of(version: int, variant: LayoutVariant) -> Tables:
    """Return the layouts that are legal in a file of a version.

    Raises:
        ValueError: The version or its variant is unknown.
    """
    tables = _TABLES.get((version, variant))
    if tables is None:
        raise ValueError(f"no layout {variant} of version {version}")
    return tables


def _layouts(tables: Tables) -> list[RecordLayout]:
    slots = (tables.streams, tables.keyed, tables.operator_handles, tables.inputs, tables.outputs)
    return [
        tables.operator,
        tables.subtask,
        *(layout for slot in slots for layout in slot.values()),
    ]


ALL_LAYOUTS = (
    MASTER_STATE,
    *RECORD_LISTS.values(),
    *dict.fromkeys(layout for tables in _TABLES.values() for layout in _layouts(tables)),
)
"""Every layout once, so that a pass can prepare its steps in advance."""
