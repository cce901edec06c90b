"""Fetch what tests fetch once a machine, before they are timed; they skip or fail without it.

PYTHONPATH=tests python -m support.fetching
"""

import time
from collections.abc import Callable, Mapping

from deploy import tools
from deploy.cache import ToolMissingError
from integration.harness.flinkbed.distribution import job_jar
from integration.harness.flinkbed.fixtures import VERSIONS
from integration.harness.flinkbed.waiting import ResourceMissingError

FETCHED: Mapping[str, Callable[[], object]] = {
    **{f"Flink {version}": lambda version=version: job_jar(version) for version in VERSIONS},
    **{
        f"helm {version}": lambda version=version: tools.helm(version)
        for version in tools.HELM_LAYERS
    },
    "npm packages": tools.node_modules,
    "Azurite": tools.azurite,
    "Debian's Prometheus": lambda: tools.debian_tool("prometheus"),
}


def main() -> None:
    """Fetch all; say what cannot be had, and why."""
    for name, fetch in FETCHED.items():
        began = time.monotonic()
        try:
            fetch()
        except (ToolMissingError, ResourceMissingError) as err:
            print(f"{name}: {err}")
        else:
            print(f"{name}: {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
