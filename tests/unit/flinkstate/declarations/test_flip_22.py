"""What FLIP-22 (eager state declaration) is to bring, a test a line.

The lines are those of the requirement that this API was built from, and the three problems that
the FLIP's motivation names; each test is called after its line.
"""

from __future__ import annotations

import doctest
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from threading import Barrier, Event
from time import sleep

import pytest

import flinkstate.declarations as api
from flinkstate.compatibility.declarations import (
    Declarations,
    KeyedStateType,
    OperatorDeclaration,
    RedistributionMode,
)
from flinkstate.declarations import (
    BroadcastState,
    KeyedStateDescriptor,
    ListState,
    MapState,
    RegistryFrozenError,
    RestoreMismatchError,
    StateConflictError,
    StateRegistry,
    UndeclaredStateError,
    ValueState,
    aggregating_state,
    broadcast_state,
    check_restore,
    keyed_state,
    list_state,
    map_state,
    operator_list_state,
    operator_state,
    reducing_state,
    union_list_state,
    value_state,
)
from flinkstate.state.contents import CheckpointContents, OperatorContents, OperatorStateContents
from flinkstate.values.handles import StateMode
from orphangc.errors import ExitCode, OrphanGcError

KEYED = (value_state, list_state, map_state, reducing_state, aggregating_state)
OPERATOR = (operator_list_state, union_list_state, broadcast_state)


class Orders:
    """What the job of these tests keeps."""

    seen: ValueState[int] = keyed_state("seen", queryable_name="orders-seen")
    by_day: MapState[str, int] = keyed_state("by-day")
    offsets: ListState[int] = operator_state("offsets", redistribution="union")
    rules: BroadcastState[str, str] = operator_state("rules")


def submitted() -> tuple[StateRegistry, api.OperatorStates]:
    registry = StateRegistry()
    orders = registry.operator("orders", name="Count orders")
    orders.declare_fields(Orders)
    registry.submit()
    return registry, orders


@pytest.mark.parametrize(("make", "type_"), list(zip(KEYED, KeyedStateType, strict=True)))
def test_descriptors_of_keyed_state(make, type_) -> None:
    """Value, list, map, reducing, aggregating: type, serializer hint and queryable name."""
    descriptor = make("one", "int", serializer="long", queryable_name="asked")
    assert descriptor.type is type_
    line = descriptor.declared()
    assert (line.id, line.type, line.serializer, line.queryable_name) == (
        *("one", type_, "long", "asked"),
    )


@pytest.mark.parametrize(
    ("make", "redistribution"), list(zip(OPERATOR, RedistributionMode, strict=True))
)
def test_descriptors_of_operator_state(make, redistribution) -> None:
    """List, union list, broadcast: the redistribution mode."""
    line = make("one", "int").declared()
    assert (line.id, line.redistribution, line.serializer) == ("one", redistribution, "int")


def test_annotations_declare_state_on_class_fields_with_types() -> None:
    """``keyed_state`` and ``operator_state``; more of it in ``test_fields``."""
    registry, _ = submitted()
    (operator,) = registry.submit().operators
    assert [(each.id, each.type) for each in operator.keyed_states] == [
        ("seen", KeyedStateType.VALUE),
        ("by-day", KeyedStateType.MAP),
    ]
    assert [(each.id, each.redistribution) for each in operator.operator_states] == [
        ("offsets", RedistributionMode.UNION),
        ("rules", RedistributionMode.BROADCAST),
    ]


def test_registration_before_submission_only() -> None:
    """Before it everything may be declared, one by one and by fields; afterwards nothing."""
    registry, orders = submitted()
    before = registry.submit()
    assert registry.is_frozen
    for refused in (
        lambda: orders.declare(value_state("late")),
        lambda: orders.declare(union_list_state("late")),
        lambda: orders.declare_fields(Orders),
        lambda: registry.operator("late"),
    ):
        with pytest.raises(RegistryFrozenError):
            refused()
    assert registry.submit() is before


@pytest.mark.parametrize("descriptor", [value_state("late"), broadcast_state("late")])
def test_registration_after_submission_fails_naming_state_and_operator(descriptor) -> None:
    """And what is declared; in one line, with the exit code of a usage error."""
    _, orders = submitted()
    with pytest.raises(RegistryFrozenError) as hit:
        orders.declare(descriptor)
    message = str(hit.value)
    assert "'late' of operator 'orders' is declared after the job's submission" in message
    assert ("'seen', 'by-day'" in message) or ("'offsets', 'rules'" in message)
    assert (hit.value.operator, hit.value.state) == ("orders", "late")
    assert isinstance(hit.value, OrphanGcError)
    assert (hit.value.exit_code, "\n" in message) == (ExitCode.USAGE, False)


def test_an_operator_announced_after_submission_fails_naming_it() -> None:
    registry, _ = submitted()
    with pytest.raises(RegistryFrozenError, match=r"'late' .*announced are 'orders'"):
        registry.operator("late")


