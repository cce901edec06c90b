"""Contents of a checkpoint, with the few bytes of state files that name the states."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from flinkstate.errors import FlinkStateError
from flinkstate.inspection.operator_contents import operator_contents, survey_operator
from flinkstate.state.contents import CheckpointContents
from flinkstate.state.extents import Inline
from flinkstate.state.header_ranges import LARGEST_HEADER, Header
from flinkstate.values.metadata_values import Metadata

_READS_AT_ONCE = 16
_NOT_READ = "state files were not read"


class PartReader(Protocol):
    """Reads parts of files in any place; called from several threads at once."""

    def __call__(self, path: str, *, start: int, size: int) -> bytes | None:
        """Return ``size`` bytes from ``start`` on, fewer at the end, None if there is no file.

        Raises:
            FlinkStateError: It cannot be read.
        """
        ...


def contents_of(
    metadata: Metadata, *, directory: str, read: PartReader | None
) -> CheckpointContents:
    """Return the contents of a checkpoint.

    A state file that is missing, cannot be read, or is of an unknown form leaves names unknown,
    with the reason; it never raises, and never leaves a name out silently.

    Args:
        read: Reads state files; without it their contents stay unknown.
    """
    surveys = [survey_operator(each, directory=directory) for each in metadata.operators]
    found = _read_all((header for each in surveys for header in each.headers), read)
    return CheckpointContents(
        checkpoint_id=metadata.checkpoint_id,
        format_version=metadata.format_version,
        operators=tuple(operator_contents(each, found) for each in surveys),
    )


def _read_all(headers: Iterable[Header], read: PartReader | None) -> dict[Header, bytes | str]:
    wanted = list(dict.fromkeys(headers))
    if read is None or all(isinstance(each.place, Inline) for each in wanted):
        return {each: _read(each, read) for each in wanted}
    with ThreadPoolExecutor(_READS_AT_ONCE) as pool:
        return dict(zip(wanted, pool.map(lambda each: _read(each, read), wanted), strict=True))


def _read(header: Header, read: PartReader | None) -> bytes | str:
    place = header.place
    size = place.size if header.size is None else header.size
    if isinstance(place, Inline):
        return place.data[:size] if len(place.data) >= (size or 0) else "state is cut short"
    if size is not None and size > LARGEST_HEADER:
        return f"{place.path}: a header of {size} bytes is too large"
    if read is None:
        return _NOT_READ
    try:
        data = read(
            place.path, start=place.start or 0, size=LARGEST_HEADER + 1 if size is None else size
        )
    except FlinkStateError as err:
        return f"{place.path}: {err}"
    if data is None:
        return f"{place.path} is missing"
    if size is None and len(data) > LARGEST_HEADER:
        return f"{place.path}: a header of over {LARGEST_HEADER} bytes is too large"
    if size is not None and len(data) < size:
        return f"{place.path} is cut short: {len(data)} of {size} bytes"
    return data
