"""The golden files, each with what Flink itself read from it."""

import json
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from support.grouped import for_each, grouped

ROOT = Path(__file__).parents[3] / "golden"


@dataclass(frozen=True)
class GoldenFile:
    """One `_metadata` and its neighbours."""

    folder: Path

    @property
    def name(self) -> str:
        """Path of the file relative to the golden folder."""
        return self.folder.relative_to(ROOT).as_posix()

    @cached_property
    def data(self) -> bytes:
        """What Flink wrote."""
        return (self.folder / "_metadata").read_bytes()

    @cached_property
    def expected(self) -> dict[str, Any]:
        """What Flink read."""
        return json.loads((self.folder / "expected.json").read_text("utf-8"))

    @property
    def release(self) -> tuple[int, ...]:
        """The Flink that wrote it."""
        parts = self.folder.relative_to(ROOT).parts
        return tuple(int(part) for part in parts[parts[0] == "real"].split("."))


@cache
def golden_files() -> tuple[GoldenFile, ...]:
    return tuple(GoldenFile(path.parent) for path in sorted(ROOT.rglob("_metadata")))


every_golden_file = for_each(
    "file",
    grouped(golden_files(), by=lambda file: file.name.rpartition("/")[0]),
    shown=lambda file: file.name,
)
"""Gives a test each golden file; its cases are the releases."""


def golden(name: str) -> GoldenFile:
    return GoldenFile(ROOT / name)


def handles_in(document: Any) -> list[dict[str, Any]]:
    """Every handle of a document, at any depth: whatever has a type and is no property."""
    if isinstance(document, dict):
        own = [document] if "type" in document else []
        return own + [found for value in document.values() for found in handles_in(value)]
    if isinstance(document, list):
        return [found for value in document for found in handles_in(value)]
    return []
