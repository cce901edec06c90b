"""The policies for Google Cloud Storage and Azure, judged clause by clause."""

import re

import pytest

from orphangc.core.policy.azure import azure_policy
from orphangc.core.policy.gcs import gcs_policy
from orphangc.core.policy.needs import Need, needs_of
from orphangc.core.run_record import RunMode
from orphangc.core.settings import StorageRootSettings

JOB = "0123456789abcdef" * 2
UUID = "00000000-0000-4000-8000-000000000001"
ORPHAN = f"cp/{JOB}/shared/{UUID}"
KEPT = (
    f"cp/{JOB}/chk-7/_metadata",
    f"cp/{JOB}/shared/_metadata",
    f"cp/{JOB}/taskowned/{UUID}",
    f"cp2/{JOB}/shared/{UUID}",
    f"state-2/{UUID}",
)
TOO_DEEP = (f"cp/{JOB}/shared/folder/{UUID}", f"cp/{JOB[1:]}/shared/{UUID}")
"""What orphangc does not delete either, and Google's conditions cannot tell apart."""


def needs(root: str, mode: str = "delete", **more) -> tuple[Need, ...]:
    settings = StorageRootSettings.model_validate({"root": root, **more})
    return needs_of(settings, mode=RunMode(mode))


# --- Google Cloud Storage


def _holds(clause: str, name: str) -> bool:
    """Return whether one clause of CEL holds for a resource name."""
    if clause.startswith("!"):
        return not _holds(clause[1:], name)
    if found := re.fullmatch(r'resource\.name\.startsWith\("(.*)"\)', clause):
        return name.startswith(_unquoted(found[1]))
    if found := re.fullmatch(r'resource\.name\.endsWith\("(.*)"\)', clause):
        return name.endswith(_unquoted(found[1]))
    if found := re.fullmatch(r'resource\.name\.extract\("(.*)\{job\}(.*)"\) != ""', clause):
        before, after = map(_unquoted, found.groups())
        _, has_before, rest = name.partition(before)
        taken, has_after, _ = rest.partition(after)
        return bool(has_before and has_after and taken)
    return clause == 'resource.type == "storage.googleapis.com/Object"'


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def gcs_allows(document, permission: str, key: str, bucket: str = "bucket") -> bool:
    roles = {each["name"]: each["includedPermissions"] for each in document["roles"]}
    name = f"projects/_/buckets/{bucket}/objects/{key}"
    return any(
        permission in roles[each["role"]]
        and all(_holds(c, name) for c in each["condition"]["expression"].split(" && "))
        for each in document["buckets"][bucket]["bindings"]
        if "condition" in each
    )


def test_google_may_delete_shared_files_of_jobs() -> None:
    """And its own state, and nothing else that conditions can tell apart."""
    document = gcs_policy(needs("gs://bucket/cp", state="gs://bucket/state"))
    assert gcs_allows(document, "storage.objects.delete", ORPHAN)
    assert gcs_allows(document, "storage.objects.delete", "state/folder/lock/1.json")
    assert not any(gcs_allows(document, "storage.objects.delete", key) for key in KEPT)
    assert not gcs_allows(document, "storage.objects.create", ORPHAN)
    assert not gcs_allows(document, "storage.objects.get", ORPHAN)
    assert gcs_allows(document, "storage.objects.get", KEPT[0])


def test_google_may_delete_nothing_for_a_report() -> None:
    """The roles themselves do not have the permission."""
    document = gcs_policy(needs("gs://bucket/cp", mode="report"))
    assert {p for role in document["roles"] for p in role["includedPermissions"]} == {
        "storage.objects.get",
        "storage.objects.list",
    }


def test_a_whole_google_policy() -> None:
    """As an operator gets it: listing has no condition, for Google knows none."""
    document = gcs_policy(needs('gs://bucket/c"p', mode="report"))
    below = 'resource.name.startsWith("projects/_/buckets/bucket/objects/c\\"p/")'
    object_type = 'resource.type == "storage.googleapis.com/Object"'
    member, role = ["serviceAccount:MEMBER"], "projects/PROJECT/roles/orphangc"
    assert document["buckets"] == {
        "bucket": {
            "version": 3,
            "bindings": [
                {"role": f"{role}List", "members": member},
                {
                    "role": f"{role}Get",
                    "members": member,
                    "condition": {
                        "title": "orphangc 1",
                        "expression": f"{object_type} && {below}"
                        ' && resource.name.endsWith("/_metadata")',
                    },
                },
            ],
        }
    }
    assert document["roles"][0] == {
        "name": f"{role}Get",
        "title": "orphangcGet",
        "stage": "GA",
        "includedPermissions": ["storage.objects.get"],
    }


