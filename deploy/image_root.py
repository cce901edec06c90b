"""Gathers what the collector's Python needs of a system, and nothing else: the image's root.

``python deploy/image_root.py ENVIRONMENT TARGET``, on a Debian, where the image is built. Taken
are the interpreter with its modules, the shared libraries that these and the environment's
packages are linked to, certificates, time zones, and the tables that libraries read. A shell,
package managers, pip and other programs are not left out: nothing asks for them.

Which Debian packages something was taken of stands in ``var/lib/dpkg/status.d``, where scanners
for known vulnerabilities look; their copyright files are taken too.
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
"""By glibc: to end threads, and to look up hosts."""

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


def said(*command: str) -> str:
    """Return what a program says on stdout, whether or not it could do it."""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603


def linked_to(paths: Iterable[Path]) -> set[Path]:
    """Return the libraries that some files need, and those that these need."""
    return {Path(path) for file in paths for path in _LIBRARY.findall(said("ldd", str(file)))}


def below(*folders: Path) -> Iterator[Path]:
    """Yield every file in some folders."""
    for folder in folders:
        yield from folder.rglob("*")


def take(path: Path, target: Path) -> None:
    """Copy a file or a folder to where it is outside; a link as a link, with what it means.

    Its folder is the real one: ``/lib`` is a link that the root is made with.
    """
    path = path.parent.resolve() / path.name
    inside = target / path.relative_to("/")
    if inside.is_symlink() or inside.exists() or not (path.is_symlink() or path.exists()):
        return
    inside.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        inside.symlink_to(path.readlink())
        take(path.parent / path.readlink(), target)
    elif path.is_dir():
        shutil.copytree(path, inside, symlinks=True, ignore=_NO_MODULES)
    else:
        shutil.copy2(path, inside)


def packages_of(paths: Iterable[Path]) -> set[str]:
    """Return the Debian packages that files come from; the lists know some by older paths."""
    spellings = {str(path.resolve()) for path in paths}
    spellings |= {path.removeprefix("/usr") for path in spellings}
    found = re.findall(r"^([^\s:,]+)[:,]", said("dpkg-query", "--search", *spellings), re.MULTILINE)
    return set(found)


def tell_packages(names: Iterable[str], target: Path) -> None:
    """Write down which packages something was taken of, and take their copyright files."""
    folder = target / "var/lib/dpkg/status.d"
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_text(said("dpkg-query", "--status", name))
        take(Path("/usr/share/doc", name, "copyright"), target)


def gather(environment: Path, target: Path) -> None:
    """Make the root of an image that runs an environment, which is not itself taken."""
    for name in ("bin", "sbin", "lib", "lib64"):
        if (top := Path("/", name)).is_symlink():
            (target / "usr" / name).mkdir(parents=True)
            (target / name).symlink_to(top.readlink())
    python = Path(sys.executable).resolve()
    modules = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
    take(environment / "bin" / (environment / "bin/python").readlink(), target)
    libraries = linked_to([python, *filter(is_elf, below(environment, *modules))])
    outside = {path for path in libraries if environment not in path.parents}
    libc = next(path for path in outside if path.name == "libc.so.6")
    outside |= {libc.with_name(name) for name in _OPENED_BY_NAME}
    for path in (python, *modules, *outside, *map(Path, _DATA)):
        take(path, target)
    for name, text in _USERS.items():
        (target / "etc" / name).write_text(text)
    certificates = Path("/usr/share/ca-certificates").rglob("*.crt")
    of_modules = (path for folder in modules for path in folder.iterdir())
    taken = {python, *outside, *map(Path, _DATA), *certificates, *of_modules}
    tell_packages(packages_of(taken), target)
    (target / "tmp").mkdir()
    (target / "tmp").chmod(0o1777)
    subprocess.run(["ldconfig", "-r", str(target)], check=True)  # noqa: S603, S607


if __name__ == "__main__":
    gather(Path(sys.argv[1]), Path(sys.argv[2]))
