"""The needs as an AWS IAM identity policy for S3.

Source: the IAM policy grammar and "Actions, resources, and condition keys for Amazon S3"; for what
a deletion takes, "How to perform conditional deletes" in the Amazon S3 User Guide.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from orphangc.core.iam.permissions import FOLDERS_OF_FILES, Purpose, Right, StorageArea, StorageNeed
from orphangc.core.model.job_folders import CHECKPOINT

MOST_CHARACTERS = 6144
"""Of a managed policy, white space not counted."""

_UPLOADS = (
    "unfinished uploads are not counted, unless --abort-uploads asks for them:"
    " s3:ListBucketMultipartUploads knows no prefix, so it shows those of the whole bucket"
)
AWS_LIMITS = (
    _UPLOADS,
    (
        "buckets encrypted with a key of KMS also take kms:Decrypt on it, and kms:GenerateDataKey"
        " for the state location"
    ),
)
"""Limits of the provider's policies, and facts that a person must know."""

CEPH_LIMITS = (
    _UPLOADS,
    (
        "AskForBulkDeletions is of the bucket, for radosgw asks for it before it looks at the keys;"
        " each key is judged by itself all the same"
    ),
    (
        "a _metadata may lie eight folders below its place and no deeper: older releases end a"
        " wildcard too early to say more"
    ),
)
"""The same of Ceph's radosgw."""

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]", re.ASCII)
_OTHER_KINDS = ("--x-s3", "--xa-s3", "-s3alias", "--ol-s3")
_SPECIAL = re.compile(r"[*?$]")
_CEPH_DEPTHS = range(9)

_OBJECT_ACTIONS: Mapping[Right, str] = {
    Right.READ: "s3:GetObject",
    Right.WRITE: "s3:PutObject",
    Right.DELETE: "s3:DeleteObject",
    Right.RESTORE: "s3:DeleteObjectVersion",
    Right.ABORT_UPLOADS: "s3:AbortMultipartUpload",
}
_LISTINGS: Mapping[Right, tuple[str, str]] = {
    Right.LIST: ("List", "s3:ListBucket"),
    Right.LIST_VERSIONS: ("ListVersions", "s3:ListBucketVersions"),
}
_SIDS: Mapping[Purpose, str] = {
    Purpose.LOOK: "ReadMetadata",
    Purpose.STATE: "KeepState",
    Purpose.WORK: "ShareWork",
    Purpose.REGISTRY: "ReadRegistry",
    Purpose.EXPORTERS: "AskExporters",
    Purpose.INVENTORY: "ReadInventory",
    Purpose.ORPHANS: "DeleteOrphans",
    Purpose.UPLOADS: "AbortUploads",
    Purpose.EXPIRY: "ExpireCheckpoints",
    Purpose.UNDELETE: "BringBack",
}

Statement = dict[str, Any]


def aws_policy(
    needs: Iterable[StorageNeed], *, partition: str = "aws", is_ceph: bool = False
) -> dict[str, Any]:
    """Return a policy that allows the needs alone; ``ValueError`` if a bucket has none by prefix.

    IAM's ``*`` and ``?`` match slashes too: so objects deeper than an orphan can be are denied,
    and with them every ``_metadata``; where checkpoints expire, every other one than theirs.

    Args:
        is_ceph: For Ceph's radosgw, which requires a permission on the bucket before it checks
            the keys of a DeleteObjects request, and whose older releases (seen: 16) end a ``*``
            at the first character that could follow it.
    """
    found = list(dict.fromkeys(needs))
    buckets = sorted({_checked(need.place.authority) for need in found})
    arn = f"arn:{partition}:s3:::"
    return {
        "Version": "2012-10-17",
        "Statement": [
            *_numbered(each for bucket in buckets for each in _listings(found, bucket, arn)),
            *_of_buckets(found, arn),
            *_numbered(_objects(found, arn, is_ceph=is_ceph)),
            *(_bulk_deletions(found, arn) if is_ceph else ()),
            *_denials(found, arn),
        ],
    }


def _checked(bucket: str) -> str:
    if bucket.endswith(_OTHER_KINDS) or not _BUCKET.fullmatch(bucket):
        raise ValueError(f"{bucket!r} is no general purpose bucket: it has no policy by prefix")
    return bucket


def _literal(text: str) -> str:
    """Return the pattern of exactly this text: IAM's own variables escape its special marks."""
    return _SPECIAL.sub(lambda match: f"${{{match[0]}}}", text)


# --- listings


def _listings(needs: Iterable[StorageNeed], bucket: str, arn: str) -> Iterable[Statement]:
    for right, (sid, action) in _LISTINGS.items():
        asked = [n for n in needs if n.right is right and n.place.authority == bucket]
        whole = sorted({_listed(each) for each in asked if each.area is not StorageArea.FOLDER})
        if whole:
            yield _listing(sid, action, arn + bucket, [] if "*" in whole else whole)
        levels = sorted({_literal(e.below) for e in asked if e.area is StorageArea.FOLDER})
        if levels and "*" not in whole:
            statement = _listing(f"{sid}OneLevel", action, arn + bucket, levels)
            statement["Condition"]["StringEquals"] = {"s3:delimiter": "/"}
            yield statement


def _listing(sid: str, action: str, bucket: str, prefixes: list[str]) -> Statement:
    statement = _allow(sid, [action], [bucket])
    if prefixes:
        statement["Condition"] = {"StringLike": {"s3:prefix": prefixes}}
    return statement


def _listed(need: StorageNeed) -> str:
    if need.area is StorageArea.ITSELF:
        return _literal(need.place.path.lstrip("/"))
    return f"{_literal(need.below)}*"


