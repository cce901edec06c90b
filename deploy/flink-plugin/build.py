"""Build the plugin's one jar by javac: ``python3 build.py --flink-lib FLINK/lib --out DIR``."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "src"
JAR_NAME = "orphangc-flink-plugin.jar"
RELEASE = "8"  # what Flink 1.15 runs on; the code uses nothing newer
MANIFEST = """\
Manifest-Version: 1.0
Implementation-Title: orphangc-flink-plugin
Premain-Class: orphangc.flink.RegistryExporterAgent

"""
BORN = (1980, 1, 1, 0, 0, 0)  # same sources, same bytes


def build(libraries: Sequence[Path], out: Path) -> Path:
    """Compile against Flink's jars and return the jar; any release from 1.15 on gives the same."""
    sources = sorted(SOURCES.rglob("*.java"))
    with tempfile.TemporaryDirectory() as scratch:
        classes = Path(scratch)
        command = [_javac(), "--release", RELEASE, "-encoding", "UTF-8", "-proc:none", "-nowarn"]
        command += ["-g:source,lines", "-Xlint:-options", "-d", str(classes)]
        command += ["-cp", os.pathsep.join(map(str, libraries)), *map(str, sources)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
        if done.returncode:
            raise RuntimeError(f"the plugin does not compile: {done.stderr}")
        out.mkdir(parents=True, exist_ok=True)
        return _pack(classes, out / JAR_NAME)


def _javac() -> str:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("javac", path=str(Path(home) / "bin") if home else None)
    if not found:
        raise RuntimeError("no javac on the path or under JAVA_HOME")
    return found


def _pack(classes: Path, jar: Path) -> Path:
    partial = jar.with_suffix(".partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF", BORN), MANIFEST)
        for path in sorted(classes.rglob("*.class")):
            member = zipfile.ZipInfo(path.relative_to(classes).as_posix(), BORN)
            packed.writestr(member, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return partial.replace(jar)


def main() -> None:
    """Build from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flink-lib", type=Path, required=True, help="a Flink's lib folder")
    parser.add_argument("--out", type=Path, default=Path("build"), help="default: build")
    chosen = parser.parse_args()
    jars = sorted(chosen.flink_lib.glob("*.jar"))
    if not any(jar.name.startswith("flink-dist") for jar in jars):
        sys.exit(f"no flink-dist jar in {chosen.flink_lib}")
    print(build(jars, chosen.out))  # noqa: T201


if __name__ == "__main__":
    main()
