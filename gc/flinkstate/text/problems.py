"""What is wrong with a setting or a declaration, in one line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from pydantic import ValidationError

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


def first_problem(err: ValidationError) -> str:
    """Return the first validation error in one line, without the value that may be secret."""
    first = err.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    message = _PLAIN.get(first["type"], first["msg"].removeprefix("Value error, "))
    return f"{where}: {message}" if where else message


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the known name most like it."""
    found = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]}?" if found else ""
