"""Random headers: what is written is read, and what cannot be known is never guessed."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from flinkstate.state.backend_headers import read_keyed_header, read_operator_header
from orphangc.errors import UnreadableMetadataError
from unit.flinkstate.metadata.metadata_strategies import java_texts
from unit.flinkstate.state import header_writer as write

NAMES = st.lists(java_texts(max_size=30), unique=True, max_size=5)
FAKES = java_texts(max_size=5).map(write.record)
ODD = st.lists(st.binary(max_size=20) | FAKES, max_size=3).map(
    lambda parts: write.odd(b"".join(parts))
)


def serializers(values: st.SearchStrategy[bytes]) -> st.SearchStrategy[tuple]:
    roles = st.lists(st.sampled_from(write.ROLES), unique=True, min_size=1)
    return roles.flatmap(
        lambda chosen: st.tuples(*(st.tuples(st.just(role), values) for role in chosen))
    )


@st.composite
def headers(draw, values: st.SearchStrategy[bytes], key: st.SearchStrategy[bytes]):
    """Return names, kinds and options, and the bytes of a header that says so."""
    truth, records = [], []
    for name in draw(NAMES):
        word = draw(st.none() | st.sampled_from(write.TYPES))
        options = () if word is None else (("KEYED_STATE_TYPE", word),)
        kind = 3 if word is None else draw(st.sampled_from([0, 4]))
        truth.append((name, kind, dict(options)))
        records.append(
            write.record(name, kind=kind, options=options, serializers=draw(serializers(values)))
        )
    return truth, write.keyed_header(*records, key=draw(key))


def states_in(data: bytes) -> list[tuple[str, int, dict[str, str]]]:
    return [(each.name, each.kind, each.options) for each in read_keyed_header(data).states]


@given(headers(write.KNOWN, write.KNOWN))
def test_known_serializers_are_passed_exactly(drawn) -> None:
    """Every state is found, whatever is nested in its serializers."""
    truth, data = drawn
    assert states_in(data) == truth


@given(headers(write.KNOWN | ODD, write.KNOWN))
def test_unknown_serializers_never_lead_to_wrong_names(drawn) -> None:
    """Whatever a user's class wrote, even records of states."""
    truth, data = drawn
    with suppress(UnreadableMetadataError):
        assert states_in(data) == truth


@given(headers(write.KNOWN | ODD, write.KNOWN), st.data())
def test_cut_and_changed_headers_raise_nothing_else(drawn, data) -> None:
    """A bit of rot, or a file that is not all there."""
    _, header = drawn
    at = data.draw(st.integers(0, len(header) - 1))
    changed = header[:at] + data.draw(st.binary(max_size=3)) + header[at + 1 :]
    for each in (header[:at], changed):
        for read in (read_keyed_header, read_operator_header):
            try:
                read(each)
            except UnreadableMetadataError:
                continue


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data) -> None:
    """No other error, no endless loop."""
    for prefix in (b"", b"\0\0\0\6\0", write.keyed_header()[:-2]):
        for read in (read_keyed_header, read_operator_header):
            try:
                read(prefix + data)
            except UnreadableMetadataError:
                continue
