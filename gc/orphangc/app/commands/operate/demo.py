"""``demo``: plan, quarantine and sweep a small storage made from real ``_metadata`` files.

Flink 1.20.5 and 2.3.0 wrote the metadata. The demo makes the state files that it names, empty files
of the right names, and a few orphans.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from importlib import resources
from pathlib import Path

from rich.text import Text

from flinkstate.metadata.references import pack_references
from flinkstate.places.locations import Alias, canonical
from flinkstate.tables.printing import print_tables
from orphangc.adapters.rows.plan_directory import PlanDirectory
from orphangc.adapters.rows.temporary_folder import TemporaryFolder
from orphangc.app.render.plan.plan_tables import plan_tables
from orphangc.app.runner.make_plan import PlanFiles, make_plan
from orphangc.app.runner.sweep_plan import sweep_plan
from orphangc.app.wiring.clock import now
from orphangc.app.wiring.compose import start_of
from orphangc.collect.decide.breakdown import Breakdown
from orphangc.collect.observe.checkpoints import PackedReferences
from orphangc.collect.runs.result import SweepResult
from orphangc.core.documents.plan import Plan
from orphangc.core.model.job_folders import CHECKPOINT, SHARED
from orphangc.core.model.settings import StorageRootSettings
from orphangc.errors import OrphanGcError

_WRITTEN_BELOW = {
    "81a6da3390c95fcf6d86e8e27aa0d2b9": "file:/tmp/flink-checkpoints/2.3.0/tm-kill/checkpoints",
    "453bd8d5d815d6bea9265350b25a5ff7": (
        "file:/tmp/flink-checkpoints/1.20.5/restore-noclaim/checkpoints"
    ),
    "8daecbda897b64710fb20cdeb127d789": (
        "file:/tmp/flink-checkpoints/1.20.5/restore-noclaim/checkpoints"
    ),
}
"""Job directories in the package, and the storage root that Flink wrote each to."""

_ORPHANS = 6
_AGE = timedelta(days=30)
_ORPHAN_NAMESPACE = uuid.UUID("5c3c7a6e-7d1a-4f8e-9f0a-1f2b3c4d5e6f")


def demonstrate(keep: Path | None) -> None:
    """Make a storage, plan, tombstone, sweep, and check that every checkpoint is still complete.

    Args:
        keep: Folder to make and keep; ``None`` for a temporary one.

    Raises:
        OrphanGcError: A retained checkpoint is incomplete afterwards, or an orphan is left.
    """
    if keep is not None:
        PlanDirectory(keep).prepared()
        keep.mkdir(parents=True, exist_ok=True)
    with TemporaryFolder() if keep is None else nullcontext(keep.absolute()) as name:
        folder = Path(name)
        root = folder / "checkpoints"
        orphans = make_storage(root)
        _say(f"1. A checkpoint storage of three jobs, {len(orphans)} orphans in it: {root}")
        _say("   The demo waits for nothing, and is warned of that; by default a day passes")
        settings = demo_settings(root, folder / "state")
        print_tables([*plan_tables(*_plan(settings, folder / "plan-1"))])
        _say("2. First sweep: tombstones only, not a byte of the storage is touched")
        _sweep(folder / "plan-1", is_deleting=False)
        _say("3. Later the orphans are found again: their quarantine is over")
        _plan(settings, folder / "plan-2")
        _sweep(folder / "plan-2", is_deleting=True)
        _say("4. Every retained checkpoint must still be whole")
        whole = _check(root, orphans)
        _say(f"   {whole} checkpoints are whole, {len(orphans)} orphans are gone")


def _say(text: str) -> None:
    print_tables([Text(text, style="bold")])


def _sweep(plan: Path, *, is_deleting: bool) -> None:
    result = SweepResult()
    sweep_plan(plan, result, is_deleting=is_deleting)
    for name, count in result.counts().items():
        print_tables([Text(f"   {name}: {count['objects']} objects, {count['bytes']} bytes")])


def demo_settings(root: Path, state: Path) -> StorageRootSettings:
    """Return settings for the demo's storage: every job is over, and no quarantine period."""
    return StorageRootSettings(
        root=str(root),
        state=str(state),
        quarantine_period=timedelta(0),
        allow_short_margins=True,
        closed_world=True,
        ended_job=("all",),
        alias=tuple(f"{written}={root}" for written in dict.fromkeys(_WRITTEN_BELOW.values())),
    )


def _plan(settings: StorageRootSettings, out: Path) -> tuple[Plan, Breakdown]:
    made = make_plan(start_of(settings), PlanFiles(out=out))
    return made.plan, made.breakdown


def make_storage(root: Path) -> set[Path]:
    """Write the storage and return its orphans."""
    at = (now() - _AGE).timestamp()
    shipped = resources.files("orphangc.app.commands.operate") / "demo_storage"
    for job_id in _WRITTEN_BELOW:
        for checkpoint in (shipped / job_id).iterdir():
            data = (checkpoint / "_metadata").read_bytes()
            target = root / job_id / checkpoint.name / "_metadata"
            _write(target, data, at + 60)
            for file in _files(root, target):
                if not file.exists():
                    _write(file, file.name.encode(), at)
    orphans = set()
    for number in range(_ORPHANS):
        job_id = list(_WRITTEN_BELOW)[number % len(_WRITTEN_BELOW)]
        name = str(uuid.uuid5(_ORPHAN_NAMESPACE, str(number)))
        orphan = root / job_id / SHARED / name
        _write(orphan, b"uploaded, never acknowledged" * 100, at + number)
        orphans.add(orphan)
    return orphans


def _write(path: Path, data: bytes, at: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (at, at))


def _files(root: Path, metadata: Path) -> Iterator[Path]:
    written = _WRITTEN_BELOW[metadata.parent.parent.name]
    alias = Alias(canonical(written), canonical(str(root)))
    _, packed = pack_references(metadata.read_bytes(), PackedReferences)
    for folder, names in packed.files(canonical(str(metadata.parent)), [alias]).items():
        yield from (Path(folder.path) / name for name in names)


def _check(root: Path, orphans: set[Path]) -> int:
    checkpoints = sorted(root.glob(f"*/{CHECKPOINT}*/_metadata"))
    for metadata in checkpoints:
        for file in _files(root, metadata):
            if not file.is_file():
                raise OrphanGcError(f"{metadata.parent} lost {file}")
    left = [orphan for orphan in orphans if orphan.exists()]
    if left:
        raise OrphanGcError(f"{len(left)} orphans are left, {left[0]} among them")
    return len(checkpoints)
