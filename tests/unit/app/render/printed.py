"""What a terminal shows."""

import io
from collections.abc import Iterable

from rich.console import Console, RenderableType


def printed(parts: Iterable[RenderableType], width: int, **terminal: object) -> str:
    console = Console(file=io.StringIO(), width=width, **terminal)
    for each in parts:
        console.print(each)
    return console.file.getvalue()
