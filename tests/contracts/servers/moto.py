"""moto's S3 server: versioning and much else, but it checks no signature and no ETag."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from contracts.servers.processes import await_http, start
from support.ports import free_port

_SCRIPT = Path(__file__).with_name("moto_with_filling.py")


@contextmanager
def moto_server() -> Iterator[str]:
    """Yield the URL of a server that lives as long as the block."""
    with ExitStack() as stack:
        port = free_port()
        folder = stack.enter_context(tempfile.TemporaryDirectory())  # of what it records
        command = (sys.executable, "-P", _SCRIPT, "-H", "127.0.0.1", "-p", port)
        child = start(stack, *command, cwd=folder)
        url = f"http://127.0.0.1:{port}"
        await_http(url, child)
        yield url
