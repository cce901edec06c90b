"""``inspect``: the contents of checkpoints as documents, tables, trees and a page."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from flinkstate.compatibility.declarations import Declarations
from flinkstate.files.paths import absolute, aliases_from
from flinkstate.inspection.compare import CheckpointComparison, Side, compared
from flinkstate.inspection.contents_json import describe_contents
from flinkstate.inspection.metadata_json import describe
from flinkstate.places.checkpoint_names import MAX_METADATA_BYTES
from flinkstate.places.locations import Alias
from flinkstate.text.redaction import redacted
from orphangc.app.commands.checkpoints.count_entries import with_entries
from orphangc.app.commands.checkpoints.declarations_file import read_declarations
from orphangc.app.commands.checkpoints.open_checkpoint import (
    OpenedCheckpoint,
    named_by,
    read_checkpoint,
)
from orphangc.app.commands.checkpoints.rescale import (
    Rescaling,
    rescaled_document,
    rescaled_rows,
    rescaled_tables,
    rescaling_from,
    rescaling_problems,
)
from orphangc.app.commands.checkpoints.verify import verify_files
from orphangc.app.console.options import InspectOutput
from orphangc.app.render_checkpoint.checkpoint_html import (
    CheckpointPage,
    render_checkpoints,
    render_part,
)
from orphangc.app.render_checkpoint.checkpoint_tables import (
    checkpoint_tables,
    checkpoint_tree,
    comparison_tables,
)
from orphangc.errors import ExitCode, OrphanGcError, UnreadableMetadataError

_PAGE_METADATA_BYTES = 32 << 20
"""Largest ``_metadata`` that a page of the daemon reads: Flink's are of some kilobytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Options of ``inspect`` that hold for every checkpoint.

    Attributes:
        aliases: Replacements in paths inside ``_metadata``, as ``FROM=TO``.
        reads_state: Whether to read state files for the names of keyed states.
        max_bytes: Largest ``_metadata`` that is read.
        against: Another checkpoint to compare each one with.
        rescale_to: Parallelisms for which the state of each subtask is shown, as ``[OPERATOR=]N``.
        verifies: Whether to look up every file of the checkpoint.
        counts_entries: Whether to count the entries of keyed states.
        declarations: Declarations file that names the operators of checkpoints without uids.

    """

    aliases: Sequence[str] = ()
    reads_state: bool = True
    max_bytes: int = MAX_METADATA_BYTES
    against: str | None = None
    rescale_to: Sequence[str] = ()
    verifies: bool = False
    declarations: Path | None = None
    counts_entries: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """One inspected checkpoint.

    Attributes:
        document: Its contents, or ``error`` and ``exit_code``.
        checkpoint: The checkpoint; ``None`` if it could not be read.
        comparison: Comparison with another checkpoint; ``None`` if not requested.
        problems: What is wrong with it, one line each, with the exit code.

    """

    document: dict[str, Any]
    checkpoint: OpenedCheckpoint | None = None
    comparison: CheckpointComparison | None = None
    problems: tuple[tuple[ExitCode, str], ...] = ()


def inspect_checkpoints(uris: Sequence[str], questions: Questions) -> Iterator[Inspected]:
    """Yield the contents of each checkpoint; one that cannot be read yields a document with
    ``error``.

    Args:
        uris: Folders of the checkpoints, or their ``_metadata`` files.
        questions: Options of ``inspect``.

    Raises:
        OrphanGcError: An alias is invalid, or the checkpoint to compare with cannot be read.

    """
    aliases = aliases_from(questions.aliases)
    rescaling = rescaling_from(questions.rescale_to)
    against = None
    if questions.against is not None:
        against = _other(questions.against, aliases, reads_state=questions.reads_state)
    declared = questions.declarations
    asked = _Asked(
        questions=questions,
        aliases=aliases,
        rescaling=rescaling,
        against=against,
        declared=None if declared is None else read_declarations(declared),
    )
    return (_inspected(uri, asked) for uri in uris)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """The options of ``inspect``, read."""

    questions: Questions
    aliases: tuple[Alias, ...]
    rescaling: Rescaling
    against: OpenedCheckpoint | None
    declared: Declarations | None = None


def _other(uri: str, aliases: tuple[Alias, ...], *, reads_state: bool) -> OpenedCheckpoint:
    """Return the checkpoint to compare others with; an error names it."""
    try:
        return read_checkpoint(uri, aliases=aliases, reads_state=reads_state)
    except UnreadableMetadataError as err:
        raise OrphanGcError(f"{absolute(uri)}: {err}; nothing is shown") from err


def _inspected(uri: str, asked: _Asked) -> Inspected:
    questions, aliases = asked.questions, asked.aliases
    try:
        checkpoint = read_checkpoint(
            uri,
            aliases=aliases,
            reads_state=questions.reads_state,
            max_bytes=questions.max_bytes,
        )
    except UnreadableMetadataError as err:
        return _failed(uri, err, offset=err.offset, reason=err.reason)
    except OrphanGcError as err:
        return _failed(uri, err)
    if asked.declared is not None:
        checkpoint = named_by(checkpoint, asked.declared)
    doubts: list[str] = []
    if questions.counts_entries:
        checkpoint, doubts = with_entries(checkpoint, aliases)
    directory = str(checkpoint.folder)
    document = describe(checkpoint.metadata, directory=directory)
    at = checkpoint.stored_at
    document |= {"job_id": checkpoint.job_id, "stored_at": None if at is None else at.isoformat()}
    document["contents"] = describe_contents(
        checkpoint.contents, checkpoint.metadata, directory=directory
    )
    comparison, problems = None, [(ExitCode.REFUSED, f"{directory}: {each}") for each in doubts]
    if asked.against is not None:
        comparison = compared(_side(checkpoint, aliases), _side(asked.against, aliases))
        document["against"] = asdict(comparison)
    if questions.rescale_to:
        document["rescaled_to"] = rescaled_document(checkpoint.metadata, asked.rescaling)
        problems += [
            (ExitCode.FAILED if is_refused else ExitCode.REFUSED, f"{directory}: {why}")
            for is_refused, why in rescaling_problems(document["rescaled_to"])
        ]
    if questions.verifies:
        verified = verify_files(checkpoint, aliases)
        document["verified"] = verified.document
        problems += [(verified.exit_code, f"{directory}: {line}") for line in verified.lines()]
    return Inspected(
        document=document,
        checkpoint=checkpoint,
        comparison=comparison,
        problems=tuple(problems),
    )


def _failed(uri: str, err: OrphanGcError, **more: object) -> Inspected:
    directory, error = redacted(absolute(uri)), redacted(str(err))
    return Inspected(
        document={
            "directory": directory,
            "error": error,
            "exit_code": int(ExitCode.FAILED),
            **more,
        },
        problems=((ExitCode.FAILED, f"{directory}: {error}"),),
    )


def _side(checkpoint: OpenedCheckpoint, aliases: tuple[Alias, ...]) -> Side:
    return Side(
        metadata=checkpoint.metadata,
        operators=checkpoint.contents.operators,
        directory=str(checkpoint.folder),
        aliases=aliases,
    )


def show_checkpoints(
    every: Iterable[Inspected],
    output: InspectOutput,
    *,
    html: Path | None,
    show: Callable[[list[RenderableType]], None],
) -> list[tuple[ExitCode, str]]:
    """Print checkpoints, each in one line as soon as it is read, or all together at the end.

    Args:
        every: Inspected checkpoints.
        output: Output format.
        html: File for a page about all of them; ``None`` for no page.
        show: Prints tables.

    Returns:
        What is wrong with them, one line each, with the exit code.

    Raises:
        OSError: The page cannot be written.

    """
    kept: list[Inspected] = []
    problems: list[tuple[ExitCode, str]] = []
    is_streamed = output is InspectOutput.JSONL
    for each in every:
        if is_streamed:
            sys.stdout.write(json.dumps(each.document) + "\n")
        if html is not None or not is_streamed:
            kept.append(each)
        problems += each.problems
    if not is_streamed:
        _print_together(kept, output, show)
    if html is not None:
        _write_page(html, kept)
    return problems


def _print_together(
    every: Sequence[Inspected],
    output: InspectOutput,
    show: Callable[[list[RenderableType]], None],
) -> None:
    if output is InspectOutput.JSON:
        documents = [each.document for each in every]
        whole = documents if len(documents) > 1 else documents[0]
        # without indentation C code writes it, several times as fast: a document may be large
        sys.stdout.write(json.dumps(whole, indent=1 if sys.stdout.isatty() else None) + "\n")
    else:
        render = _tables if output is InspectOutput.TABLE else _tree
        show([part for each in every for part in render(each)])


def _tables(inspected: Inspected) -> list[RenderableType]:
    if inspected.checkpoint is None:
        return []
    return [
        *checkpoint_tables(inspected.document, inspected.checkpoint.contents),
        *_comparison(inspected),
        *_rescaled(inspected),
    ]


def _tree(inspected: Inspected) -> list[RenderableType]:
    if inspected.checkpoint is None:
        return []
    return [
        *checkpoint_tree(inspected.document, inspected.checkpoint.contents),
        *_comparison(inspected),
        *_rescaled(inspected),
    ]


def _rescaled(inspected: Inspected) -> list[RenderableType]:
    document = inspected.document.get("rescaled_to")
    return [] if document is None else rescaled_tables(document)


def _comparison(inspected: Inspected) -> list[RenderableType]:
    return [] if inspected.comparison is None else comparison_tables(inspected.comparison)


def _write_page(path: Path, every: Sequence[Inspected]) -> None:
    path.write_text(render_checkpoints([*map(_page, every)]), encoding="utf-8")


def _page(inspected: Inspected) -> CheckpointPage:
    checkpoint = inspected.checkpoint
    return CheckpointPage(
        document=inspected.document,
        contents=None if checkpoint is None else checkpoint.contents,
        comparison=inspected.comparison,
        rescaled=tuple(rescaled_rows(inspected.document.get("rescaled_to", {"operators": ()}))),
    )


def page_part(uri: str, aliases: Sequence[str]) -> str:
    """Return what a checkpoint holds as a part of a page of the daemon.

    Only its ``_metadata`` is read: a run may read no file of state.

    Args:
        uri: Folder of the checkpoint.
        aliases: Replacements in paths inside ``_metadata``, as ``FROM=TO``.

    Raises:
        OrphanGcError: An alias is invalid.

    """
    questions = Questions(aliases=aliases, reads_state=False, max_bytes=_PAGE_METADATA_BYTES)
    (inspected,) = inspect_checkpoints([uri], questions)
    return render_part(_page(inspected))
