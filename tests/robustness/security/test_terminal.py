"""Logs for people obey nobody: what a terminal would do is spelled out."""

import json
import re

import pytest
import structlog
from rich.table import Table

from cli.helpers import Bed, run
from cli.stories import make_story
from flinkstate.tables.printing import print_tables
from flinkstate.text.shown_text import visible
from orphangc.app.config.configuration import LogSettings
from orphangc.app.console.exit import complain
from orphangc.app.telemetry.logs import configure_logs

HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202etxt.\x9b31m"


@pytest.fixture(autouse=True)
def own_logs():
    """Leave the configuration as it was."""
    yield
    structlog.reset_defaults()


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_no_name_reaches_the_terminal_as_it_is(capsys, log_format: str) -> None:
    """In either form, as a value, as an exception's message."""
    configure_logs(LogSettings(format=log_format))
    try:
        int(HOSTILE)
    except ValueError:
        structlog.get_logger().exception("metadata.rejected", uri=HOSTILE)
    shown = capsys.readouterr().err
    if log_format == "json":
        assert json.loads(shown)["uri"] == HOSTILE
    assert not any(text in shown for text in ("\x1b[2J", "\x1b]0", "\x07", "\u202e", "\x9b"))


def test_no_complaint_reaches_the_terminal_as_it_is(capsys) -> None:
    """One line, with the name in it."""
    complain(f"cannot read s3://bucket/{HOSTILE}: gone")
    shown = capsys.readouterr().err
    assert shown.startswith("orphangc: cannot read s3://bucket/\\x1b[2J")
    assert shown.isprintable() or shown.rstrip("\n").isprintable()


@pytest.mark.parametrize("name", ["[/x]", "[bold]", ":warning:", "esc\x1b[2J"], ids=ascii)
def test_no_name_is_obeyed_in_a_table(tmp_path, name: str) -> None:
    """Rich's markup and emoji codes are as much an order as a terminal's escapes.

    Of a folder: as a snapshot's, and as the directory that a registry snapshot states.
    """
    story = make_story(Bed(tmp_path / name))
    snapshot = tmp_path / "snapshot"
    for command in (
        ("users-of", story.job.folder / "chk-8"),
        ("registry", "export", story.bed.root, "--job", story.job.id, "--out", snapshot),
        ("registry", "show", snapshot),
    ):
        ran = run(*command, "--output", "table")
        whole = re.sub(r"[\s│]", "", ran.out)  # a long name goes on in the next line
        assert (ran.code, visible(name) in whole, "\x1b" in ran.out) == (0, True, False), ran.err


@pytest.mark.parametrize("name", ["[/x]", "[bold]", ":warning:"])
def test_every_table_shows_a_text_as_it_is(capsys, name: str) -> None:
    """Also a title, a caption and a line of its own."""
    table = Table("column", title=f"title {name}", caption=f"caption {name}")
    table.add_row(f"cell {name}")
    print_tables([f"line {name}", table])
    shown = capsys.readouterr().out
    assert all(f"{part} {name}" in shown for part in ("line", "title", "cell", "caption"))
