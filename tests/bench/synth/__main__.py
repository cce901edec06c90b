"""A synthetic S3 endpoint on loopback: ``PYTHONPATH=tests python -m bench.synth --keys 1000000``.

Prints ``ready URL`` and serves ``s3://bench/checkpoints`` until its parent process ends. Any
credentials will do. ``URL/_ctl?latency_ms=50`` sets a control (``faults.py`` lists them),
``URL/_ctl?reset=1`` brings back what was deleted and zeroes the counters of ``URL/_stats``.
"""

import argparse
import time

import numpy as np

from bench.synth.endpoint import Endpoint
from bench.synth.faults import Faults
from bench.synth.keyspace import Ages
from bench.synth.layouts import BUCKET, LAYOUTS, Wanted, layout
from bench.synth.listing import Bucket
from bench.synth.protocol import serve

_DAY = 86_400


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.synth", description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--layout", choices=LAYOUTS, default="uuid")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--live", type=int, default=1000, help="live files of each job")
    parser.add_argument("--retained", type=int, default=2, help="checkpoints that name them")
    parser.add_argument("--per-checkpoint", type=int, default=1000, help="files of one id")
    parser.add_argument("--oldest-days", type=float, default=60)
    parser.add_argument("--newest-days", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int, default=0)
    chosen = parser.parse_args()
    now = time.time()  # noqa: TID251 - the store's clock is this machine's
    ages = Ages(int(now - chosen.oldest_days * _DAY), int(now - chosen.newest_days * _DAY))
    wanted = Wanted(
        keys=chosen.keys,
        jobs=chosen.jobs,
        live=chosen.live,
        retained=chosen.retained,
        per_checkpoint=chosen.per_checkpoint,
        ages=ages,
        seed=chosen.seed,
    )
    space = layout(chosen.layout, wanted)
    bucket = Bucket(BUCKET, space, ages, np.zeros(len(space), bool))
    serve(Endpoint(bucket, Faults()), chosen.port, announce)


def announce(port: int) -> None:
    """Tell whoever started this process where it serves."""
    print(f"ready http://127.0.0.1:{port}", flush=True)


if __name__ == "__main__":
    main()
