"""The plans of runs: a folder for each storage root, in it one for each of the newest runs."""

import hashlib
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import structlog

from orphangc.adapters.rows.resumable_listing import LISTING_FOLDER
from orphangc.app.config.configuration import Configuration, ScheduledRoot
from orphangc.core.times.instants import from_iso
from orphangc.core.world.known_states import KnownState, known_state
from orphangc.errors import SettingsError

log = structlog.get_logger()

_RUN_ID = re.compile(r"\d{8}T\d{12}Z-[0-9a-f]{8}")
"""Names of folders that runs make; a folder of another name stays."""


@dataclass(frozen=True, slots=True)
class KeptPlans:
    """The plans of one storage root: a folder, in it one for each run."""

    folder: Path
    keep: int

    @classmethod
    def of(cls, configuration: Configuration, root: ScheduledRoot) -> Self:
        """Return the plans of a storage root."""
        name = hashlib.sha256(root.root.encode()).hexdigest()[:16]
        return cls(configuration.plans_folder / name, configuration.keep_plans)

    def new(self, run_id: str) -> Path:
        """Return the folder for the plan of a run, or raise ``SettingsError``.

        If the run before was interrupted, its folder is renamed and its listing resumed if it is
        young enough.
        """
        folder = self.folder / run_id
        before = max(self._runs(), default=None)
        if before is not None and (
            (before / LISTING_FOLDER).is_dir() and not (before / "plan.json").exists()
        ):
            before.rename(folder)
        return folder

    def run_ids(self) -> list[str]:
        """Return the ids of the runs whose plans are kept, or raise ``SettingsError``."""
        return [each.name for each in self._runs()]

    def known_state(self) -> tuple[KnownState, ...]:
        """Return what the newest plan knows about its state location; nothing without a plan.

        A plan that cannot be read is ignored: this is a hint of a lost state, never evidence.
        """
        for folder in sorted(self._runs(), reverse=True):
            try:
                document = json.loads((folder / "plan.json").read_bytes())
                at = from_iso(document["created_at"])
                states = [str(each) for each in document.get("states", ())]
                left = document.get("remembered_at")
                remembered_at = None if left is None else from_iso(left)
            except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue
            if at is not None:
                return known_state(states, at, f"the plan in {folder}", remembered_at)
        return ()

    def prune(self) -> None:
        """Remove all but the newest plans; a folder that cannot be removed stays."""
        try:
            for old in sorted(self._runs())[: -self.keep]:
                shutil.rmtree(old, onerror=lambda _, path, why: _left(path, why[1]))
        except SettingsError as err:
            _left(str(self.folder), err)

    def _runs(self) -> list[Path]:
        try:
            found = [each for each in self.folder.iterdir() if _RUN_ID.fullmatch(each.name)]
            return [each for each in found if each.is_dir() and not each.is_symlink()]
        except FileNotFoundError:
            return []
        except OSError as err:
            raise SettingsError(f"cannot list the plans in {self.folder}: {err.strerror}") from err


def _left(path: str, why: BaseException) -> None:
    log.warning("plan.not_removed", path=path, reason=str(why))
