"""A state location in a bucket: an object that is created only once is the lock."""

import uuid
from datetime import datetime
from http import HTTPStatus

from orphangc.adapters.files.state_files import PROBE, ProbedStateFiles, cannot_lock
from orphangc.adapters.files.translate import checked_parts
from orphangc.adapters.object_store.bucket import RequestError
from orphangc.adapters.object_store.object_storage import ObjectStorage
from orphangc.core.model.types import ObjectKey

_MOST_BYTES = 1 << 30
_EXISTS = {HTTPStatus.PRECONDITION_FAILED, HTTPStatus.CONFLICT}
_NO_CONDITIONS = {"NotImplemented", "InvalidArgument", "InvalidRequest"}


class ObjectStateFiles(ProbedStateFiles):
    """Files below a prefix of a bucket."""

    _why_not = "the store creates a name that exists"

    def __init__(self, bucket: ObjectStorage, *, is_probed: bool = True) -> None:
        self.location = bucket.location
        self._bucket = bucket
        self._can_create = not is_probed

    def names(self, folder: str) -> list[str]:
        """Return the names in ``folder``, sorted; see ``StateFiles``."""
        level = self._bucket.folder("/".join(checked_parts(folder)) if folder else "")
        found = {*level.folders, *(each.key.rpartition("/")[2] for each in level.objects)}
        return sorted(name for name in found if not name.startswith(PROBE))

    def read(self, name: str) -> bytes | None:
        """Return a whole file; see ``StateFiles``."""
        self._name(name)
        return self._bucket.read(ObjectKey(name), max_bytes=_MOST_BYTES)

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file; see ``StateFiles``."""
        with self._bucket.translated(f"write {name!r} in"):
            self._bucket.put(self._name(name), data, writer=str(uuid.uuid4()), is_new=False)

    def remove(self, name: str) -> None:
        """Remove one file; see ``StateFiles``."""
        with self._bucket.translated(f"remove {name!r} in"):
            self._bucket.remove(self._name(name))

    def modified_at(self, name: str) -> datetime | None:
        """Return the store time of a file; see ``StateFiles``."""
        self._name(name)
        (found,) = self._bucket.stat([ObjectKey(name)])
        return found.modified_at if found else None

    def _create(self, name: str, data: bytes) -> bool:
        """Put the object conditionally.

        A client repeats a request whose answer was lost. A refusal after a repetition may be caused
        by our own first attempt; the writer's mark on the object shows this.
        """
        writer = str(uuid.uuid4())
        with self._bucket.translated(f"create {name!r} in"):
            try:
                self._bucket.put(self._name(name), data, writer=writer, is_new=True)
            except RequestError as err:
                if err.code in _NO_CONDITIONS:
                    raise cannot_lock(self.location, err.code) from err
                if err.status not in _EXISTS:
                    raise
                return self._bucket.writer(self._name(name)) == writer
        return True

    def _name(self, name: str) -> str:
        return self._bucket.root + "/".join(checked_parts(name))
