"""Judges bindings of Google Cloud Storage: their conditions by a real engine of CEL.

What the engine has not is IAM's own ``extract``, made here as Google describes it: the text
between the first place where what stands before the braces is found, and the first place behind
that where what stands after them is; nothing where either is absent.

Source: "Attribute reference for IAM Conditions" (resource attributes, ``extract``), and "Use IAM
Conditions" of Cloud Storage: listing is asked of the bucket, all else of the object.
"""

import re
from collections.abc import Mapping
from typing import Any

import cel

_TEMPLATE = re.compile(r"([^{}]*)\{[A-Za-z_]+\}([^{}]*)", re.DOTALL)


def extract(text: str, template: str) -> str:
    match = _TEMPLATE.fullmatch(template)
    if match is None:
        raise ValueError(f"no template of IAM: {template!r}")
    before, after = match.groups()
    _, found, rest = text.partition(before) if before else ("", " ", text)
    taken, ends, _ = rest.partition(after) if after else (rest, " ", "")
    return taken if found and ends else ""


def holds(expression: str, *, name: str, kind: str) -> bool:
    """Return what an expression says of a resource; what is no CEL, or no truth, is an error."""
    context = cel.Context()
    context.add_variable(
        "resource", {"name": name, "type": f"storage.googleapis.com/{kind}", "service": _SERVICE}
    )
    context.add_function("extract", extract)
    verdict = cel.evaluate(expression, context)
    if not isinstance(verdict, bool):
        raise TypeError(f"{expression!r} is {verdict!r}")
    return verdict


_SERVICE = "storage.googleapis.com"


def allows(
    document: Mapping[str, Any], permission: str, key: str = "", bucket: str = "bucket"
) -> bool:
    """Return whether a policy allows something on an object; ``list`` is of the bucket."""
    is_listing = permission == "list"
    kind = "Bucket" if is_listing else "Object"
    name = f"projects/_/buckets/{bucket}" + ("" if is_listing else f"/objects/{key}")
    roles = {each["name"]: each["includedPermissions"] for each in document["roles"]}
    return any(
        f"storage.objects.{permission}" in roles[each["role"]]
        and holds(each.get("condition", {}).get("expression", "true"), name=name, kind=kind)
        for each in document["buckets"].get(bucket, {"bindings": ()})["bindings"]
    )
