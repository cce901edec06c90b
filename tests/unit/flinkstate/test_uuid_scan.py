"""The UUID scan, which shares nothing with the parser."""

import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkstate import uuid_scan as raw_names
from unit.flinkstate.metadata.both_passes import raw_uuid_set

ONE = "01234567-89ab-cdef-0123-456789abcdef"
NAIVE = re.compile(rb"(?=([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}))")


def packed(*texts: str) -> set[bytes]:
    return {uuid.UUID(text).bytes for text in texts}


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "s3://b/shared/{}",
        "41_{}",
        "41{}",
        "abcdef{}",
        "{}abcdef",
        "{}-",
        "-{}",
        "{}-0123",
        "ffff-{}",
        "\0\x24{}\0",
        "{}.sst",
    ],
)
def test_a_uuid_is_found_whatever_is_glued_to_it(around: str) -> None:
    """Flink puts checkpoint ids, directories and length bytes before names."""
    assert raw_uuid_set(around.format(ONE).encode("latin-1")) == packed(ONE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ONE[:-1],
        ONE.upper(),
        ONE.replace("-", ""),
        ONE[1:],
        ONE.replace("-", "_"),
        "-" + ONE[9:],
    ],
)
def test_what_is_no_whole_lower_case_uuid_is_not_found(text: str) -> None:
    """Java writes them in lower case, whole."""
    assert raw_uuid_set(text.encode("ascii")) == set()


def test_uuids_that_share_digits_are_both_found() -> None:
    """The last eight digits of one may begin the next."""
    chain = ONE + "-1111-2222-3333-444444444444"
    assert raw_uuid_set(chain.encode()) == packed(ONE, "89abcdef-1111-2222-3333-444444444444")


def test_uuids_side_by_side_are_all_found() -> None:
    """Without anything between them."""
    many = [str(uuid.UUID(int=number << 60 | number)) for number in range(500)]
    assert raw_uuid_set("".join(many).encode()) == packed(*many)


fragments = st.lists(
    st.sampled_from([b"-", b"0123", b"89abcdef", b"456789abcdef", b"a", b"G", b"\0", b"_"])
    | st.sampled_from([ONE.encode(), b"-1234-5678-9abc-"])
    | st.binary(max_size=4),
    max_size=30,
).map(b"".join)


@given(fragments)
def test_nothing_is_missed_that_a_look_at_every_place_finds(data: bytes) -> None:
    """Checked against the slow way: a fresh match at each byte."""
    slow = {bytes.fromhex(text.replace(b"-", b"").decode()) for text in NAIVE.findall(data)}
    assert raw_uuid_set(data) == slow


def test_a_uuid_across_two_windows_is_found() -> None:
    """Large files are scanned window by window; no UUID hides at a boundary."""
    for offset in range(40):
        data = b"-" * (raw_names._WINDOW - offset) + ONE.encode() + b"-" * 50
        assert raw_uuid_set(data) == packed(ONE)
