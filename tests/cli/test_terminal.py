"""What a person sees on a terminal, run in a pseudo-terminal of 80 and 200 columns.

What depends on the width alone is held at more of them in ``unit/flinkstate/tables``.
"""

import errno
import fcntl
import os
import pty
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.helpers import AT_ONCE, Bed, run
from cli.scheduled import Configured, settings_of, started
from cli.stories import Story, make_story
from support import speed
from support.processes import finished, until, wakings

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_terminal(*args: object, columns: int = 80) -> tuple[int, str]:
    """Run a command in a terminal; return its exit code and all that it shows."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "orphangc", *map(str, args)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "NO_COLOR": "1", "COLUMNS": str(columns)},
    )
    os.close(theirs)
    shown = b"".join(_chunks(ours))
    os.close(ours)
    text = _ESCAPES.sub("", shown.decode()).replace("\r\n", "\n")
    return process.wait(timeout=speed.command()), text


def _chunks(ours: int) -> Iterator[bytes]:
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError as err:
            if err.errno != errno.EIO:  # the other end is closed
                raise
            return
        if not part:
            return
        yield part


def too_long(shown: str, columns: int = 80) -> list[str]:
    """Return the lines that a screen would break, but for words and commands that are longer."""
    lines = (line.rpartition("\r")[2] for line in shown.split("\n"))
    prose = (line for line in lines if len(line.split()) > 1 and not line.startswith("  orphangc "))
    return [line for line in prose if len(line) > columns]


def commands_of(shown: str) -> list[list[str]]:
    """Return the arguments of each command that a screen shows to be copied."""
    lines = (line for line in shown.splitlines() if line.startswith("  orphangc "))
    return [shlex.split(line)[1:] for line in lines]


@pytest.mark.parametrize("columns", [80, 200])
def test_plan_and_sweep_say_the_next_command_and_it_works(tmp_path: Path, columns: int) -> None:
    """Copied from the screen, from the first plan to the deletion."""
    story = make_story(Bed(tmp_path, AT_ONCE), orphans=20)
    plan = tmp_path / "plan-1"
    options = ("--state", story.bed.state, "--ended-job", "all", "--closed-world", *AT_ONCE)
    options += ("--max-delete-share", "1")
    _, shown = on_terminal("plan", story.bed.root, "--out", plan, *options, columns=columns)
    assert '"event"' not in shown
    (first,) = commands_of(shown)
    assert first == ["sweep", str(plan)]
    _, shown = on_terminal(*first, columns=columns)
    again, delete = commands_of(shown)
    assert on_terminal(*again, columns=columns)[0] == 0
    code, shown = on_terminal(*delete, columns=columns)
    assert (code, any(path.exists() for path in story.orphans)) == (0, False)
    assert "20 objects deleted" in shown
    assert "Undo: not possible" in shown
    assert shown.splitlines()[-1].endswith(f"{delete[1]}/outcomes.parquet")
    assert len(shown.splitlines()) < 25


def test_no_reason_is_broken_at_80_columns(story: Story) -> None:
    """Of ``sweep``, ``doctor`` and ``run``: reasons are lines, not cells."""
    others = [story.bed.job(number) for number in range(2, 5)]
    for each in others:
        each.checkpoint(1, each.shared())
    blocked = ("--state", story.bed.state, "--closed-world")
    plan = story.bed.folder / "plan-of-blocked"
    on_terminal("plan", story.bed.root, *blocked, "--out", plan)
    shown = on_terminal("sweep", plan)[1]
    assert "\\n" not in shown
    assert f"{story.job.id}, {others[0].id} and 2 more" in " ".join(shown.split())
    configured = Configured.of(story, settings_of(story, ended_job=[]))
    shown = on_terminal("doctor", "--config", configured.path)[1]
    assert shown.splitlines()[0] == str(story.bed.root)
    assert "▲ warning all 4 jobs: never collected" in shown
    configured = Configured.of(story)
    shown = on_terminal("run", "--config", configured.path)[1]
    assert "the first run on a storage root only reports" in " ".join(shown.split())


def test_a_reason_that_jobs_share_is_said_once(story: Story) -> None:
    """And what lifts it is what comes next."""
    for number in (2, 3):
        job = story.bed.job(number)
        job.checkpoint(1, job.shared())
    options = ("--state", story.bed.state, "--closed-world")
    shown = on_terminal("plan", story.bed.root, *options, columns=200)[1]
    assert shown.count("nor declared ended (--ended-job)") == 1
    assert "Next: nothing can be deleted while job_state_unknown stands." in shown


def test_the_command_to_copy_has_the_spelling_of_the_help(tmp_path: Path) -> None:
    own = tmp_path / "own"  # around it are the folders of other tests
    options = ("--state", own / "state", "--ended-job", "all", "--extra-roots", own)
    story = make_story(Bed(own, AT_ONCE))
    shown = on_terminal("plan", story.bed.root, *options, "--closed-world")[1]
    (again,) = commands_of(shown)
    assert ("--extra-root" in again, "--extra-roots" in again) == (True, False)


def test_the_command_that_lifts_a_block_is_copied_whole(story: Story) -> None:
    """From a reason at 80 columns."""
    options = ("--state", story.bed.state, "--closed-world")
    assert run("plan", story.bed.root, *options).code == 0
    for each in story.job.folder.glob("chk-*"):
        shutil.rmtree(each)
    shown = on_terminal("plan", story.bed.root, *options)[1]
    lines = {line.strip() for line in shown.splitlines() if "world acknowledge /" in line}
    (command,) = lines
    assert run(*shlex.split(command)[1:]).code == 0


def test_a_usage_error_has_no_frame() -> None:
    """It is one line, below how the command is used."""
    assert too_long(on_terminal("sweep", "/no/such/folder", columns=40)[1], 40) == []
    code, shown = on_terminal("explain")
    assert (code, "─" in shown) == (2, False)
    assert "Error: Missing argument 'KEY'" in shown


def test_a_used_plan_says_what_became_of_it(story: Story) -> None:
    """Swept again, it deletes nothing, because all of it is gone."""
    story.bed.cycle()
    plan, _ = story.bed.cycle()
    shown = on_terminal("sweep", plan.path, "--delete")[1]
    assert "nothing deleted: what was due is gone" in " ".join(shown.split())


@pytest.mark.parametrize("mode", ["report", "delete"])
def test_after_a_failed_run_nothing_is_proposed(story: Story, mode: str) -> None:
    """A mode is not what it lacks, nor what the next run would do in it."""
    broken = settings_of(story, root=str(story.bed.folder / "absent"), mode=mode)
    shown = on_terminal("run", "--config", Configured.of(story, broken).path)[1]
    assert f"unreachable: {broken['root']}: " in " ".join(shown.split())
    assert "Next: " not in shown


def test_the_events_of_the_program_are_shown_on_demand(story: Story) -> None:
    """With ``-v``, before or behind the command; ``-q`` shows results only."""
    args = ("plan", story.bed.root, *story.bed.options)
    plain = on_terminal(*args)[1]
    assert "plan.written" not in plain
    assert "Next: " in plain
    for verbose in (("-v", *args), (*args, "-v")):
        assert "plan.written" in on_terminal(*verbose)[1]
    assert "Next: " not in on_terminal(*args, "-q")[1]


def test_a_run_says_what_comes_next_and_how_to_undo(story: Story) -> None:
    """Its last line names the rows of all objects."""
    configured = Configured.of(story)
    shown = on_terminal("run", "--config", configured.path)[1]
    assert "the first run on a storage root only reports" in " ".join(shown.split())
    on_terminal("run", "--config", configured.path)
    shown = on_terminal("run", "--config", configured.path)[1]
    assert "Undo: not possible" in shown
    assert shown.rstrip().endswith("/outcomes.parquet")
    assert "run.finished" not in shown


def test_a_run_that_lays_tombstones_says_when_a_deletion_may_follow(story: Story) -> None:
    """It is the step between a report and a deletion: the mode is the operator's to set."""
    configured = Configured.of(
        story, settings_of(story, quarantine_period="24h"), mode="quarantine"
    )
    on_terminal("run", "--config", configured.path)
    shown = " ".join(on_terminal("run", "--config", configured.path)[1].split())
    assert re.search(
        r"Next: if the plans show the right orphans, from 20[-0-9: ]+ UTC on set mode: delete in"
        rf" {configured.path}, then orphangc run --config {configured.path} ",
        shown,
    )


