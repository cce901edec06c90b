"""CPU time of a listing of Azure and Google, beside the file systems of fsspec; prints Markdown.

    python tests/bench/bench_clouds.py [keys] [rounds]

The servers are the tests' own and run in this process; each client is a process of its own, which
lists a key first: what a process pays once is not the price of a key. The clients take turns.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "gc")]

# ruff: noqa: E402 - after the path

from contracts.servers.azurite import ACCOUNT, connection_string
from contracts.servers.gcs import Bucket, GcsServer, Stored, gcs_server
from contracts.servers.stub import Answer, Request, stub_server
from orphangc.adapters.open import open_storage

URIS = {"abfs": f"abfs://filled@{ACCOUNT}.dfs.core.windows.net/cp", "gs": "gs://filled/cp"}
_KEY = "cp/0123456789abcdef0123456789abcdef/shared/00000000-0000-4000-8000-{:012x}"
_TIME = "Fri, 02 Jan 2026 03:04:05 GMT"
_PAGE = 5000


def ours(uri: str) -> int:
    """Return the number of keys that a storage lists."""
    return sum(batch.num_rows for batch in open_storage(uri).objects())


def theirs(uri: str) -> int:
    """Return the number of keys that fsspec's file system finds."""
    import fsspec  # noqa: PLC0415 - its import is no part of ours

    scheme, path = uri.split("://")
    more = {"connection_string": os.environ["AZURE_STORAGE_CONNECTION_STRING"]}
    found = fsspec.filesystem(scheme, **(more if scheme == "abfs" else {}))
    return len(found.find(path.replace(f"@{ACCOUNT}.dfs.core.windows.net", ""), detail=True))


def measure(who: str, uri: str) -> None:
    """Print the CPU time of a listing, after that of one key."""
    listing = {"ours": ours, "theirs": theirs}[who]
    listing(uri + "/one")
    before = resource.getrusage(resource.RUSAGE_SELF)
    count = listing(uri + "/many")
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(count, spent / count * 1e6)


def azure(keys: int, request: Request) -> Answer:
    """Return a page of blobs."""
    prefix, start = request.query.get("prefix", ""), int(request.query.get("marker") or 0)
    if "comp" not in request.query:
        return Answer("", 404)  # no blob has the name of a folder
    last = 1 if "one" in prefix else keys
    folder = prefix.partition("/")[2].strip("/").partition("/")[0] or "many"
    end = min(start + _PAGE, last)
    blobs = "".join(
        f"<Blob><Name>{_KEY.format(number).replace('cp/', f'cp/{folder}/')}</Name><Properties>"
        f"<Creation-Time>{_TIME}</Creation-Time><Last-Modified>{_TIME}</Last-Modified>"
        "<Etag>0x8DE1</Etag><Content-Length>100</Content-Length><Content-Type>a/b</Content-Type>"
        "<BlobType>BlockBlob</BlobType><AccessTier>Hot</AccessTier>"
        "<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>"
        "<ServerEncrypted>true</ServerEncrypted></Properties></Blob>"
        for number in range(start, end)
    )
    marker = str(end) if end < last else ""
    return Answer(
        "<?xml version='1.0'?><EnumerationResults ServiceEndpoint='http://127.0.0.1/'"
        f" ContainerName='filled'><Blobs>{blobs}</Blobs>"
        f"<NextMarker>{marker}</NextMarker></EnumerationResults>",
        headers={"Content-Type": "application/xml"},
    )


def fill(server: GcsServer, keys: int) -> None:
    """Put one object and many into a bucket."""
    bucket = server.buckets["filled"] = Bucket()
    for folder, count in (("one", 1), ("many", keys)):
        for number in range(count):
            name = _KEY.format(number).replace("cp/", f"cp/{folder}/")
            facts = {"name": name, "size": "100", "timeCreated": "2026-01-02T03:04:05.678Z"}
            facts |= {"generation": "1700000000000001", "updated": "2026-01-02T03:04:05.678Z"}
            bucket.live[name] = Stored(facts, b"")


@contextmanager
def servers(keys: int) -> Iterator[dict[str, str]]:
    """Start both, and yield the environment of a client."""
    with ExitStack() as stack:
        stub, google = stack.enter_context(stub_server()), stack.enter_context(gcs_server())
        stub.answer = lambda request: azure(keys, request)
        fill(google, keys)
        yield os.environ | {
            "AZURE_STORAGE_CONNECTION_STRING": connection_string(stub.url),
            "STORAGE_EMULATOR_HOST": google.url,
            "NO_GCE_CHECK": "true",
        }


def main() -> None:
    """Measure each client in turn."""
    if sys.argv[1:2] == ["measure"]:
        measure(*sys.argv[2:4])
        return
    keys, rounds = (int(arg) for arg in (*sys.argv[1:], "20000", "3")[:2])
    spent: dict[tuple[str, str], list[float]] = {}
    with servers(keys) as environment:
        for _ in range(rounds):
            for scheme, uri in URIS.items():
                for who in ("ours", "theirs"):
                    command = [sys.executable, __file__, "measure", who, uri]
                    ran = subprocess.run(
                        command, check=True, capture_output=True, text=True, env=environment
                    )
                    count, cost = ran.stdout.split()
                    if int(count) != keys:
                        sys.exit(f"{who} listed {count} of {keys} keys of {uri}")
                    spent.setdefault((scheme, who), []).append(float(cost))
    print(f"\n| {keys} keys | orphangc, us CPU a key | `find` of fsspec's, us CPU a key |")
    print("|---|---|---|")
    for scheme, name in (("abfs", "Azure (adlfs)"), ("gs", "Google (gcsfs)")):
        row = [median(spent[scheme, who]) for who in ("ours", "theirs")]
        print(f"| {name} | {row[0]:.1f} | {row[1]:.1f} |")


if __name__ == "__main__":
    main()
