"""Files that are being written: an error names the place, as that of a full disk does not."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orphangc.errors import OrphanGcError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Write to a file, or files of a folder; an ``OrphanGcError`` names what cannot be written."""
    try:
        yield
    except OSError as err:
        raise OrphanGcError(f"cannot write {path}: {err.strerror or err}") from err
