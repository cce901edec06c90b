"""``inspect``: the contents of checkpoints as documents, tables, trees and a page."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from flinkstate.commands.count_entries import with_entries
from flinkstate.commands.declarations_file import read_declarations
from flinkstate.commands.open_checkpoint import (
    OpenedCheckpoint,
    named_by,
    read_checkpoint,
    read_named,
)
from flinkstate.commands.rescale import (
    Rescaling,
    rescaled_document,
    rescaled_tables,
    rescaling_from,
    rescaling_problems,
)
from flinkstate.commands.verify import verify_files
from flinkstate.compatibility.declarations import Declarations
from flinkstate.errors import ExitCode, FlinkStateError, UnreadableMetadataError
from flinkstate.files.host import Host
from flinkstate.files.paths import absolute, aliases_from
from flinkstate.inspection.compare import CheckpointComparison, Side, compared
from flinkstate.inspection.contents_json import describe_contents
from flinkstate.inspection.metadata_json import describe
from flinkstate.places.locations import Alias
from flinkstate.state.contents import CheckpointContents
from flinkstate.tables.checkpoint_tables import (
    checkpoint_tables,
    checkpoint_tree,
    comparison_tables,
)
from flinkstate.tables.printing import InspectOutput, print_tables
from flinkstate.text.redaction import redacted
from flinkstate.text.shown_text import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Options of ``inspect`` that hold for every checkpoint.

    Attributes:
        aliases: Replacements in paths inside ``_metadata``, as ``FROM=TO``.
        rescale_to: Parallelisms for which the state of each subtask is shown, as ``[OPERATOR=]N``.
    """

    aliases: Sequence[str] = ()
    reads_state: bool = True
    against: str | None = None
    rescale_to: Sequence[str] = ()
    verifies: bool = False
    declarations: Path | None = None
    counts_entries: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """One inspected checkpoint.

    Attributes:
        problems: What is wrong with it, one line each, with the exit code.
    """

    document: dict[str, Any]
    checkpoint: OpenedCheckpoint | None = None
    comparison: CheckpointComparison | None = None
    problems: tuple[tuple[ExitCode, str], ...] = ()


def inspect_checkpoints(
    uris: Sequence[str], questions: Questions, host: Host
) -> Iterator[Inspected]:
    """Yield the contents of each checkpoint; one that cannot be read yields a document with
    ``error``.

    Raises:
        FlinkStateError: An alias is invalid, or the checkpoint to compare with cannot be read.
    """
    aliases = aliases_from(questions.aliases)
    rescaling = rescaling_from(questions.rescale_to)
    against = None
    if questions.against is not None:
        against = read_named(
            absolute(questions.against),
            host,
            aliases,
            reads_state=questions.reads_state,
            outcome="nothing is shown",
        )
    declared = questions.declarations
    asked = _Asked(
        questions=questions,
        host=host,
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
    host: Host
    aliases: tuple[Alias, ...]
    rescaling: Rescaling
    against: OpenedCheckpoint | None
    declared: Declarations | None = None


def _inspected(uri: str, asked: _Asked) -> Inspected:
    questions, aliases = asked.questions, asked.aliases
    try:
        checkpoint = read_checkpoint(
            uri, asked.host, aliases=aliases, reads_state=questions.reads_state
        )
    except UnreadableMetadataError as err:
        return _failed(uri, err, offset=err.offset, reason=err.reason)
    except FlinkStateError as err:
        return _failed(uri, err)
    if asked.declared is not None:
        checkpoint = named_by(checkpoint, asked.declared)
    doubts: list[str] = []
    if questions.counts_entries:
        checkpoint, doubts = with_entries(checkpoint)
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
        verified = verify_files(checkpoint, asked.host)
        document["verified"] = verified.document
        problems += [(verified.exit_code, f"{directory}: {line}") for line in verified.lines()]
    return Inspected(
        document=document,
        checkpoint=checkpoint,
        comparison=comparison,
        problems=tuple(problems),
    )


def _failed(uri: str, err: FlinkStateError, **more: object) -> Inspected:
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
    write_page: Callable[[Sequence[Inspected]], object] | None = None,
) -> list[tuple[ExitCode, str]]:
    """Print checkpoints, each in one line as soon as it is read, or all together at the end.

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
        if write_page is not None or not is_streamed:
            kept.append(each)
        problems += each.problems
    if not is_streamed:
        _print_together(kept, output)
    if write_page is not None:
        write_page(kept)
    return problems


def _print_together(every: Sequence[Inspected], output: InspectOutput) -> None:
    if output is InspectOutput.JSON:
        documents = [each.document for each in every]
        whole = documents if len(documents) > 1 else documents[0]
        # without indentation C code writes it, several times as fast: a document may be large
        sys.stdout.write(json.dumps(whole, indent=1 if sys.stdout.isatty() else None) + "\n")
    else:
        render = checkpoint_tables if output is InspectOutput.TABLE else checkpoint_tree
        print_tables([part for each in every for part in _shown(each, render)])


def _shown(
    inspected: Inspected,
    render: Callable[[dict[str, Any], CheckpointContents], list[RenderableType]],
) -> Iterator[RenderableType]:
    """Yield what a checkpoint holds, and what was asked of it besides."""
    if inspected.checkpoint is None:
        return
    yield from render(inspected.document, inspected.checkpoint.contents)
    verified = inspected.document.get("verified")
    if verified and not (verified["damaged"] or verified["unseen"]):
        yield Text(f"{counted(verified['files'], 'file')} verified: there, and as long as it says")
    if inspected.comparison is not None:
        yield from comparison_tables(inspected.comparison)
    if (rescaled := inspected.document.get("rescaled_to")) is not None:
        yield from rescaled_tables(rescaled)
