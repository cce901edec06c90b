"""Java's DataOutput, byte by byte."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkstate.metadata.cursor import Cursor, decode_utf, encode_utf
from orphangc.errors import UnreadableMetadataError
from unit.flinkstate.metadata.metadata_strategies import java_texts

PAIRS = [
    ("", b""),
    ("abc", b"abc"),
    ("\0", b"\xc0\x80"),
    ("a\0b", b"a\xc0\x80b"),
    ("\x7f", b"\x7f"),
    ("\x80", b"\xc2\x80"),
    ("ü€", b"\xc3\xbc\xe2\x82\xac"),
    ("\uffff", b"\xef\xbf\xbf"),
    ("😀", b"\xed\xa0\xbd\xed\xb8\x80"),
    ("\U0010ffff", b"\xed\xaf\xbf\xed\xbf\xbf"),
    ("\ud800", b"\xed\xa0\x80"),
    ("x\udc00y", b"x\xed\xb0\x80y"),
    ("\udc00\ud800", b"\xed\xb0\x80\xed\xa0\x80"),
    ("\ud800😀", b"\xed\xa0\x80\xed\xa0\xbd\xed\xb8\x80"),
]


@pytest.mark.parametrize(("text", "raw"), PAIRS)
def test_modified_utf8_is_javas(text: str, raw: bytes) -> None:
    """NUL takes two bytes, characters above U+FFFF two surrogates, lone surrogates survive."""
    assert decode_utf(raw) == text
    assert encode_utf(text) == raw


@given(java_texts(max_size=40))
def test_every_java_string_survives_the_way_there_and_back(text: str) -> None:
    """And no raw zero byte is ever written."""
    raw = encode_utf(text)
    assert decode_utf(raw) == text
    assert b"\0" not in raw


@given(st.binary(max_size=12))
def test_bytes_are_either_refused_or_the_only_spelling_of_their_text(raw: bytes) -> None:
    """So that equal names have equal bytes, and nothing is normalised on the way."""
    text = None
    with contextlib.suppress(UnreadableMetadataError):
        text = decode_utf(raw)
    assert text is None or encode_utf(text) == raw


def test_the_error_says_where_in_the_file_the_text_is_malformed() -> None:
    """A raw zero byte exactly, anything else by the text it spoils."""
    with pytest.raises(UnreadableMetadataError) as caught:
        decode_utf(b"ab\0", offset=100)
    assert caught.value.offset == 102
    with pytest.raises(UnreadableMetadataError) as caught:
        decode_utf(b"ab\xff", offset=100)
    assert caught.value.offset == 100


def test_a_text_that_java_cannot_frame_is_not_written() -> None:
    """65535 bytes are the most, and bytes are not characters."""
    assert len(encode_utf("a" * 65535)) == 65535
    for text in ("a" * 65536, "ü" * 32768, "\0" * 32768):
        with pytest.raises(ValueError, match="65535"):
            encode_utf(text)


def test_numbers_are_big_endian_and_signed() -> None:
    """As DataOutput writes them."""
    data = bytes.fromhex("fffffefffffffdfffffffffffffffc000100000002")
    cursor = Cursor(data)
    assert (cursor.u1(), cursor.u2(), cursor.i4(), cursor.i8()) == (255, 65534, -3, -4)
    assert (cursor.u2(), cursor.i4()) == (1, 2)
    assert cursor.at_end()


@pytest.mark.parametrize(
    "read",
    [
        Cursor.u1,
        Cursor.u2,
        Cursor.i4,
        Cursor.i8,
        Cursor.utf,
        Cursor.blob,
        lambda cursor: cursor.count(1),
        lambda cursor: cursor.take(1),
        lambda cursor: cursor.longs(1),
        lambda cursor: cursor.skip(1),
    ],
)
def test_nothing_is_read_behind_the_end(read: object) -> None:
    """Even where more bytes lie there: the end may be that of an inner record."""
    cursor = Cursor(bytes(64), 8)
    cursor.end = 8
    with pytest.raises(UnreadableMetadataError) as caught:
        read(cursor)
    assert caught.value.offset == 8
    assert cursor.position == 8


@pytest.mark.parametrize("read", [Cursor.utf, Cursor.blob])
def test_a_length_may_not_reach_behind_the_end(read: object) -> None:
    """One byte short is short."""
    data = b"\0\0\0\4abcd" if read is Cursor.blob else b"\0\4abcd"
    assert read(Cursor(data)) in {b"abcd", "abcd"}
    with pytest.raises(UnreadableMetadataError):
        read(Cursor(data[:-1]))


def test_a_count_is_held_against_the_bytes_left() -> None:
    """Times the size of the smallest element."""
    data = b"\0\0\0\3" + bytes(12)
    assert Cursor(data).count(4) == 3
    with pytest.raises(UnreadableMetadataError, match="count 3"):
        Cursor(data).count(5)
