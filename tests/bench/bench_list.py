"""Listing and planning beside other clients, on the synthetic endpoint; prints Markdown.

    python tests/bench/bench_list.py [--sizes 1000 100000 1000000] [--rounds 3] [--tools FOLDER]

Every measurement is a process of its own. In each round all clients take a turn, so that what else
the machine does hits all alike; ratios are those within a round. Every client must have been sent
every key, or the benchmark fails.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.competitors import FOLDER, Client, competitors, tools_folder
from bench.measuring import measure
from bench.synth.running import Synth, synth_server
from bench.tables import LATENCY_MS, LIST, PLAN, Sample, report

_SIZES = (1_000, 100_000, 1_000_000)
_LIST = (
    "import sys; from orphangc.hidden_modules import hide; hide('pandas');"
    "from orphangc.adapters.open import open_storage;"
    "print(sum(batch.num_rows for batch in open_storage(sys.argv[1]).objects()))"
)


def ours(synth: Synth) -> list[Client]:
    plan = ["-m", "orphangc", "plan", synth.uri, "--ended-job", "all", "--closed-world"]
    plan += ["--state", f"{FOLDER}/state", "--out", f"{FOLDER}/plan", "--output", "json"]
    return [
        Client(PLAN, [sys.executable, *plan], 10**12),
        Client(LIST, [sys.executable, "-c", _LIST, synth.uri], 10**12),
    ]


def sample(synth: Synth, client: Client, keys: int) -> Sample:
    """Measure one client once.

    Raises:
        RuntimeError: It failed, or it did not see every key.

    """
    synth.control(reset=1)
    with tempfile.TemporaryDirectory(prefix="orphangc-bench-") as folder:
        command = [str(part).replace(FOLDER, folder) for part in client.command]
        output = Path(folder) / "stdout" if client.name == PLAN else None
        cost = measure(command, {**synth.environment, **client.settings}, output)
        if output and json.loads(output.read_text())["objects_listed"] != keys:
            raise RuntimeError(f"the plan did not list {keys} objects")
    stats = synth.stats()
    if stats["keys_listed"] < keys:
        raise RuntimeError(f"{client.name} was sent {stats['keys_listed']} of {keys} keys")
    requests = stats.get("requests_list", 0) + stats.get("requests_list_v1", 0)
    taken = Sample(client.name, keys, cost, requests, stats["bytes_sent"])
    tell(
        f"{client.name:24} {keys:>11,} keys {cost.wall:8.2f} s wall"
        f" {taken.micros:8.2f} us CPU a key {cost.peak:6.0f} MiB"
    )
    return taken


def rounds_of(
    tools: Path, sizes: Iterable[int], rounds: int, *, live_share: float = 0.0
) -> list[Sample]:
    """Measure all clients at all sizes, interleaved."""
    samples = []
    for keys in sizes:
        live = round(keys * live_share) if live_share else min(1000, keys // 2)
        with synth_server(keys=keys, live=live) as synth:
            clients = [*ours(synth), *competitors(tools, synth.url)]
            turn = [client for client in clients if keys <= client.most]
            for number in range(rounds):
                turn = turn[1:] + turn[:1] if number else turn
                samples += [sample(synth, client, keys) for client in turn]
    return samples


def rounds_with_latency(keys: int, rounds: int) -> list[tuple[Sample, Sample]]:
    """Measure our plan without latency and with it, in turns."""
    with synth_server(keys=keys, live=1000) as synth:
        plan, _ = ours(synth)
        pairs = []
        for _ in range(rounds):
            synth.control(latency_ms=0)
            without = sample(synth, plan, keys)
            synth.control(latency_ms=LATENCY_MS, jitter=0.3)
            pairs.append((without, sample(synth, plan, keys)))
        return pairs


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=_SIZES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--latency-keys", type=int, default=1_000_000, help="0: not measured")
    parser.add_argument("--live-share", type=float, default=0.0, help="named by checkpoints")
    parser.add_argument("--tools", help="keep the other clients in this folder")
    chosen = parser.parse_args()
    if len(set(chosen.sizes)) < 2:
        parser.error("slopes need two sizes")
    with tools_folder(chosen.tools) as tools:
        samples = rounds_of(tools, chosen.sizes, chosen.rounds, live_share=chosen.live_share)
    pairs = rounds_with_latency(chosen.latency_keys, chosen.rounds) if chosen.latency_keys else []
    print(report(samples, pairs))


if __name__ == "__main__":
    main()
