"""Files of each operator's state, the bytes used of each, and the least that a restore needs."""

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


MISSING = "is missing"
"""Problem of a file that is not stored."""
COMPRESSED = b"\x01"
"""First byte of a file of changes that are compressed.

Source: Flink 1.15-2.3, ``StateChangeFsUploader``, ``OutputStreamWithPos.wrapInternal``.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedFile:
    """A file that a checkpoint needs.

    Attributes:
        size: Size of the whole file in bytes; ``None`` if no handle states it.
        least: End of the last segment in the file, in bytes; 0 without segments.
        may_be_compressed: Whether it holds changes: with ``COMPRESSED`` in front, it has any size.
    """

    path: str
    size: int | None = None
    least: int = 0
    may_be_compressed: bool = False

    @property
    def least_bytes(self) -> int:
        """Return the number of bytes that it must have at least, if it is not compressed."""
        return max(self.size or 0, self.least)

    def problem(self, stored: int | None) -> str | None:
        """Return what is wrong with a file of this size in bytes, ``None`` if nothing is.

        Args:
            stored: Size of the stored file; ``None`` if there is none.
        """
        if stored is None:
            return MISSING
        if self.size is not None and stored != self.size:
            return f"has {stored:,} bytes instead of {self.size:,}"
        if stored < self.least:
            return f"has {stored:,} bytes, and a segment ends at byte {self.least:,}"
        return None


def expected_files(metadata: Metadata, *, directory: str) -> tuple[ExpectedFile, ...]:
    """Return every file that the metadata names, in the order of first mention.

    Args:
        directory: The directory of the metadata file, as the reader addresses it.
    """
    found: dict[str, ExpectedFile] = {}
    for extent in all_extents(metadata, directory=directory):
        if isinstance(extent, Extent):
            known = found.get(extent.path, ExpectedFile(path=extent.path))
            found[extent.path] = _joined(known, extent)
    return tuple(found.values())


def _joined(known: ExpectedFile, extent: Extent) -> ExpectedFile:
    size, least = known.size, known.least
    if extent.start is None:
        size = extent.size if size is None else size
    else:
        least = max(least, extent.start + (extent.size or 0))
    return ExpectedFile(  # for each handle: ``replace`` takes twice as long
        path=known.path,
        size=size,
        least=least,
        may_be_compressed=known.may_be_compressed or extent.may_be_compressed,
    )
