"""Help that fits a screen, spellings of options, completion in three shells."""

import os
import sys
from pathlib import Path

import pytest
import typer

from cli.helpers import run
from cli.scheduled import Configured, events, settings_of
from cli.stories import Story
from orphangc.app.cli import app
from orphangc.app.cli.application import SELDOM
from support.accepted import listed_options, options
from support.processes import finished
from support.reference import commands

ROOT = Path(__file__).parents[2]
SCREEN = 52
COMMANDS = [words for words, _ in commands(typer.main.get_command(app))]
SCRIPTS = {"bash": "orphangc.bash", "zsh": "_orphangc", "fish": "orphangc.fish"}


def helped(*words: str) -> str:
    ran = finished(
        [sys.executable, "-m", "orphangc", *words], check=True, env={**os.environ, "COLUMNS": "80"}
    )
    return ran.stdout


@pytest.mark.parametrize("words", ["plan", "sweep", "run", "expire", "lineage", "inspect"])
def test_help_fits_a_screen_and_names_kinds_of_values(words: str) -> None:
    """No value is a type of Python."""
    shown = helped(*words.split(), "--help")
    assert len(shown.splitlines()) <= SCREEN
    assert not {"<str>", "<list[str]>", "<bool>", "<path>"} & set(shown.split())
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_an_option_that_takes_several_paths_is_shown_as_a_path() -> None:
    """Not by the name of its type in Python."""
    assert "--file PATH " in helped("discover", "--help")


def test_the_kind_of_a_value_is_said_at_its_option() -> None:
    """Not by its name: another command's ``--state`` is a name, and no place."""
    assert "--state URL " in helped("plan", "--help")
    assert "--state TEXT " in helped("extract", "--help")


def test_help_all_shows_what_few_need() -> None:
    """Help says how many options it leaves out."""
    short, whole = helped("plan", "--help"), helped("plan", "--help-all")
    assert "--help-all" in short
    assert "--inventory-max-age DURATION" in whole
    assert "--inventory-max-age" not in short
    for each in ("--ended-job", "--closed-world", "--state URL", "--grace-period DURATION"):
        assert each in short


def test_each_option_that_help_leaves_out_exists() -> None:
    """A name that no command has would hide nothing."""
    every = [command for _, command in commands(typer.main.get_command(app))]
    assert {each.name for command in every for each in command.params} >= SELDOM


@pytest.mark.parametrize("word", ["plan", "sweep", "run"])
def test_exit_codes_end_the_help(word: str) -> None:
    """Those that a script must know."""
    assert "Exit codes: 0 done" in helped(word, "--help").splitlines()[-2:][0] + "".join(
        helped(word, "--help").splitlines()[-3:]
    )


def test_every_option_that_was_ever_accepted_still_is() -> None:
    """A command line of an old script is no usage error: nothing leaves the list."""
    assert listed_options() == options()


@pytest.mark.parametrize(
    "option", ["--extra-root", "--extra-roots", "--empty-root", "--empty-roots"]
)
def test_old_spellings_are_accepted(story: Story, option: str) -> None:
    """A warning names the new one, but for that of the contract."""
    place = story.bed.folder / "savepoints"
    place.mkdir()
    ran = run("plan", story.bed.root, *story.bed.options, option, place)
    assert ran.code == 0, ran.err
    warned = [line for line in ran.complaints if "old spelling" in line]
    assert len(warned) == (option == "--empty-roots")


def test_keys_are_accepted_in_both_spellings(story: Story) -> None:
    """The old one with a warning; both at once are an error."""
    place = story.bed.folder / "savepoints"
    place.mkdir()
    said = {}
    for key in ("extra_root", "extra_roots"):
        ran = Configured.of(story, settings_of(story, **{key: [str(place)]})).run()
        assert ran.json[0]["refusals"] == {"place_without_checkpoints": 1}
        said[key] = [line["new"] for line in events(ran.err, "settings.old_spelling")]
    assert said == {"extra_root": [], "extra_roots": ["extra_root"]}
    both = settings_of(story, extra_root=[str(place)], extra_roots=[str(place)])
    ran = Configured.of(story, both).run()
    assert (ran.code, "is there twice" in ran.complaints[0]) == (2, True)


def test_the_shown_configuration_is_a_file_in_the_words_of_files(story: Story) -> None:
    """Given back, it is the same configuration, and no warning names an old spelling."""
    configured = Configured.of(story, settings_of(story, extra_root=[str(story.bed.folder)]))
    shown = run("config", "show", "--config", configured.path)
    file = story.bed.folder / "shown.yaml"
    file.write_text(shown.out)
    again = run("config", "show", "--config", file)
    assert (again.out, events(again.err, "settings.old_spelling")) == (shown.out, [])


@pytest.mark.parametrize("group", ["config", "registry", "world"])
def test_a_group_shows_what_its_commands_do_to_the_end(group: str) -> None:
    """No sentence ends in dots."""
    assert "..." not in run(group, "--help").out.partition("Commands:")[2]


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_shipped_completion_is_that_of_the_program(shell: str) -> None:
    """Rewritten by ``_ORPHANGC_COMPLETE=source_SHELL orphangc > deploy/completion/FILE``."""
    made = finished(
        [Path(sys.executable).with_name("orphangc")],
        check=True,
        env={**os.environ, "_ORPHANGC_COMPLETE": f"source_{shell}"},
    )
    shipped = (ROOT / "deploy" / "completion" / SCRIPTS[shell]).read_text()
    assert made.stdout == shipped


def test_bash_completes_commands_and_options() -> None:
    """In a real bash, by the shipped script."""
    script = (
        f"PATH={Path(sys.executable).parent}:$PATH; . {ROOT}/deploy/completion/orphangc.bash;"
        " COMP_WORDS=(orphangc plan --quaran); COMP_CWORD=2; _orphangc_completion orphangc;"
        ' echo "${COMPREPLY[@]}"'
    )
    ran = finished(["bash", "-c", script], check=True)
    assert ran.stdout.split() == ["--quarantine-period"]
