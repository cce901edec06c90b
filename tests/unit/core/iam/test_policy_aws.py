"""The policy for S3: judged by a matcher of IAM's grammar, not by its own text."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.core.iam.aws import aws_policy
from orphangc.core.model.types import AreaName
from support.area_files import files_of_a_job
from unit.core.iam.asked import JOB, UUID, needs
from unit.core.iam.iam import allows

ROOT = "s3://bucket/check*points?/$flink"
BELOW = "check*points?/$flink/"


def policy(root: str = ROOT, **more):
    return aws_policy(needs(root, **more))


def may(document, action: str, key: str, **context: str) -> bool:
    return allows(document, f"s3:{action}", f"arn:aws:s3:::bucket/{key}", **context)


def may_list(document, prefix: str | None, action: str = "ListBucket", **context: str) -> bool:
    asked = context if prefix is None else {"prefix": prefix, **context}
    return allows(document, f"s3:{action}", "arn:aws:s3:::bucket", **asked)


DELETE = policy()
REPORT = policy(mode="report")
AREAS = ["shared", "taskowned", "chk-7", "savepoint-1"]
NAMES = ["_metadata", UUID, f"7_{UUID}", "", "..", "*", "a/b", "x" * 16 + "/" + "y" * 15]
PARTS = st.sampled_from([JOB, JOB[:-1], f"{JOB}0", *AREAS, *NAMES])
KEYS = st.one_of(
    st.lists(PARTS, min_size=1, max_size=6).map("/".join),
    st.lists(PARTS, min_size=1, max_size=4).map(lambda parts: BELOW + "/".join(parts)),
    st.text("ab/*?$_", max_size=12).map(lambda name: f"{BELOW}{JOB}/shared/{name}"),
    st.text(max_size=80),
)


@given(KEYS)
def test_a_key_may_be_deleted_exactly_if_it_lies_directly_in_shared_of_a_job(key: str) -> None:
    """Thirty-two characters without a slash, ``shared``, a name: nothing else, nowhere else."""
    job, shared, name, *_ = [*key.removeprefix(BELOW).split("/"), "", "", ""][:4]
    is_orphan = (
        key.startswith(BELOW)
        and key.removeprefix(BELOW).count("/") == 2
        and (len(job), shared) == (32, "shared")
        and not name.endswith("_metadata")
        and bool(name)
    )
    assert may(DELETE, "DeleteObject", key) is is_orphan
    assert not may(DELETE, "DeleteObjectVersion", key)
    assert not may(DELETE, "PutObject", key)


@given(KEYS)
def test_a_report_may_delete_nothing_and_write_nothing(key: str) -> None:
    """Nor may a quarantine without a state location."""
    for mode in ("report", "quarantine"):
        document = policy(mode=mode)
        for action in ("DeleteObject", "DeleteObjectVersion", "PutObject"):
            assert not may(document, action, key)


@given(KEYS)
def test_only_metadata_below_the_root_may_be_read(key: str) -> None:
    """And files that may be deleted, where runs delete: a report reads none of them."""
    below = key.removeprefix(BELOW)
    is_metadata = key.startswith(BELOW) and "metadata" in below
    is_file = key.startswith(BELOW) and re.fullmatch(".{32}/shared/.*", below, re.DOTALL)
    assert may(REPORT, "GetObject", key) is is_metadata
    assert may(DELETE, "GetObject", key) is (is_metadata or bool(is_file))


@given(KEYS)
def test_only_what_begins_with_the_root_may_be_listed(prefix: str) -> None:
    """The folder itself and anything deeper; not its neighbours, not the whole bucket."""
    assert may_list(DELETE, prefix) is prefix.startswith(BELOW)
    assert not may_list(DELETE, None)


def test_special_characters_stand_for_themselves() -> None:
    """A star in a prefix is a star: a bucket full of others is not covered by it."""
    assert may(DELETE, "DeleteObject", f"{BELOW}{JOB}/shared/{UUID}")
    assert not may(DELETE, "DeleteObject", f"checkXpointsY/$flink/{JOB}/shared/{UUID}")
    assert "check${*}points${?}/${$}flink/" in json.dumps(DELETE)


def test_a_root_that_is_the_directory_of_one_job_has_its_shared_files_only() -> None:
    """Its ``shared/`` lies right below; ``--owner`` says the same of any other name."""
    for root, more in ((f"s3://bucket/cp/{JOB}", {}), ("s3://bucket/cp/mine", {"owner": JOB})):
        document = policy(root, **more)
        below = root.removeprefix("s3://bucket/")
        assert may(document, "DeleteObject", f"{below}/shared/{UUID}")
        for key in (f"shared/a/{UUID}", "shared/", "shared/_metadata", f"{JOB}/shared/{UUID}"):
            assert not may(document, "DeleteObject", f"{below}/{key}")


def test_a_state_location_is_listed_read_written_and_deleted_below_its_own_prefix() -> None:
    document = policy(state="s3://bucket/state")
    for action in ("GetObject", "PutObject", "DeleteObject"):
        assert may(document, action, "state/folder/lock/1.json")
        assert not may(document, action, "state-of-others/1.json")
    assert may_list(document, "state/folder/")
    assert not may_list(document, "stat")


def test_versions_may_be_touched_only_to_undelete() -> None:
    """And then only those of orphans; counting them takes no more than their listing."""
    counting, undoing = policy(noncurrent_versions=True), policy(undelete=True)
    shared, metadata = f"{BELOW}{JOB}/shared/{UUID}", f"{BELOW}{JOB}/chk-7/_metadata"
    for document, can_undo in ((DELETE, False), (counting, False), (undoing, True)):
        assert may(document, "DeleteObjectVersion", shared) is can_undo
        assert not may(document, "DeleteObjectVersion", metadata)
        assert may_list(document, None, "GetBucketVersioning") is can_undo
    assert not may_list(DELETE, BELOW, "ListBucketVersions")
    assert may_list(counting, BELOW, "ListBucketVersions")
    assert not may_list(undoing, "", "ListBucketVersions")


def test_files_of_savepoints_may_be_deleted_only_below_an_extra_root_in_the_storage_root() -> None:
    """R33: never a ``_metadata``, nor with a scope that lacks the area."""
    below, beside = f"s3://bucket/{BELOW}savepoints", "s3://bucket/elsewhere"
    name = "savepoint-aaaaaa-0123456789ab"
    document = policy(scope=tuple(AreaName), extra_roots=(below, beside))
    assert may(document, "DeleteObject", f"{BELOW}savepoints/{name}/{UUID}")
    assert not may(document, "DeleteObject", f"{BELOW}savepoints/{name}/_metadata")
    assert not may(document, "DeleteObject", f"{BELOW}savepoints/other/{UUID}")
    assert not may(document, "DeleteObject", f"elsewhere/{name}/{UUID}")
    flat = policy(extra_roots=(below,))
    assert not may(flat, "DeleteObject", f"{BELOW}savepoints/{name}/{UUID}")


def test_uploads_may_be_aborted_only_where_it_is_asked_for() -> None:
    """And then those of files, and of a checkpoint's ``_metadata``, which stays undeletable."""
    scope = tuple(AreaName)
    asking = policy(abort_uploads=True, scope=scope)
    reporting = policy(abort_uploads=True, scope=scope, mode="report")
    for key in (f"{BELOW}{JOB}/shared/{UUID}", f"{BELOW}{JOB}/chk-7/_metadata"):
        assert may(asking, "AbortMultipartUpload", key)
        assert not may(DELETE, "AbortMultipartUpload", key)
        assert not may(reporting, "AbortMultipartUpload", key)
    assert not may(asking, "AbortMultipartUpload", f"{BELOW}elsewhere/{UUID}")
    assert not may(asking, "DeleteObject", f"{BELOW}{JOB}/chk-7/_metadata")
    assert may_list(asking, None, "ListBucketMultipartUploads")
    assert not may_list(DELETE, None, "ListBucketMultipartUploads")


