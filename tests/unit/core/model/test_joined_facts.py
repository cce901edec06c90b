"""One join for every memory: the order of writers does not matter, and no fact is lost.

Memories are drawn from few texts and times, so that their facts meet.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cache
from types import UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from orphangc.core.discovery.discovered_facts import UnclearFact
from orphangc.core.discovery.remembered_facts import DiscoveryMemory
from orphangc.core.documents.run_record import Totals
from orphangc.core.lineage.continuation import LineageMemory
from orphangc.core.memory.remembered import (
    RememberedCheckpoint,
    RememberedJob,
    RememberedPlace,
    WorldMemory,
)
from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.model.joined_facts import (
    BOTH,
    EARLIEST,
    EITHER,
    LATEST,
    Fact,
    Rule,
    With,
    joined,
    table,
)

DAY = datetime(2026, 11, 1, tzinfo=UTC)
TIMES = st.sampled_from([DAY + timedelta(days=n) for n in range(3)])
LATER = DAY + timedelta(days=1)
DIGEST = "0" * 64


def values_of(name: str, kind: Any) -> st.SearchStrategy[Any]:
    """Return a few values of a field."""
    if get_origin(kind) is Annotated:
        return values_of(name, get_args(kind)[0])
    if get_origin(kind) is UnionType:
        return st.none() | values_of(name, get_args(kind)[0])
    if get_origin(kind) is tuple:
        return st.lists(values_of(name, get_args(kind)[0]), max_size=2).map(tuple)
    if get_origin(kind) is Mapping:
        return st.dictionaries(st.sampled_from("ab"), values_of(name, get_args(kind)[1]))
    if not isinstance(kind, type):
        return TIMES
    if issubclass(kind, FrozenPart):
        return facts_of(kind)
    if issubclass(kind, Enum):
        return st.sampled_from([*kind][:2])
    plain: dict[Any, st.SearchStrategy[Any]] = {
        bool: st.booleans(),
        int: st.integers(0, 1),
        float: st.floats(0, 1),
        str: st.sampled_from([DIGEST, "1" * 64] if name == "sha256" else ["a", "b"]),
    }
    return plain.get(kind, TIMES)


@cache
def facts_of(kind: type[FrozenPart]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind, include_extras=True)
    fields = {n: values_of(n, hints[n]) for n in kind.model_fields if "version" not in n}
    return st.builds(kind, **fields)


def written(kind: type[Fact]) -> st.SearchStrategy[Any]:
    """Return a memory as a writer leaves it: each fact once."""
    return facts_of(kind).map(lambda each: joined(each, each))


def without_order(value: Any) -> Any:
    """Return a memory in which the order of facts does not count."""
    if isinstance(value, FrozenPart):
        return type(value), {n: without_order(getattr(value, n)) for n in type(value).model_fields}
    if isinstance(value, tuple):
        return sorted((without_order(each) for each in value), key=repr)
    return value


REPLACED = {
    *("standing", "others", "alive", "contradicted", "deleted_on", "ended_as", "ended_as_before"),
    *("RememberedRegistry.directories", "ResourceFacts.clusters", "ResourceFacts.made"),
}
"""Lists that the later sighting says whole, as it saw all there was; every other one only grows."""
LASTING = {"is_fixed", "is_stated", "is_effective"}
"""What is true for good once a cycle saw it."""


def named(fact: Fact, about: tuple[object, ...] = ()) -> Iterator[object]:
    """Yield everything that a fact or a memory names: subjects, what each lists, what lasts."""
    for name in type(fact).model_fields:
        own = getattr(fact, name)
        if isinstance(own, Fact):
            yield from named(own, about)
        elif own is True and name in LASTING:
            yield *about, name
        elif isinstance(own, tuple) and REPLACED.isdisjoint(
            {name, f"{type(fact).__name__}.{name}"}
        ):
            for each in own:
                what = (*about, name, each.subject if isinstance(each, Fact) else each)
                yield what
                if isinstance(each, Fact):
                    yield from named(each, what)


def kinds(kind: Any = Fact) -> Iterator[type[Fact]]:
    for each in kind.__subclasses__():
        yield from kinds(each) if each.__subclasses__() else [each]


def about(kind: type[Fact], fact: Fact) -> dict[str, Any]:
    names = {
        *kind.SUBJECT,
        *({"origin", "why", "digest", "uid"} if {*kind.SUBJECT} & {"name", "what"} else ()),
    }
    return {name: getattr(fact, name) for name in names & {*kind.model_fields}}


@pytest.mark.parametrize("kind", [*kinds()])
@given(data=st.data())
@settings(max_examples=12, phases=[Phase.generate])  # a memory takes minutes to shrink
def test_no_order_of_writers_loses_a_fact_of_any_of_them(kind, data) -> None:
    """Nor makes one up; and what is read twice counts once."""
    for _ in range(1 if not kind.SUBJECT else 3):
        first, *others = (data.draw(written(kind)) for _ in range(3))
        check_laws(first, *(each.model_copy(update=about(kind, first)) for each in others))


def check_laws(one: Fact, other: Fact, third: Fact) -> None:
    """Make sure that three sightings of one fact make the same together in any order."""
    both = joined(one, other)
    assert both.subject == one.subject
    assert both == joined(other, one)
    assert {*named(both)} == {*named(one), *named(other)}
    assert without_order(joined(both, one)) == without_order(both)
    left, right = joined(both, third), joined(one, joined(other, third))
    assert without_order(left) == without_order(right)


@pytest.mark.parametrize(
    ("rule", "one", "other", "both"),
    [
        *((EARLIEST, DAY, other, DAY) for other in (None, DAY, LATER)),
        *((LATEST, LATER, other, LATER) for other in (None, DAY, LATER)),
        *((EITHER, True, other, True) for other in (False, True)),
        *((BOTH, False, other, False) for other in (False, True)),
    ],
)
def test_of_two_values_the_one_that_lets_less_go_counts(rule, one, other, both) -> None:
    """Whichever of them was seen later."""
    assert rule.of(one, other, None) == rule.of(other, one, None) == both


def test_what_two_witnesses_saw_is_two_facts() -> None:
    """And so is what lay at one path, one after the other."""
    job, by = RememberedJob(job_id="j", by="r"), ("j", "s")
    assert [e.subject for e in table([job.model_copy(update={"by": "s"}), job])] == [("j", "r"), by]
    one = RememberedCheckpoint(uri="u", checkpoint_id=1, seen_at=DAY, sha256=DIGEST)
    assert len(table([one, one, one.model_copy(update={"sha256": "", "seen_at": LATER})])) == 2


def a_place(**facts: Any) -> RememberedPlace:
    return RememberedPlace(**{"uri": "s3://b", "kind": "x", "first_seen_at": DAY, **facts})


def test_what_was_seen_again_since_is_not_explained_any_more() -> None:
    """What was explained when it was last seen, or later, is."""
    explained = a_place(seen_at=DAY, resolved_at=LATER)
    for days, resolved_at in ((0, explained.resolved_at), (1, explained.resolved_at), (2, None)):
        both = joined(explained, a_place(seen_at=DAY + timedelta(days=days)))
        assert (both.seen_at, both.resolved_at) == (DAY + timedelta(days=days), resolved_at)


def test_an_end_stays_with_the_time_at_which_it_was_known() -> None:
    """A later sighting of the job without that end says nothing of it."""
    over = RememberedJob(job_id="j", by="r", ended_at=DAY, ended_as=("FAILED",), began_at=DAY)
    seen = RememberedJob(job_id="j", by="r", alive_at=LATER, began_anew=True)
    both = joined(over, seen)
    assert both == over.model_copy(update={"alive_at": seen.alive_at})


@pytest.mark.parametrize("kind", [*kinds()])
def test_each_kind_says_what_its_facts_are_and_how_two_of_them_become_one(kind) -> None:
    """A field without a rule needs a later sighting; a part, a time to go with."""
    rules = {
        n: [r for r in f.metadata if isinstance(r, Rule | With)]
        for n, f in kind.model_fields.items()
    }
    assert all(len(each) <= 1 for each in rules.values())
    assert {r.time for each in rules.values() for r in each if isinstance(r, With)} <= {*rules}
    assert all(
        hasattr(kind, name) or name in rules for name in (*kind.SUBJECT, kind.SEEN or "subject")
    )
    if not kind.SEEN:
        assert [name for name, each in rules.items() if not each] in ([], ["version"])
    assert kind.SUBJECT or kind in {WorldMemory, DiscoveryMemory, LineageMemory, Totals}
    assert UnclearFact in {*kinds()}
