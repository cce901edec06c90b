"""What the documents show can be typed: options, commands, examples of the configuration file."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from flinkstate.console.application import app as flinkstate
from orphangc.app.cli import app
from orphangc.app.config.load import load_configuration
from support.reference import commands

pytestmark = pytest.mark.ci

TOP = Path(__file__).parents[3]
README = (TOP / "README.md").read_text()
OURS = [TOP / "README.md", *sorted((TOP / "gc").glob("*.md")), *sorted(TOP.glob("gc/*/*.md"))]
PROGRAMS = {"orphangc": get_command(app), "flinkstate": get_command(flinkstate)}

_OTHERS = {"--allow-non-restored-state", "--noconftest", "--set"}
"""Options of other programs that the documents name."""


def _name(path: Path) -> str:
    return path.relative_to(TOP).as_posix()


def _options() -> set[str]:
    roots = PROGRAMS.values()
    every = [*roots, *(command for root in roots for _, command in commands(root))]
    return {option for each in every for one in each.params for option in one.opts}


def _said(page: Path) -> str:
    return "" if page.name == "CHANGELOG.md" else page.read_text()


@pytest.mark.parametrize("page", OURS, ids=_name)
def test_an_option_that_a_page_names_exists(page: Path) -> None:
    """An operator can type what a page shows."""
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", _said(page)))
    assert sorted(named - _options() - _OTHERS) == []


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```(?:{language})\n(.*?)```", README, re.MULTILINE | re.DOTALL)


def test_the_readme_is_short_and_begins_with_two_commands() -> None:
    """``.ci/run`` takes the second; an operator reads the whole."""
    assert len(README.splitlines()) <= 90
    first, second = _blocks("sh|shell|console|bash")[:2]
    install = "python3 -m venv .venv && .venv/bin/pip install -q -c requirements.lock -e "
    assert first == f"{install}. && .venv/bin/orphangc demo\n"
    assert second == f"{install}'.[dev,spark]' && .venv/bin/pytest\n"


def test_the_readmes_configuration_is_one(tmp_path) -> None:
    """It passes every check that a configuration file passes."""
    (text,) = _blocks("yaml")
    file = tmp_path / "orphangc.yaml"
    file.write_text(text)
    assert len(load_configuration(file).storage_roots) == 1


def test_the_configuration_of_three_clusters_is_one(tmp_path, monkeypatch) -> None:
    """The guide's, which its story ends with."""
    monkeypatch.setenv("REST_PASSWORD", "secret")
    page = (TOP / "gc" / "guide" / "three-clusters.md").read_text()
    (text,) = re.findall(r"^```yaml\n(.*?)```", page, re.MULTILINE | re.DOTALL)
    file = tmp_path / "orphangc.yaml"
    file.write_text(text)
    assert len(load_configuration(file).storage_roots) == 2


def _shown(page: Path) -> list[str]:
    """Return the command lines of a page: in its blocks, and whole ones in its sentences."""
    text = page.read_text()
    blocks = re.findall(r"^```(?:sh|console|)\n(.*?)```", text, re.MULTILINE | re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", "")
    found = re.findall(r"^ *(?:\$ )?((?:orphangc|flinkstate) .*)", lines, re.MULTILINE)
    if page == TOP / "README.md" or page.parent.name == "guide":
        inline = re.findall(r"(?<!`)`((?:orphangc|flinkstate) [^`]+)`(?!`)", text)
        found += [each for each in inline if re.search(r" (?:--|[A-Z])", each)]
    return [each for each in found if " -> " not in each]


SHOWN = {
    f"{_name(page)}: {line}": shlex.split(line.partition(" | ")[0], comments=True)
    for page in (*OURS, *sorted(TOP.glob("deploy/**/*.md")), *sorted(TOP.glob("helm/*/*.md")))
    if page.name != "CHANGELOG.md" and page.parent.name not in {"reference", "decisions"}
    for line in _shown(page)
}


@pytest.mark.parametrize("line", SHOWN)
def test_a_command_that_a_page_shows_can_be_typed(line: str) -> None:
    """Its options are those of the very command; nothing is run."""
    program, *words = SHOWN[line]
    command = PROGRAMS[program]
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words[0]]
        words = words[1:]
    command.make_context(program, list(words))


def test_the_readme_shows_each_step() -> None:
    """From a plan to a deletion, by hand and on a schedule."""
    shown = [words for line, words in SHOWN.items() if line.startswith("README.md: ")]
    assert {"plan", "sweep", "world", "undelete"} <= {each[1] for each in shown}
    assert any("--delete" in each for each in shown)
