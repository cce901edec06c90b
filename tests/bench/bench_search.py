"""What a search of the whole bucket costs beside one of the named places.

PYTHONPATH=tests python -m bench.bench_search [--keys N] [--jobs J]

One job directory is the storage root: N keys. J more of N keys each are beside it in the bucket,
each with two ``_metadata``. Each plan is a process of its own. It prints requests (which do not
depend on the machine), CPU seconds, memory and the load.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.synth.running import Synth, synth_server
from orphangc.adapters.open import open_storage

_KINDS = ("list", "get", "head")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.bench_search", description=__doc__)
    parser.add_argument("--keys", type=int, default=100_000, help="keys of the storage root")
    parser.add_argument("--jobs", type=int, default=10, help="job directories beside it")
    chosen = parser.parse_args()
    jobs = 1 + chosen.jobs
    with synth_server(keys=chosen.keys * jobs, jobs=jobs) as synth:
        os.environ.update(synth.environment)
        first = min(open_storage(synth.uri).folder("").folders)
        with tempfile.TemporaryDirectory() as folder:
            for search in ("places", "storage", "storage"):
                _plan(synth, f"{synth.uri}/{first}", search, Path(folder))


def _plan(synth: Synth, root: str, search: str, folder: Path) -> None:
    synth.control(reset=1)
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
    with (folder / "said").open("w+b") as said:
        child = subprocess.Popen(
            [sys.executable, "-m", "orphangc", *command],
            stdout=subprocess.DEVNULL,
            stderr=said,
            env=os.environ,
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        words = said.read()
    stats = synth.stats()
    sent = {kind: stats.get(f"requests_{kind}", 0) for kind in _KINDS}
    sys.stdout.write(
        f"{search}: exit {child.returncode}, requests {sent}, CPU"
        f" {used.ru_utime + used.ru_stime:.1f} s, at most {used.ru_maxrss // 1024} MB,"
        f" load {os.getloadavg()[0]:.0f}\n"
    )
    sys.stdout.flush()
    if child.returncode:
        sys.stderr.write(words.decode()[-2000:])


if __name__ == "__main__":
    main()
