"""All levels of a storage root that fits in one page of a listing: one request for all folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orphangc.core.model.types import StoredObject
from orphangc.ports import Folder


@dataclass(slots=True)
class _Level:
    """Contents of one folder, in the order of their keys."""

    folders: dict[str, None] = field(default_factory=dict)
    objects: list[StoredObject] = field(default_factory=list)

    @property
    def folder(self) -> Folder:
        """Return the level as a listing with a delimiter shows it."""
        named = tuple(name for name in self.folders if name)
        closed = ("",) if len(named) < len(self.folders) else ()
        return Folder(named, tuple(self.objects), closed)


def levels_of(objects: Sequence[StoredObject]) -> Mapping[str, Folder]:
    """Return the contents of every folder by its key, as ``Storage.folder`` returns them.

    What is in a nameless folder is left out, as no such folder is ever entered.
    """
    levels: dict[tuple[str, ...], _Level] = {(): _Level()}
    for each in objects:
        *parts, name = each.key.split("/")
        for depth, part in enumerate(parts):
            levels.setdefault((*parts[:depth],), _Level()).folders[part] = None
        level = levels.setdefault((*parts,), _Level())
        if name:
            level.objects.append(each)
    return {"/".join(parts): level.folder for parts, level in levels.items() if "" not in parts}
