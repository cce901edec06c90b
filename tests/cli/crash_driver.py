"""Kills the command line at every step of its way, and lets the next run clean up.

A step is anything that touches a file system: an audit hook sees it just before it happens. Every
crash is a SIGKILL of a process forked for it, so that neither ``finally`` nor ``atexit`` helps.
Run as a script, it prints what it found as JSON.
"""

import json
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.helpers import AT_ONCE, ENDED, Bed, contents, run
from cli.stories import Story, make_story
from orphangc.app.cli import main
from orphangc.app.commands.operate import undelete as undeleting
from orphangc.app.render.plan import plan_tables as tables
from orphangc.app.runner import make_plan as planning
from orphangc.app.runner import sweep_plan as sweeping

LOADED = (planning, sweeping, undeleting, tables)
"""What commands load when they are called; each of many forks would do so again."""

_CHANGES = ("os.remove", "os.rename", "os.link", "os.mkdir", "os.rmdir", "shutil.rmtree")
_READS = ("os.scandir", "os.listdir")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_EVERY = 40
"""Of the steps that only look, one in so many is a point to crash at: they leave nothing behind."""


def is_change(event: str, args: tuple[Any, ...]) -> bool:
    return event in _CHANGES or (event == "open" and bool((args[2] or 0) & _WRITING))


def at_step(number: int, act: Callable[[str], None]) -> list[int]:
    """Call ``act`` before the step of that number; return the running count."""
    count = [0, 0]

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if is_change(event, args):
            count[0] += 1
        elif event in _READS or event == "open":
            count[1] += 1
            if count[1] % _EVERY:
                return
            count[0] += 1
        else:
            return
        if count[0] == number:
            act(f"{event} {args[0]}")

    sys.addaudithook(hook)
    return count


def in_child(work: Callable[[], Any]) -> tuple[int, Any]:
    """Run something in a forked process; return how it ended and what it returned."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        code = 70
        try:
            answer = work()
            code = 0
        except BaseException:  # noqa: BLE001 - whatever it was, the parent reports it
            answer = traceback.format_exc()
        with os.fdopen(writing, "w") as pipe:
            json.dump(answer, pipe)
        os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), json.loads(text) if text else None


@dataclass
class Case:
    """What is killed, and from where it starts; always at the same place, for a plan names it."""

    # the job, made once; each crash starts from hard links to it, which are the same objects to
    # a local storage
    story: Story
    template: Path  # holds them
    args: tuple[object, ...]  # what is killed

    def reset(self) -> None:
        folder = self.story.bed.folder
        shutil.rmtree(folder)
        shutil.copytree(self.template, folder, copy_function=os.link)

    def crash(self, number: int) -> tuple[int, Any]:
        """Kill the command before that step; a code of 0 means that there is no such step."""

        def work() -> Any:
            at_step(number, lambda _: os.kill(os.getpid(), signal.SIGKILL))
            ran = run(*self.args)
            return [ran.code, ran.err]

        return in_child(work)


def prepared(folder: Path, mode: str) -> Case:
    """Return the case of a mode: ``plan``, ``tombstone`` or ``delete``."""
    bed = Bed(folder / "work", (*ENDED, *AT_ONCE, "--max-delete-share", "0.9"))
    story = make_story(bed, orphans=4)

    def make() -> list[str]:
        if mode == "delete":
            bed.cycle()
        args = ("plan", bed.root, "--state", bed.state, "--out", bed.folder / "p", *bed.options)
        if mode != "plan":
            plan = bed.plan()
            args = ("sweep", plan.path, *(["--delete"] if mode == "delete" else []))
        return [str(each) for each in args]

    code, args = in_child(make)
    assert code == 0, args
    shutil.copytree(bed.folder, folder / "template", copy_function=os.link)
    return Case(story, folder / "template", tuple(args))


def recovered(story: Story, before: dict[str, Any]) -> dict[str, Any]:
    """Go on after a crash until nothing is left to do; check that all is as it must be."""
    bed = story.bed
    bed.plans = 50
    left = sum(path.exists() for path in story.orphans)
    runs = 0
    while runs == 0 or any(path.exists() for path in story.orphans):
        runs += 1
        assert runs <= 2, "two cycles must do"
        _, swept = bed.cycle()
        assert swept.code == 0, swept.err
    check_end(bed, story, before)
    return {"left": left, "runs": runs}


def check_end(bed: Bed, story: Story, before: dict[str, Any]) -> None:
    """Check that exactly the orphans went, each with a line in the journal, and nothing hangs."""
    gone = {str(path.relative_to(bed.root)) for path in story.orphans}
    after = {name: each for name, each in before.items() if name not in gone}
    assert contents(bed.root) == after
    (state,) = bed.state.iterdir()
    journal = [
        json.loads(line)["key"]
        for file in state.glob("runs/*/batch-??????.jsonl")
        for line in file.read_text().splitlines()
    ]
    assert gone <= set(journal), "deleted, and not written down"
    assert not gone - set(journal)
    assert list(state.glob("open/*.json")) == [], "a dead run is still open"
    assert not [f for f in state.glob("lock/*.json") if b"token" in f.read_bytes()], "locked"
    assert not (state / "halted.json").exists(), "halted for nothing"
    plan = bed.plan()
    assert {row["reason"] for row in plan.rows.values()} <= {"referenced", "report_only"}


def crashed_everywhere(folder: Path, mode: str, stride: int = 1) -> dict[str, Any]:
    """Crash before each step in turn, or one in ``stride``, recover, and report what failed."""
    case = prepared(folder, mode)
    before = contents(case.story.bed.root)
    failures, ends = [], []
    for number in range(1, 1000, stride):
        case.reset()
        code, said = case.crash(number)
        if code == 0:
            return {"steps": number - 1, "said": said, "failures": failures, "ends": ends}
        assert code == -signal.SIGKILL, said
        code, found = in_child(lambda: recovered(case.story, before))
        if code == 0:
            ends.append(found)
        else:
            failures.append({"step": number, "error": found})
    raise AssertionError("it never ends")


def stalled(folder: Path, ready: Path) -> None:
    """Sweep, and stall at the first deletion until the file is gone that is written then."""
    begun: list[str] = []

    def stall(event: str, args: tuple[Any, ...]) -> None:
        if event == "os.remove" and len(str(args[0])) == 36 and not begun:
            begun.append(event)
            ready.touch()
            while ready.exists():
                time.sleep(0.02)

    sys.addaudithook(stall)
    sys.argv = ["orphangc", "sweep", str(folder), "--delete"]
    main()


if __name__ == "__main__":
    if sys.argv[1] == "stall":
        stalled(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        mode, folder, stride = sys.argv[1:]
        print(json.dumps(crashed_everywhere(Path(folder), mode, int(stride))))
