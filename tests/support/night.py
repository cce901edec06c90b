"""How much of a night ``.ci/nightly`` has: every search takes its share of what it does in one."""

import os

ENVIRONMENT = "ORPHANGC_NIGHT_PERCENT"
"""From 1 to 100, which is a whole night; ``.ci/nightly`` sets it for what it starts."""


def share(whole: int, *, least: int) -> int:
    """Return how many examples, inputs or seconds a search has tonight.

    Args:
        whole: In a whole night.
        least: In any night, though it be short: what every submission does.

    """
    return max(least, whole * int(os.environ.get(ENVIRONMENT, "100")) // 100)
