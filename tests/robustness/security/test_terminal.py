"""Logs for people obey nobody: what a terminal would do is spelled out."""

from __future__ import annotations

import json

import pytest
import structlog

from orphangc.app.config.configuration import LogSettings
from orphangc.app.console.exit import complain
from orphangc.app.telemetry.logs import configure_logs

HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202etxt.\x9b31m"


@pytest.fixture(autouse=True)
def own_logs():
    """Leave the configuration as it was."""
    yield
    structlog.reset_defaults()


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_no_name_reaches_the_terminal_as_it_is(capsys, log_format: str) -> None:
    """In either form, as a value, as an exception's message."""
    configure_logs(LogSettings(format=log_format))
    try:
        int(HOSTILE)
    except ValueError:
        structlog.get_logger().exception("metadata.rejected", uri=HOSTILE)
    shown = capsys.readouterr().err
    if log_format == "json":
        assert json.loads(shown)["uri"] == HOSTILE
    assert not any(text in shown for text in ("\x1b[2J", "\x1b]0", "\x07", "\u202e", "\x9b"))


def test_no_complaint_reaches_the_terminal_as_it_is(capsys) -> None:
    """One line, with the name in it."""
    complain(f"cannot read s3://bucket/{HOSTILE}: gone")
    shown = capsys.readouterr().err
    assert shown.startswith("orphangc: cannot read s3://bucket/\\x1b[2J")
    assert shown.isprintable() or shown.rstrip("\n").isprintable()
