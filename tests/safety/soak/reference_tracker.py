"""Who tells right from wrong: what each checkpoint named for as long as it was there.

Nothing here believes orphangc: a checkpoint's files are the UUIDs in its bytes, and what was
removed is what the interpreter told of (``deletion_tracer``).
"""

import json
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from integration.harness.flinkbed.truth import UUID, entries, uuids_in
from safety.soak.bucket import ABORTED, Prefix

_LOOK_SECONDS = 0.02
_FOREVER = 1 << 62
FLAT = r"shared|chk-[0-9]+|job_[0-9a-f]{32}_.+"
"""Names of the folders of which files may go, whatever the layout."""
_FILE = re.compile(rf"(?:[0-9]+_)?({UUID.pattern})")

_Version = tuple[str, int, int]
"""Path, time and size of a file: one that is written on is another one."""


class Flag(Protocol):
    """An event of another process."""

    def is_set(self) -> bool:
        """Return whether it happened."""


def watch(
    trees: Iterable[Path | Prefix], out: Path, stop: Flag, pause: float = _LOOK_SECONDS
) -> None:
    """Write down what every ``_metadata`` names that appears, and when it is gone.

    Args:
        trees: Folders whose grandchildren, or children, are checkpoints; or parts of a bucket.
        out: A line for each appearance, and for each disappearance.
        stop: Look once more, and return.
        pause: Seconds between two looks.

    """
    there: dict[_Version, int] = {}
    with out.open("w", buffering=1) as lines:
        is_last = False
        while not is_last:
            is_last = stop.is_set()
            at = time.time_ns()
            found = {each: tree for tree in trees for each in metadata(tree)}
            looked = time.time_ns()  # it may have gone at any time of the look
            for gone in there.keys() - found.keys():
                lines.write(json.dumps(["gone", *gone, there.pop(gone), looked]) + "\n")
            for new in found.keys() - there.keys():
                if (names := _uuids_in(found[new], new[0])) is not None:
                    lines.write(json.dumps(["there", *new, names]) + "\n")
                    there[new] = at
            there.update(dict.fromkeys(found.keys() & there.keys(), at))
            time.sleep(pause)


def _uuids_in(tree: Path | Prefix, path: str) -> list[str] | None:
    return tree.uuids_in(path) if isinstance(tree, Prefix) else uuids_in(path)


def metadata(tree: Path | Prefix) -> Iterator[_Version]:
    if isinstance(tree, Prefix):
        yield from tree.metadata()
        return
    for folder in entries(tree):
        for path in (f"{each}/_metadata" for each in (folder, *entries(folder))):
            try:
                found = Path(path).stat()
            except (FileNotFoundError, NotADirectoryError):
                continue
            yield path, found.st_mtime_ns, found.st_size


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the collectors did."""

    checkpoints: int  # how many were seen, savepoints as well
    removed: dict[str, int]  # files of the storage root that collectors removed, and how often each
    # those that a checkpoint named which was there when they were removed, or appeared later,
    # and which one
    wrong: dict[str, str]
    strange: list[str]  # those that are no file of such a folder as may lose some

    @property
    def right(self) -> int:
        """Return how many files went that nothing needed."""
        return len(self.removed) - len(self.wrong)


def judge(checkpoints: Path, removals: Path, folders: str = FLAT) -> Verdict:
    """Return what is true of all removals, by what the watcher and the witness wrote.

    A checkpoint counts until the end of the look that found it gone: any doubt is told as wrong.
    The upload of a file that is named, whenever it is, was completed: it may not be aborted, and
    neither may that of a ``_metadata`` which appeared.

    Args:
        checkpoints: What the watcher wrote.
        removals: What the witness wrote.
        folders: Pattern of the names of folders of which files may go.

    """
    spans = _spans(checkpoints)
    appeared = {path for path, *_ in spans}
    last: dict[str, tuple[int, str]] = {}
    for (path, *_), (names, gone) in spans.items():
        for name in names:
            last[name] = max(last.get(name, (0, "")), (gone, path))
    removed: dict[str, int] = {}
    wrong, strange = {}, []
    for at, path in removed_files(removals):
        removed[path] = removed.get(path, 0) + 1
        file = Path(path.removesuffix(ABORTED))
        is_abortion = path.endswith(ABORTED)
        if is_abortion and file.name == "_metadata":
            if path.removesuffix(ABORTED) in appeared:
                wrong[path] = path.removesuffix(ABORTED)
            continue
        hit = _FILE.fullmatch(file.name)
        if hit is None or re.fullmatch(folders, file.parent.name) is None:
            strange.append(path)
            continue
        gone, needing = last.get(hit[1], (0, ""))
        if gone > at or (is_abortion and needing):
            wrong[path] = needing
    return Verdict(len(spans), removed, wrong, strange)


def _spans(checkpoints: Path) -> dict[_Version, tuple[list[str], int]]:
    spans: dict[_Version, tuple[list[str], int]] = {}
    for what, path, written, size, *rest in lines_of(checkpoints):
        version = path, written, size
        if what == "there":
            spans[version] = rest[0], _FOREVER
        else:
            spans[version] = spans[version][0], rest[1]
    return spans


def removed_files(removals: Path) -> list[tuple[int, str]]:
    if not removals.is_file():
        return []
    pairs = (line.split("\t", 1) for line in removals.read_text().splitlines())
    return [(int(at), path) for at, path in pairs]


def lines_of(file: Path) -> Iterator[Any]:
    with file.open() as lines:
        yield from (json.loads(line) for line in lines if line.endswith("\n"))
