"""A large object of a storage in a temporary file: it need not fit into memory."""

import mmap
import tempfile

from flinkstate.buffers import Buffer
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.errors import StorageUnreachableError
from orphangc.ports import Storage

LARGE = 1 << 24
"""Bytes of an object that is not read into memory any more."""
_PART = 1 << 23
_ATTEMPTS = 3


def contents_of(
    storage: Storage, key: ObjectKey, listed: StoredObject | None, *, max_bytes: int
) -> Buffer | None:
    """Return the bytes of an object, ``None`` if it is absent; raises as ``spooled``.

    One that was listed as a large one is spooled, if an ETag shows whether it changes meanwhile.
    """
    if listed is not None and listed.size > LARGE and listed.etag:
        return spooled(storage, key, max_bytes=max_bytes)
    return storage.read(key, max_bytes=max_bytes)


def spooled(storage: Storage, key: ObjectKey, *, max_bytes: int) -> Buffer | None:
    """Return an object mapped from a file without a name, ``None`` if it is absent.

    It is read in parts, which are of one object only if its facts are the same before and after.
    The object's own file is never mapped: this process would end if another one cut it short.

    Raises:
        StorageUnreachableError: Anything but absence, also an object that changes each time or is
            over ``max_bytes``, and a temporary file that cannot be written.
    """
    for _ in range(_ATTEMPTS):
        (before,) = storage.stat([key])
        if before is None:
            return None
        if before.size > max_bytes:
            raise StorageUnreachableError(f"{key!r} has over {max_bytes} bytes")
        data = _parts_of(storage, before)
        if storage.stat([key]) == [before] and len(data) == before.size:
            return data
    raise StorageUnreachableError(f"{key!r} changes while it is read")


def _parts_of(storage: Storage, stored: StoredObject) -> Buffer:
    key = stored.key
    try:
        with tempfile.TemporaryFile(prefix="orphangc-") as file:
            for start in range(0, stored.size, _PART):
                part = storage.part(key, start=start, size=min(_PART, stored.size - start))
                if not part:
                    break
                file.write(part)
            file.flush()
            # an empty file cannot be mapped
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if file.tell() else b""
    except OSError as err:
        raise StorageUnreachableError(f"cannot keep {key!r} in a temporary file: {err}") from err
