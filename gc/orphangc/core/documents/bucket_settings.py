"""Settings of a bucket that act on Flink's files without Flink, and what each of them does.

Source: Amazon S3's API reference: ``GetBucketLifecycleConfiguration``,
``GetObjectLockConfiguration``, ``GetBucketVersioning``. Google Cloud Storage: "Buckets" and "Object
Lifecycle Management", where every storage class is read at once; an early deletion of most is
charged.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_FAR_CLASSES = frozenset({"GLACIER", "DEEP_ARCHIVE"})
"""Storage classes whose objects must be restored before anything can read them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleRule:
    """An enabled rule of a bucket's lifecycle.

    Attributes:
        is_of_tags: Whether only objects with certain tags, or of certain sizes, are meant.
        expires: When current versions expire, in words; ``None``: never.
        noncurrent_days: Days after which noncurrent versions go; ``None``: never.
        abort_days: Days after which unfinished uploads are aborted; ``None``: never.
    """

    name: str
    prefix: str
    is_of_tags: bool = False
    expires: str | None = None
    noncurrent_days: int | None = None
    abort_days: int | None = None
    classes: tuple[str, ...] = ()

    def concerns(self, prefix: str) -> bool:
        """Return whether some key below a prefix is meant."""
        return self.prefix.startswith(prefix) or prefix.startswith(self.prefix)


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketSettings:
    """Settings of one bucket.

    Attributes:
        is_versioned: Whether deletions leave a delete marker.
        lock: Default retention of its Object Lock, in words; "" for a lock without one, ``None``
            without Object Lock.
        soft_delete_days: Days for which deleted objects can be restored without versions;
            ``None``: never.
        archived: Key of an object that was seen where nothing reads it at once, ``None``: none was.
        refuses: What makes the store refuse deletions and replacements, in words.
        unread: Permissions that were missing to read the rest.
        unseen: What acts on objects and no client of the storage can read, and where it stands.
    """

    rules: tuple[LifecycleRule, ...] = ()
    is_versioned: bool = False
    lock: str | None = None
    soft_delete_days: int | None = None
    archived: str | None = None
    refuses: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()


def rules_of(answer: Mapping[str, Any]) -> tuple[LifecycleRule, ...]:
    """Return the enabled rules of an answer of ``GetBucketLifecycleConfiguration``."""
    return tuple(_rule(each) for each in answer.get("Rules", ()) if each.get("Status") == "Enabled")


def _rule(rule: Mapping[str, Any]) -> LifecycleRule:
    every = rule.get("Filter") or {}
    both = every.get("And") or {}
    narrow = {"Tag", "ObjectSizeGreaterThan", "ObjectSizeLessThan"} & every.keys()
    transitions = (*rule.get("Transitions", ()), *rule.get("NoncurrentVersionTransitions", ()))
    noncurrent = rule.get("NoncurrentVersionExpiration") or {}
    return LifecycleRule(
        name=str(rule.get("ID", "without a name")),
        prefix=str(rule.get("Prefix") or every.get("Prefix") or both.get("Prefix") or ""),
        is_of_tags=bool(narrow or both.keys() - {"Prefix"}),
        expires=_expires(rule.get("Expiration") or {}),
        noncurrent_days=noncurrent.get("NoncurrentDays"),
        abort_days=(rule.get("AbortIncompleteMultipartUpload") or {}).get("DaysAfterInitiation"),
        classes=tuple(dict.fromkeys(str(each.get("StorageClass")) for each in transitions)),
    )


def _expires(expiration: Mapping[str, Any]) -> str | None:
    if "Days" in expiration:
        return f"{expiration['Days']} days after they are stored"
    return f"on {expiration['Date']}" if "Date" in expiration else None


