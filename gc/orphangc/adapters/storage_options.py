"""``storage_options`` of the configuration file: what opens a bucket beside the environment."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from flinkstate.places.locations import Location

_NONE: Mapping[str, Any] = MappingProxyType({})
_stated: Mapping[Location, Mapping[str, Any]] = {}


def use_storage_options(stated: Mapping[Location, Mapping[str, Any]]) -> None:
    """Open all places of some buckets with these options from now on, and others without any.

    Args:
        stated: Options of fsspec's file system, none for those of the environment, by the top place
            of the bucket or container of each storage root.
    """
    global _stated  # noqa: PLW0603 - as the environment, which the options stand before
    _stated = {**stated}


def storage_options(location: Location) -> Mapping[str, Any]:
    """Return the options of the bucket or container of a location."""
    return _stated.get(location.top, _NONE)


def may_be_in_stores_of(location: Location) -> list[Location]:
    """Return the buckets in whose stores that of a location may be: no setting says which has it.

    Options are of the buckets of storage roots alone, and a name of a bucket is one of each store;
    a URI with its account says where it is.
    """
    if location.top in _stated or "@" in location.authority:
        return []
    return [each for each, options in _stated.items() if options and each.scheme == location.scheme]
