"""Peak memory and CPU of a command by live file; prints, asserts nothing.

    python tests/bench/bench_mark.py [--live 1000 1000000 5000000] [--retained 1] [--share 0.8]
        [--of plan registry exporter expire explain]

On the synthetic endpoint, each command in a process of its own, at the memory of the largest
process. ``registry`` is a plan with a snapshot of all live files in a registry; with ``exporter``
a second snapshot repeats the nonce of the plan.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from multiprocessing import Process
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measuring import Cost, measure
from bench.synth.keyspace import Ages
from bench.synth.layouts import BUCKET, ROOT, Wanted, job_made, live_names
from bench.synth.running import synth_server

_BASE_MIB = 200
_PLAN = ("plan", "{root}", "--ended-job", "all", "--closed-world")
_COMMANDS = {
    "plan": _PLAN,
    "registry": (*_PLAN, "--registry", "{folder}/registry"),
    "exporter": (*_PLAN[:2], "--closed-world", "--registry", "{folder}/exporters"),
    "expire": ("expire", "{root}", "--ended-job", "all", "--closed-world"),
    "explain": ("explain", "{key}", "--root", "{root}", "--ended-job", "all"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--live", type=int, nargs="+", default=[1000, 1_000_000, 5_000_000])
    parser.add_argument("--retained", type=int, default=1, help="checkpoints that name each file")
    parser.add_argument("--share", type=float, default=0.8, help="live files by objects")
    parser.add_argument("--of", nargs="+", default=["plan"], choices=_COMMANDS)
    chosen = parser.parse_args()
    print(f"| of | live files | peak MiB | bytes each above {_BASE_MIB} | CPU s | us an object |")
    print("|" + "---|" * 6)
    for live in chosen.live:
        keys = round(live / chosen.share)
        wanted = Wanted(keys=keys, live=live, retained=chosen.retained, ages=Ages(0, 1))
        for name in chosen.of:
            cost = _cost_of(name, wanted)
            above = (cost.peak - _BASE_MIB) * 2**20 / live
            cells = (name, f"{live:,}", f"{cost.peak:.0f}", f"{above:.0f}", f"{cost.cpu:.1f}")
            print(f"| {' | '.join(cells)} | {cost.cpu / keys * 1e6:.2f} |", flush=True)


def _cost_of(name: str, wanted: Wanted) -> Cost:
    options = {"keys": wanted.keys, "live": wanted.live, "retained": wanted.retained}
    with synth_server(**options) as synth, tempfile.TemporaryDirectory() as folder:
        entries = Path(folder, "entries")
        # a child counts as its peak what this process has when it starts it
        child = Process(target=_write_entries, args=(entries, wanted))
        child.start()
        child.join()
        job, _ = job_made("uuid", 0, wanted)
        with entries.open() as file:
            some = json.loads(file.readline())["path"]
        values = {"root": synth.uri, "folder": folder, "key": f"{job}/{some}"}
        command = [sys.executable, "-m", "orphangc"]
        command += [part.format_map(values) for part in _COMMANDS[name]]
        command += ["--state", f"{folder}/state", "--output", "json"]
        first = Path(folder, "registry" if name == "registry" else f"exporters/{job}/snapshots")
        first.mkdir(parents=True)
        if name in {"registry", "exporter"}:
            _write_snapshot(first, job, entries, sequence=1)
        with _echo(first, job, entries):
            return measure(command, synth.environment)


@contextmanager
def _echo(folder: Path, job: str, entries: Path) -> Iterator[None]:
    """Write a second snapshot once there is a nonce beside the folder."""
    is_over = threading.Event()

    def answer() -> None:
        nonce = folder.parent / "nonce"
        while not nonce.exists():
            if is_over.wait(0.2):
                return
        _write_snapshot(folder, job, entries, sequence=2, nonce=nonce.read_text())

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _write_entries(file: Path, wanted: Wanted) -> None:
    """Write entries and footer of a registry snapshot of the live files."""
    _, (runs, _) = job_made("uuid", 0, wanted)
    digest = hashlib.sha256()
    with file.open("wb") as out:
        for number, name in enumerate(live_names(runs, wanted.live)):
            line = f'{{"type":"entry","path":"shared/{name}","kind":"file","size":1234567,'
            line += f'"created":{number},"last_used":41}}\n'
            digest.update(line.encode())
            out.write(line.encode())
        footer = {"type": "footer", "entries": wanted.live, "sha256": digest.hexdigest()}
        out.write(json.dumps(footer).encode())


def _write_snapshot(
    folder: Path, job: str, entries: Path, *, sequence: int, nonce: str = ""
) -> None:
    now = datetime.now(UTC)  # noqa: TID251 - the exporter's clock is this machine's
    header = {
        "type": "header", "format": "orphangc-registry", "version": 1, "source": "registry",
        "flink_version": "1.20.5", "job_id": job, "jm_epoch": "epoch", "sequence": sequence,
        "nonce": nonce, "taken_at": now.isoformat(),
        "checkpoint_dir": f"s3://{BUCKET}/{ROOT}/{job}", "max_concurrent": 1,
        "retained": [{"id": 41, "savepoint": False, "path": "chk-41"}],
        "issued": [], "restored": [],
    }  # fmt: skip
    file = entries.with_name("unfinished")
    with file.open("wb") as out, entries.open("rb") as rest:
        out.write(json.dumps(header).encode() + b"\n")
        shutil.copyfileobj(rest, out)
    millis = int(now.timestamp() * 1000)
    file.rename(folder / f"snapshot-{millis:013d}-epoch-{sequence:010d}.jsonl")


if __name__ == "__main__":
    main()
