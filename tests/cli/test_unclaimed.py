"""``declare`` and ``unclaimed``: from a checkpoint to a file, and back against the next job."""

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
import yaml

from cli.helpers import Ran, run
from flink_fixtures.unpacked import unpack
from flinkstate.entries.full_snapshot import read_full_snapshot
from flinkstate.metadata.reader import read_metadata
from flinkstate.operator_ids import operator_id
from flinkstate.state.extents import Inline, place_of
from orphangc.adapters.files.state_files import LocalStateFiles
from orphangc.errors import StorageUnreachableError
from unit.flinkstate.metadata import by_hand as hand
from unit.flinkstate.metadata.golden_files import golden

SAVEPOINT_CODE = 7
UNVERIFIED = ("unclaimed", "--no-verify")
"""The storage is in another folder than Flink wrote it to, and most tests state no alias."""

BUFFER_STATES = {"buffer-list": "split", "seen-union": "union"}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    """A retained checkpoint that Flink 2.3.0 wrote; no test changes it."""
    storage = unpack("2.3.0/healthy", tmp_path_factory.mktemp("storage"))
    return max(storage.tree.glob("checkpoints/*/chk-*"), key=lambda path: int(path.name[4:]))


@pytest.fixture
def whole(tmp_path: Path) -> tuple[Path, str]:
    """A checkpoint of a storage of its own, and the alias that leads to its files."""
    storage = unpack("2.3.0/healthy", tmp_path / "storage")
    newest = max(storage.tree.glob("checkpoints/*/chk-*"), key=lambda path: int(path.name[4:]))
    return newest, f"{storage.truth['run_path']}={storage.tree}"


@pytest.fixture
def declarations(checkpoint: Path, tmp_path: Path) -> Path:
    path = tmp_path / "declarations.yaml"
    assert run("declare", checkpoint, "--out", path).code == 0
    return path


def changed(path: Path, change) -> Path:
    content = yaml.safe_load(path.read_text())
    operators = [change(dict(each)) for each in content["operators"]]
    path.write_text(yaml.safe_dump(content | {"operators": [each for each in operators if each]}))
    return path


def without(path: Path, uid: str) -> Path:
    return changed(path, lambda each: None if each["uid"] == uid else each)


def without_state(path: Path, name: str) -> Path:
    def less(each):
        for field in {"keyed_states", "operator_states"} & set(each):
            each[field] = [state for state in each[field] if state["id"] != name]
        return each

    return changed(path, less)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_a_checkpoint_implies_is_written_once(checkpoint: Path, tmp_path: Path) -> None:
    """Readable, complete, and never over another file."""
    path = tmp_path / "declarations.yaml"
    ran = run("declare", checkpoint, "--out", path)
    assert (ran.code, ran.out, ran.complaints) == (0, "", [])
    operators = {each["uid"]: each for each in yaml.safe_load(path.read_text())["operators"]}
    assert all(each["id"] == operator_id(uid) for uid, each in operators.items())
    assert operators["buffer"]["operator_states"] == [
        {"id": name, "redistribution": mode} for name, mode in BUFFER_STATES.items()
    ]
    assert [each["id"] for each in operators["counter"]["keyed_states"]] == ["count", "tail-list"]
    assert operators["numbers"]["coordinator"] is True
    before = path.read_bytes()
    again = run("declare", checkpoint, "--out", path)
    assert again.code == 2
    assert "exists and is left as it is" in again.err
    assert path.read_bytes() == before


@pytest.mark.parametrize("is_there", [True, False])
def test_declarations_are_not_written_through_a_link(
    checkpoint: Path, tmp_path: Path, *, is_there: bool
) -> None:
    """Neither over what it means, nor beside that."""
    elsewhere, link = tmp_path / "elsewhere", tmp_path / "declarations.yaml"
    elsewhere.mkdir()
    if is_there:
        (elsewhere / "real.yaml").write_text("mine")
    link.symlink_to(elsewhere / "real.yaml")
    ran = run("declare", checkpoint, "--out", link)
    assert ran.code == 2
    assert "exists and is left as it is" in ran.err
    assert [path.read_text() for path in elsewhere.iterdir()] == ["mine"] * is_there


@pytest.mark.parametrize("out", ["", "/", ".", ".."])
def test_a_folder_is_no_declarations_file(checkpoint: Path, out: str) -> None:
    """Also one whose path has no name."""
    ran = run("declare", checkpoint, "--out", out)
    assert ran.code == 2
    assert "exists and is left as it is" in ran.err


def test_two_slashes_before_a_path_are_one(checkpoint: Path, tmp_path: Path) -> None:
    """A shell's variable that ends with a slash makes them."""
    assert run("declare", checkpoint, "--out", f"/{tmp_path}/declarations.yaml").code == 0
    assert (tmp_path / "declarations.yaml").is_file()
    into = run("declare", checkpoint, "--out", f"/{checkpoint}/declarations.yaml")
    assert into.code == 2
    assert "is inside the checkpoint" in into.err
    assert not (checkpoint / "declarations.yaml").exists(), (
        "Flink deletes its own folder only empty"
    )


