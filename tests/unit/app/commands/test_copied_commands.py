"""What ``doctor`` prints of an obstacle: the command in it can be copied."""

import io

from rich.console import Console
from rich.text import Text

from flinkstate.tables.printing import print_text
from orphangc.app.commands.operate import doctor
from orphangc.app.commands.world.obstacles import Obstacle
from orphangc.app.render.shown_names import JobNames

COMMAND = "orphangc world acknowledge s3://b/cp place_lost s3://b/sp --state s3://b/state"


def test_what_follows_a_command_is_no_part_of_it() -> None:
    message = f"s3://b/sp is lost: bring it back, or run: {COMMAND}"
    obstacle = Obstacle(code="place_lost", message=message, remedy="Mount the place.")
    console = Console(file=io.StringIO(), width=60)
    print_text(console, Text(doctor._stopped("s3://b/cp", "job", obstacle, JobNames()).message))
    *_, command, remedy = console.file.getvalue().splitlines()
    assert (command.strip(), remedy.strip()) == (COMMAND, "Mount the place.")
