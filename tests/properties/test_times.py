"""A stored time that is out of range is unknown, or the refusal of what shows it."""

import ast
import importlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

import flinkstate
import orphangc
from orphangc.core.cluster.job_facts import PerhapsRestInstant, RestInstant
from orphangc.core.model.bounds import SafetyMargins, cutoff, job_bounds
from orphangc.core.times.instants import (
    EARLIEST,
    EARLIEST_US,
    LATEST,
    LATEST_US,
    Instant,
    from_http,
    from_iso,
    from_microseconds,
    known_microseconds,
    microseconds_of,
    shifted,
)
from orphangc.errors import OrphanGcError
from properties.readers_of_times import READERS, spelled
from support.grouped import for_each

FIRST, LAST = (each.replace(tzinfo=UTC) for each in (datetime.min, datetime.max))
PLAUSIBLE = range(4 * 10**15)
"""Microseconds from 1970 to 2096: a time that every reader must take as it is."""
MARGIN = timedelta(days=10_000)
"""The longest that a setting may be."""

EXTREME = (
    -(2**63) + 1,
    2**63 - 1,
    microseconds_of(FIRST) - 1,
    microseconds_of(FIRST),
    microseconds_of(LAST),
    microseconds_of(LAST) + 1,
    EARLIEST_US - 60_000_000,
    LATEST_US + 60_000_000,
    -2_208_988_800_000_001,
    -1,
    0,
    1_795_351_000_123_456,
)
ANY = st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(EARLIEST_US, LATEST_US)


