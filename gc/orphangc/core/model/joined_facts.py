"""Facts that cycles saw, and what two sightings of one of them make together.

A memory is a table of facts for each kind; a fact has a subject, a time at which it was last seen,
and a value. What becomes of a field of the value stands beside the field. No rule drops what only
one of two writers saw, and their order does not matter, so that writers need no lock.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

from orphangc.core.model.frozen_part import FrozenPart


class Fact(FrozenPart):
    """A fact of one kind. A field without a rule is as the later sighting says."""

    SUBJECT: ClassVar[tuple[str, ...]] = ()
    SEEN: ClassVar[str] = ""

    def __init_subclass__(
        cls, *, subject: tuple[str, ...] = (), seen: str = "", **others: Any
    ) -> None:
        """Say what a kind is.

        Args:
            subject: Fields or properties that together no other fact of its kind has; a witness
                is one of them.
            seen: Field or property by which one sighting is later than another one; "" where each
                field has a rule to which that does not matter.
        """
        super().__init_subclass__(**others)
        cls.SUBJECT, cls.SEEN = subject, seen

    @property
    def subject(self) -> tuple[str, ...]:
        """Return what it is about, among the facts of its kind."""
        return tuple(str(getattr(self, name)) for name in self.SUBJECT)


_Fact = TypeVar("_Fact", bound=Fact)


@dataclass(frozen=True, slots=True)
class Rule:
    """What two values of a field make together.

    Attributes:
        of: Gets the value of the earlier sighting, that of the later one, and when that was seen.
    """

    of: Callable[[Any, Any, Any], object]


@dataclass(frozen=True, slots=True)
class With:
    """The rule of a field that goes with a time: the sighting that has the later one says it."""

    time: str


def _known(*values: Any) -> list[Any]:
    return [each for each in values if each is not None]


EARLIEST = Rule(lambda earlier, later, _: min(_known(earlier, later), default=None))
LATEST = Rule(lambda earlier, later, _: max(_known(earlier, later), default=None))
LATEST_OF_EACH = Rule(
    lambda earlier, later, _: {
        key: max(each[key] for each in (later, earlier) if key in each) for key in later | earlier
    }
)
"""The larger value of each key of two mappings."""
EITHER = Rule(lambda earlier, later, _: earlier or later)
BOTH = Rule(lambda earlier, later, _: earlier and later)
UNION = Rule(lambda earlier, later, _: tuple(sorted({*earlier, *later})))
IN_ORDER = Rule(lambda earlier, later, _: tuple(dict.fromkeys((*earlier, *later))))
"""The union, what the later sighting names last."""


def _explained(earlier: Any, later: Any, seen: Any) -> object:
    at = max(_known(earlier, later), default=None)
    return None if at is not None and seen is not None and at < seen else at


EXPLAINED = Rule(_explained)
"""When either sighting explained its loss away, unless it was seen again since."""


def table(facts: Iterable[_Fact]) -> tuple[_Fact, ...]:
    """Return each fact once, in the order of their subjects."""
    return tuple(sorted(united(facts), key=lambda each: each.subject))


def united(facts: Iterable[_Fact]) -> tuple[_Fact, ...]:
    """Return each fact once, in the order in which their subjects come first."""
    found: dict[tuple[str, ...], _Fact] = {}
    for each in facts:
        known = found.get(each.subject)
        found[each.subject] = each if known is None else joined(known, each)
    return tuple(found.values())


def joined(one: _Fact, other: _Fact) -> _Fact:
    """Return what two sightings of one fact make together; their order does not matter."""
    rules = _rules(type(one))
    later = _later(one, other, one.SEEN, rules)
    earlier = other if later is one else one
    seen = getattr(later, later.SEEN) if later.SEEN else None
    update = {}
    for name, rule in rules.items():
        if isinstance(rule, With):
            update[name] = getattr(_later(one, other, rule.time, rules), name)
        elif rule is not None:
            update[name] = rule.of(getattr(earlier, name), getattr(later, name), seen)
    return later.model_copy(update=update)


_Rules = Mapping[str, Rule | With | None]


@lru_cache
def _rules(kind: type[Fact]) -> _Rules:
    return {
        name: next((each for each in field.metadata if isinstance(each, Rule | With)), None)
        for name, field in kind.model_fields.items()
    }


def _later(one: _Fact, other: _Fact, time: str, rules: _Rules) -> _Fact:
    """Return the sighting with the later time; of two at one time always the same one.

    Only the fields that go with the time decide, so that what others say does not matter.
    """
    if not time:
        return one
    times = [getattr(each, time) for each in (one, other)]
    if times[0] != times[1]:
        return one if times[1] is None or (times[0] is not None and times[0] > times[1]) else other
    own = With(time) if With(time) in rules.values() else None
    names = [name for name, rule in rules.items() if rule == own]
    return max(one, other, key=lambda each: (repr([getattr(each, n) for n in names]), repr(each)))


TABLE = Rule(lambda earlier, later, _: table((*earlier, *later)))
"""A table of facts, in the order of their subjects."""
NEWEST_FIRST = Rule(lambda earlier, later, _: united((*later, *earlier)))
"""A table of facts, those of the later sighting first."""
PART = Rule(lambda earlier, later, _: joined(earlier, later))