def test_what_cannot_be_declared_is_said(tmp_path: Path) -> None:
    """In the file and on stderr: the meta files are not there."""
    path = tmp_path / "declarations.yaml"
    ran = run("declare", golden("real/2.3.0/rocksdb+tofile/chk-7").folder, "--out", path)
    assert ran.code == 0
    assert ran.complaints
    assert all("not declared: operator" in line for line in ran.complaints)
    said = [line for line in path.read_text().splitlines() if line.startswith("# ")]
    assert len(said) == 1 + len(ran.complaints)


def test_a_checkpoint_that_no_flink_wrote_implies_nothing(tmp_path: Path) -> None:
    """Two operators of one id: reported, not guessed."""
    twins = hand.listed(*2 * [hand.operator(4, hand.listed(hand.subtask(4)))])
    (tmp_path / "_metadata").write_bytes(hand.metadata(4, twins))
    ran = run("declare", tmp_path, "--out", tmp_path.parent / "twins.yaml")
    assert ran.code == 1
    assert "implies no declarations" in ran.err
    assert not (tmp_path.parent / "twins.yaml").exists()


def test_what_is_declared_is_claimed(checkpoint: Path, declarations: Path) -> None:
    """Exit 0, and a document that says so."""
    ran = run(*UNVERIFIED, checkpoint, "--declarations", declarations)
    assert (ran.code, ran.complaints) == (0, [])
    assert ran.json["unclaimed"] == []
    assert ran.json["complete"] is True
    table = run(
        "unclaimed", "--no-verify", checkpoint, "--declarations", declarations, "--output", "table"
    )
    assert "no state is unclaimed" in " ".join(table.out.split())


def test_a_removed_operator_is_named_before_the_deployment(
    checkpoint: Path, declarations: Path
) -> None:
    """Exit 5, unless that is to be ignored."""
    asked = *UNVERIFIED, checkpoint, "--declarations", without(declarations, "buffer")
    ran = run(*asked)
    assert ran.code == 5
    (entry,) = ran.json["unclaimed"]
    assert entry["kind"] == "operator"
    assert entry["operator"]["uid"] == "buffer"
    assert entry["bytes"] == ran.json["unclaimed_bytes"] > 0
    assert "1 unclaimed" in ran.complaints[-1]
    ignored = run(*asked, "--ignore-unclaimed-state")
    assert ignored.code == 0
    assert ignored.json == ran.json


@pytest.mark.parametrize(
    ("state", "kind", "is_prunable"),
    [
        ("seen-union", "operator_state", True),
        ("rules-broadcast", "operator_state", True),
        ("recent-map", "keyed_state", False),
    ],
)
def test_a_removed_state_is_named(
    checkpoint: Path, declarations: Path, state: str, kind: str, *, is_prunable: bool
) -> None:
    asked = *UNVERIFIED, checkpoint, "--declarations", without_state(declarations, state)
    ran = run(*asked)
    assert ran.code == 5
    (entry,) = ran.json["unclaimed"]
    assert (entry["kind"], entry["state"], entry["is_prunable"]) == (kind, state, is_prunable)
    assert state in run(*asked, "--output", "table").out


def test_a_source_replaced_under_the_same_uid_is_called_dangerous(
    checkpoint: Path, declarations: Path
) -> None:
    """Union list state of the old one left, a coordinator that will find nothing."""

    def other_source(each):
        if each["uid"] == "buffer":
            each["operator_states"] = [{"id": "SourceReaderState", "redistribution": "split"}]
            each["coordinator"] = True
        return each

    ran = run(
        "unclaimed",
        "--no-verify",
        checkpoint,
        "--declarations",
        changed(declarations, other_source),
    )
    assert ran.code == 5
    assert [each["operator"]["uid"] for each in ran.json["replaced"]] == ["buffer"]
    (danger,) = [line for line in ran.complaints if "DANGER" in line]
    for word in ("buffer", "replaced under the same uid", "starts empty", "seen-union"):
        assert word in danger


def test_a_pruned_checkpoint_lacks_it_and_the_original_is_untouched(
    checkpoint: Path, declarations: Path, tmp_path: Path
) -> None:
    """One file; it refers to the original's files, and its own answer is that nothing is left."""
    before = content(checkpoint)
    without_state(without(declarations, "buffer"), "rules-broadcast")
    asked = *UNVERIFIED, checkpoint, "--declarations", declarations
    ran = run(*asked, "--prune-to", tmp_path / "new" / "pruned")
    assert ran.code == 5, "what it was asked of still has it"
    assert ran.json["pruned"]["left_out"] == 2
    assert "NO_CLAIM" in ran.complaints[-1]
    pruned = tmp_path / "new" / "pruned"
    assert [path.name for path in pruned.iterdir()] == ["_metadata"]
    assert content(checkpoint) == before
    again = run(*UNVERIFIED, pruned, "--declarations", declarations)
    assert (again.code, again.json["unclaimed"]) == (0, [])
    assert again.json["complete"] is True, "keyed names are read from the original's files"
    operators = read_metadata((pruned / "_metadata").read_bytes()).operators
    assert operator_id("buffer") not in {each.id for each in operators}
    ignored = run(*asked, "--prune-to", tmp_path / "other", "--ignore-unclaimed-state")
    assert ignored.code == 0
    assert len(content(tmp_path / "other")) == 1


