"""Commands in texts: each stands on a line of its own, whole, so that it can be copied.

A text has a command behind ``run:``, up to a semicolon, or as a line that begins with two spaces.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

COMMAND_IN_TEXT = r"""(?<=[Rr]un: )(?:orphangc|flinkstate|aws) (?:'[^']*'|"[^"]*"|[^;'"\n])+"""
"""Pattern of a command in a sentence."""

_IN_TEXT = re.compile(f"({COMMAND_IN_TEXT})")
_LINE = re.compile(r" {2,}(?:orphangc |flinkstate |aws |--)")


def split_commands(text: str) -> list[str]:
    """Return the parts of a text; every second one is a command."""
    return _IN_TEXT.split(text)


def followed(text: str, sentence: str) -> str:
    """Return a text with one more sentence, which is no part of a command at the text's end."""
    *_, end = split_commands(text)
    return f"{text}{'.' if end else ';'} {sentence}"


def is_command(line: str) -> bool:
    """Return whether a line is a command, which may not be broken."""
    return _LINE.match(line) is not None


def apart(text: Text) -> Text:
    """Return a text with each of its commands on a line of its own."""
    from rich.text import Text  # noqa: PLC0415 - JSON needs none

    shown, at = Text(style=text.style), 0
    for number, part in enumerate(split_commands(text.plain)):
        is_last = at + len(part) == len(text.plain)
        if number % 2:
            shown += Text("\n  ") + text[at : at + len(part)] + ("" if is_last else "\n")
        else:
            skipped = len(part) - len(part.lstrip("; ")) if number else 0
            prose = text[at + skipped : at + len(part)]
            prose.rstrip()
            shown += prose
        at += len(part)
    return shown
