"""Who, of many, may name files of a place: one index of all that they name.

It leaves none out and may yield too many: each that is found is asked what its names mean.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from flinkstate.places.locations import Location
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.sorted_uuids import Words, finder
from orphangc.core.dependencies.foreign_files import Foreign
from orphangc.core.groups import sets_of

_Key = TypeVar("_Key", bound=Hashable)
_Named = tuple[_Key, Location, FileNames]

_MOST = 1 << 16
"""Names of one folder that are copied into the index; a key that has more is always found."""
_AT_ONCE = 1 << 20
"""Names that are sorted together: 32 MiB."""


@dataclass(frozen=True, slots=True)
class Namers(Generic[_Key]):
    """Keys of those who name files, by what they name.

    Attributes:
        always: Keys that are found at every place.
        around: Keys by each place that contains a folder with names.
        finders: Each finds some of the keys whose names end in any of some UUIDs.
        others: Keys by each name that is no artifact's.
    """

    always: frozenset[_Key]
    around: Mapping[Location, set[_Key]]
    finders: Sequence[Callable[[Words, Words], set[_Key]]]
    others: Mapping[str, set[_Key]]

    @classmethod
    def of(cls, named: Iterable[tuple[_Key, Location, FileNames]]) -> Namers[_Key]:
        """Return the index of the names that each key has in each folder."""
        every = [*named]
        always = frozenset(key for key, _, names in every if len(names) > _MOST)
        known = [each for each in every if each[0] not in always]
        folders = sets_of((folder, key) for key, folder, _ in known)
        return cls(
            always=always,
            around=sets_of(
                (place, key)
                for folder, keys in folders.items()
                for place in folder.upwards()
                for key in keys
            ),
            finders=[finder((key, *names.uuids) for key, _, names in e) for e in _lots(known)],
            others=sets_of((name, key) for key, _, names in known for name in names.others),
        )

    def of_place(self, place: Foreign) -> set[_Key]:
        """Return the keys of all that name a folder at or below a place, or may mean its files."""
        uuids = place.uuids.columns()
        return {*self.always, *self.around.get(place.place, ())}.union(
            *(find(*uuids) for find in self.finders),
            *(self.others.get(name, ()) for name in place.names),
        )


def _lots(named: Iterable[_Named[_Key]]) -> Iterator[list[_Named[_Key]]]:
    some: list[_Named[_Key]] = []
    count = 0
    for each in named:
        some.append(each)
        count += len(each[2])
        if count >= _AT_ONCE:
            yield some
            some, count = [], 0
    if some:
        yield some
