"""A container of Azure Blob Storage, behind the client of Azure and adlfs's credentials."""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import requests
from adlfs import AzureBlobFileSystem
from azure.core import MatchConditions
from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    ServiceRequestTimeoutError,
)
from azure.core.pipeline.transport import RequestsTransport
from azure.storage.blob import BlobProperties, BlobServiceClient, ContainerClient, ExponentialRetry
from requests.adapters import HTTPAdapter

from flinkstate.places.locations import Location
from flinkstate.text.redaction import one_line
from orphangc.adapters.azure.blob_pages import read_page
from orphangc.adapters.files.translate import host_now
from orphangc.adapters.object_store.answers import PartAnswer, batch_results, check_part
from orphangc.adapters.object_store.bucket import (
    BucketPage,
    PageRequest,
    RequestError,
    all_answers,
    if_present,
    reported,
)
from orphangc.adapters.object_store.object_storage import ObjectStorage
from orphangc.adapters.storage_options import storage_options
from orphangc.core.documents.bucket_settings import BucketSettings
from orphangc.core.model.types import StoredObject
from orphangc.core.times.instants import known
from orphangc.errors import SettingsError
from orphangc.ports import HIDDEN_SCHEMA, LISTING_SCHEMA, HiddenKind

_WRITER = "orphangc_writer"  # names of metadata are identifiers of C#
_IS_FOLDER = "hdi_isfolder"
_TIME = LISTING_SCHEMA.field("modified_at").type
_SERVICE = "Microsoft.Storage/storageAccounts/blobServices"
_RULES = "az storage account management-policy show"
_HIDDEN = ["deleted", "versions"]
_FEW = 1000
_NO_CREDENTIALS = (
    "no credentials: set AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_ACCOUNT_KEY or"
    " AZURE_STORAGE_SAS_TOKEN, or sign in (workload identity, managed identity, az login)"
)
"""No request was made. What each kind of credentials lacks the client says in twenty lines."""
_BUSY = "ServerBusy"
"""Code of a request that was turned away, whose status is that of an outage."""


class _RawAnswerError(Exception):
    """Carries an answer past the client, which would make objects of it, or lose its numbers."""

    def __init__(self, body: bytes, headers: Mapping[str, str]) -> None:
        super().__init__()
        self.body = body
        self.headers = headers


