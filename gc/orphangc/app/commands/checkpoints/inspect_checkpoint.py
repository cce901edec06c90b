"""``inspect``: the contents of checkpoints as documents, tables, trees and a page."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from orphangc.app.commands.checkpoints.open_checkpoint import OpenedCheckpoint, read_checkpoint
from orphangc.app.commands.checkpoints.rescale import rescaled_document, rescaled_tables
from orphangc.app.config.paths import absolute, aliases_from
from orphangc.app.console.options import InspectOutput
from orphangc.app.render_checkpoint.checkpoint_html import CheckpointPage, render_checkpoints
from orphangc.app.render_checkpoint.checkpoint_tables import (
    checkpoint_tables,
    checkpoint_tree,
    comparison_tables,
)
from orphangc.collect.checkpoints.compare import CheckpointComparison, Side, compared
from orphangc.core.model.locations import Alias
from orphangc.core.model.redaction import redacted
from orphangc.errors import ExitCode, OrphanGcError, UnreadableMetadataError
from orphangc.flink.inspection.contents_json import describe_contents
from orphangc.flink.inspection.metadata_json import describe


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Options of ``inspect`` that hold for every checkpoint.

    Attributes:
        aliases: Replacements in paths inside ``_metadata``, as ``FROM=TO``.
        reads_state: Whether to read state files for the names of keyed states.
        against: Another checkpoint to compare each one with.
        rescale_to: Parallelism for which the state of each subtask is shown.

    """

    aliases: Sequence[str] = ()
    reads_state: bool = True
    against: str | None = None
    rescale_to: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """One inspected checkpoint.

    Attributes:
        document: Its contents, or ``error`` and ``exit_code``.
        checkpoint: The checkpoint; ``None`` if it could not be read.
        comparison: Comparison with another checkpoint; ``None`` if not requested.

    """

    document: dict[str, Any]
    checkpoint: OpenedCheckpoint | None = None
    comparison: CheckpointComparison | None = None


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
    against = None
    if questions.against is not None:
        against = _other(questions.against, aliases, reads_state=questions.reads_state)
    return (_inspected(uri, questions, aliases, against) for uri in uris)


def _other(uri: str, aliases: tuple[Alias, ...], *, reads_state: bool) -> OpenedCheckpoint:
    """Return the checkpoint to compare others with; an error names it."""
    try:
        return read_checkpoint(uri, aliases=aliases, reads_state=reads_state)
    except UnreadableMetadataError as err:
        raise OrphanGcError(f"{absolute(uri)}: {err}; nothing is shown") from err


def _inspected(
    uri: str, questions: Questions, aliases: tuple[Alias, ...], against: OpenedCheckpoint | None
) -> Inspected:
    try:
        checkpoint = read_checkpoint(uri, aliases=aliases, reads_state=questions.reads_state)
    except UnreadableMetadataError as err:
        return Inspected(document=_failed(uri, err) | {"offset": err.offset, "reason": err.reason})
    except OrphanGcError as err:
        return Inspected(document=_failed(uri, err))
    directory = str(checkpoint.folder)
    document = describe(checkpoint.metadata, directory=directory)
    document["contents"] = describe_contents(
        checkpoint.contents, checkpoint.metadata, directory=directory
    )
    comparison = None
    if against is not None:
        comparison = compared(_side(checkpoint, aliases), _side(against, aliases))
        document["against"] = asdict(comparison)
    if questions.rescale_to is not None:
        document["rescaled_to"] = rescaled_document(checkpoint.metadata, questions.rescale_to)
    return Inspected(document=document, checkpoint=checkpoint, comparison=comparison)


def _failed(uri: str, err: OrphanGcError) -> dict[str, Any]:
    return {
        "directory": redacted(absolute(uri)),
        "error": redacted(str(err)),
        "exit_code": int(ExitCode.FAILED),
    }


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
) -> list[dict[str, Any]]:
    """Print checkpoints, each in one line as soon as it is read, or all together at the end.

    Args:
        every: Inspected checkpoints.
        output: Output format.
        html: File for a page about all of them; ``None`` for no page.
        show: Prints tables.

    Returns:
        Documents of the checkpoints that could not be read.

    Raises:
        OSError: The page cannot be written.

    """
    kept, failed = [], []
    is_streamed = output is InspectOutput.JSONL
    for each in every:
        if is_streamed:
            sys.stdout.write(json.dumps(each.document) + "\n")
        if html is not None or not is_streamed:
            kept.append(each)
        if each.checkpoint is None:
            failed.append(each.document)
    if not is_streamed:
        _print_together(kept, output, show)
    if html is not None:
        _write_page(html, kept)
    return failed


def _print_together(
    every: Sequence[Inspected],
    output: InspectOutput,
    show: Callable[[list[RenderableType]], None],
) -> None:
    if output is InspectOutput.JSON:
        documents = [each.document for each in every]
        whole = documents if len(documents) > 1 else documents[0]
        sys.stdout.write(json.dumps(whole, indent=1) + "\n")
    else:
        render = _tables if output is InspectOutput.TABLE else _tree
        show([part for each in every for part in render(each)])


def _tables(inspected: Inspected) -> list[RenderableType]:
    if inspected.checkpoint is None:
        return []
    document = inspected.document
    rescaled = document.get("rescaled_to")
    return [
        *checkpoint_tables(document, inspected.checkpoint.contents),
        *_comparison(inspected),
        *([] if rescaled is None else rescaled_tables(rescaled)),
    ]


def _tree(inspected: Inspected) -> list[RenderableType]:
    if inspected.checkpoint is None:
        return []
    return [
        *checkpoint_tree(inspected.document, inspected.checkpoint.contents),
        *_comparison(inspected),
    ]


def _comparison(inspected: Inspected) -> list[RenderableType]:
    return [] if inspected.comparison is None else comparison_tables(inspected.comparison)


def _write_page(path: Path, every: Sequence[Inspected]) -> None:
    pages = [
        CheckpointPage(
            document=each.document,
            contents=None if each.checkpoint is None else each.checkpoint.contents,
            comparison=each.comparison,
        )
        for each in every
    ]
    path.write_text(render_checkpoints(pages), encoding="utf-8")