def test_evidence_may_be_read_where_the_settings_name_it() -> None:
    """Extra roots: their metadata. A registry: its snapshots, and its nonces written."""
    document = policy(
        extra_roots=("s3://bucket/savepoints",),
        registry=("s3://bucket/registry",),
        inventory="s3://bucket/inv/config/2026-01-01T00-00Z/manifest.json",
    )
    assert may(document, "GetObject", "savepoints/savepoint-1/_metadata")
    assert not may(document, "GetObject", f"savepoints/savepoint-1/{UUID}")
    assert may(document, "GetObject", f"registry/{JOB}/snapshots/snapshot-1.jsonl")
    assert may(document, "PutObject", f"registry/{JOB}/nonce")
    assert not may(document, "PutObject", f"registry/{JOB}/snapshots/snapshot-1.jsonl")
    assert not may(document, "DeleteObject", f"registry/{JOB}/nonce")
    assert may(document, "DeleteObject", f"registry/{JOB}/doctor-1")
    assert may(document, "GetObject", "inv/config/data/1.csv.gz")
    assert may_list(document, "", delimiter="/")
    assert not may_list(document, "")


def test_a_whole_bucket_as_root_is_listed_without_a_condition() -> None:
    """There is no prefix to ask for; deletion is as narrow as anywhere."""
    document = policy("s3://bucket", state="s3://other/state")
    assert may_list(document, None)
    assert may(document, "DeleteObject", f"{JOB}/shared/{UUID}")
    assert not may(document, "DeleteObject", f"x/{JOB}/shared/{UUID}")
    assert not may(document, "DeleteObject", f"{JOB}/chk-7/_metadata")


