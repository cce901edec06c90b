"""The pace: never above the ceiling, down when the store asks for it, and up again."""

import heapq
import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.core.model.rate import DeletionRate

RATES = st.floats(0.1, 1e6)
EVENTS = st.lists(
    st.tuples(st.sampled_from(["send", "success", "refusal", "failure"]), st.floats(0, 100)),
    max_size=60,
)


def played(pace: DeletionRate, events: list[tuple[str, float]]) -> list[tuple[DeletionRate, float]]:
    now, seen = 0.0, [(pace, 0.0)]
    for name, later in events:
        now += later
        match name:
            case "send":
                now += pace.wait(now)
                pace = pace.after_turn(pace.keys(now), now)
            case "success":
                pace = pace.after_success(now)
            case "refusal":
                pace = pace.after_refusal(now, now)
            case "failure":
                pace = pace.after_failure()
        seen.append((pace, now))
    return seen


# --- bounds


@given(RATES, st.integers(1, 1000), EVENTS)
def test_the_rate_stays_between_the_ceiling_and_a_hundredth_of_it(ceiling, largest, events) -> None:
    """Whatever the store answers, and whenever."""
    for pace, now in played(DeletionRate.of(ceiling, largest), events):
        assert ceiling / 100 * 0.999 <= pace.rate(now) <= ceiling
        assert 1 <= pace.keys(now) <= largest


@given(RATES, st.integers(1, 1000), EVENTS)
def test_no_pause_is_longer_than_half_a_minute(ceiling, largest, events) -> None:
    """A store in trouble is asked again now and then, for ever."""
    for pace, now in played(DeletionRate.of(ceiling, largest), events):
        assert pace.paused_until - now <= 30


@given(RATES, st.integers(1, 1000), st.lists(st.floats(0, 10), min_size=1, max_size=60))
def test_in_the_long_run_no_more_keys_are_sent_than_the_ceiling_allows(
    ceiling, largest, gaps
) -> None:
    """At most the keys of half a second ahead of their time, and one request."""
    pace, now, sent = DeletionRate.of(ceiling, largest), 0.0, 0
    for gap in gaps:
        now += gap
        now += pace.wait(now)
        keys = pace.keys(now)
        turn = pace.turn(now)
        assert now <= turn <= now + 0.5 * (1 + 1e-9)
        pace = pace.after_turn(keys, now)
        sent += keys
        assert sent <= ceiling * (turn + 1 / 2) * (1 + 1e-9) + largest


@given(RATES, EVENTS, st.floats(0, 1e4), st.floats(0, 1e4))
def test_without_refusals_the_rate_only_grows(ceiling, events, first, second) -> None:
    """Time heals; nothing jumps."""
    pace, now = played(DeletionRate.of(ceiling, 1000), events)[-1]
    early, late = sorted((first, second))
    assert pace.rate(now + early) <= pace.rate(now + late) * (1 + 1e-9)
    assert pace.rate(now + 2000) == ceiling


@pytest.mark.parametrize(("ceiling", "largest"), [(0, 1000), (-1, 1000), (3200, 0)])
def test_a_pace_of_nothing_is_refused(ceiling, largest) -> None:
    """It would wait for ever."""
    with pytest.raises(ValueError, match="is none"):
        DeletionRate.of(ceiling, largest)


def test_each_turn_is_as_long_as_its_keys_take_and_is_prepared_half_a_second_before() -> None:
    """From the first one on; where nothing went for long, half a second is made up for."""
    pace = DeletionRate.of(1000, 1000)
    assert (pace.wait(7), pace.turn(7)) == (0, 7)
    pace = pace.after_turn(1000, 7)
    assert (pace.wait(7), pace.turn(7)) == (0.5, 8)
    pace = pace.after_turn(500, 7.5)
    assert (pace.wait(7.5), pace.turn(7.5)) == (0.5, 8.5)
    pace = pace.after_turn(1000, 100)
    assert (pace.wait(100), pace.turn(100)) == (0, 100.5)


# --- what it learns


def test_the_first_refusal_is_answered_gently_and_those_that_follow_harshly() -> None:
    """Three in a row: a tenth less, then half, then half again, with growing pauses."""
    pace, now, rates, pauses = DeletionRate.of(1000, 1000), 100.0, [], []
    for _ in range(4):
        pace = pace.after_refusal(now, now)
        rates.append(round(pace.rate(now)))
        pauses.append(pace.wait(now))
    assert (rates, pauses) == ([900, 450, 225, 112], [0, 0.5, 1, 2])


def test_a_success_ends_a_row_of_refusals() -> None:
    """Of a request that was sent after the pace was lowered; an older one tells nothing."""
    pace = DeletionRate.of(1000, 1000).after_refusal(100, 100).after_refusal(101, 101)
    assert pace.after_success(sent_at=99).refusals == 2
    assert pace.after_success(sent_at=101).refusals == 0
    assert pace.after_success(sent_at=102).refusals == 0


