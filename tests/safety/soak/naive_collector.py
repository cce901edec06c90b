"""A collector as it should not be: what is older than a few seconds and not in use by the newest.

    python -m safety.soak.naive_collector clean ROOT

The negative control of the soak: it reads the newest checkpoint of each job, as many homemade
scripts do, and no other; what runs or is being written it does not ask.
"""

import sys
import time
from contextlib import suppress
from pathlib import Path

from integration.harness.flinkbed.truth import named_in_metadata, retained, shared_files

_OLD_NANOSECONDS = 2_000_000_000


def clean(root: Path) -> None:
    """Remove what looks unused."""
    for job in root.iterdir():
        newest = retained(job)[-1:]
        named = named_in_metadata(newest[0]) if newest else set()
        old = time.time_ns() - _OLD_NANOSECONDS
        for path in shared_files(job):
            if path.stat().st_mtime_ns < old and path.name not in named:
                path.unlink(missing_ok=True)


if __name__ == "__main__":
    with suppress(FileNotFoundError):  # Flink deletes, too
        clean(Path(sys.argv[-1]))
