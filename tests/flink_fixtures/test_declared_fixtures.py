"""Declared from a real checkpoint, nothing of it is unclaimed; with one declaration less, one is.

The storages of ``test_fixtures``; the newest checkpoint of each job and every savepoint.
"""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

import pytest

from flink_fixtures.unpacked import ARCHIVE, BY_RELEASE, NAMES, Storage
from flinkstate.compatibility.comparison import DeclarationComparison, FindingKind
from flinkstate.compatibility.declarations import Declarations, OperatorDeclaration
from flinkstate.compatibility.find_unclaimed import compared, stateful_operators
from flinkstate.compatibility.infer import implied_by, undeclarable
from flinkstate.compatibility.prune import pruned_bytes
from flinkstate.files.read_contents import contents_of
from flinkstate.metadata.reader import read_metadata
from flinkstate.metadata.references import read_references
from flinkstate.operator_ids import operator_id
from flinkstate.state.contents import CheckpointContents
from flinkstate.state.referenced_files import directories_of, files_of
from flinkstate.values.metadata_values import Metadata
from support.grouped import for_each

UIDS = ("numbers", "rules-throttle", "counter", "throttle", "rules", "sink", "buffer", "enrich")


@dataclass(frozen=True)
class Stored:
    """One checkpoint or savepoint of a storage."""

    directory: str
    metadata: Metadata
    contents: CheckpointContents

    def against(self, declared: Declarations) -> DeclarationComparison:
        return compared(self.contents, declared, stateful=stateful_operators(self.metadata))


@lru_cache(maxsize=8)
def stored(name: str) -> tuple[Stored, ...]:
    """Return the newest checkpoint of each job, and every savepoint; nothing touches the disk."""
    with tarfile.open(ARCHIVE / name / "tree.tar.xz") as packed:
        files = {each.name: packed.extractfile(each).read() for each in packed if each.isfile()}
    run_path = Storage(name, ARCHIVE).truth["run_path"]

    def part(path: str, *, start: int, size: int) -> bytes | None:
        data = files.get(path.replace(run_path, "tree", 1))
        return None if data is None else data[start : start + size]

    newest = {}
    for path in sorted(files, key=_age):
        if path.endswith("/_metadata"):
            folder = PurePosixPath(path).parent
            newest[folder if folder.name.startswith("savepoint") else folder.parent] = folder
    return tuple(_stored(str(each), files[f"{each}/_metadata"], part) for each in newest.values())


def _age(path: str) -> int:
    name = PurePosixPath(path).parent.name
    return int(name.removeprefix("chk-")) if name.startswith("chk-") else 0


def _stored(directory: str, data: bytes, part) -> Stored:
    metadata = read_metadata(data)
    return Stored(directory, metadata, contents_of(metadata, directory=directory, read=part))


def less(
    declared: Declarations,
) -> Iterator[tuple[tuple[FindingKind, str, str | None], Declarations]]:
    """Yield the declarations with one thing less each time, and what is missing then."""
    for place, each in enumerate(declared.operators):
        before, after = declared.operators[:place], declared.operators[place + 1 :]
        id_ = each.operator_id
        yield (FindingKind.OPERATOR, id_, None), Declarations(version=1, operators=before + after)
        for missing, changed in _less_of(each):
            kept = Declarations(version=1, operators=(*before, changed, *after))
            yield (missing[0], id_, missing[1]), kept


def _less_of(
    each: OperatorDeclaration,
) -> Iterator[tuple[tuple[FindingKind, str | None], OperatorDeclaration]]:
    for kind, field in (
        (FindingKind.OPERATOR_STATE, "operator_states"),
        (FindingKind.KEYED_STATE, "keyed_states"),
    ):
        states = getattr(each, field)
        for place, state in enumerate(states):
            left = states[:place] + states[place + 1 :]
            yield (kind, state.id), each.model_copy(update={field: left})
    if each.coordinator:
        yield (FindingKind.COORDINATOR_STATE, None), each.model_copy(update={"coordinator": False})


@for_each("name", BY_RELEASE)
def test_exactly_what_is_not_declared_is_unclaimed(name: str) -> None:
    """Nothing of what ``declare`` wrote; of anything less, just that; and it can be left out."""
    for each in stored(name):
        declared = implied_by(each.contents)
        found = each.against(declared)
        assert (found.unclaimed, found.changed, found.replaced, found.absent) == ((), (), (), ())
        assert len(declared.operators) == len(each.metadata.operators)
        is_told = [undeclarable(operator) for operator in each.contents.operators]
        assert found.is_complete or any(is_told)
        assert found.missing == ()
        stateful = stateful_operators(each.metadata)
        for (kind, id_, state), kept in less(declared):
            found = each.against(kept)
            expected = (
                [] if kind is FindingKind.OPERATOR and id_ not in stateful else [(kind, id_, state)]
            )
            assert [(u.kind, u.operator.id, u.state) for u in found.unclaimed] == expected
        _check_pruned(each, found)


def _check_pruned(each: Stored, found: DeclarationComparison) -> None:
    """Make sure that the last of these can be written, and refers to nothing new."""
    references = read_references(pruned_bytes(each.metadata, found, directory=each.directory))
    files = {file.path for file in files_of(each.metadata, directory=each.directory)}
    assert files.issuperset(references.paths)
    assert set(directories_of(each.metadata)).issuperset(references.directories)


@pytest.mark.parametrize("release", sorted({name.partition("/")[0] for name in NAMES}))
def test_the_ids_are_those_of_the_jobs_uids(release: str) -> None:
    """Before Flink 2.0 a checkpoint has ids alone; the job is the same in every release."""
    (newest, *_) = stored(f"{release}/healthy")
    known = {operator_id(uid): uid for uid in UIDS}
    assert {each.id for each in newest.metadata.operators} == set(known)
    named = [(each.uid, known[each.id]) for each in newest.metadata.operators if each.uid]
    assert all(uid == expected for uid, expected in named)


def test_one_file_of_declarations_fits_checkpoints_of_every_release() -> None:
    """Declared by uid, from the newest, which alone tells it."""
    (newest, *_) = stored("2.3.0/healthy")
    declared = implied_by(newest.contents)
    assert all(each.uid is not None for each in declared.operators)
    for release in sorted({name.partition("/")[0] for name in NAMES}):
        for each in stored(f"{release}/healthy"):
            found = each.against(declared)
            assert found.is_clean, release
            assert not found.absent
