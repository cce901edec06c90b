"""What a killed command left is removed a day later, and nothing that is in use or another's."""

import os
import sys
from pathlib import Path

import pytest
import structlog

from orphangc.adapters.rows.temporary_folder import TemporaryFolder, remove_left_behind
from support.processes import finished

DAY = 86_400


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def aged(path: Path, seconds: float) -> Path:
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))
    return path


def left_by_a_killed_process(above: Path, seconds: float = 2 * DAY) -> Path:
    """Return a folder, with a file in it, of a process that ended without a word."""
    code = (
        "import os, tempfile, sys; tempfile.tempdir = sys.argv[1];"
        "from orphangc.adapters.rows.temporary_folder import TemporaryFolder;"
        "kept = TemporaryFolder(); print(kept.name, flush=True); os._exit(9)"
    )
    command = [sys.executable, "-c", code, str(above)]
    done = finished(command)
    path = Path(done.stdout.strip())
    (path / "rows.arrow").write_bytes(b"rows")
    return aged(path, seconds)


def seen_anew(above: Path) -> list[str]:
    """Look as a new process does; return the folders that are there then."""
    remove_left_behind.cache_clear()
    remove_left_behind(above)
    return sorted(each.name for each in above.iterdir())


def test_what_a_killed_command_left_goes_and_is_named(tmp_path: Path) -> None:
    left = left_by_a_killed_process(tmp_path)
    remove_left_behind.cache_clear()
    with structlog.testing.capture_logs() as logs, TemporaryFolder() as own:
        assert [each.name for each in tmp_path.iterdir()] == [Path(own).name]
    assert [(each["event"], each["folder"]) for each in logs] == [
        ("temporary_folder.removed", str(left))
    ]
    assert list(tmp_path.iterdir()) == []


def test_what_changed_today_stays(tmp_path: Path) -> None:
    """Its command may be about to lock it."""
    left = left_by_a_killed_process(tmp_path, seconds=DAY - 60)
    assert seen_anew(tmp_path) == [left.name]


def test_what_a_living_command_holds_stays(tmp_path: Path) -> None:
    """However old it is, and whatever its process number is to others."""
    with TemporaryFolder() as name:
        assert seen_anew(tmp_path) == [aged(Path(name), 3 * DAY).name]
        assert seen_anew(tmp_path) == [Path(name).name]


@pytest.mark.parametrize(
    "name", ["orphangc-state", "orphangc-temporary-plan", "orphangc-temporary-ABCDEFGH", "other"]
)
def test_what_a_person_named_stays(tmp_path: Path, name: str) -> None:
    """A state location may lie in the temporary folder."""
    (tmp_path / name).mkdir()
    aged(tmp_path / name, 9 * DAY)
    assert seen_anew(tmp_path) == [name]


def test_a_link_and_a_file_stay(tmp_path: Path) -> None:
    """Nothing outside is reached through a name."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "x").write_text("x")
    (tmp_path / "orphangc-temporary-abcdefgh").symlink_to(precious)
    (tmp_path / "orphangc-temporary-bbcdefgh").write_text("a file")
    for each in tmp_path.iterdir():
        os.utime(each, (0, 0), follow_symlinks=False)
    assert len(seen_anew(tmp_path)) == 3
    assert (precious / "x").exists()


def test_what_another_user_left_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = left_by_a_killed_process(tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: left.stat().st_uid + 1)
    assert seen_anew(tmp_path) == [left.name]
