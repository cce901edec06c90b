"""Deleting in S3: exactly the keys that are asked for, each of them accounted for.

Every object is looked at again with a HEAD request first: some stores accept an ``ETag`` in
``DeleteObjects`` and ignore it (radosgw 16, moto 5), and no answer can tell them from those that
honour it. Where it is honoured (AWS), it also closes the moment between look and deletion.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import stamina
import structlog

from orphangc.adapters.boundary import one_line
from orphangc.adapters.s3_client import CALL_ERRORS, Answer, S3Client, error_code, error_text
from orphangc.adapters.s3_facts import S3Facts
from orphangc.core.model import ObjectKey, StoredObject
from orphangc.ports import DeletionResult, DeletionStatus

__all__ = ["S3Deleting"]

_RETRIABLE = {
    "InternalError",
    "OperationAborted",
    "RequestTimeout",
    "ServiceUnavailable",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "TooManyRequests",
}
_CHANGED = {"PreconditionFailed", "ConditionalRequestConflict", "412"}
_NO_CONDITIONS = {"NotImplemented", "MalformedXML", "InvalidArgument", "InvalidRequest"}
_UNNAMEABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

_log = structlog.get_logger()


class _SomeRefusedError(Exception):
    """Some keys of a batch were refused for now."""


class S3Deleting:
    """Deletes and undeletes keys of one root."""

    def __init__(self, client: S3Client, facts: S3Facts) -> None:
        self._client = client
        self._facts = facts
        self._has_conditions = True

    def delete(self, objects: Sequence[StoredObject]) -> list[DeletionResult]:
        """Return one result for each object, in order.

        Raises:
            StorageUnreachableError: The request was refused as a whole before any deletion.

        """
        results: dict[ObjectKey, DeletionResult] = {}
        pending = self._still_the_same(objects, results)
        try:
            for attempt in stamina.retry_context(
                on=_SomeRefusedError, attempts=5, timeout=60, wait_initial=0.2, wait_max=5
            ):
                with attempt:
                    pending = self._delete_once(pending, results)
                    _raise_for(pending)
        except _SomeRefusedError:
            _log.warning("deletion.given_up", keys=len(pending))
        return [results[wanted.key] for wanted in objects]

    def undelete(self, markers: Sequence[tuple[ObjectKey, str]]) -> list[DeletionResult]:
        """Remove exactly these delete markers; see ``Undeleter``."""
        return [self._undelete(key, version) for key, version in markers]

    def _still_the_same(
        self, objects: Sequence[StoredObject], results: dict[ObjectKey, DeletionResult]
    ) -> list[StoredObject]:
        """Return the objects that are what they were; note the results of all others."""
        same = []
        for key in (wanted.key for wanted in objects):
            if not key or _UNNAMEABLE.search(key):
                results[key] = _failed(key, "the key cannot be named in a request")
        nameable = [wanted for wanted in objects if wanted.key not in results]
        facts = self._facts.heads([wanted.key for wanted in nameable])
        if facts and all(isinstance(fact, Exception) for fact in facts):
            self._facts.check_bucket()
        for wanted, fact in zip(nameable, facts, strict=True):
            key = wanted.key
            if fact is None:
                results[key] = DeletionResult(key=key, status=DeletionStatus.GONE)
            elif isinstance(fact, Exception):
                results[key] = _failed(key, error_text(fact))
            elif not fact.is_same_as(wanted):
                results[key] = DeletionResult(key=key, status=DeletionStatus.CHANGED)
            else:
                same.append(wanted)
        return same

    def _delete_once(
        self, pending: list[StoredObject], results: dict[ObjectKey, DeletionResult]
    ) -> list[StoredObject]:
        """Delete in one request; note every result, return the objects to try again."""
        if not pending:
            return []
        is_first = not any(o.key in results for o in pending)
        try:
            answer = self._send(pending)
        except CALL_ERRORS as err:
            if self._has_conditions and error_code(err) in _NO_CONDITIONS:
                _log.warning("deletion.conditions_refused", code=error_code(err))
                self._has_conditions = False
                return self._delete_once(self._still_the_same(pending, results), results)
            if is_first:
                raise self._client.explained("delete in", err) from err
            results.update({o.key: _failed(o.key, error_text(err)) for o in pending})
            return []
        return self._account(pending, answer, results)

    def _send(self, pending: list[StoredObject]) -> Answer:
        root = self._client.root
        wanted = [
            {"Key": root + o.key, **({"ETag": o.etag} if self._has_conditions and o.etag else {})}
            for o in pending
        ]
        return self._client.call("delete_objects", Delete={"Objects": wanted, "Quiet": False})

    def _account(
        self,
        pending: list[StoredObject],
        answer: Answer,
        results: dict[ObjectKey, DeletionResult],
    ) -> list[StoredObject]:
        """Note what the answer says of each key; return those that were refused for now."""
        deleted = {entry.get("Key"): entry for entry in answer.get("Deleted", ())}
        errors = {entry.get("Key"): entry for entry in answer.get("Errors", ())}
        again = []
        for wanted in pending:
            whole = self._client.root + wanted.key
            if whole in errors:
                results[wanted.key] = _refused(wanted.key, errors[whole])
                if errors[whole].get("Code") in _RETRIABLE:
                    again.append(wanted)
            elif whole in deleted:
                results[wanted.key] = DeletionResult(
                    key=wanted.key,
                    status=DeletionStatus.DELETED,
                    version_id=_marker(deleted[whole]),
                )
            else:
                results[wanted.key] = _failed(wanted.key, "the store did not mention the key")
        return again

    def _undelete(self, key: ObjectKey, version: str) -> DeletionResult:
        whole = self._client.root + key
        try:
            if not self._is_marker(whole, version):
                return _failed(key, f"there is no delete marker {version}")
            self._client.call("delete_object", Key=whole, VersionId=version)
            if self._is_marker(whole, version):
                return _failed(key, f"the delete marker {version} is still there")
        except CALL_ERRORS as err:
            return _failed(key, error_text(err))
        return DeletionResult(key=key, status=DeletionStatus.DELETED)

    def _is_marker(self, whole: str, version: str) -> bool:
        """Return whether the version is a delete marker: only those may be deleted by version."""
        request: dict[str, str] = {}
        while True:
            answer = self._client.call("list_object_versions", Prefix=whole, **request)
            for marker in answer.get("DeleteMarkers", ()):
                if (marker["Key"], marker["VersionId"]) == (whole, version):
                    return True
            following = answer.get("NextKeyMarker")
            if not answer.get("IsTruncated") or following != whole:
                return False  # the versions of the key itself come before all longer keys
            request = {"KeyMarker": following, "VersionIdMarker": answer["NextVersionIdMarker"]}


def _raise_for(refused: list[StoredObject]) -> None:
    """Ask for another attempt if there is something to attempt."""
    if refused:
        raise _SomeRefusedError


def _marker(entry: dict[str, object]) -> str | None:
    """Return the id of the delete marker that was made, if one was."""
    marker = entry.get("DeleteMarkerVersionId")
    return str(marker) if entry.get("DeleteMarker") and marker else None


def _refused(key: ObjectKey, entry: dict[str, object]) -> DeletionResult:
    code = str(entry.get("Code", "unknown"))
    if code in _CHANGED:
        return DeletionResult(key=key, status=DeletionStatus.CHANGED)
    if code == "NoSuchKey":
        return DeletionResult(key=key, status=DeletionStatus.GONE)
    return _failed(key, f"{code}: {entry.get('Message', '')}".rstrip(": "))


def _failed(key: ObjectKey, error: str) -> DeletionResult:
    return DeletionResult(key=key, status=DeletionStatus.FAILED, error=one_line(error))
