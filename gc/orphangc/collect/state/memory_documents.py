"""Documents of a memory in the state location: one file for each writer, joined by each reader.

A writer adds a file that holds all that it read and saw, and then removes those that it read. Two
writers at once leave two files, and the next reader joins them: nothing is lost, no lock needed.
The name of a file ends with the digest of its bytes.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from orphangc.core.model.joined_facts import Fact, joined
from orphangc.errors import OrphanGcError, StorageUnreachableError
from orphangc.ports import StateFiles

_ATTEMPTS = 5
_NAME = re.compile(r"(?:\d{8}T\d{12}Z-[0-9a-f]{16}-)?([0-9a-f]{64})\.json", re.ASCII)
_Document = TypeVar("_Document", bound=BaseModel)
_Memory = TypeVar("_Memory", bound=Fact)


class DamagedMemoryError(OrphanGcError):
    """A file of the memory is not what was written, or is gone; what it held is unknown."""

    def __init__(self, message: str, *, name: str) -> None:
        """Keep the file beside the sentence."""
        super().__init__(message)
        self.name = name


def read_documents(
    files: StateFiles, folder: str, nothing: _Memory, root: str = ""
) -> tuple[_Memory, tuple[str, ...]]:
    """Return what all writers left, joined, and the names of their files.

    Args:
        root: Storage root that each document names; "" where they name none.

    Raises:
        DamagedMemoryError: A file is not, byte for byte, what was written, or of another version
            of orphangc, or of another storage root: it never means that nothing is remembered.
        StorageUnreachableError: The state location does not answer, or changes at each try.
    """
    for _ in range(_ATTEMPTS):
        found = {name: files.read(f"{folder}/{name}") for name in files.names(folder)}
        if None not in found.values():
            break  # else another writer has replaced one between both requests
    else:
        raise StorageUnreachableError(f"{files.location}/{folder} changes all the time")
    memory = nothing
    for name, data in found.items():
        match = _NAME.fullmatch(name)
        if match is None or hashlib.sha256(data or b"").hexdigest() != match[1]:
            what = f"{files.location}/{folder}/{name} is not what was written there"
            raise DamagedMemoryError(what, name=f"{folder}/{name}")
        read = understood(files, f"{folder}/{name}", data or b"", type(nothing), root=root)
        memory = joined(memory, read)
    return memory, tuple(found)


def understood(
    files: StateFiles, path: str, data: bytes, kind: type[_Document], *, root: str = ""
) -> _Document:
    """Return what a file says, or raise ``DamagedMemoryError``, also for another storage root."""
    try:
        document = kind.model_validate_json(data, strict=True)
    except (ValidationError, RecursionError) as err:
        what = f"{files.location}/{path} cannot be understood: damaged, or by another version"
        raise DamagedMemoryError(what, name=path) from err
    if getattr(document, "root", root) != root:
        what = f"{files.location}/{path} belongs to another storage root"
        raise DamagedMemoryError(what, name=path)
    return document


def write_document(
    files: StateFiles, folder: str, memory: BaseModel, *, replaced: Iterable[str], stem: str = ""
) -> None:
    """Write what was read and seen in place of its files, or raise ``StorageUnreachableError``.

    What a reader assumes anyway is left out. An unchanged memory is written again: a rule of the
    store by which old files expire must not find that one in use is old.

    Args:
        stem: Beginning of its name, which no other writer uses: "" where equal bytes are one file.
    """
    data = (memory.model_dump_json(exclude_defaults=True) + "\n").encode()
    name = f"{stem}{hashlib.sha256(data).hexdigest()}.json"
    files.write(f"{folder}/{name}", data)
    for old in replaced:
        if old != name:
            files.remove(f"{folder}/{old}")
