"""What a checkpoint holds and nothing declares: each kind, and the dangerous case."""

from dataclasses import replace

import pytest

from flinkstate.compatibility.find_unclaimed import serializers_differ, stateful_operators
from flinkstate.metadata.reader import read_metadata
from flinkstate.operator_ids import operator_id
from flinkstate.values.handles import BytesHandle, ChannelHandle, OperatorHandle
from flinkstate.values.metadata_values import Metadata, Operator, Subtask
from unit.flinkstate.metadata.golden_files import golden
from unit.flinkstate.state.state_contents import comparison, declared, operator

FULL = {
    "states": {"tally": "split", "offsets": "union", "rules": "broadcast"},
    "keyed": {"newest": "value", "recent": "map"},
}


def unclaimed(found):
    return [(each.kind.value, each.operator.uid, each.state) for each in found.unclaimed]


def test_what_is_declared_as_it_is_stored_is_claimed() -> None:
    """Also a coordinator's state; and timers, which are Flink's own."""
    timers = {"_timer_state/event_t": "timers", "_timer_state/processing_t": "timers"}
    stored = operator("a", FULL["states"], FULL["keyed"] | timers, coordinator_bytes=3)
    found = comparison([stored], declared("a", **FULL, coordinator=True))
    assert found.is_clean
    assert found.is_complete
    assert not found.replaced
    assert not found.absent


def test_an_operator_that_nobody_declares_is_unclaimed_as_a_whole() -> None:
    """With all its bytes; one without state is none of Flink's business."""
    gone = operator("gone", {"x": "split"}, {"y": "value"}, coordinator_bytes=3, channel_bytes=4)
    found = comparison([gone, operator("idle")], stateless=("idle",))
    assert unclaimed(found) == [("operator", "gone", None)]
    assert found.unclaimed[0].bytes == 27
    assert found.unclaimed[0].is_prunable


@pytest.mark.parametrize("name", FULL["states"])
def test_a_removed_operator_state_is_found(name: str) -> None:
    """It alone, with its redistribution and bytes."""
    left = {key: mode for key, mode in FULL["states"].items() if key != name}
    found = comparison([operator("a", **FULL)], declared("a", left, FULL["keyed"]))
    assert unclaimed(found) == [("operator_state", "a", name)]
    entry = found.unclaimed[0]
    assert (entry.form, entry.bytes, entry.is_prunable) == (FULL["states"][name], 10, True)


@pytest.mark.parametrize("name", FULL["keyed"])
def test_a_removed_keyed_state_is_found_and_cannot_be_pruned(name: str) -> None:
    """Its bytes lie among those of others."""
    left = {key: kind for key, kind in FULL["keyed"].items() if key != name}
    found = comparison([operator("a", **FULL)], declared("a", FULL["states"], left))
    assert unclaimed(found) == [("keyed_state", "a", name)]
    assert not found.unclaimed[0].is_prunable


def test_the_state_of_a_coordinator_that_is_gone_is_found() -> None:
    """Even if it has no bytes."""
    found = comparison([operator("a", coordinator_bytes=0)], declared("a"))
    assert unclaimed(found) == [("coordinator_state", "a", None)]
    assert found.unclaimed[0].bytes == 0


@pytest.mark.parametrize(
    ("stored", "wanted", "words"),
    [
        ({"states": {"s": "split"}}, {"states": {"s": "union"}}, ("split", "union")),
        ({"states": {"s": "union"}}, {"states": {"s": "broadcast"}}, ("union", "broadcast")),
        ({"keyed": {"s": "value"}}, {"keyed": {"s": "list"}}, ("value", "list")),
        ({"keyed": {"s": "folding"}}, {"keyed": {"s": "reducing"}}, ("folding", "reducing")),
    ],
)
def test_another_redistribution_or_type_is_told(stored, wanted, words) -> None:
    """Flink would refuse to restore it: it is neither claimed nor to be left out."""
    found = comparison([operator("a", **stored)], declared("a", **wanted))
    assert not found.unclaimed
    assert not found.is_clean
    assert [(each.stored, each.declared) for each in found.changed] == [words]


