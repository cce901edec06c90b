"""Logs: events on stderr, as lines for people on a terminal and as JSON elsewhere."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import structlog
from structlog.typing import EventDict, Processor

from orphangc.app.console.text import visible
from orphangc.core.model.redaction import redacted

if TYPE_CHECKING:
    from orphangc.app.config.configuration import LogSettings

_MAY_HIDE = re.compile("(?i:@|=|%3d|a[ks]ia|token|secret|pass|pwd|bearer|key)")
"""Signs of a secret in a text; most lines have none and need no redaction."""
_EXACT = ("key", "etag")
"""Fields that are logged unchanged: the audit log must hold the exact names of deleted objects."""
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}

_run: dict[str, str] = {}
"""Facts about the run of this process. Threads do not inherit context variables, and a process has
one run at a time.
"""


def configure_logs(
    settings: LogSettings | None = None, *, is_verbose: bool = False, takes_others: bool = False
) -> None:
    """Send structlog's events to stderr; data goes to stdout and is never mixed with them.

    Args:
        settings: Format and level of the logs; ``None``: JSON unless stderr is a terminal, from
            ``info`` on.
        is_verbose: Whether single steps are shown at any level.
        takes_others: Whether logs of libraries are shown in the same form.

    """
    form, level_name = ("auto", "info") if settings is None else (settings.format, settings.level)
    is_json = form == "json" or (form == "auto" and not sys.stderr.isatty())
    level = logging.DEBUG if is_verbose else _LEVELS[level_name]
    common: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        _name_run,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    rendering: list[Processor] = [
        structlog.processors.format_exc_info,
        _redact,
        _show,
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
    if is_json:
        rendering = [_DICT_TRACEBACKS, _redact, structlog.processors.JSONRenderer(default=str)]
    structlog.configure(
        processors=[*common, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    if takes_others:
        _take_others(common, rendering)


_DICT_TRACEBACKS = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False)  # they may hold a password
)


def _take_others(common: list[Processor], rendering: list[Processor]) -> None:
    """Log warnings of libraries in the same form."""
    handler = logging.StreamHandler(sys.stderr)
    strip = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=common, processors=[strip, *rendering]
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def always_shown() -> Any:
    """Return a logger whose lines are shown at any level: the audit log must be complete."""
    return structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )


def shown_together(event: str, objects: bytes) -> bool:
    """Log many lines of one event at any level, where the log is JSON; return whether it is.

    The lines are those that ``always_shown`` would log one by one, at one moment.

    Args:
        event: Name of the event.
        objects: Facts of each line as a JSON object, each on a line of its own. They are logged
            unchanged: see ``needs_redaction``.

    """
    if not isinstance(structlog.get_config()["processors"][-1], structlog.processors.JSONRenderer):
        return False
    rendered = structlog.wrap_logger(
        structlog.ReturnLogger(),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    ).info(event)
    lines = objects.replace(b"}\n", b", %b\n" % rendered[1:].encode())
    structlog.PrintLogger(sys.stderr).msg(lines.decode().removesuffix("\n"))
    return True


def needs_redaction(text: str) -> bool:
    """Return whether a text is logged otherwise than it is."""
    return bool(_clean(text) != text)


@contextmanager
def run_named(**facts: str) -> Iterator[None]:
    """Add facts to every line that any thread logs during a block."""
    before = dict(_run)
    _run.update(facts)
    try:
        yield
    finally:
        _run.clear()
        _run.update(before)


def _name_run(_: Any, __: str, event: EventDict) -> EventDict:
    for name, value in _run.items():
        event.setdefault(name, value)
    return event


def _redact(_: Any, __: str, event: EventDict) -> EventDict:
    return {name: v if name in _EXACT else _clean(v) for name, v in event.items()}


def _show(_: Any, __: str, event: EventDict) -> EventDict:
    """Escape control characters: names in a bucket are untrusted."""
    return {key: _shown(value) for key, value in event.items()}


def _shown(value: Any) -> Any:
    return "\n".join(map(visible, value.split("\n"))) if isinstance(value, str) else value


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return redacted(value) if _MAY_HIDE.search(value) else value
    if isinstance(value, dict):
        return {key: _clean(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(each) for each in value]
    return value
