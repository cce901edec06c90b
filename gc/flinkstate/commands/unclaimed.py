"""``unclaimed``: the state of a checkpoint that the job's next version no longer declares."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from flinkstate.commands.declarations_file import read_declarations
from flinkstate.commands.open_checkpoint import OpenedCheckpoint, read_named
from flinkstate.commands.prune_keyed import prune_keyed, unprunable
from flinkstate.commands.verify import VerifiedFiles, verify_files
from flinkstate.compatibility.comparison import DeclarationComparison, FindingKind
from flinkstate.compatibility.find_unclaimed import compared, stateful_operators
from flinkstate.compatibility.prune import pruned_bytes
from flinkstate.errors import ExitCode, FlinkStateError, SettingsError, StorageUnreachableError
from flinkstate.files.host import Host
from flinkstate.files.paths import absolute, aliases_from, located, overlap
from flinkstate.places.checkpoint_names import METADATA_NAME
from flinkstate.places.locations import Location


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Result of ``unclaimed``.

    Attributes:
        kept: Why keyed state of an operator was not pruned, by its id.
    """

    checkpoint: Location
    comparison: DeclarationComparison
    pruned_to: Location | None
    verified: VerifiedFiles | None = None
    kept: Mapping[str, str] = field(default_factory=dict)

    def exit_code(self, *, ignores_unclaimed: bool) -> ExitCode:
        """Return the exit code: 5 if there is unclaimed state, whatever else is wrong.

        1 means that Flink cannot restore the checkpoint, whatever is declared. 4 means that nothing
        unclaimed was found but not all could be read: the rest may be unclaimed.

        Args:
            ignores_unclaimed: Whether unclaimed state, found or not readable, is no reason.
        """
        files = ExitCode.DONE if self.verified is None else self.verified.exit_code
        if not (self.comparison.is_clean or ignores_unclaimed):
            return ExitCode.UNCLAIMED_STATE
        if files is ExitCode.FAILED:
            return files
        if ignores_unclaimed:
            return ExitCode.DONE
        return files if self.comparison.is_complete else ExitCode.REFUSED


def find_unclaimed(
    uri: str,
    host: Host,
    *,
    declarations: Path,
    prune_to: str | None,
    alias: Sequence[str],
    verifies: bool = True,
) -> Claims:
    """Return the unclaimed state of a checkpoint; write a checkpoint without it, if requested.

    Nothing is written if a file of the checkpoint is missing or of another size.

    Raises:
        SettingsError: The declarations or the new folder are unusable; or the state to remove may
            be declared under another name; or Flink will refuse the pruned checkpoint. Nothing is
            written.
        FlinkStateError: The checkpoint cannot be read or pruned. Nothing is written.
    """
    declared = read_declarations(declarations)
    checkpoint = read_named(uri, host, aliases_from(alias))
    comparison = compared(
        checkpoint.contents, declared, stateful=stateful_operators(checkpoint.metadata)
    )
    comparison = _with_prunable(comparison, checkpoint)
    verified = verify_files(checkpoint, host) if verifies else None
    is_damaged = verified is not None and bool(verified.damaged)
    place = None if prune_to is None or is_damaged else located(prune_to)
    kept: Mapping[str, str] = {}
    if place is not None:
        kept = _prune(
            checkpoint,
            comparison,
            place,
            host,
            spelled=as_flink_spells(uri, checkpoint.folder, alias),
        )
    return Claims(
        checkpoint=checkpoint.folder,
        comparison=comparison,
        pruned_to=place,
        verified=verified,
        kept=kept,
    )


def _with_prunable(
    comparison: DeclarationComparison, checkpoint: OpenedCheckpoint
) -> DeclarationComparison:
    """Return the comparison; keyed state is prunable only if its files show no problem."""
    doubtful = {
        each.operator.id
        for each in comparison.unclaimed
        if each.kind is FindingKind.KEYED_STATE and each.is_prunable
    }
    problems = unprunable(checkpoint, doubtful)
    return replace(
        comparison,
        unclaimed=tuple(
            replace(each, is_prunable=False)
            if each.kind is FindingKind.KEYED_STATE and each.operator.id in problems
            else each
            for each in comparison.unclaimed
        ),
    )


def as_flink_spells(uri: str, folder: Location, alias: Sequence[str] = ()) -> str:
    """Return a checkpoint's folder as a handle names it: in the file system that the caller names.

    ``s3`` and ``s3a``, or an account's blob and dfs endpoints, are the same place to orphangc, but
    a cluster may have a file system for one only. A folder behind an alias keeps the name that the
    cluster knows.

    Source: Flink 1.8-2.3, ``Path.toString``.
    """
    for text, each in zip(alias, aliases_from(alias), strict=True):
        key = each.target.key_of(folder)
        if key is not None:
            return as_flink_spells(text.partition("=")[0], each.source.child(key))
    if folder.scheme == "file":
        return f"file:{folder.path}"
    scheme, _, rest = absolute(uri).partition(":")
    authority = rest[2:].partition("/")[0] if rest.startswith("//") else ""
    return f"{scheme.lower()}:{authority and f'//{authority}'}{folder.path}"


