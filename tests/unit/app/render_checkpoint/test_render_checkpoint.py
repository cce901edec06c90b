"""Checkpoints on a screen and on a page: nothing from outside steers either."""

import io
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from rich.console import Console

from flinkstate.commands.inspect_checkpoint import Inspected
from flinkstate.inspection.compare import CheckpointComparison, Side, compared
from flinkstate.inspection.contents_json import describe_contents
from flinkstate.inspection.metadata_json import describe
from flinkstate.state.contents import (
    CheckpointContents,
    KeyedStateContents,
    KeyedStateKind,
    OperatorContents,
    OperatorStateContents,
    Serializer,
    StatePartitions,
)
from flinkstate.tables.checkpoint_tables import (
    checkpoint_tables,
    checkpoint_tree,
    comparison_tables,
)
from flinkstate.tables.checkpoint_view import PagePart, operator_views
from flinkstate.values import handles
from flinkstate.values import metadata_values as model
from flinkstate.values.handles import StateMode
from flinkstate.values.metadata_values import HandleKind
from orphangc.app.render_checkpoint.checkpoint_html import render_checkpoints
from unit.app.render.html_pages import parse

HOSTILE = (
    "<script>alert(1)</script>",
    "'><img src=x onerror=alert(1)>",
    "{{ 7 * 7 }}[red]x[/red]\n\x1b[31m",
    "\ud800\u202egpj\udfff\x00",
)


def keyed(name: str, size: int | None = None, *serializers: Serializer) -> KeyedStateContents:
    return KeyedStateContents(
        name=name, kind=KeyedStateKind.VALUE, bytes=size, serializers=serializers
    )


def listed(name: str, mode: StateMode = StateMode.SPLIT_DISTRIBUTE) -> OperatorStateContents:
    share = StatePartitions(subtask=0, offsets=(5, 9), sizes=(4, None))
    return OperatorStateContents(
        name=name, mode=mode, partitions=2, bytes=8, subtasks=(0,), shares=(share,), serializer=name
    )


def operator(name: str = "op", **more) -> OperatorContents:
    return OperatorContents(
        **{
            "id": "0" * 32,
            "uid": f"uid {name}",
            "name": name,
            "parallelism": 2,
            "max_parallelism": 128,
            "operator_states": (listed(f"split {name}"), listed(f"union {name}", StateMode.UNION)),
            "keyed_states": (keyed(f"a {name}"), keyed(f"b {name}")),
            "keyed_kinds": (HandleKind.INCREMENTAL,),
            "operator_bytes": 20,
            "keyed_bytes": 900,
            "raw_operator_bytes": 7,
            "raw_keyed_bytes": 6,
            "coordinator_bytes": 0,
            "channel_bytes": 5,
        }
        | more
    )


def checkpoint(*operators: OperatorContents, path: str = "/s/a"):
    """Return the document and the contents of a checkpoint of such operators."""
    subtask = model.Subtask(
        index=0,
        managed_operator=handles.OperatorHandle(
            states=(), delegate=handles.FileHandle(path=path, size=9)
        ),
    )
    metadata = model.Metadata(
        format_version=6,
        checkpoint_id=7,
        master_states=(),
        operators=tuple(
            model.Operator(
                id=each.id,
                uid=each.uid,
                name=each.name,
                parallelism=2,
                max_parallelism=128,
                subtasks=(subtask,),
            )
            for each in operators
        ),
    )
    contents = CheckpointContents(checkpoint_id=7, format_version=6, operators=operators)
    document = describe(metadata, directory="/s")
    document["contents"] = describe_contents(contents, metadata, directory="/s")
    side = Side(metadata=metadata, operators=operators, directory="/s")
    return document, contents, compared(side, replace(side, directory=path))


def printed(parts) -> str:
    """Return what a terminal of 200 columns gets; it must be encodable."""
    out = io.StringIO()
    console = Console(file=out, width=200)
    for part in parts:
        console.print(part)
    out.getvalue().encode("utf-8")
    return out.getvalue()


def inspected(document, contents, comparison: CheckpointComparison | None = None) -> Inspected:
    opened = SimpleNamespace(contents=contents)
    return Inspected(document=document, checkpoint=opened, comparison=comparison)


def page(document, contents, comparison: CheckpointComparison | None = None) -> str:
    return render_checkpoints([inspected(document, contents, comparison)])


def test_the_slices_of_an_operator_add_up() -> None:
    """States first, what is left over last, in the order of the legend."""
    (view,) = operator_views(checkpoint(operator())[1])
    assert view.bytes == view.contents.total_bytes == 938
    assert [(each.part, each.bytes) for each in view.slices] == [
        (PagePart.KEYED, 900),
        (PagePart.LIST, 8),
        (PagePart.UNION, 8),
        (PagePart.RAW, 7),
        (PagePart.RAW, 6),
        (PagePart.CHANNEL, 5),
        (PagePart.OTHER, 4),
    ]
    assert [each.name for each in view.states] == [
        *("a op", "b op", "(all keyed states)", "split op", "union op"),
        *("(raw operator state)", "(raw keyed state)", "(channel state)", "(coordinator state)"),
    ]


def test_the_only_keyed_state_needs_no_sum() -> None:
    """It has all the bytes itself."""
    (view,) = operator_views(checkpoint(operator(keyed_states=(keyed("a", 900),)))[1])
    assert [each.name for each in view.states if each.part is PagePart.KEYED] == ["a"]


