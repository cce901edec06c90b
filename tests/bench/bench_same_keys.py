"""Whether other clients list the same keys as ours; prints Markdown, asserts nothing.

    python tests/bench/bench_same_keys.py [keys, default 20000] [folder of the other clients]

On the synthetic endpoint: names as Flink writes them, and names that some client gets wrong.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.competitors import installed, tools_folder
from bench.synth.layouts import BUCKET, ROOT
from bench.synth.running import Synth, synth_server
from orphangc.adapters.open import open_storage

_CLIENTS = Path(__file__).with_name("clients.py")
_SHOWN = 4


def our_keys(synth: Synth) -> Counter[str]:
    os.environ |= synth.environment
    batches = open_storage(synth.uri).objects()
    return Counter(f"{ROOT}/{key}" for batch in batches for key in batch["key"].to_pylist())


def their_keys(tools: Path, name: str, synth: Synth) -> Counter[str]:
    command = [tools / "bin" / "python", _CLIENTS, f"{name}-keys", BUCKET, f"{ROOT}/"]
    done = subprocess.run(
        command, env={**os.environ, **synth.environment}, check=True, capture_output=True
    )
    return Counter(json.loads(done.stdout))


def row(ours: Counter[str], tools: Path, name: str, synth: Synth) -> str:
    """Return what another client lists beside ours."""
    try:
        theirs = their_keys(tools, name, synth)
    except subprocess.CalledProcessError:
        return "ends with an error | - | - | "
    less = ours - theirs
    examples = ", ".join(repr(key.partition("/")[2][-24:]) for key in [*less][:_SHOWN])
    shown = f"{theirs.total():,} of {ours.total():,}"
    return f"{shown} | {(theirs - ours).total()} | {less.total()} | {examples}"


def main() -> None:
    """Compare on two layouts."""
    keys = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    print("| keys | client | lists | not ours | only ours | for example |")
    print("|---|---|---|---|---|---|")
    with tools_folder(sys.argv[2] if len(sys.argv) > 2 else None) as tools:
        clients = sorted(installed(tools) & {"boto3", "obstore", "s3fs"})
        for layout in ("uuid", "hostile"):
            with synth_server(keys=keys, layout=layout) as synth:
                ours = our_keys(synth)
                for name in clients:
                    print(f"| {layout} | {name} | {row(ours, tools, name, synth)} |", flush=True)


if __name__ == "__main__":
    main()
