"""moto's server, which also writes a thousand objects at one request: what lists them is tested.

    python -P moto_with_filling.py -H HOST -p PORT    # -P: its neighbour is called moto, too

``POST /fill?bucket=NAME`` with a JSON list of keys writes an object of each, as a PUT of ``bytes``.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

from moto import server
from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends

CONTENT = b"bytes"

Wsgi = Callable[[dict[str, Any], Callable[..., object]], Iterable[bytes]]


def filling(app: Wsgi) -> Wsgi:
    """Return the application with its further request."""

    def answer(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        if environ["PATH_INFO"] != "/fill":
            return app(environ, start_response)
        (bucket,) = parse_qs(environ["QUERY_STRING"])["bucket"]
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        fill(bucket, json.loads(body))
        start_response("204 No Content", [])
        return []

    return answer


def fill(bucket: str, keys: Iterable[str]) -> None:
    """Write an object of each key."""
    store = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
    acl = store.get_bucket(bucket).acl
    for key in keys:
        store.put_object(bucket, key, CONTENT, storage="STANDARD").set_acl(acl)


if __name__ == "__main__":
    run = server.run_simple
    server.run_simple = lambda host, port, app, **options: run(host, port, filling(app), **options)
    server.main()
