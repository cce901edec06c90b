"""Headers of state files: Flink's own reading of real ones, and strictness towards all others."""

import random
import re

import pytest

from flinkstate.state.backend_headers import keyed_contents, read_keyed_header, read_operator_header
from flinkstate.state.contents import KeyedStateKind, Serializer
from flinkstate.state.serializer_snapshots import DEEPEST_SERIALIZERS
from orphangc.errors import UnreadableMetadataError
from unit.flinkstate.metadata.by_hand import i4
from unit.flinkstate.state import header_writer as write
from unit.flinkstate.state.golden_headers import (
    GoldenHeader,
    as_expected,
    golden_headers,
    states_of,
)

ALL = pytest.mark.parametrize("golden", golden_headers(), ids=lambda golden: golden.name)
STRIDE = 29
MUTANTS = 150
NAMED = re.compile(rb"([\x01-\xff]+)\x00{3}[\x00-\x04]\x00{3}[\x00\x01]\x00")


def test_all_vectors_are_here() -> None:
    """None was lost on the way into the repository."""
    assert len(golden_headers()) == 20


@ALL
def test_a_golden_header_is_read_as_flink_reads_it(golden: GoldenHeader) -> None:
    """Names, kinds and options in order; also behind serializers of a user's class."""
    assert as_expected(golden.read(golden.data)) == golden.expected


@ALL
def test_no_prefix_passes_for_a_header(golden: GoldenHeader) -> None:
    """And none raises anything but the reader's own error."""
    data = golden.data
    step = 1 if golden.name == "2.3.0/keyed-custom" else STRIDE
    for size in range(0, len(data), step):
        with pytest.raises(UnreadableMetadataError):
            golden.read(data[:size])
    with pytest.raises(UnreadableMetadataError, match="behind the last state"):
        golden.read(data + b"\0")


@ALL
def test_a_changed_byte_never_changes_other_names(golden: GoldenHeader) -> None:
    """What is read at all has the true names, but for the one that was changed itself."""
    data = golden.data
    truth = [each["name"] for each in golden.expected["states"]]
    names = {at for each in NAMED.finditer(data) for at in range(each.start(1), each.end(1))}
    chance = random.Random(golden.name)
    for _ in range(MUTANTS):
        at = chance.randrange(len(data))
        mutant = data[:at] + bytes([data[at] ^ chance.randrange(1, 256)]) + data[at + 1 :]
        try:
            read = [each.name for each in states_of(golden.read(mutant))]
        except UnreadableMetadataError:
            continue
        changed = sum(one != other for one, other in zip(read, truth, strict=True))
        assert changed <= (at in names)


def test_serializers_are_named_with_their_types() -> None:
    """As far as the file states them."""
    golden = next(each for each in golden_headers() if each.name == "2.3.0/keyed-custom")
    header = golden.read(golden.data)
    value = {each.name: each.serializers[0].snapshot for each in states_of(header)}
    assert header.key_serializer == "StringSerializerSnapshot"
    assert value["long"] == "LongSerializerSnapshot"
    assert value["pojo"] == "PojoSerializerSnapshot(ProxyGen$P)"
    assert value["custom"] == "ProxyGen$My$Snap"
    assert value["list-of-kryo"] == ("ListSerializerSnapshot<KryoSerializerSnapshot(ProxyGen$K)>")


@pytest.mark.parametrize(
    ("option", "kind"),
    [(word, word.lower()) for word in write.TYPES] + [("UNKNOWN", "unknown"), ("NEW", "unknown")],
)
def test_kinds_of_keyed_states(option, kind) -> None:
    """Flink's words in lower case; one that is not known yet is unknown."""
    for code in (0, 4):
        data = write.keyed_header(
            write.record("s", kind=code, options=(("KEYED_STATE_TYPE", option),))
        )
        (state,) = read_keyed_header(data).states
        assert keyed_contents(state).kind is KeyedStateKind(kind)


def test_timers_are_a_kind_of_their_own() -> None:
    """Flink keeps them as priority queues without options."""
    data = write.keyed_header(write.record("_timer_state/event_t", kind=3, options=()))
    (state,) = read_keyed_header(data).states
    assert keyed_contents(state).kind is KeyedStateKind.TIMERS
    assert state.serializers == (Serializer(role="value", snapshot="LongSerializerSnapshot"),)


ONE = write.record("one")
ODD = (("VALUE_SERIALIZER", write.odd(b"??")),)
LOST = write.record("lost", serializers=ODD)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        pytest.param(b"", "truncated", id="empty"),
        pytest.param(i4(5) + write.keyed_header(ONE)[4:], "version 5", id="an older version"),
        pytest.param(i4(7) + write.keyed_header(ONE)[4:], "version 7", id="a newer version"),
        pytest.param(i4(6) + b"\2" + write.keyed_header(ONE)[5:], "flag", id="no flag"),
        pytest.param(write.keyed_header(ONE, count=0), "behind the last", id="fewer by count"),
        pytest.param(write.keyed_header(ONE, count=2), "truncated", id="more by count"),
        pytest.param(write.keyed_header(ONE, count=-1), "65535 states", id="a negative count"),
        pytest.param(write.keyed_header(ONE, ONE), "one name", id="a name twice"),
        pytest.param(
            write.keyed_header(write.record("b", kind=2)), "kind 2", id="a kind of others"
        ),
        pytest.param(write.keyed_header(write.record("b", kind=9)), "kind 9", id="an unknown kind"),
        pytest.param(
            write.keyed_header(write.record("s", serializers=(("ODD_SERIALIZER", write.PLAIN),))),
            "role",
            id="an unknown role",
        ),
        pytest.param(
            write.keyed_header(ONE).replace(i4(2) + b"\0P", i4(1) + b"\0P", 1),
            "form 1",
            id="an older serializer snapshot",
        ),
        pytest.param(write.keyed_header(LOST, ONE, count=1), "look like", id="lost, fewer"),
        pytest.param(write.keyed_header(LOST, ONE, count=3), "truncated", id="lost, more"),
        pytest.param(write.keyed_header(ONE, LOST, count=3), "missing", id="lost in the end"),
        pytest.param(
            write.keyed_header(key=write.odd(b"?")) + b"\1", "no state", id="lost at once"
        ),
        pytest.param(
            write.keyed_header(ONE, key=write.odd(b"?"), count=2), "truncated", id="lost key, more"
        ),
        pytest.param(
            write.keyed_header(write.record("x" * 5000), key=write.odd(b"?")),
            "0 names fit",
            id="a lost name of 5000 bytes",
        ),
    ],
)
def test_what_does_not_come_out_is_refused(data, complaint) -> None:
    """Unknown is said, with a reason; nothing is guessed."""
    with pytest.raises(UnreadableMetadataError, match=complaint):
        read_keyed_header(data)


