"""Places: Flink's path spelling and fsspec's, made comparable.

Source of the spelling: Flink 1.8-2.3, ``org.apache.flink.core.fs.Path``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

UNREADABLE = "unreadable"
"""Scheme of the place that stands for a text in which no place can be read; no storage has it."""
IN_NO_NAME = re.compile(r"[\0\ud800-\udfff]")
"""A NUL and half of a character, which no storage has in a name."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(.*)", re.DOTALL)
_ACCOUNT = re.compile(
    r"(?P<container>[^@]+)@(?P<account>[^.@]+(\.z\d+)?)\.(?:blob|dfs)\.(?P<cloud>[^@]+)",
    re.IGNORECASE,
)
"""A container and its host, in a DNS zone where the account has one."""


class StoreKind(Enum):
    """What a scheme says of the storages that have it; one that is not listed says nothing."""

    BUCKET = "bucket"
    """An object store: the authority is a bucket and nothing else, and all of it one storage."""
    CONTAINER = "container"
    """An object store likewise, of whose authority the text before an ``@`` is the container."""
    FILE_SYSTEM = "file system"


_SCHEMES = {
    "s3": (StoreKind.BUCKET, ("s3a", "s3n", "s3p")),
    "gs": (StoreKind.BUCKET, ("gcs",)),
    "oss": (StoreKind.BUCKET, ()),
    "cosn": (StoreKind.BUCKET, ()),
    "obs": (StoreKind.BUCKET, ()),
    "abfs": (StoreKind.CONTAINER, ("abfss", "az", "wasb", "wasbs")),
    "file": (StoreKind.FILE_SYSTEM, ("local",)),
    "hdfs": (StoreKind.FILE_SYSTEM, ()),
    "viewfs": (StoreKind.FILE_SYSTEM, ()),
}
"""Each scheme that stands for its family, of what kind it is, and how else it is spelled."""
_FAMILY = {spelled: scheme for scheme, (_, others) in _SCHEMES.items() for spelled in others}


def kind_of(scheme: str) -> StoreKind | None:
    """Return the kind of the storages of a scheme, however it is spelled, ``None`` if unknown."""
    known = _SCHEMES.get(_FAMILY.get(scheme, scheme))
    return None if known is None else known[0]


@dataclass(frozen=True, slots=True)
class Location:
    """A place in some storage; equal locations are the same place.

    Attributes:
        scheme: Scheme family: ``s3a``, ``s3n`` and ``s3p`` are ``s3``; ``abfss``, ``az``, ``wasb``
            and ``wasbs`` are ``abfs``; no scheme is ``file``.
        authority: Bucket, name service or container; "" if there is none. Azure's is
            ``container@account.dfs.core.windows.net``, or the container alone if no account is
            named: two places, because the environment says which account that is.
        path: Absolute, "/" between parts, never a trailing slash; "/" for the top.
    """

    scheme: str
    authority: str
    path: str

    def __str__(self) -> str:
        """Return the fsspec spelling."""
        if self.scheme == "file":
            return self.path
        return f"{self.scheme}://{self.authority}{self.path}"

    def child(self, name: str) -> Location:
        """Return the place ``name`` (one or more parts, "" for none) below this one."""
        if not name:
            return self
        path = f"{self.path.rstrip('/')}/{name}".rstrip("/")
        return Location(self.scheme, self.authority, path)

    def key_of(self, other: Location) -> str | None:
        """Return ``other`` relative to this place, "" for the place itself, ``None`` outside."""
        if (self.scheme, self.authority) != (other.scheme, other.authority):
            return None
        if other.path == self.path:
            return ""
        prefix = self.path if self.path.endswith("/") else self.path + "/"
        return other.path[len(prefix) :] if other.path.startswith(prefix) else None

    def contains(self, other: Location) -> bool:
        """Return whether ``other`` is this place or below it."""
        return self.key_of(other) is not None

    def may_be_around(self, other: Location) -> bool:
        """Return whether ``other`` is this place or below it, or may be by what its URI leaves out.

        The environment says which account a container of Azure's without one is in, which name
        service is meant where none is named, and its port. Names of hosts have no case, and a user
        in front of one only says who asks.
        """
        less, more = sorted((self._service, other._service), key=len)
        named = {"", more, *(more.partition(sign)[0] for sign in "@:")}
        if self.scheme == other.scheme and less in named:
            other = Location(other.scheme, self.authority, other.path)
        return self.contains(other)

    @property
    def _service(self) -> str:
        named = self.authority.lower()
        return named.rpartition("@")[2] if self.kind is StoreKind.FILE_SYSTEM else named

    @property
    def kind(self) -> StoreKind | None:
        """Return the kind of this place's storage, ``None`` if its scheme does not say."""
        return kind_of(self.scheme)

    @property
    def is_in_object_store(self) -> bool:
        """Return whether the authority is a bucket or a container: all of it is one storage."""
        return self.kind in {StoreKind.BUCKET, StoreKind.CONTAINER}

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def top(self) -> Location:
        """Return the top place of the same authority."""
        return Location(self.scheme, self.authority, "/")

    @property
    def parent(self) -> Location:
        """Return the parent folder of this place; the top's is the top."""
        return Location(self.scheme, self.authority, self.path.rpartition("/")[0] or "/")

    def upwards(self) -> Iterator[Location]:
        """Yield this place, and every folder around it, up to the top."""
        place = self
        while place.path != "/":
            yield place
            place = place.parent
        yield place


