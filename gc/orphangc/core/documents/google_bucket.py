"""The settings of a bucket of Google Cloud Storage, from the resource of its JSON API.

Source: "Buckets" and "Object Lifecycle Management". Every storage class is read at once; an early
deletion of most is charged.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from orphangc.core.documents.bucket_settings import BucketSettings, LifecycleRule

FIELDS = "versioning,softDeletePolicy,lifecycle,retentionPolicy,defaultEventBasedHold"
"""Fields of a bucket that are asked for."""
_DAY = 24 * 60 * 60
_OF_VERSIONS = {"daysSinceNoncurrentTime", "noncurrentTimeBefore", "numNewerVersions"}
_NARROW = {
    *("matchesSuffix", "matchesStorageClass", "daysSinceCustomTime", "customTimeBefore"),
    *("createdBefore", "noncurrentTimeBefore"),
}


def google_settings(bucket: Mapping[str, Any]) -> BucketSettings:
    """Return the settings that a resource states; ``ValueError`` if it is damaged."""
    try:
        rules = bucket.get("lifecycle", {}).get("rule", ())
        kept = int(bucket.get("softDeletePolicy", {}).get("retentionDurationSeconds", 0))
        period = int(bucket.get("retentionPolicy", {}).get("retentionPeriod", 0))
        refuses = []
        if period:
            refuses.append(f"a retention policy of {_days(period)} days for each object")
        if bucket.get("defaultEventBasedHold"):
            refuses.append("an event-based hold on each new object")
        return BucketSettings(
            rules=tuple(
                found for number, each in enumerate(rules, 1) for found in _rules(each, number)
            ),
            is_versioned=bool(bucket.get("versioning", {}).get("enabled")),
            soft_delete_days=_days(kept) if kept else None,
            refuses=tuple(refuses),
        )
    except (AttributeError, KeyError, TypeError) as err:
        raise ValueError(f"the settings of the bucket are damaged: {err!r}") from err


def _days(seconds: int) -> int:
    return max(seconds // _DAY, 1)


def _rules(rule: Mapping[str, Any], number: int) -> Iterator[LifecycleRule]:
    action, when = rule["action"], rule.get("condition", {})
    kind = str(action["type"])
    is_of_versions = when.get("isLive") is False or bool(_OF_VERSIONS & when.keys())
    age = when.get("daysSinceNoncurrentTime", when.get("age", 0))
    for prefix in when.get("matchesPrefix") or [""]:
        yield LifecycleRule(
            name=str(number),
            prefix=str(prefix),
            is_of_tags=bool(_NARROW & when.keys()),
            expires=f"{age} days after they are stored"
            if kind == "Delete" and not is_of_versions
            else None,
            noncurrent_days=int(age) if kind == "Delete" and is_of_versions else None,
            abort_days=int(age) if kind == "AbortIncompleteMultipartUpload" else None,
            classes=(str(action["storageClass"]),) if kind == "SetStorageClass" else (),
        )
