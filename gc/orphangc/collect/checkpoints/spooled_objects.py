"""A large object of a storage in a temporary file: it need not fit into memory."""

from __future__ import annotations

import mmap
import tempfile

from orphangc.core.model.types import ObjectKey
from orphangc.errors import StorageUnreachableError
from orphangc.ports import Storage

_PART = 1 << 23


def spooled(storage: Storage, key: ObjectKey, *, max_bytes: int) -> mmap.mmap | None:
    """Return an object mapped from a file without a name, ``None`` if it is absent or changed.

    It is read in parts, which are of one object only if its facts are the same before and after.
    The object's own file is never mapped: this process would end if another one cut it short.

    Raises:
        StorageUnreachableError: Anything but absence, also an object over ``max_bytes``, and a
            temporary file that cannot be written.

    """
    (before,) = storage.stat([key])
    if before is None:
        return None
    if before.size > max_bytes:
        raise StorageUnreachableError(f"{key!r} has over {max_bytes} bytes")
    try:
        with tempfile.TemporaryFile(prefix="orphangc-") as file:
            for start in range(0, before.size, _PART):
                wanted = min(_PART, before.size - start)
                part = storage.part(key, start=start, size=wanted)
                if part is None or len(part) != wanted:
                    return None
                file.write(part)
            file.flush()
            if storage.stat([key]) != [before]:
                return None
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as err:
        raise StorageUnreachableError(f"cannot keep {key!r} in a temporary file: {err}") from err
