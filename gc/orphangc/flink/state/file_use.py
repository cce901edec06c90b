"""Which files each operator's state lies in, and how many bytes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orphangc.flink.state.extents import Extent, Inline, pieces_of, size_of
from orphangc.flink.values.metadata_values import Metadata, Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class FileUse:
    """What an operator keeps in one file.

    Attributes:
        path: Of the file, absolute.
        bytes: Of the operator's distinct pieces of it, None where a size is unknown.
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
            for piece in pieces_of(handle, directory):
                yield role, piece


def files_of_operator(operator: Operator, *, directory: str) -> tuple[FileUse, ...]:
    """Return the files that hold an operator's state, in the order of first mention.

    Args:
        operator: As ``_metadata`` has it.
        directory: The directory of the metadata file, as the reader addresses it.

    """
    pieces: dict[str, dict[Extent, None]] = {}
    roles: dict[str, dict[str, None]] = {}
    for role, piece in roles_of(operator, directory):
        if isinstance(piece, Extent):
            pieces.setdefault(piece.path, {})[piece] = None
            roles.setdefault(piece.path, {})[role] = None
    return tuple(
        FileUse(
            path=path,
            bytes=None if any(piece.size is None for piece in parts) else size_of(parts),
            roles=tuple(roles[path]),
        )
        for path, parts in pieces.items()
    )


def all_pieces(metadata: Metadata, *, directory: str) -> list[Extent | Inline]:
    """Return all that the checkpoint keeps, each distinct piece once."""
    found: dict[Extent | Inline, None] = {}
    for operator in metadata.operators:
        found.update(dict.fromkeys(pieces_of(operator.coordinator, directory)))
        found.update((piece, None) for _, piece in roles_of(operator, directory))
    return list(found)
