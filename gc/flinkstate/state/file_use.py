"""Files of each operator's state, and the bytes used of each file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flinkstate.state.extents import Extent, Inline, extents_of, size_of
from flinkstate.values.metadata_values import Metadata, Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class FileUse:
    """State of an operator in one file.

    Attributes:
        bytes: Size of the operator's distinct extents in the file, None if a size is unknown.
        roles: Kinds of the extents: ``operator``, ``raw_operator``, ``keyed``, ``raw_keyed``,
            ``channel``.
    """

    path: str
    bytes: int | None
    roles: tuple[str, ...]


def roles_of(operator: Operator, directory: str) -> Iterator[tuple[str, Extent | Inline]]:
    """Yield the extents of an operator's subtasks with their roles, repeated ones too."""
    for subtask in operator.subtasks or ():
        for role, handle in (
            ("operator", subtask.managed_operator),
            ("raw_operator", subtask.raw_operator),
            ("keyed", subtask.managed_keyed),
            ("raw_keyed", subtask.raw_keyed),
            *(("channel", each) for each in subtask.input_channels),
            *(("channel", each) for each in subtask.output_channels),
        ):
            for extent in extents_of(handle, directory):
                yield role, extent


def files_of_operator(operator: Operator, *, directory: str) -> tuple[FileUse, ...]:
    """Return the files that hold an operator's state, in the order of first mention."""
    extents: dict[str, dict[Extent, None]] = {}
    roles: dict[str, dict[str, None]] = {}
    for role, extent in roles_of(operator, directory):
        if isinstance(extent, Extent):
            extents.setdefault(extent.path, {})[extent] = None
            roles.setdefault(extent.path, {})[role] = None
    return tuple(
        FileUse(
            path=path,
            bytes=None if any(extent.size is None for extent in parts) else size_of(parts),
            roles=tuple(roles[path]),
        )
        for path, parts in extents.items()
    )


def all_extents(metadata: Metadata, *, directory: str) -> list[Extent | Inline]:
    """Return all extents of the checkpoint, each distinct one once."""
    found: dict[Extent | Inline, None] = {}
    for operator in metadata.operators:
        found.update(dict.fromkeys(extents_of(operator.coordinator, directory)))
        found.update((extent, None) for _, extent in roles_of(operator, directory))
    return list(found)