def test_two_names_that_fit_are_none() -> None:
    """Behind an unknown serializer a name is read backwards, so its length may be ambiguous."""
    name = "\x01\x2e" + "x" * 0x12E  # its first two bytes are the length of the rest
    assert read_keyed_header(write.keyed_header(write.record(name))).states[0].name == name
    with pytest.raises(UnreadableMetadataError, match="2 names fit"):
        read_keyed_header(write.keyed_header(LOST, write.record(name)))


def test_a_header_without_states_behind_an_unknown_key_is_empty() -> None:
    """A keyed operator may register nothing."""
    assert read_keyed_header(write.keyed_header(key=write.odd(b"??"))).states == ()


def test_a_state_hidden_in_a_blob_is_noticed() -> None:
    """A record in what a user's class wrote, whose own blob swallows the true one."""
    true = write.record("true")
    swallow = write.utf("k") + b"\1" + i4(len(true) - 14) + b"\0"
    pojo = write.snapshot(
        f"{write.RUNTIME}PojoSerializerSnapshot",
        2,
        write.utf("a.B") + write.optional_map() * 2 + write.optional_map(swallow)[:-2],
    )
    fake = write.record("fake", serializers=(("VALUE_SERIALIZER", pojo),))
    data = write.keyed_header(
        write.record("first", serializers=(("VALUE_SERIALIZER", write.odd(fake)),)), true
    )
    with pytest.raises(UnreadableMetadataError):
        read_keyed_header(data)


def test_serializers_inside_serializers_end_somewhere() -> None:
    """A file that nests without end must not end the process."""
    inner = write.PLAIN
    for _ in range(DEEPEST_SERIALIZERS - 1):
        inner = write.composite(f"{write.BASE}ListSerializerSnapshot", inner)
    (state,) = read_keyed_header(
        write.keyed_header(write.record("s", serializers=(("VALUE_SERIALIZER", inner),)))
    ).states
    assert len(state.serializers[0].snapshot) == 500
    inner = write.composite(f"{write.BASE}ListSerializerSnapshot", inner)
    with pytest.raises(UnreadableMetadataError, match="deeper than 64"):
        read_keyed_header(
            write.keyed_header(write.record("s", serializers=(("VALUE_SERIALIZER", inner),)))
        )


@pytest.mark.parametrize(
    "versioned",
    [
        pytest.param(write.snapshot(write.LONG, 4), id="simple"),
        pytest.param(write.snapshot(f"{write.BASE}ListSerializerSnapshot", 4), id="composite"),
        pytest.param(write.snapshot(f"{write.RUNTIME}PojoSerializerSnapshot", 3), id="pojo"),
        pytest.param(
            write.snapshot(f"{write.BASE}EnumSerializer$EnumSerializerSnapshot", 2), id="enum"
        ),
        pytest.param(write.snapshot(f"{write.STATE}ttl.TtlAwareSerializerSnapshot", 2), id="ttl"),
    ],
)
def test_an_unknown_version_of_a_known_class_is_unknown(versioned) -> None:
    """The states around it are still found by their landmarks."""
    data = write.keyed_header(
        ONE, write.record("new", serializers=(("VALUE_SERIALIZER", versioned),)), write.record("z")
    )
    assert [each.name for each in read_keyed_header(data).states] == ["one", "new", "z"]


def test_operator_and_broadcast_states_are_told_apart() -> None:
    """Also where the last list state's serializer is of a user's class."""
    data = write.operator_header(
        (
            write.operator_record("split", "SPLIT_DISTRIBUTE"),
            write.operator_record("union", "UNION", write.odd(b"??")),
        ),
        (write.operator_record("rules", "BROADCAST"),),
    )
    header = read_operator_header(data)
    assert [each.name for each in header.operator_states] == ["split", "union"]
    assert [each.name for each in header.broadcast_states] == ["rules"]


@pytest.mark.parametrize("version", [4, 7])
def test_operator_headers_of_other_versions_are_unknown(version) -> None:
    """Older and newer ones."""
    with pytest.raises(UnreadableMetadataError, match=f"version {version}"):
        read_operator_header(i4(version) + write.operator_header(())[4:])


def test_an_operator_header_of_before_compression() -> None:
    """Version 5 has no flag."""
    data = i4(5) + write.operator_header((write.operator_record("s", "UNION"),))[5:]
    header = read_operator_header(data)
    assert (header.is_compressed, [each.name for each in header.operator_states]) == (False, ["s"])
