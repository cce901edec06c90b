"""Modules that are loaded when they are first asked for something."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class _Module:
    name: str

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self.name), attribute)


def lazily(name: str) -> Any:
    """Return a stand-in for a module, which loads it at the first use."""
    return _Module(name)
