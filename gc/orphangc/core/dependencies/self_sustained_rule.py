"""Is a job's state self-sustained: may the snapshot that it was restored from go (R30)?"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from flinkstate.places.checkpoint_names import METADATA_NAME
from flinkstate.places.locations import Alias, Location, place_of, places_of
from flinkstate.text.shown_text import some
from orphangc.core.columns.file_names import FileNames
from orphangc.core.decision.evidence import CycleEvidence, JobEvidence
from orphangc.core.decision.judge import Judgement, is_over
from orphangc.core.dependencies.foreign_files import (
    Foreign,
    Namer,
    Standing,
    UnownedReference,
    meant,
    standing_of,
    unaccounted,
    unowned_references,
)
from orphangc.core.dependencies.own_changelog import judgement_of_references, own_changelog_folders
from orphangc.core.documents.self_sustained_record import UsageCheckPart
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot, resolve

Weigh = Callable[[Sequence[UnownedReference], Location], int | None]


def unweighed(*_: object) -> None:
    """Return no sizes: the storage was not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignUsage:
    """Foreign files that a job's state uses.

    Attributes:
        judgement: Refusal and blocks of the job; a refused job is never self-sustained.
        unowned: References that no file of the job's own is known to satisfy.
    """

    job: JobEvidence
    judgement: Judgement
    unowned: tuple[UnownedReference, ...] = ()
    restored: tuple[tuple[int, Location], ...] = ()
    is_over: bool = False


def _own_places(job: JobEvidence) -> tuple[Location, ...]:
    found = {each.directory for each in job.own_checkpoints if each.directory is not None}
    return tuple(sorted({*job.directories, *found}, key=str))


def _restored_places(
    job: JobEvidence, aliases: Sequence[Alias] = ()
) -> tuple[tuple[int, Location], ...]:
    said = [(each.restored.id, each.restored.external_path) for each in job.facts if each.restored]
    said += [
        (each.id, resolve(each.path, one.checkpoint_dir))
        for one in job.snapshots
        for each in one.restored
    ]
    own = _own_places(job)
    found = {
        (at, place)
        for at, path in said
        if (place := place_of(path, aliases)) is not None
        and not any(each.contains(place) for each in own)
    }
    return tuple(sorted(found, key=lambda each: (each[0], str(each[1]))))


def foreign_usage_of(
    job: JobEvidence,
    judgement: Judgement,
    *,
    absent: Mapping[Location, Collection[str]] | None,
    aliases: Sequence[Alias] = (),
    named_by_others: Collection[Location] = (),
    cycle: CycleEvidence | None = None,
) -> ForeignUsage:
    """Return the foreign files that a job's state uses.

    Args:
        absent: Names in its directories that the listing does not show, by folder; ``None`` if
            there was no listing.
        cycle: Evidence about all jobs, by which a job with a changelog is judged again; ``None`` to
            leave the judgement as it is.
    """
    restored = _restored_places(job, aliases)
    changes = own_changelog_folders(
        job, named_by_others=named_by_others, is_restored=bool(restored) or not job.facts
    )
    if cycle is not None:
        judgement = judgement_of_references(job, judgement, changes, cycle)
    own = (*_own_places(job), *changes)
    unowned = unowned_references(map(Namer.of, job.own_checkpoints), own, absent)
    newest = job.snapshots[-1:]
    known = (*own, *places_of((each.checkpoint_dir for each in newest), aliases))
    registered = unowned_references((_registered(each, aliases) for each in newest), known, {})
    return ForeignUsage(
        job=job,
        judgement=judgement,
        unowned=(*unowned, *registered),
        restored=restored,
        is_over=cycle is not None and is_over(job, judgement, cycle),
    )


def checks_of(
    usage: ForeignUsage,
    foreigners: Sequence[Foreign],
    *,
    users: Mapping[Location, Sequence[str]] | None = None,
    unseen: Mapping[Location, str] | None = None,
    weigh: Weigh = unweighed,
) -> tuple[UsageCheckPart, ...]:
    """Return a check of everything that is not the job's own, and one of each foreign place.

    Args:
        foreigners: Places to check: those of its unowned references, and those that it was
            restored from.
        users: Other users of a snapshot's files, by its place.
        unseen: Why others may need files of a snapshot, unseen, by its place.
        weigh: Returns the bytes of a place's files that the references name.
    """
    doubt = _doubt(usage, foreigners)
    named = [(each, meant(each, usage.unowned)) for each in foreigners]
    foreign = [reference for reference in usage.unowned if not reference.is_own]
    foreign += [each for _, references in named for each in references if each.is_own]
    everything = _check_part(usage, None, standing_of(foreign), doubt)
    places = [
        _check_part(usage, each, standing_of(references), doubt).model_copy(
            update={
                "also_named_by": tuple((users or {}).get(each.place, ())),
                "bytes": weigh(references, each.place) if references else 0,
                "unsearched": (unseen or {}).get(each.place, ""),
            }
        )
        for each, references in named
    ]
    return (everything, *places)


