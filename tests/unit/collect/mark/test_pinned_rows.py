"""Rows at or below pinned places: a page is searched for the pins that may be around its keys."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from orphangc.collect.mark.pins import PinnedPass
from support.calls import calls_of

KEYS = ("a/b", "a/b-", "a/b.x", "a/b/c", "a/b/c/d", "a/b0", "a/c", "b")


def rows_of(keys: tuple[str, ...]) -> SimpleNamespace:
    count = len(keys)
    columns = SimpleNamespace(
        batch=SimpleNamespace(column=lambda _: pa.array(keys, pa.string())),
        has_uuid=np.ones(count, np.bool_),
        hi=np.arange(count, dtype=np.uint64),
        lo=np.arange(count, dtype=np.uint64),
    )
    return SimpleNamespace(columns=columns)


@pytest.mark.parametrize("place", [*KEYS, "", "a", "a/b/c/d/e", "0", "z"])
@pytest.mark.parametrize("only", [*range(len(KEYS)), None])
def test_a_row_is_in_use_at_or_below_a_pin_and_nowhere_else(place, only) -> None:
    """Whatever else is on its page."""
    keys = KEYS if only is None else KEYS[only : only + 1]
    work = PinnedPass(places=(place,))
    found = work.begin()
    work.add(found, rows_of(keys))
    hi, _ = found.columns()
    is_in = [not place or key == place or key.startswith(f"{place}/") for key in keys]
    assert hi.tolist() == np.flatnonzero(is_in).tolist()


def test_the_pins_of_other_jobs_cost_a_page_nothing() -> None:
    def work(count: int) -> int:
        places = tuple(f"{number:032x}/chk-7" for number in range(count))
        pins, rows = PinnedPass(places=places), rows_of((f"{1:032x}/chk-7/x", f"{1:032x}/shared/y"))
        return calls_of(lambda: pins.add(pins.begin(), rows))

    assert work(200) == work(20)