def test_refusals_of_requests_that_were_under_way_count_once() -> None:
    """Sixteen batches hit the same wall: the pace is lowered once, not sixteen times."""
    pace = DeletionRate.of(1000, 1000).after_refusal(100, 100)
    for _ in range(15):
        pace = pace.after_refusal(sent_at=99.9, now=100.1)
    assert (pace.refusals, round(pace.rate(100))) == (1, 900)


def test_around_the_refused_rate_it_grows_slowly_and_beyond_it_fast_again() -> None:
    """The quota lies there: of the tenth that was given up, a hundredth comes back in 8 seconds."""
    pace = DeletionRate.of(1000, 1000).after_refusal(0, 0)
    assert [pace.rate(at) for at in (0, 8, 40, 80)] == pytest.approx([900, 910, 950, 1000])
    pace = DeletionRate.of(1000, 1000)
    for now in range(5):
        pace = pace.after_refusal(now, now)
    refused = pace.refused
    assert pace.rate(4) == pytest.approx(refused / 2)
    assert pace.rate(4 + 1) == pytest.approx(refused / 2 + 25)
    assert refused * 1.1 < pace.rate(4 + 40) < pace.rate(4 + 90) == 1000


def test_failures_halve_the_request_and_successes_win_it_back() -> None:
    """A request of a thousand keys may be more than a store in trouble can do in time."""
    pace = DeletionRate.of(1e6, 1000)
    sizes = [pace.keys(0)]
    for _ in range(9):
        pace = pace.after_failure()
        sizes.append(pace.keys(0))
    assert sizes == [1000, 500, 250, 125, 62, 31, 15, 10, 10, 10]
    for _ in range(20):
        pace = pace.after_success(0)
    assert pace.keys(0) == 1000


def test_a_small_request_is_won_back_key_by_key() -> None:
    """A twentieth of it is less than one."""
    pace, sizes = DeletionRate.of(1e6, 15).after_failure(), []
    for _ in range(7):
        sizes.append(pace.keys(0))
        pace = pace.after_success(0)
    assert sizes == [10, 11, 12, 13, 14, 15, 15]


def test_a_slow_pace_asks_for_few_keys_at_a_time() -> None:
    """A thousand keys at a hundred a second would be refused as a whole, ten seconds' worth."""
    assert [DeletionRate.of(rate, 1000).keys(0) for rate in (9000, 3200, 300, 2)] == [
        1000,
        1000,
        100,
        1,
    ]


# --- against a quota


@dataclass
class Store:
    """A store with a quota in keys, a bucket of tokens of one second; requests take a while."""

    quota: float
    is_partly: bool = False
    done: int = 0
    refused: int = 0
    tokens: float = field(init=False)
    at: float = 0.0

    def __post_init__(self) -> None:
        self.tokens = self.quota

    def take(self, keys: int, now: float) -> int:
        self.tokens = min(self.quota, self.tokens + (now - self.at) * self.quota)
        self.at = now
        granted = min(keys, int(self.tokens))
        if granted < keys and not self.is_partly:
            granted = 0
        self.tokens -= granted
        self.done += granted
        self.refused += keys - granted
        return granted


def deleted_from(store: Store, ceiling: float, seconds: float) -> None:
    """Delete for a while: at most sixteen requests; each is prepared, and sent in its turn."""
    dice = random.Random(1)
    pace, now, under_way = DeletionRate.of(ceiling, 1000), 0.0, []
    while now < seconds:
        begin = now + pace.wait(now) if len(under_way) < 16 else float("inf")
        if not under_way or begin < under_way[0][0]:
            now = begin
            keys, turn = pace.keys(now), pace.turn(now)
            pace = pace.after_turn(keys, now)
            sent_at = max(turn, now + dice.uniform(0.05, 0.7))
            heapq.heappush(under_way, (sent_at + dice.uniform(0.2, 0.6), sent_at, keys))
            continue
        now, sent_at, keys = heapq.heappop(under_way)
        granted = store.take(keys, now)
        if granted == keys:
            pace = pace.after_success(sent_at)
        else:
            pace = pace.after_refusal(sent_at, now)
            pace = pace if granted == 0 else pace.after_failure()


@pytest.mark.parametrize("is_partly", [True, False], ids=["by key", "by request"])
@pytest.mark.parametrize(
    ("ceiling", "quota"), [(3200, 3500), (3500, 3500), (5000, 3500), (3200, 3000), (3200, 2500)]
)
def test_nine_tenths_of_a_quota_are_used_and_few_keys_are_refused(
    ceiling, quota, is_partly
) -> None:
    """S3's documented quota, or what the jobs' own checkpoints leave of it; also far too high."""
    store = Store(quota, is_partly)
    deleted_from(store, ceiling, 300)
    assert store.done >= 0.9 * quota * 300
    assert store.refused < 0.01 * (store.done + store.refused)
