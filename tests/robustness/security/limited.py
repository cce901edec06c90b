"""Runs hostile input in a process with little memory: ``python -m security.limited FOLDER``.

Prints one JSON object a line: the case, what it ended with, and how large the process had become.
"""

import gzip
import json
import os
import resource
import sys
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from botocore.session import get_session

from cli.helpers import Ran, run
from orphangc.adapters.flink.flink_rest import FlinkRest
from orphangc.adapters.object_store.bucket import RequestError
from orphangc.adapters.s3.pages.page_parser import read_page
from orphangc.adapters.s3.pages.parsed_pages import parse_page
from orphangc.adapters.s3_inventory.data_files import current_objects
from orphangc.core.documents.s3_inventory import FileFormat, Manifest
from orphangc.errors import OrphanGcError
from support import speed
from support.inventory_reports import PLAIN
from support.rest_server import RestServer, send

MOST_BYTES = 1 << 30
"""Of memory that the process may take, the interpreter and its libraries included."""

_LAUGHS = ["&a0 [x, x, x, x, x, x, x, x, x]"]
_LAUGHS += [f"&a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
CONFIGURATIONS = {
    "aliases of aliases": f"storage_roots: [{{root: /x, pin: [{', '.join(_LAUGHS)}]}}]",
    "an alias to itself": "storage_roots: &a [*a]",
    "lists in lists": "storage_roots: " + "[" * 2000 + "]" * 2000,
    "a number without end": f"storage_roots: [{{root: /x, max_deletes: {'9' * 5000}}}]",
    "a day of no month": "storage_roots: [{root: 2026-99-99}]",
    "a tag that runs a program": "storage_roots: !!python/object/apply:os.system ['true']",
    "a NUL in a path": 'storage_roots: [{root: "/x\\0"}]',
    "half a character in a path": 'storage_roots: [{root: "/\\ud800"}]',
    "a file without end": "# " + "x" * (2 << 20),
}
_JSON_BOMBS = {
    "lists in lists": '{"a":' + "[" * 200_000 + "]" * 200_000 + "}",
    "objects in objects": '{"a":' * 200_000 + "1" + "}" * 200_000,
    "a number without end": '{"schema_version":' + "9" * 100_000 + "}",
    "a text without end": '{"schema_version":"' + "x" * 10_000_000,
}


def _configurations(folder: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    for name, text in CONFIGURATIONS.items():
        path = folder / "orphangc.yaml"

        def tried(text: str = text, path: Path = path) -> str:
            path.write_text(text)
            return _told(run("config", "show", "--config", path))

        yield f"configuration: {name}", tried


def _documents(folder: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield plans, snapshots and records of a lock that are JSON of no good will."""
    plan = folder / "plan"
    plan.mkdir()
    for name, text in _JSON_BOMBS.items():

        def planned(text: str = text) -> str:
            (plan / "plan.json").write_text(text)
            return _told(run("sweep", plan))

        def shown(text: str = text) -> str:
            path = folder / "snapshot.jsonl"
            path.write_text(f"{text}\n{text}\n{text}\n")
            return _told(run("registry", "show", path))

        def packed(text: str = text) -> str:
            path = folder / "snapshot.jsonl.gz"
            path.write_bytes(gzip.compress(f"{text}\n{text}\n{text}\n".encode()))
            return _told(run("registry", "show", path))

        yield f"plan: {name}", planned
        yield f"snapshot: {name}", shown
        yield f"packed snapshot: {name}", packed


def _answers(_: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield answers of Flink's REST API that are larger than they look."""
    once = gzip.compress(bytes(64 << 20))
    bodies = {
        "packed": (once, "gzip"),
        "packed twice": (gzip.compress(once), "gzip, gzip"),
        **{name: (text.encode(), "identity") for name, text in _JSON_BOMBS.items()},
    }
    for name, (body, coding) in bodies.items():

        def asked(body: bytes = body, coding: str = coding) -> str:
            def reply(handler) -> None:
                send(handler, 200, body, **{"Content-Encoding": coding})

            with RestServer(dict.fromkeys(("/config", "/jobmanager/config"), reply)) as server:
                rest = FlinkRest(server.url, timeout=timedelta(seconds=speed.answer()))
                try:
                    rest.observe()
                except OrphanGcError as err:
                    return f"told: {err}"
            return "nothing"

        yield f"answer: {name}", asked


_ENTITIES = {
    "entities of entities": '<!ENTITY a0 "xxxxxxxxxx">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10)),
    "one entity again and again": f'<!ENTITY a9 "{"x" * 100_000}">',
    "a file of this machine": '<!ENTITY a9 SYSTEM "file:///etc/passwd">',
    "a document of elsewhere": '<!ENTITY a9 SYSTEM "http://127.0.0.1:9/x">',
    "parameters": '<!ENTITY % p SYSTEM "file:///etc/passwd"> %p; <!ENTITY a9 "x">',
}


def _pages(_: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield pages of a listing that mean more than they say, or something of this machine."""
    deep = "<a>" * 100_000 + "</a>" * 100_000
    bodies = {
        name: f"<!DOCTYPE r [{entities}]><ListBucketResult><IsTruncated>false</IsTruncated>"
        f"<Contents><Key>{'&a9;' * 20_000}</Key><Size>1</Size>"
        "<LastModified>2026-11-21T17:55:59.000Z</LastModified></Contents></ListBucketResult>"
        for name, entities in _ENTITIES.items()
    }
    bodies["elements in elements"] = f"<ListBucketResult>{deep}</ListBucketResult>"
    shape = get_session().get_service_model("s3").operation_model("ListObjectsV2").output_shape
    for name, body in bodies.items():

        def read(body: bytes = body.encode()) -> str:
            try:
                page = read_page(body, "") or parse_page(body, "", shape)
            except RequestError as err:
                return f"told: {str(err)[:300]}"
            return f"{page.objects.num_rows} rows"

        yield f"page: {name}", read


def _inventories(folder: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield data files of two kilobytes that stand for gigabytes."""
    rows, path = 60_000, folder / "data"

    def read(file_format: str, columns: tuple[str, ...]) -> str:
        manifest = Manifest(
            source_bucket="source",
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
            file_format=FileFormat(file_format),
            columns=columns,
            files=(),
        )
        try:
            return f"{sum(batch.num_rows for batch in current_objects(path, manifest))} rows"
        except OrphanGcError as err:
            return f"told: {err}"

    def repeated() -> str:
        keys = pa.DictionaryArray.from_arrays(pa.array([0] * rows), pa.array(["k" * (1 << 20)]))
        at = pa.array([datetime(2026, 1, 1, tzinfo=UTC)] * rows, pa.timestamp("ms", tz="UTC"))
        columns = {
            "bucket": pa.array(["source"] * rows),
            "key": keys,
            "size": pa.array([1] * rows),
            "last_modified_date": at,
            "e_tag": pa.array(["x"] * rows),
        }
        pq.write_table(pa.table(columns), path, store_schema=False)
        return read("Parquet", tuple(columns))

    def one_line() -> str:
        with gzip.open(path, "wb", 1) as file:
            file.write(b'"source","')
            for _ in range(200):
                file.write(b"k" * (1 << 20))
            file.write(b'","1","2026-01-01T00:00:00.000Z","x"\n')
        return read("CSV", PLAIN[:-1])

    yield "inventory: a key repeated", repeated
    yield "inventory: a line without end", one_line


def _told(ran: Ran) -> str:
    is_told = ran.code in {1, 2, 4} and len(ran.complaints) == 1 and not ran.out
    return f"told: {ran.complaints[0]}" if is_told else f"{ran.code}: {ran.err[-500:]}"


def _now() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC)


def _peak_megabytes() -> int:
    """Return the most memory since this program began: ``getrusage`` counts who started it too."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


def main(folder: Path) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    for kind in (_configurations, _documents, _answers, _pages, _inventories):
        for name, tried in kind(folder):
            try:
                ended = tried()
            except BaseException:  # noqa: BLE001 - that is what is looked for
                ended = traceback.format_exc()[-500:]
            peak = _peak_megabytes()
            print(json.dumps({"case": name, "ended": ended, "megabytes": peak}), flush=True)


if __name__ == "__main__":
    os.environ["HOME"] = sys.argv[1]
    main(Path(sys.argv[1]))
