"""What a search of the whole bucket costs beside one of the named places.

PYTHONPATH=tests python -m bench.bench_search [--keys N]

One job directory is the storage root: N keys. Ten more of N keys each are beside it in the bucket.
Each plan is a process of its own. It prints requests (which do not depend on the machine), CPU
seconds and memory.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.synth.running import Synth, synth_server
from orphangc.adapters.open import open_storage

_JOBS = 11
_KINDS = ("list", "get", "head")


def main() -> None:
    """Print a line for each plan."""
    parser = argparse.ArgumentParser(prog="bench.bench_search", description=__doc__)
    parser.add_argument("--keys", type=int, default=100_000, help="keys of the storage root")
    chosen = parser.parse_args()
    with synth_server(keys=chosen.keys * _JOBS, jobs=_JOBS) as synth:
        os.environ.update(synth.environment)
        first = min(open_storage(synth.uri).folder("").folders)
        with tempfile.TemporaryDirectory() as folder:
            for search in ("places", "storage", "storage"):
                _plan(synth, f"{synth.uri}/{first}", search, Path(folder))


def _plan(synth: Synth, root: str, search: str, folder: Path) -> None:
    synth.control(reset=1)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = (
        "plan",
        root,
        "--state",
        f"{folder}/{search}",
        "--search",
        search,
        "--output",
        "json",
    )
    done = subprocess.run(
        [sys.executable, "-m", "orphangc", *command],
        capture_output=True,
        check=False,
        env=os.environ,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    stats = synth.stats()
    sent = {kind: stats.get(f"requests_{kind}", 0) for kind in _KINDS}
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    sys.stdout.write(
        f"{search}: exit {done.returncode}, requests {sent}, CPU {cpu:.1f} s,"
        f" largest process so far {after.ru_maxrss // 1024} MB\n"
    )
    if done.returncode:
        sys.stderr.write(done.stderr.decode()[-2000:])


if __name__ == "__main__":
    main()