class TestAnOperatorReplacedUnderTheSameUid:
    """The new one starts empty, and Flink says nothing."""

    OLD = operator("kafka", {"topic-partition-offset-states": "union"})
    NEW = declared("kafka", {"SourceReaderState": "split"}, coordinator=True)

    def test_before_the_deployment(self) -> None:
        """Union list state is left, the coordinator will have none."""
        (found,) = comparison([self.OLD], self.NEW).replaced
        assert found.operator.uid == "kafka"
        assert found.left == ("topic-partition-offset-states",)
        assert found.missing == ("SourceReaderState",)
        assert not found.has_happened

    def test_after_it(self) -> None:
        """Flink carries the old state on, beside the new coordinator's."""
        both = {"topic-partition-offset-states": "union", "SourceReaderState": "split"}
        (found,) = comparison([operator("kafka", both, coordinator_bytes=9)], self.NEW).replaced
        assert found.left == ("topic-partition-offset-states",)
        assert found.has_happened
        assert found.is_stated_new, "nothing starts empty"

    def test_by_a_source_that_declares_no_state(self) -> None:
        """The coordinator is sign enough; that it is new has to be said of the operator."""
        (found,) = comparison([self.OLD], declared("kafka", coordinator=True)).replaced
        assert not found.is_stated_new
        (found,) = comparison([self.OLD], declared("kafka", coordinator=True, new=True)).replaced
        assert found.is_stated_new

    @pytest.mark.parametrize("is_new", [False, True])
    def test_is_meant_where_all_that_starts_empty_is_stated_new(self, *, is_new: bool) -> None:
        state = {"id": "SourceReaderState", "redistribution": "split", "new": is_new}
        wanted = declared("kafka", coordinator=True, new=True) | {"operator_states": [state]}
        assert comparison([self.OLD], wanted).replaced[0].is_stated_new is is_new

    def test_by_one_that_keeps_other_keyed_state(self) -> None:
        """Any two operators that share nothing, if both keep something."""
        stored = operator("a", {"s": "split"}, {"k": "value"})
        assert comparison([stored], declared("a", keyed={"other": "value"})).replaced

    @pytest.mark.parametrize(
        ("stored", "wanted"),
        [
            (operator("a", {"s": "split", "t": "union"}), declared("a", {"s": "split"})),
            (operator("a", {"s": "split"}, {"k": "value"}), declared("a", keyed={"k": "value"})),
            (operator("a", {"s": "union"}), declared("a")),
            (operator("a"), declared("a", {"s": "split"}, coordinator=True)),
            (
                operator("a", {"s": "split"}, keyed_unknown="unreadable"),
                declared("a", keyed={"k": "value"}),
            ),
        ],
        ids=["one of two", "keyed stays", "nothing declared", "nothing stored", "unknown names"],
    )
    def test_is_not_what_a_mere_removal_looks_like(self, stored, wanted) -> None:
        """Nor what cannot be known."""
        assert not comparison([stored], wanted).replaced


@pytest.mark.parametrize(
    "unknown",
    [
        {"keyed_states": None, "keyed_unknown": "no meta file"},
        {"keyed_unknown": "one of two meta files"},
    ],
)
def test_what_has_no_known_name_is_neither_claimed_nor_unclaimed(unknown) -> None:
    """It is said, and the answer is incomplete."""
    stored = operator("a", **unknown)
    found = comparison([stored], declared("a"))
    assert found.is_clean
    assert not found.is_complete
    assert [each.operator.uid for each in found.uncompared] == ["a"]