def test_it_can_be_written_to_any_storage(checkpoint: Path, declarations: Path) -> None:
    place = "memory://unclaimed-pruned/1"
    asked = *UNVERIFIED, checkpoint, "--declarations", without(declarations, "sink")
    assert run(*asked, "--prune-to", place).code == 0, "the operator has no state"
    again = run(*UNVERIFIED, place, "--declarations", declarations)
    assert (again.code, again.json["unclaimed"]) == (4, []), "its files are in another storage"
    refused = run(*asked, "--prune-to", place)
    assert refused.code == 2
    assert "is not empty" in refused.err


def test_keyed_state_is_said_to_stay(checkpoint: Path, declarations: Path, tmp_path: Path) -> None:
    """It cannot be left out offline."""
    without_state(declarations, "recent-map")
    pruned = tmp_path / "pruned"
    asked = *UNVERIFIED, checkpoint, "--declarations", declarations, "--prune-to", pruned
    ran = run(*asked)
    assert [each["state"] for each in ran.json["pruned"]["not_prunable"]] == ["recent-map"]
    assert any("take a canonical savepoint" in line for line in ran.complaints)
    assert run(*UNVERIFIED, pruned, "--declarations", declarations).code == 5
    shown = run(*asked[:-1], tmp_path / "again", "--output", "table").out
    assert "1 cannot be left out offline" in " ".join(shown.split())


REFUSED = {
    "inside": lambda checkpoint, _: checkpoint / "pruned",
    "the checkpoint": lambda checkpoint, _: checkpoint,
    "around it": lambda checkpoint, _: checkpoint.parent,
    "not empty": lambda _, work: work,
    "a file": lambda _, work: work / "declarations.yaml",
    "no place": lambda _, __: "",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_folder_that_is_not_new_is_refused(
    checkpoint: Path, declarations: Path, tmp_path: Path, kind: str
) -> None:
    """Before anything is written."""
    place = REFUSED[kind](checkpoint, tmp_path)
    before = content(tmp_path), content(checkpoint)
    ran = run(
        "unclaimed", "--no-verify", checkpoint, "--declarations", declarations, "--prune-to", place
    )
    assert ran.code == 2
    assert len(ran.complaints) == 1
    assert (content(tmp_path), content(checkpoint)) == before


def test_a_wrong_uid_is_reported_and_nothing_is_pruned(
    checkpoint: Path, declarations: Path, tmp_path: Path
) -> None:
    """The undeclared operator may be the one that was misspelt."""

    def misspelt(each):
        return each | ({"uid": "buffers"} if each["uid"] == "buffer" else {})

    asked = *UNVERIFIED, checkpoint, "--declarations", changed(declarations, misspelt)
    ran = run(*asked)
    assert ran.code == 5
    assert any("buffers" in line and "did you mean buffer?" in line for line in ran.complaints)
    refused = run(*asked, "--prune-to", tmp_path / "pruned")
    assert refused.code == 2
    assert "'buffers' is declared and not in the checkpoint" in refused.err
    assert not (tmp_path / "pruned").exists()
    changed(declarations, lambda each: each | ({"new": True} if each["uid"] == "buffers" else {}))
    assert run(*asked, "--prune-to", tmp_path / "pruned").code == 5
    assert (tmp_path / "pruned" / "_metadata").is_file()


@pytest.mark.parametrize("command", ["declare", "unclaimed"])
@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda data: data[:4] + b"\0\0\0\x09" + data[8:], "version 9 is unknown"),
        (lambda data: data[:-1], "cannot decode"),
        (lambda _: None, "_metadata"),
    ],
    ids=["unknown version", "cut", "absent"],
)
def test_what_is_no_checkpoint_is_reported_and_nothing_is_written(
    checkpoint: Path, declarations: Path, tmp_path: Path, *, command: str, damage, complaint: str
) -> None:
    """One line, exit 1, neither a file nor a folder."""
    broken = tmp_path / "broken"
    broken.mkdir()
    if (data := damage((checkpoint / "_metadata").read_bytes())) is not None:
        (broken / "_metadata").write_bytes(data)
    new = tmp_path / "new"
    more = ("--out", new) if command == "declare" else ("--declarations", declarations)
    ran = run(command, broken, *more, *(("--prune-to", new) if command == "unclaimed" else ()))
    assert ran.code == 1
    assert len(ran.complaints) == 1
    assert complaint in ran.complaints[0]
    assert str(broken) in ran.complaints[0]
    assert not new.exists()


def test_a_wrong_declarations_file_is_reported_and_nothing_is_written(
    checkpoint: Path, declarations: Path, tmp_path: Path
) -> None:
    """Exit 2, before the checkpoint is looked at."""
    declarations.write_text("version: 1\noperatrs: []\n")
    new = tmp_path / "new"
    ran = run(
        "unclaimed", "--no-verify", checkpoint, "--declarations", declarations, "--prune-to", new
    )
    assert ran.code == 2
    assert "unknown key operatrs; did you mean operators?" in ran.err
    assert not new.exists()


