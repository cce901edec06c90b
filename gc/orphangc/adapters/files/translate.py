"""Translation shared by the storage adapters: errors, times, names, batches."""

import errno
import time
from datetime import datetime, timedelta

import pyarrow as pa

from flinkstate.text.redaction import one_line
from orphangc.core.model.codes import NOT_FOLLOWED
from orphangc.core.times.instants import (
    EPOCH,
    from_iso,
    is_known,
    known_microseconds,
    microseconds_of,
    shifted,
)
from orphangc.errors import StorageUnreachableError
from orphangc.ports import LISTING_SCHEMA


def host_now() -> datetime:
    """Return this machine's time; the one place of the storage adapters that reads its clock."""
    return shifted(EPOCH, timedelta(microseconds=time.time_ns() // 1000))


def to_microseconds(when: object) -> int | None:
    """Return microseconds since 1970 of a library's time value; ``None`` if it is ambiguous.

    A naive ``datetime`` is ambiguous: a guessed zone could make an object look older. The result is
    also ``None`` for an instant out of range (``core/times/instants.py``).
    """
    if isinstance(when, str):
        when = from_iso(when)
    if isinstance(when, datetime):
        return microseconds_of(when) if is_known(when) else None
    if isinstance(when, (int, float)) and not isinstance(when, bool):
        return known_microseconds(when * 1_000_000)
    return None


def unreachable(action: str, err: object) -> StorageUnreachableError:
    """Return the error that names the failed action and its reason; raise it ``from err``."""
    if isinstance(err, OSError) and err.errno == errno.ELOOP:
        err = f"a symbolic link {NOT_FOLLOWED}, name what it leads to: {err.filename}"
    return StorageUnreachableError(one_line(f"cannot {action}: {err}"))


def escaped(name: str) -> str:
    r"""Return a name with the bytes that are no UTF-8 written as ``\xff``.

    A parquet string must be UTF-8. Where names can be escaped, no deleter accepts a key with a
    backslash: an escaped name never selects the file that really has this name.
    """
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def checked_parts(key: str) -> list[str]:
    """Return the parts of a key; ``ValueError`` if absolute, or one is empty, ``.`` or ``..``."""
    parts = key.split("/")
    if "\0" in key or any(part in {"", ".", ".."} for part in parts):
        raise ValueError(f"{key!r} is no key below a storage root")
    return parts


class BatchBuilder:
    """Collects listing rows into batches of ``LISTING_SCHEMA``; Python lists append fastest."""

    ROWS = 50_000

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.sizes: list[int | None] = []
        self.modified: list[int | None] = []
        self.etags: list[str | None] = []

    def add(self, key: str, size: int | None, modified_us: int | None, etag: str | None) -> None:
        """Append one row; ``modified_us`` are microseconds since 1970, null if out of range."""
        self.keys.append(key)
        self.sizes.append(size)
        self.modified.append(None if modified_us is None else known_microseconds(modified_us))
        self.etags.append(etag)

    @property
    def is_full(self) -> bool:
        """Return whether a batch is full."""
        return len(self.keys) >= self.ROWS

    def take(self) -> pa.RecordBatch:
        """Return the rows as one batch; start an empty one."""
        try:
            keys = pa.array(self.keys, pa.string())
        except UnicodeEncodeError:
            keys = pa.array([escaped(key) for key in self.keys], pa.string())
        columns = [
            keys,
            pa.array(self.sizes, pa.int64()),
            pa.array(self.modified, LISTING_SCHEMA.field("modified_at").type),
            pa.array(self.etags, pa.string()),
        ]
        self.__init__()  # type: ignore[misc]
        return pa.RecordBatch.from_arrays(columns, schema=LISTING_SCHEMA)
