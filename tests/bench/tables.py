"""What was measured, as Markdown for the README."""

import math
import platform
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.measuring import Cost

PLAN, LIST, OBSTORE = "orphangc `plan`", "orphangc, listing only", "obstore, Arrow out"
S5CMD, S3FS = "s5cmd `ls`", "s3fs `find`"
LATENCY_MS = 50
_KEYS_A_PAGE = 1000

# What one thousand LIST requests cost in S3 Standard, us-east-1, as published up to 2026; DELETE
# requests and traffic within a region cost nothing. A core-hour of an on-demand instance.
_DOLLARS_A_THOUSAND = 0.005
_DOLLARS_A_CORE_HOUR = 0.05


@dataclass(frozen=True, slots=True)
class Sample:
    """One client, one size, one round."""

    client: str
    keys: int
    cost: Cost
    requests: int
    sent: int

    @property
    def micros(self) -> float:
        return self.cost.cpu / self.keys * 1e6


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """Return median, least and most."""
    if not values:
        return "-"
    if len(values) == 1:
        return f"{values[0]:{form}}"
    return f"{statistics.median(values):{form}} ({min(values):{form}}-{max(values):{form}})"


def of(samples: Iterable[Sample], client: str, keys: int) -> list[Sample]:
    return [each for each in samples if (each.client, each.keys) == (client, keys)]


def slope(samples: Sequence[Sample], client: str, value: Callable[[Sample], float]) -> float:
    """Return by how much the median grows a key, between a client's least and greatest size."""
    sizes = sorted({each.keys for each in samples if each.client == client})
    low, high = (
        statistics.median(map(value, of(samples, client, n))) for n in (sizes[0], sizes[-1])
    )
    return (high - low) / (sizes[-1] - sizes[0]) if len(sizes) > 1 else high / sizes[0]


def names_of(samples: Iterable[Sample]) -> list[str]:
    return list(dict.fromkeys(each.client for each in samples))


