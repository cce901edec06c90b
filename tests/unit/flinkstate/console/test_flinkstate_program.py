"""flinkstate alone, as its README shows it: it opens every place through fsspec."""

import ast
import doctest
import json
import re
import resource
import sys
from itertools import count
from pathlib import Path

import fsspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import flinkstate
import orphangc
from flinkstate.console.application import app
from flinkstate.errors import FlinkStateError
from flinkstate.files.fsspec_folder import FsspecFolder
from flinkstate.places.checkpoint_names import job_id_of
from flinkstate.places.locations import canonical
from orphangc.core.model.naming import place_of_folder
from support.builders import JOB
from support.processes import finished
from unit.flinkstate.metadata import by_hand as hand

PACKAGE = Path(flinkstate.__file__).parent
DEMO = Path(orphangc.__file__).parent / "app/commands/operate/demo_storage"
CHECKPOINT = DEMO / "8daecbda897b64710fb20cdeb127d789" / "chk-9"
NUMBERS = count()
PARTS = st.sampled_from(
    [JOB, "f" * 32, "chk-3", "shared", "taskowned", "savepoint-a1b2c3-0123456789ab", "x", "F" * 32]
)


@pytest.fixture
def memory():
    """A folder of fsspec's memory, as a URI."""
    return f"memory://flinkstate-{next(NUMBERS)}"


def run(*args: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*map(str, args)])
    if isinstance(done.exception, FlinkStateError):
        return done.exception.exit_code, str(done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    return done.exit_code, done.stdout


def test_the_example_of_the_readme_runs(monkeypatch) -> None:
    monkeypatch.chdir(CHECKPOINT.parent)
    tried = doctest.testfile(str(PACKAGE / "README.md"), module_relative=False)
    assert (tried.failed, tried.attempted > 5) == (0, True)


def test_the_readme_shows_every_command() -> None:
    shown = re.findall(r"^flinkstate (\w+)", (PACKAGE / "README.md").read_text(), re.MULTILINE)
    assert sorted(shown) == sorted(each.callback.__name__ for each in app.registered_commands)


def test_it_starts_without_the_collector() -> None:
    """The contract of imports says so of modules; this says it of a process."""
    code = (
        "import sys; from flinkstate.console.application import app;"
        " app(sys.argv[1:], standalone_mode=False);"
        " print([each for each in sys.modules if 'orphangc' in each])"
    )
    command = [sys.executable, "-c", code, "inspect", str(CHECKPOINT), "--output", "jsonl"]
    shown = finished(command, check=True).stdout
    document, modules = shown.splitlines()
    assert json.loads(document)["checkpoint_id"] == 9
    assert ast.literal_eval(modules) == []


def test_a_checkpoint_in_another_store_is_read_and_described(memory) -> None:
    fsspec.filesystem("memory").pipe(
        f"{memory}/{JOB}/chk-9/_metadata", (CHECKPOINT / "_metadata").read_bytes()
    )
    code, text = run("inspect", f"{memory}/{JOB}/chk-9", "--output", "json")
    assert code == 0
    assert (json.loads(text)["job_id"], json.loads(text)["checkpoint_id"]) == (JOB, 9)
    code, text = run("inspect", f"{memory}/{JOB}", "--output", "json")
    assert code == 1
    assert f"such as {memory}/{JOB}/chk-9" in json.loads(text)["error"]


def test_an_operator_is_rescaled() -> None:
    code, text = run("rescale", CHECKPOINT, "--to", "4", "--output", "json")
    assert code == 0
    assert {each["new_parallelism"] for each in json.loads(text)["rescaled_to"]["operators"]} == {4}


def test_what_nothing_declares_is_left_out_of_a_copy_in_another_store(tmp_path, memory) -> None:
    """``prune`` looks up every file first, and these are not there."""
    declared, less = tmp_path / "all.yaml", tmp_path / "less.yaml"
    assert run("declare", CHECKPOINT, "--out", declared)[0] == 0
    slow = "  - id: slow-list\n    redistribution: split\n"
    less.write_text(declared.read_text().replace(slow, ""))
    asked = (CHECKPOINT, "--declarations", less)
    assert run("unclaimed", *asked, "--output", "json")[0] == 5
    assert run("prune", *asked, "--to", memory)[0] == 1
    assert fsspec.filesystem("memory").find(memory) == []
    unverified = ("--no-verify", "--ignore-unclaimed-state", "--prune-to", memory)
    assert run("unclaimed", *asked, *unverified)[0] == 0
    (copy,) = fsspec.filesystem("memory").find(memory)
    assert copy.endswith("/_metadata")
    _, text = run("inspect", memory, "--metadata-only", "--output", "json")
    states = json.loads(text)["contents"]["operators"]
    names = {each["name"] for operator in states for each in operator["operator_states"]}
    assert names == {"SourceReaderState", "buffer-list", "seen-union", "rules-broadcast"}


def test_a_wrong_parallelism_is_called_what_it_is_here() -> None:
    """The option is ``--to`` here, and ``--rescale-to`` elsewhere."""
    code, said = run("rescale", CHECKPOINT, "--to", "0")
    assert (code, "--rescale-to" in said) == (2, False)


@given(st.lists(PARTS, min_size=1, max_size=5))
def test_both_packages_read_the_same_job_in_a_path(parts: list[str]) -> None:
    path = "/".join(parts)
    assert job_id_of(f"/{path}") == (place_of_folder(path).job_id or None)


@pytest.fixture(params=["local", "memory"])
def folder(request, tmp_path, memory) -> FsspecFolder:
    where = str(tmp_path / "new") if request.param == "local" else f"{memory}/new"
    return FsspecFolder(canonical(where))


def test_a_file_is_created_once(folder) -> None:
    assert folder.names("") == []
    assert folder.create("a", b"first")
    assert not folder.create("a", b"second")
    assert (folder.read("a"), folder.names("")) == (b"first", ["a"])
    folder.remove("a")
    folder.remove("a")
    assert (folder.read("a"), folder.names("")) == (None, [])


def test_a_write_that_a_full_disk_ends_leaves_nothing(tmp_path) -> None:
    """Half of a ``_metadata`` would stop every collector, and half a file of declarations lie."""
    folder = FsspecFolder(canonical(str(tmp_path)))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5, limits[1]))
    try:
        with pytest.raises(FlinkStateError):
            folder.create("_metadata", b"0123456789")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert folder.names("") == []


