"""What the endpoint does wrong, settable while it runs, and how much of what it did."""

import random
import time
from collections import Counter
from dataclasses import asdict, dataclass, field, fields


@dataclass(slots=True)
class Controls:
    """All that can be set. Shares are between 0 and 1, drawn for each request or key."""

    latency_ms: float = 0  # before every answer
    jitter: float = 0  # share of the latency by which it varies, up or down
    list_rps: float = 0  # listings a second that are served; the others get 503. 0: all
    delete_keys_rps: float = 0  # keys a second that may be deleted. 0: all
    burst_seconds: float = 1  # how much of an unused quota is kept
    # keys over the quota are refused one by one inside a 200, not the request
    throttles_keys: bool = False
    slowdown: float = 0  # share of requests that get 503 SlowDown
    internal: float = 0  # share of requests that get 500 InternalError
    hang: float = 0  # share of requests that are never answered, and not carried out
    pages_hang_from: float = 0  # rank of the key from which on no page is answered. 0: all are
    # once so many keys are gone, no deletion is answered. 0: all are
    deletions_hang_after: float = 0
    lost: float = 0  # share of requests that are carried out and answered by a closed connection
    cut: float = 0  # share of listings whose body ends early, with the connection
    torn: float = 0  # share of listings whose body ends early, with a length that fits
    repeat: float = 0  # share of pages that start a page too early
    reorder: float = 0  # share of pages of which two halves change places
    key_errors: float = 0  # share of keys whose deletion fails inside a 200
    key_error_code: str = "InternalError"  # why
    # pages spelled as radosgw's are: token after the objects, slashes escaped
    radosgw: bool = False
    checksums: bool = True  # listings tell checksums, as AWS's do

    def set(self, name: str, text: str) -> None:
        """Set what ``name`` names.

        Raises:
            ValueError: There is no such name, or the text does not fit.

        """
        if name not in {each.name for each in fields(self)}:
            raise ValueError(f"no control is called {name}")
        kind = type(getattr(Controls(), name))
        if kind is bool and text not in {"0", "1"}:
            raise ValueError(f"{name} is 0 or 1")
        setattr(self, name, text == "1" if kind is bool else text if kind is str else float(text))

    def values(self) -> dict[str, float | bool | str]:
        return asdict(self)


@dataclass(slots=True)
class Quota:
    """A bucket of tokens that fills by the clock."""

    tokens: float | None = None
    at: float = 0

    def take(self, wanted: int, rate: float, burst_seconds: float, *, partly: bool) -> int:
        """Return how many of ``wanted`` are granted: all or none, unless ``partly``."""
        if rate <= 0:
            return wanted
        depth = max(rate * burst_seconds, wanted)
        now = time.monotonic()
        full = depth if self.tokens is None else self.tokens + (now - self.at) * rate
        self.tokens, self.at = min(depth, full), now
        granted = min(wanted, int(self.tokens))
        if granted < wanted and not partly:
            return 0
        self.tokens -= granted
        return granted


@dataclass(slots=True)
class Faults:
    """Draws what goes wrong, and counts all that happens."""

    controls: Controls = field(default_factory=Controls)
    dice: random.Random = field(default_factory=lambda: random.Random(20240101))
    # requests by kind, faults by name, keys by what became of them, bytes sent
    counts: Counter[str] = field(default_factory=Counter)
    lists: Quota = field(default_factory=Quota)
    deletes: Quota = field(default_factory=Quota)

    def reset(self) -> None:
        self.counts.clear()
        self.lists, self.deletes = Quota(), Quota()

    def strikes(self, name: str) -> bool:
        """Return whether the fault of this name happens now; it is counted."""
        share = getattr(self.controls, name)
        is_struck = share > 0 and self.dice.random() < share
        if is_struck:
            self.counts[f"fault_{name}"] += 1
        return is_struck

    def is_deletion_held(self) -> bool:
        return 0 < self.controls.deletions_hang_after <= self.counts["keys_gone"]

    def is_page_held(self, rank: int) -> bool:
        return 0 < self.controls.pages_hang_from <= rank

    def delay(self) -> float:
        controls = self.controls
        if not controls.latency_ms:
            return 0.0
        varied = 1 + controls.jitter * self.dice.uniform(-1, 1)
        return max(0.0, controls.latency_ms / 1000 * varied)

    def listing_is_granted(self) -> bool:
        controls = self.controls
        return self.lists.take(1, controls.list_rps, controls.burst_seconds, partly=False) == 1

    def granted_keys(self, wanted: int) -> int:
        controls = self.controls
        return self.deletes.take(
            wanted, controls.delete_keys_rps, controls.burst_seconds, partly=controls.throttles_keys
        )
