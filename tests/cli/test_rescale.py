"""``inspect --rescale-to``: what each new subtask would be given."""

import json
from typing import Any

import pytest
from rich.table import Table

from cli.helpers import run
from flinkstate.commands.rescale import Rescaling, rescaled_document, rescaled_rows, rescaled_tables
from flinkstate.errors import SettingsError
from flinkstate.values.handles import FileHandle, OperatorHandle, OperatorState, StateMode
from flinkstate.values.metadata_values import Metadata, Operator, Subtask
from unit.flinkstate.metadata.golden_files import golden

PARALLELISM_2 = golden("real/2.3.0/rocksdb+tofile/chk-7").folder


def rescaled(parallelism: int) -> dict[str, Any]:
    """Return what the command says of a real checkpoint of two subtasks each."""
    ran = run("inspect", PARALLELISM_2, "--rescale-to", parallelism, "--metadata-only")
    assert ran.code == 0, ran.err
    return ran.json["rescaled_to"]


def count(state: dict[str, Any]) -> int:
    return state["partitions"] if state["offsets"] is None else len(state["offsets"])


def states(document: dict[str, Any]) -> list[tuple[int, str, int | None, int]]:
    """Return subtask, name, old subtask and number of partitions of operator states."""
    return [
        (subtask["index"], each["name"], each["from_subtask"], count(each))
        for operator in document["operators"]
        for subtask in operator["subtasks"]
        for each in subtask["operator_states"]
        if each["name"].startswith("op-")
    ]


def test_a_list_is_cut_a_union_copied_and_a_broadcast_copied_once() -> None:
    """From 2 subtasks with 3 elements each to 3."""
    assert sorted(states(rescaled(3))) == [
        (0, "op-bc", 0, 1),
        (0, "op-list", 0, 2),
        (0, "op-union", None, 2),
        (1, "op-bc", 1, 1),
        (1, "op-list", 0, 1),
        (1, "op-list", 1, 1),
        (1, "op-union", None, 2),
        (2, "op-bc", 0, 1),
        (2, "op-list", 1, 2),
        (2, "op-union", None, 2),
    ]


def test_a_small_file_cannot_ask_for_all_memory() -> None:
    """A hundred operators of 29 bytes each, of the largest parallelism, of which one is changed."""
    ids = [f"{number:032x}" for number in range(100)]
    operators = [
        Operator(id=each, parallelism=32_768, max_parallelism=32_768, subtasks=()) for each in ids
    ]
    operators.append(Operator(id="f" * 32, parallelism=-(2**31), max_parallelism=1, subtasks=()))
    wide = Metadata(format_version=3, checkpoint_id=1, master_states=(), operators=tuple(operators))
    with pytest.raises(SettingsError, match="3,244,034 new subtasks"):
        rescaled_document(wide, Rescaling(operators={ids[0]: 2}))


def test_with_the_same_parallelism_only_the_union_goes_to_others() -> None:
    moved = [each for each in states(rescaled(2)) if each[0] != each[2]]
    assert sorted(moved) == [(0, "op-union", None, 2), (1, "op-union", None, 2)]
    (union,) = [
        operator["union_states"]
        for operator in rescaled(2)["operators"]
        if operator["union_states"]
    ]
    assert [(each["from_subtask"], len(each["offsets"])) for each in union] == [(0, 1), (1, 1)]


@pytest.mark.parametrize("parallelism", range(1, 8))
def test_every_key_group_and_every_byte_of_a_list_go_to_one_subtask(parallelism: int) -> None:
    """Nothing is lost and nothing given twice."""
    whole = run("inspect", PARALLELISM_2, "--metadata-only").json["operators"]
    for old, operator in zip(whole, rescaled(parallelism)["operators"], strict=True):
        assert operator["refused"] is None
        groups = [each["key_groups"] for each in operator["subtasks"]]
        held = [group for first, last in groups for group in range(first, last + 1)]
        assert held == (list(range(old["max_parallelism"])) if groups else [])
        given = sorted(
            (each["from_subtask"], offset)
            for subtask in operator["subtasks"]
            for each in subtask["operator_states"]
            if each["mode"] == "SPLIT_DISTRIBUTE"
            for offset in each["offsets"]
        )
        assert given == sorted(
            (subtask["index"], offset)
            for subtask in old["subtasks"]
            for state in ((subtask.get("managed_operator") or {}).get("states") or {}).values()
            if state["mode"] == "SPLIT_DISTRIBUTE"
            for offset in state["offsets"]
        )


def test_bytes_are_the_sum_of_what_is_given() -> None:
    """Of operator state and keyed state together."""
    subtasks = [each for operator in rescaled(3)["operators"] for each in operator["subtasks"]]
    assert sum(each["bytes"] for each in subtasks) > 0
    for each in subtasks:
        operator = [*each["operator_states"], *each["raw_operator_states"]]
        keyed = [*each["keyed_states"], *each["raw_keyed_states"]]
        sizes = [
            state["bytes"] if state["sizes"] is None else sum(state["sizes"]) for state in operator
        ]
        assert each["bytes"] == sum(sizes) + sum(state["bytes"] for state in keyed)


