"""How much work something is, by a measure that no other process changes."""

import sys
from collections.abc import Callable


def calls_of(work: Callable[[], object]) -> int:
    """Return how many functions are called in some work: a time that no other process changes."""
    called = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal called
        called += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return called
