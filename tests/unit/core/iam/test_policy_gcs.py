"""The policy for Google Cloud Storage: its conditions judged by a real engine of CEL."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkstate.places.locations import Location
from orphangc.core.iam.gcp import gcs_policy
from orphangc.core.iam.permissions import Purpose, Right, StorageArea, StorageNeed
from orphangc.core.model.types import AreaName
from support.area_files import files_of_a_job
from unit.core.iam.asked import JOB, UUID, needs
from unit.core.iam.google_judge import allows, extract, holds

EVERY = ("create", "delete", "get", "getIamPolicy", "setIamPolicy", "update")
HOSTILE = [
    '"', "\\", '" || true || "', "\\u0022", "\u202e", "'", "é", "a b", "%2F", "..", ".", "*", "$",
    "resource.name", "projects/_/buckets/bucket/objects/cp/",
]  # fmt: skip


DELETE = gcs_policy(needs("gs://bucket/cp", state="gs://bucket/state"))
PARTS = st.sampled_from([
    JOB, JOB[1:], UUID, "", "cp", "cp2", "state", "state-2", "shared", "taskowned", "chk-7",
    "savepoint-1", "_metadata", "x_metadata", "lock", "nonce", "doctor-1", *HOSTILE,
])  # fmt: skip
LIKELY = [
    "/".join(parts)
    for parts in product(
        ["cp", "cp2", "state", "reg", "CP", ""],
        [JOB, JOB[1:], "a/b", ""],
        ["shared", "Shared", "taskowned", "chk-7", "shared/folder", "snapshots"],
        [UUID, "_metadata", "x_metadata", "nonce", "doctor-1", "", *HOSTILE],
    )
]
KEYS = (
    st.sampled_from(LIKELY)
    | st.lists(PARTS, min_size=1, max_size=6).map("/".join)
    | st.lists(PARTS, min_size=1, max_size=4).map(lambda parts: f"cp/{'/'.join(parts)}")
    | st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
)


def test_the_engine_takes_what_google_says_that_extract_takes() -> None:
    """The examples of the reference, and an expression that is none is an error."""
    name = "projects/_/buckets/acme/objects/lake/orders/day=2019-11-03/aef87"
    assert extract(name, "/day={date}/") == "2019-11-03"
    assert extract(name, "buckets/{name}/") == "acme"
    assert extract(name, "/orders/{empty}day") == ""
    assert extract(name, "{start}/objects/lake") == "projects/_/buckets/acme"
    assert extract(name, "orders/{end}") == "day=2019-11-03/aef87"
    assert extract(name, "{all}") == name
    assert extract(name, "/orders/{none}/day=") == ""
    for wrong in ('resource.name.matches("a', "resource.size", '"a"', 'resource.name.extract("a")'):
        with pytest.raises((ValueError, RuntimeError, TypeError, KeyError)):
            holds(wrong, name=name, kind="Object")


def test_every_likely_key_is_judged_rightly(record_property) -> None:
    """All of them, not a sample."""
    for key in LIKELY:
        check_deletion(key)
        check_reading_and_writing(key)
        check_registry(key)
    record_property("told", f"policy for gcs: {len(LIKELY)} keys judged by an engine of CEL")


@given(KEYS)
def test_any_key_is_judged_rightly(key) -> None:
    """The same of whatever else may be a key."""
    check_deletion(key)
    check_reading_and_writing(key)
    check_registry(key)


def check_deletion(key: str) -> None:
    """Make sure that a key may be deleted in shared of something, or in the state.

    That is as near as conditions come; what orphangc itself would delete is within it.
    """
    below = key.removeprefix("cp/")
    is_shared = key.startswith("cp/") and below.find("/shared/") > 0
    is_orphan = is_shared and not key.endswith("/_metadata")
    assert allows(DELETE, "delete", key) is (is_orphan or key.startswith("state/"))


def check_reading_and_writing(key: str) -> None:
    """Make sure that a live file is never opened, and never replaced."""
    is_state = key.startswith("state/")
    is_metadata = key.startswith("cp/") and "metadata" in key
    assert allows(DELETE, "get", key) is (is_state or is_metadata)
    assert allows(DELETE, "create", key) is is_state
    for permission in ("update", "getIamPolicy", "setIamPolicy"):
        assert not allows(DELETE, permission, key)


@given(KEYS, st.sampled_from(EVERY))
def test_nothing_is_allowed_in_another_bucket(key, permission) -> None:
    """Not in one whose name begins with the same letters either."""
    for bucket in ("other", "bucket-2", "bucke"):
        assert not allows(DELETE, permission, key, bucket)
        name = f"projects/_/buckets/{bucket}/objects/{key}"
        for each in DELETE["buckets"]["bucket"]["bindings"]:
            if "condition" in each:
                expression = each["condition"]["expression"]
                assert not holds(expression, name=name, kind="Object")


def test_a_condition_holds_for_objects_only() -> None:
    """A bucket, or a managed folder, is none; listing is what a bucket is asked for."""
    name = f"projects/_/buckets/bucket/objects/cp/{JOB}/shared/{UUID}"
    for each in DELETE["buckets"]["bucket"]["bindings"]:
        if "condition" in each:
            for kind in ("Bucket", "ManagedFolder"):
                assert not holds(each["condition"]["expression"], name=name, kind=kind)
    assert allows(DELETE, "list")
    assert not allows(DELETE, "delete")


@given(st.sampled_from(HOSTILE), KEYS)
def test_a_hostile_path_stands_for_itself(part, key) -> None:
    """Whatever is in the name of a folder: it cannot end the text and begin an expression."""
    below = f"x{part}y/"
    place = Location("gs", "bucket", f"/x{part}y")
    document = gcs_policy(
        [
            StorageNeed(
                right=Right.DELETE, area=StorageArea.SHARED, place=place, purpose=Purpose.ORPHANS
            )
        ]
    )
    for name in (key, f"{below}{key}", f"{below}{JOB}/shared/{UUID}"):
        is_shared = name.startswith(below) and name.removeprefix(below).find("/shared/") > 0
        assert allows(document, "delete", name) is (is_shared and not name.endswith("/_metadata"))


@given(KEYS)
def test_a_report_may_read_metadata_and_a_quarantine_keep_its_state(key) -> None:
    """Neither may delete a file of a job."""
    report = gcs_policy(needs("gs://bucket/cp", mode="report"))
    quarantine = gcs_policy(needs("gs://bucket/cp", mode="quarantine", state="gs://bucket/state"))
    for permission in ("create", "delete"):
        assert not allows(report, permission, key)
        assert allows(quarantine, permission, key) is key.startswith("state/")


@given(KEYS)
def test_the_directory_of_one_job_has_shared_files_of_its_own(key) -> None:
    """And those only: not what lies in folders that look like other jobs."""
    document = gcs_policy(needs(f"gs://bucket/cp/{JOB}"))
    is_own = key.startswith(f"cp/{JOB}/shared/") and not key.endswith("/_metadata")
    assert allows(document, "delete", key) is is_own
    assert allows(document, "delete", f"cp/{JOB}/shared/{UUID}")


REGISTRY = gcs_policy(needs("gs://bucket/cp", mode="report", registry=["gs://bucket/reg"]))


def check_registry(key: str) -> None:
    """Make sure that snapshots are read and nonces written: nothing of exporters is replaced."""
    is_below = key.startswith("reg/")
    is_probe = is_below and key.removeprefix("reg/").find("/doctor-") > 0
    is_metadata = key.startswith("cp/") and "metadata" in key
    may_write = is_probe or (is_below and key.endswith("/nonce"))
    assert allows(REGISTRY, "create", key) is may_write
    assert allows(REGISTRY, "get", key) is (is_below or is_metadata or key == "reg")


def test_google_may_delete_nothing_for_a_report() -> None:
    """The roles themselves do not have the permission."""
    document = gcs_policy(needs("gs://bucket/cp", mode="report"))
    assert {p for role in document["roles"] for p in role["includedPermissions"]} == {
        "storage.objects.get",
        "storage.objects.list",
    }


@pytest.mark.parametrize("path", ["a{b", "a}b", "a\x07b", "a\nb"])
def test_what_a_condition_cannot_hold_is_refused(path: str) -> None:
    """Rather than a condition that means something else."""
    with pytest.raises(ValueError, match="cannot hold"):
        gcs_policy(needs(f"gs://bucket/{path}"))


def test_who_brings_back_writes_where_orphans_were_and_deletes_nothing() -> None:
    """And whoever examines a bucket reads its settings, which are no object's."""
    document = gcs_policy(
        needs("gs://bucket/cp", mode="report", undelete=True, examine=True, search="storage")
    )
    orphan, metadata = f"cp/{JOB}/shared/{UUID}", f"cp/{JOB}/chk-1/_metadata"
    for permission in ("create", "get", "restore"):
        assert allows(document, permission, orphan)
        assert not allows(document, permission, f"other/{JOB}/shared/{UUID}")
        assert allows(document, permission, metadata) is (permission == "get")
    assert not allows(document, "delete", orphan)
    (of_bucket,) = (
        each for each in document["buckets"]["bucket"]["bindings"] if "condition" not in each
    )
    (role,) = (each for each in document["roles"] if each["name"] == of_bucket["role"])
    assert role["includedPermissions"] == ["storage.buckets.get", "storage.objects.list"]
    assert len({each["name"] for each in document["roles"]}) == len(document["roles"])