@pytest.mark.parametrize(
    ("unknown", "words"),
    [
        ({"has_raw_operator": True}, "raw operator state"),
        ({"has_raw_keyed": True}, "raw keyed state"),
        ({"keyed": {"s": "unknown"}}, "the type of keyed state 's'"),
    ],
)
def test_what_can_hide_no_name_is_told_and_leaves_the_answer_complete(unknown, words) -> None:
    """Raw state of any size, and a state of unknown type, which is compared by name alone."""
    found = comparison([operator("a", **unknown)], declared("a", keyed=unknown_as_map(unknown)))
    assert found.is_clean
    assert found.is_complete
    assert [each.why.startswith(words) for each in found.uncompared] == [True]


def unknown_as_map(stored):
    """Return the keyed states, declared."""
    return dict.fromkeys(stored.get("keyed", ()), "map")


class TestAMissingState:
    """Declared, and the stored operator lacks it."""

    STORED = operator("a", {"bc": "broadcast", "list": "split"}, {"newest": "value"})

    def missing(self, *, states=None, keyed=None, stored=STORED):
        wanted = {"bc": "broadcast", "list": "split"} if states is None else states
        found = comparison([stored], declared("a", wanted, keyed or {"newest": "value"}))
        return found, [(each.kind.value, each.state, each.nearest) for each in found.missing]

    def test_may_be_a_stored_one_under_another_name(self) -> None:
        """The finding names the nearest unclaimed state."""
        found, missing = self.missing(states={"bcx": "broadcast", "list": "split"})
        assert missing == [("operator_state", "bcx", "bc")]
        assert found.misnamed_states == found.missing
        found, missing = self.missing(keyed={"newer": "value"})
        assert missing == [("keyed_state", "newer", "newest")]
        assert found.misnamed_states == found.missing

    def test_is_new_where_none_of_its_kind_is_left_over(self) -> None:
        found, missing = self.missing(states={"bc": "broadcast", "list": "split", "bcx": "split"})
        assert missing == [("operator_state", "bcx", None)]
        assert not found.misnamed_states
        found, missing = self.missing(states={"bc": "broadcast"}, keyed={"newest": "value"})
        assert (missing, found.misnamed_states) == ([], ())
        found, _ = self.missing(states={"bc": "broadcast"}, keyed=FULL["keyed"])
        assert [each.state for each in found.missing] == ["recent"]
        assert not found.misnamed_states

    def test_that_is_stated_new_is_no_slip_of_the_pen(self) -> None:
        """The next file says so."""
        new = {"id": "bcx", "redistribution": "broadcast", "new": True}
        found = comparison([self.STORED], declared("a") | {"operator_states": [new]})
        assert [each.is_stated_new for each in found.missing] == [True]
        assert not found.misnamed_states

    def test_is_not_told_of_keyed_state_where_names_are_unknown(self) -> None:
        """It may be among them."""
        stored = replace(self.STORED, keyed_unknown="unreadable")
        assert self.missing(keyed={"newer": "value"}, stored=stored)[1] == []


def test_a_declared_operator_that_is_not_there_is_told_with_the_nearest() -> None:
    """It may be new, or a slip of the pen, after which pruning would lose its state."""
    found = comparison([operator("ledger", {"s": "split"})], declared("legder", {"s": "split"}))
    (absent,) = found.absent
    assert (absent.label, absent.nearest) == ("legder", "ledger")
    assert absent.id == operator_id("legder")
    assert found.misnamed == found.absent


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        ([operator("a")], [declared("a"), declared("b")]),
        ([operator("a")], [declared("b", new=True)]),
        ([operator("a", {"s": "split"})], [declared("a"), declared("b")]),
    ],
    ids=["nothing unclaimed", "stated new", "no whole operator unclaimed"],
)
def test_a_new_operator_is_no_slip_of_the_pen(stored, wanted) -> None:
    """Where no stored one is left over, or the declaration says so."""
    found = comparison(stored, *wanted)
    assert len(found.absent) == 1
    assert not found.misnamed


