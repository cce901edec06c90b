"""The Typer application: command groups, options of every command, and help that fits a screen.

``--help-all`` shows the options that few need, too. Plain text: Rich's boxes would cost as much as
everything else that a command's help loads.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption

from flinkstate.console.options import CommandGroup
from orphangc import __version__
from orphangc.app.console.options import SELDOM as SELDOM_SETTINGS
from orphangc.app.console.setting_texts import SETTINGS
from orphangc.app.console.verbosity import asked
from orphangc.hidden_modules import hidden

_ALL = "orphangc.help_all"
"""Mark of a context whose help shows all options."""

_Function = TypeVar("_Function", bound=Callable[..., Any])

SELDOM = SELDOM_SETTINGS | {"report", "summary", "relist", "unsafe_clear_halt", "price"}
"""Options that ``--help`` leaves out where a command has more than fit a screen."""

_KIND = re.compile(r"<([^<>]*)>")
_SCREEN = 12
"""Number of options that a command may have and show all of them."""

_OLD_SPELLINGS = {
    old: old.removesuffix("s")
    for name, (_, _, shown, _) in SETTINGS.items()
    for old in [f"--{name.replace('_', '-')}"]
    if shown.is_one
}
"""Spellings of options that are still accepted, and no help shows."""
_OF_THE_CONTRACT = "--extra-roots"
"""One of them that no warning names."""

_EXIT_CODES = {
    "plan": "0 done; 2 usage; 4 a guard refused every job; 10 storage unreachable",
    "sweep": "0 done; 2 usage; 3 some deletions failed; 4 a guard refused, nothing was deleted;"
    " 10 storage unreachable; 11 another run holds the lock",
    "run": "0 done, or blocked; 2 configuration; 3 some deletions failed; 4 a guard refused every"
    " job; 10 storage unreachable; 11 another run holds the lock",
}


class HelpfulCommand(TyperCommand):
    """Command with plain help in groups, and ``--help-all``."""

    @property
    def seldom(self) -> list[Any]:
        """Return the options that ``--help`` leaves out."""
        shown = [each for each in self.params if not getattr(each, "hidden", False)]
        found = [each for each in shown if each.name in SELDOM]
        return found if len(shown) > _SCREEN else []

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Show all options if asked for; warn of old spellings, and of two values of one option."""
        if "--help-all" in args:
            ctx.meta[_ALL] = True
            typer.echo(ctx.get_help())
            ctx.exit()
        for old in (each.partition("=")[0] for each in args):
            if old in _OLD_SPELLINGS and old != _OF_THE_CONTRACT:
                _warn(f"{old} is the old spelling of {_OLD_SPELLINGS[old]}, and will be removed")
        for each in self.get_params(ctx):
            is_one = isinstance(each, TyperOption) and not (each.multiple or each.is_flag)
            if is_one and len(_values(args, {*each.opts})) > 1:
                _warn(f"{each.opts[0]} has one value: of those given the last one counts")
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write usage, purpose, groups of options, example and exit codes."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        left_out = () if ctx.meta.get(_ALL) else tuple(self.seldom)
        for title, params in _groups(self.get_params(ctx)):
            rows = [_row(each, ctx) for each in params if each not in left_out]
            if any(rows):
                with formatter.section(title):
                    formatter.write_dl([row for row in rows if row is not None])
        if left_out:
            formatter.write_paragraph()
            formatter.write_text(f"{len(left_out)} more options: --help-all")
        self.format_epilog(ctx, formatter)
        if self.name in _EXIT_CODES:
            formatter.write_paragraph()
            formatter.write_text(f"Exit codes: {_EXIT_CODES[self.name]}.")


def _values(args: Sequence[str], names: set[str]) -> set[str]:
    """Return every value that is given to an option of one value."""
    found = zip_longest(args, args[1:], fillvalue="")
    parts = [(*name.partition("="), following) for name, following in found]
    return {value if joined else after for name, joined, value, after in parts if name in names}


def _groups(params: Sequence[Any]) -> Iterator[tuple[str, list[Any]]]:
    found: dict[str, list[Any]] = {}
    for each in params:
        is_argument = isinstance(each, TyperArgument)
        title = getattr(each, "rich_help_panel", None)
        found.setdefault(title or ("Arguments" if is_argument else "Options"), []).append(each)
    yield from found.items()


def _row(param: Any, ctx: Any) -> tuple[str, str] | None:
    row = param.get_help_record(ctx)
    if row is None:
        return None
    words, text = row
    for old, new in _OLD_SPELLINGS.items():
        words = words.replace(f", {old}", "").replace(f"{old},", "").replace(f"{old}/", "")
        words = words.replace(old, new) if words.startswith(f"{old} ") else words
    return _KIND.sub(lambda match: _kind(match[1], param.name), words).rstrip(), text


def _kind(shown: str, name: str) -> str:
    if shown == "bool":
        return ""
    if "str" in shown:
        return "URL" if name == "root" else "TEXT"
    if shown.startswith(("int", "float")):
        return "N"
    return "PATH" if "path" in shown.lower() else shown


def _warn(said: str) -> None:
    from orphangc.app.console.exit import complain  # noqa: PLC0415 - rarely needed

    complain(f"warning: {said}")


class App(typer.Typer):
    """Typer application whose commands have this help."""

    def command(self, name: str | None = None, **more: Any) -> Callable[[_Function], _Function]:
        """Register a command."""
        return super().command(name, **{"cls": HelpfulCommand, **more})


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
    cls=CommandGroup,
    help="Registry snapshots: what Flink still uses.",
    epilog="Example: orphangc registry show snapshot.jsonl",
    no_args_is_help=True,
)
app.add_typer(registry_commands, name="registry")
config_commands = App(
    cls=CommandGroup,
    help="The configuration file of run and serve.",
    epilog="Example: orphangc config show --config orphangc.yaml",
    no_args_is_help=True,
)
app.add_typer(config_commands, name="config")


class _WorldGroup(CommandGroup):
    """Command group in which ``world ROOT`` means ``world show ROOT``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert ``show`` if the first argument names no command."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["show", *args]
        return super().parse_args(ctx, args)


world_commands = App(
    cls=_WorldGroup,
    help="Show what is searched and named, and what changed since earlier cycles. Give ROOT or"
    " --config FILE (all options: orphangc world show --help), or a command.",
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
