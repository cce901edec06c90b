"""Declared fields become PyFlink's state: descriptors and access from one declaration."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from flinkstate.declarations import (
    DeclarationError,
    ListState,
    MapState,
    ReducingState,
    ValueState,
    keyed_state,
    operator_state,
)
from flinkstate.declarations.pyflink_bridge import open_state


class Count:
    """A function as a job writes it."""

    seen: ValueState[int] = keyed_state("orders-seen")
    names: ListState[str] = keyed_state()
    by_day: MapState[str, tuple[int, float]] = keyed_state("days")


class Reduces:
    sums: ReducingState[int] = keyed_state()


class Sinks:
    parts: ListState[int] = operator_state()


@pytest.fixture(autouse=True)
def pyflink(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyFlink's modules as far as the bridge uses them; the real ones are in the nightly test."""
    names = ("ValueStateDescriptor", "ListStateDescriptor", "MapStateDescriptor")
    states = SimpleNamespace(**{name: lambda *got, n=name: (n, *got) for name in names})
    kinds = ("LONG", "STRING", "DOUBLE", "BOOLEAN", "PICKLED_BYTE_ARRAY")
    types = SimpleNamespace(**{name: lambda n=name: n for name in kinds})
    monkeypatch.setitem(sys.modules, "pyflink.datastream.state", states)
    monkeypatch.setitem(sys.modules, "pyflink.common.typeinfo", SimpleNamespace(Types=types))


def context() -> Any:
    """Return a runtime context that hands out what it is asked for."""
    return SimpleNamespace(
        get_state=lambda each: each,
        get_list_state=lambda each: each,
        get_map_state=lambda each: each,
    )


def test_fields_become_state_of_the_annotated_types() -> None:
    count = Count()
    open_state(count, context())
    assert count.seen == ("ValueStateDescriptor", "orders-seen", "LONG")
    assert count.names == ("ListStateDescriptor", "names", "STRING")
    assert count.by_day == ("MapStateDescriptor", "days", "STRING", "PICKLED_BYTE_ARRAY")
    with pytest.raises(AttributeError, match="not put there yet"):
        _ = Count().seen


def test_a_type_that_is_given_goes_before_the_annotation() -> None:
    count = Count()
    open_state(count, context(), types={"orders-seen": "INT", "days": ("A", "B")})
    assert count.seen[-1] == "INT"
    assert count.by_day[-2:] == ("A", "B")


@pytest.mark.parametrize("function", [Reduces(), Sinks()])
def test_what_no_annotation_can_open_is_refused(function: object) -> None:
    with pytest.raises(DeclarationError, match="open it in the job"):
        open_state(function, context())
