"""The needs as an Azure role definition and the condition of its assignment (version 2.0).

Source: Azure's "Actions and attributes for role assignment conditions for Blob Storage".
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from orphangc.core.iam.permissions import Purpose, Right, StorageArea, StorageNeed

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
    below = need.below
    match need.area:
        case StorageArea.ITSELF:
            return _both(need, [f"{_PREFIX} StringEquals {_text(below.rstrip('/'))}"])
        case StorageArea.FOLDER:
            return _both(need, [f"{_PREFIX} StringEquals {_text(below)}"])
        case _:
            return _both(need, [f"{_PREFIX} StringStartsWith {_text(below)}"] if below else [])


def _objects(need: StorageNeed) -> str:
    """Return the test of an area's blobs: no ``_metadata`` passes as a file, and nothing deeper."""
    if need.area is StorageArea.ITSELF:
        return _both(need, [f"{_PATH} StringEquals {_text(need.below.rstrip('/'))}"])
    below = _SPECIAL.sub(lambda match: f"\\{match[0]}", _checked(need.below))
    likes = [f"{_PATH} StringLike '{below}{each}'" for each in need.patterns]
    kept = [] if need.too_deep is None else [need.too_deep]
    kept += ["*_metadata", "*/"] if need.area in {StorageArea.SHARED, StorageArea.FILES} else []
    unlike = [f"{_PATH} StringNotLike '{below}{each}'" for each in kept]
    return _both(need, [f"({' OR '.join(likes)})" if len(likes) > 1 else likes[0], *unlike])


def _both(need: StorageNeed, tests: Iterable[str]) -> str:
    container = need.place.authority.partition("@")[0]
    return "(" + " AND ".join([f"{_CONTAINER} StringEquals {_text(container)}", *tests]) + ")"


def _text(text: str) -> str:
    return f"'{_checked(text)}'"


def _checked(text: str) -> str:
    if _UNSPEAKABLE.search(text):
        raise ValueError(f"{text!r} has a character that a condition cannot hold")
    return text
