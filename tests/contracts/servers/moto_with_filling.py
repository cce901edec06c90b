"""moto's server, with one request more, and with conditional writes that are what S3 promises.

    python -P moto_with_filling.py -H HOST -p PORT    # -P: its neighbour is called moto, too

``POST /fill?bucket=NAME`` with a JSON list of keys writes an object of each, as a PUT of ``bytes``:
what lists thousands is tested. moto looks whether a name exists and writes it in two steps, so that
of two threads both may create it, if one is stopped in between: here one write follows another.
"""

import json
import threading
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any
from urllib.parse import parse_qs

from moto import server
from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends

CONTENT = b"bytes"
_CONDITIONS = {"HTTP_IF_NONE_MATCH", "HTTP_IF_MATCH"}

Wsgi = Callable[[dict[str, Any], Callable[..., object]], Iterable[bytes]]


def filling(app: Wsgi) -> Wsgi:
    """Return the application with its further request."""
    conditional = threading.Lock()

    def answer(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        if environ["PATH_INFO"] != "/fill":
            with conditional if _CONDITIONS & environ.keys() else nullcontext():
                return app(environ, start_response)
        (bucket,) = parse_qs(environ["QUERY_STRING"])["bucket"]
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        fill(bucket, json.loads(body))
        start_response("204 No Content", [])
        return []

    return answer


def fill(bucket: str, keys: Iterable[str]) -> None:
    store = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
    acl = store.get_bucket(bucket).acl
    for key in keys:
        store.put_object(bucket, key, CONTENT, storage="STANDARD").set_acl(acl)


if __name__ == "__main__":
    run = server.run_simple
    server.run_simple = lambda host, port, app, **options: run(host, port, filling(app), **options)
    server.main()
