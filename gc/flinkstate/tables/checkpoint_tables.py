"""The contents of a checkpoint, as tables and as a tree for a terminal.

Foreign text becomes a ``Text`` with its control characters escaped.
"""

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from flinkstate.inspection.compare import Amounts, CheckpointComparison, FileAmount
from flinkstate.state.contents import CheckpointContents, OperatorStateContents
from flinkstate.tables.checkpoint_view import OperatorView, StateRow, operator_views
from flinkstate.text.shown_text import counted, human_bytes, visible

_MANY = 40


def checkpoint_tables(
    document: dict[str, Any], contents: CheckpointContents
) -> list[RenderableType]:
    """Return a checkpoint as tables: its head, operators, states, and largest files."""
    views = operator_views(contents)
    return [
        _head(document),
        _operators_table(document["operators"], views),
        _states_table(views),
        *[
            Text(f"{visible(view.label)}: {_doubt(view)}")
            for view in views
            if view.contents.keyed_unknown is not None
        ],
        _files_table(document["files"]),
    ]


def _head(document: dict[str, Any]) -> Text:
    size = document["contents"]["bytes"]
    job = f" of job {document['job_id']}" if document.get("job_id") else ""
    at, dirs = document.get("stored_at"), document["directories"]
    stored = f", stored {at[:19].replace('T', ' ')} UTC" if at else ""
    return Text(
        f"checkpoint {document['checkpoint_id']}{job} in {visible(document['directory'])}{stored},"
        f" format version {document['format_version']},"
        f" {human_bytes(size['total'])} of state, {human_bytes(size['inline'])} of it inside"
        f" _metadata, {counted(len(document['files']), 'file')}"
        + (f", {counted(len(dirs), 'directory', 'directories')}" if dirs else "")
    )


def _operators_table(operators: list[dict[str, Any]], views: tuple[OperatorView, ...]) -> Table:
    table = Table(
        *("operator", "uid", "parallelism", "max", "subtasks", "finished", "state", "inline")
    )
    for each, view in zip(operators, views, strict=True):
        table.add_row(
            _text(view.label),
            _text(each["uid"] or ""),
            str(each["parallelism"]),
            str(each["max_parallelism"]),
            str(len(each["subtasks"])),
            "fully" if each["fully_finished"] else "",
            human_bytes(view.bytes) if view.bytes else "",
            human_bytes(view.contents.inline_bytes) if view.contents.inline_bytes else "",
        )
    return table


def _states_table(views: tuple[OperatorView, ...]) -> Table:
    table = Table("operator", "state", "kind", "partitions", "size", "serializers")
    for view in views:
        for state in view.states:
            table.add_row(
                _text(view.label),
                _text(state.name),
                state.kind,
                "" if state.partitions is None else f"{state.partitions:,}",
                _size(state),
                _text(state.serializers),
            )
    return table


def _doubt(view: OperatorView) -> str:
    contents = view.contents
    what = (
        "names of keyed states unknown"
        if contents.keyed_states is None
        else ("there may be more keyed states")
    )
    return f"{what}: {visible(contents.keyed_unknown or '')}"


def _files_table(files: list[dict[str, Any]]) -> Table:
    largest = sorted(files, key=lambda each: -(each["size"] or 0))
    caption = f"the {_MANY} largest of {len(files)}" if len(files) > _MANY else None
    table = Table("file", "kind", "size", caption=caption)
    for each in largest[:_MANY]:
        size = "" if each["size"] is None else human_bytes(each["size"])
        table.add_row(_text(each["path"]), each["kind"], size)
    return table


def checkpoint_tree(document: dict[str, Any], contents: CheckpointContents) -> list[RenderableType]:
    """Return a checkpoint as a tree: operators, their states, the states' subtasks."""
    tree = Tree(_head(document))
    for view in operator_views(contents):
        each = view.contents
        finished = ", fully finished" if each.is_fully_finished else ""
        branch = tree.add(
            _joined(view.label, f"{each.parallelism} of at most {each.max_parallelism}{finished}")
        )
        branch.add(Text(f"id {each.id}"))
        if each.uid:
            branch.add(Text(f"uid {visible(each.uid)}"))
        shares = {state.name: state for state in each.operator_states}
        for state in view.states:
            leaf = branch.add(_state_line(state))
            if state.serializers:
                leaf.add(_text(state.serializers))
            if state.partitions is not None:
                _add_partitions(leaf, shares[state.name])
        _add_key_groups(branch, view)
        if each.keyed_unknown is not None:
            branch.add(Text(_doubt(view)))
    return [tree]


def _state_line(state: StateRow) -> Text:
    count = "" if state.partitions is None else f", {counted(state.partitions, 'partition')}"
    size = _size(state)
    return _joined(state.name, f"{state.kind}{count}{', ' + size if size else ''}")


def _add_key_groups(branch: Tree, view: OperatorView) -> None:
    groups = view.contents.key_groups
    if not groups:
        return
    leaf = branch.add(Text("key groups"))
    for each in groups[:_MANY]:
        first, last = each.groups.first, each.groups.first + each.groups.count - 1
        words = f"{first}-{last}" if each.groups.count else "none"
        leaf.add(Text(f"subtask {each.subtask}: {words}"))
    _add_rest(leaf, len(groups))


def _add_partitions(leaf: Tree, state: OperatorStateContents) -> None:
    for line in _partition_lines(state):
        leaf.add(Text(line))
    _add_rest(leaf, len(state.shares))


def _partition_lines(state: OperatorStateContents) -> list[str]:
    return [
        f"subtask {share.subtask}: "
        + (
            ", ".join(
                f"{'?' if size is None else size} B at {offset}"
                for offset, size in list(zip(share.offsets, share.sizes, strict=True))[:_MANY]
            )
            or "none"
        )
        + (f", and {len(share.offsets) - _MANY} more" if len(share.offsets) > _MANY else "")
        for share in state.shares[:_MANY]
    ]


def _add_rest(leaf: Tree, number: int) -> None:
    if number > _MANY:
        leaf.add(Text(f"and {number - _MANY} more"))


def comparison_tables(comparison: CheckpointComparison) -> list[RenderableType]:
    """Return what a checkpoint shares with another one as tables."""
    every = comparison.amounts
    head = Text(
        f"against checkpoint {comparison.checkpoint_id} in {visible(comparison.directory)}:"
        f" {_amount(every.shared)} in both, {_amount(every.added)} only here,"
        f" {_amount(every.dropped)} only there"
    )
    table = Table("operator", "in both", "only here", "only there", "states")
    for each in comparison.operators:
        label = visible(each.name or each.uid or each.id)
        fate = " (only here)" if each.is_added else " (only there)" if each.is_dropped else ""
        states = [
            *(f"+ {visible(name)}" for name in each.states_added),
            *(f"- {visible(name)}" for name in each.states_dropped),
            *(f"? {visible(name)}" for name in each.states_unknown),
        ]
        table.add_row(Text(label + fate), *_columns(each.amounts), Text("\n".join(states)))
    return [Group(head, table)]


def _columns(amounts: Amounts) -> list[str]:
    return [_amount(each) for each in (amounts.shared, amounts.added, amounts.dropped)]


def _amount(amount: FileAmount) -> str:
    if not amount.files:
        return "nothing"
    return f"{human_bytes(amount.bytes)} in {counted(amount.files, 'file')}"


def _size(state: StateRow) -> str:
    return "" if state.bytes is None else human_bytes(state.bytes)


def _text(text: str) -> Text:
    return Text(visible(text))


def _joined(name: str, words: str) -> Text:
    return Text(f"{visible(name)}: {words}")
