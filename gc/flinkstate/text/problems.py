"""What is wrong with a setting or a declaration, in one line."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

_PLAIN = {
    "tuple_type": "a list is needed",
    "dict_type": "a mapping is needed",
    "model_type": "a mapping is needed",
    "extra_forbidden": "there is no such key",
    "missing": "it is missing",
}
"""Words for what pydantic says in words of Python, by type of the error."""

NO_VALUE = (ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What PyYAML raises besides its own errors: for an impossible date or number, a tag that its text
does not fit, and endless nesting.
"""


def problems_in(err: ValidationError) -> list[str]:
    """Return every validation error in one line each, without the value that may be secret."""
    found = err.errors(include_input=False, include_url=False)
    return [_line(".".join(str(part) for part in each["loc"]), each) for each in found]


def _line(where: str, error: ErrorDetails) -> str:
    message = _PLAIN.get(error["type"], error["msg"].removeprefix("Value error, "))
    return f"{where}: {message}" if where else message


def yaml_problem(err: Any) -> str:
    """Return what PyYAML cannot read, and where, without the text itself, which may be secret."""
    if (mark := getattr(err, "problem_mark", None)) is not None:
        return f"{err.problem} at line {mark.line + 1}, column {mark.column + 1}"
    if isinstance(err, RecursionError):
        return "it is nested too deeply"
    if isinstance(err, NO_VALUE):
        return "a value of it is no number, date or text of its type"
    return str(getattr(err, "reason", err))


def in_one_line(problems: Sequence[str]) -> str:
    """Return one line of all problems, numbered if there are several."""
    if len(problems) == 1:
        return problems[0]
    numbered = (f"({number}) {each}" for number, each in enumerate(problems, 1))
    return f"{len(problems)} problems: {' '.join(numbered)}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the known name most like it."""
    found = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]}?" if found else ""
