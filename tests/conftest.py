"""How long Hypothesis searches (``HYPOTHESIS_PROFILE``: dev, ci or nightly), and who runs when."""

import os

import pytest
from hypothesis import HealthCheck, settings

_SLOW = [HealthCheck.too_slow]  # two shared cores say nothing of the code

settings.register_profile("dev", max_examples=60, deadline=None, suppress_health_check=_SLOW)
settings.register_profile(
    "ci", max_examples=500, deadline=None, suppress_health_check=_SLOW, print_blob=True
)
settings.register_profile(
    "nightly", max_examples=10_000, deadline=None, suppress_health_check=_SLOW, print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

_LIVE = ("flink", "image", "spark", "prometheus", "chromium")
"""Markers of tests that wait for others most of the time, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep together what shares a cluster, and begin with what takes longest.

    One process runs what needs a Flink, one what needs any other server, and the rest the rest:
    two clusters at once would slow each other down, and their jobs do not stand still meanwhile.
    """
    for item in items:
        live = _live_marks(item)
        group = str(item.path) if not live else "flink" if "flink" in live else "servers"
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: min(map(_LIVE.index, _live_marks(item)), default=len(_LIVE)))


def _live_marks(item: pytest.Item) -> list[str]:
    return [mark.name for mark in item.iter_markers() if mark.name in _LIVE]
