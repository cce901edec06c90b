"""What one fuzz test is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from orphangc.errors import OrphanGcError

__all__ = ["Target"]


@dataclass(frozen=True)
class Target:
    name: str  # of it
    inputs: st.SearchStrategy[Any]  # good ones, mutated
    read: Callable[[Any, Path], None]  # reads one; checks what it says
    errors: tuple[type[OrphanGcError], ...]  # that may come out