@dataclass(frozen=True, slots=True)
class Alias:
    """The operator's statement that places below ``source`` are those below ``target``."""

    source: Location
    target: Location


def _normal_path(path: str) -> str:
    """Return the path as Flink's ``Path`` normalises it: one slash, no dots, none trailing."""
    slashed = "/" + path.replace("\\", "/")
    return posixpath.normpath(re.sub(r"/+", "/", slashed))


def _container(authority: str) -> str:
    """Return the one spelling of a container: the blob and the dfs endpoint show the same data.

    Source: Hadoop's ``wasb`` and ``abfs``, which Flink's Azure file systems hand paths to; names
    of accounts and hosts are lower case.
    """
    found = _ACCOUNT.fullmatch(authority)
    if found is None:
        return authority
    return f"{found['container']}@{found['account']}.dfs.{found['cloud']}".lower()


def canonical(uri: str, aliases: Sequence[Alias] = ()) -> Location:
    """Return the place that a URI, a Flink path or an absolute local path names.

    Nothing is percent-decoded: Flink stores a literal ``%41`` as it is. The first alias whose
    source contains the place is applied, once.

    Raises:
        ValueError: ``uri`` is empty, a relative path, or a local path with a host in it, which
            is mostly ``file:///x`` with a slash too few.
    """
    match = _SCHEME.fullmatch(uri)
    scheme, rest = (match[1].lower(), match[2]) if match else ("file", uri)
    scheme = _FAMILY.get(scheme, scheme)
    if not rest.startswith("/"):
        raise ValueError(f"{uri!r} is neither an absolute path nor a URI")
    authority = ""
    if rest.startswith("//"):
        authority, _, rest = rest[2:].partition("/")
    if scheme == "abfs":
        authority = _container(authority)
    if scheme == "file" and authority not in {"", "localhost"}:
        raise ValueError(f"{uri!r} names a host; a local path is spelled file:///x or /x")
    if scheme == "file":
        authority = ""
    return _meant(Location(scheme, authority, _normal_path(rest)), aliases)


def _meant(place: Location, aliases: Sequence[Alias]) -> Location:
    for alias in aliases:
        key = alias.source.key_of(place)
        if key is not None:
            return alias.target.child(key)
    return place


def named_place(text: str, aliases: Sequence[Alias] = ()) -> Location:
    """Return the place that a text names, also if none can be read in it.

    Such a text stands for itself, as a place that no search reaches until an alias says what it
    means. So whatever names a place where a checkpoint may be is either searched, or known not to
    be.
    """
    try:
        place = canonical(text, aliases)
    except ValueError:
        place = None
    if place is None or IN_NO_NAME.search(text):
        return _meant(unreadable_place(text), aliases)
    return place


def unreadable_place(text: str) -> Location:
    """Return the place that stands for a text in which no place can be read."""
    return Location(UNREADABLE, "", _normal_path(IN_NO_NAME.sub("?", text)))


def place_of(uri: str | None, aliases: Sequence[Alias] = ()) -> Location | None:
    """Return the place that is named, ``None`` for none and for Flink's words for "no place".

    It is for what a place proves of a job: a text that no one can read proves nothing. What must
    be searched is read by ``named_place``, which drops no text.
    """
    try:
        return None if uri is None else canonical(uri, aliases)
    except ValueError:
        return None


def places_of(uris: Iterable[str | None], aliases: Sequence[Alias] = ()) -> Iterator[Location]:
    """Yield every place that is named, as ``place_of`` reads it."""
    return (place for each in uris if (place := place_of(each, aliases)) is not None)


def parse_alias(text: str) -> Alias:
    """Return the alias that ``FROM=TO`` states.

    Raises:
        ValueError: There is no "=", or a side is no place.
    """
    source, equals, target = text.partition("=")
    if not equals:
        raise ValueError(f"alias {text!r} is not of the form FROM=TO")
    try:
        return Alias(canonical(source), canonical(target))
    except ValueError as err:
        raise ValueError(f"a side of alias {text!r} is neither an absolute path nor a URI") from err


def is_within(uri: str, places: Iterable[str]) -> bool:
    """Return whether a location is one of some places, or below one."""
    return any(uri == each or uri.startswith(each.rstrip("/") + "/") for each in places)
