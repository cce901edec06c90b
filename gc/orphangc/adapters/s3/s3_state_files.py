"""The state location in S3: conditional writes are the lock."""

from __future__ import annotations

import uuid
from datetime import datetime

from flinkstate.places.locations import Location
from orphangc.adapters.files.state_files import PROBE, cannot_lock
from orphangc.adapters.files.translate import checked_parts
from orphangc.adapters.s3.head import S3Reader
from orphangc.adapters.s3.requests.s3_client import CALL_ERRORS, S3Client, error_code
from orphangc.adapters.s3.s3_listing import S3Pages
from orphangc.core.model.types import ObjectKey
from orphangc.errors import SettingsError

_MOST_BYTES = 1 << 30
_EXISTS = {"PreconditionFailed", "412"}
_UNSUPPORTED = {"NotImplemented", "InvalidArgument", "InvalidRequest"}
_WRITER = "orphangc-writer"


class S3StateFiles:
    """Files below a prefix of a bucket."""

    def __init__(self, location: Location, *, is_probed: bool = True) -> None:
        if not location.authority:
            raise SettingsError(f"{location} names no bucket")
        self.location = location
        self._client = S3Client(location)
        self._reader = S3Reader(self._client)
        self._pages = S3Pages(self._client)
        self._can_create = not is_probed

    def names(self, folder: str) -> list[str]:
        """Return the names in ``folder``, sorted; see ``StateFiles``."""
        start = self._key(folder) + "/" if folder else self._client.root
        found: set[str] = set()
        for page in self._pages.pages(start, delimiter="/"):
            found.update(prefix[len(start) : -1] for prefix in page.prefixes)
            found.update(key[len(start) :] for key in page.objects["key"].to_pylist())
        return sorted(name for name in found if name and not name.startswith(PROBE))

    def read(self, name: str) -> bytes | None:
        """Return a whole file; see ``StateFiles``."""
        self._key(name)
        return self._reader.read(ObjectKey(name), max_bytes=_MOST_BYTES)

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file; see ``StateFiles``."""
        with self._client.translated(f"write {name!r} in"):
            self._client.call("put_object", Key=self._key(name), Body=data)

    def create(self, name: str, data: bytes) -> bool:
        """Write a file unless it exists, by ``If-None-Match: *``; see ``StateFiles``.

        Raises:
            SettingsError: A probe shows that the store ignores or refuses this condition.

        """
        if not self._can_create:
            self._probe()
        return self._create(name, data)

    def remove(self, name: str) -> None:
        """Remove one file; see ``StateFiles``."""
        with self._client.translated(f"remove {name!r} in"):
            self._client.call("delete_object", Key=self._key(name))

    def modified_at(self, name: str) -> datetime | None:
        """Return the store time of a file; see ``StateFiles``."""
        self._key(name)
        (found,) = self._reader.stat([ObjectKey(name)])
        return found.modified_at if found else None

    def _probe(self) -> None:
        """Check once that the store refuses to create the same name twice."""
        name = f"{PROBE}{uuid.uuid4()}"
        try:
            if not self._create(name, b"1") or self._create(name, b"2"):
                raise cannot_lock(self.location, "the store ignores If-None-Match")
        finally:
            self.remove(name)
        self._can_create = True

    def _create(self, name: str, data: bytes) -> bool:
        """Put the object conditionally.

        botocore repeats a request whose answer was lost. A refusal after a repetition may be caused
        by our own first attempt; the writer's mark on the object shows this.
        """
        writer = str(uuid.uuid4())
        try:
            self._client.call(
                "put_object",
                Key=self._key(name),
                Body=data,
                IfNoneMatch="*",
                Metadata={_WRITER: writer},
            )
        except CALL_ERRORS as err:
            if error_code(err) in _EXISTS:
                return self._is_written_by(name, writer)
            if error_code(err) in _UNSUPPORTED:
                raise cannot_lock(self.location, error_code(err)) from err
            raise self._client.explained(f"create {name!r} in", err) from err
        return True

    def _is_written_by(self, name: str, writer: str) -> bool:
        """Return whether the object carries this writer's mark."""
        try:
            found = self._client.call("head_object", Key=self._key(name))
        except CALL_ERRORS as err:
            if error_code(err) in {"404", "NoSuchKey"}:
                return False  # removed meanwhile, so another writer created it
            raise self._client.explained(f"create {name!r} in", err) from err
        return bool(found.get("Metadata", {}).get(_WRITER) == writer)

    def _key(self, name: str) -> str:
        return self._client.root + "/".join(checked_parts(name))
