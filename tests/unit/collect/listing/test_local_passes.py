"""The passes over a listing: what many workers find together is what one finds alone."""

from dataclasses import dataclass, field
from itertools import pairwise
from types import SimpleNamespace
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.collect.mark.missing import (
    Expected,
    expected_of,
    missing_of,
    missing_outside,
    wanted_of,
)
from orphangc.collect.mark.pins import PinnedPass
from orphangc.collect.mark.survey import Surveyed, SurveyPass
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.listing_columns import Recogniser
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.marked_listing import WholeMarking, marked_rows
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.model.naming import Owners
from orphangc.errors import StorageUnreachableError
from orphangc.ports import LISTING_SCHEMA
from support.builders import BASE, JOB, a_job, a_root

OTHER = "b" * 32
UUIDS = [f"{n:08x}-0000-4000-8000-{n:012x}" for n in range(12)]
FOLDERS = [f"{JOB}/shared/", f"{OTHER}/shared/", f"{JOB}/chk-7/", f"{JOB}/shared/op_1/", ""]
keys = st.builds(
    lambda folder, head, name: folder + head + name,
    st.sampled_from(FOLDERS),
    st.sampled_from(["", "41_", "x"]),
    st.sampled_from([*UUIDS, "_metadata", "odd"]),
)


def packed(*texts: str) -> UuidSet:
    return UuidSet(bytes.fromhex(text.replace("-", "")) for text in texts)


def a_batch(listed: list[str], *, folders: tuple[str, ...] = ()) -> pa.RecordBatch:
    rows = [
        {"key": key, "size": len(key) << 40, "modified_at": None if n % 3 == 0 else n}
        for n, key in enumerate(listed)
    ]
    rows += [{"key": f"{folder}/", "size": None, "modified_at": None} for folder in folders]
    return pa.RecordBatch.from_pylist(rows, schema=LISTING_SCHEMA)


@dataclass
class FakeEngine:
    """Passes over batches, each by a worker of its own."""

    batches: list[pa.RecordBatch]
    live: LiveSet = field(default_factory=LiveSet)

    def run(self, work, _progress=None):
        found = []
        for batch in self.batches:
            each = work.begin()
            marking = WholeMarking(self.live, Tombstones.empty())
            rows = marked_rows(batch, Recogniser(BASE.name), marking)
            work.add(each, rows)
            work.end(each)
            found.append(each)
        return work.together(found)


def a_survey_pass(expected: Expected = Expected(), **changes: object) -> SurveyPass:  # noqa: B008
    return SurveyPass(
        **{
            "owners": Owners(BASE, {BASE.child(JOB): JOB}),
            "expected": expected.heads,
            "expected_others": expected.others,
            "wanted": UuidSet(),
            "wanted_names": frozenset(),
            "is_holding": True,
            **changes,
        }
    )


def shown(found: Surveyed) -> tuple[object, ...]:
    return (
        found.jobs,
        found.objects,
        found.size,
        found.present,
        found.others,
        set(found.seen),
        found.seen_names,
        {key: set(uuids) for key, uuids in found.held.items()},
    )


def sorted_few(survey: Surveyed) -> Surveyed:
    for each in survey.jobs.values():
        each.only_in_raw_bytes.sort()
    return survey


@given(
    listed=st.sets(keys, max_size=40).map(sorted),
    cuts=st.lists(st.integers(0, 40), max_size=4),
    parsed=st.sets(st.sampled_from(UUIDS)),
    raw=st.sets(st.sampled_from(UUIDS)),
)
def test_many_workers_find_together_what_one_finds_alone(listed, cuts, parsed, raw) -> None:
    """On a cluster every executor sees a part of the listing; the judgement needs the whole."""
    live = LiveSet(parsed=packed(*parsed), raw=packed(*raw))
    work = a_survey_pass(
        Expected({f"{JOB}/shared/": packed(*UUIDS[:6])}, frozenset({f"{JOB}/shared/odd"})),
        wanted=packed(*UUIDS[3:5]),
        wanted_names=frozenset({"odd"}),
    )
    whole = a_batch(listed, folders=(f"{JOB}/shared/op_2",))
    edges = sorted({0, len(whole), *(min(cut, len(whole)) for cut in cuts)})
    parts = [whole.slice(a, b - a) for a, b in pairwise(edges)]
    alone = FakeEngine([whole], live).run(work)
    together = FakeEngine(parts, live).run(work)
    assert shown(sorted_few(together)) == shown(sorted_few(alone))
    assert alone.objects == len(listed)
    assert alone.size == sum(len(key) << 40 for key in listed)


