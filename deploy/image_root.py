"""Builds the root of the image: only the files that the collector's Python needs of a system.

Run ``python deploy/image_root.py ENVIRONMENT TARGET`` on the Debian that builds the image. It
copies the interpreter with its modules, the shared libraries that these and the environment's
packages are linked to, certificates, time zones, and the tables that libraries read. It copies no
shell, package manager, pip or other program.

``var/lib/dpkg/status.d`` lists the Debian packages of the copied files, for scanners of known
vulnerabilities. Their copyright files are copied too.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

_DATA = (
    "/etc/debian_version",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/usr/lib/os-release",
    "/usr/lib/ssl/certs",
    "/usr/lib/ssl/openssl.cnf",
    "/usr/share/ca-certificates",
    "/usr/share/zoneinfo",
)
_OPENED_BY_NAME = ("libgcc_s.so.1", "libnss_dns.so.2", "libnss_files.so.2")
"""Libraries that glibc opens by name: to end threads, and to resolve hosts."""

_NO_MODULES = shutil.ignore_patterns(
    "config-*", "dist-packages", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "site-packages",
    "test", "tkinter", "turtledemo",
)  # fmt: skip
_USERS = {
    "passwd": "root:x:0:0::/nonexistent:/nonexistent\n"
    "orphangc:x:65532:65532::/var/lib/orphangc:/nonexistent\n",
    "group": "root:x:0:\norphangc:x:65532:\n",
}
_ELF = b"\x7fELF"
_LIBRARY = re.compile(r"(?:^|=>)\s*(/\S+) \(0x", re.MULTILINE)


def is_elf(path: Path) -> bool:
    """Return whether a file is a program or a shared library."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_ELF)) == _ELF


def output_of(*command: str) -> str:
    """Return a program's stdout, whether or not it succeeds."""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603


def linked_to(paths: Iterable[Path]) -> set[Path]:
    """Return the libraries that some files need, directly or not."""
    return {Path(path) for file in paths for path in _LIBRARY.findall(output_of("ldd", str(file)))}


def below(*folders: Path) -> Iterator[Path]:
    """Yield every file in some folders."""
    for folder in folders:
        yield from folder.rglob("*")


def copy(path: Path, target: Path) -> None:
    """Copy a file or a folder to the same path in the target; copy a link and its destination.

    Its folder is the real one: ``/lib`` is a link that the root is made with.
    """
    path = path.parent.resolve() / path.name
    inside = target / path.relative_to("/")
    if inside.is_symlink() or inside.exists() or not (path.is_symlink() or path.exists()):
        return
    inside.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        inside.symlink_to(path.readlink())
        copy(path.parent / path.readlink(), target)
    elif path.is_dir():
        shutil.copytree(path, inside, symlinks=True, ignore=_NO_MODULES)
    else:
        shutil.copy2(path, inside)


def packages_of(paths: Iterable[Path]) -> set[str]:
    """Return the Debian packages of files; the package lists hold older paths of some."""
    spellings = {str(path.resolve()) for path in paths}
    spellings |= {path.removeprefix("/usr") for path in spellings}
    found = re.findall(
        r"^([^\s:,]+)[:,]", output_of("dpkg-query", "--search", *spellings), re.MULTILINE
    )
    return set(found)


def write_packages(names: Iterable[str], target: Path) -> None:
    """Record the packages of the copied files, and copy their copyright files."""
    folder = target / "var/lib/dpkg/status.d"
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_text(output_of("dpkg-query", "--status", name))
        copy(Path("/usr/share/doc", name, "copyright"), target)


def gather(environment: Path, target: Path) -> None:
    """Build the root of an image that runs an environment; the environment is not copied."""
    for name in ("bin", "sbin", "lib", "lib64"):
        if (top := Path("/", name)).is_symlink():
            (target / "usr" / name).mkdir(parents=True)
            (target / name).symlink_to(top.readlink())
    python = Path(sys.executable).resolve()
    modules = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
    copy(environment / "bin" / (environment / "bin/python").readlink(), target)
    libraries = linked_to([python, *filter(is_elf, below(environment, *modules))])
    outside = {path for path in libraries if environment not in path.parents}
    libc = next(path for path in outside if path.name == "libc.so.6")
    outside |= {libc.with_name(name) for name in _OPENED_BY_NAME}
    for path in (python, *modules, *outside, *map(Path, _DATA)):
        copy(path, target)
    for name, text in _USERS.items():
        (target / "etc" / name).write_text(text)
    certificates = Path("/usr/share/ca-certificates").rglob("*.crt")
    of_modules = (path for folder in modules for path in folder.iterdir())
    taken = {python, *outside, *map(Path, _DATA), *certificates, *of_modules}
    write_packages(packages_of(taken), target)
    (target / "tmp").mkdir()
    (target / "tmp").chmod(0o1777)
    subprocess.run(["ldconfig", "-r", str(target)], check=True)  # noqa: S603, S607


if __name__ == "__main__":
    gather(Path(sys.argv[1]), Path(sys.argv[2]))
