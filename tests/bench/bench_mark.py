"""Peak memory and CPU of ``plan`` by live file; prints, asserts nothing.

    python tests/bench/bench_mark.py [--live 1000 1000000 5000000] [--retained 1] [--share 0.8]

On the synthetic endpoint, each plan in a process of its own, at the memory of the largest process.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measuring import measure
from bench.synth.running import synth_server

_BASE_MIB = 200


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--live", type=int, nargs="+", default=[1000, 1_000_000, 5_000_000])
    parser.add_argument("--retained", type=int, default=1, help="checkpoints that name each file")
    parser.add_argument("--share", type=float, default=0.8, help="live files by objects")
    chosen = parser.parse_args()
    print(f"| live files | peak MiB | bytes each above {_BASE_MIB} | CPU s | us an object |")
    print("|" + "---|" * 5)
    for live in chosen.live:
        keys = round(live / chosen.share)
        with (
            synth_server(keys=keys, live=live, retained=chosen.retained) as synth,
            tempfile.TemporaryDirectory() as folder,
        ):
            command = [sys.executable, "-m", "orphangc", "plan", synth.uri, "--output", "json"]
            command += ["--ended-job", "all", "--closed-world", "--state", f"{folder}/state"]
            cost = measure(command, synth.environment)
        above = (cost.peak - _BASE_MIB) * 2**20 / live
        cells = (f"{live:,}", f"{cost.peak:.0f}", f"{above:.0f}", f"{cost.cpu:.1f}")
        print(f"| {' | '.join(cells)} | {cost.cpu / keys * 1e6:.2f} |", flush=True)


if __name__ == "__main__":
    main()
