"""Runs a Python program and writes down every file of a folder that it removes or moves.

    PYTHONPATH=tests python -m safety.soak.deletion_tracer OUT FOLDER PROGRAM [ARGUMENT]...

The interpreter itself tells (PEP 578), before it does it: a line a file, with the time in
nanoseconds, a tab, and the path. Nothing that the program says of itself is believed.
PROGRAM is a module, as for ``python -m``.
"""

import os
import runpy
import sys
import time
from pathlib import Path

_REMOVING = {"os.remove": 1, "os.rename": 2, "os.truncate": None}
"""Events, and which of their arguments is the folder that the first one is relative to.

``os.rmdir`` is none: it fails on a folder that holds a file."""


def main(out: str, folder: str, program: str, *arguments: str) -> None:
    """Run the program under watch."""
    stream = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    below = os.path.realpath(folder) + os.sep

    def hook(event: str, values: tuple[object, ...]) -> None:
        if event not in _REMOVING:
            return
        place = _REMOVING[event]
        path = _absolute(values[0], None if place is None else values[place])
        if path.startswith(below):
            os.write(stream, f"{time.time_ns()}\t{path}\n".encode())

    sys.addaudithook(hook)
    sys.argv = [program, *arguments]
    runpy.run_module(program, run_name="__main__", alter_sys=True)


def _absolute(path: object, folder: object) -> str:
    if isinstance(path, int):
        return _opened(path)
    name = os.fsdecode(os.fspath(path))  # type: ignore[call-overload]
    if isinstance(folder, int) and folder >= 0:
        name = os.path.join(_opened(folder), name)  # noqa: PTH118
    return os.path.realpath(os.path.dirname(name)) + os.sep + os.path.basename(name)  # noqa: PTH119, PTH120


def _opened(descriptor: int) -> str:
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())


if __name__ == "__main__":
    main(*sys.argv[1:])