def test_files_elsewhere_are_read_by_their_alias(tmp_path: Path) -> None:
    """A copied storage: state files are where the alias says."""
    newest, alias = cut_off(tmp_path)
    told = run("declare", newest, "--out", tmp_path / "with", "--alias", alias)
    untold = run("declare", newest, "--out", tmp_path / "without")
    names = (tmp_path / "with").read_text().count("type: ")
    assert names > (tmp_path / "without").read_text().count("type: ")
    assert (told.code, untold.code) == (0, 0)
    assert len(untold.complaints) >= len(told.complaints)
    wrong = run("declare", newest, "--out", tmp_path / "x", "--alias", "nonsense")
    assert wrong.code == 2
    assert not (tmp_path / "x").exists()


def cut_off(tmp_path: Path) -> tuple[Path, str]:
    """Return a checkpoint whose files are elsewhere, and the alias that says where."""
    storage = unpack("1.20.5/changelog", tmp_path)
    newest = max(
        storage.tree.glob("checkpoints/*/chk-*/_metadata"),
        key=lambda path: int(path.parent.name[4:]),
    ).parent
    return newest, f"{storage.truth['run_path']}={storage.tree}"


def test_where_names_cannot_be_read_nothing_is_said_to_be_claimed(tmp_path: Path) -> None:
    """Exit 4: a pipeline that may not read the files must not pass."""
    newest, alias = cut_off(tmp_path)
    declared = tmp_path / "declarations"
    assert run("declare", newest, "--out", declared, "--alias", alias).code == 0
    asked = *UNVERIFIED, newest, "--declarations", declared
    ran = run(*asked)
    assert (ran.code, ran.json["unclaimed"], ran.json["complete"]) == (4, [], False)
    assert "cannot be known" in ran.complaints[-1]
    ran = run(*asked, "--output", "table")
    assert ran.code == 4
    assert "no state is unclaimed as far as could be read" in " ".join(ran.out.split())
    assert run(*asked, "--ignore-unclaimed-state").code == 0
    changed(declared, lambda each: None if each["id"] == operator_id("buffer") else each)
    assert run(*asked).code == 5, "what is known to be unclaimed counts more"


def pruned_as(checkpoint: Path, declarations: Path, place: Path, change) -> Ran:
    asked = *UNVERIFIED, checkpoint, "--declarations", changed(declarations, change)
    return run(*asked, "--prune-to", place)


def of_state(name: str, **changes):
    """Change what is declared of a state, of whatever operator."""

    def change(operator):
        for field in {"keyed_states", "operator_states"} & set(operator):
            operator[field] = [
                each | (changes if each["id"] == name else {}) for each in operator[field]
            ]
        return operator

    return change


@pytest.mark.parametrize("name", ["seen-union", "rules-broadcast", "recent-map"])
def test_a_wrong_name_of_a_state_is_reported_and_nothing_is_pruned(
    checkpoint: Path, declarations: Path, tmp_path: Path, name: str
) -> None:
    """The undeclared state may be the one that was misspelt."""
    wrong, place = f"{name}x", tmp_path / "pruned"
    refused = pruned_as(checkpoint, declarations, place, of_state(name, id=wrong))
    assert refused.code == 2
    assert f"did you mean {name!r}?" in refused.err
    assert "nothing is written" in refused.err
    assert not place.exists()
    told = run(*UNVERIFIED, checkpoint, "--declarations", declarations)
    assert [(each["state"], each["nearest"]) for each in told.json["missing"]] == [(wrong, name)]
    assert any(wrong in line and f"did you mean {name}?" in line for line in told.complaints)
    meant = pruned_as(checkpoint, declarations, place, of_state(wrong, new=True))
    assert (meant.code, (place / "_metadata").is_file()) == (5, True)


@pytest.mark.parametrize("is_new", [False, True])
def test_nothing_is_pruned_while_an_operator_seems_replaced(
    checkpoint: Path, declarations: Path, tmp_path: Path, *, is_new: bool
) -> None:
    """Keyed state of another one under the uid; unless what is missing is stated new."""

    def other(each):
        if each["uid"] == "buffer":
            keyed = {"id": "other", "type": "value", "new": is_new}
            return {"uid": "buffer", "keyed_states": [keyed]}
        return each

    ran = pruned_as(checkpoint, declarations, tmp_path / "pruned", other)
    assert ran.code == (5 if is_new else 2)
    assert (tmp_path / "pruned").exists() is is_new
    assert is_new or "replaced under the same uid" in ran.err


def test_nothing_is_pruned_that_flink_will_refuse(
    checkpoint: Path, declarations: Path, tmp_path: Path
) -> None:
    """A state in another form than it is stored in."""
    change = of_state("seen-union", redistribution="split")
    refused = pruned_as(checkpoint, declarations, tmp_path / "pruned", change)
    assert refused.code == 2
    assert "stored as union and declared as split: Flink will refuse" in refused.err
    assert not (tmp_path / "pruned").exists()