def test_more_subtasks_than_key_groups_are_refused_as_by_flink() -> None:
    """The others are still shown; the table says why, and the exit code says no to a pipeline."""
    ran = run("inspect", PARALLELISM_2, "--rescale-to", 200, "--metadata-only")
    refused = [each for each in ran.json["rescaled_to"]["operators"] if each["refused"]]
    assert refused
    assert all("maximum parallelism" in each["refused"] for each in refused)
    assert all(not each["subtasks"] for each in refused)
    assert (ran.code, len(ran.complaints)) == (1, len(refused))
    ran = run("inspect", PARALLELISM_2, "--rescale-to", 200, "--output", "table")
    assert "Flink restores no parallelism above it" in " ".join(ran.out.split())
    assert ran.code == 1


def test_one_operator_may_get_a_parallelism_of_its_own() -> None:
    """Others keep theirs, or get that of all."""
    whole = run("inspect", PARALLELISM_2, "--metadata-only").json["operators"]
    chosen = whole[-1]
    for every, others in (((), {2}), (("--rescale-to", 4), {4})):
        ran = run(
            "inspect", PARALLELISM_2, *every, "--rescale-to", f"{chosen['id']}=3", "--metadata-only"
        )
        assert ran.code == 0, ran.err
        told = {
            each["id"]: each["new_parallelism"] for each in ran.json["rescaled_to"]["operators"]
        }
        assert told.pop(chosen["id"]) == 3
        assert set(told.values()) == others


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["none=3"], "no operator 'none'"),
        (["3", "4"], "a second parallelism"),
        (["=3"], "OPERATOR=N"),
        (["x="], "OPERATOR=N"),
    ],
)
def test_a_wrong_operator_is_one_line(options: list[str], said: str) -> None:
    ran = run("inspect", PARALLELISM_2, *(w for each in options for w in ("--rescale-to", each)))
    assert ran.code == 2
    (line,) = ran.complaints
    assert said in line


def test_union_state_is_written_once_for_all_subtasks() -> None:
    """300 subtasks of 40 operators with 256 each were 666 MB."""
    states = tuple(
        OperatorState(name=f"u{n}", mode=StateMode.UNION, offsets=(0, 10)) for n in range(2)
    )
    subtasks = tuple(
        Subtask(
            index=index,
            managed_operator=OperatorHandle(
                states=states, delegate=FileHandle(path=f"file:/x/{index}", size=20)
            ),
        )
        for index in range(64)
    )
    operator = Operator(id="0" * 32, parallelism=64, max_parallelism=128, subtasks=subtasks)
    metadata = Metadata(format_version=4, checkpoint_id=1, master_states=(), operators=(operator,))
    document = rescaled_document(metadata, Rescaling(every=128))
    assert len(json.dumps(document)) < 100_000
    (shown,) = rescaled_rows(document)
    assert len(shown.rows) == 128 * 3
    assert "all 128 partitions of all subtasks" in shown.rows[0][2]


def test_many_operators_share_the_rows_of_the_tables() -> None:
    """40 operators are no table without an end; each says how much of it is left out."""
    handle = OperatorHandle(
        states=(OperatorState(name="s", mode=StateMode.SPLIT_DISTRIBUTE, offsets=(0, 10)),),
        delegate=FileHandle(path="file:/x/0", size=20),
    )
    operators = tuple(
        Operator(
            id=f"{number:032x}",
            parallelism=1,
            max_parallelism=128,
            subtasks=(Subtask(index=0, managed_operator=handle),),
        )
        for number in range(40)
    )
    metadata = Metadata(format_version=4, checkpoint_id=1, master_states=(), operators=operators)
    tables = rescaled_tables(rescaled_document(metadata, Rescaling(every=32)))
    assert len(tables) == 40
    shown = [each for each in tables if isinstance(each, Table)]
    assert [each.row_count for each in shown] == [4] * 40
    assert all("the first 4 of 32" in str(each.caption) for each in shown)


def test_the_table_names_state_old_subtask_and_size() -> None:
    ran = run("inspect", PARALLELISM_2, "--rescale-to", 3, "--output", "table")
    assert ran.code == 0, ran.err
    for words in (
        "from 2 to 3 subtasks",
        "split op-list: 2 partitions",
        "union op-union",
        "nothing",
    ):
        assert words in ran.out


@pytest.mark.parametrize("wrong", [0, -1, 32769, "x"])
def test_a_parallelism_that_flink_does_not_know_is_a_usage_error(wrong: object) -> None:
    """From 1 to 32768."""
    assert run("inspect", PARALLELISM_2, "--rescale-to", wrong).code == 2


def test_without_the_option_nothing_of_it_is_shown() -> None:
    """The document stays what it is."""
    assert "rescaled_to" not in run("inspect", PARALLELISM_2, "--metadata-only").json
