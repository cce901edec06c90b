"""Requests to one bucket: signed by gcsfs's credentials, repeated where that is harmless."""

import json
import os
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import requests
import stamina
from gcsfs.core import GCSFileSystem
from google.auth.exceptions import GoogleAuthError
from google.auth.transport.requests import AuthorizedSession
from requests.adapters import HTTPAdapter

from flinkstate.places.locations import Location
from flinkstate.text.redaction import one_line
from orphangc.adapters.files.translate import unreachable
from orphangc.adapters.object_store.answers import PartAnswer
from orphangc.adapters.object_store.bucket import RequestError
from orphangc.adapters.storage_options import storage_options
from orphangc.errors import NotReportedError, SettingsError

ATTEMPTS = 5
FIRST_WAIT = 0.5
"""Seconds before a request is repeated for the first time."""

_TIMEOUTS = (5, 60)
_CONNECTIONS = 64
_PASSING = {
    *(HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.INTERNAL_SERVER_ERROR),
    *(HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT),
}


class GcsRequests:
    """Sends requests about one bucket; serves many threads at once."""

    def __init__(self, location: Location) -> None:
        """Take credentials and endpoint as gcsfs finds them.

        gcsfs reads ``storage_options``, ``FSSPEC_GS_*``, ``STORAGE_EMULATOR_HOST`` and Google's
        default credentials: ``GOOGLE_APPLICATION_CREDENTIALS``, workload identity, the login of
        ``gcloud``.

        Raises:
            SettingsError: There are no usable settings.
            StorageUnreachableError: Credentials cannot be had.
        """
        try:
            options = {"use_listings_cache": False, "skip_instance_cache": True}
            found = GCSFileSystem(**{**options, **storage_options(location)})
        except (OSError, GoogleAuthError) as err:
            raise unreachable(f"open {location}", err) from err
        except (ValueError, TypeError) as err:
            raise SettingsError(one_line(f"cannot open {location}: {err}")) from err
        credentials = found.credentials.credentials
        signing: Any = AuthorizedSession  # without types
        self._session: requests.Session = (
            requests.Session() if credentials is None else signing(credentials)
        )
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(pool_maxsize=_CONNECTIONS))
        self._bucket = f"b/{quote(location.authority, safe='')}"
        self._base = found.base
        self.server = urlsplit(found.base).netloc
        self._upload = f"{found.base.removesuffix('storage/v1/')}upload/storage/v1/"
        self._batch = found.batch_url_base
        self._project = found.project or os.environ.get("GOOGLE_CLOUD_PROJECT")
        payer = found.project if found.requester_pays is True else found.requester_pays
        self._always = {"userProject": str(payer)} if payer else {}

    def send(
        self,
        method: str,
        path: str,
        wanted: Mapping[str, str] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        is_upload: bool = False,
        is_once: bool = False,
    ) -> requests.Response:
        """Return the answer to a request about the bucket, or raise ``RequestError``."""
        query = urlencode({**self._always, **(wanted or {})}, quote_via=quote, safe="")
        url = f"{self._upload if is_upload else self._base}{self._bucket}{path}"
        url = f"{url}?{query}" if query else url
        attempts = 1 if is_once else ATTEMPTS
        again = stamina.retry(
            on=_may_pass, attempts=attempts, wait_initial=FIRST_WAIT, wait_max=8, timeout=None
        )
        return again(lambda: self._answer(method, url, dict(headers or {}), body))()

    def buckets(self, token: str) -> tuple[list[str], str]:
        """Return names of buckets of the project, from a token on, and the next token.

        Raises:
            NotReportedError: No project is known.
            RequestError: The answer is a refusal, or there is none, or it is damaged.
        """
        if not self._project:
            said = "no project is known whose buckets could be listed (GOOGLE_CLOUD_PROJECT)"
            raise NotReportedError(said, is_forbidden=False)
        wanted = {"project": self._project, "fields": "nextPageToken,items(name)"}
        wanted |= {"pageToken": token} if token else {}
        answer = self._answer("GET", f"{self._base}b?{urlencode(wanted)}", {}, None)
        try:
            found = answer.json()
            return [each["name"] for each in found.get("items", ())], found.get("nextPageToken", "")
        except (ValueError, KeyError, TypeError) as err:
            raise RequestError(f"the list of buckets is damaged: {err!r}") from err

    def send_batch(self, content_type: str, body: bytes) -> requests.Response:
        """Return the answer to a batch, which is sent once; see ``send``."""
        return self._answer("POST", self._batch, {"Content-Type": content_type}, body)

    def path(self, path: str, wanted: Mapping[str, str]) -> str:
        """Return path and query of a request about the bucket, for a batch."""
        query = urlencode({**self._always, **wanted}, quote_via=quote, safe="")
        return f"{urlsplit(self._base).path}{self._bucket}{path}?{query}"

    def _answer(
        self, method: str, url: str, headers: dict[str, str], body: bytes | None
    ) -> requests.Response:
        try:
            answer = self._session.request(
                *(method, url),
                headers=headers,
                data=body,
                timeout=_TIMEOUTS,
                allow_redirects=method == "GET",  # any other would be sent on as a GET
            )
        except (GoogleAuthError, requests.ConnectTimeout) as err:
            raise RequestError.of(err, is_sent=False) from err
        except (requests.RequestException, OSError) as err:
            raise RequestError.of(err) from err
        if HTTPStatus.OK <= answer.status_code < HTTPStatus.MULTIPLE_CHOICES:
            return answer
        raise RequestError(error_text(answer), status=answer.status_code)


def error_text(answer: Any) -> str:
    """Return the reason of a refusal: the message in its JSON, or its status line."""
    try:
        found = answer.json()["error"]
        return str(found["message"] if isinstance(found, dict) else found)
    except (ValueError, KeyError, TypeError):
        return f"HTTP {answer.status_code} {answer.reason}"


def _may_pass(err: Exception) -> bool:
    return isinstance(err, RequestError) and (err.status in _PASSING or not err.status)


_SEPARATOR = "orphangc-batch"


def batch_body(paths: Sequence[str]) -> tuple[str, bytes]:
    """Return content type and body of a batch that deletes the objects at these paths."""
    parts = [
        f"--{_SEPARATOR}\r\nContent-Type: application/http\r\nContent-ID: <{number}>\r\n\r\n"
        f"DELETE {path} HTTP/1.1\r\n\r\n"
        for number, path in enumerate(paths)
    ]
    return f"multipart/mixed; boundary={_SEPARATOR}", f"{''.join(parts)}--{_SEPARATOR}--".encode()


def part_error(part: PartAnswer) -> RequestError:
    """Return why a deletion of a batch was not carried out."""
    return RequestError(_reason(part.body) or f"HTTP {part.status}", status=part.status)


def _reason(body: str) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return ""