def test_a_checkpoint_that_has_ids_alone_is_matched_by_uid() -> None:
    """Before Flink 2.0 there is nothing else; the declaration lends its uid to the report."""
    stored = replace(operator("a", {"s": "split"}), uid=None)
    assert unclaimed(comparison([stored], declared("a"))) == [("operator_state", "a", "s")]
    by_id = {"id": operator_id("a"), "operator_states": []}
    assert unclaimed(comparison([stored], by_id)) == [("operator_state", None, "s")]


GENERATED, HASH = "1" * 32, "f" * 32


@pytest.mark.parametrize(
    ("stored", "left"), [((GENERATED,), None), ((HASH,), None), ((GENERATED, HASH), GENERATED)]
)
def test_a_uid_hash_counts_beside_the_generated_id_and_before_it(stored, left) -> None:
    """Flink restores from the first that the checkpoint has, and from no other."""
    operators = [replace(operator("a", {"s": "split"}), uid=None, id=each) for each in stored]
    states = [{"id": "s", "redistribution": "split"}]
    by_both = {"id": GENERATED, "uid_hash": HASH, "operator_states": states}
    found = comparison(operators, by_both)
    assert not found.absent
    assert [each.operator.id for each in found.unclaimed] == ([left] if left else [])


def test_an_operator_whose_only_handle_is_empty_has_state_for_flink() -> None:
    """With merged files each subtask has one; without such an operator Flink refuses the job."""
    metadata = read_metadata(golden("1.20.1/filemerging").data)
    assert stateful_operators(metadata) == {each.id for each in metadata.operators}
    finished = read_metadata(golden("2.3.0/finished").data)
    gone = {each.id for each in finished.operators if each.is_fully_finished}
    assert gone
    assert not gone & stateful_operators(finished)


BYTES = BytesHandle(name="n", data=b"")
STATES = OperatorHandle(states=(), delegate=BYTES)
IN_FLIGHT = ChannelHandle(gate=0, channel=0, offsets=(), size=0, delegate=BYTES, code=1)


@pytest.mark.parametrize(
    ("coordinator", "subtask", "is_stateful"),
    [
        (None, {}, False),
        (None, {"is_finished": True}, False),
        (BYTES, {}, True),
        (None, {"managed_operator": STATES}, True),
        (None, {"raw_operator": STATES}, True),
        (None, {"input_channels": (IN_FLIGHT,)}, True),
        (None, {"output_channels": (IN_FLIGHT,)}, True),
    ],
)
def test_any_handle_is_state_to_flink(coordinator, subtask, *, is_stateful: bool) -> None:
    """Of the coordinator or of a subtask, managed or raw, also records in flight."""
    operator_ = Operator(
        id="00" * 16,
        parallelism=1,
        max_parallelism=8,
        coordinator=coordinator,
        subtasks=(Subtask(index=0, **subtask),),
    )
    metadata = Metadata(format_version=6, checkpoint_id=1, master_states=(), operators=(operator_,))
    assert bool(stateful_operators(metadata)) is is_stateful


@pytest.mark.parametrize(
    ("stored", "hint", "differs"),
    [
        ("LongSerializerSnapshot", "LongSerializerSnapshot", False),
        ("LongSerializerSnapshot", "StringSerializerSnapshot", True),
        ("PojoSerializerSnapshot(a.Order)", "PojoSerializerSnapshot(a.Order2)", True),
        ("ListSerializerSnapshot<ASnapshot>", "ListSerializerSnapshot<BSnapshot>", True),
        ("ListSerializerSnapshot<ASnapshot>", "ListSerializerSnapshot", False),
        ("LongSerializerSnapshot", "long", False),
        ("LongSerializerSnapshot", None, False),
        (None, "LongSerializerSnapshot", False),
    ],
)
def test_serializers_differ_only_where_both_sides_name_one(stored, hint, differs) -> None:
    """Nested classes that were not read are left out, and say nothing."""
    assert serializers_differ(stored, hint) is differs
