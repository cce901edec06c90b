"""A real S3 server: Ceph's radosgw over one monitor and one memory-backed OSD, on loopback.

Debian: ``apt-get install --no-install-recommends radosgw ceph-mon ceph-osd ceph-common``.
Starts in about 13 s, takes some 300 MB.
"""

import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from contracts.servers.processes import await_http, start
from support import speed
from support.ports import free_port
from support.processes import until

ACCESS_KEY, SECRET_KEY = "RGWACCESSKEY", "RGWSECRETKEYRGWSECRETKEY"

_PROGRAMS = ("radosgw", "radosgw-admin", "ceph-mon", "ceph-osd", "ceph", "monmaptool")

_CONF = Path(__file__).with_name("ceph.conf")


def why_not() -> str | None:
    """Return why no radosgw can be started here, ``None`` if it can."""
    absent = [program for program in _PROGRAMS if shutil.which(program) is None]
    return f"not installed: {', '.join(absent)}" if absent else None


@contextmanager
def radosgw_server() -> Iterator[str]:
    """Yield the URL of a server that lives as long as the block."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rgw-")))
        conf = _write_conf(folder)
        start(stack, "ceph-mon", "-c", conf, "-i", "a", "-f")
        osd = str(uuid.uuid4())
        _run("ceph", "-c", conf, "--connect-timeout", "30", "osd", "new", osd)
        _run("ceph-osd", "-c", conf, "-i", "0", "--mkfs", "--osd-uuid", osd)
        start(stack, "ceph-osd", "-c", conf, "-i", "0", "-f")
        _await_osd(conf)
        port = free_port()
        frontend = f"beast endpoint=127.0.0.1:{port}"
        command = ("radosgw", "-c", conf, "-n", "client.rgw", "--rgw-frontends", frontend, "-f")
        gateway = start(stack, *command)
        url = f"http://127.0.0.1:{port}"
        await_http(url, gateway)
        may = "users=*;user-policy=*"  # make users, and say what they may do
        user = ("--uid=t", "--display-name=t", "--access-key", ACCESS_KEY, "--caps", may)
        _run("radosgw-admin", "-c", conf, "user", "create", *user, "--secret-key", SECRET_KEY)
        yield url


def _write_conf(folder: Path) -> Path:
    """Write configuration and the monitor's store."""
    for name in ("mon", "osd"):
        (folder / name).mkdir()
    fsid = uuid.uuid4()
    mon_host = f"[v2:127.0.0.1:{free_port()},v1:127.0.0.1:{free_port()}]"
    conf = folder / "ceph.conf"
    conf.write_text(_CONF.read_text().format(fsid=fsid, folder=folder, mon_host=mon_host))
    monmap = folder / "monmap"
    _run("monmaptool", "--create", "--addv", "a", mon_host, "--fsid", fsid, monmap)
    _run("ceph-mon", "-c", conf, "-i", "a", "--mkfs", "--monmap", monmap)
    return conf


def _await_osd(conf: Path) -> None:
    until(lambda: b"1 up" in _run("ceph", "-c", conf, "--connect-timeout", "30", "osd", "stat"))


def _run(*command: object) -> bytes:
    done = subprocess.run(
        [str(part) for part in command], check=False, capture_output=True, timeout=speed.command()
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout
