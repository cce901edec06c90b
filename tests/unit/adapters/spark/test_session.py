"""Errors of executors keep their kind, and with it the exit code."""

import sys
from importlib.util import find_spec

import pytest

import flinkstate.errors
import orphangc.errors
from orphangc.adapters.spark.session import _defaults, translated
from orphangc.app.wiring.worker_daemon import NEEDED
from orphangc.errors import OrphanGcError, StorageUnreachableError

pytest.importorskip("pyspark", reason="PySpark is not installed")


@pytest.mark.parametrize("module", [flinkstate.errors, orphangc.errors])
def test_an_error_of_a_task_is_raised_with_its_own_kind(module):
    """Java puts Python's traceback into its own; whichever package the class is of."""
    from pyspark.errors import PySparkException  # noqa: PLC0415

    said = f"Job aborted\n  File x\n{module.__name__}.StorageUnreachableError: cannot list s3://b\n"
    with pytest.raises(StorageUnreachableError, match=r"^cannot list s3://b$"), translated("plan"):
        raise PySparkException(said)


def test_any_other_error_of_spark_is_one_line():
    from pyspark.errors import PySparkException  # noqa: PLC0415

    said = "Job aborted\nCaused by: java.io.IOException: no space\n\tat x"
    with pytest.raises(OrphanGcError, match=r"^cannot plan: .*no space$"), translated("plan"):
        raise PySparkException(said)


def test_the_workers_of_this_machine_are_forked_from_our_daemon(monkeypatch):
    """It exists, with all that it imports; a Python of others, or elsewhere, may lack it."""
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    daemon = _defaults("local[2]")["spark.python.daemon.module"]
    assert all(find_spec(each) for each in (daemon, *NEEDED))
    assert "spark.python.daemon.module" not in _defaults("spark://host:7077")
    monkeypatch.setenv("PYSPARK_PYTHON", "/another/python")
    assert "spark.python.daemon.module" not in _defaults("local[2]")