def test_the_schema_of_the_file_is_printed() -> None:
    schema = run("config", "schema", "--of", "declarations").json
    assert schema["required"] == ["version", "operators"]


# --- are the files there?


def test_a_checkpoint_that_lacks_a_file_is_no_yes_and_nothing_is_pruned(
    whole: tuple[Path, str], tmp_path: Path
) -> None:
    """Flink cannot restore it, whatever is declared."""
    checkpoint, alias = whole
    declared = tmp_path / "declarations.yaml"
    assert run("declare", checkpoint, "--out", declared, "--alias", alias).code == 0
    asked = "unclaimed", checkpoint, "--declarations", declared, "--alias", alias
    ran = run(*asked)
    assert ran.code == 0, ran.err
    assert ran.json["verified"]["files"] > 3
    assert (ran.json["verified"]["damaged"], ran.json["verified"]["unseen"]) == ([], [])

    named = [Path(each["path"]).name for each in run("inspect", checkpoint).json["files"]]
    gone, short, *_ = (
        each for each in (checkpoint.parent / "shared").iterdir() if each.name in named
    )
    gone.unlink()
    short.write_bytes(short.read_bytes()[:-1])
    pruned = tmp_path / "pruned"
    for options in ((), ("--ignore-unclaimed-state", "--prune-to", pruned)):
        ran = run(*asked, *options)
        assert ran.code == 1
        problems = {Path(p["path"]).name: p["problem"] for p in ran.json["verified"]["damaged"]}
        assert problems.keys() == {gone.name, short.name}
        assert problems[gone.name] == "is missing"
        assert "instead of" in problems[short.name]
        assert sum(gone.name in line for line in ran.complaints) == 1
    assert not pruned.exists()

    ran = run("inspect", checkpoint, "--verify", "--alias", alias, "--output", "table")
    assert ran.code == 1
    assert any("is missing" in line for line in ran.complaints)
    assert run("inspect", checkpoint, "--alias", alias).code == 0


def test_unclaimed_state_has_its_exit_code_whatever_else_is_wrong(
    whole: tuple[Path, str], tmp_path: Path
) -> None:
    """A checkpoint copied without its files; if unclaimed state is accepted, they still lack."""
    checkpoint, alias = whole
    declared = tmp_path / "declarations.yaml"
    declared.write_text("version: 1\noperators: []\n")
    shutil.rmtree(checkpoint.parent / "shared")
    asked = "unclaimed", checkpoint, "--declarations", declared, "--alias", alias
    pruned = tmp_path / "pruned"
    for options, code in (((), 5), (("--ignore-unclaimed-state", "--prune-to", pruned), 1)):
        ran = run(*asked, *options)
        assert ran.code == code
        assert any("is missing" in line for line in ran.complaints)
    assert not pruned.exists()


@pytest.mark.parametrize("is_copied", [True, False])
def test_a_copied_checkpoint_names_the_option_that_says_where_its_files_are(
    whole: tuple[Path, str], tmp_path: Path, is_copied
) -> None:
    """Its paths are those of the original; of one that lacks a single file the option says none."""
    checkpoint, alias = whole
    declared = tmp_path / "declarations.yaml"
    declared.write_text("version: 1\noperators: []\n")
    asked = [checkpoint, "--declarations", declared]
    if not is_copied:
        names = [Path(each["path"]).name for each in run("inspect", checkpoint).json["files"]]
        shared = checkpoint.parent / "shared"
        next(each for each in shared.iterdir() if each.name in names).unlink()
        asked += ["--alias", alias]
    for command in ("unclaimed", "inspect"):
        options = asked if command == "unclaimed" else [checkpoint, "--verify", *asked[3:]]
        ran = run(command, *options)
        assert any("is missing" in line for line in ran.complaints)
        assert any("--alias FROM=TO" in line for line in ran.complaints) is is_copied


def test_files_in_another_store_are_not_known_to_be_there(whole: tuple[Path, str]) -> None:
    """A path in a checkpoint is untrusted: no other store is asked."""
    checkpoint, alias = whole
    source = alias.partition("=")[0]
    ran = run("inspect", checkpoint, "--verify", "--alias", f"{source}=s3://elsewhere/x")
    assert ran.code == 4
    assert ran.json["verified"]["unseen"]
    assert "--alias" in ran.json["verified"]["unseen"][0]["problem"]


# --- keyed state, offline


def keyed_entries(folder: Path, alias: str) -> dict[str, int]:
    """Return how many entries each keyed state has in a canonical savepoint, over all subtasks."""
    source, _, target = alias.partition("=")
    found: Counter[str] = Counter()
    for operator in read_metadata((folder / "_metadata").read_bytes()).operators:
        for subtask in operator.subtasks or ():
            handle = subtask.managed_keyed
            if handle is None:
                continue
            place = place_of(handle.delegate, str(folder))
            path = "" if isinstance(place, Inline) else place.path.replace(source, target)
            data = Path(path).read_bytes() if path else place.data
            snapshot = read_full_snapshot(data, handle.groups, groups=operator.max_parallelism)
            found.update({name: each.count for name, each in snapshot.entries().items()})
    return dict(found)


