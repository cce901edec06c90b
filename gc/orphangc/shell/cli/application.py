"""The application that commands belong to, and what they share."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from orphangc import __version__
from orphangc.shell.logs import configure_logs

__all__ = ["app", "config_commands", "registry_commands", "world_commands"]

app = typer.Typer(
    name="orphangc",
    help="Finds and removes orphaned Apache Flink checkpoint files; every doubt keeps the file.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
registry_commands = typer.Typer(
    help="Registry snapshots: what Flink still uses.",
    epilog="Example: orphangc registry show snapshot.jsonl",
    no_args_is_help=True,
)
app.add_typer(registry_commands, name="registry")
config_commands = typer.Typer(
    help="The configuration file of run and serve.",
    epilog="Example: orphangc config show --config orphangc.yaml",
    no_args_is_help=True,
)
app.add_typer(config_commands, name="config")
world_commands = typer.Typer(
    help="What was searched and named, and what changed since earlier cycles.",
    epilog="Example: orphangc world acknowledge s3://bucket/checkpoints place_lost s3://other",
    no_args_is_help=True,
)
app.add_typer(world_commands, name="world")


def _show_version(*, value: bool) -> None:
    if value:
        sys.stdout.write(f"orphangc {__version__}\n")
        raise typer.Exit


@app.callback()
def common(
    *,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log single steps too.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show version.")
    ] = False,
) -> None:
    """Set up what all commands share."""
    del version
    configure_logs(is_verbose=verbose)
