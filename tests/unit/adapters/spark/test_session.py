"""Errors of executors keep their kind, and with it the exit code."""

from __future__ import annotations

import pytest

import flinkstate.errors
import orphangc.errors
from orphangc.adapters.spark.session import translated
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
    """With its last cause."""
    from pyspark.errors import PySparkException  # noqa: PLC0415

    said = "Job aborted\nCaused by: java.io.IOException: no space\n\tat x"
    with pytest.raises(OrphanGcError, match=r"^cannot plan: .*no space$"), translated("plan"):
        raise PySparkException(said)
