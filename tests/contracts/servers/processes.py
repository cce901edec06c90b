"""Child processes of the test servers: started in the foreground, ended by their own id."""

import shlex
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import ExitStack

from support import speed
from support.processes import tied_to_us


def start(stack: ExitStack, *command: object, **options: object) -> subprocess.Popen:
    child = subprocess.Popen(
        [*tied_to_us(), *(str(part) for part in command)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **options,
    )
    stack.callback(_end, child)
    return child


def await_http(url: str, child: subprocess.Popen) -> None:
    """Wait until ``url`` gives any HTTP answer.

    Raises:
        RuntimeError: The process ended, or the time is over.

    """
    deadline = time.monotonic() + speed.patience()
    while time.monotonic() < deadline:
        if child.poll() is not None:
            raise RuntimeError(f"{shlex.join(child.args)} ended with {child.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=speed.answer()):
                return
        except urllib.error.HTTPError as err:
            err.close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"{shlex.join(child.args)} gave no answer in {speed.patience():.0f} s")


def _end(child: subprocess.Popen) -> None:
    child.terminate()
    try:
        child.wait(speed.answer())
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
