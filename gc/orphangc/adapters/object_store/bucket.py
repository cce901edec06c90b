"""A bucket of an object store: what differs between S3, Azure and Google Cloud Storage.

All else is one storage and one state location for all of them. The store compares the identity of
an object (an ETag, a generation) itself, so nothing happens between the check and the deletion; S3
may be served by stores that do not, so each object is looked at before, too.
"""

import re
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Self, TypeVar

import pyarrow as pa
import structlog

from flinkstate.places.locations import Location
from flinkstate.text.redaction import one_line
from orphangc.adapters.files.translate import host_now, unreachable
from orphangc.adapters.object_store.answer_clock import DatedAnswer
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.errors import NotReportedError, SettingsError, StorageUnreachableError
from orphangc.ports import LISTING_SCHEMA, DeletionResult, DeletionStatus, Storage

UNSUPPORTED = frozenset({HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED})
"""What a service answers that knows no such request."""
AT_ONCE = 32
"""Requests of one call at a time."""

_T = TypeVar("_T")
_R = TypeVar("_R")
_Token = TypeVar("_Token")

_log = structlog.get_logger()


class RequestError(Exception):
    """A request that failed.

    Attributes:
        status: HTTP status of the answer, 0 without an answer.
        code: Code of the store, "" without one.
        is_sent: Whether the request may have reached the store.
    """

    def __init__(self, text: str, *, status: int = 0, code: str = "", is_sent: bool = True) -> None:
        super().__init__(": ".join(filter(None, (code, text))))
        self.status = status
        self.code = code
        self.is_sent = is_sent

    @classmethod
    def of(cls, err: Exception, *, is_sent: bool = True) -> Self:
        """Return the failure that an error of a client stands for."""
        return cls(f"{type(err).__name__}: {err}".partition("\n")[0], is_sent=is_sent)

    @property
    def is_absent(self) -> bool:
        """Return whether the store says that what was asked for does not exist."""
        return self.status == HTTPStatus.NOT_FOUND

    @property
    def is_forbidden(self) -> bool:
        """Return whether the store refuses to answer this account."""
        return self.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}

    @property
    def deletion_status(self) -> DeletionStatus:
        """Return what the failure of a deletion says of the object.

        Service unavailable is no refusal: a proxy says so of what it had passed on.
        """
        if self.status == HTTPStatus.TOO_MANY_REQUESTS:
            return DeletionStatus.REFUSED
        if self.is_absent:
            return DeletionStatus.GONE
        if self.status == HTTPStatus.PRECONDITION_FAILED:
            return DeletionStatus.CHANGED
        is_final = HTTPStatus.BAD_REQUEST <= self.status < HTTPStatus.INTERNAL_SERVER_ERROR
        is_final = is_final and self.status != HTTPStatus.REQUEST_TIMEOUT
        return DeletionStatus.FAILED if is_final or not self.is_sent else DeletionStatus.UNKNOWN

    @property
    def is_refusal(self) -> bool:
        """Return whether a failed request has done nothing, and would fail again."""
        may_pass = {DeletionStatus.REFUSED, DeletionStatus.UNKNOWN}
        return self.status == HTTPStatus.NOT_IMPLEMENTED or self.deletion_status not in may_pass


class ConditionsRefusedError(RequestError):
    """The store takes no conditions with deletions; the request has done nothing."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What one page of a listing is asked for.

    Attributes:
        prefix: Start of the names.
        token: ``BucketPage.token`` of the page before.
        start: First name of the listing, where the store can begin anywhere; S3 begins behind.
        end: Names after this one need not be shown.
        delimiter: Names with it behind the prefix are shown as ``BucketPage.folders``.
        most: Maximum number of objects; ``Bucket.page_size`` by default.
    """

    prefix: str
    token: str = ""
    start: str = ""
    end: str = ""
    delimiter: str = ""
    most: int | None = None


@dataclass(frozen=True, slots=True)
class BucketPage:
    """One page of a listing.

    Attributes:
        rows: Objects as ``LISTING_SCHEMA``; keys are relative to the storage root.
        folders: Whole names of the common prefixes, with their last slash.
        token: Where the next page begins, "" after the last.
        keys: Keys of the rows in bytes, which define the order.
        is_counted: Whether the store shows that no row was lost: an empty page is no object.
    """

    rows: pa.RecordBatch
    folders: tuple[str, ...]
    token: str
    keys: pa.BinaryArray
    is_counted: bool = True


