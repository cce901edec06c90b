"""Whose files a savepoint shares: another root never frees one (R42)."""

import uuid

from hypothesis import given, settings
from hypothesis import strategies as st

from flinkstate.places.locations import canonical
from orphangc.collect.expire.savepoint_folders import named_by_others
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.evidence import Checkpoint

NAMES = [str(uuid.UUID(int=number << 64 | number)) for number in range(1, 6)]
PLACES = ["s3://b/sp/savepoint-aaaaaa-000000000001", "s3://b/sp/savepoint-aaaaaa-000000000002"]


def a_root(place: str, files: dict[str, set[str]], raw: set[str] = frozenset()) -> Checkpoint:
    """Return a checkpoint or savepoint that names files by folder."""
    return Checkpoint(
        folder=canonical(place),
        directory=None,
        job_id="",
        checkpoint_id=1,
        format_version=4,
        is_savepoint=None,
        modified_at=None,
        sha256="",
        files={canonical(folder): FileNames(names) for folder, names in files.items() if names},
        raw=UuidSet(uuid.UUID(each).bytes for each in raw),
    )


some = st.sets(st.sampled_from(NAMES), max_size=3)
savepoints = st.tuples(some, some).map(
    lambda own: [a_root(place, {place: names}) for place, names in zip(PLACES, own, strict=True)]
)
others = st.lists(
    st.builds(
        lambda folder, names, raw: a_root("s3://b/cp/job/chk-1", {folder: names}, raw),
        st.sampled_from([*PLACES, "s3://b/cp/job/shared"]),
        some,
        some,
    ),
    max_size=3,
)


def kept(own: list[Checkpoint], rest: list[Checkpoint]) -> set[str]:
    """Return the savepoints that stay as another root names a file of them."""
    return {str(folder) for folder, _ in named_by_others(own, [*own, *rest])}


@settings(max_examples=60, deadline=None)
@given(savepoints, others, others)
def test_one_more_root_never_frees_a_savepoint(own, rest, more) -> None:
    assert kept(own, rest) <= kept(own, [*rest, *more])


@settings(max_examples=60, deadline=None)
@given(savepoints, others)
def test_what_no_other_root_names_by_any_oracle_may_go_and_nothing_else(own, rest) -> None:
    """By path, name or UUID; two savepoints that share a file keep each other."""
    for each in own:
        names = {name for part in each.files.values() for name in part}
        beside = [one for one in own if one is not each] + rest
        named = {name for one in beside for part in one.files.values() for name in part}
        raw = {str(uuid.UUID(bytes=bytes(one))) for root in rest for one in root.raw}
        inside = any(each.folder.contains(place) for one in rest for place in one.files)
        assert (str(each.folder) in kept(own, rest)) is (inside or bool(names & (named | raw)))
