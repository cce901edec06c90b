"""``inspect``: what checkpoints hold, exactly as Flink's own reader sees it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from commands.helpers import DAY, metadata, run, run_process, write
from unit.flink.golden_files import GoldenFile, golden, golden_files

OLD_MAPS = (1, 15)
"""Up to here Flink kept the named lists in hash maps: their order is not the file's."""


def documents(*args: object) -> list[dict[str, Any]]:
    """Return what jsonl prints."""
    ran = run("inspect", *args, "--output", "jsonl")
    assert ran.code == 0, ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


def comparable(value: Any, *, directory: str, ordered: bool) -> Any:
    """Return a document as both sides can say it."""
    if isinstance(value, dict):
        changed = {
            key: comparable(each, directory=directory, ordered=ordered)
            for key, each in value.items()
            if key != "coordinator_state_bytes"  # the contract adds it
        }
        for key in {"shared", "private"} & (set() if ordered else set(changed)):
            changed[key] = sorted(changed[key], key=json.dumps)
        return changed
    if isinstance(value, list):
        return [comparable(each, directory=directory, ordered=ordered) for each in value]
    if isinstance(value, str) and value.startswith("EXCL/"):
        return f"{directory}/{value.removeprefix('EXCL/')}"
    return value


@pytest.mark.parametrize("file", golden_files(), ids=lambda file: file.name)
def test_a_golden_file_is_shown_as_flink_reads_it(file: GoldenFile) -> None:
    """Every field that Flink's getters gave, of every release."""
    (document,) = documents(file.folder)
    ordered = file.release[:2] > OLD_MAPS
    shown = comparable(document, directory=str(file.folder), ordered=ordered)
    expected = comparable(file.expected, directory=str(file.folder), ordered=ordered)
    assert {name: shown[name] for name in expected} == expected


def test_the_document_has_the_keys_of_the_contract() -> None:
    """At least these; paths are absolute."""
    (document,) = documents(golden("2.3.0/classic").folder)
    assert document.keys() >= {
        "checkpoint_id",
        "format_version",
        "operators",
        "files",
        "directories",
    }
    assert document["operators"][0].keys() >= {
        *("id", "name", "uid", "parallelism", "max_parallelism", "fully_finished"),
        *("coordinator_state_bytes", "subtasks"),
    }
    assert document["files"][0].keys() >= {"path", "size", "kind"}
    paths = [each["path"] for each in document["files"]]
    assert all(path.startswith("/") or ":" in path.partition("/")[0] for path in paths)


def test_a_folder_and_its_metadata_file_are_the_same() -> None:
    """Either spelling."""
    folder = golden("2.3.0/classic").folder
    first, second = documents(folder, folder / "_metadata")
    assert first == second


def test_one_document_a_line_in_the_order_asked() -> None:
    """The jsonl form is for programs that read line by line."""
    folders = [golden(name).folder for name in ("2.3.0/empty", "1.10.3/classic")]
    shown = documents(*folders)
    assert [each["directory"] for each in shown] == [str(folder) for folder in folders]


def test_json_of_one_is_a_document_and_of_several_a_list() -> None:
    """The default where stdout is no terminal."""
    folder = golden("2.3.0/empty").folder
    assert run("inspect", folder).json["directory"] == str(folder)
    assert len(run("inspect", folder, folder, "--output", "json").json) == 2


def test_a_table_is_printed_on_request() -> None:
    """For people."""
    ran = run("inspect", golden("2.3.0/classic").folder, "--output", "table")
    assert ran.code == 0
    assert "operator" in ran.out
    assert not ran.out.startswith("{")


def test_a_damaged_one_is_told_and_the_others_are_still_shown(tmp_path) -> None:
    """Exit 1, the offset, and no traceback; the order stays."""
    whole = metadata(7, ["/x/a"])
    bad = write(tmp_path / "chk-7" / "_metadata", whole[:-4], DAY).parent
    good = golden("2.3.0/empty").folder
    ran = run("inspect", good, bad, good, "--output", "jsonl")
    shown = [json.loads(line) for line in ran.out.splitlines()]
    assert (ran.code, len(ran.complaints)) == (1, 1)
    assert [("error" in each) for each in shown] == [False, True, False]
    assert shown[1]["directory"] == str(bad)
    assert 0 < shown[1]["offset"] <= len(whole)
    assert str(shown[1]["offset"]) in shown[1]["error"]
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\0" * 100, id="zeros"),
        pytest.param(metadata(7, ["/x/a"]) + b"\0", id="a byte too many"),
        pytest.param(metadata(7, ["/x/a"])[:20], id="cut short"),
        pytest.param(metadata(7, [])[:4] + b"\0\0\0\x63" + metadata(7, [])[8:], id="version 99"),
    ],
)
def test_what_is_not_exactly_one_metadata_file_is_an_error(tmp_path, data) -> None:
    """Never a part of it."""
    path = write(tmp_path / "chk-7" / "_metadata", data, DAY)
    ran = run("inspect", path, "--output", "jsonl")
    document = json.loads(ran.out)
    assert (ran.code, len(ran.complaints)) == (1, 1)
    assert document.keys() >= {"directory", "error", "offset"}


def test_every_cut_of_a_file_is_told_with_an_offset(tmp_path) -> None:
    """No prefix of a real file passes for a whole one."""
    whole = golden("2.3.0/classic").data
    step = len(whole) // 40
    paths = [
        write(tmp_path / f"chk-{size}" / "_metadata", whole[:size], DAY)
        for size in range(0, len(whole), step)
    ]
    ran = run("inspect", *paths, "--output", "jsonl")
    shown = [json.loads(line) for line in ran.out.splitlines()]
    assert (ran.code, len(ran.complaints)) == (1, len(paths))
    assert all(
        each["offset"] <= int(each["directory"].split("chk-")[1].split("/")[0]) for each in shown
    )


def test_an_absent_one_is_an_error(tmp_path) -> None:
    """A folder without a ``_metadata``, a folder that is not there."""
    (tmp_path / "chk-7").mkdir()
    for place in (tmp_path / "chk-7", tmp_path / "chk-8"):
        ran = run("inspect", place)
        assert (ran.code, len(ran.complaints), "error" in ran.json) == (1, 1, True)


def test_a_place_that_is_none_is_an_error_like_any_other() -> None:
    """Others are still shown."""
    good = golden("2.3.0/empty").folder
    ran = run("inspect", "gopher://x/y", good, "--output", "jsonl")
    shown = [json.loads(line) for line in ran.out.splitlines()]
    assert (ran.code, len(ran.complaints)) == (1, 1)
    assert ["error" in each for each in shown] == [True, False]


def test_a_process_prints_documents_and_complaints_apart(tmp_path) -> None:
    """Data on stdout, complaints on stderr."""
    bad = write(tmp_path / "chk-7" / "_metadata", b"x", DAY)
    ran = run_process("inspect", golden("2.3.0/empty").folder, bad, "--output", "jsonl")
    assert ran.code == 1
    assert [len(json.loads(line)) > 0 for line in ran.out.splitlines()] == [True, True]
    assert len(ran.complaints) == 1