class Bucket(Storage):
    """A bucket (a container of Azure's), seen from one storage root; serves many threads at once.

    Every name that a method takes or returns is whole: it begins with ``root``. A key, as methods
    of ``Storage`` take it, is what follows.

    Attributes:
        root: Start of every name below the storage root: "" or ending in a slash.
        unnameable: Keys that a URL cannot hold, or that it changes: clients resolve ``..`` before
            they send it.
        hidden_unsupported: Statuses with which a service answers that knows no listing of what is
            hidden, or has soft delete switched off.
    """

    page_size = 1000
    hidden_unsupported: frozenset[int] = UNSUPPORTED
    unnameable = re.compile(
        "[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]|(^|/)\\.\\.?(/|$)|^/|//|/$|^$", re.DOTALL
    )

    def __init__(self, location: Location, *, shows_all: bool = False) -> None:
        """Open the bucket.

        Args:
            shows_all: Whether a page of all keys may stand for the lists of single folders.
        """
        if not location.authority:
            raise SettingsError(f"{location} names no bucket")
        self.location = location
        self.root = f"{location.path[1:]}/" if location.path != "/" else ""
        self._is_large = not shows_all
        self._dated: DatedAnswer | None = None
        self._has_batches = True
        self._counting = threading.Lock()

    @abstractmethod
    def page(self, asked: PageRequest) -> BucketPage:
        """Return one page of names, or raise ``RequestError`` if it failed, or is damaged."""

    def shows_order(self) -> bool:
        """Return whether pages ascend by the UTF-8 bytes of names and can begin anywhere.

        The store shows it: asked to begin at its second name, it does. A service that does not know
        ``start`` begins at the first; one with directories has an order of its own, and shows some
        on its first page.
        """
        first = self.page(PageRequest(self.root))
        if first.rows["size"].null_count:
            return False
        keys = first.rows["key"].to_pylist()
        if len(keys) < 2:  # noqa: PLR2004 - one page shows them all
            return not first.token
        second = PageRequest(self.root, start=self.root + keys[1], most=1)
        again = self.page(second).rows["key"]
        return len(again) > 0 and again[0].as_py() == keys[1]

    @abstractmethod
    def head(self, name: str) -> StoredObject | None:
        """Return the present facts of an object, ``None`` if it is absent; a folder is absent."""

    @abstractmethod
    def get(self, name: str, *, start: int, size: int) -> bytes:
        """Return at most ``size`` bytes from ``start`` on; "" behind the end."""

    @abstractmethod
    def put(self, name: str, data: bytes, *, writer: str, is_new: bool) -> None:
        """Write an object; if ``is_new``, only if there is none (``PRECONDITION_FAILED``)."""

    @abstractmethod
    def writer(self, name: str) -> str | None:
        """Return the writer that ``put`` was given, ``None`` without object or writer."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove an object of the state location; an absent one is no error."""

    def send_deletions(self, objects: Sequence[tuple[str, str]]) -> list[str | RequestError | None]:
        """Delete names while they have an identity, in one request where the store takes it.

        Each deletion is sent once.

        Returns:
            For each name what ``restorable`` takes, if the store may keep what was deleted, or the
            error.

        Raises:
            RequestError: The store refused the whole request.
        """
        errors: list[RequestError | None] | None = None
        if self._has_batches and len(objects) > 1:
            try:
                errors = self._delete_batch(objects)
            except RequestError as err:
                if not err.status or not err.is_refusal:
                    return [err] * len(objects)
                _log.warning("deletion.no_batches", status=err.status, code=err.code)
                self._has_batches = False  # the whole batch was refused: nothing is deleted
        if errors is None:
            errors = each(self._delete_one, objects)
        return [err or identity for err, (_, identity) in zip(errors, objects, strict=True)]

    def _delete_batch(self, objects: Sequence[tuple[str, str]]) -> list[RequestError | None]:
        """Delete names in one request; return ``None`` or the error for each."""
        raise NotImplementedError

    def _delete_one(self, wanted: tuple[str, str]) -> RequestError | None:
        try:
            self._delete(*wanted)
        except RequestError as err:
            return err
        return None

    def _delete(self, name: str, identity: str) -> None:
        """Delete one name in one request, while it has an identity, or raise ``RequestError``."""
        raise NotImplementedError

    @abstractmethod
    def keeps_versions(self) -> bool:
        """Return whether a deleted object can be restored; false if that may not be asked."""

    @abstractmethod
    def restorable(self, name: str, identity: str) -> Callable[[], None] | None:
        """Return what restores a deleted object, ``None`` if the store has kept none of it.

        It must not replace an object that has the name meanwhile.
        """

    @abstractmethod
    def account_buckets(self) -> tuple[str, ...]:
        """Return the URIs of all buckets of the account, or raise ``RequestError``."""

    @property
    def dated(self) -> DatedAnswer | None:
        """Return the times of the last answer that had them, ``None`` before the first."""
        return self._dated

    def note_page(self, asked_at: datetime, date: str | None) -> None:
        """Record what a page that just came says of the store's time, and count it."""
        self._dated = DatedAnswer(asked_at, host_now(), date)
        self.count_request()

    def count_request(self) -> None:
        """Count a list request; many threads may send one at the same time."""
        with self._counting:
            self.list_requests += 1

    def relative(self, name: str) -> ObjectKey:
        """Return a name relative to the storage root, or raise ``RequestError`` for one outside."""
        if not name.startswith(self.root):
            raise RequestError(f"asked for {self.root!r}, got {name!r}")
        return ObjectKey(name[len(self.root) :])

    def page_of(
        self,
        prefix: str,
        columns: tuple[Sequence[str], Sequence[int | None], pa.Array, Sequence[str | None]],
        folders: Iterable[str],
        token: str,
    ) -> BucketPage:
        """Return a page of names, sizes, known times and identities.

        A name that does not start with ``prefix`` is a ``RequestError``: it answers another one.
        """
        with understood():
            names, sizes, times, etags = columns
            folders = tuple(folders)
            for name in (*names, *folders):
                if not name.startswith(prefix):
                    raise RequestError(f"asked for {prefix!r}, got {name!r}")
            cut = len(self.root)
            types = LISTING_SCHEMA.types
            arrays = [
                pa.array([name[cut:] for name in names], types[0]),
                pa.array(sizes, types[1]),
                times,
                pa.array(etags, types[3]),
            ]
            rows = pa.RecordBatch.from_arrays(arrays, schema=LISTING_SCHEMA)
            return BucketPage(rows, folders, token, rows["key"].cast(pa.binary()))

    def explained(self, action: str, err: Exception) -> StorageUnreachableError:
        """Return the error to raise ``from err``."""
        top = f"{self.location.scheme}://{self.location.authority}"
        return unreachable(f"{action} {top}", err)

    @contextmanager
    def translated(self, action: str) -> Iterator[None]:
        """Translate errors of requests into ``StorageUnreachableError``."""
        try:
            yield
        except RequestError as err:
            raise self.explained(action, err) from err


