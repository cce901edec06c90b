"""The golden files, each with what Flink itself read from it."""

import json
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from support.grouped import for_each, grouped

ROOT = Path(__file__).parents[3] / "golden"
LAST_RELEASE_WITH_HASH_MAPS = (1, 15)
"""Up to here Flink kept the named lists in hash maps: their order is not the file's."""
ADDED_TO_FILE = {"directory", "files", "directories"}


@dataclass(frozen=True)
class GoldenFile:
    folder: Path

    @property
    def name(self) -> str:
        """Path of the file relative to the golden folder."""
        return self.folder.relative_to(ROOT).as_posix()

    @cached_property
    def data(self) -> bytes:
        return (self.folder / "_metadata").read_bytes()

    @cached_property
    def expected(self) -> dict[str, Any]:
        return json.loads((self.folder / "expected.json").read_text("utf-8"))

    @property
    def release(self) -> tuple[int, ...]:
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


def contractual(document: dict[str, Any]) -> dict[str, Any]:
    """The document without what the contract adds to Flink's own fields."""
    kept = {key: value for key, value in document.items() if key not in ADDED_TO_FILE}
    kept["operators"] = [
        {key: value for key, value in operator.items() if key != "coordinator_state_bytes"}
        for operator in document["operators"]
    ]
    return json.loads(json.dumps(kept))


def comparable(document: Any, file: GoldenFile, directory: str) -> Any:
    """The directory for Flink's marker; the named lists of an old file in no order."""
    if isinstance(document, dict):
        changed = {key: comparable(each, file, directory) for key, each in document.items()}
        has_order = file.release[:2] > LAST_RELEASE_WITH_HASH_MAPS
        for key in {"shared", "private"} & (set() if has_order else set(changed)):
            changed[key] = sorted(changed[key], key=json.dumps)
        return changed
    if isinstance(document, list):
        return [comparable(each, file, directory) for each in document]
    if isinstance(document, str) and document.startswith("EXCL/"):
        return f"{directory}/{document.removeprefix('EXCL/')}"
    return document


def handles_in(document: Any) -> list[dict[str, Any]]:
    """Every handle of a document, at any depth: whatever has a type and is no property."""
    if isinstance(document, dict):
        own = [document] if "type" in document else []
        return own + [found for value in document.values() for found in handles_in(value)]
    if isinstance(document, list):
        return [found for value in document for found in handles_in(value)]
    return []
