"""Time and memory of ``plan`` on a synthetic local storage; prints, asserts nothing.

Usage: ``python tests/bench/bench_plan.py [objects, default 1000000] [folder, default temporary]``

Half of the objects are named by two retained checkpoints of each of four jobs, half are orphans.
A folder that exists is used as it is, so that a second run measures the plan alone.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.checkpoints import SUBTASKS, file_of, metadata, new_uuid
from orphangc.app.wiring.clock import now

JOBS = 4
AGE_SECONDS = 40 * 86_400


def write(path: Path, data: bytes, at: float) -> None:
    path.write_bytes(data)
    os.utime(path, (at, at))


def make(root: Path, objects: int) -> None:
    old = now().timestamp() - AGE_SECONDS
    for job in range(JOBS):
        directory = root / f"{job:032x}"
        (directory / "shared").mkdir(parents=True)
        names = [new_uuid() for _ in range(objects // JOBS)]
        for position, name in enumerate(names):
            write(directory / "shared" / name, b"", old + position / 1000)
        for checkpoint_id in (41, 42):
            folder = directory / f"chk-{checkpoint_id}"
            folder.mkdir()
            data = metadata(f"file:{directory}", checkpoint_id, names[: len(names) // 2])
            write(folder / "_metadata", data, old + 86_400)
            for index in range(SUBTASKS):
                write(folder / file_of(str(folder), index), b"", old + 86_400)


def main() -> None:
    objects = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(sys.argv[2] if len(sys.argv) > 2 else temporary) / "checkpoints"
        if not root.exists():
            make(root, objects)
        command = [sys.executable, "-m", "orphangc", "plan", str(root), "--ended-job", "all"]
        command += ["--closed-world", "--state", f"{temporary}/state", "--out", f"{temporary}/plan"]
        start = time.perf_counter()
        subprocess.run([*command, "--output", "json"], check=True, stdout=subprocess.DEVNULL)
        wall = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"objects          {objects}")
    print(f"wall             {wall:.1f} s")
    print(
        f"cpu, user        {used.ru_utime:.1f} s, {used.ru_utime * 1e6 / objects:.1f} us an object"
    )
    print(f"cpu, system      {used.ru_stime:.1f} s")
    print(f"peak memory      {used.ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
