"""What is not in the listing is added up by job and area, and never by guessing."""

import pickle
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.collect.mark.hidden_sums import HiddenSums, extras_part, markers_in
from orphangc.core.documents.plan import ExtrasPart, ExtraStatus, HiddenPart
from orphangc.core.model.naming import place_of_folder
from orphangc.core.model.types import Scope
from orphangc.errors import NotReportedError, StorageUnreachableError
from orphangc.ports import HIDDEN_SCHEMA, LISTING_SCHEMA, HiddenKind
from support.builders import JOB, NAME, OTHER_JOB, T0


def hidden(*rows: tuple[HiddenKind, str, int | None]) -> pa.RecordBatch:
    found = [{"kind": kind, "key": key, "size": size, "at": T0} for kind, key, size in rows]
    return pa.RecordBatch.from_pylist(found, schema=HIDDEN_SCHEMA)


def listing(*rows: tuple[str, int | None]) -> pa.RecordBatch:
    found = [{"key": k, "size": size, "modified_at": T0, "etag": None} for k, size in rows]
    return pa.RecordBatch.from_pylist(found, schema=LISTING_SCHEMA)


class Told:
    """Tells what it was given, batch by batch, or raises where an error stands."""

    def __init__(self, uploads: list = (), versions: list = ()) -> None:
        self._uploads, self._versions = uploads, versions
        self.asked: list[str] = []

    def uploads(self) -> Iterator[pa.RecordBatch]:
        self.asked.append("uploads")
        yield from map(given_or_raised, self._uploads)

    def versions(self) -> Iterator[pa.RecordBatch]:
        self.asked.append("versions")
        yield from map(given_or_raised, self._versions)


def given_or_raised(each: pa.RecordBatch | Exception) -> pa.RecordBatch:
    if isinstance(each, Exception):
        raise each
    return each


UPLOADS = hidden(
    (HiddenKind.UPLOAD, f"{JOB}/shared/{NAME}", 10),
    (HiddenKind.UPLOAD, f"{JOB}/shared/{NAME}", None),
    (HiddenKind.UPLOAD, f"{JOB}/chk-7/_metadata", 1),
)
VERSIONS = hidden(
    (HiddenKind.NONCURRENT, f"{JOB}/shared/{NAME}", 100),
    (HiddenKind.NONCURRENT, f"{JOB}/shared/{NAME}", 1000),
    (HiddenKind.DELETE_MARKER, f"{OTHER_JOB}/taskowned/{NAME}", 0),
)


def part_of(told: Told, *, with_versions: bool = True) -> ExtrasPart:
    markers = HiddenSums("checkpoints")
    markers.add(markers_in(listing((f"{JOB}/shared/", 0))))
    found = extras_part(told, markers, with_versions=with_versions)
    assert found is not None
    return found


def test_every_kind_is_told_by_job_and_area() -> None:
    """One part for each area that has anything, a number for each kind."""
    told = part_of(Told([UPLOADS], [VERSIONS]))
    assert (told.uploads, told.versions, told.problems) == ("counted", "counted", ())
    nothing = {
        "uploads": 0,
        "upload_bytes": 0,
        "uploads_of_unknown_size": 0,
        "oldest_upload_at": None,
        "noncurrent_versions": 0,
        "noncurrent_bytes": 0,
        "delete_markers": 0,
        "directory_markers": 0,
    }
    shared = {
        "uploads": 2,
        "upload_bytes": 10,
        "uploads_of_unknown_size": 1,
        "oldest_upload_at": T0,
        "noncurrent_versions": 2,
        "noncurrent_bytes": 1100,
        "directory_markers": 1,
    }
    exclusive = {"uploads": 1, "upload_bytes": 1, "oldest_upload_at": T0}
    assert told.areas == (
        HiddenPart(scope=Scope.EXCLUSIVE, job_id=JOB, **{**nothing, **exclusive}),
        HiddenPart(scope=Scope.SHARED, job_id=JOB, **{**nothing, **shared}),
        HiddenPart(scope=Scope.TASKOWNED, job_id=OTHER_JOB, **{**nothing, "delete_markers": 1}),
    )


def test_uploads_that_nothing_completes_are_counted_among_all() -> None:
    """R50: and shown beside them; none is aborted."""
    markers = HiddenSums("checkpoints")
    found = extras_part(
        Told([UPLOADS], []), markers, with_versions=False, is_dead=lambda key, _: "chk-" in key
    )
    counts = {each.scope: (each.uploads, each.dead_uploads) for each in found.areas}
    assert counts == {Scope.EXCLUSIVE: (1, 1), Scope.SHARED: (2, 0)}
    assert {each.dead_upload_bytes for each in found.areas} == {0, 1}