def test_the_registry_freezes_at_one_moment_for_all_threads() -> None:
    """What threads declare meanwhile is in the manifest or refused, never neither nor both."""
    for _ in range(20):
        registry = StateRegistry()
        orders = registry.operator("orders")
        start = Barrier(5)
        numbers = count()

        def declare(orders=orders, start=start, numbers=numbers) -> list[str]:
            start.wait()
            accepted = []
            while True:
                state_id = f"state-{next(numbers)}"
                try:
                    orders.declare(value_state(state_id))
                except RegistryFrozenError:
                    return accepted
                accepted.append(state_id)

        with ThreadPoolExecutor(5) as threads:
            running = [threads.submit(declare) for _ in range(4)]
            start.wait()
            manifest = registry.submit()
        accepted = {state_id for each in running for state_id in each.result()}
        assert {each.id for each in manifest.operators[0].keyed_states} == accepted


class _SlowId(str):
    """An id that takes its time between the question whether it is too late and its entry."""

    __slots__ = ()
    entered = Event()

    def __hash__(self) -> int:
        self.entered.set()
        sleep(0.2)
        return super().__hash__()


def test_submission_waits_for_a_registration_that_has_begun() -> None:
    """It was not too late for that one."""
    registry = StateRegistry()
    orders = registry.operator("orders")
    with ThreadPoolExecutor(1) as threads:
        declaring = threads.submit(orders.declare, value_state(_SlowId("slow")))
        _SlowId.entered.wait()
        manifest = registry.submit()
        declaring.result()
    assert [each.id for each in manifest.operators[0].keyed_states] == ["slow"]


@pytest.mark.parametrize("is_submitted", [False, True])
def test_access_to_an_undeclared_id_fails_naming_what_is_declared(is_submitted) -> None:
    """Keyed and operator state apart: an id of the one is none of the other."""
    registry = StateRegistry()
    orders = registry.operator("orders")
    orders.declare_fields(Orders)
    if is_submitted:
        registry.submit()
    assert orders.keyed_state("seen").queryable_name == "orders-seen"
    assert orders.operator_state("offsets").redistribution is RedistributionMode.UNION
    with pytest.raises(UndeclaredStateError, match=r"'orders' .* keyed state 'offsets'.*'seen'"):
        orders.keyed_state("offsets")
    with pytest.raises(UndeclaredStateError, match=r"operator state 'seen'.*'offsets', 'rules'"):
        orders.operator_state("seen")
    with pytest.raises(UndeclaredStateError, match="it declares none"):
        StateRegistry().operator("empty").keyed_state("seen")


@pytest.mark.parametrize(
    ("descriptors", "words"),
    [
        pytest.param((value_state("a"), value_state("a")), "'a' twice", id="alike"),
        pytest.param(
            (value_state("a"), list_state("a")),
            "'a' as keyed value state and as keyed list state",
            id="type",
        ),
        pytest.param(
            (operator_list_state("a"), union_list_state("a")),
            "as operator state with split redistribution and as operator state with union",
            id="redistribution",
        ),
    ],
)
def test_duplicate_ids_and_conflicting_types_are_refused(descriptors, words) -> None:
    """The operator and both kinds are named; what was declared first stays."""
    registry = StateRegistry()
    orders = registry.operator("orders")
    with pytest.raises(StateConflictError) as hit:
        orders.declare(*descriptors)
    assert words in str(hit.value)
    assert "operator 'orders'" in str(hit.value)
    (operator,) = registry.submit().operators
    assert [each.id for each in (*operator.keyed_states, *operator.operator_states)] == ["a"]


def test_an_operator_is_announced_once() -> None:
    """A uid belongs to one operator; an empty uid to none."""
    registry = StateRegistry()
    registry.operator("orders")
    with pytest.raises(StateConflictError, match="'orders' is announced twice"):
        registry.operator("orders")
    with pytest.raises(api.DeclarationError, match="needs a uid"):
        registry.operator("")


def test_an_operator_is_declared_by_its_uid_hash_too() -> None:
    """Flink restores from it first; it is no other operator's id."""
    registry = StateRegistry()
    hashed = "f" * 32
    operator_id = OperatorDeclaration(uid="orders").operator_id
    registry.operator("orders", uid_hash=hashed)
    with pytest.raises(StateConflictError, match="'orders' and 'bills' have one id"):
        registry.operator("bills", uid_hash=hashed)
    with pytest.raises(StateConflictError, match="'orders' and 'paid' have one id"):
        registry.operator("paid", uid_hash=operator_id)
    with pytest.raises(api.DeclarationError, match="uid hash of operator 'x' is not of 32 hex"):
        registry.operator("x", uid_hash="F" * 32)
    (declared,) = registry.submit().operators
    assert declared.ids == (hashed, operator_id)
    assert declared.stored_in({operator_id}) == operator_id
    assert declared.stored_in({operator_id, hashed}) == hashed


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda: value_state(5), id="id"),
        pytest.param(lambda: union_list_state(None), id="no id"),
        pytest.param(lambda: value_state("half \ud800"), id="half a character"),
        pytest.param(lambda: map_state("one", int), id="type"),
        pytest.param(lambda: operator_list_state("one", serializer=5), id="serializer"),
        pytest.param(lambda: value_state("one", queryable_name=5), id="queryable name"),
        pytest.param(lambda: StateRegistry().operator(5), id="uid"),
        pytest.param(lambda: StateRegistry().operator(0), id="zero"),
        pytest.param(lambda: StateRegistry().operator("a\ud800"), id="half a uid"),
        pytest.param(lambda: StateRegistry().operator("a", name=5), id="name"),
    ],
)
def test_what_is_no_text_is_refused_where_it_is_said(wrong) -> None:
    """Not by a bare error of Python's, and not at submission."""
    with pytest.raises(api.DeclarationError, match=r"is needed|no file can hold"):
        wrong()


