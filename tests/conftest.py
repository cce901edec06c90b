"""How long Hypothesis searches: ``HYPOTHESIS_PROFILE`` is dev (default), ci or nightly."""

import os

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
