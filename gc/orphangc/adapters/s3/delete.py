"""Deletion in S3: exactly the requested keys, with one result for each.

Every object is revalidated right before. Some stores accept an ``ETag`` in ``DeleteObjects`` and
ignore it (radosgw 16, moto 5); their answers equal those of stores that check it. Where the store
checks it (AWS), it also closes the gap between revalidation and deletion.

A request is sent once. The caller knows the rate of all requests, and retries more slowly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus

import structlog
from botocore import exceptions as boto

from orphangc.adapters.files.translate import one_line
from orphangc.adapters.object_store.bulk_head import BulkHead
from orphangc.adapters.s3.delete_requests import DeleteRequests
from orphangc.adapters.s3.head import S3Reader
from orphangc.adapters.s3.requests.s3_client import (
    CALL_ERRORS,
    Answer,
    S3Client,
    error_code,
    error_text,
)
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.ports import DeletionResult, DeletionStatus

_SLOW_DOWN = {
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "TooManyRequests",
    "429",
}
_PASSING = {"InternalError", "OperationAborted", "RequestTimeout", "ServiceUnavailable"}
_CHANGED = {"PreconditionFailed", "ConditionalRequestConflict", "412"}
_NO_CONDITIONS = {"NotImplemented", "MalformedXML", "InvalidArgument", "InvalidRequest"}
_MARKER, _OBJECT = "DeleteMarkers", "Versions"
_UNNAMEABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_NEVER_SENT = (
    boto.NoCredentialsError,
    boto.PartialCredentialsError,
    boto.CredentialRetrievalError,
    boto.TokenRetrievalError,
    boto.SSOError,
    boto.ParamValidationError,
    boto.ConnectTimeoutError,
)
"""Any other error may follow a request that reached the store."""

_log = structlog.get_logger()


class S3Deleter:
    """Deletes and undeletes keys of one root."""

    def __init__(self, client: S3Client, reader: S3Reader, bulk_head: BulkHead) -> None:
        """Take a client that sends each request once, and the readers of present facts."""
        self._client = client
        self._reader = reader
        self._bulk_head = bulk_head
        self._requests = DeleteRequests(client)
        self._has_conditions = True

    def delete(self, objects: Sequence[StoredObject]) -> list[DeletionResult]:
        """Return one result for each object, in order; see ``Storage``."""
        results: dict[ObjectKey, DeletionResult] = {}
        self._delete(self._still_the_same(objects, results), results)
        return [results[wanted.key] for wanted in objects]

    def undelete(
        self, markers: Sequence[tuple[ObjectKey, str]], *, is_dry: bool = False
    ) -> list[DeletionResult]:
        """Remove exactly these delete markers; see ``Storage``."""
        return [self._undelete(key, version, is_dry=is_dry) for key, version in markers]

    def _still_the_same(
        self, objects: Sequence[StoredObject], results: dict[ObjectKey, DeletionResult]
    ) -> list[StoredObject]:
        """Return the objects that are unchanged; record the results of all others."""
        same = []
        for key in (wanted.key for wanted in objects):
            if not key or _UNNAMEABLE.search(key):
                results[key] = _failed(key, "the key cannot be named in a request")
        nameable = [wanted for wanted in objects if wanted.key not in results]
        facts = self._bulk_head.heads([wanted.key for wanted in nameable])
        if facts and all(isinstance(fact, Exception) and not _is_slow(fact) for fact in facts):
            self._reader.check_bucket()
        for wanted, fact in zip(nameable, facts, strict=True):
            if isinstance(fact, StoredObject) and fact.is_same_as(wanted):
                same.append(wanted)
            else:
                results[wanted.key] = _unfit(wanted.key, fact)
        return same

    def _delete(
        self, pending: list[StoredObject], results: dict[ObjectKey, DeletionResult]
    ) -> None:
        """Delete in one request; record every result.

        Raises:
            StorageUnreachableError: The store refused the whole request, or it was never sent.

        """
        if not pending:
            return
        has_conditions = self._has_conditions  # another thread may find out meanwhile
        try:
            answer = self._send(pending, has_conditions=has_conditions)
        except CALL_ERRORS as err:
            if has_conditions and error_code(err) in _NO_CONDITIONS:
                _log.warning("deletion.conditions_refused", code=error_code(err))
                self._has_conditions = False
                self._delete(self._still_the_same(pending, results), results)
                return
            status = _status_of(err)
            if status is DeletionStatus.FAILED:
                raise self._client.explained("delete in", err) from err
            results.update(_all(pending, status, error_text(err)))
            return
        self._account(pending, answer, results)

    def _send(self, pending: list[StoredObject], *, has_conditions: bool) -> Answer:
        root = self._client.root
        return self._requests.send(
            [(root + o.key, o.etag if has_conditions else None) for o in pending]
        )

    def _account(
        self,
        pending: list[StoredObject],
        answer: Answer,
        results: dict[ObjectKey, DeletionResult],
    ) -> None:
        """Record the result of each key; of two contradicting results the worse one counts."""
        deleted = {entry.get("Key"): entry for entry in answer.get("Deleted", ())}
        errors = {entry.get("Key"): entry for entry in answer.get("Errors", ())}
        for key in (wanted.key for wanted in pending):
            whole = self._client.root + key
            if whole in errors:
                results[key] = _refused(key, errors[whole])
            elif whole in deleted:
                results[key] = DeletionResult(
                    key=key, status=DeletionStatus.DELETED, version_id=_marker(deleted[whole])
                )
            else:
                error = "the store did not mention the key"
                results[key] = DeletionResult(key=key, status=DeletionStatus.UNKNOWN, error=error)

    def _undelete(self, key: ObjectKey, version: str, *, is_dry: bool) -> DeletionResult:
        whole = self._client.root + key
        try:
            kind = self._kind_of(whole, version)
            if kind is None and isinstance(self._reader.heads([key])[0], StoredObject):
                return DeletionResult(key=key, status=DeletionStatus.GONE)
            if kind != _MARKER:
                return _failed(key, f"there is no delete marker {version}")
            if is_dry:
                return DeletionResult(key=key, status=DeletionStatus.DELETED)
            self._client.call("delete_object", Key=whole, VersionId=version)
            if self._kind_of(whole, version) is not None:
                return _failed(key, f"the delete marker {version} is still there")
        except CALL_ERRORS as err:
            return _failed(key, error_text(err))
        return DeletionResult(key=key, status=DeletionStatus.DELETED)

    def _kind_of(self, whole: str, version: str) -> str | None:
        """Return the part of the answer that lists a version: only markers may be deleted by it."""
        request: dict[str, str] = {}
        while True:
            answer = self._client.call("list_object_versions", Prefix=whole, **request)
            for kind in (_MARKER, _OBJECT):
                for each in answer.get(kind, ()):
                    if (each["Key"], each["VersionId"]) == (whole, version):
                        return kind
            following = answer.get("NextKeyMarker")
            if not answer.get("IsTruncated") or following != whole:
                return None  # the versions of the key itself come before all longer keys
            request = {"KeyMarker": following, "VersionIdMarker": answer["NextVersionIdMarker"]}


def _is_slow(err: BaseException) -> bool:
    """Return whether the store throttles requests and has changed nothing."""
    return error_code(err) in _SLOW_DOWN


def _status_of(err: BaseException) -> DeletionStatus:
    """Return the status that a failed request gives each of its keys."""
    if _is_slow(err):
        return DeletionStatus.REFUSED
    if isinstance(err, boto.ClientError):
        status = err.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        is_final = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
        if is_final and error_code(err) not in _PASSING:
            return DeletionStatus.FAILED
    return DeletionStatus.FAILED if isinstance(err, _NEVER_SENT) else DeletionStatus.UNKNOWN


def _all(
    objects: Iterable[StoredObject], status: DeletionStatus, error: str
) -> dict[ObjectKey, DeletionResult]:
    text = one_line(error)
    return {o.key: DeletionResult(key=o.key, status=status, error=text) for o in objects}


def _unfit(key: ObjectKey, fact: StoredObject | Exception | None) -> DeletionResult:
    """Return the result of an object that has changed, or could not be revalidated."""
    if fact is None:
        return DeletionResult(key=key, status=DeletionStatus.GONE)
    if isinstance(fact, StoredObject):
        return DeletionResult(key=key, status=DeletionStatus.CHANGED)
    if _is_slow(fact):
        error = one_line(error_text(fact))
        return DeletionResult(key=key, status=DeletionStatus.REFUSED, error=error)
    return _failed(key, error_text(fact))


def _marker(entry: dict[str, object]) -> str | None:
    """Return the version id of the new delete marker, if there is one."""
    marker = entry.get("DeleteMarkerVersionId")
    return str(marker) if entry.get("DeleteMarker") and marker else None


def _refused(key: ObjectKey, entry: dict[str, object]) -> DeletionResult:
    code = str(entry.get("Code", "unknown"))
    if code in _CHANGED:
        return DeletionResult(key=key, status=DeletionStatus.CHANGED)
    if code == "NoSuchKey":
        return DeletionResult(key=key, status=DeletionStatus.GONE)
    status = DeletionStatus.UNKNOWN if code in _PASSING else DeletionStatus.FAILED
    error = one_line(f"{code}: {entry.get('Message', '')}".rstrip(": "))
    return DeletionResult(
        key=key, status=DeletionStatus.REFUSED if code in _SLOW_DOWN else status, error=error
    )


def _failed(key: ObjectKey, error: str) -> DeletionResult:
    return DeletionResult(key=key, status=DeletionStatus.FAILED, error=one_line(error))
