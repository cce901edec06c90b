"""The plugin's jar and a witness of the registry, built once per state of their sources."""

import hashlib
import os
import sys
from pathlib import Path

from integration.harness.flinkbed.distribution import cache_folder, compiled, jars, java_tool
from support.processes import finished

PLUGIN = Path(__file__).parents[4] / "deploy" / "flink-plugin"
WITNESS = Path(__file__).parent / "java" / "RegistryWitness.java"
FACTORY = "orphangc.flink.RegistryExporterFactory"
STORAGE = "orphangc.flink.CheckpointIdStorageFactory"
UNCLAIMED = "orphangc.flink.UnclaimedStateFactory"


def plugin_jar(version: str) -> Path:
    digest = hashlib.sha256((PLUGIN / "build.py").read_bytes())
    for source in sorted((PLUGIN / "src").rglob("*.java")):
        digest.update(source.read_bytes())
    folder = cache_folder() / version / f"plugin-{digest.hexdigest()[:16]}"
    if not list(folder.glob("*.jar")):
        build_plugin(version, folder)
    return next(folder.glob("*.jar"))


def build_plugin(version: str, folder: Path) -> Path:
    command = [sys.executable, str(PLUGIN / "build.py")]
    command += ["--flink-lib", str(jars(version)[0].parent), "--out", str(folder)]
    done = finished(command, check=True)
    return Path(done.stdout.strip())


def run_probe(version: str, probe: Path, *arguments: object) -> str:
    jar = compiled(version, probe, *sorted((PLUGIN / "src").rglob("*.java")))
    path = os.pathsep.join(map(str, [jar, *jars(version)]))
    command = [java_tool("java"), "-cp", path, f"orphangc.flink.{probe.stem}"]
    return finished([*command, *arguments], check=True).stdout


def witness_jar(version: str) -> Path:
    return compiled(version, WITNESS)