def short(keys: int) -> str:
    """Return a number of keys as people say it."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if keys >= size:
            return f"{keys / size:g} {unit}"
    return str(keys)


def cpu_table(samples: Sequence[Sample]) -> list[str]:
    sizes = sorted({each.keys for each in samples})
    head = [f"CPU at {short(keys)}, s" for keys in sizes]
    lines = [
        f"| client | {' | '.join(head)} | slope, µs a key | peak MiB at its greatest |",
        "|---" * (len(sizes) + 3) + "|",
    ]
    for name in names_of(samples):
        cells = [spread([s.cost.cpu for s in of(samples, name, keys)]) for keys in sizes]
        most = max(each.keys for each in samples if each.client == name)
        peak = spread([s.cost.peak for s in of(samples, name, most)], ".0f")
        micros = slope(samples, name, lambda s: s.cost.cpu) * 1e6
        lines.append(f"| {name} | {' | '.join(cells)} | {micros:.2f} | {peak} |")
    return lines


def ratio_table(samples: Sequence[Sample]) -> list[str]:
    """Return CPU ratios within the rounds, and of the slopes."""
    sizes = sorted({each.keys for each in samples})
    heads = " | ".join(f"at {short(keys)}" for keys in sizes)
    lines = [f"| CPU ratio | {heads} | of the slopes |", "|---" * (len(sizes) + 2) + "|"]
    present = names_of(samples)
    pairs = [(PLAN, OBSTORE), (LIST, OBSTORE)]
    pairs += [(name, PLAN) for name in present if name not in {PLAN, LIST, OBSTORE}]
    for above, below in pairs:
        if not {above, below} <= set(present):
            continue
        cells = []
        for keys in sizes:
            both = zip(of(samples, above, keys), of(samples, below, keys), strict=False)
            cells.append(spread([a.cost.cpu / b.cost.cpu for a, b in both]))
        slopes = [slope(samples, name, lambda s: s.cost.cpu) for name in (above, below)]
        lines.append(f"| {above} / {below} | {' | '.join(cells)} | {slopes[0] / slopes[1]:.2f} |")
    return lines


def request_table(samples: Sequence[Sample]) -> list[str]:
    lines = ["| keys | LIST requests | ⌈keys/1000⌉ | beyond |", "|---|---|---|---|"]
    for keys in sorted({each.keys for each in samples if each.client == PLAN}):
        sent, least = of(samples, PLAN, keys)[-1].requests, math.ceil(keys / _KEYS_A_PAGE)
        lines.append(f"| {keys:,} | {sent:,} | {least:,} | {sent - least:,} |")
    return lines


def memory_table(samples: Sequence[Sample]) -> list[str]:
    """Return how the peak memory of our plan grows with the storage."""
    sizes = sorted({each.keys for each in samples if each.client == PLAN})
    peaks = [[each.cost.peak for each in of(samples, PLAN, keys)] for keys in sizes]
    base = statistics.median(peaks[max(0, len(sizes) - 2)])
    lines = [
        f"| keys | peak MiB of the plan | beside {short(sizes[max(0, len(sizes) - 2)])} |",
        "|---|---|---|",
    ]
    lines += [
        f"| {short(keys)} | {spread(peak, '.0f')} | {statistics.median(peak) / base - 1:+.1%} |"
        for keys, peak in zip(sizes, peaks, strict=True)
    ]
    return lines


def latency_table(pairs: Sequence[tuple[Sample, Sample]]) -> list[str]:
    ratios = [late.cost.wall / early.cost.wall for early, late in pairs]
    one_stream = math.ceil(pairs[0][0].keys / _KEYS_A_PAGE) * LATENCY_MS / 1000
    return [
        f"| {short(pairs[0][0].keys)} keys | wall, s |",
        "|---|---|",
        f"| no latency | {spread([early.cost.wall for early, _ in pairs])} |",
        f"| {LATENCY_MS} ms a page ± 30 % | {spread([late.cost.wall for _, late in pairs])} |",
        f"| ratio | {spread(ratios)} |",
        f"| one stream would wait | {one_stream:.0f} |",
    ]


def cost_table(samples: Sequence[Sample]) -> list[str]:
    """Return what plans cost up to a thousand million objects, from the slopes."""
    lines = [
        f"| objects | LIST requests | received | core-hours | $ LIST | $ CPU | {S5CMD} | {S3FS} |",
        "|---|---|---|---|---|---|---|---|",
    ]
    requests = slope(samples, PLAN, lambda s: s.requests)
    received = slope(samples, PLAN, lambda s: s.sent)
    hours = {name: slope(samples, name, lambda s: s.cost.cpu) / 3600 for name in names_of(samples)}
    for keys in (10**6, 10**7, 10**8, 10**9):
        others = " | ".join(
            f"{hours[name] * keys:.3g} core-hours" if name in hours else "-"
            for name in (S5CMD, S3FS)
        )
        lines.append(
            f"| {short(keys)} | {requests * keys:,.0f} | {received * keys / 1e9:,.1f} GB"
            f" | {hours[PLAN] * keys:.3g} | {requests * keys / 1000 * _DOLLARS_A_THOUSAND:.2f}"
            f" | {hours[PLAN] * keys * _DOLLARS_A_CORE_HOUR:.3f} | {others} |"
        )
    assumed = (
        f"At ${_DOLLARS_A_THOUSAND} for 1000 LIST requests (S3 Standard, us-east-1) and an"
        f" assumed ${_DOLLARS_A_CORE_HOUR} a core-hour; DELETE requests, and traffic within a"
        " region, cost nothing."
    )
    return [*lines, "", assumed]


def report(samples: Sequence[Sample], pairs: Sequence[tuple[Sample, Sample]]) -> str:
    head = (
        f"{platform.machine()}, Python {platform.python_version()}; median (least-most) of"
        f" {len(of(samples, PLAN, samples[0].keys))} rounds."
    )
    parts = [
        head,
        *("", *cpu_table(samples)),
        *("", *ratio_table(samples)),
        *("", *request_table(samples)),
        *("", *memory_table(samples)),
        *(("", *latency_table(pairs)) if pairs else ()),
        *("", *cost_table(samples)),
    ]
    return "\n".join(parts)
