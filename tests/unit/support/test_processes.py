"""A test run that is killed leaves no server behind."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import is_running, until

_PARENT = """
import sys
from contextlib import ExitStack
from contracts.servers.processes import start

print(start(ExitStack(), "sleep", "600").pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not shutil.which("setpriv"), reason="the kernel is asked by setpriv")
def test_a_server_ends_with_the_run_that_started_it() -> None:
    """Also if that is killed, and can end nothing itself."""
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT],
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        server = int(parent.stdout.readline())
        until(lambda: Path(f"/proc/{server}/comm").read_text() == "sleep\n")  # it is tied by then
        parent.kill()
    until(lambda: not is_running(server))
