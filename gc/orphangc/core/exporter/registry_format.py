"""The registry snapshot, versions 1 and 2: what a job still uses, in JSON Lines (design, 5).

One header line, one line an entry, one footer line; each is a JSON object and ends with one line
feed, which only the footer may lack. The footer's ``sha256`` is the lower-case hexadecimal digest
of the bytes of all entry lines, each with its line feed, in the order of the file: everything
between the header's line feed and the footer. All fields must be there and no other; ``null`` is
allowed where ``RegistrySnapshot`` and ``RegistryEntry`` say ``None``. The whole may be gzipped,
as one member.

Version 2 adds the job's settings to the header: ``state_backend``, ``changelog`` and
``file_merging``. A reader of version 1 refuses it, for it takes no other field. Who knows no
setting writes version 1.

A snapshot only *protects* (its entries) and *dates* (its header), so what is not exactly one
whole snapshot is refused, and never read as a smaller one. What the digest does not cover, the
header, is checked against itself: a retained ``chk-N`` has the id N, and a directory named after
a job is named after this one. Gzip's checksum covers all.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from dataclasses import fields as fields_of
from itertools import islice
from typing import Annotated, Literal, NoReturn, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from flinkstate.buffers import Buffer, let_go
from flinkstate.places.checkpoint_names import is_job_id
from flinkstate.places.locations import canonical
from orphangc.core.exporter.registry_snapshot import (
    TOO_LARGE,
    UNKNOWN_SETTINGS,
    EntryKind,
    JobSettings,
    MergingSettings,
    RegistryEntries,
    RegistryEntry,
    RegistryHeader,
    RegistrySnapshot,
    Text,
    resolve,
)
from orphangc.core.model.job_folders import CHECKPOINT
from orphangc.errors import UnreadableSnapshotError

MAX_SNAPSHOT_BYTES = 1 << 30
"""Unpacked; some seven million entries."""
_CHECKPOINT = re.compile(CHECKPOINT + r"([0-9]{1,19})")
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP = 16 + zlib.MAX_WBITS
_ENTRY_FIELDS = frozenset({"type", "path", "kind", "size", "created", "last_used"})
_KINDS = {kind.value: kind for kind in EntryKind}
_PART = 1 << 20
_LOT = 1 << 12


def read_snapshot(data: Buffer, *, max_bytes: int = MAX_SNAPSHOT_BYTES) -> RegistrySnapshot:
    """Return the one whole snapshot that ``data`` is, or raise ``UnreadableSnapshotError``.

    Of several faults the message names header, footer and digest before an entry: a truncated
    file ends without a footer.

    Args:
        max_bytes: Limit of the unpacked size, against bombs.
    """
    body = _Body(_lines(_unpacked(data, max_bytes)))
    entries = RegistryEntries(body.entries())
    return replace(body.header, entries=entries, sha256=body.digest.hexdigest())


def write_snapshot(
    snapshot: RegistrySnapshot, entries: Collection[RegistryEntry], *, compress: bool = False
) -> bytes:
    """Return a snapshot's bytes with these entries, always the same, or raise ``ValueError``."""
    header = _header_of(snapshot)
    _snapshot_of(header)
    body = b"".join(map(_entry_line, entries))
    digest = hashlib.sha256(body).hexdigest()
    footer = {"type": "footer", "entries": len(entries), "sha256": digest}
    text = b"".join((_line(header), body, _line(footer)))
    if not compress:
        return text
    packer = zlib.compressobj(wbits=_GZIP)
    return packer.compress(text) + packer.flush()