def test_a_blocked_run_names_what_lifts_it(story: Story) -> None:
    """In place of a next command."""
    configured = Configured.of(story, settings_of(story, ended_job=[]))
    shown = " ".join(on_terminal("run", "--config", configured.path)[1].split())
    assert "Next: lift job_state_unknown" in shown


def test_an_interrupted_sweep_says_what_is_done(story: Story, tmp_path: Path) -> None:
    """One sentence on stderr, and the same command goes on."""
    story.bed.cycle(delete=False)
    plan, stall = story.bed.plan(), tmp_path / "stall"
    with started("sweep", plan.path, "--delete", err=tmp_path / "err", stall=stall) as process:
        until(stall.exists)
        process.process.send_signal(signal.SIGINT)
        woken = wakings(process.process.pid)
        until(lambda: wakings(process.process.pid) >= woken + 3)  # by then it has seen the signal
        stall.unlink()
        code = process.process.wait(timeout=speed.command())
        said = [line for line in process.log.splitlines() if line.startswith("orphangc: ")]
    assert (code, len(said)) == (130, 1)
    assert re.search(r"orphangc: interrupted: \d+ objects were deleted", said[0])
    assert run("sweep", plan.path, "--delete").code == 0
    assert not any(path.exists() for path in story.orphans)


