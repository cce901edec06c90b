"""The scheme that a file's name fits in its folder: an allow-list, read from the table of areas.

Source: Flink 1.13-2.3, ``FsCheckpointStreamFactory`` (bare UUID names),
``FileMergingSnapshotManager`` (``job_..._op_...``, ``job_..._tm_...``), ``StateChangeFsUploader``
(``dstl``), ``ForStStateBackend`` (``op_...``),
``LocalRecoverableWriter.generateStagingTempFilePath`` (``._metadata.inprogress.``).
"""

import re
from typing import Final

from flinkstate.places.checkpoint_names import METADATA_NAME
from orphangc.core.areas.table import area_at, layout_shown_by
from orphangc.core.model.naming import Artifact, FilePlace, parse_artifact_name, uuid_of
from orphangc.core.model.types import DirectoryLayout, Scope

_UNRECOGNISED: Final = Artifact(DirectoryLayout.UNRECOGNISED)
_IN_PROGRESS: Final = re.compile(r"\.?_metadata\.inprogress\..+", re.DOTALL)
_STAGING_START: Final = "._metadata.inprogress."


def recognise(name: str, place: FilePlace) -> Artifact:
    """Return which of Flink's schemes a file name fits in its place.

    An artifact with a UUID is a file of an area; only such files can ever be candidates.
    """
    if name == METADATA_NAME:
        return Artifact(DirectoryLayout.METADATA)
    if not place.inner and _IN_PROGRESS.fullmatch(name) is not None:
        return _staging_file(name, place)
    area, parsed = area_at(place), parse_artifact_name(name)
    if area is None or parsed is None:
        shown = layout_shown_by(place)
        return _UNRECOGNISED if shown is None else Artifact(shown)
    checkpoint_id, uuid = parsed
    if checkpoint_id is None:
        return Artifact(area.layout, uuid=uuid)
    if area.layout is DirectoryLayout.FLAT:
        return Artifact(DirectoryLayout.FLAT_WITH_ID, uuid=uuid, checkpoint_id=checkpoint_id)
    return Artifact(area.layout)


_HA_FILES: Final = (
    (
        re.compile(
            r"(?:completedCheckpoint|submittedJobGraph|submittedExecutionPlan)[0-9a-f]{12}",
            re.ASCII,
        ),
        (
            "a file of high availability: ConfigMaps or ZooKeeper nodes of any cluster that shares"
            " the folder may point to it, and recovery reads it"
        ),
    ),
    (
        re.compile(r"blob_[pt]-[0-9a-f]{40}-[0-9a-f]{32}", re.ASCII),
        (
            "a blob (a jar or a part of a job): no pointer shows whether a job that may be"
            " recovered needs it"
        ),
    ),
    (
        re.compile(r"[0-9a-f]{32}(?:_DIRTY)?\.json", re.ASCII),
        (
            "probably an entry of a JobResultStore: it is evidence that a job is over, and without"
            " it Flink may run the job again"
        ),
    ),
)


def ha_remark(name: str) -> str | None:
    """Return what an unrecognised name is in Flink's HA storage, and why it always stays (R52).

    Source: Flink 1.15-2.3, ``FileSystemStateStorageHelper``, ``FileUtils.getRandomFilename``,
    ``BlobUtils.getStorageLocationPath``, ``BlobKey``, ``FileSystemJobResultStore``.
    """
    return next((remark for pattern, remark in _HA_FILES if pattern.fullmatch(name)), None)


def _staging_file(name: str, place: FilePlace) -> Artifact:
    parsed = parse_artifact_name(name.removeprefix(_STAGING_START))
    is_named = name.startswith(_STAGING_START) and parsed is not None and parsed[0] is None
    is_in_checkpoint = place.scope in {Scope.EXCLUSIVE, Scope.SAVEPOINT}
    return Artifact(
        DirectoryLayout.METADATA_IN_PROGRESS,
        uuid=uuid_of(name) if is_named and is_in_checkpoint else None,
    )
