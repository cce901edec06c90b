"""The model of a plan's cost on a cluster: its arithmetic, and that the page shows it as it is."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.spark_costs import MIB, Inputs, cost_of, inputs_table, table

pytestmark = pytest.mark.ci

PAGE = Path(__file__).parents[3] / "deploy" / "spark" / "README.md"
ROUND = Inputs(
    start_s=5,
    driver_us=1,
    worker_us=4,
    efficiency=1,
    latency_s=0.1,
    streams=10,
    keys_a_list=1000,
    lists_a_second=1000,
    slice_files=10**9,
    usd_1000_lists=0.01,
    usd_core_hour=1,
)


def test_a_plan_takes_what_its_inputs_say() -> None:
    """Ten million keys on four executors of one core, by hand."""
    found = cost_of(10_000_000, 4, ROUND)
    assert found.lists == 10_000
    assert (found.cores_s, found.latency_s, found.prefix_s) == pytest.approx((10, 25, 10))
    assert (found.slices_s, found.driver_s) == pytest.approx((0, 10))
    assert found.wall_s == pytest.approx(5 + 25 + 10)
    assert found.core_hours == pytest.approx(4 * 40 / 3600)
    assert (found.usd_requests, found.usd_cores) == pytest.approx((0.1, 4 * 40 / 3600))


SLICED = replace(
    ROUND, slice_files=4e6, keys_a_task=1e6, divide_us=2, key_bytes=MIB / 10, network=1e5
)


def test_a_live_set_that_is_cut_costs_what_dividing_and_one_slice_a_task_cost() -> None:
    """Ten tasks and two slices, by hand: as ``DividingTask`` and ``PassTask`` do."""
    found = cost_of(10_000_000, 4, SLICED)
    read = 10 * 2.5e6 * 16 / MIB / 1e5 + 2 * 10e6 / 10 / 1e5
    assert found.slices_s == pytest.approx((20 + read + 3 * 20 * 0.1 / 10) / 4)
    assert found.usd_requests == pytest.approx(0.1 + 20 / 1000 * (0.01 + 2 * 0.0004))


def test_slices_cost_in_proportion_to_the_keys() -> None:
    """But for requests: a task's rows are cut into a file for each slice."""
    at_once = replace(SLICED, latency_s=0)
    ten, hundred = (cost_of(keys, 4, at_once).slices_s for keys in (10**8, 10**9))
    assert hundred == pytest.approx(10 * ten, rel=0.01)


def test_no_number_of_executors_passes_the_limit_of_a_prefix() -> None:
    """More prefixes do."""
    assert cost_of(10**9, 10_000, ROUND).wall_s > 1000
    assert cost_of(10**9, 10_000, ROUND, prefixes=10).prefix_s == pytest.approx(100)


def test_the_page_has_the_tables_of_the_model() -> None:
    """``PYTHONPATH=tests python -m bench.spark_costs`` prints them."""
    page = PAGE.read_text()
    assert inputs_table(Inputs()) in page
    assert table(Inputs()) in page
