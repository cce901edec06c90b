"""Cost of the siblings of one file: N storage roots search each other, N times N in one pass.

Usage: ``python tests/bench/bench_siblings.py [jobs of each root, default 10] [N ...]``

Prints seconds of ``orphangc world`` in this process, without any listing, and how often folders
are listed and ``_metadata`` is read. On S3 a listed folder and a read are a request each.
"""

import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.bench_plan import AGE_SECONDS, write
from bench.checkpoints import metadata, new_uuid
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.app.commands.world.show import worlds_of
from orphangc.app.wiring.clock import now

CHECKPOINTS = 3
FILES = 200


def make(root: Path, jobs: int) -> None:
    """Write a storage root of some jobs, three retained checkpoints each."""
    old = now().timestamp() - AGE_SECONDS
    for job in range(jobs):
        directory = root / new_uuid().replace("-", "")
        (directory / "shared").mkdir(parents=True)
        names = [new_uuid() for _ in range(FILES)]
        for number in range(CHECKPOINTS):
            folder = directory / f"chk-{job + number}"
            folder.mkdir()
            data = metadata(f"file:{directory}", job + number, names)
            write(folder / "_metadata", data, old)


def counting(counts: Counter[str]) -> None:
    """Count what the storages are asked from now on."""
    for name in ("folder", "read"):
        asked = getattr(LocalStorage, name)

        def count(
            self: Any, *args: Any, _asked: Any = asked, _name: str = name, **more: Any
        ) -> Any:
            counts[_name] += 1
            return _asked(self, *args, **more)

        setattr(LocalStorage, name, count)


def main() -> None:
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    counts: Counter[str] = Counter()
    counting(counts)
    print("roots  seconds  s a root  folders listed  _metadata read")
    for number in map(int, sys.argv[2:] or ("1", "8", "32")):
        with tempfile.TemporaryDirectory() as temporary:
            roots = [Path(temporary) / f"root-{each}" for each in range(number)]
            for root in roots:
                make(root, jobs)
            config = Path(temporary) / "orphangc.json"
            places = [{"root": str(root), "state": f"{temporary}/state"} for root in roots]
            config.write_text(json.dumps({"storage_roots": places, "plans": f"{temporary}/plans"}))
            counts.clear()
            start = time.perf_counter()
            worlds_of(config)
            seconds = time.perf_counter() - start
        print(
            f"{number:5}  {seconds:7.2f}  {seconds / number:8.2f}  {counts['folder']:14}"
            f"  {counts['read']:14}"
        )


if __name__ == "__main__":
    main()
