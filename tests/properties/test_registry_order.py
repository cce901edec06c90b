"""R14, R16: each read is moved across completing checkpoints; the right order loses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from orphangc.core.model.bounds import Bound
from properties import registry_model
from properties.registry_model import READS, Collector, losses
from support.builders import T0

SEEDS = range(3000)
MORE_SEEDS = range(20_000)
"""For what is rare: the first loss ends the search."""
MANY = {"concurrent": 4, "retained_most": 1}
BY_ID, BY_TIME = Collector(has_ids=True), Collector(has_ids=False)
DERIVED = Collector(has_ids=False, is_derived=True)


def total(collector: Collector, order: Sequence[str] = READS, **job: int) -> int:
    """Return how many files were lost over all schedules."""
    return sum(len(losses(seed, collector, order, **{**MANY, **job})) for seed in SEEDS)


@pytest.mark.parametrize("collector", [BY_ID, BY_TIME], ids=["id", "time"])
@pytest.mark.parametrize("retained", [1, 3])
def test_the_right_order_loses_nothing_with_four_checkpoints_at_once(collector, retained) -> None:
    """T2: by ids alone, and by R16's times alone."""
    assert total(collector, retained_most=retained) == 0


@pytest.mark.parametrize(
    "order",
    [
        ("registry", "listing", "oldest", "roots"),
        ("registry", "oldest", "roots", "listing"),
        ("registry", "listing", "roots", "oldest"),
        ("roots", "registry", "listing", "oldest"),
    ],
)
def test_the_registry_before_the_oldest_retained_id_loses_files(order) -> None:
    """Negative controls: even with the roots last, though rarely (1 file in 4,000 cycles)."""
    assert any(losses(seed, BY_ID, order, **MANY) for seed in MORE_SEEDS)


def test_the_place_of_the_listing_does_not_matter() -> None:
    """As the proof says."""
    for order in (
        ("listing", "oldest", "registry", "roots"),
        ("oldest", "registry", "roots", "listing"),
    ):
        assert total(BY_ID, order) == 0


def test_derived_mode_needs_its_gate() -> None:
    """Section 2.4: a pending checkpoint's file that no root names; one at a time is safe (T1)."""
    order = ("oldest", "listing", "registry", "roots")
    assert total(DERIVED, order) > 0
    assert total(DERIVED, order, concurrent=1) == 0


def test_metadata_times_do_not_suffice_with_a_registry_either(monkeypatch) -> None:
    """R16: uploads begin before the oldest retained checkpoint completes."""
    far = T0 + timedelta(days=1)
    monkeypatch.setattr(registry_model, "Bound", lambda name, _: Bound(name, far))
    assert total(BY_TIME) > 0
