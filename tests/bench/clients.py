"""Lists a prefix of a bucket once by one library; prints how many objects it saw.

Run by the throw-away environment of ``competitors.py``, so nothing of this project is imported.
``AWS_*`` name server and credentials.
"""

import os
import sys


def obstore_arrow(bucket: str, prefix: str) -> int:
    """Count the rows of Arrow batches, one a page."""
    import obstore  # noqa: PLC0415 - each client pays for its own imports only
    from obstore.store import S3Store  # noqa: PLC0415

    store = S3Store(
        bucket, endpoint=os.environ["AWS_ENDPOINT_URL"], client_options={"allow_http": True}
    )
    stream = obstore.list(store, prefix, chunk_size=1000, return_arrow=True)
    return sum(batch.num_rows for batch in stream)


def s3fs_find(bucket: str, prefix: str) -> int:
    import s3fs  # noqa: PLC0415

    files = s3fs.S3FileSystem(use_listings_cache=False)
    return len(files.find(f"{bucket}/{prefix}", detail=True))


def boto3_pages(bucket: str, prefix: str) -> int:
    import boto3  # noqa: PLC0415

    pages = (
        boto3.client("s3").get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    )
    return sum(len(page.get("Contents", ())) for page in pages)


_CLIENTS = {"obstore": obstore_arrow, "s3fs": s3fs_find, "boto3": boto3_pages}

if __name__ == "__main__":
    print(_CLIENTS[sys.argv[1]](*sys.argv[2:]))