# --- Azure


def azure_allows(document, action: str, key: str, *, is_listing: bool = False) -> bool:
    """Judge the condition as Azure would: every clause that is about the action must hold."""
    if not any(each.endswith(action) for each in document["role"]["DataActions"]):
        return False
    for clause in document["assignment"]["condition"].split("\nAND\n"):
        guard, _, allowed = clause.partition("\n OR\n")
        is_about = f"blobs/{action}'" in guard
        if "Blob.List" in guard:
            is_about = is_about and ("NOT SubOperation" not in guard) is is_listing
        if is_about and not any(_fits(each, key) for each in allowed.split("\n  OR\n")):
            return False
    return True


def _fits(alternative: str, key: str) -> bool:
    tests = re.findall(r":(name|path|prefix)\] (\w+) '([^']*)'", alternative)
    names = [value for what, _, value in tests if what == "name"]
    paths = [(verb, value) for what, verb, value in tests if what != "name"]
    assert names == ["container"]
    results = [_compares(verb, value, key) for verb, value in paths]
    return any(results) if " OR " in alternative else all(results)


def _compares(verb: str, value: str, key: str) -> bool:
    tokens = re.findall(r"\\([*?])|([*?])|(.)", value)
    like = "".join(
        {"*": ".*", "?": "."}[wild] if wild else re.escape(literal or other)
        for literal, wild, other in tokens
    )
    return {
        "StringLike": re.fullmatch(like, key) is not None,
        "StringNotLike": re.fullmatch(like, key) is None,
        "StringStartsWith": key.startswith(value),
        "StringEquals": key == value,
    }[verb]


AZURE = "abfs://container@account.dfs.core.windows.net"


def test_azure_may_delete_exactly_what_lies_directly_in_shared_of_a_job() -> None:
    """Its conditions count characters and folders."""
    document = azure_policy(needs(f"{AZURE}/cp", state=f"{AZURE}/state"))
    assert azure_allows(document, "delete", ORPHAN)
    assert azure_allows(document, "delete", "state/folder/lock/1.json")
    assert not any(azure_allows(document, "delete", key) for key in (*KEPT, *TOO_DEEP))
    assert azure_allows(document, "read", KEPT[0])
    assert not azure_allows(document, "read", f"cp/{JOB}/taskowned/{UUID}")
    assert azure_allows(document, "read", f"cp/{JOB}", is_listing=True)
    assert not azure_allows(document, "read", "", is_listing=True)
    for action in ("write", "add/action"):
        assert azure_allows(document, action, "state/folder/lock/1.json")
        assert not azure_allows(document, action, ORPHAN)


def test_azure_may_only_read_for_a_report() -> None:
    """The role itself has nothing else, and state is not read."""
    document = azure_policy(needs(f"{AZURE}/c*p", mode="report"))
    assert [each.rpartition("/")[2] for each in document["role"]["DataActions"]] == ["read"]
    assert not azure_allows(document, "read", f"c*p/{JOB}/shared/{UUID}")
    assert azure_allows(document, "read", f"c*p/{JOB}/chk-7/_metadata")
    assert not azure_allows(document, "read", f"cXp/{JOB}/chk-7/_metadata")
    assert document["assignment"]["conditionVersion"] == "2.0"


# --- both


@pytest.mark.parametrize("path", ["a{b", "a\x07b"])
def test_what_a_google_condition_cannot_hold_is_refused(path: str) -> None:
    """Rather than a condition that means something else."""
    with pytest.raises(ValueError, match="cannot hold"):
        gcs_policy(needs(f"gs://bucket/{path}"))


@pytest.mark.parametrize("path", ["it's", "a\x07b"])
def test_what_an_azure_condition_cannot_hold_is_refused(path: str) -> None:
    """The same there: a quote would end the text and begin an expression."""
    with pytest.raises(ValueError, match="cannot hold"):
        azure_policy(needs(f"{AZURE}/{path}"))


@pytest.mark.parametrize(("make", "root"), [(gcs_policy, "gs://b/cp"), (azure_policy, AZURE)])
def test_there_is_no_undelete_but_in_s3(make, root: str) -> None:
    """No policy allows what no command can do."""
    settings = StorageRootSettings(root=root)
    with pytest.raises(ValueError, match="for S3"):
        make(needs_of(settings, mode=RunMode.DELETE, may_undelete=True))
