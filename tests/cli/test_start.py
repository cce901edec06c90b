"""A command loads what it needs and nothing else, so that help and completion come at once."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
import typer

from orphangc.app.cli import app
from orphangc.core.model.settings import StorageRootSettings, parse_duration

HEAVY = {"pyarrow", "numpy", "pandas", "pyspark", "fsspec", "s3fs", "botocore", "aiobotocore"}
SHOW_HELP = """
import contextlib, io, sys
from orphangc.app.cli import app
for command in {commands}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        app([*command, "--help"])
print(*sys.modules)
"""


def commands(
    group: click.Command, path: tuple[str, ...] = ()
) -> dict[tuple[str, ...], click.Command]:
    found = {path: group}
    for name, each in getattr(group, "commands", {}).items():
        found |= commands(each, (*path, name))
    return found


COMMANDS = commands(typer.main.get_command(app))


def test_help_loads_neither_arrow_nor_a_storage_client() -> None:
    """Of every command and group: the options alone say what the help shows."""
    code = SHOW_HELP.format(commands=[list(each) for each in COMMANDS])
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    modules = set(loaded.stdout.split())
    assert "orphangc.app.console.options" in modules
    assert HEAVY & modules == set()
    assert {each for each in modules if each.startswith("orphangc.adapters")} == set()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_option_has_the_default_of_its_setting(command: tuple[str, ...]) -> None:
    """``plan`` and the configuration file mean the same where they say nothing."""
    for each in COMMANDS[command].params:
        setting = StorageRootSettings.model_fields.get(each.name or "")
        if setting is None or each.default in (None, False) or command == ("sweep",):
            continue
        default = setting.get_default()
        is_text = isinstance(each.default, str)
        assert (parse_duration(each.default) if is_text else each.default) == default
