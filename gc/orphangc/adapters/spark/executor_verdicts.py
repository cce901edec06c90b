"""Verdict files sent through the work folder, because executors cannot see the plan's folder."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from orphangc.adapters.rows.temporary_folder import TemporaryFolder
from orphangc.adapters.rows.verdict_files import VerdictFiles
from orphangc.adapters.spark.work_folder import ExchangeFile, WorkFolder


class SentVerdicts:
    """A sink that moves its files to the work folder on ``close``; picklable then."""

    def __init__(self, folder: WorkFolder) -> None:
        """Start with a temporary folder of this machine, which ``close`` removes."""
        self.sent: dict[str, ExchangeFile] = {}
        self._folder = folder
        self._here: TemporaryFolder | None = TemporaryFolder()
        self._files: VerdictFiles | None = VerdictFiles(Path(self._here.name))

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch of ``VERDICT_SCHEMA``."""
        assert self._files is not None  # noqa: S101 - write is not called after close
        self._files.write(batch)

    def close(self) -> None:
        """Send the files; may be called twice."""
        if self._files is None or self._here is None:
            return
        self._files.close()
        for name in self._files.digests:
            data = (Path(self._here.name) / name).read_bytes()
            self.sent[name] = self._folder.write("verdicts", data)
        self._here.cleanup()
        self._files = self._here = None

    def fetch(self, target: Path) -> dict[str, str]:
        """Fetch the files into a folder of this machine; return their sha256 by name.

        Raises:
            StorageUnreachableError: A file is absent or was altered.
        """
        target.mkdir(parents=True, exist_ok=True)
        for name, file in self.sent.items():
            data = self._folder.read(file)
            (target / name).write_bytes(data)
            self._folder.discard(file)
        return {name: file.sha256 for name, file in self.sent.items()}
