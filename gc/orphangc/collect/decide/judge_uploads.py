"""Which unfinished uploads nothing completes any more, by the verdicts' own rules (R50)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from flinkstate.places.locations import is_within
from orphangc.collect.decide.verdicts import DecidedJob
from orphangc.collect.mark.mark import Mark
from orphangc.core.areas.dead_uploads import area_of_upload, upload_objection
from orphangc.core.areas.table import AREAS
from orphangc.core.model.bounds import NEVER
from orphangc.core.model.naming import place_of_folder, uuid_of
from orphangc.core.model.types import AreaName


@dataclass(frozen=True, slots=True)
class UploadRule:
    """What decides on uploads: of what a checkpoint names, no upload of the same name is dead."""

    marked: Mark
    jobs: Mapping[str, DecidedJob]
    areas: frozenset[AreaName] = frozenset(AreaName)

    def is_dead(self, key: str, begun_at: datetime | None) -> bool:
        """Return whether nothing completes an upload.

        Args:
            begun_at: When it was begun by the store's clock, ``None`` if unknown.
        """
        folder, _, name = key.rpartition("/")
        owners, pinned = self.marked.owners, self.marked.pinned
        place = place_of_folder(folder, owners.base.name)
        area, owner = area_of_upload(place, name), owners.job_key(place)
        job = None if owner is None else self.jobs.get(owner)
        uuid = uuid_of(name)
        if area not in self.areas or job is None or job.facts is None or begun_at is None:
            return False
        if "" in pinned or is_within(key, pinned):
            return False
        if (uuid is not None and uuid in self.marked.live) or not job.judges(area):
            return False
        objection = upload_objection(job.facts, area) or AREAS[area].objection(job.facts, place)
        return objection is None and NEVER < begun_at < job.open_in(area).cutoff