def _prune(
    checkpoint: OpenedCheckpoint,
    comparison: DeclarationComparison,
    place: Location,
    host: Host,
    *,
    spelled: str,
) -> Mapping[str, str]:
    """Write the pruned checkpoint into a new folder, ``_metadata`` last; or leave no file in it.

    Returns:
        Why keyed state of an operator stays, by its id.
    """
    if overlap(checkpoint.folder, place):
        raise SettingsError(
            f"{place} and the checkpoint {checkpoint.folder} contain one another: choose another"
        )
    if problem := _objection(comparison):
        raise SettingsError(f"{problem}; nothing is written")
    target = NewCheckpoint(place, host)
    pruned_bytes(checkpoint.metadata, comparison, directory=spelled)  # what it refuses, it refuses
    with target:
        keyed = prune_keyed(checkpoint, comparison, target.write)
        target.finish(
            pruned_bytes(checkpoint.metadata, comparison, directory=spelled, keyed=keyed.handles)
        )
    return keyed.kept


def _objection(found: DeclarationComparison) -> str | None:
    for operator in found.misnamed:
        hint = f" (did you mean {operator.nearest!r}?)" if operator.nearest else ""
        return (
            f"operator {operator.label!r} is declared and not in the checkpoint, which holds"
            f" operators that are not declared{hint}: if it is really new, say 'new: true' of it"
        )
    for state in found.misnamed_states:
        kind = state.kind.replace("_", " ")
        hint = f" (did you mean {state.nearest!r}?)" if state.nearest else ""
        return (
            f"{kind} {state.state!r} of operator {state.operator.label!r} is declared and not in"
            f" the checkpoint, which holds {kind} of it that is not declared{hint}: if it is"
            " really new, say 'new: true' of the state"
        )
    for replaced in found.replaced:
        if not replaced.is_stated_new:
            what = "the states that start empty" if replaced.missing else "the operator"
            return (
                f"operator {replaced.operator.label!r} looks replaced under the same uid, and what"
                f" the old one has kept would be left out: if that is meant, say 'new: true' of"
                f" {what}"
            )
    for changed in found.changed:
        return (
            f"{changed.kind.replace('_', ' ')} {changed.state!r} of operator"
            f" {changed.operator.label!r} is stored as {changed.stored} and declared as"
            f" {changed.declared}: Flink will refuse the pruned checkpoint, too"
        )
    return None


class NewCheckpoint:
    """Writes files into an empty folder; they go again unless ``finish`` succeeds.

    Only files that this object wrote are removed, and none of them while ``_metadata`` may refer
    to them.
    """

    def __init__(self, place: Location, host: Host) -> None:
        """Open the folder.

        Raises:
            SettingsError: It is a file, or not empty.
            FlinkStateError: It cannot be listed.
        """
        if place.scheme == "file" and Path(place.path).is_file():
            raise SettingsError(f"{place} is a file: give a new folder")
        self._place = place
        self._files = host.writer(place)
        try:
            is_new = not self._files.names("")
        except StorageUnreachableError as err:
            raise self._unwritten(err) from err
        if not is_new:
            raise SettingsError(f"{place} is not empty: give a new folder")
        self._written: list[str] = []
        self._metadata: bytes | None = None

    def write(self, name: str, data: bytes) -> None:
        """Write a new file under a name that no other process uses.

        Raises:
            FlinkStateError: It cannot be written.
        """
        self._written.append(name)  # first: a write whose answer is lost may have happened
        try:
            self._files.create(name, data)
        except FlinkStateError as err:
            raise self._unwritten(err) from err

    def finish(self, metadata: bytes) -> None:
        """Write ``_metadata``, which makes the folder a checkpoint.

        Raises:
            SettingsError: Another process has written one meanwhile.
            FlinkStateError: It cannot be written, or whether it was written cannot be known.
        """
        self._metadata = metadata
        try:
            is_ours = self._files.create(METADATA_NAME, metadata)
        except FlinkStateError as err:
            if self._files.read(METADATA_NAME) != metadata:
                raise self._unwritten(err) from err
            is_ours = True  # only the answer was lost
        if not is_ours:
            raise SettingsError(
                f"{self._place} was filled by another process meanwhile: give a new folder"
            )

    def _unwritten(self, err: FlinkStateError) -> FlinkStateError:
        """Return the error: the store of the original was reached, so it is none of that."""
        return FlinkStateError(f"the pruned checkpoint {self._place} cannot be written: {err}")

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove what was written, if there is an error and ``_metadata`` does not refer to it."""
        if kind is None or self._may_be_complete():
            return
        for name in self._written:
            with suppress(FlinkStateError):  # the first error is the one to report
                self._files.remove(name)

    def _may_be_complete(self) -> bool:
        if self._metadata is None:
            return False
        try:
            return self._files.read(METADATA_NAME) == self._metadata
        except FlinkStateError:
            return True
