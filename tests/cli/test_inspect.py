"""``inspect``: what checkpoints hold, exactly as Flink's own reader sees it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli.helpers import DAY, metadata, run, run_process, write
from unit.app.render.html_pages import parse
from unit.flinkstate.metadata import by_hand as hand
from unit.flinkstate.metadata.by_hand import i4
from unit.flinkstate.metadata.golden_files import (
    GoldenFile,
    comparable,
    contractual,
    every_golden_file,
    golden,
)
from unit.flinkstate.state import header_writer as write_state

JOB = "4ae4a2986a0e1a49b0f165b58085d4b3"


def documents(*args: object) -> list[dict[str, Any]]:
    ran = run("inspect", *args, "--output", "jsonl")
    assert ran.code == 0, ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


@every_golden_file
def test_a_golden_file_is_shown_as_flink_reads_it(file: GoldenFile) -> None:
    """Every field that Flink's getters gave, of every release."""
    (document,) = documents(file.folder)
    expected = comparable(file.expected, file, str(file.folder))
    shown = comparable(contractual(document), file, str(file.folder))
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


@pytest.mark.parametrize(("flag", "code"), [(b"\x00", 1), (b"\x01", 0)])
def test_changes_that_are_compressed_are_shorter_than_their_handle_says(
    tmp_path, flag, code
) -> None:
    """It counts the bytes before; the first byte of the file says which they are."""
    log = write(tmp_path / "dstl" / "log", flag + b"234", DAY)
    changes = hand.changelog_files(hand.file_handle(str(log), size=5))
    write(tmp_path / "chk-7" / "_metadata", hand.with_keyed(changes), DAY)
    assert run("inspect", tmp_path / "chk-7", "--verify", "--metadata-only").code == code


def test_a_checkpoint_whose_files_are_there_is_said_to_be_whole(tmp_path) -> None:
    """Else the answer of ``--verify`` would be silence."""
    log = write(tmp_path / "dstl" / "log", b"\x01234", DAY)
    changes = hand.changelog_files(hand.file_handle(str(log), size=5))
    write(tmp_path / "chk-7" / "_metadata", hand.with_keyed(changes), DAY)
    asked = ("inspect", tmp_path / "chk-7", "--metadata-only", "--output", "table")
    words = "1 file verified: there, and as long as it says"
    assert words in run(*asked, "--verify").out
    assert "verified" not in run(*asked).out
    log.unlink()
    assert words not in run(*asked, "--verify").out


@pytest.mark.parametrize("data", [metadata(7, []), b"damaged"], ids=["whole", "damaged"])
@pytest.mark.parametrize("name", ["_metadata", "page.html"])
def test_a_page_is_not_written_into_a_checkpoint(tmp_path, name, data) -> None:
    """It would replace the checkpoint, or Flink would never delete the folder."""
    folder = tmp_path / "chk-7"
    path = write(folder / "_metadata", data, DAY)
    before = path.read_bytes()
    ran = run("inspect", folder, "--html", folder / name)
    assert ([*folder.iterdir()], path.read_bytes()) == ([path], before)
    assert (ran.code, "is inside the checkpoint" in ran.err) == (2, True)


def test_a_folder_and_its_metadata_file_are_the_same() -> None:
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


def test_a_damaged_one_is_reported_and_the_others_are_still_shown(tmp_path) -> None:
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


def test_every_cut_of_a_file_is_reported_with_an_offset(tmp_path) -> None:
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


@pytest.mark.parametrize(
    ("uri", "directory"),
    [
        ("chk-6", "{here}/chk-6"),
        ("s3://", "s3://"),
        ("gopher://x/y", "gopher://x/y"),
        ("", ""),
        ("nowhere", "{here}/nowhere"),
    ],
)
def test_what_cannot_be_read_or_placed_is_named_by_its_absolute_path(
    tmp_path, monkeypatch, uri: str, directory: str
) -> None:
    """Exit 1, and a document that says the same."""
    write(tmp_path / "chk-6" / "_metadata", b"x", DAY)
    monkeypatch.chdir(tmp_path)
    ran = run("inspect", uri)
    assert (ran.code, len(ran.complaints)) == (1, 1)
    assert ran.json["directory"] == directory.format(here=tmp_path)
    assert ran.json["exit_code"] == 1


def test_a_process_prints_documents_and_complaints_apart(tmp_path) -> None:
    """Data on stdout, complaints on stderr."""
    bad = write(tmp_path / "chk-7" / "_metadata", b"x", DAY)
    ran = run_process("inspect", golden("2.3.0/empty").folder, bad, "--output", "jsonl")
    assert ran.code == 1
    assert [len(json.loads(line)) > 0 for line in ran.out.splitlines()] == [True, True]
    assert len(ran.complaints) == 1


NAMED_STATES = write_state.keyed_header(
    write_state.record("total"), write_state.record("seen\ud800", options=())
)