class AzureContainer(ObjectStorage):
    """A container, seen from one storage root.

    Source: Azure's Blob Storage REST API; the identity of a blob is its ETag, which every write
    changes.
    """

    is_tested = True
    page_size = 5000
    batch_size = 256
    hidden_unsupported = ObjectStorage.hidden_unsupported | {HTTPStatus.BAD_REQUEST}

    def __init__(self, location: Location, *, shows_all: bool = False) -> None:
        super().__init__(location, shows_all=shows_all)
        self._service, self._client = open_service(location)
        self.server = self._service.primary_hostname

    @cached_property
    def _once(self) -> ContainerClient:
        return open_service(self.location, attempts=1)[1]

    def page(self, asked: PageRequest) -> BucketPage:
        """Return one page; see ``Bucket``. ``end`` saves nothing here."""
        more = {"start_from": asked.start} if asked.start else {}
        list_blobs: Any = self._client.list_blobs
        if asked.delimiter:
            list_blobs = partial(self._client.walk_blobs, delimiter=asked.delimiter)
        body = self._page(list_blobs, asked.prefix, asked.token, most=asked.most, **more)
        found = read_page(body)
        columns = (found.names, found.sizes, pa.array(found.times, _TIME), found.etags)
        return self.page_of(asked.prefix, columns, found.folders, found.token)

    def _page(
        self, list_blobs: Any, prefix: str, token: str, *, most: int | None = None, **more: Any
    ) -> bytes:
        asked_at = host_now()
        with _translated():
            listing = list_blobs(
                name_starts_with=prefix,
                results_per_page=most or self.page_size,
                raw_response_hook=_pass_on,
                **more,
            )
            try:
                next(listing.by_page(token or None))
            except _RawAnswerError as answer:
                self.note_page(asked_at, answer.headers.get("Date"))
                return answer.body
        raise RequestError("a page of the listing had no answer")

    def _hidden_page(self, token: str) -> tuple[pa.RecordBatch, str]:
        body = self._page(self._client.list_blobs, self.root, token, include=_HIDDEN)
        found = read_page(body, is_hidden=True)
        rows = [
            {"kind": HiddenKind.NONCURRENT, "key": self.relative(name), "size": size, "at": at}
            for name, size, at in zip(found.names, found.sizes, found.times, strict=True)
        ]
        return pa.RecordBatch.from_pylist(rows, schema=HIDDEN_SCHEMA), found.token

    def versions(self) -> Iterator[pa.RecordBatch]:
        """Yield versions and deleted blobs; see ``Storage``."""
        return reported(self, "versions in", all_answers(self._hidden_page, ""))

    def shows_order(self) -> bool:
        """Return whether the store shows an order; a hierarchical namespace has its own."""
        return not self._is_hierarchical() and super().shows_order()

    def head(self, name: str) -> StoredObject | None:
        """Return the facts of a blob; see ``Bucket``."""
        found = self._properties(name)
        if found is None or (found.metadata or {}).get(_IS_FOLDER) == "true":
            return None
        return StoredObject(
            key=self.relative(name),
            size=found.size,
            modified_at=known(found.last_modified),
            etag=(found.etag or "").strip('"') or None,
        )

    def get(self, name: str, *, start: int, size: int) -> bytes:
        """Return some bytes of a blob; see ``Bucket``."""
        answers = list[_Part]()
        with _translated():
            try:
                found = self._client.download_blob(
                    name,
                    offset=start,
                    length=size,
                    raw_response_hook=lambda answer: answers.append(_part_of(answer)),
                )
                data = bytes(found.readall())
            except HttpResponseError as err:
                if err.status_code != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                    raise
                return b""
        for each in answers:  # the client takes whatever comes
            _check_part(name, each)
        return data

    def put(self, name: str, data: bytes, *, writer: str, is_new: bool) -> None:
        """Write a blob; see ``Bucket``."""
        with _translated():
            self._client.upload_blob(name, data, overwrite=not is_new, metadata={_WRITER: writer})

    def writer(self, name: str) -> str | None:
        """Return the writer of a blob; see ``Bucket``."""
        found = self._properties(name)
        return None if found is None else (found.metadata or {}).get(_WRITER)

    def remove(self, name: str) -> None:
        """Remove a blob; see ``Bucket``."""
        if_present(partial(_translated()(self._client.delete_blob), name))

    def keeps_versions(self) -> bool:
        """Return whether the account keeps deleted blobs, or versions; see ``Bucket``."""
        with contextlib.suppress(RequestError):
            if self._soft_delete_days() is not None:
                return True
        return self._has_versions()

    def bucket_settings(self) -> BucketSettings:
        """Return what the client of the storage can read of the settings; see ``Storage``.

        Lifecycle rules and versioning stand in Azure's management plane; a listing shows versions.
        """
        unread, refuses = list[str](), list[str]()
        days: int | None = None
        with self.translated("read the settings of"):
            with _noting(unread, f"{_SERVICE}/read"):
                days = self._soft_delete_days()
            with _noting(unread, f"{_SERVICE}/containers/read"), _translated():
                container = self._client.get_container_properties()
                if container.has_immutability_policy:
                    refuses.append("an immutability policy of the container")
                if container.has_legal_hold:
                    refuses.append("a legal hold on the container")
            is_versioned = self._has_versions()
            archived = self._archived()
        return BucketSettings(
            archived=archived,
            soft_delete_days=days,
            refuses=tuple(refuses),
            unread=tuple(unread),
            unseen=(
                ("versions are kept" if is_versioned else "no versions were seen"),
                f"lifecycle rules stand elsewhere: {_RULES} prints them",
            ),
        )

    def _soft_delete_days(self) -> int | None:
        with _translated():
            policy = self._service.get_service_properties()["delete_retention_policy"]
        return policy.days if policy.enabled else None

    def _has_versions(self) -> bool:
        """Return whether a listing shows versions; only the owner may read the setting."""
        with contextlib.suppress(RequestError), _translated():
            pages = self._client.list_blobs(
                name_starts_with=self.root, include=["versions"], results_per_page=1
            )
            return any(each.version_id for each in next(pages.by_page(), ()))
        return False

    def _archived(self) -> str | None:
        """Return one of the first blobs that is in the archive, where nothing reads it at once."""
        with _translated():
            pages = self._client.list_blobs(name_starts_with=self.root, results_per_page=_FEW)
            first = next(pages.by_page(), ())
            found = (self.relative(each.name) for each in first if each.blob_tier == "Archive")
            return next(found, None)

    def restorable(self, name: str, identity: str) -> Callable[[], None] | None:
        """Return what restores the blob with an ETag; see ``Bucket``."""
        for each in self._kept(name):
            if (each.etag or "").strip('"') == identity:
                return partial(self._restore, each)
        return None

    def _kept(self, name: str) -> Iterator[BlobProperties]:
        with _translated():
            found = self._client.list_blobs(name_starts_with=name, include=_HIDDEN)
            for each in found:
                if each.name != name:
                    return
                if each.deleted or (each.version_id and not each.is_current_version):
                    yield each

    def _restore(self, kept: BlobProperties) -> None:
        """Undelete a blob; make a version of it the current one, unless there is a blob."""
        blob = self._client.get_blob_client(kept.name)
        with _translated():
            if kept.deleted:
                blob.undelete_blob()
            if kept.version_id:
                separator = "&" if "?" in blob.url else "?"  # of a SAS, which the copy needs too
                source = f"{blob.url}{separator}versionid={quote(kept.version_id, safe='')}"
                copied = blob.start_copy_from_url(source, match_condition=MatchConditions.IfMissing)
                if copied["copy_status"] != "success":
                    raise RequestError(f"its copy is {copied['copy_status']}")

    def _is_hierarchical(self) -> bool:
        try:
            with _translated():
                return bool(self._client.get_account_information().get("is_hns_enabled"))
        except RequestError as err:
            if not err.is_forbidden:
                raise
            return False

    def account_buckets(self) -> tuple[str, ...]:
        """Return the containers of the account; see ``Bucket``."""
        _, at, account = self.location.authority.partition("@")
        with _translated():
            found = [each.name for each in self._service.list_containers()]
        return tuple(sorted(f"abfs://{name}{at}{account}" for name in found))

    def _properties(self, name: str) -> BlobProperties | None:
        blob = self._client.get_blob_client(name)
        return if_present(_translated()(blob.get_blob_properties))

    def _delete(self, name: str, identity: str) -> None:
        with _translated():
            self._once.delete_blob(name, **_if_match(identity))

    def _delete_batch(self, objects: Sequence[tuple[str, str]]) -> list[RequestError | None]:
        wanted = [{"name": name, **_if_match(etag)} for name, etag in objects]
        with _translated():
            try:
                self._once.delete_blobs(*wanted, raw_response_hook=_pass_on)
            except _RawAnswerError as answer:
                kind = answer.headers.get("Content-Type", "")
                return batch_results(kind, answer.body, len(objects), _part_error)
        raise RequestError("the deletions had no answer")


