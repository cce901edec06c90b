"""``--verify``: are the files of a checkpoint there, and as long as it says?"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

from flinkstate.commands.open_checkpoint import CheckpointFiles, OpenedCheckpoint
from flinkstate.errors import ExitCode, FlinkStateError
from flinkstate.files.host import Host
from flinkstate.state.file_use import COMPRESSED, MISSING, ExpectedFile, expected_files

_AT_ONCE = 8
_BATCH = 500
_NAMED = 10
"""Number of files that are named line by line: a checkpoint may lack a million."""
_ELSEWHERE = (
    "all files outside its own folder are missing: if it was copied, --alias FROM=TO says where"
    " they are"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProblem:
    """A file that a restore will not find as the checkpoint describes it."""

    path: str
    problem: str

    def __str__(self) -> str:
        """Return path and problem."""
        return f"{self.path} {self.problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedFiles:
    """Which files are missing or of another size, and which could not be looked up.

    Attributes:
        is_elsewhere: Whether all files outside the checkpoint's own folder are missing.
    """

    files: int
    damaged: tuple[FileProblem, ...] = ()
    unseen: tuple[FileProblem, ...] = ()
    is_elsewhere: bool = False

    @property
    def exit_code(self) -> ExitCode:
        """Return 1 if a file is damaged, and 4 if that of another cannot be known."""
        if self.damaged:
            return ExitCode.FAILED
        return ExitCode.REFUSED if self.unseen else ExitCode.DONE

    @property
    def document(self) -> dict[str, Any]:
        """Return the result as a document."""
        return {
            "files": self.files,
            "damaged": [{"path": each.path, "problem": each.problem} for each in self.damaged],
            "unseen": [{"path": each.path, "problem": each.problem} for each in self.unseen],
        }

    def lines(self) -> list[str]:
        """Return what is wrong, one line for each of the first files."""
        said = (
            [f"{each}: Flink cannot restore this checkpoint" for each in self.damaged],
            [f"{each.path} cannot be verified: {each.problem}" for each in self.unseen],
        )
        moved = [_ELSEWHERE] if self.is_elsewhere else []
        return [*(line for lines in said for line in _first(lines)), *moved]


def _first(lines: list[str]) -> list[str]:
    more = [f"{len(lines) - _NAMED:,} more such files: --output json names all"]
    return [*lines[:_NAMED], *more] if len(lines) > _NAMED else lines


def verify_files(checkpoint: OpenedCheckpoint, host: Host) -> VerifiedFiles:
    """Return which files of a checkpoint are missing or of another size.

    Files in other stores than the checkpoint's own are not looked up: a path in ``_metadata`` is
    untrusted. An alias that leads them here lets them be verified.
    """
    expected = expected_files(checkpoint.metadata, directory=str(checkpoint.folder))
    damaged, unseen, done = [], [], 0
    with host.progress() as progress, ThreadPoolExecutor(_AT_ONCE) as pool:
        running = [pool.submit(_verified, checkpoint.files, batch) for batch in _batches(expected)]
        for each in as_completed(running):
            one_damaged, one_unseen, count = each.result()
            damaged += one_damaged
            unseen += one_unseen
            done += count
            progress("verify files", done, len(expected))
    absent = {each.path for each in damaged if each.problem == MISSING}
    others = {e.path for e in expected if not e.path.startswith(f"{checkpoint.folder}/")}
    return VerifiedFiles(
        files=len(expected),
        is_elsewhere=bool(others) and others <= absent,
        damaged=tuple(sorted(damaged, key=str)),
        unseen=tuple(sorted(unseen, key=str)),
    )


def _batches(expected: Sequence[ExpectedFile]) -> Iterator[list[ExpectedFile]]:
    folders: dict[str, list[ExpectedFile]] = {}
    for each in expected:
        folders.setdefault(each.path.rpartition("/")[0], []).append(each)
    for files in folders.values():
        yield from (files[at : at + _BATCH] for at in range(0, len(files), _BATCH))


def _verified(
    files: CheckpointFiles, batch: Sequence[ExpectedFile]
) -> tuple[list[FileProblem], list[FileProblem], int]:
    try:
        sizes = files.sizes([each.path for each in batch])
        damaged = [
            FileProblem(path=each.path, problem=problem)
            for each, stored in zip(batch, sizes, strict=True)
            if (problem := each.problem(stored)) is not None
            and not (
                each.may_be_compressed and files.part(each.path, start=0, size=1) == COMPRESSED
            )
        ]
    except FlinkStateError as err:
        unseen = [FileProblem(path=each.path, problem=str(err)) for each in batch]
        return [], unseen, len(batch)
    return damaged, [], len(batch)
