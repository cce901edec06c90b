"""State that classes declare on their fields."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Annotated, Any

import pytest

from flinkstate.declarations import (
    AggregatingState,
    BroadcastState,
    DeclarationError,
    KeyedStateDescriptor,
    ListState,
    MapState,
    ReducingState,
    StateConflictError,
    ValueState,
    declared_fields,
    keyed_state,
    operator_state,
)
from unit.flinkstate.declarations import jobs

if TYPE_CHECKING:
    from nowhere import Unknown


def declared_by(cls: type) -> dict[str, tuple[str, str | None]]:
    return {
        each.descriptor.id: (each.descriptor.kind, each.descriptor.value_type)
        for each in declared_fields(cls)
    }


class Everything:
    """One of each."""

    value: ValueState[int] = keyed_state("a value", serializer="long", queryable_name="asked")
    list: ListState[dict[str, int]] = keyed_state()
    map: MapState[str, int] = keyed_state()
    reducing: ReducingState[float] = keyed_state()
    aggregating: AggregatingState[int, float] = keyed_state()
    split: ListState[int] = operator_state()
    union: ListState[int] = operator_state(redistribution="union")
    rules: BroadcastState[str, jobs.Order] = operator_state(serializer="avro")
    plain: int = 3
    foreign: Unknown


def test_kind_and_type_come_from_the_annotation() -> None:
    """Of each kind of state, in the order of the class; other fields declare nothing."""
    assert declared_by(Everything) == {
        "a value": ("keyed value state", "int"),
        "list": ("keyed list state", "dict[str, int]"),
        "map": ("keyed map state", "str, int"),
        "reducing": ("keyed reducing state", "float"),
        "aggregating": ("keyed aggregating state", "int, float"),
        "split": ("operator state with split redistribution", "int"),
        "union": ("operator state with union redistribution", "int"),
        "rules": ("operator state with broadcast redistribution", "str, Order"),
    }


def test_hints_go_along() -> None:
    """Serializer and queryable name; the type stands in for a serializer."""
    first = declared_fields(Everything)[0].descriptor
    assert isinstance(first, KeyedStateDescriptor)
    assert (first.serializer, first.queryable_name) == ("long", "asked")
    lines = {each.descriptor.id: each.descriptor.declared() for each in declared_fields(Everything)}
    assert (lines["rules"].serializer, lines["map"].serializer) == ("avro", "str, int")


def test_base_classes_come_first_and_several_are_gathered() -> None:
    class Base:
        one: ValueState[int] = keyed_state()

    class Mixin:
        two: ValueState[int] = keyed_state()

    class Sub(Base, Mixin):
        three: ValueState[int] = keyed_state()

    assert [each.name for each in declared_fields(Sub)] == ["two", "one", "three"]


def test_a_field_that_is_set_to_something_else_declares_nothing() -> None:
    """As Python finds the subclass's value; an annotation alone changes nothing."""

    class Base:
        one: ValueState[int] = keyed_state()
        two: ValueState[int] = keyed_state()

    class Sub(Base):
        one = None
        two: ValueState[int]

    assert list(declared_by(Sub)) == ["two"]
    assert list(declared_by(Base)) == ["one", "two"]


def test_a_field_may_be_declared_anew_as_what_it_was_but_as_nothing_else() -> None:
    """The base class's methods count on it."""

    class Base:
        one: ValueState[int] = keyed_state()

    class Same(Base):
        one: ValueState[int] = keyed_state(queryable_name="q")

    class Other(Base):
        one: ListState[int] = keyed_state()

    (field,) = declared_fields(Same)
    assert (field.owner, field.descriptor.queryable_name) == (Same, "q")
    with pytest.raises(StateConflictError, match=r"Other.one .* keyed list .* Base.one .* value"):
        declared_fields(Other)


def test_two_fields_with_one_id_are_refused_with_both_kinds() -> None:
    """Within the keyed states, and within the operator states."""

    class Twins:
        one: ValueState[int] = keyed_state("same")
        two: MapState[str, int] = keyed_state("same")

    class Apart:
        one: ValueState[int] = keyed_state("same")
        two: ListState[int] = operator_state("same")

    with pytest.raises(StateConflictError, match=r"Twins.one and Twins.two .* value .* map") as hit:
        declared_fields(Twins)
    assert (hit.value.operator, hit.value.state) == ("Twins", "same")
    assert len(declared_fields(Apart)) == 2


def test_private_fields_of_several_classes_do_not_hide_each_other() -> None:
    """Python keeps them under other names; their ids are what stands in the class."""

    class _Base:
        __seen: ValueState[int] = keyed_state()
        _late: ValueState[int] = keyed_state()

    class Sub(_Base):
        __seen: ValueState[int] = keyed_state("sub-seen")

    assert list(declared_by(Sub)) == ["seen", "late", "sub-seen"]