@pytest.mark.parametrize("release", ["1.15.4", "2.3.0"])
def test_a_canonical_savepoint_loses_one_keyed_state_and_no_entry_of_another(
    tmp_path: Path, release: str
) -> None:
    """Its new files are beside the new ``_metadata``."""
    savepoint, alias = canonical_savepoint(release, tmp_path)
    before = keyed_entries(savepoint, alias)
    gone = most_filled(before)
    declared, pruned = tmp_path / "declarations.yaml", tmp_path / "pruned"
    assert run("declare", savepoint, "--out", declared, "--alias", alias).code == 0
    without_state(declared, gone)
    asked = "unclaimed", savepoint, "--declarations", declared, "--alias", alias
    ran = run(*asked, "--prune-to", pruned, "--ignore-unclaimed-state")
    assert ran.code == 0, ran.err
    assert [each["is_prunable"] for each in ran.json["unclaimed"]] == [True]
    assert ran.json["pruned"]["not_prunable"] == []
    assert keyed_entries(pruned, alias) == before | {gone: 0}
    assert before[gone] > 0
    again = run("inspect", pruned, "--verify", "--alias", alias)
    assert again.code == 0, again.err


def canonical_savepoint(release: str, folder: Path) -> tuple[Path, str]:
    """Return one that a real Flink wrote, and the alias that leads to its files."""
    storage = unpack(f"{release}/savepoints", folder / "storage")
    folders = (storage.tree / "savepoints").iterdir()
    savepoint = next(each for each in folders if is_canonical(each))
    return savepoint, f"{storage.truth['run_path']}={storage.tree}"


def most_filled(entries: dict[str, int]) -> str:
    return max(entries, key=lambda name: entries[name] if "timer" not in name else 0)


def pruning_of_keyed_state(folder: Path) -> tuple[tuple[object, ...], Path]:
    """Return a command that prunes one keyed state, without its target, and the target."""
    savepoint, alias = canonical_savepoint("2.3.0", folder)
    declared = folder / "declarations.yaml"
    assert run("declare", savepoint, "--out", declared, "--alias", alias).code == 0
    without_state(declared, most_filled(keyed_entries(savepoint, alias)))
    asked = "unclaimed", savepoint, "--declarations", declared, "--alias", alias
    return (*asked, "--ignore-unclaimed-state"), folder / "pruned"


def is_canonical(folder: Path) -> bool:
    """Return whether a savepoint has Flink's unified format."""
    handles = [
        subtask.managed_keyed
        for operator in read_metadata((folder / "_metadata").read_bytes()).operators
        for subtask in operator.subtasks or ()
        if subtask.managed_keyed is not None
    ]
    return all(each.code == SAVEPOINT_CODE for each in handles)


FAILURES = ["second file", "metadata", "interrupted"]


@pytest.mark.parametrize("failing", FAILURES)
def test_a_failed_pruning_leaves_no_file_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """The new folder is empty again, so that the same command can be repeated."""
    asked, pruned = pruning_of_keyed_state(tmp_path)
    create, written = LocalStateFiles.create, []

    def fails(files: LocalStateFiles, name: str, data: bytes) -> bool:
        is_last = name == "_metadata"
        written.append(name)
        if failing == "second file" and len(written) == 2:
            create(files, name, data)  # written, and the answer is lost
            raise StorageUnreachableError("no space left")
        if failing == "metadata" and is_last:
            raise StorageUnreachableError("no space left")
        if failing == "interrupted" and is_last:
            raise KeyboardInterrupt
        return create(files, name, data)

    monkeypatch.setattr(LocalStateFiles, "create", fails)
    ran = run(*asked, "--prune-to", pruned)
    assert ran.code != 0
    assert len(written) > 1
    assert content(pruned) == {}
    monkeypatch.undo()
    assert run(*asked, "--prune-to", pruned).code == 0


def test_a_folder_that_another_process_fills_keeps_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what this run wrote is removed."""
    asked, pruned = pruning_of_keyed_state(tmp_path)
    create = LocalStateFiles.create

    def second(files: LocalStateFiles, name: str, data: bytes) -> bool:
        if name == "_metadata":
            create(files, name, b"of another")
        return create(files, name, data)

    monkeypatch.setattr(LocalStateFiles, "create", second)
    ran = run(*asked, "--prune-to", pruned)
    assert ran.code == 2, ran.err
    assert content(pruned) == {str(pruned / "_metadata"): b"of another"}


def test_a_metadata_file_whose_answer_is_lost_keeps_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there: without its files it would be a checkpoint that lacks some."""
    asked, pruned = pruning_of_keyed_state(tmp_path)
    create = LocalStateFiles.create

    def lost(files: LocalStateFiles, name: str, data: bytes) -> bool:
        made = create(files, name, data)
        if name == "_metadata":
            raise StorageUnreachableError("the connection was reset")
        return made

    monkeypatch.setattr(LocalStateFiles, "create", lost)
    ran = run(*asked, "--prune-to", pruned)
    assert ran.code == 0, ran.err
    assert len(content(pruned)) > 1


