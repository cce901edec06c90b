"""The reference pages say what the code says, and leave nothing out."""

import re

import pytest

from orphangc.app.config.schema import configuration_schema
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.types import Reason
from orphangc.errors import ExitCode
from support.reference import FOLDER, pages

pytestmark = pytest.mark.ci

PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_current(name: str) -> None:
    """``PYTHONPATH=tests python -m support.reference`` writes it."""
    assert (FOLDER / name).read_text() == PAGES[name]


def test_no_other_page_lies_there() -> None:
    """A page that the script does not write would grow old."""
    assert {each.name for each in FOLDER.iterdir()} == PAGES.keys()


def test_every_key_of_the_configuration_schema_is_there() -> None:
    """A section without a table would be found in the schema alone."""
    schema = configuration_schema()
    parts = [schema, *schema["$defs"].values()]
    keys = {
        key
        for part in parts
        for key, each in part.get("properties", {}).items()
        if not each.get("deprecated")
    }
    sections = {"discovery", "http", "log", "metrics"}
    assert [
        key for key in sorted(keys - sections) if f"| `{key}` |" not in PAGES["configuration.md"]
    ] == []
    assert [
        each for each in sorted(sections) if f"## `{each}:`" not in PAGES["configuration.md"]
    ] == []


def test_every_reason_is_there_in_the_order_of_the_rule() -> None:
    """``test_kernel`` holds the order of ``Reason``: the first that applies is the reason."""
    rows = re.findall(r"^\| `(\w+)` \|", PAGES["verdicts.md"], re.MULTILINE)
    assert rows[: len(Reason)] == list(Reason)


def test_every_code_is_there() -> None:
    """Guards, conditions and exit codes, each with its meaning."""
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| R", PAGES["guards.md"], re.MULTILINE)
    assert sorted(rows) == sorted([*map(str, Guard), *map(str, Condition)])
    codes = re.findall(r"^\| `(\d+)` \| [A-Z]", PAGES["exit-codes.md"], re.MULTILINE)
    assert set(map(int, codes)) == {*map(int, ExitCode), 130, 143}
