"""The needs as an Azure role definition and the condition of its assignment (version 2.0).

Source: Azure's "Actions and attributes for role assignment conditions for Blob Storage".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from flinkstate.places.checkpoint_names import METADATA_WORD
from orphangc.core.iam.permissions import (
    ANY_JOB,
    FOLDERS_OF_FILES,
    Purpose,
    Right,
    StorageArea,
    StorageNeed,
)
from orphangc.core.model.job_folders import CHANGES, CHECKPOINT, SHARED
from orphangc.core.model.naming import EXPIRY_MARKER

AZURE_LIMITS = (
    (
        "one action reads a blob's content and its properties alike: what is looked at before it is"
        " deleted may be read too"
    ),
    (
        "a condition narrows only the assignment that it stands on: another assignment of the same"
        " identity, such as Storage Blob Data Owner, lifts it; SUBSCRIPTION, RESOURCE_GROUP and"
        " ACCOUNT stand for your own"
    ),
    (
        "with a hierarchical namespace, access control lists allow beside the role: leave the"
        " identity out of them"
    ),
    (
        "no server that can be had offline judges conditions: they were judged by their documented"
        " grammar only, so try the policy with orphangc doctor"
    ),
    (
        "undelete writes blobs and reads their versions, so --undelete gives both rights: let an"
        " identity of its own have them"
    ),
    (
        "lifecycle rules and versioning stand in Azure's management plane, where no client of the"
        " storage reads them: doctor says so"
    ),
)
"""Limits of the provider's policies, and facts that a person must know."""

_SERVICE = "Microsoft.Storage/storageAccounts/blobServices"
_BLOBS = f"{_SERVICE}/containers/blobs"
_CONTAINER = "@Resource[Microsoft.Storage/storageAccounts/blobServices/containers:name]"
_PATH = f"@Resource[{_BLOBS}:path]"
_PREFIX = f"@Request[{_BLOBS}:prefix]"

_ACTIONS: Mapping[Right, tuple[str, ...]] = {
    Right.LIST: (f"{_BLOBS}/read",),
    Right.READ: (f"{_BLOBS}/read",),
    Right.WRITE: (f"{_BLOBS}/write", f"{_BLOBS}/add/action"),
    Right.DELETE: (f"{_BLOBS}/delete",),
    Right.LIST_VERSIONS: (f"{_BLOBS}/read",),
    Right.RESTORE: (f"{_BLOBS}/read", f"{_BLOBS}/write", f"{_BLOBS}/add/action"),
}
_MANAGEMENT: Mapping[Right, tuple[str, ...]] = {
    Right.TELL_VERSIONING: (f"{_SERVICE}/read",),
    Right.READ_BUCKET_SETTINGS: (f"{_SERVICE}/read", f"{_SERVICE}/containers/read"),
}
"""Actions of the account and the container, which no condition on paths narrows."""
_LISTINGS = {Right.LIST, Right.LIST_VERSIONS}
_SPECIAL = re.compile(r"[*?]")
_UNSPEAKABLE = re.compile(r"[\x00-\x1f\x7f'\\]")


def azure_policy(needs: Iterable[StorageNeed]) -> dict[str, Any]:
    """Return a role, and the assignment whose condition narrows it, or raise ``ValueError``."""
    found = list(dict.fromkeys(needs))
    managed = {action for need in found for action in _MANAGEMENT.get(need.right, ())}
    found = [need for need in found if need.right not in _MANAGEMENT]
    for need in found:
        if need.right not in _ACTIONS:
            raise ValueError(f"{need.right} is written for S3 only")
    accounts = {need.place.authority.partition("@")[2] for need in found} - {""}
    if len(accounts) > 1:
        raise ValueError(
            f"{' and '.join(sorted(accounts))} are two accounts: print a policy of each"
        )
    # each object is checked before it is deleted
    orphans = [n for n in found if n.purpose is Purpose.ORPHANS and n.right is Right.DELETE]
    found += [replace(need, right=Right.READ) for need in orphans]
    actions = sorted({action for need in found for action in _ACTIONS[need.right]})
    scope = "/subscriptions/SUBSCRIPTION/resourceGroups/RESOURCE_GROUP"
    account = f"{scope}/providers/Microsoft.Storage/storageAccounts/ACCOUNT"
    return {
        "role": {
            "Name": "orphangc",
            "IsCustom": True,
            "Description": "What the configured storage roots need.",
            "Actions": sorted(managed),
            "NotActions": [],
            "DataActions": actions,
            "NotDataActions": [],
            "AssignableScopes": [scope],
        },
        "assignment": {
            "scope": account,
            "role": "orphangc",
            "condition": _condition(found),
            "conditionVersion": "2.0",
        },
    }


