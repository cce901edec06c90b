"""Rows of a listing as columns: the meaning of each key, for whole batches at once.

The grammar stays in ``names``: it is asked once for each distinct head, a head being a key less
the UUID that it ends in, and once for each key that ends in none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from orphangc.core.areas.recognise import recognise
from orphangc.core.areas.table import area_at
from orphangc.core.columns.uuid_words import UUID_LENGTH, uuid_tails
from orphangc.core.model.naming import ANY_UUID, Artifact, FilePlace, place_of_folder
from orphangc.core.model.types import AreaName, DirectoryLayout
from orphangc.core.times.instant_columns import known_times

NO_TIME: Final[int] = -(2**63)
"""An unknown store time, in columns of microseconds since 1970."""
NO_ID: Final[int] = -1
"""The checkpoint id of a name that carries none."""

_REMEMBERED = 16_384  # heads, and folders: some 10 MB; a bucket may have a million of them


@dataclass(frozen=True, slots=True, kw_only=True)
class RowKind:
    """Meaning of a key's head; all rows of one kind end in a UUID, or none does.

    Attributes:
        head: The key less the UUID that it ends in, ``<job>/shared/41_``; less its base name
            if it ends in no UUID, ``<job>/chk-7/``.
        artifact: Meaning of the name, without its UUID, which differs from row to row.
        is_artifact: Whether it is a file of an area: a candidate if the area's rule allows it.
    """

    head: str
    place: FilePlace
    artifact: Artifact
    is_artifact: bool
    area: AreaName | None = None

    @property
    def is_flat(self) -> bool:
        """Return whether it is a file directly in ``shared/``."""
        return self.area is AreaName.SHARED


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """One batch of n objects; folders, which a listing may show too, are left out.

    Attributes:
        batch: The objects, ``LISTING_SCHEMA``.
        kind: int32[n], index into ``kinds``.
        hi: uint64[n], first half of the UUID that the base name ends in, 0 if it ends in none.
        lo: uint64[n], the second half.
        has_uuid: bool[n], whether the base name ends in a UUID, in whatever area (``uuid_of``).
        is_artifact: bool[n], whether it is a file of an area: a candidate if the area's rule
            allows it.
        checkpoint_id: int64[n], of ``<checkpointID>_<UUID>`` artifacts, else ``NO_ID``.
        modified_us: int64[n], store time in microseconds since 1970, ``NO_TIME`` if unknown.
    """

    batch: pa.RecordBatch
    kinds: tuple[RowKind, ...]
    kind: npt.NDArray[np.int32]
    hi: npt.NDArray[np.uint64]
    lo: npt.NDArray[np.uint64]
    has_uuid: npt.NDArray[np.bool_]
    is_artifact: npt.NDArray[np.bool_]
    checkpoint_id: npt.NDArray[np.int64]
    modified_us: npt.NDArray[np.int64]

    @classmethod
    def of(
        cls,
        objects: pa.RecordBatch,
        kinds: Sequence[RowKind],
        kind: npt.NDArray[np.int32],
        *,
        hi: npt.NDArray[np.uint64],
        lo: npt.NDArray[np.uint64],
        has_uuid: npt.NDArray[np.bool_],
        modified_us: npt.NDArray[np.int64],
    ) -> Self:
        """Return the columns of objects whose kinds, UUIDs and times are known."""
        ids = (NO_ID if (n := each.artifact.checkpoint_id) is None else n for each in kinds)
        return cls(
            batch=objects,
            kinds=tuple(kinds),
            kind=kind,
            hi=hi,
            lo=lo,
            has_uuid=has_uuid,
            is_artifact=np.fromiter((each.is_artifact for each in kinds), np.bool_)[kind],
            checkpoint_id=np.fromiter(ids, np.int64)[kind],
            modified_us=modified_us,
        )

    def __len__(self) -> int:
        """Return n."""
        return len(self.kind)

    @property
    def is_flat(self) -> npt.NDArray[np.bool_]:
        """Return bool[n]: whether each is a file directly in ``shared/``."""
        return np.array([each.is_flat for each in self.kinds], np.bool_)[self.kind]


class Recogniser:
    """Turns batches of a listing of one storage root into columns; what it remembers is bounded.

    May be shared between threads; not picklable: every process makes its own.
    """

    def __init__(self, root_name: str) -> None:
        """Start empty; ``root_name`` is the last part of the storage root."""
        self._place: Callable[[str], FilePlace] = lru_cache(_REMEMBERED)(
            lambda folder: place_of_folder(folder, root_name)
        )
        self._of_head: Callable[[bytes], RowKind] = lru_cache(_REMEMBERED)(self._ask)

    def columns(self, batch: pa.RecordBatch) -> Columns:
        """Return a ``LISTING_SCHEMA`` batch as columns; ``ValueError`` if it is no whole one."""
        sizes = batch.column("size")
        objects = batch.filter(sizes.is_valid()) if sizes.null_count else batch
        keys = objects.column("key").cast(pa.binary())
        if keys.null_count:
            raise ValueError("a listed object has no key")
        has_uuid, hi, lo = uuid_tails(keys)
        kinds, kind = self._kinds(keys, has_uuid)
        times = _microseconds(objects.column("modified_at"))
        return Columns.of(objects, kinds, kind, hi=hi, lo=lo, has_uuid=has_uuid, modified_us=times)

    def _kinds(
        self, keys: pa.BinaryArray, has_uuid: npt.NDArray[np.bool_]
    ) -> tuple[list[RowKind], npt.NDArray[np.int32]]:
        if has_uuid.all():
            return self._kinds_of_heads(keys)
        kinds, of_heads = self._kinds_of_heads(keys.filter(pa.array(has_uuid)))
        kind = np.empty(len(keys), np.int32)
        kind[has_uuid] = of_heads
        others = keys.filter(pa.array(~has_uuid)).to_pylist()
        kind[~has_uuid] = self._kinds_of_others(others, kinds)
        return kinds, kind

    def _kinds_of_heads(self, keys: pa.BinaryArray) -> tuple[list[RowKind], npt.NDArray[np.int32]]:
        heads = pc.binary_slice(keys, 0, -UUID_LENGTH).dictionary_encode()
        return list(map(self._of_head, heads.dictionary.to_pylist())), heads.indices.to_numpy()

    def _ask(self, head: bytes) -> RowKind:
        """Return the meaning of a head; any other name than an artifact's loses nothing."""
        text = head.decode()
        folder, _, start = text.rpartition("/")
        place = self._place(folder)
        artifact = recognise(start + ANY_UUID, place)
        return RowKind(
            head=text,
            place=place,
            artifact=Artifact(artifact.layout, checkpoint_id=artifact.checkpoint_id),
            is_artifact=artifact.uuid is not None,
            area=_area_of(artifact, place),
        )

    def _kinds_of_others(self, keys: list[bytes], kinds: list[RowKind]) -> list[int]:
        known: dict[tuple[str, DirectoryLayout], int] = {}
        found: list[int] = []
        for key in keys:
            folder, slash, name = key.decode().rpartition("/")
            place = self._place(folder)
            artifact = recognise(name, place)
            number = known.setdefault((folder + slash, artifact.layout), len(kinds))
            if number == len(kinds):
                head = folder + slash
                kinds.append(RowKind(head=head, place=place, artifact=artifact, is_artifact=False))
            found.append(number)
        return found


def _area_of(artifact: Artifact, place: FilePlace) -> AreaName | None:
    area = None if artifact.uuid is None else area_at(place)
    return None if area is None else area.name


def _microseconds(times: pa.TimestampArray) -> npt.NDArray[np.int64]:
    """Return int64[n], ``NO_TIME`` for null and what is out of range.

    A wrong unit would make every object look old.
    """
    if times.type.unit != "us":
        raise ValueError(f"store times in {times.type.unit}, not in microseconds")
    return np.asarray(known_times(times).cast(pa.int64()).fill_null(NO_TIME))