def lock_of(answer: Mapping[str, Any]) -> str | None:
    """Return what an answer of ``GetObjectLockConfiguration`` says, as ``BucketSettings.lock``."""
    configuration = answer.get("ObjectLockConfiguration") or {}
    if configuration.get("ObjectLockEnabled") != "Enabled":
        return None
    default = (configuration.get("Rule") or {}).get("DefaultRetention")
    if not default:
        return ""
    span = f"{default['Days']} days" if "Days" in default else f"{default.get('Years')} years"
    return f"{default.get('Mode', 'retention').lower()}, {span}"


def dangers(settings: BucketSettings, prefix: str, whose: str) -> Iterator[str]:
    """Yield what the settings do to files below a prefix that a person must know.

    Args:
        prefix: Start of the keys, "" or ending in a slash.
    """
    for rule in settings.rules:
        if rule.concerns(prefix):
            yield from _dangers_of(rule, prefix, whose)
    if settings.lock:
        yield (
            f"Object Lock keeps each new version ({settings.lock}): a deletion hides the object and"
            " frees nothing before that time"
        )
    if settings.archived is not None:
        yield (
            f"{settings.archived!r} is in an archive, where nothing reads it at once: no checkpoint"
            " with such a file can be restored"
        )
    for why in settings.refuses:
        yield f"the store refuses to delete or replace {whose}: there is {why}"
    if settings.is_versioned and not any(
        each.noncurrent_days is not None and each.concerns(prefix) for each in settings.rules
    ):
        yield (
            "the bucket keeps every version and no lifecycle rule removes noncurrent ones: what is"
            " deleted is paid for ever"
        )


def _dangers_of(rule: LifecycleRule, prefix: str, whose: str) -> Iterator[str]:
    which = f"lifecycle rule {rule.name!r}"
    where = "" if prefix.startswith(rule.prefix) else f" below {rule.prefix}"
    some = " with certain tags or sizes" if rule.is_of_tags else ""
    if rule.expires is not None:
        yield (
            f"{which} deletes {whose}{where}{some} {rule.expires}, whether they are needed or not:"
            " take that prefix out of the rule"
        )
    for each in rule.classes:
        if each in _FAR_CLASSES:
            yield (
                f"{which} moves {whose}{where}{some} to {each}, where nothing reads them at once:"
                " no checkpoint with such a file can be restored"
            )


def effects(settings: BucketSettings, prefix: str) -> Iterator[str]:
    """Yield what else the settings do, which is in order."""
    rules = [each for each in settings.rules if each.concerns(prefix)]
    days = [each.noncurrent_days for each in rules if each.noncurrent_days is not None]
    if days and settings.is_versioned:
        yield f"undelete brings back what was deleted up to {min(days)} days ago"
    if settings.soft_delete_days is not None:
        yield (
            f"undelete brings back what was deleted up to {settings.soft_delete_days} days ago,"
            " which is paid for until then (soft delete)"
        )
    aborts = [each.abort_days for each in rules if each.abort_days is not None]
    if aborts:
        yield f"unfinished uploads are aborted after {min(aborts)} days"
    near = _near(rules)
    if near:
        yield f"objects move to {', '.join(near)}, where an early deletion may be charged"


def _near(rules: Iterable[LifecycleRule]) -> tuple[str, ...]:
    classes = dict.fromkeys(name for each in rules for name in each.classes)
    return tuple(each for each in classes if each not in _FAR_CLASSES)


GOOGLE_FIELDS = "versioning,softDeletePolicy,lifecycle,retentionPolicy,defaultEventBasedHold"
"""Fields of a bucket of Google's that are asked for."""
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
                found for number, each in enumerate(rules, 1) for found in _rules_of(each, number)
            ),
            is_versioned=bool(bucket.get("versioning", {}).get("enabled")),
            soft_delete_days=_days(kept) if kept else None,
            refuses=tuple(refuses),
        )
    except (AttributeError, KeyError, TypeError) as err:
        raise ValueError(f"the settings of the bucket are damaged: {err!r}") from err


def _days(seconds: int) -> int:
    return max(seconds // _DAY, 1)


def _rules_of(rule: Mapping[str, Any], number: int) -> Iterator[LifecycleRule]:
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
