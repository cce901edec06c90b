"""The data files of an S3 Inventory report as listing rows: batch by batch, every row checked."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote_plus

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from orphangc.core.documents.s3_inventory import Column, FileFormat, Manifest
from orphangc.core.times.instant_columns import known_times
from orphangc.errors import UnreadableInventoryError
from orphangc.ports import LISTING_SCHEMA

_ROWS = 65_536
_CSV_BLOCK = 1 << 20
_BUFFER = 1 << 20
_ORC_ROWS = 1024
"""A text of an ORC file may be stored once for many rows, and is seen only in each of them."""
_LONGEST_TEXT = 1 << 14
"""Maximum length of a text in bytes; a key of S3 has at most 1024."""
_FLAGS = (Column.IS_LATEST, Column.IS_DELETE_MARKER)
_STAMP = LISTING_SCHEMA.field("modified_at").type
_TYPES = {
    Column.SIZE: pa.int64(),
    Column.MODIFIED_AT: _STAMP,
    Column.IS_LATEST: pa.bool_(),
    Column.IS_DELETE_MARKER: pa.bool_(),
}

_Columns = Mapping[Column, pa.Array]


def current_objects(path: Path, manifest: Manifest) -> Iterator[pa.RecordBatch]:
    """Yield the objects of a data file as ``LISTING_SCHEMA``, with keys of the bucket.

    Noncurrent versions and delete markers are left out. Store times are rounded down to seconds, as
    all S3 adapters do. Memory does not grow with the file.

    Args:
        path: Path of the file, whose checksum was already compared with the manifest.

    Raises:
        UnreadableInventoryError: A row contradicts the manifest, or is of another bucket.
    """
    batches = _READERS[manifest.file_format](path, manifest)
    while True:
        try:
            columns = next(batches, None)
            found = None if columns is None else _objects(columns, manifest)
        except (pa.ArrowException, ValueError, OSError) as err:
            raise UnreadableInventoryError(f"a data file cannot be read: {err}") from err
        if found is None:
            return
        yield found


def _parquet_batches(path: Path, manifest: Manifest) -> Iterator[_Columns]:
    # pre_buffer would keep every byte read so far in memory
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
        names = _checked_names(file.schema_arrow, manifest)
        _check_dictionaries(path, list(names.values()), file.num_row_groups)
        for batch in file.iter_batches(batch_size=_ROWS, columns=list(names.values())):
            yield {column: _typed(batch.column(name), column) for column, name in names.items()}


def _orc_batches(path: Path, manifest: Manifest) -> Iterator[_Columns]:
    from pyarrow import dataset  # noqa: PLC0415 - the reader of ORC that yields batches

    file = dataset.dataset(path, format="orc")
    names = _checked_names(file.schema, manifest)
    for batch in file.to_batches(
        columns=list(names.values()),
        batch_size=_ORC_ROWS,
        batch_readahead=0,
        fragment_readahead=0,
        use_threads=False,
    ):
        texts = [values for values in batch.columns if pa.types.is_string(values.type)]
        for values in texts:
            _check_lengths(values)
        yield {column: _typed(batch.column(name), column) for column, name in names.items()}


def _checked_names(schema: pa.Schema, manifest: Manifest) -> dict[Column, str]:
    names = {column: manifest.name_of(column) for column in manifest.wanted}
    for column, name in names.items():
        if len(schema.get_all_field_indices(name)) != 1:
            raise UnreadableInventoryError(f"a data file has no column {name}, or two")
        _check_type(column, schema.field(name).type, manifest.file_format)
    return names


def _check_dictionaries(path: Path, names: list[str], row_groups: int) -> None:
    """Refuse texts longer than any key or ETag, before rows repeat them.

    A dictionary stores a long text once, and a row that refers to it takes two bits: a file of two
    kilobytes can expand to rows of sixty gigabytes.
    """
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER, read_dictionary=names) as file:
        for number in range(row_groups):
            rows = file.iter_batches(batch_size=1, row_groups=[number], columns=names)
            for values in () if (first := next(rows, None)) is None else first.columns:
                if pa.types.is_dictionary(values.type):
                    _check_lengths(values.dictionary)


def _check_lengths(texts: pa.Array) -> None:
    if (pc.max(pc.binary_length(texts)).as_py() or 0) > _LONGEST_TEXT:
        raise UnreadableInventoryError(f"a text of a data file has over {_LONGEST_TEXT} bytes")


def _check_type(column: Column, found: pa.DataType, form: FileFormat) -> None:
    """Refuse an ambiguous type: a time without a zone, a size as text.

    A ``timestamp`` of ORC never has a zone. It is taken for UTC, as S3 has it in the other formats:
    were it another, no object would have the time that was judged, and none would be deleted (R18).
    """
    if column is Column.MODIFIED_AT:
        has_zone = pa.types.is_timestamp(found) and found.tz is not None
        is_fit = has_zone or (form is FileFormat.ORC and pa.types.is_timestamp(found))
    elif column in _TYPES:
        is_fit = found == _TYPES[column]
    else:
        is_fit = found in {pa.string(), pa.binary()}
    if not is_fit:
        raise UnreadableInventoryError(f"column {column} of a data file is {found}")


def _typed(values: pa.Array, column: Column) -> pa.Array:
    if column is Column.MODIFIED_AT:
        return _seconds(values)
    if column in _TYPES:
        return values
    return values.cast(pa.binary()).cast(pa.string())  # checks that it is UTF-8


def _seconds(times: pa.Array) -> pa.Array:
    exact = pc.CastOptions(_STAMP, allow_time_truncate=True)  # too large a number is an error
    return pc.floor_temporal(known_times(pc.cast(times, options=exact)), unit="second")


def _csv_batches(path: Path, manifest: Manifest) -> Iterator[_Columns]:
    names = {column: manifest.name_of(column) for column in manifest.wanted}
    if not path.stat().st_size:
        raise UnreadableInventoryError("a data file has no bytes")
    with pa.OSFile(str(path)) as raw, pa.CompressedInputStream(raw, "gzip") as stream:
        if not stream.read(1):
            return  # a data file without rows, which the reader refuses
    with pa.OSFile(str(path)) as raw, pa.CompressedInputStream(raw, "gzip") as stream:
        reader = pcsv.open_csv(
            stream,
            read_options=pcsv.ReadOptions(
                column_names=manifest.columns, block_size=_CSV_BLOCK, use_threads=False
            ),
            parse_options=pcsv.ParseOptions(ignore_empty_lines=False),
            convert_options=pcsv.ConvertOptions(
                include_columns=list(names.values()),
                column_types=dict.fromkeys(names.values(), pa.string()),
                strings_can_be_null=False,
            ),
        )
        for batch in reader:
            yield {column: _parsed(batch.column(name), column) for column, name in names.items()}


def _parsed(texts: pa.Array, column: Column) -> pa.Array:
    """Return the values of a column of a CSV file; an empty text is an absent value."""
    if column is Column.KEY:
        return _decoded(texts)
    present = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    if column is Column.MODIFIED_AT:
        return _seconds(present.cast(_STAMP))
    return present.cast(_TYPES[column]) if column in _TYPES else present


def _decoded(keys: pa.Array) -> pa.Array:
    """Return URL-encoded keys decoded; in most of them only slashes are encoded."""
    plain = pc.replace_substring_regex(keys, "%2[Ff]", "/")
    if not pc.any(pc.match_substring_regex(plain, "[%+]"), min_count=0).as_py():
        return plain
    return pa.array([unquote_plus(key, errors="strict") for key in keys.to_pylist()], pa.string())


def _objects(columns: _Columns, manifest: Manifest) -> pa.RecordBatch:
    """Return the rows that are objects; raise for a malformed row instead of leaving it out."""
    if not _all(pc.equal(columns[Column.BUCKET], manifest.source_bucket)):
        raise UnreadableInventoryError("a data file has rows of another bucket")
    rows = [columns[each] for each in (Column.KEY, Column.SIZE, Column.MODIFIED_AT)]
    rows.append(pc.utf8_trim(columns[Column.ETAG], '"'))
    if manifest.has_versions:
        flags = [columns[each] for each in _FLAGS]
        if any(flag.null_count for flag in flags):
            raise UnreadableInventoryError("a row does not say whether it is an object")
        is_object = pc.and_(flags[0], pc.invert(flags[1]))
        rows = [values.filter(is_object) for values in rows]
    key, size = rows[:2]
    if key.null_count or not _all(pc.greater(pc.binary_length(key), 0)):
        raise UnreadableInventoryError("a row has no key")
    if not _all(pc.greater_equal(size, 0)):
        raise UnreadableInventoryError("an object has no size")
    return pa.RecordBatch.from_arrays(rows, schema=LISTING_SCHEMA)


def _all(conditions: pa.Array) -> bool:
    """Return whether all conditions are true; null counts as false."""
    return bool(pc.all(pc.fill_null(conditions, fill_value=False), min_count=0).as_py())


_READERS: Mapping[FileFormat, Callable[[Path, Manifest], Iterator[_Columns]]] = {
    FileFormat.CSV: _csv_batches,
    FileFormat.ORC: _orc_batches,
    FileFormat.PARQUET: _parquet_batches,
}