def _condition(needs: Iterable[StorageNeed]) -> str:
    rules: dict[str, dict[str, None]] = {}
    for need in needs:
        is_listing = need.right in _LISTINGS
        for action in _ACTIONS[need.right]:
            rules.setdefault(_matched(action, is_listing=is_listing), {})[
                _listed(need) if is_listing else _objects(need)
            ] = None
    clauses = [
        f"(\n (\n  !({matched})\n )\n OR\n (\n  " + "\n  OR\n  ".join(allowed) + "\n )\n)"
        for matched, allowed in sorted(rules.items())
    ]
    return "\nAND\n".join(clauses)


def _matched(action: str, *, is_listing: bool) -> str:
    """Return what recognises an action; listing and reading are one action of two kinds."""
    matched = f"ActionMatches{{'{action}'}}"
    if action != f"{_BLOBS}/read":
        return matched
    return f"{matched} AND {'' if is_listing else 'NOT '}SubOperationMatches{{'Blob.List'}}"


def _listed(need: StorageNeed) -> str:
    below = _below(need)
    match need.area:
        case StorageArea.ITSELF:
            return _both(need, [f"{_PREFIX} StringEquals {_text(below.rstrip('/'))}"])
        case StorageArea.FOLDER:
            return _both(need, [f"{_PREFIX} StringEquals {_text(below)}"])
        case _:
            return _both(need, [f"{_PREFIX} StringStartsWith {_text(below)}"] if below else [])


_BESIDE_NONCES: Mapping[StorageArea, str] = {
    StorageArea.NONCES: f"{ANY_JOB}/nonce",
    StorageArea.PROBES: f"{ANY_JOB}/doctor-*",
}


def _objects(need: StorageNeed) -> str:
    below = _SPECIAL.sub(lambda match: f"\\{match[0]}", _checked(_below(need)))
    match need.area:
        case StorageArea.ITSELF:
            tests = [f"{_PATH} StringEquals {_text(_below(need).rstrip('/'))}"]
        case StorageArea.METADATA:
            return _both(need, [_likes(f"{below}*{METADATA_WORD}*")])
        case StorageArea.SHARED:
            deeper = [f"{below}*/*/*/*", f"{below}*_metadata", f"{below}*/"]
            tests = [_likes(f"{below}{ANY_JOB}/{SHARED}/*"), *map(_unlike, deeper)]
        case StorageArea.OWN_SHARED:
            deeper = [f"{below}*/*/*", f"{below}*_metadata", f"{below}*/"]
            tests = [_likes(f"{below}{SHARED}/*"), *map(_unlike, deeper)]
        case StorageArea.FILES | StorageArea.OWN_FILES:
            tests = _files(below, is_own=need.area is StorageArea.OWN_FILES)
        case StorageArea.ROOTS:
            tests = [_of_expiry(f"{below}{ANY_JOB}/"), _unlike(f"{below}*/*/*/*")]
        case StorageArea.OWN_ROOTS:
            tests = [_of_expiry(below), _unlike(f"{below}*/*/*")]
        case _:
            tests = [_likes(f"{below}{_BESIDE_NONCES.get(need.area, '*')}")]
    return _both(need, tests)


def _of_expiry(job: str) -> str:
    return _either(
        _likes(f"{job}{CHECKPOINT}*/_metadata"), _likes(f"{job}{CHECKPOINT}*/{EXPIRY_MARKER}*")
    )


def _files(below: str, *, is_own: bool) -> list[str]:
    """Return the tests of files of all areas, which no ``_metadata`` passes, and nothing deeper."""
    job = "" if is_own else f"{ANY_JOB}/"
    patterns = [f"{below}{job}{each}*" for each in FOLDERS_OF_FILES]
    patterns += [] if is_own else [f"{below}*/{ANY_JOB}/{CHANGES}/*"]
    kept = ("*/*/*/*/*" if is_own else "*/*/*/*/*/*", "*_metadata", "*/")
    return [_either(*map(_likes, patterns)), *(_unlike(f"{below}{each}") for each in kept)]


def _both(need: StorageNeed, tests: Iterable[str]) -> str:
    container = need.place.authority.partition("@")[0]
    return "(" + " AND ".join([f"{_CONTAINER} StringEquals {_text(container)}", *tests]) + ")"


def _below(need: StorageNeed) -> str:
    path = need.place.path.lstrip("/")
    return f"{path}/" if path else ""


def _text(text: str) -> str:
    return f"'{_checked(text)}'"


def _checked(text: str) -> str:
    if _UNSPEAKABLE.search(text):
        raise ValueError(f"{text!r} has a character that a condition cannot hold")
    return text


def _likes(pattern: str) -> str:
    return f"{_PATH} StringLike '{pattern}'"


def _unlike(pattern: str) -> str:
    return f"{_PATH} StringNotLike '{pattern}'"


def _either(*tests: str) -> str:
    return "(" + " OR ".join(tests) + ")"