def test_slots_declare_in_the_annotation() -> None:
    """Where a default cannot stand; the field can be assigned as ever."""
    assert declared_by(jobs.Slotted) == {
        "seen": ("keyed value state", "int"),
        "hidden": ("operator state with split redistribution", "str"),
    }
    job = jobs.Slotted()
    job.seen = "a state"
    assert job.seen == "a state"


def test_a_data_class_with_slots_is_understood() -> None:
    """It keeps the defaults out of its namespace."""
    assert declared_by(jobs.Record) == {"seen": ("keyed value state", "int")}


def test_type_variables_get_what_subclasses_give_them() -> None:
    """Through several levels, and forward."""
    assert declared_by(jobs.Named) == {
        "items": ("keyed list state", "str"),
        "pairs": ("keyed map state", "str, Order"),
    }


def test_a_type_that_a_subclass_gives_and_nobody_knows_is_told() -> None:
    """By the field that needs it."""
    with pytest.raises(DeclarationError, match=r"Items.items .* cannot be resolved: .*Nowhere"):
        declared_fields(jobs.Lost)


def test_a_type_that_is_left_open_is_refused() -> None:
    """The type of the values would be unknown."""
    with pytest.raises(DeclarationError, match=r"Items.items leaves open .*ListState\[~T\]"):
        declared_fields(jobs.Items)


def test_forward_references_are_resolved_where_the_class_stands() -> None:
    """Of the module, of the class itself, within text."""

    class Node:
        children: ListState[Node] = keyed_state()
        orders: Annotated[MapState[str, jobs.Order], "said by hand", keyed_state()]

    assert declared_by(Node)["orders"] == ("keyed map state", "str, Order")
    assert declared_by(Node)["children"][1].endswith("Node")


def test_what_is_there_for_a_type_checker_alone_is_told() -> None:
    """Of a field that declares state; of others it does not matter."""

    class Job:
        one: ValueState[Unknown] = keyed_state()

    class Marked:
        one: Annotated[ValueState[Unknown], keyed_state()]

    for cls in (Job, Marked):
        with pytest.raises(DeclarationError, match=r"one has an annotation .*'Unknown'") as hit:
            declared_fields(cls)
        assert (hit.value.operator, hit.value.state) == (cls.__name__, "one")


def test_a_state_without_a_type_is_told_by_its_kind_alone() -> None:
    """Better than nothing."""

    class Job:
        one: ValueState = keyed_state()

    assert declared_by(Job) == {"one": ("keyed value state", None)}


def test_other_classes_of_these_names_do_as_well() -> None:
    """As PyFlink's do, and what descends from them."""
    assert set(declared_by(jobs.Foreign).values()) == {("keyed value state", "int")}


@pytest.mark.parametrize(
    ("annotation", "marker", "words"),
    [
        pytest.param(int, keyed_state(), "is no keyed state: int", id="no state"),
        pytest.param(
            BroadcastState[str, int], keyed_state(), "is no keyed state", id="keyed broadcast"
        ),
        pytest.param(
            ValueState[int], operator_state(), "is no operator state", id="operator value"
        ),
        pytest.param(
            ListState[int],
            operator_state(redistribution="broadcast"),
            "is a ListState, which is never redistributed broadcast",
            id="broadcast list",
        ),
        pytest.param(
            BroadcastState[str, int],
            operator_state(redistribution="union"),
            "is a BroadcastState, which is never redistributed union",
            id="union broadcast",
        ),
        pytest.param("ValueState[", keyed_state(), "cannot be resolved", id="no Python"),
        pytest.param(None, keyed_state(), "is no keyed state", id="none"),
        pytest.param(ValueState[int], keyed_state(" "), "not blank", id="blank id"),
        pytest.param(
            ValueState[int], keyed_state("_timer_state/x"), "a timer of Flink's own", id="timer"
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(annotation: Any, marker: Any, words: str) -> None:
    """It says which field and why."""
    job = type("Job", (), {"__annotations__": {"one": annotation}, "one": marker})
    with pytest.raises(DeclarationError) as hit:
        declared_fields(job)
    assert words in str(hit.value)
    assert "\n" not in str(hit.value)


def test_a_field_without_annotation_is_refused() -> None:
    """The type of its values is unknown."""
    with pytest.raises(DeclarationError, match=r"Job.one has no annotation"):
        declared_fields(type("Job", (), {"one": keyed_state()}))


def test_a_redistribution_that_there_is_not_is_refused_at_once() -> None:
    with pytest.raises(DeclarationError, match="split, union, broadcast"):
        operator_state("one", redistribution="round-robin")


def test_a_field_is_read_only_once_the_running_job_has_put_something_there() -> None:
    """Before, the error says so; afterwards it is an ordinary field."""
    job = Everything()
    with pytest.raises(AttributeError, match=r"Everything.value declares state"):
        _ = job.value
    job.value = threading
    assert job.value is threading
    assert len(declared_fields(Everything)) == 8
