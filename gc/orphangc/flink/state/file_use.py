"""Which files each operator's state lies in, and how many bytes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orphangc.flink.state.extents import Extent, Inline, extents_of, size_of
from orphangc.flink.values.metadata_values import Metadata, Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class FileUse:
    """What an operator keeps in one file.

    Attributes:
        path: Of the file, absolute.
        bytes: Of the operator's distinct extents of it, None where a size is unknown.
        roles: What they are: ``operator``, ``raw_operator``, ``keyed``, ``raw_keyed``,
            ``channel``.

    """

    path: str
    bytes: int | None
    roles: tuple[str, ...]


def roles_of(operator: Operator, directory: str) -> Iterator[tuple[str, Extent | Inline]]:
    """Yield all that an operator's subtasks keep, and as what, as often as it is named."""
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
    """Return the files that hold an operator's state, in the order of first mention.

    Args:
        operator: As ``_metadata`` has it.
        directory: The directory of the metadata file, as the reader addresses it.

    """
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
    """Return all that the checkpoint keeps, each distinct extent once."""
    found: dict[Extent | Inline, None] = {}
    for operator in metadata.operators:
        found.update(dict.fromkeys(extents_of(operator.coordinator, directory)))
        found.update((extent, None) for _, extent in roles_of(operator, directory))
    return list(found)
