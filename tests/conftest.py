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

_LIVE = ("image", "flink", "spark", "prometheus", "chromium")
"""Markers of tests that mostly wait for others: begun first, they cost next to nothing."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep together what shares a cluster, and begin with what waits longest."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group(item)))
    items.sort(key=lambda item: min(map(_LIVE.index, _live_marks(item)), default=len(_LIVE)))


def _live_marks(item: pytest.Item) -> list[str]:
    return [mark.name for mark in item.iter_markers() if mark.name in _LIVE]


def _group(item: pytest.Item) -> str:
    """Return the file and, where a cluster of one version serves its tests, the version."""
    params = getattr(item, "callspec", None) and item.callspec.params
    version = (params or {}).get("started_flink_cluster", "")
    return f"{item.path.relative_to(item.config.rootpath)}{version}"
