"""Tests keep their files in memory where there is enough of it, and leave none of it taken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.memory_folder import LEAST_AVAILABLE, LEAST_FREE, MemoryFolder, available_bytes


def folder(above: Path, *, free: int = LEAST_FREE, available: int = LEAST_AVAILABLE):
    """Return a session's folder on a machine with so much memory."""
    return MemoryFolder(above / "sessions", lambda _: free, lambda: available)


def test_a_session_has_a_folder_of_its_own(tmp_path: Path) -> None:
    assert folder(tmp_path).chosen() == tmp_path / "sessions" / str(os.getpid())


@pytest.mark.parametrize("short", [{"free": LEAST_FREE - 1}, {"available": LEAST_AVAILABLE - 1}])
def test_where_memory_is_short_files_are_on_the_disk(tmp_path: Path, short: dict[str, int]) -> None:
    assert folder(tmp_path, **short).chosen() is None


def test_where_nobody_may_write_files_are_on_the_disk(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("a file is in the way")
    assert folder(tmp_path).chosen() is None


def test_folders_of_sessions_that_are_over_go(tmp_path: Path) -> None:
    """That of a session beside this one stays."""
    sessions = tmp_path / "sessions"
    for name in ("1", "999999999", "of nobody"):
        (sessions / name).mkdir(parents=True)
    assert folder(tmp_path).chosen() is not None
    assert [each.name for each in sessions.iterdir()] == ["1"]


@pytest.mark.parametrize("code", [pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED])
def test_what_failed_tests_left_can_be_looked_at(tmp_path: Path, code: int) -> None:
    session = folder(tmp_path)
    own = session.chosen()
    assert own is not None
    own.mkdir()
    session.pytest_sessionfinish(code)
    assert own.exists() == (code != pytest.ExitCode.OK)


def test_the_memory_of_this_machine_is_known(tmp_path: Path) -> None:
    assert available_bytes() > 0
    assert available_bytes(tmp_path / "none") == 0
