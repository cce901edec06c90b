"""The rule over columns: what ``test_decide`` does not ask of it as well."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from orphangc.core.columns.listing_columns import NO_TIME, Columns
from orphangc.core.decision.kernel import (
    VERDICT_SCHEMA,
    BoundsTable,
    Verdicts,
    action_code,
    action_words,
    kernel,
    reason_code,
    reason_words,
    verdict_batch,
)
from orphangc.core.model.bounds import NEVER
from orphangc.core.model.types import Action, Reason, StoredObject
from orphangc.core.times.instants import microseconds_of
from orphangc.ports import VERDICT_SCHEMA as PORTS_SCHEMA
from support.builders import JOB, NAME, T0, ago, an_object, columns_of, some_bounds

MICROSECOND = timedelta(microseconds=1)
DELETE = (Action.DELETE, Reason.QUARANTINE_OVER)
ORPHAN = (Action.TOMBSTONE, Reason.ORPHAN)
TOO_YOUNG = (Action.KEEP, Reason.TOO_YOUNG)
NOT_OLDER = (Action.KEEP, Reason.NOT_OLDER_THAN_OLDEST_RETAINED)
REFERENCED = (Action.KEEP, Reason.REFERENCED)
REFUSED = (Action.KEEP, Reason.JOB_REFUSED)
REPORT_ONLY = (Action.KEEP, Reason.REPORT_ONLY)
UNRECOGNISED = (Action.KEEP, Reason.UNRECOGNISED)

LONG_AGO = microseconds_of(ago("2d"))


def asked(columns: Columns, **facts: object) -> Verdicts:
    """Return the verdicts on objects that are not live, and whose tombstones are two days old."""
    count = len(columns)
    usual = {
        "is_live": np.zeros(count, np.bool_),
        "since_us": np.full(count, LONG_AGO),
        "has_tombstone": np.ones(count, np.bool_),
        "owner": np.zeros(count, np.int32),
        "bounds": BoundsTable.of([some_bounds()]),
    }
    return kernel(columns, **{**usual, **facts})


def words(verdicts: Verdicts) -> list[tuple[str, str]]:
    texts = action_words(verdicts.actions), reason_words(verdicts.reasons)
    return list(zip(*(text.to_pylist() for text in texts), strict=True))


def verdict(stored: StoredObject | None = None, **facts: object) -> tuple[str, str]:
    """Return the verdict on one old unreferenced artifact whose quarantine is over, changed."""
    flags = {
        name: np.array([value], np.bool_ if isinstance(value, bool) else np.int64)
        for name, value in facts.items()
        if name != "bounds"
    }
    bounds = facts.get("bounds", some_bounds())
    found = asked(columns_of(stored or an_object()), **flags, bounds=BoundsTable.of([bounds]))
    return words(found)[0]


LIVE = {"is_live": True}
NEW = {"has_tombstone": False, "since_us": NO_TIME}
REPORTED = some_bounds(is_report_only=True)


@pytest.mark.parametrize(
    ("stored", "facts", "expected"),
    [
        (an_object(folder="chk-7"), {"bounds": REPORTED, **LIVE}, REPORT_ONLY),
        (an_object(folder="chk-7"), {"bounds": REPORTED}, REPORT_ONLY),
        (an_object(folder="taskowned"), {"bounds": REPORTED}, REPORT_ONLY),
        (an_object(), {"bounds": REPORTED}, REPORT_ONLY),
        (an_object(f"x{NAME}"), {"bounds": REPORTED}, REPORT_ONLY),
        (an_object(folder="chk-7"), {**LIVE, **NEW}, REFERENCED),
        (an_object(folder="taskowned"), {}, DELETE),
        (an_object(f"x{NAME}"), LIVE, UNRECOGNISED),
    ],
)
def test_what_is_reported_only_is_told_by_area_and_name(stored, facts, expected) -> None:
    """Rows 2 and 3: an area without a rule keeps any name; a strange one is kept in any other."""
    assert verdict(stored, **facts) == expected


@pytest.mark.parametrize(
    ("checkpoint_id", "bounds", "expected"),
    [
        (0, some_bounds(oldest_retained_checkpoint_id=0), NOT_OLDER),
        (2**63 - 1, some_bounds(oldest_retained_checkpoint_id=2**63 - 1), NOT_OLDER),
        (2**63 - 1, some_bounds(oldest_retained_checkpoint_id=2**70), DELETE),
        (0, some_bounds(checkpoint_id_margin=2**70), NOT_OLDER),
        (2**63 - 1, some_bounds(is_ended=True, newest_completed_at=None), DELETE),
        (None, some_bounds(oldest_retained_checkpoint_id=0), DELETE),
    ],
)
def test_ids_and_margins_of_any_size_are_compared(checkpoint_id, bounds, expected) -> None:
    """Row 5, R9, R14: columns hold 64 bits, and what is said of a job may be more."""
    name = NAME if checkpoint_id is None else f"{checkpoint_id}_{NAME}"
    assert verdict(an_object(name), bounds=bounds) == expected


def test_an_instant_is_exact_to_the_microsecond() -> None:
    """A float of seconds would round, and break ties."""
    odd = datetime(2026, 11, 21, 14, 0, 0, 123457, tzinfo=UTC)
    assert microseconds_of(odd) - microseconds_of(odd - MICROSECOND) == 1
    assert microseconds_of(odd) == 1_795_269_600_123_457
    assert microseconds_of(NEVER - MICROSECOND) == -1
    assert microseconds_of(datetime.max.replace(tzinfo=UTC)) == 253_402_300_799_999_999


def test_every_object_is_compared_with_its_own_job() -> None:
    """One batch holds objects of many jobs."""
    columns = columns_of(*[an_object() for _ in range(4)])
    table = BoundsTable.of(
        [some_bounds(is_refused=True), some_bounds(cutoff=ago("60d")), some_bounds()]
    )
    owner = np.array([2, 0, 1, 2], np.int32)
    assert words(asked(columns, owner=owner, bounds=table)) == [DELETE, REFUSED, TOO_YOUNG, DELETE]


NOT_ONE_EACH = ValueError("what is said of the objects is not one value an object")
NO_MASK = ValueError("a mask is no mask")
NO_NUMBER = ValueError("a time or checkpoint id is no whole number")
NO_OWNER = IndexError("an object's owner is not in the table of bounds")


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"is_live": np.zeros(1, np.bool_)}, NOT_ONE_EACH),
        ({"is_live": np.zeros(2, np.int8)}, NO_MASK),
        ({"has_tombstone": np.ones(2, np.int64)}, NO_MASK),
        ({"since_us": np.full(1, NO_TIME)}, NOT_ONE_EACH),
        ({"since_us": np.full(2, np.nan)}, NO_NUMBER),
        ({"owner": np.zeros(3, np.int32)}, NOT_ONE_EACH),
        ({"owner": np.array([0, 1], np.int32)}, IndexError("index 1 is out of bounds")),
        ({"owner": np.array([0, -1], np.int32)}, NO_OWNER),
    ],
)
def test_columns_that_do_not_fit_are_refused(wrong, error) -> None:
    """Arrays stretch, wrap and compare whatever they get; a NaN is never in quarantine."""
    with pytest.raises(type(error), match=f"^{error}"):
        asked(columns_of(an_object(), an_object()), **wrong)


def test_a_time_without_a_tombstone_deletes_nothing() -> None:
    """A join that fills gaps with 0 must not look like a tombstone of 1970."""
    assert verdict(since_us=0, has_tombstone=False) == ORPHAN


def test_codes_are_places_in_the_enums() -> None:
    """Whoever counts verdicts counts codes; ten million of them take a byte each."""
    assert [each.dtype for each in asked(columns_of(an_object()))] == [np.uint8, np.uint8]
    assert [action_code(each) for each in Action] == list(range(len(Action)))
    assert [reason_code(each) for each in Reason] == list(range(len(Reason)))
    codes = np.arange(len(Reason), dtype=np.uint8)
    assert reason_words(codes).to_pylist() == [each.value for each in Reason]
    assert action_words(codes[: len(Action)]).to_pylist() == [each.value for each in Action]


def test_verdict_rows_are_what_a_plan_holds() -> None:
    """Contract: columns, order and types of the verdict files."""
    columns = columns_of(an_object(f"7_{NAME}"), an_object("x", etag=None, modified_at=None))
    found = asked(columns)
    owner = np.array([1, 0], np.int32)
    batch = verdict_batch(columns, *found, owner=owner, job_ids=["", JOB])
    assert VERDICT_SCHEMA.equals(PORTS_SCHEMA)
    assert batch.schema.equals(PORTS_SCHEMA)
    batch.validate(full=True)
    first, second = batch.to_pylist()
    assert first == {
        "job_id": JOB,
        "key": f"{JOB}/shared/7_{NAME}",
        "scope": "shared",
        "size": 1234,
        "modified_at": ago("30d"),
        "etag": "e1",
        "checkpoint_id": 7,
        "action": "delete",
        "reason": "quarantine_over",
    }
    assert (second["job_id"], second["checkpoint_id"], second["reason"]) == (
        "",
        None,
        "unrecognised",
    )
    assert (second["etag"], second["modified_at"]) == (None, None)


def test_nothing_gives_nothing() -> None:
    """Some stores send empty pages; a storage may have no job."""
    columns = columns_of()
    table = BoundsTable.of([])
    found = asked(columns, bounds=table)
    assert len(table) == len(found.actions) == 0
    of_instants = table.cutoff_us, table.newest_older_id, table.quarantine_us
    assert [each.dtype for each in of_instants] == [np.int64] * 3
    batch = verdict_batch(columns, *found, owner=np.zeros(0, np.int32), job_ids=[])
    assert batch.num_rows == 0
    assert batch.schema.equals(PORTS_SCHEMA)


def test_reasons_stand_in_the_order_of_the_questions() -> None:
    """Each object fails its own question and all later ones; the first of them is its reason."""
    strange, pending, timeless = (
        an_object(name=name, modified_at=None) for name in ("x", f"50_{NAME}", NAME)
    )
    objects = [strange, strange, strange, pending, pending, timeless, *[an_object()] * 3]
    bounds = [some_bounds(is_refused=True), REPORTED, some_bounds()]
    found = asked(
        columns_of(*objects),
        owner=np.array([0, 1, *[2] * 7], np.int32),
        is_live=np.array([True] * 4 + [False] * 5),
        has_tombstone=np.array([False] * 7 + [True] * 2),
        since_us=np.array([microseconds_of(T0)] * 8 + [LONG_AGO]),
        bounds=BoundsTable.of(bounds),
    )
    assert reason_words(found.reasons).to_pylist() == list(Reason)
