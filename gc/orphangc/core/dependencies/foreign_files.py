"""Which files that are not a job's own its checkpoints still name (R5, R30).

A name means the file at its path. Where none lies there, as after FLINK-39964, or where the path
leads out of the job's directories, it means any file of that base name, or of that UUID.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from flinkstate.places.checkpoint_names import METADATA_NAME
from flinkstate.places.locations import Location
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.columns.uuid_words import texts_of
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.documents.self_sustained_record import NamedPart
from orphangc.core.groups import grouped
from orphangc.core.model.job_folders import CHECKPOINT
from orphangc.core.model.naming import uuid_of
from orphangc.core.model.types import ForeignKind

_FEW = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Namer:
    """A source of names of a job's state files: a checkpoint of its own, or its exported registry.

    Attributes:
        checkpoint_id: ``None`` for a registry snapshot.
        files: Base names by folder.
    """

    uri: str
    checkpoint_id: int | None
    files: Mapping[Location, FileNames]

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> Self:
        """Return a checkpoint as what names files."""
        number, files = checkpoint.checkpoint_id, checkpoint.files
        return cls(uri=str(checkpoint.folder), checkpoint_id=number, files=files)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnownedReference:
    """Names of one folder by one namer that no file of the job's own is known to answer.

    Attributes:
        is_own: Whether the folder is the job's own, and the files are not known to be there.
    """

    namer: Namer
    folder: Location
    names: FileNames
    is_own: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """A snapshot, or a directory, that is not the job's own.

    Attributes:
        uuids: UUIDs that the names of its files end in, in any folder.
        names: Names of its files that end in no UUID.
        is_known: Whether these are all its files; if not, any file outside the job's directories
            may be one.
    """

    kind: ForeignKind
    place: Location
    uuids: UuidSet = field(default_factory=UuidSet)
    names: frozenset[str] = frozenset()
    is_known: bool = True

    @classmethod
    def of(
        cls,
        kind: ForeignKind,
        place: Location,
        files: Iterable[FileNames],
        *,
        is_known: bool = True,
    ) -> Self:
        """Return a place by the base names of its files; a ``_metadata`` is in every snapshot."""
        uuids = UuidSet()
        names: set[str] = set()
        for each in files:
            uuids.extend(*each.uuids)
            names.update(name for name in each.others if uuid_of(name) is None)
        named = frozenset(names - {METADATA_NAME})
        return cls(kind=kind, place=place, uuids=uuids, names=named, is_known=is_known)

    def may_be_named_in(self, raw: UuidSet) -> bool:
        """Return whether the bytes of a broken checkpoint may name a file of it (R6).

        Args:
            raw: Every UUID in these bytes.
        """
        return bool(self.uuids.contains(*raw.columns()).any()) or not self.is_known


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The remaining references to a foreign place.

    Attributes:
        references: Number of distinct files.
        sample: A few of them, as they are spelled.
        named_by: Checkpoints or registries that name them, the newest checkpoint first.
    """

    references: int = 0
    sample: tuple[str, ...] = ()
    named_by: tuple[NamedPart, ...] = ()


def unowned_references(
    namers: Iterable[Namer],
    own: Sequence[Location],
    absent: Mapping[Location, Collection[str]] | None,
) -> tuple[UnownedReference, ...]:
    """Return the names that no file of the job's own is known to answer.

    Args:
        absent: Names that a listing does not show, by folder of these; ``None`` if there was no
            listing, so that any of them may be in another place.
    """
    found = []
    for namer in namers:
        for folder, names in namer.files.items():
            is_own = any(directory.contains(folder) for directory in own)
            if not is_own or absent is None:
                unresolved = names
            elif lost := absent.get(folder):
                unresolved = FileNames(name for name in lost if name in names)
            else:
                continue
            if len(unresolved):
                found.append(
                    UnownedReference(namer=namer, folder=folder, names=unresolved, is_own=is_own)
                )
    return tuple(found)


def meant(foreign: Foreign, references: Iterable[UnownedReference]) -> list[UnownedReference]:
    """Return the references, or the part of each, that may be files of a foreign place."""
    return [
        replace(reference, names=names)
        for reference in references
        if len(names := _names_meant(foreign, reference))
    ]


def standing_of(references: Sequence[UnownedReference]) -> Standing:
    """Return the distinct files of references, and the sources of their names."""
    parts = [
        NamedPart(uri=uri, checkpoint_id=each[-1].namer.checkpoint_id, references=_distinct(each))
        for uri, each in grouped(references, lambda each: each.namer.uri).items()
    ]
    parts.sort(key=lambda each: (-1 if (at := each.checkpoint_id) is None else at, each.uri))
    return Standing(
        references=_distinct(references),
        sample=_sample(references),
        named_by=tuple(reversed(parts)),
    )


def unaccounted(
    references: Iterable[UnownedReference], foreigners: Sequence[Foreign]
) -> tuple[UnownedReference, ...]:
    """Return the references to the job's own ``chk-<n>`` folders that no known place answers.

    Flink writes what it claimed of a native savepoint as if it lay in the new checkpoint's own
    folder (FLINK-39964): such a file is in use and is in a snapshot, somewhere.
    """
    left = []
    for reference in references:
        if not (reference.is_own and reference.folder.name.startswith(CHECKPOINT)):
            continue
        known = [_same_names(each, reference.names) for each in foreigners]
        names = FileNames(
            name for name in reference.names if not any(name in answered for answered in known)
        )
        if len(names):
            left.append(replace(reference, names=names))
    return tuple(left)


def _names_meant(foreign: Foreign, reference: UnownedReference) -> FileNames:
    if foreign.place.contains(reference.folder):
        return reference.names
    if not (foreign.is_known or reference.is_own):
        return reference.names
    return _same_names(foreign, reference.names)


def _same_names(foreign: Foreign, names: FileNames) -> FileNames:
    others = [name for name in names.others if name in foreign.names or _ends(name, foreign.uuids)]
    flat = [
        head + text
        for head, hi, lo in names.heads()
        if (is_same := foreign.uuids.contains(hi, lo)).any()
        for text in texts_of(hi[is_same], lo[is_same])
    ]
    return FileNames([*flat, *others])


def _ends(name: str, uuids: UuidSet) -> bool:
    uuid = uuid_of(name)
    return uuid is not None and uuid in uuids


def _distinct(references: Iterable[UnownedReference]) -> int:
    """Return the number of distinct files; a path that leads nowhere distinguishes no two."""
    uuids: dict[tuple[Location | None, str], UuidSet] = {}
    others: set[tuple[Location | None, str]] = set()
    for reference in references:
        folder = None if reference.is_own else reference.folder
        for head, hi, lo in reference.names.heads():
            uuids.setdefault((folder, head), UuidSet()).extend(hi, lo)
        others.update((folder, name) for name in reference.names.others)
    return sum(map(len, uuids.values())) + len(others)


def _sample(references: Iterable[UnownedReference]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for reference in references:
        for name in reference.names:
            found[str(reference.folder.child(name))] = None
            if len(found) == _FEW:
                return tuple(found)
    return tuple(found)