@pytest.mark.parametrize("bucket", ["logs--use1-az4--x-s3", "name-abc-s3alias", "a b"])
def test_a_bucket_without_permissions_by_prefix_is_refused(bucket: str) -> None:
    """A policy that looks right and means nothing is worse than none."""
    with pytest.raises(ValueError, match="no general purpose bucket"):
        policy(f"s3://{bucket}/cp")


ALL_AREAS = policy(scope=tuple(AreaName))


@pytest.mark.parametrize("file", files_of_a_job())
def test_files_of_every_area_may_be_deleted_where_all_are_collected(file: str) -> None:
    """And no others; with ``--scope shared`` as before."""
    assert may(ALL_AREAS, "DeleteObject", f"{BELOW}{JOB}/{file}")
    assert may(DELETE, "DeleteObject", f"{BELOW}{JOB}/{file}") is bool(
        re.fullmatch("shared/[^/]+", file)
    )
    assert not may(ALL_AREAS, "DeleteObject", f"{BELOW}{JOB[1:]}/{file}")
    one = policy(f"s3://bucket/cp/{JOB}", scope=tuple(AreaName))
    assert may(one, "DeleteObject", f"cp/{JOB}/{file}")


@pytest.mark.parametrize("file", files_of_a_job())
def test_amazon_compares_the_etag_of_a_file_only_for_who_may_read_it(file: str) -> None:
    """Without it each deletion is refused, for each has a condition; Ceph asks for no more."""
    key = f"{BELOW}{JOB}/{file}"
    assert may(ALL_AREAS, "GetObject", key)
    ceph = aws_policy(needs(ROOT, scope=tuple(AreaName)), is_ceph=True)
    assert may(ceph, "DeleteObject", key)
    assert may(ceph, "GetObject", key) is ("metadata" in file)


@given(KEYS)
def test_no_metadata_may_be_deleted_whatever_is_collected(key: str) -> None:
    """Neither may a folder's marker, nor anything outside the root."""
    is_kept = key.endswith(("_metadata", "/")) or not key.startswith(BELOW)
    assert not (is_kept and may(ALL_AREAS, "DeleteObject", key))
    for metadata in (f"{BELOW}{JOB}/chk-7/_metadata", f"{BELOW}{JOB}/shared/_metadata"):
        assert not may(ALL_AREAS, "DeleteObject", metadata)


EXPIRING = [
    policy(scope=scope, expire=True, undelete=True) for scope in (("shared",), tuple(AreaName))
]


@given(KEYS)
def test_where_checkpoints_expire_their_metadata_alone_may_go_and_come_back(key: str) -> None:
    """Thirty-two characters, ``chk-N``, ``_metadata``: no other one, and no version of any."""
    parts = key.removeprefix(BELOW).split("/")
    is_root = (
        key.startswith(BELOW)
        and [len(parts[0]), *parts[2:]] == [32, "_metadata"]
        and parts[1].startswith("chk-")
    )
    for document, before in zip(EXPIRING, (DELETE, ALL_AREAS), strict=True):
        assert may(document, "PutObject", key) is is_root
        assert may(document, "DeleteObject", key) is (is_root or may(before, "DeleteObject", key))
        is_version = may(document, "DeleteObjectVersion", key)
        assert is_version is may(before, "DeleteObject", key)


def test_an_expiry_is_allowed_only_where_runs_delete_or_something_comes_back() -> None:
    """A report takes nothing; who only undeletes may write; one job's root has its own."""
    root = f"{BELOW}{JOB}/chk-7/_metadata"
    for mode, undelete, expected in (
        ("report", False, (False, False)),
        ("report", True, (False, True)),
        ("delete", False, (True, True)),
    ):
        document = policy(mode=mode, undelete=undelete, expire=True)
        assert (may(document, "DeleteObject", root), may(document, "PutObject", root)) == expected
    one = policy(f"s3://bucket/cp/{JOB}", expire=True, scope=tuple(AreaName))
    for action in ("DeleteObject", "PutObject"):
        assert may(one, action, f"cp/{JOB}/chk-7/_metadata")
        for other in (
            "_metadata",
            "shared/_metadata",
            "chk-7/a/_metadata",
            "savepoint-1/_metadata",
        ):
            assert not may(one, action, f"cp/{JOB}/{other}")


def test_a_search_of_whole_storages_lists_each_bucket_and_reads_metadata_alone() -> None:
    """Of each place's bucket, whatever else lies in it; nothing more may be deleted."""
    whole = policy(search="storage", extra_roots=("s3://bucket/other",))
    assert all(may_list(whole, prefix) for prefix in (None, "", "lake/", BELOW))
    assert may(whole, "GetObject", "lake/table/_metadata")
    assert not may(whole, "GetObject", f"lake/{JOB}/shared/{UUID}")
    assert not may(whole, "DeleteObject", f"lake/{JOB}/shared/{UUID}")
    assert not may_list(policy(), None)