def check(name: str, us: int) -> None:
    """Make sure of what one reader makes of one time."""
    reader = READERS[name]
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = reader.read(us, Path(folder))
        except OrphanGcError as err:
            found, refusal = None, str(err)
        else:
            refusal = reader.names
    assert reader.names in refusal
    expected = from_microseconds(us // reader.step_us * reader.step_us)
    if found is not None:
        assert found.utcoffset() == timedelta(0)
        assert found == expected
        assert found - MARGIN < found < found + MARGIN
    assert found is not None or us not in PLAUSIBLE


@for_each("us", {"every extreme": EXTREME})
@pytest.mark.parametrize("name", READERS)
def test_a_reader_gives_an_instant_an_unknown_time_or_a_refusal(name: str, us: int) -> None:
    """Never a traceback, never another time than the one that is stored."""
    check(name, us)


@pytest.mark.parametrize("name", READERS)
def test_so_it_does_with_any_time(name: str) -> None:
    """The same for whatever 64 bits hold."""
    few = settings(max_examples=settings().max_examples // 4)
    few(given(ANY)(lambda us: check(name, us)))()


@pytest.mark.parametrize("unit", ["ms", "us"])
def test_a_time_in_a_coarser_unit_does_not_wrap_into_another(unit: str, tmp_path: Path) -> None:
    """2**64 microseconds and a date of 2023 are, in 64 bits, a date of 2023: old enough to go."""
    us = (2**64 if unit == "ms" else 0) + 1_700_000_000_000_000
    read = READERS[f"inventory, Parquet in {unit}"].read
    if unit == "us":
        assert read(us, tmp_path) == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    else:
        with pytest.raises(OrphanGcError, match="data file"):
            read(us, tmp_path)


# --- arithmetic


@given(st.datetimes(timezones=st.just(UTC)), st.timedeltas())
@example(FIRST, -timedelta(microseconds=1))
@example(LAST, timedelta(microseconds=1))
def test_a_shift_beyond_the_end_stops_there(at: datetime, by: timedelta) -> None:
    """And in between it is a sum; a bound that is moved back is never later."""
    found = shifted(at, by)
    assert FIRST <= found <= LAST
    assert (found <= at) if by <= timedelta(0) else (found >= at)
    assert found in {FIRST, LAST} or found - at == by


@given(
    st.sampled_from([FIRST, LAST]) | st.datetimes(timezones=st.just(UTC)),
    st.lists(st.none() | st.sampled_from([FIRST, LAST, EARLIEST, LATEST]), max_size=3),
    st.booleans(),
)
def test_no_clock_and_no_checkpoint_stops_the_bounds(now, own, is_ended) -> None:
    """Whatever the times, the cutoff is an instant that is no later than now."""
    bounds = job_bounds(
        now,
        SafetyMargins(),
        is_ended=is_ended,
        own_checkpoint_times=own,
        listed_at=own[0] if own else None,
    )
    assert cutoff(bounds) <= max(now, datetime(1970, 1, 1, tzinfo=UTC))


# --- the one way in


@given(ANY)
def test_microseconds_are_known_or_none(us: int) -> None:
    """Both ways of the helper agree, and lead back."""
    found = from_microseconds(us)
    assert (found is None) is not (EARLIEST_US <= us <= LATEST_US)
    assert known_microseconds(us) == (None if found is None else us)
    assert found is None or microseconds_of(found) == us
    assert from_iso(spelled(us)) == found


@given(st.floats() | st.floats(EARLIEST_US, LATEST_US))
def test_a_number_that_is_none_is_no_time(number: float) -> None:
    """Infinity, and what is not a number: of some file systems."""
    found = known_microseconds(number)
    assert found is None or EARLIEST_US <= found <= LATEST_US


def test_the_year_one_of_another_language_is_no_time() -> None:
    """Go writes it for a time that it does not know; ``email.utils`` takes it for 2001."""
    assert from_http("Mon, 01 Jan 0001 00:00:00 GMT") is None
    assert from_iso("0001-01-01T00:00:00Z") is None
    assert from_http("Thu, 01 Jan 2026 00:00:00 +0100") == datetime(2025, 12, 31, 23, tzinfo=UTC)


@given(st.text() | st.from_regex(r"\w{3}, \d+ Jan \d+ \d+:\d+:\d+ [+-]?\w+", fullmatch=True))
@example("Fri, 31 Dec 2020 23:59:59 +9999999999999")
@example("Fri, 31 Dec 9999 23:59:59 -2359")
def test_a_header_is_a_time_or_none(text: str) -> None:
    """``email.utils`` raises two kinds of errors."""
    found = from_http(text)
    assert found is None or EARLIEST <= found <= LATEST


# --- the table is whole

PACKAGES = (Path(flinkstate.__file__).parent, Path(orphangc.__file__).parent)
HELPERS = ("orphangc.core.times.instants", "orphangc.core.times.instant_columns")
CHECKS = {"LATEST_US", "Instant", "check_rows", "from_http", "from_iso", "from_microseconds",
          "from_milliseconds", "from_pattern", "known", "known_microseconds", "known_times",
          "with_known_times"}  # fmt: skip
"""Names of the helpers that make an instant of what is stored."""
RAW = {"AwareDatetime", "fromisoformat", "fromordinal", "fromtimestamp", "parse_timestamp",
       "parsedate_to_datetime", "strptime", "to_pydatetime", "utcfromtimestamp"}  # fmt: skip
"""What makes a ``datetime`` without a check."""
ARROW = {"ParquetFile", "open_csv", "open_file", "open_stream", "read_table"}
"""What reads rows that some process has written."""
OWN_ROWS = {
    "collect.sweep.temporary_rows": "temporary files of this process, of checked rows",
    "adapters.spark.work_folder": "the driver has their digests from the executors",
}
BY_OTHERS = {
    "app.render.reason_groups": "shows times of an explanation, made from a plan",
    "collect.decide.assemble_plan": "shows the oldest of times that are columns of a listing",
    "collect.mark.survey": "the same",
    "adapters.spark.passes": "reads what its own tasks listed, by the helper of the spool",
    "collect.decide.abandoned_savepoints": "the newest of them",
}
"""Modules that pass on what another reader of the table has checked."""


@dataclass(frozen=True)
class Source:
    """What one module does with times."""

    names: frozenset[str]  # every name and attribute that it uses
    checks: frozenset[str]  # what it takes from the helper
    sums: tuple[int, ...]  # lines that add something to the epoch
    has_subclasses: bool  # whether a class of it has a base


@cache
def modules() -> dict[str, Source]:
    """Return every module but the helper itself; those of the collector without its name."""
    found = {}
    for path in (path for package in PACKAGES for path in package.rglob("*.py")):
        place = path.relative_to(PACKAGES[0].parent).with_suffix("")
        name = ".".join(place.parts).removeprefix("orphangc.")
        if not name.startswith("core.times."):
            found[name] = source(ast.parse(path.read_text()))
    return found


def source(tree: ast.Module) -> Source:
    """Return what a module does with times."""
    names, checks, sums, has_subclasses = set(), set(), [], False
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                names.add(name)
            case ast.ImportFrom(module=module, names=taken) if module in HELPERS:
                checks |= {each.name for each in taken} & CHECKS
            case ast.BinOp(op=ast.Add(), left=ast.Name(id=name)) if "EPOCH" in name:
                sums.append(node.lineno)
            case ast.ClassDef(bases=[_, *_]):
                has_subclasses = True
    return Source(frozenset(names), frozenset(checks), tuple(sums), has_subclasses)


def checking() -> set[str]:
    return {name for name, each in modules().items() if each.checks}


def test_every_module_that_reads_times_is_in_the_table() -> None:
    """A new reader takes its times from the helper, and so must appear here."""
    covered = {reader.module for reader in READERS.values()}
    assert checking() - covered == set(BY_OTHERS)
    assert covered - checking() == set(), "a reader of the table checks nothing"


def test_nothing_makes_an_instant_without_the_helper() -> None:
    """Python's and botocore's parsers, pydantic's own type, and the epoch plus a number."""
    assert {name: each.names & RAW for name, each in modules().items() if each.names & RAW} == {}
    assert {name: each.sums for name, each in modules().items() if each.sums} == {}


def test_every_reader_of_rows_checks_their_times() -> None:
    """Arrow takes any 64 bits for a time, and stumbles when Python asks for it."""
    reading = {name for name, each in modules().items() if each.names & ARROW}
    assert reading - checking() == set(OWN_ROWS)


def _times_in(hint: Any) -> Iterator[Any]:
    """Yield every part of a type that is a time and is not checked."""
    checks = [get_args(each)[1] for each in (Instant, RestInstant, PerhapsRestInstant)]
    if any(each in checks for each in getattr(hint, "__metadata__", ())):
        return
    if hint is datetime:
        yield hint
    for each in get_args(hint):
        yield from _times_in(each)


def is_read(model: type) -> bool:
    """Return whether pydantic makes values of a class."""
    return issubclass(model, BaseModel) or hasattr(model, "__pydantic_config__")


def test_every_time_of_a_document_is_checked() -> None:
    """Plans, records, headers: a model that is read has no plain ``datetime``."""
    unchecked = set()
    for name, each in modules().items():
        if not (each.has_subclasses and each.names & {"datetime", "Instant"}):
            continue
        module = importlib.import_module(
            name if name.startswith("flinkstate") else f"orphangc.{name}"
        )
        for model in vars(module).values():
            if isinstance(model, type) and is_read(model):
                hints = get_type_hints(model, include_extras=True)
                unchecked |= {
                    (model.__module__, model.__name__, field)
                    for field in getattr(model, "model_fields", hints)
                    if field in hints and any(_times_in(hints[field]))
                }
    answers = {
        "orphangc.app.web.jobs_and_runs",
        "orphangc.app.web.http_app",
    }  # nothing reads them here
    assert {module for module, _, _ in unchecked} == answers, unchecked
