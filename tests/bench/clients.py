"""Lists a prefix of a bucket once by one library; prints how many objects it saw, or which.

Run by the throw-away environment of ``competitors.py``, so nothing of this project is imported.
``AWS_*`` name server and credentials.
"""

import json
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


def s3fs_keys(bucket: str, prefix: str) -> str:
    """Return the keys below a prefix as JSON."""
    import s3fs  # noqa: PLC0415

    files = s3fs.S3FileSystem(use_listings_cache=False)
    return json.dumps([key.partition("/")[2] for key in files.find(f"{bucket}/{prefix}")])


def obstore_keys(bucket: str, prefix: str) -> str:
    import obstore  # noqa: PLC0415
    from obstore.store import S3Store  # noqa: PLC0415

    store = S3Store(
        bucket, endpoint=os.environ["AWS_ENDPOINT_URL"], client_options={"allow_http": True}
    )
    return json.dumps([each["path"] for page in obstore.list(store, prefix) for each in page])


def boto3_keys(bucket: str, prefix: str) -> str:
    import boto3  # noqa: PLC0415

    pages = (
        boto3.client("s3").get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    )
    return json.dumps([each["Key"] for page in pages for each in page.get("Contents", ())])


_CLIENTS = {
    "obstore": obstore_arrow,
    "s3fs": s3fs_find,
    "boto3": boto3_pages,
    "obstore-keys": obstore_keys,
    "s3fs-keys": s3fs_keys,
    "boto3-keys": boto3_keys,
}

if __name__ == "__main__":
    print(_CLIENTS[sys.argv[1]](*sys.argv[2:]))
