"""Tables in the one light style: at any width no value of a row is broken."""

import io
import shlex

import pytest
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from flinkstate.tables.printing import DROPPED, _print

ROOT = "s3://bucket/checkpoints/of/a/team/in/production"
JOB = "0123456789abcdef0123456789abcdef"
WHY = "the job is neither seen running (--flink-rest) nor declared ended (--ended-job)"


def a_table(why: str = WHY) -> Table:
    """Return one with an id, a path, numbers and a sentence."""
    table = Table("storage root", "job", "mode", "bytes", "why")
    for _ in range(3):
        table.add_row(Text(ROOT), JOB, "report", "1.2 GB", why)
    return table


def printed(shown: object, width: int) -> str:
    file = io.StringIO()
    _print(Console(file=file, width=width, markup=False, emoji=False), shown)
    return file.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_no_word_is_broken_and_no_line_is_too_long(width: int) -> None:
    """A word that is longer than the line stands alone on it."""
    lines = printed(a_table(), width).splitlines()
    words = {word for line in lines for word in line.split()}
    assert {ROOT, JOB, *WHY.split()} <= words
    assert all(len(line.rstrip()) <= width or len(line.split()) <= 2 for line in lines)


@pytest.mark.parametrize(("width", "left"), [(114, "mode bytes"), (113, "bytes"), (105, "")])
def test_a_narrow_terminal_loses_columns_in_the_stated_order(width: int, left: str) -> None:
    """Those of which the list says so, and no other."""
    head, _, *rows = printed(a_table("it is not over"), width).splitlines()
    assert [each for each in head.split() if each in DROPPED] == left.split()
    assert head.split()[:: len(head.split()) - 1] == ["storage", "why"]
    assert all(row.count("it is not over") == row.count(ROOT) == 1 for row in rows)


def test_where_nothing_helps_each_row_is_a_paragraph() -> None:
    shown = printed(a_table(), 64)
    values = f"storage root: {ROOT}\n  job: {JOB}\n  mode: report\n  bytes: 1.2 GB\n"
    assert shown.count(values) == 3
    assert "\u2500" not in shown


@pytest.mark.parametrize("width", [40, 80])
def test_a_sentence_is_filled_and_its_path_stays_whole(width: int) -> None:
    """Also one behind an indent."""
    text = printed(Text(f"blocked: {ROOT}/{JOB}/shared cannot be read\nnext"), width)
    assert f"{ROOT}/{JOB}/shared" in text.split()
    assert text.endswith("next\n")


EVIL = "s3://old/it's; a 'place'/" + "x" * 90


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("indent", [0, 4])
def test_each_command_in_a_text_stands_whole_on_a_line_of_its_own(width: int, indent: int) -> None:
    """Two of them, among sentences: what is copied is what was meant."""
    words = ["orphangc", "world", "acknowledge", ROOT, "place_lost"]
    commands = [shlex.join([*words, EVIL, "--state", "s3://ops/it"]), shlex.join([*words, JOB])]
    told = f"place_lost: it held 3, run: {commands[0]}; state_lost: it is lost: run: {commands[1]}"
    lines = printed(Padding(Text(told, "dim"), (0, 0, 0, indent)), width).splitlines()
    assert [line.strip() for line in lines if line.strip().startswith("orphangc ")] == commands
    assert [shlex.split(each)[5] for each in commands] == [EVIL, JOB]
    others = [line for line in lines if line.strip() not in commands]
    assert all(len(line) <= width for line in others)
    assert "state_lost: it is lost: run:" in " ".join(" ".join(others).split())


@pytest.mark.parametrize("width", [40, 80])
def test_the_name_of_a_command_is_not_broken(width: int) -> None:
    """Nor an option from its value."""
    for more in range(width):
        sentence = f"{'x' * more} say so with orphangc world acknowledge, or --empty-root URI."
        lines = printed(Text(sentence), width).splitlines()
        assert sum("orphangc world acknowledge," in line for line in lines) == 1
        assert sum("--empty-root URI." in line for line in lines) == 1