def test_parts_end_with_the_file(folder) -> None:
    folder.create("a", b"0123456789")
    assert folder.part("a", start=8, size=5) == b"89"
    assert folder.part("a", start=10, size=1) == b""
    assert folder.part("b", start=0, size=1) is None


def test_a_file_over_the_limit_is_an_error(folder) -> None:
    folder.create("a", b"0123456789")
    assert folder.read("a", max_bytes=10) == b"0123456789"
    with pytest.raises(FlinkStateError, match="over 9 bytes"):
        folder.read("a", max_bytes=9)


def test_a_folder_is_no_file(folder) -> None:
    folder.create("a", b"")
    FsspecFolder(canonical(f"{folder._place}/chk-1")).create("_metadata", b"m")
    assert folder.stat(["chk-1", "absent"]) == [None, None]
    assert folder.folder().folders == ("chk-1",)
    (found,) = folder.stat(["chk-1/_metadata"])
    assert (found.size, found.modified_at is not None) == (1, True)


@pytest.mark.parametrize("name", ["../x", "", "a//b", "/x"])
def test_a_name_that_leads_elsewhere_is_refused(folder, name) -> None:
    with pytest.raises(FlinkStateError):
        folder.create(name, b"")


def test_an_unknown_scheme_is_named() -> None:
    with pytest.raises(FlinkStateError, match="cannot open nothing://"):
        FsspecFolder(canonical("nothing://bucket/x"))


def test_a_place_is_never_taken_for_several_file_systems(tmp_path) -> None:
    """``/x::y`` would be ``/x`` to fsspec, through a second file system at ``y``."""
    folder, target = tmp_path / "chk-1", tmp_path / "new::x"
    folder.mkdir()
    (folder / "_metadata").write_bytes(hand.metadata(5, hand.listed()))
    declared = tmp_path / "d.yaml"
    assert run("declare", folder, "--out", declared)[0] == 0
    code, said = run("prune", folder, "--declarations", declared, "--to", target)
    assert sorted(tmp_path.iterdir()) == [folder, declared]
    assert (code, str(target) in said) == (2, True)


def test_a_file_system_that_does_not_open_is_a_document_with_an_error() -> None:
    """Whatever fsspec raises for want of options."""
    code, text = run("inspect", "reference://x", "--output", "json")
    assert (code, json.loads(text)["exit_code"]) == (1, 1)
