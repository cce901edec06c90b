"""``extract``: the raw bytes of an operator state, out of checkpoints that real Flink wrote."""

import json
from pathlib import Path

import pytest

from cli.helpers import Ran, contents, run
from flink_fixtures.unpacked import Storage, unpack
from flinkstate.metadata.writer import write_metadata
from flinkstate.values.handles import (
    BytesHandle,
    OperatorHandle,
    OperatorState,
    RelativeHandle,
    StateMode,
    StreamHandle,
)
from flinkstate.values.metadata_values import Metadata, Operator, Subtask

SCENARIOS = ("1.15.4/healthy", "1.20.5/merge-across", "2.3.0/inline")
"""Files, segments of merged files, bytes in ``_metadata``."""

BUFFER = "buffer"
ELEMENTS = 24


@pytest.fixture(scope="module", params=SCENARIOS)
def storage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Storage:
    return unpack(request.param, tmp_path_factory.mktemp("storage"))


def newest(storage: Storage) -> Path:
    found = storage.tree.glob("checkpoints/*/chk-*/_metadata")
    return max(found, key=lambda path: int(path.parent.name.removeprefix("chk-"))).parent


def extract(storage: Storage, out: Path, *options: object) -> Ran:
    """Extract the buffer's list unless the options say otherwise; paths mean the unpacked tree."""
    alias = f"{storage.truth['run_path']}={storage.tree}"
    chosen = options or ("--operator", BUFFER, "--state", "buffer-list")
    return run("extract", newest(storage), "--out", out, "--alias", alias, *chosen)


def test_each_partition_is_one_element_as_its_serializer_wrote_it(storage, tmp_path) -> None:
    """A string: its length plus one, then the characters; the bounds are exact."""
    before = contents(storage.tree)
    ran = extract(storage, tmp_path / "out")
    assert ran.code == 0, ran.err
    partitions = ran.json["partitions"]
    assert len(partitions) == ELEMENTS
    for each in partitions:
        data = (tmp_path / "out" / each["file"]).read_bytes()
        assert len(data) == each["length"] == data[0]
        assert data[1:].decode("ascii").isalpha()
        assert not each["compressed"]
    assert contents(storage.tree) == before


def test_the_index_says_where_the_bytes_lie(storage, tmp_path) -> None:
    """In a file from an offset on, or in ``_metadata``."""
    index = extract(storage, tmp_path / "out").json
    assert json.loads((tmp_path / "out" / "index.json").read_text()) == index
    for each in index["partitions"]:
        data = (tmp_path / "out" / each["file"]).read_bytes()
        if each["source"] is None:
            assert data in (newest(storage) / "_metadata").read_bytes()
            continue
        place = each["source"].replace(storage.truth["run_path"], str(storage.tree))
        assert Path(place).read_bytes()[each["source_offset"] :].startswith(data)


@pytest.mark.parametrize("subtask", [0, 1])
def test_one_subtask_alone_may_be_asked_for(storage, tmp_path, subtask) -> None:
    options = ("--operator", BUFFER, "--state", "seen-union", "--subtask", subtask)
    index = extract(storage, tmp_path / "out", *options).json
    assert [(each["subtask"], each["mode"]) for each in index["partitions"]] == [(subtask, "UNION")]


@pytest.mark.parametrize(
    ("options", "known"),
    [
        pytest.param(("--operator", "nobody", "--state", "x"), "it has: ", id="operator"),
        pytest.param(
            ("--operator", BUFFER, "--state", "x"), "'buffer-list', 'seen-union'", id="state"
        ),
        pytest.param(
            ("--operator", BUFFER, "--state", "seen-union", "--subtask", 7), "0, 1", id="subtask"
        ),
    ],
)
def test_what_is_not_there_names_what_is(storage, tmp_path, options, known) -> None:
    """A usage error in one line; nothing is written."""
    ran = extract(storage, tmp_path / "out", *options)
    assert (ran.code, len(ran.complaints)) == (2, 1)
    assert known in ran.complaints[0]
    assert contents(tmp_path) == {}


def test_nothing_is_overwritten(storage, tmp_path) -> None:
    """Nor anything put into a folder that is there."""
    (tmp_path / "out").mkdir()
    ran = extract(storage, tmp_path / "out")
    assert (ran.code, "is left as it is" in ran.complaints[0]) == (2, True)
    assert contents(tmp_path) == {"out": None}


def test_nothing_is_put_into_the_checkpoint(storage) -> None:
    """Flink deletes its folder only while nothing else is in it."""
    before = contents(storage.tree)
    assert extract(storage, newest(storage) / "out").code == 2
    assert contents(storage.tree) == before


