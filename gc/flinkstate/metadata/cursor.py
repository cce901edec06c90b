"""Java's ``DataOutput`` conventions: a bounded cursor over bytes, and modified UTF-8."""

import re
import struct
from typing import Any

from flinkstate.buffers import Buffer, let_go
from flinkstate.errors import UnreadableMetadataError

LONGEST_UTF_BYTES = 0xFFFF
"""Maximum number of bytes that Java's ``writeUTF`` can frame."""

_HELD_BYTES = 1 << 20
_u2_at = struct.Struct(">H").unpack_from
_i4_at = struct.Struct(">i").unpack_from
_i8_at = struct.Struct(">q").unpack_from
_ABOVE_BMP = re.compile("[\U00010000-\U0010ffff]")
_LAST_OF_BMP = "\uffff"


def decode_utf(raw: bytes, *, offset: int = 0) -> str:
    """Return the text of modified UTF-8 bytes; a lone surrogate is kept.

    This decoder is stricter than Java's reader: it refuses what Java's writer never emits (a raw
    zero byte, an overlong form, a four-byte form), so that equal texts have equal bytes.

    Args:
        raw: Bytes without their length prefix.
        offset: Offset of the bytes in the file, for the error.

    Raises:
        UnreadableMetadataError: The bytes are not modified UTF-8.

    Source: Java 8-17, ``java.io.DataInput.readUTF``.

    """
    if b"\0" in raw:
        raise UnreadableMetadataError(
            "raw zero byte in modified UTF-8", offset=offset + raw.index(0)
        )
    if raw.isascii():
        return raw.decode("ascii")
    try:
        units = raw.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise UnreadableMetadataError(
            f"malformed modified UTF-8: {error.reason}", offset=offset
        ) from error
    if max(units) > _LAST_OF_BMP:
        raise UnreadableMetadataError("four-byte form in modified UTF-8", offset=offset)
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def encode_utf(text: str) -> bytes:
    """Return the modified UTF-8 of a text, without the length prefix.

    Raises:
        ValueError: More than 65535 bytes, which Java cannot frame.

    Source: Java 8-17, ``java.io.DataOutput.writeUTF``.

    """
    if text.isascii() and "\0" not in text:
        raw = text.encode("ascii")
    else:
        units = _ABOVE_BMP.sub(_surrogates, text)
        raw = units.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")
    if len(raw) > LONGEST_UTF_BYTES:
        raise ValueError(f"{len(raw)} bytes of modified UTF-8: Java's writeUTF ends at 65535")
    return raw


def _surrogates(match: re.Match[str]) -> str:
    high, low = struct.unpack("<2H", match[0].encode("utf-16-le"))
    return chr(high) + chr(low)


class Cursor:
    """A position in the bytes of a file that never moves past an end."""

    __slots__ = ("_let_go", "data", "end", "position")

    def __init__(self, data: Buffer, position: int = 0) -> None:
        self.data = data
        self.position = position
        self.end = len(data)
        self._let_go = position

    def let_go(self) -> None:
        """Free the memory of what was read of a mapped file."""
        if self.position - self._let_go >= _HELD_BYTES:
            let_go(self.data, self._let_go, self.position)
            self._let_go = self.position

    def error(self, reason: str, *, at: int | None = None) -> UnreadableMetadataError:
        """Return the error for the bytes at ``at``, by default at the position."""
        return UnreadableMetadataError(reason, offset=self.position if at is None else at)

    def skip(self, size: int) -> int:
        """Move over ``size`` bytes (>= 0); return their offset."""
        start = self.position
        stop = start + size
        if stop > self.end:
            raise self.error(f"truncated: {size} bytes wanted, {self.end - start} left")
        self.position = stop
        return start

    def u1(self) -> int:
        """Return an unsigned byte."""
        return self.data[self.skip(1)]

    def u2(self) -> int:
        """Return an unsigned short."""
        value: int = _u2_at(self.data, self.skip(2))[0]
        return value

    def i4(self) -> int:
        """Return a signed int."""
        value: int = _i4_at(self.data, self.skip(4))[0]
        return value

    def i8(self) -> int:
        """Return a signed long."""
        value: int = _i8_at(self.data, self.skip(8))[0]
        return value

    def take(self, size: int) -> bytes:
        """Return the next ``size`` bytes (>= 0)."""
        start = self.skip(size)
        return self.data[start : start + size]

    def utf(self) -> str:
        """Return a text framed by its u2 length as ``writeUTF`` does."""
        at = self.position
        start = at + 2
        if start > self.end:
            raise self.error(f"truncated: 2 bytes wanted, {self.end - at} left")
        stop = start + (self.data[at] << 8 | self.data[at + 1])
        if stop > self.end:
            raise self.error(f"truncated: text of {stop - start} bytes, {self.end - start} left")
        self.position = stop
        raw = self.data[start:stop]
        if raw.isascii() and b"\0" not in raw:
            return raw.decode("ascii")
        return decode_utf(raw, offset=start)

    def count(self, smallest: int) -> int:
        """Return an element count, checked against the remaining bytes.

        The check comes before any allocation, because a wrong count could exhaust memory.

        Args:
            smallest: Size of the shortest possible element in bytes, > 0.

        """
        at = self.position
        count = self.i4()
        if count < 0:
            raise self.error(f"negative count {count}", at=at)
        if count * smallest > self.end - self.position:
            raise self.error(
                f"count {count} of at least {smallest} bytes each, {self.end - self.position} left",
                at=at,
            )
        return count

    def blob(self) -> bytes:
        """Return bytes framed by an i4 length."""
        return self.take(self.count(1))

    def longs(self, count: int) -> tuple[int, ...]:
        """Return ``count`` signed longs."""
        values: tuple[Any, ...] = struct.unpack_from(f">{count}q", self.data, self.skip(8 * count))
        return values

    def at_end(self) -> bool:
        """Return whether the position is the end."""
        return self.position == self.end
