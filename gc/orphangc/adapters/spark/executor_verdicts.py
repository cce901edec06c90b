"""Verdict files by way of the work folder, for a plan whose folder executors do not see."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa

from orphangc.adapters.rows.verdict_files import VerdictFiles
from orphangc.adapters.spark.exchange.work_folder import ExchangeFile, WorkFolder


class SentVerdicts:
    """A sink whose files lie in the work folder when it is closed; picklable then.

    Attributes:
        sent: The files by the name that they are to have.

    """

    def __init__(self, folder: WorkFolder) -> None:
        """Start with a folder of this machine, which goes when the sink is closed."""
        self.sent: dict[str, ExchangeFile] = {}
        self._folder = folder
        self._here: tempfile.TemporaryDirectory[str] | None = tempfile.TemporaryDirectory(
            prefix="orphangc-"
        )
        self._files: VerdictFiles | None = VerdictFiles(Path(self._here.name))

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch of ``VERDICT_SCHEMA``."""
        assert self._files is not None  # noqa: S101 - nobody writes after closing
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
        """Return sha256 by name of the files, after fetching each into a folder of this machine.

        Raises:
            StorageUnreachableError: One is not there, or not what was sent.

        """
        target.mkdir(parents=True, exist_ok=True)
        for name, piece in self.sent.items():
            data = self._folder.read(piece)
            (target / name).write_bytes(data)
            self._folder.discard(piece)
        return {name: piece.sha256 for name, piece in self.sent.items()}
