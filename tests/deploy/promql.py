"""What a PromQL expression names, as far as our own rules need to know."""

import re
from collections.abc import Iterator

_SELECTOR = re.compile(r"\b(orphangc_\w+)(?:\{(.*?)\})?(?=[^\w\"]|$)")
_MATCHER = re.compile(r"(\w+)\s*(=~|!~|!=|=)\s*\"((?:[^\"\\]|\\.)*)\"")
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")


def selectors(expr: str) -> Iterator[tuple[str, dict[str, tuple[str, str]]]]:
    """Yield each series that is asked for, with its matchers: label, operator, value."""
    for name, inside in _SELECTOR.findall(expr):
        yield name, {label: (op, value) for label, op, value in _MATCHER.findall(inside)}


def grouping_labels(expr: str) -> set[str]:
    """Return the labels that the expression groups or matches by."""
    found = (part.strip() for inside in _GROUPING.findall(expr) for part in inside.split(","))
    return {label for label in found if label}