def with_states(folder: Path, *, meta: bytes = NAMED_STATES, path: str | None = None) -> Path:
    """Write a checkpoint whose keyed states stand in a meta file beside it; return its folder."""
    shared = hand.listed(hand.utf("1.sst") + hand.file_handle(f"{folder}/../shared/1", 900))
    handle = (
        hand.relative_handle("meta", len(meta))
        if path is None
        else hand.file_handle(path, len(meta))
    )
    keyed = hand.incremental(shared, meta=handle)
    operator = i4(1) + hand.operator_handle(hand.file_handle("/s/operator", 20))
    subtasks = hand.listed(hand.subtask(4, keyed=keyed, operator=operator))
    data = hand.metadata(4, hand.listed(hand.operator(4, subtasks)))
    write(folder / "meta", meta, DAY)
    return write(folder / "_metadata", data, DAY).parent


def held(document: dict[str, Any]) -> dict[str, Any]:
    (operator,) = document["contents"]["operators"]
    return operator


def test_states_are_named(tmp_path) -> None:
    """Keyed ones from the meta file, operator ones from the metadata; bytes of each operator."""
    (document,) = documents(with_states(tmp_path / "chk-7"))
    operator = held(document)
    assert [each["name"] for each in operator["keyed_states"]] == ["total", "seen\ud800"]
    assert (operator["keyed_unknown"], operator["keyed_snapshots"]) == (None, ["incremental"])
    assert operator["key_groups"] == [{"subtask": 0, "first": 0, "count": 1}]
    (state,) = operator["operator_states"]
    assert (state["name"], state["mode"], state["partitions"]) == ("state", "SPLIT_DISTRIBUTE", 2)
    assert state["subtasks"] == [{"subtask": 0, "offsets": [0, 8], "sizes": [8, 12]}]
    assert operator["bytes"]["keyed"] == len(NAMED_STATES) + 900
    assert [each["roles"] for each in operator["files"]] == [["operator"], ["keyed"], ["keyed"]]
    assert document["contents"]["bytes"] == {
        "total": len(NAMED_STATES) + 920,
        "stored": len(NAMED_STATES) + 920,
        "inline": 0,
    }


@pytest.mark.parametrize(
    ("options", "reason"),
    [(("--metadata-only",), "were not read"), ((), "chk-7/meta is missing")],
    ids=["not asked for", "gone"],
)
def test_a_checkpoint_is_shown_without_its_state_files(tmp_path, options, reason) -> None:
    """Its document is whole; only the names stay unknown, and no view fails."""
    folder = with_states(tmp_path / "chk-7")
    (folder / "meta").unlink()
    (document,) = documents(folder, *options)
    assert held(document)["keyed_states"] is None
    assert reason in held(document)["keyed_unknown"]
    for view in ("table", "tree"):
        ran = run("inspect", folder, *options, "--output", view)
        assert (ran.code, "names of keyed states unknown" in ran.out) == (0, True)


def test_an_alias_says_where_state_files_lie(tmp_path) -> None:
    """A copied checkpoint names its files where the job saw them."""
    elsewhere = "s3://bucket/chk-7/meta"
    folder = with_states(tmp_path / "chk-7", path=elsewhere)
    (document,) = documents(folder)
    assert "own storage" in held(document)["keyed_unknown"]
    (document,) = documents(folder, "--alias", f"s3://bucket/chk-7={folder}")
    assert held(document)["keyed_unknown"] is None
    ran = run("inspect", folder, "--alias", "nonsense")
    assert (ran.code, len(ran.complaints)) == (2, 1)


@pytest.mark.parametrize("view", ["table", "tree", "json", "jsonl"])
def test_names_that_no_encoding_can_write_break_no_view(tmp_path, view) -> None:
    """A Java string may hold half a character."""
    folder = with_states(tmp_path / "chk-7")
    page = tmp_path / "page.html"
    ran = run("inspect", folder, "--output", view, "--html", page)
    assert (ran.code, ran.complaints) == (0, [])
    assert b"seen\\ud800" in ran.out.encode("utf-8")
    assert "seen\\ud800" in page.read_text("utf-8")


def test_tree_is_short_for_its_output(tmp_path) -> None:
    folder = with_states(tmp_path / "chk-7")
    shown = run("inspect", folder, "--tree")
    assert shown.out == run("inspect", folder, "--output", "tree").out
    assert "total: keyed value" in shown.out


def test_a_page_shows_all_that_was_asked_for(tmp_path) -> None:
    """Also what could not be read; stdout stays what it is without a page."""
    folders = [with_states(tmp_path / "chk-7"), golden("2.3.0/classic").folder, tmp_path]
    page = tmp_path / "page.html"
    ran = run("inspect", *folders, "--output", "jsonl", "--html", page)
    assert (ran.code, len(ran.out.splitlines())) == (1, 3)
    found = parse(page.read_text("utf-8"))
    assert len(found.all("section")) == 3
    assert all(str(each) in found.text for each in folders)
    ran = run("inspect", folders[0], "--html", tmp_path / "no" / "page.html")
    assert (ran.code, len(ran.complaints)) == (1, 1)


