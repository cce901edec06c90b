"""Which files checkpoints refer to, as Flink's own classes read them."""

import os
from collections.abc import Iterable
from pathlib import Path

from integration.harness.flinkbed.distribution import compiled, jars, java_tool
from support.processes import finished

SOURCE = Path(__file__).parent / "java" / "FileReferences.java"


def read_by_flink(version: str, checkpoints: Iterable[Path]) -> dict[Path, set[Path]]:
    """Return the files that each checkpoint refers to; it must not be deleted meanwhile."""
    folders = list(checkpoints)
    classpath = os.pathsep.join(map(str, (compiled(version, SOURCE), *jars(version))))
    command = [java_tool("java"), "-Xmx200m", "-cp", classpath, SOURCE.stem, *map(str, folders)]
    done = finished(command)
    assert done.returncode == 0, done.stderr
    found: dict[Path, set[Path]] = {folder: set() for folder in folders}
    for line in done.stdout.splitlines():
        folder, _, path = line.partition("\t")
        found[Path(folder)].add(Path(path))
    return found
