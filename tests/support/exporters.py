"""A stand-in for the exporter inside a JobManager: the real folder layout, no Flink."""

import gzip
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from orphangc.adapters.open import open_state_files, open_storage
from orphangc.collect.observe.exporter_folder import ExporterFolder
from orphangc.core.exporter.registry_format import write_snapshot
from orphangc.core.exporter.registry_snapshot import EntryKind, RegistryEntry, RegistrySnapshot


def entries_in(data: bytes) -> tuple[RegistryEntry, ...]:
    """Return the entries of a snapshot with all that their lines say, in their order."""
    text = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    found = map(json.loads, text.splitlines()[1:-1])
    return tuple(
        RegistryEntry(each.pop("path"), EntryKind(each.pop("kind")), **each)
        for each in found
        if each.pop("type")
    )


def folder_at(path: Path) -> ExporterFolder:
    """Return the collector's side of a registry folder."""
    return ExporterFolder(open_storage(str(path)), partial(open_state_files, str(path)))


@dataclass
class Exporter:
    """Writes a job's snapshots as deploy/flink-plugin does."""

    folder: Path  # the registry folder; one folder a job lies in it
    template: RegistrySnapshot  # what each says, but sequence, nonce, time; entries as a tuple
    at: datetime  # time of the next snapshot
    kept: int = 5  # how many snapshots are kept
    nonce: str | None = None  # the last one seen
    written: list[str] = field(default_factory=list)  # names, oldest first

    @property
    def place(self) -> Path:
        return self.folder / self.template.job_id

    def look(self) -> str | None:
        file = self.place / "nonce"
        self.nonce = file.read_text() if file.exists() else self.nonce
        return self.nonce

    def export(self, **changes: object) -> RegistrySnapshot:
        self.look()
        self.template = replace(self.template, sequence=self.template.sequence + 1)
        snapshot = replace(self.template, nonce=self.nonce, taken_at=self.at, **changes)
        self.write(write_snapshot(snapshot, snapshot.entries or (), compress=True), snapshot)
        return snapshot

    def write(self, data: bytes, snapshot: RegistrySnapshot) -> Path:
        millis = int(snapshot.taken_at.timestamp() * 1000)
        name = f"snapshot-{millis:013d}-{snapshot.jm_epoch}-{snapshot.sequence:010d}.jsonl.gz"
        place = self.place / "snapshots"
        place.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)
        self.written = sorted({*self.written, name})
        for old in [each for each in self.written if each != name][: 1 - self.kept]:
            (place / old).unlink(missing_ok=True)
        self.at += timedelta(seconds=1)
        return place / name

    def mark_owner(self, *, began: datetime, alive: datetime) -> None:
        """Write both of the JobManager's markers, as of these times."""
        place = self.place / "owners"
        place.mkdir(parents=True, exist_ok=True)
        for ending, at in (("began", began), ("alive", alive)):
            path = place / f"{self.template.jm_epoch}.{ending}"
            path.write_text(self.template.jm_epoch)
            os.utime(path, (at.timestamp(), at.timestamp()))

    def restart(self, epoch: str) -> None:
        """Begin another life: sequences start anew."""
        self.template = replace(self.template, jm_epoch=epoch, sequence=0)


def at_once(exporters: Sequence[Exporter]) -> None:
    for each in exporters:
        each.export()
