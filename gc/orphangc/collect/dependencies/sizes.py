"""Bytes of the files that checkpoints still name: from the storage, file by file."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from flinkstate.places.locations import Location
from orphangc.core.columns.file_names import FileNames
from orphangc.core.dependencies.foreign_files import UnownedReference
from orphangc.core.groups import grouped
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.errors import OrphanGcError
from orphangc.ports import Storage

_AT_ONCE = 1000
_MOST = 10_000
"""Maximum number of files, with one request for each."""


@dataclass(frozen=True, slots=True)
class Weighing:
    """Asks storages for single files."""

    open_storage: Callable[[Location], Storage]

    def weigh(self, references: Sequence[UnownedReference], place: Location) -> int | None:
        """Return the bytes of the referenced files; ``None`` if one is not known, or for too many.

        A name whose own path has no file is also searched in ``place`` (FLINK-39964).
        """
        files = {
            (reference.folder.child(name), place.child(name) if reference.is_own else None)
            for reference in references
            for name in islice(reference.names, _MOST + 1)
        }
        if len(files) > _MOST:
            return None
        found = self.found(path for each in files for path in each if path is not None)
        if found is None:
            return None
        there = {path if path in found else other for path, other in files}
        if not there <= found.keys():
            return None
        return sum(found[path] for path in there if path is not None)

    def found(self, paths: Iterable[Location]) -> dict[Location, int] | None:
        """Return the sizes of the files that are there, ``None`` if that cannot be asked."""
        by_top = grouped(sorted(set(paths), key=str), lambda path: path.top)
        sizes: dict[Location, int] = {}
        try:
            for top, wanted in by_top.items():
                asked = _stats(self.open_storage(top), wanted)
                sizes |= {path: stored.size for path, stored in asked if stored is not None}
        except OrphanGcError:
            return None
        return sizes

    def without_those_at_home(self, reference: UnownedReference) -> UnownedReference:
        """Return a reference to an unlisted directory, less the files that are stored there."""
        names = list(islice(reference.names, _MOST + 1))
        if not reference.is_own or len(names) > _MOST:
            return reference
        found = self.found(reference.folder.child(name) for name in names)
        if found is None:
            return reference
        left = (name for name in names if reference.folder.child(name) not in found)
        return replace(reference, names=FileNames(left))


def _stats(
    storage: Storage, paths: Sequence[Location]
) -> Iterator[tuple[Location, StoredObject | None]]:
    for start in range(0, len(paths), _AT_ONCE):
        part = paths[start : start + _AT_ONCE]
        keys = [ObjectKey(path.path.lstrip("/")) for path in part]
        yield from zip(part, storage.stat(keys), strict=True)