@given(listed=st.sets(keys, max_size=40).map(sorted), named=st.sets(keys, max_size=20))
def test_what_is_named_and_not_listed_is_missing_and_nothing_else(listed, named) -> None:
    """R8: a name counts only in its very place, whatever else bears its UUID."""
    by_folder: dict[str, set[str]] = {}
    for key in named:
        folder, _, name = key.rpartition("/")
        by_folder.setdefault(folder, set()).add(name)
    root = a_root(
        files={BASE.child(folder): FileNames(names) for folder, names in by_folder.items()}
    )
    expected = expected_of([root], BASE)
    live = LiveSet(parsed=packed(*UUIDS))
    engine = FakeEngine([a_batch(listed[:9]), a_batch(listed[9:])], live)
    surveyed = engine.run(a_survey_pass(expected))
    missing = missing_of(expected, surveyed, engine, None)
    assert missing.of([root], BASE) == sorted(named - set(listed))


@pytest.mark.parametrize("named", [1, 2, 3])
def test_a_name_that_is_listed_twice_spoils_the_listing(named: int) -> None:
    """It could stand in for one that is missing: counting alone would not notice."""
    key = f"{JOB}/shared/{UUIDS[0]}"
    expected = Expected({f"{JOB}/shared/": packed(*UUIDS[:named])})
    engine = FakeEngine([a_batch([key]), a_batch([key])], LiveSet(parsed=packed(*UUIDS[:named])))
    with pytest.raises(StorageUnreachableError, match="twice"):
        missing_of(expected, engine.run(a_survey_pass(expected)), engine, None)


@pytest.mark.parametrize(
    ("place", "pinned"),
    [
        ("", {0, 1, 2}),
        (f"{JOB}/shared", {0, 1}),
        (f"{JOB}/shared/{UUIDS[1]}", {1}),
        (f"{JOB}/share", set()),
    ],
)
def test_what_lies_at_or_below_a_pin_is_in_use(place: str, pinned: set[int]) -> None:
    """R4: a pin protects a file, or a folder with all that it holds, and no neighbour's."""
    listed = [f"{JOB}/shared/{UUIDS[0]}", f"{JOB}/shared/{UUIDS[1]}", f"{OTHER}/shared/{UUIDS[2]}"]
    found = FakeEngine([a_batch(listed)]).run(PinnedPass((place,)))
    assert set(found) == set(packed(*(UUIDS[n] for n in pinned)))


def test_an_empty_sub_folder_of_shared_tells_of_a_layout() -> None:
    """R2: ForSt and merged files have sub-folders, and liveness there cannot be proven."""
    found = FakeEngine([a_batch([], folders=(f"{JOB}/shared/op_1",))]).run(a_survey_pass())
    assert found.jobs[JOB].sub_folders == {"op_1"}


@pytest.mark.parametrize(
    ("listed", "lacking"), [(UUIDS[0], 0), (f"9_{UUIDS[0]}", 0), (UUIDS[1], 1)]
)
def test_a_moved_file_is_found_by_its_uuid(listed: str, lacking: int) -> None:
    """A latest root may name another place than the one collected; its files must be somewhere."""
    away = BASE.__class__(BASE.scheme, "elsewhere", "/moved/shared")
    root = a_root(files={away: FileNames([UUIDS[0]])})
    job = a_job(own_checkpoints=(root,), ids_before=frozenset({root.checkpoint_id}))

    class Here:
        location = BASE

    wanted = wanted_of([root.files])
    engine = FakeEngine([a_batch([f"{JOB}/shared/{listed}"])])
    surveyed = engine.run(a_survey_pass(wanted=wanted.uuids, wanted_names=wanted.names))
    assert len(missing_outside(job, surveyed, [Here()])) == lacking


@pytest.mark.parametrize("lost", [1.0, 0.5, 0.1, 0.0])
@pytest.mark.parametrize("number", [5, 5000])
def test_a_sample_shows_that_a_part_of_a_bucket_is_lost(number: int, lost: float) -> None:
    """Of a job whose state is wholly elsewhere; its ``shared/`` is not listed for that."""
    away = BASE.__class__(BASE.scheme, "elsewhere", "/")
    names = [str(UUID(int=each << 64)) for each in range(number)]
    root = a_root(files={away.child("shared"): FileNames(names)})
    job = a_job(own_checkpoints=(root,), ids_before=frozenset({root.checkpoint_id}))
    gone, asked = {f"shared/{name}" for name in names[: int(number * lost)]}, list[str]()

    class Here:
        location = BASE

    class Elsewhere:
        location = away

        def stat(self, keys: list[str]) -> list[object]:
            asked.extend(keys)
            return [None if key in gone else SimpleNamespace(key=key) for key in keys]

    found = missing_outside(job, Surveyed(), [Here(), Elsewhere()], is_sampled=True)
    assert len(asked) == min(number, 125)
    assert {str(away.child(key)) for key in gone & set(asked)} == set(found)
    assert bool(found) is bool(gone)