def said_of_keyed_state(folder: Path, checkpoint: Path, alias: str) -> str:
    """Return why ``recent-map`` cannot be pruned; it is not said to be prunable before."""
    declared = folder / "declarations.yaml"
    assert run("declare", checkpoint, "--out", declared, "--alias", alias).code == 0
    without_state(declared, "recent-map")
    asked = "unclaimed", checkpoint, "--declarations", declared, "--alias", alias
    assert [each["is_prunable"] for each in run(*asked).json["unclaimed"]] == [False]
    ran = run(*asked, "--prune-to", folder / "pruned")
    assert ran.json["pruned"]["left_out"] == 0
    (line,) = (each for each in ran.complaints if "stays in the pruned checkpoint" in each)
    return line


def test_the_heaps_own_snapshot_is_named_and_the_next_step(tmp_path: Path) -> None:
    """Only the serializers of its entries know where they end."""
    storage = unpack("2.3.0/hashmap", tmp_path / "storage")
    newest = max(storage.tree.glob("checkpoints/*/chk-*"), key=lambda path: int(path.name[4:]))
    said = said_of_keyed_state(tmp_path, newest, f"{storage.truth['run_path']}={storage.tree}")
    assert "it is the heap's own snapshot" in said
    assert "take a canonical savepoint" in said


def test_a_compressed_snapshot_is_named_and_the_next_step(tmp_path: Path) -> None:
    """The flag behind the version of its header says so."""
    savepoint, alias = canonical_savepoint("2.3.0", tmp_path)
    for each in savepoint.iterdir():
        data = bytearray(each.read_bytes())
        if data[:5] == b"\0\0\0\6\0":
            data[4] = 1
            each.write_bytes(data)
    said = said_of_keyed_state(tmp_path, savepoint, alias)
    assert "it is compressed" in said
    assert "without snapshot compression" in said


def test_unread_union_state_is_said_to_multiply(checkpoint: Path, declarations: Path) -> None:
    """Every subtask restores all partitions, and writes them again."""
    ran = run(*UNVERIFIED, checkpoint, "--declarations", without_state(declarations, "seen-union"))
    (entry,) = ran.json["unclaimed"]
    assert entry["partitions"] > 0
    expected = f"there are {entry['partitions'] * entry['parallelism']:,} at parallelism"
    assert sum(expected in line for line in ran.complaints) == 1
    other = run(
        *UNVERIFIED, checkpoint, "--declarations", without_state(declarations, "rules-broadcast")
    )
    assert sum("at parallelism" in line for line in other.complaints) == 1, "only of union state"


# --- how much each keyed state holds


@pytest.mark.parametrize("release", ["1.15.4", "2.3.0"])
def test_entries_and_bytes_of_each_keyed_state_are_counted(tmp_path: Path, release: str) -> None:
    """From the table files of RocksDB, and of a canonical savepoint by reading it."""
    storage = unpack(f"{release}/savepoints", tmp_path / "storage")
    alias = f"{storage.truth['run_path']}={storage.tree}"
    for savepoint in (storage.tree / "savepoints").iterdir():
        ran = run("inspect", savepoint, "--count-entries", "--alias", alias)
        assert ran.code == 0, ran.err
        counted = Counter[str]()
        for operator in ran.json["contents"]["operators"]:
            for state in operator["keyed_states"]:
                counted[state["name"]] += state["entries"]
                assert (state["bytes"] > 0) == (state["entries"] > 0)
        assert sum(each > 0 for each in counted.values()) > 3
        if is_canonical(savepoint):
            assert dict(counted) == keyed_entries(savepoint, alias)
        else:
            table = run("inspect", savepoint, "--count-entries", "--alias", alias, "--tree").out
            assert re.search(r"keyed \w+, [0-9,]+ entries", table)


def test_entries_that_cannot_be_counted_are_not_none(whole: tuple[Path, str]) -> None:
    """A table file is missing: nothing is said of the operator's states, and why."""
    checkpoint, alias = whole
    for each in (checkpoint.parent / "shared").iterdir():
        each.unlink()
    ran = run("inspect", checkpoint, "--count-entries", "--alias", alias)
    assert ran.code == 4
    assert any("is missing" in line for line in ran.complaints)
    states = [s for o in ran.json["contents"]["operators"] for s in o["keyed_states"] or ()]
    assert None in {each["entries"] for each in states}


ABSENT = {
    "memory://nothing-here/chk-1": "checkpoint {} cannot be read",
    "http://127.0.0.1:1/chk-1": "checkpoint {} cannot be read",
    "/nothing/here/chk-1": "there is no checkpoint: {} does not exist",
}