class _SnapshotPart(BaseModel):
    """Base of what a file says and the value does not: exact types, and no missing field."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class _Envelope(_SnapshotPart):
    model_config = ConfigDict(extra="ignore")

    type: Literal["header"]
    format: Literal["orphangc-registry"]
    version: Annotated[int, Field(ge=1, le=2)]  # Literal[1, 2] would take true and 1.0


class _Changelog(_SnapshotPart):
    enabled: bool | None


class _Settings(_SnapshotPart):
    state_backend: Text | None
    changelog: _Changelog | None
    file_merging: MergingSettings | None

    @property
    def value(self) -> JobSettings:
        return JobSettings(
            state_backend=self.state_backend,
            changelog=None if self.changelog is None else self.changelog.enabled,
            merging=self.file_merging,
        )


class _Footer(_SnapshotPart):
    type: Literal["footer"]
    entries: Annotated[int, Field(ge=0, lt=TOO_LARGE)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _agreeing(header: RegistryHeader) -> RegistryHeader:
    """Refuse a header whose paths and ids contradict each other: the digest covers none."""
    directory = canonical(header.checkpoint_dir).name
    if is_job_id(directory) and directory != header.job_id:
        raise ValueError("checkpoint_dir is the directory of another job")
    for each in header.retained:
        name = canonical(resolve(each.path, header.checkpoint_dir)).name
        match = _CHECKPOINT.fullmatch(name)
        if match and not each.is_savepoint and int(match[1]) != each.id:
            raise ValueError(f"retained checkpoint {each.id} lies in {name}")
    return header


_HEADER = TypeAdapter(Annotated[RegistryHeader, AfterValidator(_agreeing)])
_PartT = TypeVar("_PartT")


def _unreadable(number: int, reason: str) -> UnreadableSnapshotError:
    return UnreadableSnapshotError(f"cannot read registry snapshot at line {number}: {reason}")


def _unpacked(data: Buffer, max_bytes: int) -> Iterator[bytes]:
    """Yield the text, unpacked if it is gzip: one member, whole, and nothing behind it."""
    if data[: len(_GZIP_MAGIC)] != _GZIP_MAGIC:
        if len(data) > max_bytes:
            raise _unreadable(1, f"more than {max_bytes} bytes")
        yield from _parts(data)
        return
    unpacker, left = zlib.decompressobj(wbits=_GZIP), max_bytes
    try:
        for part in _parts(data):
            text = unpacker.decompress(part, _PART)
            while text:
                left -= len(text)
                if left < 0:
                    raise _unreadable(1, f"more than {max_bytes} bytes once unpacked")
                yield text
                text = unpacker.decompress(unpacker.unconsumed_tail, _PART)
    except zlib.error as err:
        raise _unreadable(1, f"damaged gzip: {err}") from err
    if not unpacker.eof or unpacker.unused_data:
        raise _unreadable(1, "the gzip member is cut short or followed by more")


def _parts(data: Buffer) -> Iterator[bytes]:
    for start in range(0, len(data), _PART):
        yield data[start : start + _PART]
        let_go(data, start, start + _PART)


def _lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    begun: list[bytes] = []
    for part in parts:
        *whole, rest = part.split(b"\n")
        for line in whole:
            yield b"".join((*begun, line)) if begun else line
            begun = []
        begun.append(rest)
    yield b"".join(begun)


@dataclass(slots=True)
class _Body:
    lines: Iterator[bytes]
    header: RegistrySnapshot = field(init=False)
    number: int = 0
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    problem: UnreadableSnapshotError | None = None

    def entries(self) -> Iterator[RegistryEntry]:
        """Yield the entries, and raise in place of the end unless all is one whole snapshot."""
        header = next(self.lines) + b"\n"
        held: list[bytes] = []
        while lot := list(islice(self.lines, _LOT)):
            held += lot
            yield from self._of(held[:-2])
            del held[:-2]
        if held and not held[-1]:
            held = [line + b"\n" for line in held[:-1]]
        if not held:
            raise _unreadable(1, "one line is no header and footer")
        yield from self._of(held[:-1])
        self.header = _checked(_snapshot_of, header, 1)
        self._check(held[-1])

    def _of(self, lines: Sequence[bytes]) -> Iterator[RegistryEntry]:
        """Yield the entries of some lines, to the first that is none; no model, for speed."""
        self.digest.update(b"\n".join((*lines, b"")))
        number = self.number + 2
        self.number += len(lines)
        try:
            for line in () if self.problem else lines:
                yield _entry(_object(line))
                number += 1
        except ValueError as err:
            self.problem = _unreadable(number, str(err))

    def _check(self, line: bytes) -> None:
        number = self.number
        footer = _checked(_footer_of, line, number + 2)
        if footer.entries != number:
            why = f"the footer counts {footer.entries} entries, not {number}"
            raise _unreadable(number + 2, why)
        if footer.sha256 != self.digest.hexdigest():
            raise _unreadable(number + 2, "the entries do not have the footer's sha256")
        if self.problem is not None:
            raise self.problem


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return a JSON object; of two equal keys a parser would silently keep the last."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return fields


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _object(line: bytes) -> dict[str, object]:
    try:
        text = line.decode("utf-8")
        value, end = _DECODER.raw_decode(text)
    except UnicodeDecodeError as err:
        raise ValueError(f"no UTF-8 at byte {err.start + 1}") from None
    except json.JSONDecodeError as err:
        raise ValueError(f"no JSON: {err.msg} at column {err.colno}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if end != len(text) and text[end:].strip(" \t\r\n"):
        raise ValueError(f"more text after column {end}")
    if type(value) is not dict:
        raise ValueError("no JSON object")
    return value


def _checked(check: Callable[[dict[str, object]], _PartT], line: bytes, number: int) -> _PartT:
    try:
        return check(_object(line))
    except ValidationError as err:
        first = err.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        is_more = first["type"] == "unexpected_keyword_argument"
        why = "Extra inputs are not permitted" if is_more else first["msg"]
        raise _unreadable(number, f"{field}: {why}" if field else why) from err
    except ValueError as err:
        raise _unreadable(number, str(err)) from err


def _footer_of(fields: Mapping[str, object]) -> _Footer:
    if fields.get("type") != "footer":
        raise ValueError("the last line is no footer: the snapshot is partial")
    return _Footer.model_validate(fields)


def _snapshot_of(fields: Mapping[str, object]) -> RegistrySnapshot:
    version = _Envelope.model_validate(fields).version
    left = {name: each for name, each in fields.items() if name not in _Envelope.model_fields}
    added = {
        name: left.pop(name) for name in _Settings.model_fields if version > 1 and name in left
    }
    header = _HEADER.validate_python(left)
    return RegistrySnapshot(
        **{each.name: getattr(header, each.name) for each in fields_of(header)},
        entries=RegistryEntries(),
        settings=_Settings.model_validate(added).value if version > 1 else UNKNOWN_SETTINGS,
    )


def _entry(fields: dict[str, object]) -> RegistryEntry:
    if fields.keys() != _ENTRY_FIELDS or fields["type"] != "entry":
        raise ValueError("not the fields of an entry")
    path, kind = fields["path"], fields["kind"]
    if type(path) is not str or not path:
        raise ValueError("path must be a text, and not empty")
    if not path.isascii():
        path.encode("utf-8")
    known = _KINDS.get(kind) if type(kind) is str else None
    if known is None:
        raise ValueError(f"kind {kind!r} is unknown")
    size, created, last_used = fields["size"], fields["created"], fields["last_used"]
    return RegistryEntry(path, known, _whole(size), _whole(created), _whole(last_used))


def _whole(number: object) -> int | None:
    if number is None or (type(number) is int and 0 <= number < TOO_LARGE):
        return number
    raise ValueError("size, created and last_used must be whole numbers, not negative")


def _line(fields: dict[str, object]) -> bytes:
    return _ENCODER.encode(fields).encode("utf-8") + b"\n"


def _entry_line(entry: RegistryEntry) -> bytes:
    fields = {"type": "entry", **entry._asdict(), "kind": entry.kind.value}
    _entry(fields)
    return _line(fields)


def _header_of(snapshot: RegistrySnapshot) -> dict[str, object]:
    settings = snapshot.settings
    is_known = settings != UNKNOWN_SETTINGS
    header = {
        "type": "header",
        "format": "orphangc-registry",
        "version": 2 if is_known else 1,
        **_HEADER.dump_python(snapshot, mode="json", by_alias=True),
    }
    if is_known:
        header["state_backend"] = settings.state_backend
        changelog = settings.changelog
        header["changelog"] = None if changelog is None else {"enabled": changelog}
        header["file_merging"] = None if settings.merging is None else asdict(settings.merging)
    return header
