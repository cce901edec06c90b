"""Real PyFlink opens the state that fields declare.

python3 -m venv V && V/bin/pip install apache-flink==1.20.1 pydantic
ORPHANGC_PYFLINK=V/bin/python pytest -m nightly tests/integration/flink/test_pyflink_bridge_live.py
"""

import os
from pathlib import Path

import pytest

from support import speed
from support.processes import finished

pytestmark = [pytest.mark.flink, pytest.mark.nightly]

JOB = Path(__file__).parents[1] / "harness" / "flinkbed" / "python" / "count_orders.py"
SOURCES = Path(__file__).parents[3] / "gc"


def test_declared_fields_are_state_in_real_pyflink() -> None:
    """Value, list and map; each element sees what those before it left."""
    python = os.environ.get("ORPHANGC_PYFLINK")
    if not python:
        pytest.skip("ORPHANGC_PYFLINK names no Python with PyFlink")
    done = finished(
        [python, JOB], timeout=4 * speed.command(), env={**os.environ, "PYTHONPATH": str(SOURCES)}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert set(done.stdout.splitlines()) >= {
        "x 1 ['a'] [('a', 1)]",
        "x 3 ['a', 'a', 'b'] [('a', 2), ('b', 1)]",
        "y 3 ['a', 'a', 'b'] [('a', 2), ('b', 1)]",
    }