_BUCKET_ACTIONS: Mapping[Right, tuple[str, ...]] = {
    Right.TELL_VERSIONING: ("TellVersioning", "s3:GetBucketVersioning"),
    Right.READ_BUCKET_SETTINGS: (
        "ReadBucketSettings",
        "s3:GetBucketObjectLockConfiguration",
        "s3:GetLifecycleConfiguration",
    ),
    Right.LIST_UPLOADS: ("ListUploads", "s3:ListBucketMultipartUploads"),
}


def _of_buckets(needs: Iterable[StorageNeed], arn: str) -> Iterable[Statement]:
    for right, (sid, *actions) in _BUCKET_ACTIONS.items():
        asked = sorted({need.place.authority for need in needs if need.right is right})
        if asked:
            yield _allow(sid, actions, [arn + bucket for bucket in asked])


# --- objects


def _objects(needs: Iterable[StorageNeed], arn: str, *, is_ceph: bool) -> Iterable[Statement]:
    actions: dict[tuple[Purpose, str], list[str]] = {}
    for need in needs:
        if (action := _OBJECT_ACTIONS.get(need.right)) is not None:
            # S3 compares an ETag only for an identity that may read the object
            is_compared = need.purpose is Purpose.ORPHANS and not is_ceph
            for keys in _keys(need, is_ceph=is_ceph):
                known = actions.setdefault((need.purpose, _resource(need, keys, arn)), [])
                known += [action, *([_OBJECT_ACTIONS[Right.READ]] if is_compared else [])]
    found = [
        (purpose, tuple(sorted(set(allowed))), resource)
        for (purpose, resource), allowed in actions.items()
    ]
    order = list(_SIDS)
    found.sort(key=lambda each: (order.index(each[0]), each[1:]))
    for (purpose, allowed), group in groupby(found, key=lambda each: each[:2]):
        yield _allow(_SIDS[purpose], list(allowed), [resource for *_, resource in group])


def _keys(need: StorageNeed, *, is_ceph: bool) -> list[str]:
    is_nested = is_ceph and need.area is StorageArea.METADATA
    depths = _CEPH_DEPTHS if is_nested else (0,)
    return ["*/" * depth + each for depth in depths for each in need.patterns]


def _resource(need: StorageNeed, keys: str, arn: str) -> str:
    if need.area is StorageArea.ITSELF:
        return f"{arn}{need.place.authority}/{_literal(need.place.path.lstrip('/'))}"
    return f"{arn}{need.place.authority}/{_literal(need.below)}{keys}"


_METADATA = "*_metadata"
_DENYING = {StorageArea.SHARED, StorageArea.FILES, StorageArea.SAVEPOINTS}
_DENIED_OF_ROOTS = (
    "*/*/*_metadata",
    f"{CHECKPOINT}*/?*_metadata",
    *(f"{each}*_metadata" for each in FOLDERS_OF_FILES if each != CHECKPOINT),
)
"""What stays denied of ``*_metadata`` where checkpoints expire: all but ``chk-N/_metadata``."""


def _denied(need: StorageNeed) -> tuple[str, ...]:
    if need.area not in _DENYING:
        return ()
    is_in_jobs = need.area is StorageArea.SHARED and not need.is_one_job
    found = ("*/*/" if is_in_jobs else "*/", need.too_deep, _METADATA)
    return tuple(each for each in found if each is not None)


def _denials(needs: Iterable[StorageNeed], arn: str) -> Iterable[Statement]:
    """Yield a denial of all that is not directly in a ``shared/`` of exactly one job.

    ``<job>/shared/<name>`` has two slashes: with a third one, either the name has a folder in it,
    or what looked like a job id has. A key that ends in a slash is a folder's marker. Files of
    other areas are up to two folders deeper. No version of a ``_metadata`` is ever deleted.
    """
    asked = list(needs)
    roots = [need for need in asked if need.purpose is Purpose.EXPIRY]
    expiring = {need.place for need in roots}
    denied = {True: set[str](), False: set[str]()}
    for need in asked:
        for keys in _denied(need):
            is_theirs = keys == _METADATA and need.place in expiring
            denied[is_theirs].add(_resource(need, keys, arn))
    others = {
        _resource(each, f"{'' if each.is_one_job else '*/'}{keys}", arn)
        for each in roots
        for keys in _DENIED_OF_ROOTS
    }
    for sid, actions, resources in (
        ("NeverAnythingElse", ["s3:DeleteObject", "s3:DeleteObjectVersion"], denied[False]),
        ("NeverOtherMetadata", ["s3:DeleteObject", "s3:PutObject"], others),
        ("NeverTheirVersions", ["s3:DeleteObjectVersion"], denied[True]),
    ):
        if resources:
            yield {**_allow(sid, actions, sorted(resources)), "Effect": "Deny"}


def _bulk_deletions(needs: Iterable[StorageNeed], arn: str) -> Iterable[Statement]:
    buckets = sorted({need.place.authority for need in needs if need.purpose is Purpose.ORPHANS})
    if buckets:
        resources = [arn + bucket for bucket in buckets]
        yield _allow("AskForBulkDeletions", ["s3:DeleteObject"], resources)


def _allow(sid: str, actions: list[str], resources: list[str]) -> Statement:
    return {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resources}


def _numbered(statements: Iterable[Statement]) -> Iterable[Statement]:
    seen: Counter[str] = Counter()
    for each in statements:
        seen[each["Sid"]] += 1
        number = seen[each["Sid"]]
        yield each | {"Sid": each["Sid"] + (str(number) if number > 1 else "")}
