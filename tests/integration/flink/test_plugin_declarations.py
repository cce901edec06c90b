"""The plugin reads declarations as strictly as the command line, each time anew, and what cannot be
read, or does not name the operator, condemns no state.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from flinkstate.operator_ids import operator_id
from integration.harness.flinkbed.fixtures import NEWEST, require_flink
from integration.harness.flinkbed.plugin import run_probe
from unit.flinkstate.commands.test_declarations_file import EXAMPLE, WRONG

PROBE = Path(__file__).parents[1] / "harness" / "flinkbed" / "java" / "DeclarationsProbe.java"

pytestmark = pytest.mark.flink

KEPT = "version: 1\noperators: [{uid: a, keyed_states: [{id: kept, type: map}]}]\n"
OTHERS = "version: 1\noperators: [{uid: b}]\n"
HASH = "f" * 32
HASHED = f"version: 1\noperators: [{{uid_hash: {HASH}, keyed_states: [{{id: kept, type: map}}]}}]\n"
MOVED = (
    f"version: 1\noperators: [{{uid: b, id: {HASH}, keyed_states: [{{id: kept, type: map}}]}}]\n"
)
BOTH = (
    "version: 1\noperators:\n- {uid: a, keyed_states: [{id: kept, type: map}]}\n"
    f"- {{id: {HASH}, keyed_states: [{{id: left, type: map}}]}}\n"
)
FOUND_BY_ATTACK = {
    "an alias of states": (
        "version: 1\noperators:\n- {uid: b, keyed_states: &ks [{id: kept, type: map}]}\n"
        "- {uid: a, keyed_states: *ks}\n"
    ),
    "a merge": "version: 1\noperators:\n- &b {uid: b}\n- {<<: *b, uid: a}\n",
    "a merge without an alias": "version: 1\noperators: [{<<: {uid: a}}]\n",
    "an id in capitals": "version: 1\noperators: [{id: 717C7B8AFEBBFB7137F6F0F99BEB2A94}]\n",
    "a uid twice": "version: 1\noperators: [{uid: a}, {uid: a}]\n",
    "a version that is text": 'version: "1"\noperators: []\n',
    "a key in camel case": "version: 1\noperators: [{uid: a, keyedStates: []}]\n",
    "a uid that is no text": "version: 1\noperators: [{uid: no}]\n",
    "two documents": "version: 1\noperators: []\n---\nversion: 1\noperators: []\n",
    "a flag that is text": "version: 1\noperators: [{uid: a, coordinator: 'true'}]\n",
}
REFUSED = {name: text for name, (text, _) in WRONG.items()} | FOUND_BY_ATTACK
READ = {
    "kept": KEPT,
    "example": EXAMPLE,
    "others": OTHERS,
    "hashed": HASHED,
    "moved": MOVED,
    "both": BOTH,
}


@dataclass(frozen=True, slots=True)
class Probed:
    """What the plugin made of the files, by their names."""

    read: Mapping[str, str]
    verdicts: Mapping[str, list[str]]
    again: str


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Probed:
    """One JVM for all files; at its end ``changed`` holds what ``kept`` holds."""
    require_flink(NEWEST)
    folder = tmp_path_factory.mktemp("declared-")
    texts = READ | REFUSED | {"changed": OTHERS}
    files = {folder / f"{position}": name for position, name in enumerate(texts)}
    for path, name in files.items():
        path.write_text(texts[name])
    files = {**files, folder / "absent": "absent", folder / "none": "none"}
    last = next(path for path, name in files.items() if name == "changed")
    order = [*(path for path in files if path != last), last]
    said = [line.split("\t", 2) for line in run_probe(NEWEST, PROBE, *order).splitlines()]
    names = {str(path): name for path, name in files.items()}
    verdicts: dict[str, list[str]] = {}
    for what, path, found in said:
        if what == "verdict":
            verdicts.setdefault(names[path], []).append(found)
    (again,) = (found for what, _, found in said if what == "again")
    read = {names[path]: found for what, path, found in said if what == "read"}
    return Probed(read, verdicts, again)


def does(probed: Probed, name: str) -> dict[str, str]:
    words = (found.partition("\t")[0].split(" ", 1) for found in probed.verdicts[name])
    return dict(words)


@pytest.mark.parametrize("name", [*REFUSED, "absent"])
def test_what_the_command_line_refuses_condemns_nothing(probed: Probed, name: str) -> None:
    """The policy ``fail`` fails and names the file; nothing is dropped."""
    assert probed.read[name].startswith("refused orphangc.declarations: cannot read file:")
    assert does(probed, name) == {
        "report": "reports []",
        "fail": "fails []",
        "ignore": "reports []",
    }
    assert all(
        "cannot read file:" in found
        for found in probed.verdicts[name]
        if not found.startswith("report")
    )


def test_what_the_command_line_reads_is_read_alike(probed: Probed) -> None:
    """Ids, uids, uid hashes, coordinators and names."""
    of_a, of_b = operator_id("a"), operator_id("b")
    assert probed.read["kept"] == f"ok [{of_a}] a false [left][kept, left]"
    assert probed.read["others"] == f"ok [{of_b}] b false [kept, left][kept, left]"
    assert probed.read["hashed"] == f"ok [{HASH}] - false [left][kept, left]"
    assert probed.read["moved"] == f"ok [{of_b}] b false [left][kept, left]"
    ledger = "[c813a8a9e8f9c0aa40c67f3aee4d5b3c] ledger false [kept, left][kept, left]"
    source = "[717c7b8afebbfb7137f6f0f99beb2a94] - true [kept, left][kept, left]"
    assert probed.read["example"] == f"ok {ledger} {source}"


@pytest.mark.parametrize("name", ["kept", "hashed"])
def test_declarations_of_the_operator_count_by_either_id(probed: Probed, name: str) -> None:
    """Only what they do not hold is refused or dropped."""
    assert does(probed, name) == {
        "report": "reports [left]",
        "fail": "fails [left]",
        "ignore": "drops [left]",
    }


def test_a_state_that_is_declared_under_one_of_both_ids_stays(probed: Probed) -> None:
    """Which of two declarations is the operator's is not known."""
    assert does(probed, "both") == {
        "report": "reports []",
        "fail": "reports []",
        "ignore": "reports []",
    }


@pytest.mark.parametrize("name", ["none", "others", "moved"])
def test_without_declarations_of_the_operator_nothing_is_dropped(probed: Probed, name: str) -> None:
    """Windows and triggers register state with a record; it says which option is missing."""
    found = does(probed, name)
    assert [found["fail"], found["ignore"]] == ["fails [kept, left]", "reports [kept, left]"]
    (said,) = (each for each in probed.verdicts[name] if each.startswith("ignore"))
    words = "is not set" if name == "none" else "does not name the operator"
    assert f"orphangc.declarations {words}" in said


def test_a_file_that_changes_in_place_is_read_anew(probed: Probed) -> None:
    """A TaskManager outlives the versions of a job."""
    assert probed.read["changed"] == probed.read["others"]
    assert probed.again == probed.read["kept"]