def checkpoint(
    folder: Path, delegate: StreamHandle, states: dict[str, tuple[int, ...]], *, names: int = 1
) -> Path:
    """Write a checkpoint whose operators, all of one name, hold these list states."""
    handle = OperatorHandle(
        states=tuple(
            OperatorState(name=name, mode=StateMode.SPLIT_DISTRIBUTE, offsets=offsets)
            for name, offsets in states.items()
        ),
        delegate=delegate,
    )
    operators = tuple(
        Operator(
            id=f"{number:032x}",
            name="same",
            parallelism=1,
            max_parallelism=8,
            subtasks=(Subtask(index=0, managed_operator=handle),),
        )
        for number in range(names)
    )
    made = Metadata(format_version=6, checkpoint_id=1, master_states=(), operators=operators)
    folder.mkdir()
    (folder / "_metadata").write_bytes(write_metadata(made))
    return folder


def extract_made(folder: Path, out: Path, operator: str = "same") -> Ran:
    return run("extract", folder, "--operator", operator, "--state", "a", "--out", out)


def test_the_last_partition_of_a_file_of_unknown_size_reaches_to_its_end(tmp_path) -> None:
    """As releases before 1.5 wrote it; state of another name bounds the others."""
    made = checkpoint(
        tmp_path / "chk-1", RelativeHandle(name="n", size=-1), {"a": (2, 7), "b": (4,)}
    )
    (made / "n").write_bytes(b"0123456789")
    assert extract_made(made, tmp_path / "out").code == 0
    files = [(tmp_path / "out" / f"managed-0-{number}.bin").read_bytes() for number in (0, 1)]
    assert files == [b"23", b"789"]


@pytest.mark.parametrize(
    ("header", "compressed"),
    [
        pytest.param(b"\0\0\0\x06\x01", True, id="version 6, compressed"),
        pytest.param(b"\0\0\0\x06\x00", False, id="version 6, plain"),
        pytest.param(b"\0\0\0\x05\x01", False, id="version 5 never is"),
        pytest.param(b"\0\0\0\x63\x01", None, id="of an unknown version"),
    ],
)
def test_whether_the_state_is_compressed_is_said(tmp_path, header, compressed) -> None:
    made = checkpoint(tmp_path / "chk-1", BytesHandle(name="n", data=header + b"xy"), {"a": (5,)})
    (told,) = extract_made(made, tmp_path / "out").json["partitions"]
    assert (told["compressed"], told["length"], told["source"]) == (compressed, 2, None)


@pytest.mark.parametrize(
    ("delegate", "states", "words"),
    [
        pytest.param(RelativeHandle(name="m", size=9), {"a": (2,)}, "missing", id="missing"),
        pytest.param(RelativeHandle(name="n", size=99), {"a": (2,)}, "instead of 97", id="short"),
        pytest.param(
            RelativeHandle(name="n", size=9), {"a": (2,), "b": (2,)}, "nobody can tell", id="twins"
        ),
        pytest.param(RelativeHandle(name="n", size=9), {"a": (12,)}, "nobody can", id="behind"),
    ],
)
def test_what_cannot_be_had_whole_leaves_no_folder(tmp_path, delegate, states, words) -> None:
    """A failure in one line, and nothing half done."""
    made = checkpoint(tmp_path / "chk-1", delegate, states)
    (made / "n").write_bytes(b"0123456789")
    before = contents(tmp_path)
    ran = extract_made(made, tmp_path / "out")
    assert (ran.code, len(ran.complaints)) == (1, 1)
    assert words in ran.complaints[0]
    assert contents(tmp_path) == before


def test_a_name_that_several_operators_have_is_no_answer(tmp_path) -> None:
    made = checkpoint(tmp_path / "chk-1", BytesHandle(name="n", data=b"0123"), {"a": (1,)}, names=2)
    ran = extract_made(made, tmp_path / "out")
    assert (ran.code, f"{1:032x}" in ran.complaints[0]) == (2, True)
    assert extract_made(made, tmp_path / "out", f"{1:032x}").code == 0


def test_an_unreadable_checkpoint_is_reported(tmp_path) -> None:
    """With its name, and nothing written."""
    (tmp_path / "_metadata").write_bytes(b"x")
    ran = extract_made(tmp_path, tmp_path.parent / f"{tmp_path.name}-out")
    assert (ran.code, len(ran.complaints)) == (1, 1)
    assert str(tmp_path) in ran.complaints[0]
    assert "nothing is written" in ran.complaints[0]