@pytest.mark.parametrize("place", ABSENT)
@pytest.mark.parametrize("command", ["inspect", "unclaimed", "declare", "against", "extract"])
def test_a_checkpoint_that_cannot_be_read_gives_an_error_in_any_store(
    checkpoint: Path, declarations: Path, tmp_path: Path, *, command: str, place: str
) -> None:
    """The words are about the checkpoint, and nothing is written.

    Of a server that does not answer that is 10, but for one of several that are inspected.
    """
    new = tmp_path / "new"
    asked: dict[str, tuple[object, ...]] = {
        "inspect": ("inspect", place),
        "unclaimed": ("unclaimed", place, "--declarations", declarations, "--prune-to", new),
        "declare": ("declare", place, "--out", new),
        "against": ("inspect", checkpoint, "--against", place),
        "extract": ("extract", place, "--operator", "a", "--state", "b", "--out", new),
    }
    ran = run(*asked[command])
    is_silent = place.startswith("http") and command != "inspect"
    assert ran.code == (10 if is_silent else 1), ran.err
    (line,) = ran.complaints
    assert ABSENT[place].format(place) in line
    assert "storage root" not in line
    assert not new.exists()


def test_a_target_that_cannot_be_written_is_no_unreachable_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 1, and the line is about the pruned checkpoint; the original was read."""
    asked, pruned = pruning_of_keyed_state(tmp_path)

    def fails(_: LocalStateFiles, name: str, __: bytes) -> bool:
        raise StorageUnreachableError(f"cannot create {name}: no space left")

    monkeypatch.setattr(LocalStateFiles, "create", fails)
    ran = run(*asked, "--prune-to", pruned)
    assert ran.code == 1
    assert f"the pruned checkpoint {pruned} cannot be written" in ran.complaints[-1]
    assert "no space left" in ran.complaints[-1]


@pytest.mark.parametrize("place", ["s3://bucket/x.yaml", "memory://x/y", "file:///tmp/x"])
def test_a_uri_is_no_local_file(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A folder named ``s3:`` would hold what its writer looks for in a bucket."""
    monkeypatch.chdir(tmp_path)
    more = "--operator", "buffer-uid", "--state", "buffer-list"
    for asked in (("declare", checkpoint), ("extract", checkpoint, *more)):
        ran = run(*asked, "--out", place)
        assert ran.code == 2, ran.err
        assert "a local path is needed" in ran.complaints[-1]
    assert list(tmp_path.iterdir()) == []


def test_another_serializer_is_a_warning_and_no_other_exit_code(
    checkpoint: Path, declarations: Path
) -> None:
    """Flink may migrate the state; a hint in words of another tool is not compared."""

    def other(word: str):
        def change(operator: dict) -> dict:
            for state in operator.get("keyed_states", ()):
                if state.get("serializer") == "LongSerializerSnapshot":
                    state["serializer"] = word
            return operator

        return change

    text = declarations.read_text()
    assert "serializer: LongSerializerSnapshot" in text
    changed(declarations, other("StringSerializerSnapshot"))
    ran = run(*UNVERIFIED, checkpoint, "--declarations", declarations)
    assert ran.code == 0
    assert ran.json["changed"] == []
    stated = {(each["stored"], each["declared"]) for each in ran.json["serializers"]}
    assert stated == {("LongSerializerSnapshot", "StringSerializerSnapshot")}
    assert "is stored by LongSerializerSnapshot" in ran.complaints[0]
    declarations.write_text(text)
    changed(declarations, other("pickle"))
    ran = run(*UNVERIFIED, checkpoint, "--declarations", declarations)
    assert (ran.code, ran.complaints, ran.json["serializers"]) == (0, [], [])


def test_a_pruned_keyed_state_keeps_its_name_and_the_way_on_is_said(tmp_path: Path) -> None:
    """The entries are gone, whose size is unknown; the name is reported again."""
    asked, pruned = pruning_of_keyed_state(tmp_path)
    ran = run(*asked, "--prune-to", pruned, "--output", "table")
    shown = " ".join(ran.out.split())
    assert "1 entry left out, of unknown size" in shown
    assert "0 bytes" not in shown
    (line,) = (each for each in ran.complaints if "keeps its name" in each)
    assert "--count-entries" in line
    assert "--ignore-unclaimed-state" in line
    again = "unclaimed", pruned, *asked[2:-1]
    assert run(*again).code == 5
    assert run(*again, "--ignore-unclaimed-state").code == 0


def test_a_misspelt_operator_to_rescale_has_a_hint(checkpoint: Path) -> None:
    """The nearest name comes before the list of all."""
    ran = run("inspect", checkpoint, "--rescale-to", "counterx=4")
    assert ran.code == 2
    assert "has no operator 'counterx'; did you mean 'counter'?" in ran.err


RULE = (
    "`ignore` drops a state only if declarations of that operator (by its id, uid or uid hash) were"
    " read and do not hold it; all other unclaimed state is reported and kept."
)


def test_documents_and_help_say_one_rule_of_ignore() -> None:
    """In the same words; no option of the plugin has an older one."""
    root = Path(__file__).parents[2]
    pages = [root / name for name in ("gc/DEPLOYING.md", "deploy/flink-plugin/README.md")]
    said = [*(each.read_text() for each in pages), run("declare", "--help").out]
    for text in said:
        assert RULE in " ".join(text.replace("\u2502", " ").split()), text[:80]