def test_serializers_are_reported_in_few_words() -> None:
    """A namespace that is none says nothing."""
    state = keyed(
        "s",
        None,
        Serializer(role="value", snapshot="MapSerializerSnapshot<LongSerializerSnapshot, a.B>"),
        Serializer(role="namespace", snapshot="VoidNamespaceSerializerSnapshot"),
        Serializer(role="user_key", snapshot="StringSerializerSnapshot"),
    )
    (view,) = operator_views(checkpoint(operator(keyed_states=(state,)))[1])
    assert view.states[0].serializers == "Map<Long, a.B>, user_key String"


@pytest.mark.parametrize("view", [checkpoint_tables, checkpoint_tree])
def test_terminals_show_every_state(view) -> None:
    document, contents, _ = checkpoint(operator("one"), operator("two", id="1" * 32))
    shown = printed(view(document, contents))
    for name in ("one", "two"):
        for state in (f"a {name}", f"split {name}", f"union {name}"):
            assert state in shown
    assert "union list" in shown
    assert "900 bytes" in shown


@pytest.mark.parametrize("view", [checkpoint_tables, checkpoint_tree])
def test_what_is_unknown_is_said(view) -> None:
    """With the reason, in every view."""
    document, contents, _ = checkpoint(
        operator(keyed_states=None, keyed_unknown="gone"),
        operator("two", id="1" * 32, keyed_unknown="a log"),
    )
    shown = printed(view(document, contents))
    assert "names of keyed states unknown: gone" in shown
    assert "there may be more keyed states: a log" in shown
    text = parse(page(document, contents)).text
    assert "no name of a keyed state could be read: gone" in text
    assert "there may be more keyed states: a log" in text


def test_a_tree_shows_partitions_and_cuts_long_lists() -> None:
    """The document has all of them."""
    share = StatePartitions(subtask=0, offsets=tuple(range(100)), sizes=(1,) * 99 + (None,))
    state = replace(
        listed("s"), shares=tuple(replace(share, subtask=each) for each in range(50)), partitions=9
    )
    document, contents, _ = checkpoint(operator(operator_states=(state,)))
    shown = printed(checkpoint_tree(document, contents))
    assert "1 B at 39, and 60 more" in " ".join(shown.replace("│", " ").split())
    assert "and 10 more" in shown
    assert "subtask 40" not in shown


def test_a_comparison_is_shown() -> None:
    """What both keep, and the states that came and went."""
    document, contents, comparison = checkpoint(operator())
    first = replace(
        comparison.operators[0],
        states_added=("new",),
        states_dropped=("old",),
        states_unknown=("maybe",),
        is_added=True,
    )
    comparison = replace(comparison, operators=(first,))
    shown = printed(comparison_tables(comparison))
    for word in ("+ new", "- old", "? maybe", "op (only here)", "9 bytes in 1 file"):
        assert word in shown
    text = parse(page(document, contents, comparison)).text
    for word in ("only here: new", "only there: old", "unknown on one side: maybe"):
        assert word in text


def test_the_page_is_one_file_that_asks_for_nothing() -> None:
    """No script, no asset, no request; a picture with a text for screen readers."""
    text = page(*checkpoint(operator("one"), operator("two", id="1" * 32)))
    found = parse(text)
    assert "default-src 'none'" in text
    assert not found.all("script")
    assert not {"src", "onload"} & {name for each in found.all() for name in each.attributes}
    assert all(each.attributes["href"].startswith("#") for each in found.all("a"))
    assert not re.search(r"url\((?!#)", text)
    bars = [each for each in found.all("svg") if each.attributes.get("role") == "img"]
    assert len(bars) == 2
    assert bars[0].attributes["aria-label"].startswith("one: (all keyed states): 900 bytes")
    edges = [
        (float(r.attributes["x"].strip("%")), float(r.attributes["width"].strip("%")))
        for r in bars[0].all("rect")
    ]
    assert sum(width for _, width in edges) == pytest.approx(100)
    ids = [each.attributes["id"] for each in found.all() if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    for name in (each.attributes.get("aria-labelledby") for each in found.all()):
        assert name is None or name in ids


def test_a_page_of_several_has_a_list_of_them_and_of_failures() -> None:
    """One that could not be read is reported, and the others are shown."""
    document, contents, _ = checkpoint(operator())
    failed = {"directory": "/gone", "error": "there is none", "exit_code": 1}
    text = render_checkpoints([inspected(document, contents), Inspected(document=failed)])
    found = parse(text)
    assert [each.attributes["href"] for each in found.all("nav")[0].all("a")] == ["#c1", "#c2"]
    assert "Not read: there is none" in found.text


def test_an_empty_checkpoint_has_a_page() -> None:
    assert "There is no operator" in parse(page(*checkpoint())).text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_steer_nothing(name) -> None:
    """Not the elements of the page, not the terminal, not the encoding."""
    plain = checkpoint(operator("x", keyed_unknown="x"))
    hostile = checkpoint(
        operator(
            name,
            keyed_states=(
                keyed(name, None, Serializer(role="value", snapshot=name)),
                keyed(f"b{name}"),
            ),
            keyed_unknown=name,
        ),
        path=f"/s/{name}",
    )
    shown = page(*hostile)
    shown.encode("utf-8")
    tags = [[each.tag for each in parse(text).all()] for text in (page(*plain), shown)]
    assert len(tags[1]) - len(tags[0]) == 1  # the value's serializer, in its <code>
    assert set(tags[0]) == set(tags[1])
    document, contents, comparison = hostile
    for view in (checkpoint_tables, checkpoint_tree):
        text = printed([*view(document, contents), *comparison_tables(comparison)])
        assert "\x1b" not in text
        assert "\u202e" not in text