@contextmanager
def understood() -> Iterator[None]:
    """Raise ``RequestError`` for an answer of another form: what reads it assumes the usual one."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as err:
        raise RequestError(f"an answer is damaged: {err!r}") from err


def if_present(ask: Callable[[], _R]) -> _R | None:
    """Return an answer about an object, ``None`` if the store says that it is absent."""
    try:
        return ask()
    except RequestError as err:
        if err.is_absent:
            return None
        raise


def each(work: Callable[[_T], _R], wanted: Iterable[_T]) -> list[_R]:
    """Return what ``work`` returns for each of these, in order; many run at the same time."""
    todo = list(wanted)
    if len(todo) <= 1:
        return [work(one) for one in todo]
    with ThreadPoolExecutor(min(AT_ONCE, len(todo)), thread_name_prefix="bucket") as pool:
        return list(pool.map(work, todo))


def result_of(key: ObjectKey, answer: str | RequestError | None) -> DeletionResult:
    """Return the result of a deletion, from what ``send_deletions`` returned for it."""
    if not isinstance(answer, RequestError):
        return DeletionResult(key=key, status=DeletionStatus.DELETED, version_id=answer)
    status = answer.deletion_status
    is_said = status in {DeletionStatus.GONE, DeletionStatus.CHANGED}
    return DeletionResult(key=key, status=status, error=None if is_said else one_line(answer))


def all_answers(ask: Callable[[_Token], tuple[_R, _Token]], first: _Token) -> Iterator[_R]:
    """Yield the answers to a request that continues from the token of the one before.

    Args:
        ask: Returns the answer for a token, and the next token, ``first`` after the last.
        first: Token of the first answer.

    Raises:
        RequestError: An answer is followed by itself.
    """
    token, seen = first, {first}
    while True:
        answer, token = ask(token)
        yield answer
        if token == first:
            return
        if token in seen:
            raise RequestError("the listing is cut off: a page is followed by itself")
        seen.add(token)


def reported(bucket: Bucket, what: str, *listings: Iterable[_R]) -> Iterator[_R]:
    """Yield what listings show that not every service or account shows; see ``Storage.versions``.

    Args:
        what: What they show, for people.
        listings: Each raises ``RequestError`` where it cannot go on.

    Raises:
        NotReportedError: The account may not see one of them, or the service knows none of them.
        StorageUnreachableError: Any other error.
    """
    refused: list[RequestError] = []
    for listing in listings:
        try:
            with understood():
                yield from listing
        except RequestError as err:
            if not (err.is_forbidden or err.status in bucket.hidden_unsupported):
                raise bucket.explained(f"list {what}", err) from err
            refused.append(err)
    is_forbidden = any(each.is_forbidden for each in refused)
    if is_forbidden or len(refused) == len(listings):
        raise NotReportedError(str(refused[0]), is_forbidden=is_forbidden)
