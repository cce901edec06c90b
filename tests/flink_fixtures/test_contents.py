"""What the checkpoints of 119 storages hold, by Flink's own reading of each."""

import gzip
import json
import tarfile
from functools import cache
from typing import Any

from flink_fixtures.unpacked import ARCHIVE, BY_RELEASE, NAMES
from flinkstate.files.read_contents import contents_of
from flinkstate.metadata.reader import read_metadata
from flinkstate.state.contents import OperatorContents
from flinkstate.state.file_use import expected_files
from flinkstate.values.metadata_values import Metadata
from support.grouped import for_each

TIMERS = {
    "_timer_state/processing_user-timers": "timers",
    "_timer_state/event_user-timers": "timers",
}
MAPPED = {"last-value": "value", "recent-map": "map"}
COUNTER = "0da08f51eaa85fc298e176a139b3649a"
ENRICH = "9c32e3838cee893dbb2fc90ccad79598"
ASYNC = "4d9849e5c2080ced3789ee06a84f0dcb"
KEYED = {
    COUNTER: {"count": "value", "tail-list": "list"} | TIMERS,
    ENRICH: MAPPED | {"first-seen": "value"} | TIMERS,
    ASYNC: MAPPED,
}
"""The keyed states that the storages' job registers, by operator."""


@cache
def every_states() -> dict[str, Any]:
    return json.loads(gzip.decompress((ARCHIVE / "states.json.gz").read_bytes()))


def operator_states(contents: OperatorContents) -> dict[str, dict[str, Any]]:
    """Return names, modes and offsets by subtask, as Flink's getters tell them."""
    told: dict[str, dict[str, Any]] = {}
    for state in contents.operator_states:
        for share in state.shares:
            of_subtask = told.setdefault(str(share.subtask), {})
            of_subtask[state.name] = [state.mode.name, list(share.offsets)]
    return told


def key_groups(contents: OperatorContents) -> dict[str, list[int]]:
    return {
        str(each.subtask): [each.groups.first, each.groups.first + each.groups.count - 1]
        for each in contents.key_groups
    }


def keyed_states(contents: OperatorContents) -> dict[str, str]:
    return {each.name: each.kind.value for each in contents.keyed_states or ()}


class Tree:
    """A packed storage without its shared files, which hold no names; nothing is unpacked."""

    def __init__(self, name: str) -> None:
        folder = ARCHIVE / name
        self.truth = json.loads(gzip.decompress((folder / "truth.json.gz").read_bytes()))
        with tarfile.open(folder / "tree.tar.xz") as packed:
            files = {each.name.removeprefix("tree/"): each for each in packed if each.isfile()}
            self.sizes = {key: each.size for key, each in files.items()}
            self.files = {
                key: packed.extractfile(each).read()
                for key, each in files.items()
                if "/shared/" not in key
            }

    def place(self, key: str) -> str:
        """Return where the job saw a file."""
        return f"{self.truth['run_path']}/{key}"

    def key(self, path: str) -> str:
        """Return the key of a file by the path that the job knew."""
        return path.removeprefix(self.place(""))

    def part(self, path: str, *, start: int, size: int) -> bytes | None:
        data = self.files.get(self.key(path))
        return None if data is None else data[start : start + size]


@for_each("name", BY_RELEASE)
def test_states_are_those_that_flink_reads(name) -> None:
    """Operator states to the last offset; keyed ones wherever their files are there."""
    tree = Tree(name)
    missing = {each["dir"]: each["missing"] for each in tree.truth["checkpoints"]}
    for truth in every_states()[name]:
        folder = truth["metadata"].rpartition("/")[0]
        metadata = read_metadata(tree.files[truth["metadata"]])
        assert_only_absent_files_are_wrong(tree, metadata, folder, set(missing[folder]))
        contents = contents_of(metadata, directory=tree.place(folder), read=tree.part)
        assert contents.checkpoint_id == truth["checkpoint_id"]
        by_id = {each["id"]: each for each in truth["operators"]}
        assert len(by_id) == len(contents.operators)
        for found in contents.operators:
            expected = by_id[found.id]
            named = {k: v for k, v in expected["operator_states"].items() if v}
            assert operator_states(found) == named
            assert key_groups(found) == expected["key_groups"]
            assert found.coordinator_bytes == expected["coordinator_bytes"]
            assert all(state.bytes is not None for state in found.operator_states)
            has_keyed = bool(expected["key_groups"])
            is_whole = found.keyed_unknown is None
            assert is_whole or missing[folder], found.keyed_unknown
            if has_keyed and is_whole:
                assert keyed_states(found) == KEYED[found.id]
            assert keyed_states(found).items() <= KEYED.get(found.id, {}).items()


def assert_only_absent_files_are_wrong(
    tree: Tree, metadata: Metadata, folder: str, missing: set[str]
) -> None:
    """``inspect --verify`` finds the files that Flink does not find, and no other fault."""
    wrong = {
        tree.key(each.path): problem
        for each in expected_files(metadata, directory=tree.place(folder))
        if (problem := each.problem(tree.sizes.get(tree.key(each.path))))
    }
    assert wrong == dict.fromkeys(missing, "is missing")


def test_every_storage_has_its_states() -> None:
    """As many checkpoints as Flink read."""
    assert sorted(every_states()) == NAMES
    assert sum(map(len, every_states().values())) == 502
