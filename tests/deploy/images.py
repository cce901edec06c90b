"""The real image, built and run without a registry: buildah, podman, and a base made here.

The base stands in for the official ``python:3.11-slim-bookworm``: the same Debian, with Debian's
own Python 3.11. That proves each step of the Dockerfile, not the content of the official image.
"""

import hashlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from deploy.cache import ToolMissingError, cache_folder, cached
from support import speed
from support.processes import finished

REPOSITORY = Path(__file__).parents[2]
BASE = "localhost/python:3.11-slim-bookworm"
SUITE = "bookworm"
PROGRAMS = ("buildah", "podman", "runc", "catatonit", "debootstrap")
BUILD_SECONDS = 1200

CONTAINERS_CONF = """\
[containers]
# Raising a limit may be forbidden where tests run; lowering one never is.
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
pids_limit = 1024
[engine]
cgroup_manager = "cgroupfs"
runtime = "runc"
events_logger = "file"
"""


_LONGEST_RUN_FOLDER = 50
"""Characters: podman takes no longer one, since sockets lie in it."""


def _run_folder(folder: Path) -> Path:
    """Return podman's run folder of a store, the same each time, also below a long home."""
    run = folder / "run"
    if len(str(run)) <= _LONGEST_RUN_FOLDER:
        return run
    digest = hashlib.sha256(str(folder).encode()).hexdigest()[:8]
    return Path("/var/tmp") / f"orphangc-run-{digest}"  # outlives the session, as the store does


class ContainerEngine:
    """buildah and podman with a store of their own: nothing of the machine's is seen or changed."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        (folder / "containers.conf").write_text(CONTAINERS_CONF)
        self._environment = {**os.environ, "CONTAINERS_CONF": str(folder / "containers.conf")}
        self._store = ["--storage-driver=overlay", f"--root={folder}/store"]
        self._store.append(f"--runroot={_run_folder(folder)}")

    def podman(self, *arguments: str, **options) -> subprocess.CompletedProcess:
        return self._run(["podman", *self._store, *arguments], **options)

    def build(self, target: str, tag: str) -> None:
        options = ["--pull-never", "--isolation=chroot", "--network=host", "--layers", "--force-rm"]
        command = ["buildah", *self._store, "bud", *options, *self._pip_mounts()]
        command += [f"--target={target}", f"--tag={tag}", "--file=deploy/Dockerfile", "."]
        self._run(command, cwd=REPOSITORY, timeout=BUILD_SECONDS)

    def ensure_base(self) -> None:
        """Import the stand-in, unless the store has it."""
        if self.podman("image", "exists", BASE, check=False).returncode:
            packed = cached(f"image-base-{SUITE}", _make_base) / "base.tar"
            self.podman("import", str(packed), BASE, timeout=BUILD_SECONDS)

    def _pip_mounts(self) -> Iterator[str]:
        """Yield mounts that let pip in the build fetch as pip does here; no layer keeps them."""
        settings = dict(_pip_settings())
        if "cert" in settings:
            # Beside where the system's lie: packages of the build may want to change those.
            yield f"--volume={settings['cert']}:/etc/pip.crt:ro"
            settings["cert"] = "/etc/pip.crt"
        lines = [f"{name} = {value}" for name, value in settings.items()]
        (self.folder / "pip.conf").write_text("\n".join(["[global]", *lines, ""]))
        yield f"--volume={self.folder}/pip.conf:/etc/pip.conf:ro"
        words = " ".join(settings.values()).replace("file://", "").split()
        for folder in {str(Path(*Path(word).parts[:3])) for word in words if Path(word).is_dir()}:
            yield f"--volume={folder}:{folder}:ro"

    def _run(self, command: Sequence[str], **options) -> subprocess.CompletedProcess:
        defaults = {"check": True, "capture_output": True, "text": True, "timeout": speed.command()}
        try:
            return subprocess.run(command, env=self._environment, **{**defaults, **options})  # noqa: PLW1510
        except subprocess.CalledProcessError as err:
            raise AssertionError(
                f"{command} failed:\n{err.stdout[-3000:]}{err.stderr[-3000:]}"
            ) from err


def container_engine() -> ContainerEngine:
    """Return the engine, with the base in its store.

    Raises:
        ToolMissingError: This machine cannot build or run images.

    """
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        raise ToolMissingError(f"not installed: {' '.join(missing)}")
    probe = ["unshare", "--mount", "--pid", "--net", "--fork", "true"]
    if subprocess.run(probe, check=False, capture_output=True, timeout=speed.command()).returncode:
        raise ToolMissingError("this machine lets nobody make namespaces")
    if os.geteuid() != 0:
        raise ToolMissingError("making the base image needs root")
    engine = ContainerEngine(cache_folder() / "image-store")
    engine.ensure_base()
    return engine


def _pip_settings() -> Iterator[tuple[str, str]]:
    """Yield this machine's settings of pip; the environment's win over the files'."""
    listed = finished(["pip", "config", "list"], check=True).stdout
    for line in sorted(listed.splitlines(), key=lambda line: line.startswith(":env:")):
        name, _, value = line.partition("=")
        yield name.rpartition(".")[2], value.strip("'")


def _make_base(folder: Path) -> None:
    mirror = finished(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Component: main"], check=True
    ).stdout.split()
    if not mirror:
        raise ToolMissingError("apt knows no Debian mirror")
    root = folder / "root"
    include = "--include=ca-certificates,python3,python3-venv,python3-pip"
    command = ["debootstrap", "--variant=minbase", include, SUITE, str(root), mirror[0]]
    try:
        finished(command, check=True, timeout=BUILD_SECONDS)
    except subprocess.CalledProcessError as err:
        raise ToolMissingError(f"debootstrap failed: {err.stdout.splitlines()[-1:]}") from err
    (root / "usr/local/bin/python").symlink_to("../../bin/python3")
    shutil.rmtree(root / "var/cache/apt", ignore_errors=True)
    with tarfile.open(folder / "base.tar", "w") as packed:
        packed.add(root, arcname=".", filter=lambda entry: None if entry.isdev() else entry)
    shutil.rmtree(root)