def test_roles_of_a_bucket_and_of_objects_have_names_of_their_own() -> None:
    """``get`` is a verb of both."""
    place, purpose = Location("gs", "b", "/x"), Purpose.LOOK
    reading = StorageNeed(right=Right.READ, area=StorageArea.BELOW, place=place, purpose=purpose)
    document = gcs_policy([reading, replace(reading, right=Right.TELL_VERSIONING)])
    assert [each["includedPermissions"] for each in document["roles"]] == [
        ["storage.objects.get"],
        ["storage.buckets.get"],
    ]


def test_what_only_s3_has_is_refused() -> None:
    """No policy allows what no command can do."""
    with pytest.raises(ValueError, match="for S3"):
        gcs_policy(needs("gs://b/cp", abort_uploads=True))


@pytest.mark.parametrize("file", files_of_a_job())
def test_files_of_every_area_may_be_deleted_where_all_are_collected(file: str) -> None:
    """And no ``_metadata``."""
    for root in ("gs://bucket/cp", f"gs://bucket/cp/{JOB}"):
        document = gcs_policy(needs(root, scope=tuple(AreaName)))
        assert allows(document, "delete", f"cp/{JOB}/{file}")
        assert not allows(document, "delete", f"cp/{JOB}/{file.rpartition('/')[0]}/_metadata")
        assert not allows(document, "delete", f"cp/{JOB}/other/{UUID}")


def test_where_checkpoints_expire_their_metadata_may_go_and_come_back() -> None:
    """As near as conditions come: ``_metadata`` below a ``chk-``; without an expiry, none."""
    documents = [
        gcs_policy(needs("gs://bucket/cp", scope=tuple(AreaName), expire=expires, search="storage"))
        for expires in (False, True)
    ]
    keys = {f"cp/{JOB}/{folder}/_metadata": folder == "chk-7" for folder in ("chk-7", "shared")}
    for key, is_root in (keys | {f"cp2/{JOB}/chk-7/_metadata": False}).items():
        for document, expires in zip(documents, (False, True), strict=True):
            for permission in ("create", "delete"):
                assert allows(document, permission, key) is (expires and is_root), key
