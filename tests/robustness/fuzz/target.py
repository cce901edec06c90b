"""What one fuzz test is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from orphangc.errors import OrphanGcError

__all__ = ["Target"]


@dataclass(frozen=True)
class Target:
    """One reader.

    Attributes:
        name: Of it.
        inputs: Good ones, mutated.
        read: Reads one; checks what it says.
        errors: That may come out.

    """

    name: str
    inputs: st.SearchStrategy[Any]
    read: Callable[[Any, Path], None]
    errors: tuple[type[OrphanGcError], ...]
