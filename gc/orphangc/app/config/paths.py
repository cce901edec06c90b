"""Where things lie, as a person writes it and as it really is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from platformdirs import user_state_path

from orphangc.core.model.locations import Alias, Location, canonical, parse_alias
from orphangc.errors import SettingsError


def absolute(uri: str) -> str:
    """Return a local path as an absolute one; leave a URI as it is, and an empty text too."""
    return uri if not uri or ":" in uri.partition("/")[0] else str(Path(uri).absolute())


def located(uri: str) -> Location:
    """Return the place that an argument names: a URI, or a path from here.

    Raises:
        SettingsError: It names none.

    """
    try:
        return canonical(absolute(uri))
    except ValueError as err:
        raise SettingsError(str(err)) from err


def aliases_from(texts: Sequence[str]) -> tuple[Alias, ...]:
    """Return the aliases that options of the form ``FROM=TO`` state.

    Raises:
        SettingsError: One has another form, or a side of it is no place.

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
    """Return the place of a path of this machine; two slashes before it are one, links stay."""
    return canonical("/" + str(path.absolute()).lstrip("/"))


def resolved(place: Location) -> Location:
    """Return where a local place really lies: a link is only another spelling."""
    if place.scheme != "file":
        return place
    return canonical(str(Path(place.path).resolve()))


def overlap(one: Location, other: Location) -> bool:
    """Return whether one of two places is, or contains, the other."""
    real, other_real = resolved(one), resolved(other)
    return real.contains(other_real) or other_real.contains(real)


def check_outside(root: str, places: Sequence[Path]) -> None:
    """Make sure that nothing is going to be written below the storage root, which is Flink's.

    Raises:
        SettingsError: A place lies there.

    """
    for place in places:
        if resolved(canonical(root)).contains(resolved(local(place))):
            raise SettingsError(f"{place} lies inside the storage root {root}: choose another")


def default_plans() -> Path:
    """Return where the plans of runs are kept if nobody says: below this user's state folder."""
    return user_state_path("orphangc") / "plans"
