"""The needs as custom roles and conditional bindings of Google Cloud Storage.

Conditions are CEL with what IAM allows of it: ``startsWith``, ``endsWith`` and ``extract``.
``extract`` takes the text up to the first place where what follows fits, slashes included, and
nothing counts characters: so a delete condition cannot say "32 characters", nor "directly in".
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from flinkstate.places.checkpoint_names import METADATA_WORD
from flinkstate.places.locations import Location
from orphangc.core.iam.permissions import FOLDERS_OF_FILES, Right, StorageArea, StorageNeed
from orphangc.core.model.job_folders import CHECKPOINT, SHARED
from orphangc.core.model.naming import EXPIRY_MARKER

GCS_LIMITS = (
    (
        "listing is a permission on the bucket: no condition on object names narrows it, and"
        " whoever has it sees the name of every object (a managed folder narrows it, where there is"
        " one)"
    ),
    (
        "conditions cannot count characters: any folder beside the job directories that has a"
        " shared/ in it (or another folder of Flink's) is covered too, and so is what lies deeper"
        " in it; orphangc itself does not delete there"
    ),
    "conditions need uniform bucket-level access; PROJECT and MEMBER stand for your own",
    (
        "no server that can be had offline judges conditions: they were judged by an engine of CEL"
        " only, so try the policy with orphangc doctor"
    ),
    (
        "undelete reads what is kept and writes it back, so --undelete gives create, get and"
        " restore: let an identity of its own have them"
    ),
)
"""Limits of the provider's policies, and facts that a person must know."""

_PERMISSIONS: Mapping[Right, tuple[str, ...]] = {
    Right.LIST: ("storage.objects.list",),
    Right.READ: ("storage.objects.get",),
    Right.WRITE: ("storage.objects.create", "storage.objects.delete"),  # replacing is deleting
    Right.DELETE: ("storage.objects.delete",),
    Right.TELL_VERSIONING: ("storage.buckets.get",),
    Right.READ_BUCKET_SETTINGS: ("storage.buckets.get",),
    Right.LIST_VERSIONS: ("storage.objects.list",),
    Right.RESTORE: ("storage.objects.create", "storage.objects.get", "storage.objects.restore"),
}
_OF_BUCKETS = {
    *(Right.LIST, Right.LIST_VERSIONS),
    *(Right.TELL_VERSIONING, Right.READ_BUCKET_SETTINGS),
}
"""Rights that no condition on names narrows."""
_UNSPEAKABLE = re.compile(r"[\x00-\x1f\x7f{}]")
_IS_OBJECT = 'resource.type == "storage.googleapis.com/Object"'


def gcs_policy(needs: Iterable[StorageNeed]) -> dict[str, Any]:
    """Return roles, and each bucket's bindings (version 3); ``ValueError`` for S3's needs."""
    granted: dict[str, dict[str, set[str]]] = {}
    for need in needs:
        if need.right not in _PERMISSIONS:
            raise ValueError(f"{need.right} is written for S3 only")
        expression = "" if need.right in _OF_BUCKETS else _condition(need)
        allowed = granted.setdefault(need.place.authority, {}).setdefault(expression, set())
        allowed.update(_PERMISSIONS[need.right])
    roles = {_role(each): sorted(each) for bucket in granted.values() for each in bucket.values()}
    return {
        "roles": [
            {
                "name": f"projects/PROJECT/roles/{name}",
                "title": name,
                "stage": "GA",
                "includedPermissions": permissions,
            }
            for name, permissions in sorted(roles.items())
        ],
        "buckets": {
            bucket: {"version": 3, "bindings": _bindings(granted[bucket])}
            for bucket in sorted(granted)
        },
    }


def _role(permissions: Iterable[str]) -> str:
    verbs = (
        f"{verb.capitalize()}{'Bucket' if kind == 'buckets' else ''}"
        for _, kind, verb in (each.split(".") for each in sorted(permissions))
    )
    return f"orphangc{''.join(verbs)}"


def _bindings(granted: Mapping[str, Iterable[str]]) -> list[dict[str, Any]]:
    bindings = []
    for number, (expression, permissions) in enumerate(sorted(granted.items())):
        binding: dict[str, Any] = {
            "role": f"projects/PROJECT/roles/{_role(permissions)}",
            "members": ["serviceAccount:MEMBER"],
        }
        if expression:
            binding["condition"] = {"title": f"orphangc {number}", "expression": expression}
        bindings.append(binding)
    return bindings


def _text(text: str) -> str:
    if _UNSPEAKABLE.search(text):
        raise ValueError(f"{text!r} has a character that a condition cannot hold")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _name(place: Location, *, is_object: bool = False) -> str:
    path = place.path.lstrip("/")
    below = path if is_object or not path else f"{path}/"
    return f"projects/_/buckets/{place.authority}/objects/{below}"


def _condition(need: StorageNeed) -> str:
    base = _name(need.place)
    below = f"resource.name.startsWith({_text(base)})"
    match need.area:
        case StorageArea.ITSELF:
            return f"resource.name == {_text(_name(need.place, is_object=True))}"
        case StorageArea.METADATA:
            within = f'{_extracted(base, "before", METADATA_WORD)} != ""'
            first = f"resource.name.startsWith({_text(base + METADATA_WORD)})"
            parts = [below, f"({first} || {within})"]
        case StorageArea.SHARED:
            within = _in_folder(base, f"{SHARED}/", is_own=need.is_one_job)
            parts = [*([] if need.is_one_job else [below]), within, _NOT_METADATA]
        case StorageArea.FILES | StorageArea.ROOTS as area:
            folders = FOLDERS_OF_FILES if area is StorageArea.FILES else (CHECKPOINT,)
            found = (_in_folder(base, each, is_own=need.is_one_job) for each in folders)
            marker = f'{_extracted(base, "folder", f"/{EXPIRY_MARKER}")} != ""'
            tail = f"({_NOT_METADATA[1:]} || {marker})"
            tail = tail if area is StorageArea.ROOTS else _NOT_METADATA
            parts = [below, f"({' || '.join(found)})", tail]
        case StorageArea.NONCES:
            parts = [below, 'resource.name.endsWith("/nonce")']
        case StorageArea.PROBES:
            parts = [below, f'{_extracted(base, "job", "/doctor-")} != ""']
        case _:
            parts = [below]
    return " && ".join([_IS_OBJECT, *parts])


def _in_folder(base: str, folder: str, *, is_own: bool) -> str:
    if is_own:
        return f"resource.name.startsWith({_text(base + folder)})"
    return f'{_extracted(base, "job", f"/{folder}")} != ""'


_NOT_METADATA = '!resource.name.endsWith("/_metadata")'


def _extracted(base: str, name: str, following: str) -> str:
    spelled = _text(base)[:-1]
    return f'resource.name.extract({spelled}{{{name}}}{following}")'
