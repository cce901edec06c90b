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
from orphangc.errors import StorageUnreachableError
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


class _SomeRetriableError(Exception):
    """Some keys of a batch were refused for now."""


class S3Deleting:
    """Deletes and undeletes whole keys of one bucket."""

    def __init__(self, client: S3Client, facts: S3Facts) -> None:
        self._client = client
        self._facts = facts
        self._is_conditional = True

    def delete(self, objects: Sequence[StoredObject]) -> list[DeletionResult]:
        """Return one result for each object, in order; keys are whole keys of the bucket.

        Raises:
            StorageUnreachableError: The request was refused as a whole before any deletion.

        """
        results = {wanted.key: self._unnameable(wanted.key) for wanted in objects}
        pending = self._unchanged([o for o in objects if results[o.key] is None], results)
        try:
            for attempt in stamina.retry_context(
                on=_SomeRetriableError, attempts=5, timeout=60, wait_initial=0.2, wait_max=5
            ):
                with attempt:
                    pending = self._delete_once(pending, results)
                    if pending:
                        raise _SomeRetriableError
        except _SomeRetriableError:
            pass  # the last answer for each of these keys stands in the results
        return [results[wanted.key] or _failed(wanted.key, "no answer") for wanted in objects]