def test_the_manifest_makes_declarations_visible_outside_the_job() -> None:
    """It is the declarations file's value, whole, and survives being written as JSON."""
    registry, _ = submitted()
    manifest = registry.submit()
    assert Declarations.model_validate_json(manifest.model_dump_json()) == manifest
    (operator,) = manifest.operators
    assert (operator.uid, operator.name, operator.coordinator) == ("orders", "Count orders", False)
    assert operator.operator_id == OperatorDeclaration(uid="orders").operator_id


def test_types_and_queryable_names_are_known_before_the_job_runs() -> None:
    """The FLIP's two problems: a type is seen, and a name queryable, only once a state is used."""
    registry, _ = submitted()
    (operator,) = registry.submit().operators
    assert [each.serializer for each in operator.keyed_states] == ["int", "str, int"]
    assert [each.queryable_name for each in operator.keyed_states] == ["orders-seen", None]


def contents(**modes: StateMode) -> CheckpointContents:
    """Return a checkpoint of the operator, with these operator states."""
    states = tuple(
        OperatorStateContents(name=name, mode=mode, partitions=1, bytes=1, subtasks=(0,))
        for name, mode in modes.items()
    )
    operator = OperatorContents(
        id=OperatorDeclaration(uid="orders").operator_id,
        uid=None,
        name=None,
        parallelism=1,
        max_parallelism=8,
        operator_states=states,
    )
    return CheckpointContents(checkpoint_id=7, format_version=4, operators=(operator,))


def test_redistribution_at_restore_is_taken_from_the_declaration() -> None:
    """The FLIP's third problem: a state that the checkpoint lacks is found in no other way."""
    registry, _ = submitted()
    restored = check_restore(registry.submit(), contents(offsets=StateMode.UNION))
    assert [(each.state, each.redistribution, each.is_in_checkpoint) for each in restored] == [
        ("offsets", RedistributionMode.UNION, True),
        ("rules", RedistributionMode.BROADCAST, False),
    ]


@pytest.mark.parametrize("mode", [StateMode.SPLIT_DISTRIBUTE, StateMode.BROADCAST])
def test_redistribution_at_restore_is_checked_against_the_checkpoints(mode) -> None:
    """A difference is refused with operator, state and both modes, all at once."""
    registry, _ = submitted()
    with pytest.raises(RestoreMismatchError) as hit:
        check_restore(registry.submit(), contents(offsets=mode, rules=StateMode.UNION))
    held = RedistributionMode.of(mode)
    assert str(hit.value) == (
        f"operator 'orders' declares 'offsets' as union, checkpoint 7 holds it as {held};"
        " operator 'orders' declares 'rules' as broadcast, checkpoint 7 holds it as union:"
        " the job would fail when it registers the state"
    )
    assert (hit.value.operator, hit.value.state) == ("orders", "offsets")


def test_what_the_checkpoint_holds_besides_is_not_the_restores_business() -> None:
    """Nor what another operator holds under the same name."""
    registry, _ = submitted()
    found = contents(other=StateMode.UNION, offsets=StateMode.UNION)
    strange = replace(found.operators[0], id="0" * 32)
    twisted = replace(
        strange, operator_states=(replace(strange.operator_states[1], mode=StateMode.BROADCAST),)
    )
    found = replace(found, operators=(*found.operators, twisted))
    assert len(check_restore(registry.submit(), found)) == 2


def test_a_subtask_that_wrote_another_mode_is_enough_to_refuse() -> None:
    """Half a state in the declared mode is a difference, too."""
    registry, _ = submitted()
    found = contents(offsets=StateMode.UNION)
    (operator,) = found.operators
    split = replace(operator.operator_states[0], mode=StateMode.SPLIT_DISTRIBUTE)
    for states in ((*operator.operator_states, split), (split, *operator.operator_states)):
        mixed = replace(found, operators=(replace(operator, operator_states=states),))
        with pytest.raises(RestoreMismatchError, match="holds it as split"):
            check_restore(registry.submit(), mixed)


def test_a_state_that_is_declared_by_descriptor_and_by_field_is_declared_twice() -> None:
    """Both ways are one registry."""
    orders = StateRegistry().operator("orders")
    orders.declare(KeyedStateDescriptor(id="seen", type=KeyedStateType.VALUE))
    with pytest.raises(StateConflictError, match="'seen' twice"):
        orders.declare_fields(Orders)


def test_the_example_of_the_documentation_runs() -> None:
    """As it is printed in the package's docstring."""
    assert doctest.testmod(api) == (0, 12)
