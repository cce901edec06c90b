"""What a plan on a cluster takes, from what the benchmarks measured and from list prices.

    PYTHONPATH=tests python -m bench.spark_costs

Prints the tables of ``deploy/spark/README.md``. Nothing is measured here: each figure is an input
of the first table, with where it is from, so that newer ones can be put in.
"""

from dataclasses import dataclass, field, fields
from math import ceil

HOUR = 3600
MIB = 1 << 20


def _input(value: float, meaning: str, source: str) -> float:
    found: float = field(default=value, metadata={"meaning": meaning, "source": source})
    return found


SLOPES = "`bench_spark.py`, 1 to 10 M keys, half of them live, November 2026"
WORKERS = "`bench_spark.py --workers 1 2 --latency-ms 30`, 4 M keys, November 2026"
DIVIDING = "`bench_slices.py`, 2 M keys, load 25, November 2026"
S3_PAGE = "AWS: 3,500 PUT or 5,500 GET a second; LIST is not named, so the smaller one"


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What was measured, is a setting, was assumed, or stands in a price list."""

    start_s: float = _input(9, "start, s", "as in the table above")
    driver_us: float = _input(0.34, "driver and its Java, us of CPU a key", SLOPES)
    worker_us: float = _input(4.7, "executors, us of CPU a key", SLOPES)
    efficiency: float = _input(0.8, "rate of an executor among others", WORKERS)
    latency_s: float = _input(0.03, "latency of a LIST, s", "assumed")
    streams: float = _input(16, "requests that a task has under way", "`spark.orphangc.streams`")
    keys_a_list: float = _input(956, "keys a LIST", "1,046 requests for 1 M keys (README)")
    lists_a_second: float = _input(3500, "LIST a second of one partitioned prefix", S3_PAGE)
    live_share: float = _input(0.5, "live files a key", "as in the benchmarks")
    live_bytes: float = _input(16, "bytes a live file on executors", "packed UUIDs")
    driver_bytes: float = _input(45, "bytes a live file in the driver", "`bench_mark.py`, 5 M")
    slice_files: float = _input(16_000_000, "live files of a slice", "`spark.orphangc.broadcast`")
    keys_a_task: float = _input(1_000_000, "most keys of a task", "`_MOST_ROWS` of the engine")
    divide_us: float = _input(1, "to divide among slices, us of CPU a key", DIVIDING)
    key_bytes: float = _input(100, "bytes a key in the work folder", "as above")
    network: float = _input(125, "MiB that an executor reads in a second", "1 Gbit/s, assumed")
    usd_1000_lists: float = _input(0.005, "USD for 1,000 LIST or PUT", "S3, us-east-1")
    usd_1000_gets: float = _input(0.0004, "USD for 1,000 GET", "S3, us-east-1")
    usd_core_hour: float = _input(0.0408, "USD a core-hour", "m7g.large, us-east-1, June 2026")


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One plan.

    Attributes:
        cores_s: Time that the work of the executors takes.
        latency_s: Time that requests take, one after the other in each stream.
        prefix_s: Time that one partitioned prefix of S3 takes to answer.
        slices_s: Time that a live set takes that is cut: to divide the listing among slices, and
            to read one in each task.
        driver_s: Time of the driver alone.
        core_hours: Of executors for the whole plan, busy or not.
    """

    lists: int
    cores_s: float
    latency_s: float
    prefix_s: float
    slices_s: float
    driver_s: float
    driver_mib: float
    wall_s: float
    core_hours: float
    usd_requests: float
    usd_cores: float


def cost_of_slices(keys: int, inputs: Inputs) -> tuple[float, float]:
    """Return seconds of one executor, and USD of requests, of a live set that no executor holds.

    A task that divides rows writes a file for each slice, or fewer where a job has many. Two passes
    read it, and a task of the first of them reads the one slice that knows its rows.
    """
    live = keys * inputs.live_share
    slices = ceil(live / inputs.slice_files)
    if slices <= 1:
        return 0, 0
    tasks = ceil(keys / inputs.keys_a_task)
    files = tasks * slices
    read = tasks * live / slices * inputs.live_bytes + 2 * keys * inputs.key_bytes
    seconds = keys * inputs.divide_us / 1e6 / inputs.efficiency
    seconds += read / MIB / inputs.network + 3 * files * inputs.latency_s / inputs.streams
    return seconds, files / 1000 * (inputs.usd_1000_lists + 2 * inputs.usd_1000_gets)


def cost_of(keys: int, executors: int, inputs: Inputs) -> Cost:
    """Return what a plan of so many keys takes on executors of one core.

    Listing takes as long as the slowest of cores, latency and prefix; slices and driver follow.
    """
    lists = ceil(keys / inputs.keys_a_list)
    cores = keys * inputs.worker_us / 1e6 / executors / inputs.efficiency
    latency = lists * inputs.latency_s / executors / inputs.streams
    prefix = lists / inputs.lists_a_second
    live = keys * inputs.live_share
    slices, usd_slices = cost_of_slices(keys, inputs)
    slices /= executors
    driver = keys * inputs.driver_us / 1e6
    wall = inputs.start_s + max(cores, latency, prefix) + slices + driver
    core_hours = executors * wall / HOUR
    return Cost(
        lists=lists,
        cores_s=cores,
        latency_s=latency,
        prefix_s=prefix,
        slices_s=slices,
        driver_s=driver,
        driver_mib=200 + live * inputs.driver_bytes / MIB,
        wall_s=wall,
        core_hours=core_hours,
        usd_requests=lists / 1000 * inputs.usd_1000_lists + usd_slices,
        usd_cores=core_hours * inputs.usd_core_hour,
    )


COLUMNS = (
    *("keys", "executors", "LIST", "cores s", "latency s", "one prefix s", "slices s"),
    *("driver s", "driver GiB", "wall", "core-hours", "USD requests", "USD cores"),
)
CASES = (
    *((100_000_000, count) for count in (1, 10, 100)),
    *((1_000_000_000, count) for count in (10, 100)),
    (10_000_000_000, 100),
)


def spelled(seconds: float) -> str:
    """Return a duration in the unit that suits it."""
    for unit, size in (("h", HOUR), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.0f} s"


def row(keys: int, executors: int, inputs: Inputs) -> str:
    found = cost_of(keys, executors, inputs)
    seconds = (found.cores_s, found.latency_s, found.prefix_s, found.slices_s, found.driver_s)
    cells = (
        *(f"{keys:,}", f"{executors}", f"{found.lists:,}"),
        *(f"{each:,.0f}" for each in seconds),
        *(f"{found.driver_mib / 1024:,.1f}", spelled(found.wall_s), f"{found.core_hours:,.1f}"),
        *(f"{found.usd_requests:,.2f}", f"{found.usd_cores:,.2f}"),
    )
    return f"| {' | '.join(cells)} |"


def table(inputs: Inputs) -> str:
    head = (f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS))
    return "\n".join((*head, *(row(*case, inputs) for case in CASES)))


_ROW = "| {meaning} | {value:,} | {source} |"


def inputs_table(inputs: Inputs) -> str:
    rows = (
        _ROW.format(value=getattr(inputs, each.name), **each.metadata) for each in fields(inputs)
    )
    return "\n".join(("| input | value | source |", "|---|---|---|", *rows))


if __name__ == "__main__":
    print(inputs_table(Inputs()), table(Inputs()), sep="\n\n")