def _if_match(etag: str) -> dict[str, Any]:
    return {"etag": f'"{etag}"', "match_condition": MatchConditions.IfNotModified}


def _pass_on(answer: Any) -> None:
    """Raise the body of an answer: the client need not make objects of it."""
    found = answer.http_response
    if found.status_code in {HTTPStatus.OK, HTTPStatus.ACCEPTED}:
        raise _RawAnswerError(found.body(), found.headers)


_Part = tuple[int, str, str, int]
"""Status of an answer, the range that was asked for, the one that it states, and its length."""


def _part_of(answer: Any) -> _Part:
    """Return the facts of an answer: itself it holds a connection."""
    found, asked = answer.http_response, answer.http_request.headers["x-ms-range"]
    stated, length = (found.headers.get(each) for each in ("Content-Range", "Content-Length"))
    return found.status_code, asked, stated or "", -1 if length is None else int(length)


def _check_part(name: str, part: _Part) -> None:
    status, asked, stated, length = part
    if status >= HTTPStatus.MULTIPLE_CHOICES:
        return  # one that the client repeated
    first, last = map(int, asked.removeprefix("bytes=").split("-"))
    check_part(name, range(first, last + 1), status=status, stated=stated, length=length)


def _part_error(part: PartAnswer) -> RequestError:
    return _error(part.status, part.headers.get("x-ms-error-code", ""), f"HTTP {part.status}")


