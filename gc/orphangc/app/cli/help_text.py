"""Help in groups that fit a screen; ``--help-all`` shows the options that few need, too.

Plain text: Rich's boxes would cost as much as everything else that a command's help loads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import typer
from typer.core import TyperArgument, TyperCommand

_ALL = "orphangc.help_all"
"""Mark of a context whose help shows all options."""

_Function = TypeVar("_Function", bound=Callable[..., Any])

SELDOM = frozenset(
    {
        *("checkpoint_id_margin", "clock_skew", "quiet_period", "allow_short_margins", "scope"),
        *("registry_wait", "job_archives", "merged_within", "owner", "accept_flink_version"),
        *("zookeeper_ha", "kubernetes_ha", "unsafe_acknowledge_root", "empty_roots", "engine"),
        *("inventory", "inventory_max_age", "noncurrent_versions", "abort_uploads", "work"),
        *("max_deletes", "max_delete_share", "delete_rate", "report", "summary", "relist"),
        *("unsafe_clear_halt", "spark_threshold", "continued", "price", "registry"),
        *("keep_daily", "keep_weekly", "keep_monthly", "search", "search_except"),
    }
)
"""Options that ``--help`` leaves out where a command has more than fit a screen."""

_KIND = re.compile(r"<([^<>]*)>")
_SCREEN = 12
"""Number of options that a command may have and show all of them."""

_DURATIONS = frozenset(
    {
        *("grace_period", "quarantine_period", "clock_skew", "quiet_period", "registry_wait"),
        *("inventory_max_age", "wait", "keep_within", "ended_for"),
    }
)
_URLS = frozenset(
    {
        *("flink_rest", "extra_roots", "state", "registry", "pin", "work", "inventory"),
        *("pushgateway", "root"),
    }
)
_OLD_SPELLINGS = {"--job-archives": "--job-archive", "--empty-roots": "--empty-root"}
"""Spellings of options that are still accepted, and named in a warning."""

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
        """Show all options if asked for, and warn of old spellings."""
        if "--help-all" in args:
            ctx.meta[_ALL] = True
            typer.echo(ctx.get_help())
            ctx.exit()
        for old in (each for each in args if each.partition("=")[0] in _OLD_SPELLINGS):
            _warn(old.partition("=")[0])
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


def _groups(
    params: Sequence[Any],
) -> Iterator[tuple[str, list[Any]]]:
    """Yield each group's title with its parameters, in the order of their first ones."""
    found: dict[str, list[Any]] = {}
    for each in params:
        is_argument = isinstance(each, TyperArgument)
        title = getattr(each, "rich_help_panel", None)
        found.setdefault(title or ("Arguments" if is_argument else "Options"), []).append(each)
    yield from found.items()


def _row(param: Any, ctx: Any) -> tuple[str, str] | None:
    """Return how an option is spelled, with the kind of its value, and its help."""
    row = param.get_help_record(ctx)
    if row is None:
        return None
    words, text = row
    words = words.replace(", --extra-roots", "")
    for old, new in _OLD_SPELLINGS.items():
        words = words.replace(f", {old}", "").replace(f"{old},", "").replace(f"{old}/", "")
        words = words.replace(old, new) if words.startswith(f"{old} ") else words
    return _KIND.sub(lambda match: _kind(match[1], param.name), words).rstrip(), text


def _kind(shown: str, name: str) -> str:
    """Return the kind of an option's value; a switch has none."""
    if shown == "bool":
        return ""
    if "str" in shown:
        return "DURATION" if name in _DURATIONS else "URL" if name in _URLS else "TEXT"
    if shown.startswith(("int", "float")):
        return "N"
    return "PATH" if "path" in shown.lower() else shown


def _warn(old: str) -> None:
    from orphangc.app.console.exit import complain  # noqa: PLC0415 - rarely needed

    complain(f"warning: {old} is the old spelling of {_OLD_SPELLINGS[old]}, and will be removed")


class App(typer.Typer):
    """Typer application whose commands have this help."""

    def command(self, name: str | None = None, **more: Any) -> Callable[[_Function], _Function]:
        """Register a command."""
        return super().command(name, **{"cls": HelpfulCommand, **more})
