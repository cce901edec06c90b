"""One subtask's keyed state in the format of full snapshots: its entries, and it without some.

Source: Flink 1.8-2.3, ``FullSnapshotAsyncWriter``, ``FullSnapshotRestoreOperation``.
"""

from collections.abc import Collection
from dataclasses import dataclass

from flinkstate.entries.key_group import KeyGroupEntries, StateEntries, read_key_group
from flinkstate.errors import UnreadableMetadataError
from flinkstate.state.backend_headers import KeyedHeader, read_keyed_header
from flinkstate.values.handles import KeyGroupOffsets


@dataclass(frozen=True, slots=True, kw_only=True)
class FullSnapshot:
    """Keyed state of one subtask.

    Attributes:
        raw_header: Bytes before the first key group.
        header: Names of the states, in the order of their numbers.
        groups: Key groups in order; ``None`` for one without entries.
    """

    raw_header: bytes
    header: KeyedHeader
    first: int
    groups: tuple[KeyGroupEntries | None, ...]

    def entries(self) -> dict[str, StateEntries]:
        """Return number and size of the entries of each state, by its name."""
        names = [state.name for state in self.header.states]
        found = dict.fromkeys(names, StateEntries())
        for group in filter(None, self.groups):
            for number, tally in group.tallies().items():
                found[names[number]] += tally
        return found

    def without(self, gone: Collection[str]) -> tuple[bytes, KeyGroupOffsets]:
        """Return the snapshot without the entries of some states, and its index.

        The header stays: Flink registers the names in it, and finds no entry. The offset of a key
        group without entries is 0, as Flink writes it.
        """
        states = enumerate(self.header.states)
        numbers = {number for number, state in states if state.name in gone}
        written, offsets = bytearray(self.raw_header), []
        for group in self.groups:
            left = b"" if group is None else group.without(numbers)
            offsets.append(len(written) if left else 0)
            written += left
        return bytes(written), KeyGroupOffsets(first=self.first, offsets=tuple(offsets))


def read_full_snapshot(data: bytes, index: KeyGroupOffsets, *, groups: int) -> FullSnapshot:
    """Return the keyed state of one subtask, which ``data`` holds to the last byte.

    Args:
        index: Offset of each key group; 0 for one without entries.
        groups: Number of all key groups, the maximum parallelism.

    Raises:
        UnreadableMetadataError: The bytes have another format, such as that of a heap backend's
            own snapshots, or are compressed; or no key group has entries, so that the format is
            unknown.
    """
    starts = sorted(offset for offset in index.offsets if offset > 0)
    if not starts:
        raise UnreadableMetadataError("no key group has an entry", offset=0)
    header = read_keyed_header(data[: starts[0]])
    probe = group_probe(index)
    group = b"" if probe is None else data[probe : probe + PROBE_BYTES]
    if (problem := problem_of(header, index, group)) is not None:
        raise UnreadableMetadataError(problem, offset=4)
    ends = dict(zip(starts, [*starts[1:], len(data)], strict=True))
    return FullSnapshot(
        raw_header=data[: starts[0]],
        header=header,
        first=index.first,
        groups=tuple(
            read_key_group(
                data[start : ends[start]], group=group, groups=groups, states=len(header.states)
            )
            if start > 0
            else None
            for group, start in enumerate(index.offsets, index.first)
        ),
    )


PROBE_BYTES = 4
"""Number of bytes at the start of a key group that show the heap's own format."""


def group_probe(index: KeyGroupOffsets) -> int | None:
    """Return where a key group begins that shows the format; ``None`` if there is none.

    The first key group has number 0, with which a full snapshot may begin, too.
    """
    numbered = enumerate(index.offsets, index.first)
    return next((offset for group, offset in numbered if group > 0 and offset > 0), None)


def problem_of(header: KeyedHeader, index: KeyGroupOffsets, group: bytes) -> str | None:
    """Return why the snapshot is none of this format, as far as its beginning shows.

    Args:
        group: First bytes at ``group_probe``.

    Source: Flink 1.8-2.3, ``HeapSnapshotStrategy``: a key group begins with its number, and its
    entries are values one after the other, of which only their serializers know the ends.
    """
    numbered = {offset: group for group, offset in enumerate(index.offsets, index.first)}
    probe = group_probe(index)
    if probe is not None and int.from_bytes(group) == numbered[probe]:
        return "it is the heap's own snapshot, whose entries have no lengths"
    if header.is_compressed:
        return "it is compressed (execution.checkpointing.snapshot-compression)"
    return None
