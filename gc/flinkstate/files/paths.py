"""Paths and URIs, as a person writes them and resolved."""

import os
import re
import sys
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TypeVar

from flinkstate.errors import SettingsError
from flinkstate.files.mounts import mount_in, mounts_in, table_text
from flinkstate.places.locations import Alias, Location, canonical, parse_alias

_Known = TypeVar("_Known", bound=Hashable)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""Beginning of a URI, also with the one slash that ``Path`` leaves of two."""


def absolute(uri: str) -> str:
    """Return a local path as an absolute one; a URI or an empty text is returned unchanged."""
    return uri if not uri or ":" in uri.partition("/")[0] else str(Path(uri).absolute())


def located(uri: str) -> Location:
    """Return the place that an argument names: a URI, or a path from here.

    Raises:
        SettingsError: The argument names no place.
    """
    try:
        return canonical(absolute(uri))
    except ValueError as err:
        raise SettingsError(str(err)) from err


def aliases_from(texts: Sequence[str]) -> tuple[Alias, ...]:
    """Return the aliases that options of the form ``FROM=TO`` state.

    Raises:
        SettingsError: An alias has another form, or one of its sides is no place.
    """
    try:
        found = [parse_alias(each) for each in map(_with_absolute_sides, texts)]
    except ValueError as err:
        raise SettingsError(f"--alias: {err}") from err
    return tuple(found)


def _with_absolute_sides(text: str) -> str:
    source, equals, target = text.partition("=")
    return f"{absolute(source)}{equals}{absolute(target)}"


def local(path: Path) -> Location:
    """Return the location of a local path; leading slashes become one, links stay."""
    return canonical("/" + str(path.absolute()).lstrip("/"))


def local_target(path: Path) -> Location:
    """Return the location of a local file or folder to write.

    Raises:
        SettingsError: It is a URI, of which a path would make folders such as ``s3:``.
    """
    if _URI.match(str(path)):
        raise SettingsError(f"{path} is a URI: a local path is needed here")
    return local(path)


def refuse_inside(checkpoint: Location, path: Path) -> None:
    """Refuse to write to a local path in a checkpoint's folder.

    Flink deletes the folder only if nothing else is in it.

    Raises:
        SettingsError: The path is in the folder, or it is a URI.
    """
    if is_inside(local_target(path), checkpoint):
        raise SettingsError(f"{path} is inside the checkpoint {checkpoint}: choose another")


def resolved(place: Location) -> Location:
    """Return a local place with its links resolved, as far as they lead anywhere."""
    if place.scheme != "file":
        return place
    return canonical(os.path.realpath(place.path))


def spellings(place: Location) -> frozenset[Location]:
    """Return every name of a local folder without links: each mount that shows it has one.

    Two places are one folder if they share a name. Each of them may be hidden by another mount:
    that can only make two folders one.

    Raises:
        SettingsError: The table of mounts does not have it, so it may be any folder.
    """
    real = resolved(place)
    if real.scheme != "file" or sys.platform != "linux":
        return frozenset({real})
    try:
        mounts = mounts_in(table_text())
    except OSError:
        mounts = ()
    own = mount_in(mounts, real.path)
    if own is None:
        raise SettingsError(f"the table of mounts (/proc/self/mountinfo) does not show {place}")
    inside = own.shown.child(own.at.key_of(real) or "")
    keys = ((each.at, each.shown.key_of(inside)) for each in mounts)
    return frozenset({real, *(at.child(key) for at, key in keys if key is not None)})


def by_each_name(named: Iterable[tuple[Location, _Known]]) -> dict[Location, set[_Known]]:
    """Return what is known of places by every name of each; see ``spellings``."""
    found: dict[Location, set[_Known]] = {}
    for place, known in named:
        for name in spellings(place):
            found.setdefault(name, set()).add(known)
    return found


def with_any_name(known: Mapping[Location, Collection[_Known]], place: Location) -> set[_Known]:
    """Return what is known of a place, whatever names it; see ``by_each_name``."""
    return {each for name in spellings(place) for each in known.get(name, ())}


def is_same(one: Location, other: Location) -> bool:
    """Return whether two places are one folder, whatever names them."""
    if one == other or one.scheme != other.scheme:
        return one == other
    return not spellings(one).isdisjoint(spellings(other))


def spelled_in(folder: Location, place: Location) -> Location:
    """Return a place by the name of a folder that it is in, whatever names it; others unchanged."""
    if place.scheme != folder.scheme:
        return place
    keys = (f.key_of(p) for f, p in product(spellings(folder), spellings(place)))
    key = min((each for each in keys if each is not None), key=len, default=None)
    return place if key is None else folder.child(key)


def is_inside(place: Location, folder: Location) -> bool:
    """Return whether a place is a folder or below it, whatever names them."""
    return place.scheme == folder.scheme and any(
        f.contains(p) for f, p in product(spellings(folder), spellings(place))
    )


def overlap(one: Location, other: Location) -> bool:
    """Return whether two places are the same, or one contains the other, or either may be so."""
    return one.scheme == other.scheme and meet(spellings(one), spellings(other))


def meet(ones: Collection[Location], others: Collection[Location]) -> bool:
    """Return whether any name of a place overlaps with any of another; see ``spellings``."""
    return any(a.may_be_around(b) or b.may_be_around(a) for a, b in product(ones, others))
