"""Logs: events on stderr, as lines for people on a terminal and as JSON elsewhere."""

from __future__ import annotations

import logging
import sys

import structlog

__all__ = ["configure_logs"]


def configure_logs(*, is_verbose: bool = False) -> None:
    """Send structlog's events to stderr; data goes to stdout and is never mixed with them."""
    is_terminal = sys.stderr.isatty()
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if is_terminal else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.DEBUG if is_verbose else logging.INFO
        ),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