def test_two_checkpoints_are_held_against_each_other(tmp_path) -> None:
    """What both keep, what one adds, and which states came and went."""
    job = tmp_path / "job"
    old = with_states(job / "chk-7")
    new = with_states(job / "chk-8", meta=write_state.keyed_header(write_state.record("fresh")))
    (document,) = documents(new, "--against", old)
    against = document["against"]
    assert against["directory"] == str(old)
    assert against["amounts"]["shared"] == {"files": 2, "bytes": 920}
    assert against["amounts"]["dropped"] == {"files": 1, "bytes": len(NAMED_STATES)}
    (operator,) = against["operators"]
    assert (operator["states_added"], operator["states_dropped"]) == (
        ["fresh"],
        ["seen\ud800", "total"],
    )
    for view in ("table", "tree"):
        assert "+ fresh" in run("inspect", new, "--against", old, "--output", view).out


def test_nothing_is_shown_if_there_is_nothing_to_hold_against(tmp_path) -> None:
    """Half an answer would look like a whole one."""
    ran = run("inspect", with_states(tmp_path / "chk-7"), "--against", tmp_path)
    assert (ran.code, ran.out, len(ran.complaints)) == (1, "", 1)


def test_what_cannot_be_held_against_is_named(tmp_path, monkeypatch) -> None:
    """It is not the one that was asked of."""
    write(tmp_path / "chk-6" / "_metadata", b"x", DAY)
    folder = with_states(tmp_path / "chk-7")
    monkeypatch.chdir(tmp_path)
    ran = run("inspect", folder, "--against", "chk-6")
    assert (ran.code, ran.out, len(ran.complaints)) == (1, "", 1)
    assert f"{tmp_path}/chk-6: cannot decode" in ran.err


# --- paths, times and mistakes


def test_no_table_cuts_off_what_identifies_a_row() -> None:
    """The end of a path is its UUID."""
    folder = golden("real/2.3.0/rocksdb+tofile/chk-7").folder
    (document,) = documents(folder, "--metadata-only")
    ran = run("inspect", folder, "--metadata-only", "--output", "table")
    assert "…" not in ran.out
    largest = sorted(document["files"], key=lambda each: -each["size"])[:40]
    assert {each["path"] for each in largest} <= set(ran.out.split())


def test_the_page_shows_time_job_and_the_new_subtasks(tmp_path: Path) -> None:
    folder = tmp_path / JOB / "chk-7"
    source = golden("real/2.3.0/rocksdb+tofile/chk-7").folder / "_metadata"
    write(folder / "_metadata", source.read_bytes(), DAY)
    page = tmp_path / "page.html"
    ran = run("inspect", folder, "--metadata-only", "--rescale-to", 3, "--html", page)
    assert ran.code == 0, ran.err
    text = " ".join(parse(page.read_text()).text.split())
    assert ran.json["job_id"] == JOB
    assert ran.json["stored_at"][:16].replace("T", " ") in text
    assert JOB in text
    assert "from 2 to 3 subtasks" in text
    assert "all 2 partitions of all subtasks" in text
    ran = run("inspect", folder, "--metadata-only", "--rescale-to", 200, "--html", page)
    assert ran.code == 1
    assert "Flink restores no parallelism above it" in page.read_text()


def test_a_job_directory_is_answered_with_the_checkpoint_to_give(tmp_path: Path) -> None:
    source = golden("2.3.0/classic").folder / "_metadata"
    for name in ("chk-9", "chk-10"):
        write(tmp_path / JOB / name / "_metadata", source.read_bytes(), DAY)
    (tmp_path / JOB / "chk-11").mkdir()
    ran = run("inspect", tmp_path / JOB)
    assert ran.code == 1
    assert f"such as {tmp_path / JOB}/chk-10" in ran.complaints[0]
    assert "such as" not in run("inspect", tmp_path).complaints[0]


def test_small_sizes_are_said_once(tmp_path: Path) -> None:
    """Not "32 bytes (32 B)"."""
    page = tmp_path / "page.html"
    run("inspect", golden("2.3.0/classic").folder, "--html", page)
    assert not re.search(r"bytes? \([0-9]+ B\)", page.read_text())


def test_declarations_name_the_operators_of_an_old_checkpoint(tmp_path: Path) -> None:
    """Before Flink 2.0 it has nothing but the hashes of their uids."""
    folder = golden("real/1.15.4/rocksdb+tofile/chk-6").folder
    (before,) = documents(folder, "--metadata-only")
    chosen = before["operators"][0]["id"]
    uid = "orders-v1"
    declared = write(
        tmp_path / "d.yaml",
        f"version: 1\noperators:\n- {{uid: {uid}, id: {chosen}, name: orders}}\n".encode(),
        DAY,
    )
    (after,) = documents(folder, "--metadata-only", "--declarations", declared)
    found = {each["id"]: (each["uid"], each["name"]) for each in after["operators"]}
    assert found.pop(chosen) == (uid, "orders")
    assert set(found.values()) <= {(None, None)}
    assert after["contents"]["operators"][0]["uid"] == uid
    again = run("inspect", folder, "--declarations", declared, "--rescale-to", f"{uid}=1")
    assert again.code == 0, again.err
