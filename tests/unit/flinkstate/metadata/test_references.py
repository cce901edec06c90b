"""What the fast pass returns, and that it is not fooled by look-alikes."""

import dataclasses
import tracemalloc

import pytest

from flinkstate.metadata import bulk_entries as stride
from flinkstate.metadata import references as references_module
from flinkstate.metadata.references import read_references
from flinkstate.values.metadata_values import HandleKind
from unit.flinkstate.metadata import by_hand as hand
from unit.flinkstate.metadata.both_passes import accept, refuse
from unit.flinkstate.metadata.golden_files import golden

UUID = "01234567-89ab-4def-8123-{:012x}"


def path(number: int) -> str:
    return f"s3://b/shared/{UUID.format(number)}"


def entry(number: int, handle: bytes | None = None, name: str = "") -> bytes:
    return hand.utf(name or f"{number:06d}.sst") + (handle or hand.file_handle(path(number)))


def listed_in_file(*entries: bytes) -> bytes:
    return hand.with_keyed(hand.incremental(hand.listed(*entries)))


def test_paths_keep_their_order_and_their_duplicates() -> None:
    """Counting references is the caller's business."""
    numbers = [5, 3, 3, 9, 5, *range(100), 3]
    found = read_references(listed_in_file(*(entry(number) for number in numbers)))
    assert list(found.paths) == ["s3://b/c", *(path(number) for number in numbers)]
    assert found.handles == len(numbers) + 2


@pytest.mark.parametrize("number", [0, 1, 50])
def test_only_shared_state_is_registered(number: int) -> None:
    """Neither the meta data of a snapshot nor its private files are."""
    shared = hand.listed(*(entry(each) for each in range(number)))
    private = hand.listed(*(entry(each) for each in range(100, 100 + number)))
    found = read_references(hand.with_keyed(hand.incremental(shared, private=private)))
    assert found.unregistered_paths == {"s3://b/c", *map(path, range(100, 100 + number))}
    assert len(found.paths) == 2 * number + 1


def test_relative_names_and_paths_are_kept_apart() -> None:
    """A relative name means a file beside the metadata; only the caller knows where."""
    entries = [
        entry(number, hand.relative_handle(UUID.format(number)) if number % 2 else None)
        for number in range(40)
    ]
    found = read_references(listed_in_file(*entries))
    assert list(found.relative_names) == [UUID.format(number) for number in range(1, 40, 2)]
    assert list(found.paths)[1:] == [path(number) for number in range(0, 40, 2)]


def test_a_bytes_handle_refers_to_nothing_though_its_name_looks_like_a_path() -> None:
    """No such file was ever made."""
    inline = b"\x01" + hand.utf(path(7)) + hand.blob(b"x" * 30)
    found = read_references(listed_in_file(*(entry(number, inline) for number in range(30))))
    assert list(found.paths) == ["s3://b/c"]
    assert HandleKind.BYTES in found.kinds


def test_local_names_and_ids_refer_to_nothing() -> None:
    """They may look like UUIDs and paths as well."""
    names = [UUID.format(number) for number in range(30)]
    entries = [entry(number, name=name) for number, name in enumerate(names)]
    found = read_references(listed_in_file(*entries))
    assert list(found.paths)[1:] == [path(number) for number in range(30)]
    assert not found.relative_names


def test_directories_of_file_merging_are_references() -> None:
    """Flink deletes them as a whole."""
    found = read_references(golden("1.20.1/filemerging").data)
    assert len(found.directories) == 4
    assert len(set(found.directories)) == 2
    assert HandleKind.DIRECTORY in found.kinds
    assert HandleKind.SEGMENT in found.kinds


