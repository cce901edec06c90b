"""What the main commands show on a terminal of 80 columns, of the demo's storage.

PYTHONPATH=tests python -m cli.test_transcripts FILE          # all of it, for a reviewer
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pytest

from orphangc.app.cli import main
from orphangc.app.commands.operate.demo import make_storage
from support.rest_server import RestServer

COLUMNS = 80
JOB = "453bd8d5d815d6bea9265350b25a5ff7"
FLINK = "/tmp/flink-checkpoints"
WRITTEN_BY = ("1.20.5/restore-noclaim", "2.3.0/tm-kill")
"""Runs of Flink that wrote the demo's storage, in folders below ``FLINK``."""


class Terminal(io.StringIO):
    """A screen that keeps what it shows."""

    def isatty(self) -> bool:
        """Return that it is one."""
        return True


def shown(*args: object) -> str:
    """Return a command line and what it prints, results and complaints."""
    screen, words = Terminal(), ["orphangc", *map(str, args)]
    environment = {"COLUMNS": str(COLUMNS), "TERM": "dumb", "NO_COLOR": "1"}
    with (
        mock.patch.dict(os.environ, environment),
        mock.patch.object(sys, "argv", words),
        redirect_stdout(screen),
        redirect_stderr(screen),
    ):
        try:
            main()
        except SystemExit as end:
            return f"$ {' '.join(words)}\n{screen.getvalue()}(exit code {end.code or 0})\n"
    raise AssertionError("a command ends its process")


def commands(folder: Path, rest: str) -> Iterator[tuple[object, ...]]:
    """Yield command lines, from the first plan to the expiry of checkpoints."""
    folder.mkdir()
    root, config = folder / "storage" / "checkpoints", folder / "orphangc.yaml"
    orphan, checkpoint = min(make_storage(root)), root / JOB / "chk-4"
    alias = [f"{FLINK}/{each}/checkpoints={root}" for each in WRITTEN_BY]
    entry = {"root": str(root), "state": str(folder / "state"), "alias": alias}
    entry |= {"closed_world": True, "ended_job": ["all"]}
    entry |= {"quarantine_period": "0s", "allow_short_margins": True}
    config.write_text(json.dumps({"mode": "quarantine", "storage_roots": [entry]}))
    options = ("--state", folder / "state", *(word for each in alias for word in ("--alias", each)))
    ended = (*options, "--ended-job", "all", "--closed-world")
    short = (*ended, "--quarantine-period", "0", "--allow-short-margins")
    aws = ("--state", "s3://ops/orphangc")
    policy = ("--keep-last", "1", "--ended-for", "0")
    yield from (
        ("world", root, *options, "--flink-rest", rest),
        ("plan", root, *options, "--flink-rest", rest, "--out", folder / "p0"),
        ("plan", root, *short, "--out", folder / "p1"),
        ("explain", orphan, "--plan", folder / "p1"),
        ("explain", checkpoint / "_metadata", "--config", config),
        ("sweep", folder / "p1"),
        ("doctor", "--config", config),
        ("run", "--config", config),
        ("plan", root, *short, "--out", folder / "p2"),
        ("sweep", folder / "p2", "--delete"),
        ("undelete", folder / "p2"),
        ("world", "--config", config),
        ("inspect", checkpoint, "--rescale-to", "3", "--alias", alias[0]),
        ("lineage", root, *ended),
        ("self-sustained", root, "--job", JOB, *options),
        ("users-of", checkpoint, root, "--alias", alias[0]),
        ("expire", root, *ended, "--out", folder / "e0"),
        ("expire", root, *short, *policy, "--out", folder / "e1"),
        ("sweep", folder / "e1", "--delete"),
        ("policy", "--provider", "aws", "--root", "s3://prod/checkpoints", *aws),
    )


def transcripts(folder: Path) -> Iterator[str]:
    with RestServer({}) as server:
        yield from (shown(*words) for words in commands(folder, server.url))


def broken(lines: list[str]) -> Iterator[str]:
    """Yield lines that a screen of 80 columns would break: those of more than one word."""
    for line in lines:
        is_command = line.startswith(("$ ", "  orphangc ", "  --pin "))
        if len(line) > COLUMNS and not is_command and len(line.split()) > 1:
            yield line


@pytest.mark.nightly
def test_no_line_of_any_command_is_wider_than_a_terminal(tmp_path: Path) -> None:
    """But for a word or a command to copy, which is whole."""
    for text in transcripts(tmp_path / "work"):
        assert list(broken(text.splitlines())) == []
        assert "Traceback" not in text
        assert "(exit code 2)" not in text


if __name__ == "__main__":
    with TemporaryDirectory() as name:
        Path(sys.argv[1]).write_text("\n".join(transcripts(Path(name) / "work")))
