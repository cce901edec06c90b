"""A test of many values as one case for each group of them.

pytest and its worker processes need several milliseconds for a case, whatever it does: of a
thousand files that are to hold one sentence, that is more than reading them takes.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

_GROUP = "group"


def grouped(values: Iterable[T], by: Callable[[T], str]) -> dict[str, list[T]]:
    """Return the values by the name of their group, in their order."""
    groups: dict[str, list[T]] = {}
    for each in values:
        groups.setdefault(by(each), []).append(each)
    return groups


def for_each(
    argument: str,
    groups: Mapping[str, Sequence[Any]],
    *,
    shown: Callable[[Any], str] = str,
    marks: Mapping[str, Sequence[pytest.MarkDecorator]] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a test each value of a group; a case is a group.

    Args:
        argument: Name of the test's argument that takes the value.
        groups: Values by the name of their group.
        shown: Returns the words by which a failure names its value.
        marks: Marks of pytest by the name of the group.

    """
    cases = [pytest.param(name, marks=(marks or {}).get(name, ())) for name in groups]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def of_group(**given: Any) -> None:
            for each in groups[given.pop(_GROUP)]:
                try:
                    test(**given, **{argument: each})
                except BaseException as err:
                    err.add_note(f"{argument}: {shown(each)}")
                    raise

        of_group.__name__, of_group.__doc__ = test.__name__, test.__doc__
        of_group.__module__ = test.__module__
        vars(of_group).update(vars(test))  # marks
        parameters = inspect.signature(test).parameters.values()
        of_group.__signature__ = inspect.Signature(  # type: ignore[attr-defined] # pytest reads it
            [each.replace(name=_GROUP) if each.name == argument else each for each in parameters]
        )
        return pytest.mark.parametrize(_GROUP, cases)(of_group)

    return decorate
