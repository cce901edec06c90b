"""The Typer application, its command groups, and the options of every command."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from flinkstate.console.options import CommandGroup
from orphangc import __version__
from orphangc.app.cli.help_text import App
from orphangc.app.console.verbosity import asked
from orphangc.hidden_modules import hidden

_ANYWHERE = frozenset({"-v", "--verbose", "-q", "--quiet"})


class _TopGroup(CommandGroup):
    """All commands; its help is plain text, because Rich costs as much as everything else of it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``-v`` and ``-q`` wherever they stand."""
        end = args.index("--") if "--" in args else len(args)
        common = [each for each in args[:end] if each in _ANYWHERE]
        return super().parse_args(
            ctx, [*common, *(a for a in args[:end] if a not in _ANYWHERE), *args[end:]]
        )

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write usage, options and commands, each command with its whole first sentence."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        options = [shown for each in self.get_params(ctx) if (shown := each.get_help_record(ctx))]
        commands = [(name, _first_paragraph(each)) for name, each in self.commands.items()]
        for title, rows in (("Options", options), ("Commands", commands)):
            with formatter.section(title):
                formatter.write_dl([row for row in rows if row[1]])
        self.format_epilog(ctx, formatter)


def _first_paragraph(command: Any) -> str:
    """Return what a command does, "" for a hidden one."""
    return "" if command.hidden else " ".join((command.help or "").partition("\n\n")[0].split())


app = App(
    name="orphangc",
    cls=_TopGroup,
    help="Finds and removes orphaned Apache Flink checkpoint files; every doubt keeps the file.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
registry_commands = App(
    help="Registry snapshots: what Flink still uses.",
    epilog="Example: orphangc registry show snapshot.jsonl",
    no_args_is_help=True,
)
app.add_typer(registry_commands, name="registry")
config_commands = App(
    help="The configuration file of run and serve.",
    epilog="Example: orphangc config show --config orphangc.yaml",
    no_args_is_help=True,
)
app.add_typer(config_commands, name="config")


class _WorldGroup(TyperGroup):
    """Command group in which ``world ROOT`` means ``world show ROOT``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert ``show`` if the first argument names no command."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["show", *args]
        return super().parse_args(ctx, args)


world_commands = App(
    cls=_WorldGroup,
    help="Show what is searched and named, and what changed since earlier cycles. Give ROOT or"
    " --config"
    " FILE (all options: orphangc world show --help), or a command.",
    epilog="Example: orphangc world --config orphangc.yaml",
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
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Log single steps as well, anywhere in a command."),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print results and errors only.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show version.")
    ] = False,
) -> None:
    """Set up the logs of every command."""
    del version
    with hidden("rich"):  # from structlog
        from orphangc.app.telemetry.logs import configure_logs  # noqa: PLC0415 - not for help

    asked.is_verbose, asked.is_quiet, asked.audit_log = verbose, quiet, None
    configure_logs()
