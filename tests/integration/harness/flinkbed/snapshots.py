"""The plugin's snapshots as the collector sees them."""

import uuid
from pathlib import Path

from integration.harness.flinkbed.waiting import wait_until
from orphangc.core.exporter.registry_format import read_snapshot
from orphangc.core.exporter.registry_snapshot import RegistryEntry, RegistrySnapshot
from support.exporters import entries_in


def snapshots(registry: Path, job: str) -> list[RegistrySnapshot]:
    """Return the job's snapshots, oldest first; every one must be whole."""
    found = []
    for path in sorted((registry / job / "snapshots").glob("*")):
        try:
            content = path.read_bytes()
        except FileNotFoundError:  # the exporter keeps only the newest
            continue
        found.append(read_snapshot(content))
    return found


def entries(registry: Path, snapshot: RegistrySnapshot) -> tuple[RegistryEntry, ...]:
    name = f"snapshot-*-{snapshot.jm_epoch}-*{snapshot.sequence}.jsonl*"
    files = (registry / snapshot.job_id / "snapshots").glob(name)
    (data,) = (each for each in map(Path.read_bytes, files) if read_snapshot(each) == snapshot)
    return entries_in(data)


def echo(registry: Path, job: str) -> RegistrySnapshot:
    nonce = str(uuid.uuid4())
    (registry / job).mkdir(parents=True, exist_ok=True)
    (registry / job / "nonce").write_text(nonce)
    return wait_until(
        "the nonce to be repeated",
        lambda: next((each for each in snapshots(registry, job) if each.nonce == nonce), None),
    )
