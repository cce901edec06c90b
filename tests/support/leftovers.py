"""A session leaves nothing in the temporary folder.

Tests and programs have a temporary folder of the session's own (``TMPDIR``). At its end the folder
must be empty: what lies there was left by a command that ended, or by a test. Tests that kill a
command give it another one, since nothing can remove what a killed process made.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_NAME = "temporary folder of the session"


class Leftovers:
    """Makes the session red that leaves something in its temporary folder."""

    def __init__(self) -> None:
        """Make the folder, and let this process and those that it starts use it."""
        self.folder = Path(tempfile.mkdtemp(prefix="orphangc-tests-"))
        self._before = os.environ.get("TMPDIR")
        os.environ["TMPDIR"], tempfile.tempdir = str(self.folder), None

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """Look what is left, once all tests and their servers have ended, and remove it."""
        result = yield  # xdist ends its processes meanwhile
        left = sorted(each.name for each in self.folder.iterdir())
        shutil.rmtree(self.folder, ignore_errors=True)
        os.environ.pop("TMPDIR")
        if self._before is not None:
            os.environ["TMPDIR"] = self._before
        tempfile.tempdir = None
        if left and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            _report(session.config, f"{len(left)} left in TMPDIR: {', '.join(left[:20])}")
        return result


def _report(config: pytest.Config, complaint: str) -> None:
    """Count the complaint among the failures that the summary prints."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    report = pytest.TestReport(
        nodeid=_NAME,
        location=("", None, _NAME),
        keywords={},
        outcome="failed",
        longrepr=complaint,
        when="teardown",
    )
    reporter.stats.setdefault("failed", []).append(report)