def test_versions_are_asked_for_only_if_the_operator_wants_a_second_listing() -> None:
    """And are unknown then, not zero."""
    told = Told([UPLOADS], [VERSIONS])
    part = part_of(told, with_versions=False)
    assert told.asked == ["uploads"]
    assert part.versions is ExtraStatus.NOT_ASKED
    assert {area.noncurrent_versions for area in part.areas} == {None}
    assert {area.delete_markers for area in part.areas} == {None}


FAILURES = {
    ExtraStatus.FORBIDDEN: NotReportedError("AccessDenied", is_forbidden=True),
    ExtraStatus.NOT_TOLD: NotReportedError("NotImplemented", is_forbidden=False),
    ExtraStatus.FAILED: StorageUnreachableError("cannot list s3://b: timed out"),
}


@pytest.mark.parametrize("status", FAILURES)
def test_what_could_not_be_counted_to_the_end_is_unknown(status: ExtraStatus) -> None:
    """Also after a first page: a part is never shown as all, and the rest still is."""
    part = part_of(Told([UPLOADS, FAILURES[status]], [VERSIONS]))
    assert (part.uploads, part.versions) == (status, ExtraStatus.COUNTED)
    assert {(a.uploads, a.upload_bytes, a.oldest_upload_at) for a in part.areas} == {
        (None, None, None)
    }
    assert [area.noncurrent_bytes for area in part.areas] == [1100, 0]
    assert part.problems == (("cannot list s3://b: timed out",) if status == "failed" else ())


def test_where_nobody_can_be_asked_nothing_is_told() -> None:
    """A local folder has no uploads; the plan says so by saying nothing."""
    assert extras_part(None, HiddenSums(""), with_versions=True) is None


def test_a_directory_marker_is_an_empty_object_named_like_a_folder() -> None:
    """Not a folder of a store that has real ones, and not a file that happens to be empty."""
    batch = listing(
        *(("a/", 0), ("a/b/", 0), ("c_$folder$", 0)),
        *(("folder/", None), ("full/", 7), ("empty", 0), ("_$folder$x", 0)),
    )
    found = markers_in(batch)
    assert found.schema.equals(HIDDEN_SCHEMA)
    assert found["key"].to_pylist() == ["a/", "a/b/", "c_$folder$"]


keys = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", f"{JOB}/", f"x/{JOB}/", "other/", "/", "//"]),
    st.sampled_from(["shared/", "taskowned/", "chk-3/", "shared/op_x/", "", "new\nline/", "é/"]),
    st.sampled_from([NAME, "_metadata", "", "x", "a\nb"]),
)
things = st.lists(
    st.tuples(st.sampled_from(HiddenKind), keys, st.none() | st.integers(0, 2**40)), max_size=30
)


@given(things, st.integers(1, 7), st.booleans())
def test_sums_are_those_of_a_plain_count(rows: list, size: int, is_pickled: bool) -> None:  # noqa: FBT001
    """However the rows are cut into batches, and whichever worker counted them."""
    workers = [HiddenSums(JOB), HiddenSums(JOB)]
    for start in range(0, len(rows), size):
        workers[start % 2].add(hidden(*rows[start : start + size]))
    if is_pickled:
        workers = pickle.loads(pickle.dumps(workers))
    numbers, sizes = Counter(), Counter()
    for kind, key, bytes_ in rows:
        place = place_of_folder(key.rpartition("/")[0], JOB)
        numbers[place.scope, place.job_id, kind] += 1
        sizes[place.scope, place.job_id, kind] += bytes_ or 0
    parts = HiddenSums(JOB).together(workers).parts()
    found = {(part.scope, part.job_id): part for part in parts}
    assert set(found) == {owner[:2] for owner in numbers}
    for (scope, job_id), part in found.items():
        assert part.uploads == numbers[scope, job_id, HiddenKind.UPLOAD]
        assert part.upload_bytes == sizes[scope, job_id, HiddenKind.UPLOAD]
        assert part.noncurrent_versions == numbers[scope, job_id, HiddenKind.NONCURRENT]
        assert part.noncurrent_bytes == sizes[scope, job_id, HiddenKind.NONCURRENT]
        assert part.delete_markers == numbers[scope, job_id, HiddenKind.DELETE_MARKER]
        assert part.directory_markers == numbers[scope, job_id, HiddenKind.DIRECTORY_MARKER]


def test_the_oldest_upload_is_the_oldest_of_all_batches() -> None:
    """One without a time does not hide the others."""
    times = [None, T0, T0 - timedelta(days=3), datetime(2026, 11, 21, tzinfo=UTC)]
    sums = HiddenSums("")
    for at in times:
        row = {"kind": HiddenKind.UPLOAD, "key": f"{JOB}/shared/x", "size": 1, "at": at}
        sums.add(pa.RecordBatch.from_pylist([row], schema=HIDDEN_SCHEMA))
    (part,) = sums.parts()
    assert part.oldest_upload_at == T0 - timedelta(days=3)
