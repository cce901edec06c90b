"""The settings of a bucket, and the buckets beside it, as far as the account may read them."""

from __future__ import annotations

from typing import Any

from orphangc.adapters.s3.requests.s3_client import CALL_ERRORS, S3Client, error_code
from orphangc.core.documents.bucket_settings import BucketSettings, lock_of, rules_of
from orphangc.errors import NotReportedError

_ABSENT = frozenset(
    {
        *("NoSuchLifecycleConfiguration", "ObjectLockConfigurationNotFoundError"),
        *("MethodNotAllowed", "NotImplemented", "NoSuchObjectLockConfiguration"),
    }
)
"""Codes that say that there is no such setting, or that the store knows none."""
_FORBIDDEN = frozenset({"AccessDenied", "AllAccessDisabled"})


def bucket_settings(client: S3Client) -> BucketSettings:
    """Return the settings of the bucket.

    Raises:
        StorageUnreachableError: The store gives no usable answer.
    """
    unread = list[str]()

    def ask(operation: str, right: str) -> dict[str, Any]:
        try:
            return client.call(operation)
        except CALL_ERRORS as err:
            if error_code(err) in _FORBIDDEN:
                unread.append(right)
            elif error_code(err) not in _ABSENT:
                raise client.explained("read the settings of", err) from err
            return {}

    rules = rules_of(ask("get_bucket_lifecycle_configuration", "s3:GetLifecycleConfiguration"))
    versioning = ask("get_bucket_versioning", "s3:GetBucketVersioning")
    lock = lock_of(ask("get_object_lock_configuration", "s3:GetBucketObjectLockConfiguration"))
    return BucketSettings(
        rules=rules,
        is_versioned=versioning.get("Status") == "Enabled",
        lock=lock,
        unread=tuple(unread),
    )


def buckets(client: S3Client) -> tuple[str, ...]:
    """Return the URIs of all buckets of the account.

    Raises:
        NotReportedError: The account may not list them.
        StorageUnreachableError: The store gives no usable answer.
    """
    found, request = list[str](), dict[str, str]()
    while True:
        try:
            page = client.call("list_buckets", **request)
        except CALL_ERRORS as err:
            if error_code(err) in _FORBIDDEN | _ABSENT:
                said = "s3:ListAllMyBuckets is not allowed"
                raise NotReportedError(said, is_forbidden=True) from err
            raise client.explained("list the buckets beside", err) from err
        found += [f"s3://{each['Name']}" for each in page.get("Buckets", ())]
        if not page.get("ContinuationToken"):
            return tuple(sorted(found))
        request = {"ContinuationToken": page["ContinuationToken"]}
