"""The standard streams of a command: all three are open, and take any text."""

from __future__ import annotations

import io
import os
import sys


def open_streams() -> None:
    """Open each standard stream that the caller closed, and spell out what one cannot encode.

    A file opened later would take the number of a closed stream, and a terminal without UTF-8 has
    no sign for half of our tables: what was deleted must be shown all the same.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def silence_errors() -> None:
    """Send to nowhere what else goes to stderr, which cannot be written any more."""
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
