"""Prints guards.md: every guard and condition with what to do, from the program's own advice."""

from orphangc.app.render.advice import CONDITION_ADVICE, GUARD_ADVICE
from orphangc.core.model.codes import Condition, Guard

_HEAD = """\
# Guards and conditions

Rendered by guards.py from the program's own advice; change it there.

## A guard refused a job

Nobody can know what is live in its directory, so everything of it is kept.
"""

_MIDDLE = """
## A condition blocks a job

The plan is sound as a report; nothing of the job is deleted while the condition is unmet.
"""


def page() -> str:
    """Return the page."""
    guards = [_row(each, GUARD_ADVICE[each]) for each in Guard]
    conditions = [_row(each, CONDITION_ADVICE[each]) for each in Condition]
    return "\n".join([_HEAD, *_TABLE, *guards, _MIDDLE, *_TABLE, *conditions, ""])


_TABLE = ("| name | what to do |", "|---|---|")


def _row(name: str, advice: str) -> str:
    return f"| `{name}` | {advice} |"


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201 - its purpose
