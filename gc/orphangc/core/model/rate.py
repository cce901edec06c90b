"""How fast to delete: additive increase, multiplicative decrease, below the operator's ceiling.

S3 counts the *keys* of deletions against a quota of a partition, which the jobs' own checkpoints
need as well. A store that has had enough answers 503 for the request, or ``SlowDown`` for some of
its keys; both lower the rate. A request that times out, or of which a part fails, was too large
for a store in trouble: it lowers the number of keys of the next ones.

Everything here is a value; time is an argument, in seconds of any clock that never goes back.
"""

from dataclasses import dataclass, replace
from typing import Self

_GENTLE, _HARSH = 0.9, 0.5
"""What a refusal leaves of the rate: the first one, and one that no success came before."""
_STEP = 1 / 40
"""Part of the ceiling that is regained in a second."""
_NEAR, _SLOWER = 0.1, 20.0
"""Around the rate that was refused last, within this part of it, so many times slower: the quota
lies there, and each look beyond it costs refused keys."""
_LEAST = 1 / 100
"""Part of the ceiling that is left however much is refused."""
_REQUEST_SECONDS = 1 / 3
"""Keys of so many seconds make the largest request."""
_LATE_SECONDS = 0.5
"""After a longer pause the lost time is not made up: no bursts after it."""
_LEAD_SECONDS = 0.5
"""Seconds by which a request may be prepared before its turn: its objects are checked first."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
"""Seconds of silence after the second refusal in a row, doubled by each further one."""
_FEWEST = 10
"""Keys of the smallest request that failures lead to; a slow rate may allow less."""
_REGAINED = 1 / 20
"""Part of the largest request that each success wins back."""
_NEVER = float("-inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionRate:
    """The present rate of one sequence of requests.

    Attributes:
        ceiling: Keys a second that are never exceeded in the long run.
        page: Number of keys that failures suggest; never more than ``largest``.
        refused: Rate at which the store had enough last, ``None`` if it never had.
        refusals: Number of refusals in a row, no success between them.
        due: Time of the next request's turn if the rate is kept exactly.
    """

    ceiling: float
    largest: int
    page: int
    refused: float | None = None
    lowered_to: float = 0.0
    lowered_at: float = _NEVER
    refusals: int = 0
    paused_until: float = _NEVER
    due: float = _NEVER

    @classmethod
    def of(cls, ceiling: float, largest: int) -> Self:
        """Return the initial rate: the ceiling, and full requests, or raise ``ValueError``."""
        if ceiling <= 0 or largest <= 0:
            raise ValueError(f"a pace of {ceiling} keys a second, {largest} a request, is none")
        return cls(ceiling=ceiling, largest=largest, page=largest)

    def rate(self, now: float) -> float:
        """Return the keys a second that may go at present."""
        if self.refused is None:
            return self.ceiling
        step = self.ceiling * _STEP
        grown = self.lowered_to + step * max(0.0, now - self.lowered_at)
        slow_from, slow_to = self.refused * (1 - _NEAR), self.refused * (1 + _NEAR)
        if grown > slow_from:
            begun = max(slow_from, self.lowered_to)
            grown = begun + (grown - begun) / _SLOWER
            grown = max(grown, slow_to + (grown - slow_to) * _SLOWER)
        return min(self.ceiling, grown)

    def keys(self, now: float) -> int:
        """Return the number of keys of the next request, at least one."""
        return max(1, min(self.page, int(self.rate(now) * _REQUEST_SECONDS)))

    def wait(self, now: float) -> float:
        """Return the seconds until the next request may be prepared, 0 if it may now."""
        return max(0.0, self.due - _LEAD_SECONDS - now, self.paused_until - now)

    def turn(self, now: float) -> float:
        """Return when the next request may be sent, which may be prepared now."""
        return max(now, self.due)

    def after_turn(self, keys: int, now: float) -> Self:
        """Return the rate after a request of so many keys was given its turn."""
        begun = now if self.due == _NEVER else max(self.due, now - _LATE_SECONDS)
        return replace(self, due=begun + keys / self.rate(now))

    def after_success(self, sent_at: float) -> Self:
        """Return the rate after a request of which every key was answered."""
        regained = max(1, int(self.largest * _REGAINED))
        page = min(self.largest, self.page + regained)
        return replace(self, page=page, refusals=0 if sent_at >= self.lowered_at else self.refusals)

    def after_refusal(self, sent_at: float, now: float) -> Self:
        """Return the rate after the store asked for less.

        Requests that were running when the rate was lowered say nothing of the lowered one.
        """
        if sent_at < self.lowered_at:
            return self
        refusals = self.refusals + 1
        rate = self.rate(now)
        pause = _FIRST_PAUSE * 2.0 ** min(refusals - 2, 60) if refusals > 1 else 0.0
        return replace(
            self,
            refused=rate,
            lowered_to=max(self.ceiling * _LEAST, rate * (_GENTLE if refusals == 1 else _HARSH)),
            lowered_at=now,
            refusals=refusals,
            paused_until=max(self.paused_until, now + min(_LONGEST_PAUSE, pause)),
        )

    def after_failure(self) -> Self:
        """Return the rate after a request that timed out, or failed for a part of its keys."""
        return replace(self, page=max(min(_FEWEST, self.largest), self.page // 2))
