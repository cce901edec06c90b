"""The failures of a run stand at its end, each with the command that repeats it."""

import os
import shlex
import sys
from collections.abc import Iterator

import pytest

_SAID = ("HYPOTHESIS_PROFILE", "ORPHANGC_FLINK_VERSIONS")
"""Variables that choose what a test does."""


def command_of(nodeid: str, expression: str) -> str:
    """Return the command that runs one test again as it was run here."""
    said = [f"{name}={shlex.quote(os.environ[name])}" for name in _SAID if name in os.environ]
    chosen = ["-m", expression] if expression else []
    return shlex.join([*said, _program(), "-n0", *chosen, nodeid])


def _program() -> str:
    return os.path.relpath(sys.argv[0])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Iterator[None]:
    """Print the commands after everything else, the line of totals aside."""
    result = yield
    stats = terminalreporter.stats
    found = [each.nodeid for kind in ("failed", "error") for each in stats.get(kind, ())]
    names = dict.fromkeys(name for name in found if "::" in name)
    if names:
        terminalreporter.section("to run what failed again")
        for name in names:
            terminalreporter.write_line(command_of(name, config.option.markexpr))
    return result
