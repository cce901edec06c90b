"""What ``doctor`` prints of an obstacle: the command in it can be copied."""

import io

from rich.console import Console
from rich.text import Text

from flinkstate.tables.printing import print_text
from orphangc.app.commands.operate import doctor
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.stops import Fate, Unmet

COMMAND = "orphangc world acknowledge s3://b/cp place_lost s3://b/sp --state s3://b/state"


def test_what_follows_a_command_is_no_part_of_it() -> None:
    message = f"s3://b/sp is lost: bring it back, or run: {COMMAND}"
    obstacle = Unmet(Fate.BLOCKED, "place_lost", message)
    console = Console(file=io.StringIO(), width=60)
    print_text(console, Text(doctor._stopped("s3://b/cp", "job", obstacle, JobNames()).message))
    lines = [each.strip() for each in console.file.getvalue().splitlines()]
    assert lines[lines.index(COMMAND) + 1].startswith("Mount the place")
