"""What Flink itself assigns when a checkpoint is restored with another parallelism."""

import base64
import gzip
import json
import os
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from flinkstate.metadata.writer import write_metadata
from flinkstate.values.handles import (
    BytesHandle,
    KeyGroupOffsets,
    KeyGroupsHandle,
    OperatorHandle,
    OperatorState,
    StateMode,
)
from flinkstate.values.metadata_values import Metadata, Operator, Subtask
from integration.harness.flinkbed.distribution import compiled, jars, java_tool
from support import speed
from support.processes import finished

SOURCE = Path(__file__).parent / "java" / "Redistribution.java"
TESTS = Path(__file__).parents[3]
GOLDEN = TESTS / "golden"
ANSWERS = GOLDEN / "redistribution"
PARALLELISMS = range(1, 8)
MADE = "made"
VERSIONS = ("1.15.4", "1.20.5", "2.3.0")
FIXTURES = (
    *("changelog", "finished", "full-uncompressed", "hashmap", "healthy", "inline"),
    *("merge-across", "rescale-claim", "savepoints", "unaligned"),
)
UNREADABLE = ("1.11.4/unaligned", "1.14.6/changelog")
"""What their own releases alone can read."""
FULLY_FINISHED = 7
"""Which of the made checkpoints holds an operator that has fully finished."""

Answers = dict[str, Any]
"""By parallelism, then by operator: its new subtasks, or why Flink refuses."""


def assigned(version: str, folders: Iterable[Path]) -> list[Answers]:
    classpath = os.pathsep.join(map(str, [compiled(version, SOURCE), *jars(version)]))
    command = [java_tool("java"), "-XX:TieredStopAtLevel=1", "-cp", classpath, SOURCE.stem]
    told = "".join(f"{folder}\n" for folder in folders)
    done = finished([*command, *PARALLELISMS], input=told, timeout=2 * speed.command())
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def kept_answers(version: str) -> dict[str, Answers]:
    return json.loads(gzip.decompress((ANSWERS / f"{version}.json.gz").read_bytes()))


def real_checkpoints(version: str) -> Iterator[tuple[str, bytes]]:
    """Yield the stored checkpoints of a release's line that it can read."""
    line = version.split(".", maxsplit=1)[0]
    for path in sorted(GOLDEN.rglob("_metadata")):
        name = path.parent.relative_to(GOLDEN).as_posix()
        release = name.removeprefix("real/")
        is_old = release.startswith("1.1") and int(release.split(".")[1]) <= 15
        is_known = name not in UNREADABLE and release.startswith(line)
        if is_known and is_old == (version == "1.15.4"):
            yield name, path.read_bytes()
    for scenario in FIXTURES:
        yield from _newest(f"fixtures/{version}/{scenario}")


def _newest(name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the last checkpoint, and the last savepoint, of a stored tree."""
    archive = TESTS / name / "tree.tar.xz"
    if not archive.is_file():
        return
    with tarfile.open(archive) as tree:
        found = {}
        for member in tree:
            path = Path(member.name)
            if path.name == "_metadata":
                is_savepoint = "savepoints" in path.parts
                number = 0 if is_savepoint else int(path.parent.name.removeprefix("chk-"))
                found[is_savepoint, number] = tree.extractfile(member).read()
        for is_savepoint in (False, True):
            if numbers := [number for kind, number in found if kind == is_savepoint]:
                kind = "savepoint" if is_savepoint else "checkpoint"
                yield f"{name}/{kind}", found[is_savepoint, max(numbers)]


def made_checkpoints() -> dict[str, bytes]:
    """Return the checkpoints that were made to be awkward."""
    made = json.loads(gzip.decompress((ANSWERS / f"{MADE}.json.gz").read_bytes()))
    return {f"{MADE}/{name}": base64.b64decode(data) for name, data in made.items()}


def checkpoints(version: str) -> dict[str, bytes]:
    """Return all that a release is asked about."""
    return {**dict(real_checkpoints(version)), **made_checkpoints()}


def ask(version: str, wanted: dict[str, bytes]) -> dict[str, Answers]:
    """Return what a release assigns of each; it must be able to read them all."""
    with tempfile.TemporaryDirectory() as scratch:
        folders = [Path(scratch, str(number)) for number in range(len(wanted))]
        for folder, data in zip(folders, wanted.values(), strict=True):
            folder.mkdir()
            (folder / "_metadata").write_bytes(data)
        return dict(zip(wanted, assigned(version, folders), strict=True))


def make_awkward(number: int) -> bytes:
    """Return a checkpoint with gaps, states in no order, partly reported ones, odd key groups."""
    random = Random(number)
    parallelism = random.randint(1, 5)
    count_ = random.choice([2, 5, 14, 30, 90])
    names = [f"{random.choice('abcxyz')}{random.randint(0, 999)}" for _ in range(count_)]
    modes = {name: random.choice(list(StateMode)) for name in names}
    subtasks = [
        Subtask(index=index, is_finished=True)
        if random.random() < 0.1
        else Subtask(
            index=index,
            managed_operator=_awkward_handle(random, f"m{index}", modes),
            raw_operator=random.choice([None, _awkward_handle(random, f"r{index}", modes)]),
            managed_keyed=_awkward_groups(random, f"k{index}"),
            raw_keyed=random.choice([None, _awkward_groups(random, f"l{index}")]),
        )
        for index in range(parallelism)
        if random.random() < 0.8
    ]
    random.shuffle(subtasks)
    operator = Operator(
        id=f"{number:032x}",
        parallelism=parallelism,
        max_parallelism=random.choice([5, 6, 128]),
        subtasks=None if number == FULLY_FINISHED else tuple(subtasks),
    )
    return write_metadata(
        Metadata(format_version=3, checkpoint_id=number, master_states=(), operators=(operator,))
    )


def _awkward_handle(random: Random, name: str, modes: dict[str, StateMode]) -> OperatorHandle:
    states, at = [], 1
    for state, mode in modes.items():
        if random.random() < 0.7:
            partitions = 1 if mode is StateMode.BROADCAST else random.choice([0, 1, 2, 7])
            offsets = tuple(range(at, at + 3 * partitions, 3))
            states.append(OperatorState(name=state, mode=mode, offsets=offsets))
            at += 3 * partitions
    return OperatorHandle(states=tuple(states), delegate=BytesHandle(name=name, data=b"x" * at))


def _awkward_groups(random: Random, name: str) -> KeyGroupsHandle:
    first, groups = random.randint(0, 5), random.randint(1, 9)
    offsets = tuple(random.choice([0, 5 + 2 * group]) for group in range(groups))
    return KeyGroupsHandle(
        groups=KeyGroupOffsets(first=first, offsets=offsets),
        delegate=BytesHandle(name=name, data=b"x" * 30),
        code=3,
    )


def _main() -> None:
    """Write the awkward checkpoints, then ask every release; what Flink said is committed."""
    ANSWERS.mkdir(exist_ok=True)
    made = {str(number): make_awkward(number) for number in range(40)}
    awkward = {name: base64.b64encode(data).decode() for name, data in made.items()}
    _write(MADE, awkward)
    for version in VERSIONS:
        _write(version, ask(version, checkpoints(version)))


def _write(name: str, value: Any) -> None:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    (ANSWERS / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    sys.exit(_main())