def _check_part(
    usage: ForeignUsage, foreign: Foreign | None, standing: Standing, doubt: str | None
) -> UsageCheckPart:
    """Return one check; ``None`` stands for everything that is not the job's own."""
    value, why = _judged(usage, foreign, standing, doubt)
    place = None if foreign is None else foreign.place
    return UsageCheckPart(
        kind=None if foreign is None else foreign.kind,
        place="" if place is None else str(place),
        value=value,
        why=why,
        restored_from=any(place == each for _, each in usage.restored),
        references=standing.references,
        sample=standing.sample,
        named_by=standing.named_by,
        is_over=usage.is_over,
    )


def _judged(
    usage: ForeignUsage, foreign: Foreign | None, standing: Standing, doubt: str | None
) -> tuple[bool | None, str]:
    """Return whether the job needs nothing of a place, and why; a reference that is seen counts.

    Whatever stops the job's work, what one of its checkpoints names it needs.
    """
    where = "outside its own directories" if foreign is None else f"of {foreign.place}"
    if standing.references:
        by = some(each.uri.rpartition("/")[2] for each in standing.named_by)
        names = "still names" if len(standing.named_by) == 1 else "still name"
        files = "1 file" if standing.references == 1 else f"{standing.references} files"
        return False, f"{by} {names} {files} {where}"
    unseen = _unseen(usage)
    if unseen is not None:
        return None, unseen
    for at, place in usage.restored:
        if (foreign is None or place == foreign.place) and has_nothing_since(usage, at):
            return False, (
                f"it was restored from checkpoint {at} in {place}, and has completed none of its"
                " own since"
            )
    if not usage.job.own_checkpoints:
        return None, "no completed checkpoint of its own was found"
    if doubt is not None:
        return None, doubt
    count = len(usage.job.own_checkpoints)
    checkpoints = "its 1 retained checkpoint" if count == 1 else f"its {count} retained checkpoints"
    return True, f"{checkpoints} name{'s' if count == 1 else ''} no file {where}"


def _unseen(usage: ForeignUsage) -> str | None:
    if usage.job.own_checkpoints:
        return None
    completed = [each.latest_completed_id for each in usage.job.facts]
    newest = max((each for each in completed if each is not None), default=None)
    if newest is None:
        return None
    return (
        f"Flink says that it has completed checkpoint {newest}, and none of its checkpoints was"
        " found: add their place with --extra-root, or say with --alias what it means"
    )


def has_nothing_since(usage: ForeignUsage, restored_id: int) -> bool:
    """Return whether the job has completed nothing of its own since it was restored.

    Older checkpoints of its own directory are no restore fallback then, whatever their ids.
    """
    if all(checkpoint.checkpoint_id <= restored_id for checkpoint in usage.job.own_checkpoints):
        return True
    reported = [
        each for each in usage.job.facts if each.restored and each.restored.id == restored_id
    ]
    return bool(reported) and all(each.has_nothing_since for each in reported)


def _doubt(usage: ForeignUsage, foreigners: Sequence[Foreign]) -> str | None:
    if usage.judgement.refused is not None:
        return usage.judgement.refused.message
    sink = next((each for each in usage.job.own_checkpoints if each.has_write_ahead_sink), None)
    if sink is not None:
        return (
            f"{sink.folder} holds the state of a write-ahead sink (pending-checkpoints), which may"
            " name files in taskowned/ of another job in bytes that only the job can read"
        )
    lost = unaccounted(usage.unowned, foreigners)
    if not lost:
        return None
    standing = standing_of(lost)
    return (
        f"{standing.named_by[0].uri} says that {standing.named_by[0].references} files lie in its"
        " own folder, which are not there (FLINK-39964?): they may be files of a snapshot that was"
        " not read"
    )


def _registered(snapshot: RegistrySnapshot, aliases: Sequence[Alias]) -> Namer:
    """Return the whole paths of an exported registry; all others are in the job's directory.

    A pending checkpoint may name what no retained one does.
    """
    files = snapshot.entries.absolute(aliases)
    for place in places_of((each.path for each in snapshot.retained), aliases):
        files[place] = FileNames([*files.get(place, ()), METADATA_NAME])
    return Namer(uri=f"registry snapshot {snapshot.sequence}", checkpoint_id=None, files=files)