def _error(status: int, code: str, text: str) -> RequestError:
    """Return the error; of several conditions only the ETag's says that the blob changed."""
    if code == _BUSY:
        status = HTTPStatus.TOO_MANY_REQUESTS
    is_etag = code in {"", "ConditionNotMet"}
    if status == HTTPStatus.PRECONDITION_FAILED and not is_etag:
        status = HTTPStatus.CONFLICT
    return RequestError(text.partition("\n")[0], status=status, code=code)


@contextmanager
def _noting(unread: list[str], right: str) -> Iterator[None]:
    """Note a right that is missing, and go on."""
    try:
        yield
    except RequestError as err:
        if not err.is_forbidden:
            raise
        unread.append(right)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except HttpResponseError as err:
        if isinstance(err, ClientAuthenticationError) and err.status_code is None:
            raise RequestError(_NO_CREDENTIALS, status=HTTPStatus.UNAUTHORIZED) from err
        code = getattr(err.error_code, "value", None) if hasattr(err, "error_code") else None
        raise _error(err.status_code or 0, code or "", str(err.message)) from err
    except ServiceRequestTimeoutError as err:  # no connection came about
        raise RequestError.of(err, is_sent=False) from err
    except (AzureError, OSError, ValueError) as err:
        raise RequestError.of(err) from err


_ACCOUNT = re.compile(
    r"(?P<container>[^@]+)@(?P<account>[^.]+)(?P<zone>(\.z\d+)?)\.dfs\.(?P<cloud>.+)"
)
_PUBLIC_CLOUD = "core.windows.net"
_ATTEMPTS = 5
BACKOFF: dict[str, Any] = {"initial_backoff": 1, "increment_base": 2, "random_jitter_range": 1}
"""Seconds before a request is repeated: 1, 3, 5, 9."""
_CONNECTIONS = 64


def open_service(
    location: Location, *, attempts: int = _ATTEMPTS
) -> tuple[BlobServiceClient, ContainerClient]:
    """Return the clients of the account and the container that a location names.

    adlfs reads ``storage_options``, ``AZURE_STORAGE_*`` and fsspec's own settings: a connection
    string, a key, a SAS token, a service principal; without any of them, Azure's default
    credentials are taken (workload identity, managed identity, the command line's login).

    Raises:
        SettingsError: There are no credentials, or they are another account's.
    """
    named = _ACCOUNT.fullmatch(location.authority)
    container = named["container"] if named else location.authority
    options: dict[str, Any] = {"use_listings_cache": False, "skip_instance_cache": True}
    if named:
        options["account_name"] = named["account"]
        if named["cloud"] != _PUBLIC_CLOUD:
            host = f"{named['account']}{named['zone']}"
            options["account_host"] = f"{host}.blob.{named['cloud']}"
    try:
        file_system = AzureBlobFileSystem(**{**options, **storage_options(location)})
        service = _service(file_system, attempts)
    except (ValueError, TypeError) as err:
        raise SettingsError(one_line(f"cannot open {location}: {err}")) from err
    if named and service.account_name not in {named["account"], None}:  # a host of their own
        raise SettingsError(
            f"{location} is in account {named['account']}, but the credentials are those of"
            f" account {service.account_name}"
        )
    return service, service.get_container_client(container)


def _service(found: AzureBlobFileSystem, attempts: int) -> BlobServiceClient:
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(pool_maxsize=_CONNECTIONS))
    settings: dict[str, Any] = {
        "retry_policy": ExponentialRetry(**BACKOFF, retry_total=attempts - 1),
        "connection_timeout": 5,
        "read_timeout": 60,
        "max_single_put_size": 1 << 30,
        "transport": RequestsTransport(session=session),
    }
    if found.connection_string is not None:
        return BlobServiceClient.from_connection_string(found.connection_string, **settings)
    credential = found.sync_credential or found.account_key or found.sas_token
    return BlobServiceClient(found.account_url, credential=credential, **settings)
