"""Hide packages from libraries that load them, if they are installed, only to ask about them.

Arrow loads pandas, for 0.2 s, to see whether a list is of pandas; structlog loads Rich for
tracebacks that are never drawn.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType

_hidden: set[str] = set()


class _Finder:
    """Stands first among the finders of modules, and finds none that is hidden."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Leave every other module to the finders that follow."""
        del path, target
        if name in _hidden:
            raise ModuleNotFoundError(f"{name} is hidden: nothing here needs it", name=name)
        return None


def hide(name: str) -> None:
    """Make every later import of a package fail."""
    if not _hidden:
        sys.meta_path.insert(0, _Finder)
    _hidden.add(name)


def show(name: str) -> None:
    """Let modules import a package again."""
    _hidden.discard(name)
    if not _hidden and _Finder in sys.meta_path:
        sys.meta_path.remove(_Finder)


@contextmanager
def hidden(name: str) -> Iterator[None]:
    """Hide a package for the length of a block."""
    hide(name)
    try:
        yield
    finally:
        show(name)
