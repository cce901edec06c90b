"""What interrupted expiries left: quarantines of what is stored, markers beside nothing (R44)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

import structlog

from flinkstate.files.paths import spellings
from flinkstate.places.locations import Location, canonical
from orphangc.collect.cycle import Cycle
from orphangc.collect.observe.expired_checkpoints import ExpiredMetadata
from orphangc.collect.quarantine.checkpoint_folders import CheckpointFolders, RunStorages
from orphangc.collect.quarantine.expired_records import remember_expired, remove_marker
from orphangc.collect.state.store import RootState
from orphangc.collect.world.memory_files import read_memory
from orphangc.core.lineage.expired_checkpoint import ExpiryMarker
from orphangc.errors import OrphanGcError

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """What one cycle saw of interrupted expiries."""

    storages: RunStorages
    state: RootState
    cycle: Cycle
    beside: CheckpointFolders

    def end_what_is_stored(self, but: Collection[str], at: datetime) -> None:
        """End each quarantine whose ``_metadata`` is stored, but of what expires now.

        A run that ended early left it, or put it back: what hides it later is no expiry. What a run
        took away since this cycle began, which has taken the lock over, the cycle saw stored, too.
        """
        own, began = self.cycle.seen.second[: len(self.storages.all)], self.cycle.evidence.now
        stored = {(str(each.folder), each.sha256) for part in own for each in part.checkpoints}
        back = [
            each.model_copy(update={"restored_at": at})
            for each in read_memory(self.state).memory.expired
            if each.is_in_quarantine
            and each.expired_at < began
            and (each.uri, each.sha256) in stored
            and each.uri not in but
        ]
        for each in back:
            remove_marker(self.state, self.beside, each)
        if back:
            remember_expired(self.state, back)

    def remove_markers(self, quarantined: Iterable[ExpiredMetadata]) -> None:
        """Remove what interrupted runs left, and the markers of what is not in quarantine.

        Only markers that the cycle saw, none of which stopped this run: another state location may
        have left one since. What cannot be removed is left to the next run.
        """
        known = read_memory(self.state).memory.expired
        folders = [each.folder for each in quarantined]
        folders += [canonical(each.uri) for each in known if each.is_in_quarantine]
        kept = frozenset().union(*map(spellings, folders))
        left: dict[Location, set[str]] = {}
        for each in filter(self._is_ours, self.cycle.expiries):
            left.setdefault(each.folder, set()).add(each.state)
        for folder, states in left.items():
            try:
                self.beside.unmark(folder, states if kept.isdisjoint(spellings(folder)) else ())
            except OrphanGcError as err:
                log.warning("expiry.marker_left", folder=str(folder), reason=str(err))

    def _is_ours(self, marker: ExpiryMarker) -> bool:
        if self.storages.own.location.contains(marker.folder):
            return True
        is_beside = any(each.location.contains(marker.folder) for each in self.storages.extra)
        return is_beside and marker.state in self.cycle.remembered.states
