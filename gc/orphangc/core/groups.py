"""Values by a key of each, and what is reached from some of them."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

_T = TypeVar("_T")
_Key = TypeVar("_Key", bound=Hashable)
_Member = TypeVar("_Member", bound=Hashable)


def grouped(each: Iterable[_T], key: Callable[[_T], _Key]) -> dict[_Key, list[_T]]:
    """Return values by a key of each, in their order."""
    groups: dict[_Key, list[_T]] = {}
    for one in each:
        groups.setdefault(key(one), []).append(one)
    return groups


def sets_of(pairs: Iterable[tuple[_Key, _Member]]) -> dict[_Key, set[_Member]]:
    """Return the second ones of pairs by the first."""
    found: dict[_Key, set[_Member]] = {}
    for key, member in pairs:
        found.setdefault(key, set()).add(member)
    return found


def reached(first: Iterable[_Key], following: Callable[[_Key], Iterable[_Key]]) -> set[_Key]:
    """Return all that any number of steps lead to from the first ones, themselves included."""
    found = set(first)
    todo = list(found)
    while todo:
        new = set(following(todo.pop())) - found
        found |= new
        todo += new
    return found
