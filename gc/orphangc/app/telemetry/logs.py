"""Logs: events on stderr, as JSON; on a terminal only what a command's results do not say."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import structlog
from structlog.typing import EventDict, Processor

from flinkstate.text.redaction import redacted
from flinkstate.text.shown_text import visible
from orphangc.app.console.verbosity import asked
from orphangc.errors import SettingsError

if TYPE_CHECKING:
    from orphangc.app.config.configuration import LogSettings

_STAMP = structlog.processors.TimeStamper(fmt="iso", utc=True)
_MAY_HIDE = re.compile("(?i:@|=|%3d|a[ks]ia|token|secret|pass|pwd|bearer|key)")
"""Signs of a secret in a text; most lines have none and need no redaction."""
_EXACT = ("key", "etag")
"""Fields that are logged unchanged: the audit log must hold the exact names of deleted objects."""

_IN_RESULTS = frozenset(
    {
        *("job.blocked", "job.refused", "plan.doubtful", "run.refused", "run.failed"),
        *("run.interrupted", "job.unmet", "sweep.stopped"),
    }
)
"""Warnings that the results of a command repeat."""


_run: dict[str, str] = {}
"""Facts about the run of this process. Threads do not inherit context variables, and a process has
one run at a time.
"""


def configure_logs(
    settings: LogSettings | None = None, *, takes_others: bool = False, is_daemon: bool = False
) -> None:
    """Send structlog's events to stderr; data goes to stdout and is never mixed with them.

    Args:
        settings: Format and level of the logs; ``None``: JSON unless stderr is a terminal, from
            ``info`` on. Single steps are shown at any level if the command line asks for them.
        takes_others: Whether warnings of libraries are shown in the same form; where not, only if
            the command line asks for single steps: the error that follows one says it in a line.
        is_daemon: Whether the logs are all that is shown, on a terminal too.
    """
    form, level_name = ("auto", "info") if settings is None else (settings.format, settings.level)
    if settings is not None:
        asked.audit_log = settings.audit_log
    is_json = form == "json" or (form == "auto" and not sys.stderr.isatty())
    level = (
        logging.DEBUG if asked.is_verbose else logging.getLevelNamesMapping()[level_name.upper()]
    )
    is_for_person = form == "auto" and not (is_json or is_daemon or asked.is_verbose)
    if asked.is_quiet or is_for_person:
        level = max(level, logging.WARNING)
    hiding: list[Processor] = [_hide_repeated] if asked.is_quiet or is_for_person else []
    hiding += [_hide_retries] if level > logging.DEBUG else []
    common: list[Processor] = [
        *hiding,
        structlog.contextvars.merge_contextvars,
        _name_run,
        structlog.processors.add_log_level,
        _STAMP,
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
    elif not asked.is_verbose:
        logging.lastResort = logging.NullHandler()


_DICT_TRACEBACKS = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False)  # they may hold a password
)


def _take_others(common: list[Processor], rendering: list[Processor]) -> None:
    handler = logging.StreamHandler(sys.stderr)
    strip = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=common, processors=[strip, *rendering]
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def _hide_repeated(_: Any, method: str, event: EventDict) -> EventDict:
    """Drop what a person finds in the results."""
    name = str(event.get("event", ""))
    if name in _IN_RESULTS or method in {"info", "debug"}:
        raise structlog.DropEvent
    return event


def _hide_retries(_: Any, __: str, event: EventDict) -> EventDict:
    """Drop single attempts: where the last one fails too, one line says so."""
    if str(event.get("event", "")).startswith("stamina."):
        raise structlog.DropEvent
    return event


def always_shown() -> Any:
    """Return a logger whose lines are shown at any level: the audit log must be complete."""
    return structlog.wrap_logger(
        structlog.PrintLogger(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )


class AuditLog:
    """A line of JSON for each object that a run tried to delete, in a file or on stderr."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self._processors: list[Processor] = [
            *(_name_run, structlog.processors.add_log_level, _STAMP, _redact),
            structlog.processors.JSONRenderer(default=str),
        ]

    def _logger(self, inner: Any) -> Any:
        return structlog.wrap_logger(
            inner,
            processors=self._processors,
            wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        )

    def one(self, event: str, facts: Mapping[str, Any]) -> None:
        """Log one line."""
        self._logger(structlog.PrintLogger(self.file)).info(event, **facts)

    def together(self, event: str, objects: bytes) -> None:
        """Log many lines of one event: those that ``one`` would log, at one moment.

        Args:
            objects: Facts of each line as a JSON object, each on a line of its own. They are logged
                unchanged: see ``needs_redaction``.
        """
        rendered = self._logger(structlog.ReturnLogger()).info(event)
        lines = objects.replace(b"}\n", b", %b\n" % rendered[1:].encode())
        structlog.PrintLogger(self.file).msg(lines.decode().removesuffix("\n"))


def audit_file() -> Path | None:
    """Return the file of the audit log, ``None`` if none is asked for, or another stream is."""
    place = asked.audit_log
    return None if place in {None, "stderr"} else Path(str(place))


@contextmanager
def audit_log() -> Iterator[AuditLog | None]:
    """Yield the audit log, ``None`` if none is asked for, or raise ``SettingsError``."""
    place = audit_file()
    if place is None:
        yield AuditLog(sys.stderr) if asked.audit_log else None
    else:
        try:
            file = place.open("a", encoding="utf-8")
        except OSError as err:
            why = f"the audit log cannot be written to {place}: {err.strerror}"
            raise SettingsError(why) from err
        with file:
            yield AuditLog(file)


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
    return {
        key: ("\n".join(map(visible, value.split("\n"))) if isinstance(value, str) else value)
        for key, value in event.items()
    }


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return redacted(value) if _MAY_HIDE.search(value) else value
    if isinstance(value, dict):
        return {key: _clean(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(each) for each in value]
    return value
