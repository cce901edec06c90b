"""What was measured, as Markdown for the README."""

import platform
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.measuring import Cost

PLAN, LIST, OBSTORE = "orphangc `plan`", "orphangc, listing only", "obstore, Arrow out"
S5CMD, S3FS = "s5cmd `ls`", "s3fs `find`"


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
        """Return microseconds of CPU a key."""
        return self.cost.cpu / self.keys * 1e6


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """Return median, least and most."""
    if not values:
        return "-"
    if len(values) == 1:
        return f"{values[0]:{form}}"
    return f"{statistics.median(values):{form}} ({min(values):{form}}-{max(values):{form}})"


def of(samples: Iterable[Sample], client: str, keys: int) -> list[Sample]:
    """Return a client's samples at one size, in the order of the rounds."""
    return [each for each in samples if (each.client, each.keys) == (client, keys)]


def slope(samples: Sequence[Sample], client: str, value: Callable[[Sample], float]) -> float:
    """Return by how much the median grows a key, between a client's least and greatest size."""
    sizes = sorted({each.keys for each in samples if each.client == client})
    low, high = (
        statistics.median(map(value, of(samples, client, n))) for n in (sizes[0], sizes[-1])
    )
    return (high - low) / (sizes[-1] - sizes[0]) if len(sizes) > 1 else high / sizes[0]


def names_of(samples: Iterable[Sample]) -> list[str]:
    """Return the clients in the order of their appearance."""
    return list(dict.fromkeys(each.client for each in samples))


def short(keys: int) -> str:
    """Return a number of keys as people say it."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if keys >= size:
            return f"{keys / size:g} {unit}"
    return str(keys)


def cpu_table(samples: Sequence[Sample]) -> list[str]:
    """Return CPU a key at every size, and the slope."""
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


def report(samples: Sequence[Sample]) -> str:
    """Return everything as Markdown."""
    head = (
        f"{platform.machine()}, Python {platform.python_version()}; median (least-most) of"
        f" {len(of(samples, PLAN, samples[0].keys))} rounds."
    )
    parts = [head, *("", *cpu_table(samples)), *("", *ratio_table(samples))]
    return "\n".join(parts)
