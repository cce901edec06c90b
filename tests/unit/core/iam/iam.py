"""A small judge of IAM policies, written from the grammar and not from what is generated."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

_TOKEN = re.compile(r"\$\{([*?$])\}|([*?])|(.)", re.DOTALL)


def _pattern(text: str) -> re.Pattern[str]:
    """Return what an ARN or a value with wildcards matches; ``${*}`` is a star."""
    parts = []
    for literal, wildcard, other in _TOKEN.findall(text):
        parts.append({"*": ".*", "?": "."}[wildcard] if wildcard else re.escape(literal or other))
    return re.compile("".join(parts), re.DOTALL)


def _fits(patterns: Iterable[str], value: str) -> bool:
    return any(_pattern(each).fullmatch(value) for each in patterns)


def _holds(condition: Mapping[str, Any], context: Mapping[str, str]) -> bool:
    for operator, tests in condition.items():
        for name, wanted in tests.items():
            values = [wanted] if isinstance(wanted, str) else wanted
            found = context.get(name)
            if found is None:
                return False
            is_like = operator == "StringLike"
            if not (_fits(values, found) if is_like else found in values):
                return False
    return True


def allows(policy: Mapping[str, Any], action: str, resource: str, **context: str) -> bool:
    """Return whether a policy alone allows an action: a denial wins, silence is a no."""
    effects = {
        each["Effect"]
        for each in policy["Statement"]
        if action in each["Action"]
        and _fits(each["Resource"], resource)
        and _holds(each.get("Condition", {}), {f"s3:{k}": v for k, v in context.items()})
    }
    return effects == {"Allow"}
