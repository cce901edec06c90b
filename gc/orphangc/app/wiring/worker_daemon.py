"""Spark's daemon of Python workers on this machine: it imports once what each worker needs.

Spark starts it by this module's name, and forks a worker from it for each core.
"""

import gc
from importlib import import_module

NEEDED = (
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "orphangc.adapters.spark.executor_package",
    "orphangc.adapters.spark.passes",
    "orphangc.adapters.spark.spark_listing",
    "orphangc.app.runner.make_plan",
)


def main() -> None:
    """Import, and fork workers until Spark closes stdin."""
    from pyspark.daemon import manager  # noqa: PLC0415 - an optional extra

    for name in NEEDED:
        import_module(name)
    gc.collect()
    gc.freeze()
    manager()


if __name__ == "__main__":
    main()