def test_a_command_that_only_reads_says_that_it_was_interrupted(story: Story) -> None:
    """Flink does not answer yet when the signal comes."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        configured = Configured.of(story, settings_of(story, flink_rest=[url]))
        words = [sys.executable, "-m", "orphangc", "doctor", "--config", str(configured.path)]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
            silent.accept()[0].close()
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=speed.command())
    lines = [line for line in said.splitlines() if line.startswith("orphangc: ")]
    assert (process.returncode, lines) == (
        130,
        ["orphangc: interrupted: the same command begins again"],
    )


def test_a_signal_after_the_end_leaves_no_traceback() -> None:
    """The work is done, and Python is cleaning up: a handler of ours would raise into that."""
    lines = (
        "import atexit, os, signal",
        "from flinkstate.console.exit import run_to_exit",
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)",
        "run_to_exit(lambda: None, print)",
    )
    done = finished([sys.executable, "-c", "\n".join(lines)])
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


@pytest.mark.parametrize("program", ["orphangc", "flinkstate"])
def test_a_signal_while_python_imports_leaves_no_traceback(program: str) -> None:
    """No work has begun that could end in order."""
    code = (
        "import importlib.abc, os, runpy, signal, sys\n"
        "class Ctrl(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Ctrl())\n"
        f"runpy.run_module({program!r}, run_name='__main__')"
    )
    done = finished([sys.executable, "-c", code])
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_explain_answers_in_sentences(story: Story) -> None:
    """Verdict, who needs it, when it goes, how to keep it; each fits a screen."""
    plan = story.bed.plan()
    live = str(story.live[0].relative_to(story.bed.root))
    orphan = str(story.orphans[0].relative_to(story.bed.root))
    shown = on_terminal("explain", live, "--plan", plan.path)[1]
    assert "It stays: " in shown
    assert f"{story.job.folder}/chk-7 (by its path)" in " ".join(shown.split())
    shown = on_terminal("explain", orphan, "--plan", plan.path)[1]
    assert "No checkpoint or savepoint names it." in shown
    assert "It may go 0s after a sweep or run has written its tombstone." in shown
    assert f"--pin {story.orphans[0]}" in shown.split("  ")[-1]
    assert len(shown.splitlines()) < 20
    assert run("explain", orphan, "--plan", plan.path).json["verdict"]["reason"] == "orphan"