@pytest.mark.parametrize("stranger_at", [0, 1, 7, 8, 15, 16, 17, 80, 98, 99])
@pytest.mark.parametrize(
    "stranger",
    [
        hand.utf("CURRENT") + hand.file_handle(path(1)),
        hand.utf("000001.sst") + hand.file_handle("s3://b/other"),
        hand.utf("000001.sst") + hand.bytes_handle(),
        hand.utf("000001.sst") + hand.EMPTY_SEGMENT,
        hand.utf("000001.sst") + hand.segment_handle(path(2)),
        hand.utf("000001.sst") + hand.key_groups(hand.relative_handle("n")),
        b"\x00\x0a0001\xc3\xa9.sst" + hand.file_handle(path(1)),
        b"\x00\x0a0001\xc0\x80.sst" + hand.file_handle(path(1)),
    ],
)
def test_a_stranger_in_a_run_is_read_for_what_it_is(stranger: bytes, stranger_at: int) -> None:
    """Wherever it stands, both passes see the same file."""
    entries = [entry(number) for number in range(100)]
    entries[stranger_at] = stranger
    accept(listed_in_file(*entries))


@pytest.mark.parametrize("stranger_at", [1, 16, 50, 99])
@pytest.mark.parametrize(
    "name", ["01234567-89ab-4def-8123/00000000000f", " 1234567-89ab-4def-8123-00000000000f"]
)
def test_a_name_that_is_no_plain_one_is_refused_within_a_run(name: str, stranger_at: int) -> None:
    """It has the length of its neighbours, so that only its letters differ."""
    entries = [entry(number, hand.relative_handle(UUID.format(number))) for number in range(100)]
    accept(listed_in_file(*entries))
    entries[stranger_at] = entry(stranger_at, hand.relative_handle(name))
    refuse(listed_in_file(*entries))


def test_a_run_may_not_reach_into_what_follows_the_list() -> None:
    """Behind the list stand bytes that could pass for more of it."""
    more = b"".join(entry(number) for number in range(20))
    handle = hand.incremental(hand.listed(*(entry(number) for number in range(20))))
    split = handle.rindex(hand.listed() + hand.utf("id"))
    refuse(hand.with_keyed(handle[:split] + more + handle[split:]))


def test_runs_are_taken_as_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand equal entries, the slow way sees a handful."""
    seen = []
    record = references_module._pass_over

    def counting(parser, layout):
        seen.append(layout)
        return record(parser, layout)

    reading = dataclasses.replace(references_module._COLLECTING, record=counting)
    monkeypatch.setattr(references_module, "_COLLECTING", reading)
    found = read_references(listed_in_file(*(entry(number) for number in range(1000))))
    assert found.handles == 1002
    assert len(seen) < 20


def test_windows_grow_up_to_a_bound() -> None:
    """So that a broken run costs little and a long one no more memory than a window."""
    data = b"".join(entry(number) for number in range(5000))
    shape = stride.shape_at(data, 0, _tables())
    runs = list(stride.reference_runs(data, 0, shape, 5000))
    sizes = [len(run) for run in runs]
    assert sum(sizes) == 5000
    assert sizes[0] < 64
    assert max(sizes) <= 1024
    assert [each for run in runs for each in run] == [path(number) for number in range(5000)]


def _tables():
    from flinkstate.layouts.format_versions import tables_of  # noqa: PLC0415
    from flinkstate.values.metadata_values import LayoutVariant  # noqa: PLC0415

    return tables_of(6, LayoutVariant.FINAL)


def test_references_cannot_be_changed_afterwards() -> None:
    """They are evidence."""
    found = read_references(golden("2.3.0/classic").data)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.handles = 0
    assert isinstance(found.paths, tuple)
    assert not hasattr(found, "__dict__")


def test_the_operators_are_those_of_the_file() -> None:
    found = read_references(listed_in_file(entry(1)))
    assert found.operators == {bytes(range(16)).hex()}


_MANY = 1 << 18
_NOTHING = hand.changelog(hand.i4(_MANY) + hand.NONE * _MANY, hand.listed())
_FINISHED = hand.operator(3, hand.i4(_MANY) + hand.i4(-1) * _MANY)


@pytest.mark.parametrize(
    ("data", "handles"),
    [
        pytest.param(hand.with_keyed(_NOTHING), 1, id="no materialised state, in one byte"),
        pytest.param(hand.metadata(3, hand.listed(_FINISHED)), 0, id="a finished subtask, in four"),
    ],
)
def test_a_list_of_nothing_takes_no_memory(data: bytes, handles: int) -> None:
    """A file of zeros took eight times more, and one of finished subtasks thirty times."""
    tracemalloc.start()
    try:
        assert read_references(data).handles == handles
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < _MANY
