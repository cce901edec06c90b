"""What a command costs before it does anything: CPU, modules, requests; prints Markdown.

    python tests/bench/bench_start.py [rounds]

Each measurement is a process of its own; the commands take turns. ``plan`` is that of an idle job:
1,000 objects on the synthetic endpoint, two checkpoints. ``tests/cli/test_start.py`` holds modules
and requests.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measuring import measure
from bench.synth.running import synth_server
from bench.tables import spread

_KINDS = ("list", "get", "head", "bucket")
_COUNTING = """
import sys
from orphangc.app.cli import main
try:
    main()
finally:
    sys.stderr.write(f"\\n{len(sys.modules)}")
"""


def modules_of(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Return how many modules a command has loaded when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", _COUNTING, *command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stderr.splitlines()[-1])


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print("| command | CPU, s | modules | requests |\n|---|---|---|---|")
    with synth_server(keys=1000, live=500) as synth, tempfile.TemporaryDirectory() as folder:
        options = ("--ended-job", "all", "--closed-world", "--output", "json")
        plan = [
            "plan",
            synth.uri,
            "--state",
            f"{folder}/state",
            "--out",
            f"{folder}/plan",
            *options,
        ]
        commands = {"--version": ["--version"], "--help": ["--help"], "plan of 1,000 keys": plan}
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for number in range(rounds):
            for name, command in commands.items():
                own = [part.replace(f"{folder}/plan", f"{folder}/{number}") for part in command]
                cost = measure([sys.executable, "-m", "orphangc", *own], synth.environment)
                seconds[name].append(cost.cpu)
        for name, command in commands.items():
            synth.control(reset=1)
            modules = modules_of(command, synth.environment)
            stats = synth.stats()
            sent = sum(stats.get(f"requests_{kind}", 0) for kind in _KINDS)
            print(f"| `{name}` | {spread(seconds[name])} | {modules} | {sent} |", flush=True)


if __name__ == "__main__":
    main()
