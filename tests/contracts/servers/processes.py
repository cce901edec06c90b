"""Child processes of the test servers: started in the foreground, ended by their own id."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import ExitStack


def free_port() -> int:
    """Return a port of 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(stack: ExitStack, *command: object, **options: object) -> subprocess.Popen:
    """Start a process that ends with ``stack``."""
    child = subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **options,
    )
    stack.callback(_end, child)
    return child


def await_http(url: str, child: subprocess.Popen, *, seconds: float) -> None:
    """Wait until ``url`` gives any HTTP answer.

    Raises:
        RuntimeError: The process ended, or the time is over.

    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if child.poll() is not None:
            raise RuntimeError(f"{child.args[0]} ended with {child.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except urllib.error.HTTPError as err:
            err.close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"{child.args[0]} gave no answer in {seconds} s")


def _end(child: subprocess.Popen) -> None:
    child.terminate()
    try:
        child.wait(10)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait(10)
