"""All benchmarks, one after the other; prints Markdown, asserts nothing, takes an hour.

    python tests/bench/bench_all.py [--quick] [--only start list delete ...] [--tools FOLDER]

``start``, ``list`` and ``delete`` are the tables of the README: what a command costs before it
does anything, what a plan costs a key, beside obstore, s5cmd, rclone, boto3 and s3fs, and what a
deletion costs. ``--quick`` takes some minutes: small storages, one round. ``--tools`` keeps the
other clients in a folder. Each benchmark is a script of its own beside this one, and says with
``--help`` what else it can do.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

_HERE = Path(__file__).parent
_LARGE = ["--sizes", "1000", "100000", "1000000", "10000000"]
_SMALL = ["--sizes", "1000", "20000", "--rounds", "1", "--latency-keys", "20000"]
_TOOLS = {"list": "--tools={}", "delete": "tools={}"}
"""The option of each benchmark that keeps the other clients."""
_BENCHES: dict[str, tuple[str, list[str], list[str]]] = {
    "start": ("Starting", [], ["1"]),
    "list": ("Listing and planning on S3", _LARGE, _SMALL),
    "plan": ("A plan on local files", [], ["50000"]),
    "kernel": ("The rule over columns", [], []),
    "delete": ("Deleting", ["1000000", "3200"], ["50000", "3200"]),
    "spark": ("Spark", [], []),
}
"""By name: what it is, its arguments, its arguments if quick."""


def main() -> None:
    """Run what was asked for; one that fails stops none of the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=_BENCHES, default=list(_BENCHES))
    parser.add_argument("--tools", help="keep the other clients in this folder")
    chosen = parser.parse_args()
    failed = [
        name for name in chosen.only if not run(name, is_quick=chosen.quick, tools=chosen.tools)
    ]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def run(name: str, *, is_quick: bool, tools: str | None = None) -> bool:
    title, large, small = _BENCHES[name]
    print(f"\n## {title}\n", flush=True)
    start = time.perf_counter()
    command = [sys.executable, _HERE / f"bench_{name}.py", *(small if is_quick else large)]
    command += [_TOOLS[name].format(tools)] if tools and name in _TOOLS else []
    done = subprocess.run(command, check=False)
    print(f"\n{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return done.returncode == 0


if __name__ == "__main__":
    main()
