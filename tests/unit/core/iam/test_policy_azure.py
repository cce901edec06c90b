"""The policy for Azure: its condition read by the grammar and judged clause by clause."""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.core.iam.azure import azure_policy
from orphangc.core.model.types import AreaName
from support.area_files import files_of_a_job
from unit.core.iam.asked import JOB, UUID, needs
from unit.core.iam.azure_judge import Asked, allows, holds

AZURE = "abfs://container@account.dfs.core.windows.net"
EVERY = (
    "read", "write", "add/action", "delete", "deleteBlobVersion/action", "permanentDelete/action",
    "move/action", "tags/read", "tags/write", "filter/action", "runAsSuperUser/action",
    "manageOwnership/action", "modifyPermissions/action", "immutableStorage/runAsSuperUser/action",
)  # fmt: skip
"""The actions on blobs that Azure has, for which a condition can be written."""
HOSTILE = [
    "*", "?", '"', ")", ") OR (", "é", "\u202e", "a b", "%2F", "..", ".", "@Resource[x]", "{}",
]  # fmt: skip


DELETE = azure_policy(needs(f"{AZURE}/c*p", state=f"{AZURE}/state"))
PARTS = st.sampled_from([
    JOB, JOB[1:], f"{JOB}0", UUID, "", "c*p", "cXp", "state", "state-2", "shared", "taskowned",
    "chk-7", "_metadata", "x_metadata", "x" * 16 + "/" + "y" * 15, *HOSTILE,
])  # fmt: skip
LIKELY = [
    "/".join(parts)
    for parts in product(
        ["c*p", "cXp", "c*p2", "state", "state-2", "C*P", ""],
        [JOB, JOB[1:], f"{JOB}0", "x" * 16 + "/" + "y" * 15, ""],
        ["shared", "Shared", "taskowned", "chk-7", "shared/folder"],
        [UUID, "_metadata", "x_metadata", "", "/", *HOSTILE],
    )
]
KEYS = (
    st.sampled_from(LIKELY)
    | st.lists(PARTS, min_size=1, max_size=6).map("/".join)
    | st.lists(PARTS, min_size=1, max_size=4).map(lambda parts: f"c*p/{'/'.join(parts)}")
    | st.text("ab/*?_", max_size=12).map(lambda name: f"c*p/{JOB}/shared/{name}")
    | st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
)


def may(action: str, key: str, document=DELETE, container: str = "container") -> bool:
    return allows(document, action, container=container, path=key)


def may_list(prefix: str | None, document=DELETE, container: str = "container") -> bool:
    where = {} if prefix is None else {"prefix": prefix}
    return allows(document, "list", container=container, **where)


def test_the_role_has_four_actions_and_no_other() -> None:
    """Whatever the condition says: what is not in the role is not allowed."""
    actions = [each.partition("/blobs/")[2] for each in DELETE["role"]["DataActions"]]
    assert actions == ["add/action", "delete", "read", "write"]
    assert not any(DELETE["role"][each] for each in ("Actions", "NotActions", "NotDataActions"))


def is_orphan(key: str, below: str = "c*p/") -> bool:
    job, shared, name, *_ = [*key.removeprefix(below).split("/"), "", "", ""][:4]
    is_there = key.startswith(below) and key.removeprefix(below).count("/") == 2
    return is_there and (len(job), shared) == (32, "shared") and bool(name) and not (
        name.endswith("_metadata")
    )  # fmt: skip


PATH = "@Resource[Microsoft.Storage/storageAccounts/blobServices/containers/blobs:path]"


@pytest.mark.parametrize(
    "condition",
    [
        "", "(", "()", f"{PATH} StringEquals", f"{PATH} Equals 'x'", "'x'", f"{PATH} NOT 'x'",
        f"{PATH} StringEqual 'x'", "ActionMatches{'a'} ActionMatches{'b'}", f"{PATH} 'x'",
        "ActionMatches{'a'} XOR ActionMatches{'b'}", "(ActionMatches{'a'}", "ActionMatches{'a'})",
        f"{PATH} StringEquals 'it's'", "@Resource[a:b] StringEquals 'x'",
        PATH.replace("@Resource", "@Request") + " StringEquals 'x'",
    ],
)  # fmt: skip
def test_what_is_no_condition_is_an_error(condition: str) -> None:
    """The judge reads all of it, and guesses at nothing."""
    with pytest.raises((ValueError, IndexError, KeyError)):
        holds(condition, Asked("a", None, {}))


def test_every_likely_key_is_judged_rightly(record_property) -> None:
    """All of them, not a sample."""
    for key in LIKELY:
        check_deletion_and_writing(key)
        check_reading(key)
        check_listing(key)
    record_property("told", f"policy for azure: {len(LIKELY)} keys judged by its grammar")


@given(KEYS)
def test_any_key_is_judged_rightly(key: str) -> None:
    """The same of whatever else may be a key."""
    check_deletion_and_writing(key)
    check_reading(key)
    check_listing(key)


def check_deletion_and_writing(key: str) -> None:
    """Make sure that a blob may go if it lies directly in ``shared`` of a job, or in the state.

    Thirty-two characters without a slash, ``shared``, a name.
    """
    is_state = key.startswith("state/")
    assert may("delete", key) is (is_orphan(key) or is_state)
    for action in ("write", "add/action"):
        assert may(action, key) is is_state


def check_reading(key: str) -> None:
    """Make sure that metadata, state and orphans may be read, and nothing else.

    One action reads content and properties: what is deleted is looked at before.
    """
    is_metadata = key.startswith("c*p/") and "metadata" in key
    assert may("read", key) is (is_metadata or is_orphan(key) or key.startswith("state/"))


def check_listing(prefix: str) -> None:
    """Make sure that the root and the state may be listed; not neighbours, not all of it."""
    assert may_list(prefix) is prefix.startswith(("c*p/", "state/"))
    assert not may_list(None)
    assert not may_list(prefix, container="container-2")


@given(KEYS, st.sampled_from(EVERY))
def test_nothing_else_is_allowed_nor_anywhere_else(key: str, action: str) -> None:
    """Neither versions, tags, owners nor leases of another container's blobs."""
    assert not may(action, key, container="container-2")
    if action not in {"read", "write", "add/action", "delete"}:
        assert not may(action, key)


@given(KEYS)
def test_a_report_may_read_metadata_only(key: str) -> None:
    """The role itself has nothing else."""
    document = azure_policy(needs(f"{AZURE}/c*p", mode="report"))
    assert [each.rpartition("/")[2] for each in document["role"]["DataActions"]] == ["read"]
    is_metadata = key.startswith("c*p/") and "metadata" in key
    assert may("read", key, document) is is_metadata
    assert document["assignment"]["conditionVersion"] == "2.0"


@given(st.sampled_from(HOSTILE), KEYS)
def test_a_hostile_path_stands_for_itself(part: str, key: str) -> None:
    """A star in a prefix is a star, and a parenthesis ends nothing."""
    document = azure_policy(needs(f"{AZURE}/x{part}y"))
    below = re.sub("/+", "/", f"x{part}y/")
    for name in (key, f"{below}{key}", f"{below}{JOB}/shared/{UUID}"):
        assert may("delete", name, document) is is_orphan(name, below)
        assert may_list(name, document) is name.startswith(below)


@given(KEYS)
def test_the_directory_of_one_job_has_shared_files_of_its_own(key: str) -> None:
    """They lie one folder higher."""
    document = azure_policy(needs(f"{AZURE}/cp/{JOB}"))
    for name in (key, f"cp/{JOB}/shared/{key}"):
        own = name.removeprefix(f"cp/{JOB}/shared/")
        is_own = own != name and "/" not in own and bool(own) and not own.endswith("_metadata")
        assert may("delete", name, document) is is_own


@pytest.mark.parametrize("path", ["it's", "a\x07b", "a\nb"])
def test_what_a_condition_cannot_hold_is_refused(path: str) -> None:
    """A quote would end the text and begin an expression."""
    with pytest.raises(ValueError, match="cannot hold"):
        azure_policy(needs(f"{AZURE}/{path}"))


def test_who_brings_back_writes_where_orphans_were_and_deletes_nothing() -> None:
    """And whoever examines a container reads settings by actions that are no blob's."""
    document = azure_policy(
        needs(f"{AZURE}/cp", mode="report", undelete=True, examine=True, search="storage")
    )
    orphan = f"cp/{JOB}/shared/{UUID}"
    for action in ("read", "write", "add/action"):
        assert may(action, orphan, document)
        assert not may(action, f"other/{JOB}/shared/{UUID}", document)
        assert may(action, f"cp/{JOB}/chk-1/_metadata", document) is (action == "read")
    assert not may("delete", orphan, document)
    service = "Microsoft.Storage/storageAccounts/blobServices"
    assert document["role"]["Actions"] == [f"{service}/containers/read", f"{service}/read"]


def test_containers_of_one_name_in_two_accounts_have_no_policy_in_common() -> None:
    """A condition knows the name of a container, and not its account."""
    needed = [*needs(f"{AZURE}/cp"), *needs("abfs://container@other.dfs.core.windows.net/cp")]
    with pytest.raises(ValueError, match="two accounts"):
        azure_policy(needed)


def test_what_only_s3_has_is_refused() -> None:
    """No policy allows what no command can do."""
    with pytest.raises(ValueError, match="for S3"):
        azure_policy(needs(AZURE, abort_uploads=True))


@pytest.mark.parametrize("file", files_of_a_job())
def test_files_of_every_area_may_be_deleted_where_all_are_collected(file: str) -> None:
    """And no ``_metadata``."""
    document = azure_policy(needs(f"{AZURE}/cp", scope=tuple(AreaName)))
    assert may("delete", f"cp/{JOB}/{file}", document)
    assert not may("delete", f"cp/{JOB}/{file.rpartition('/')[0]}/_metadata", document)
    assert not may("delete", f"cp/{JOB[1:]}/{file}", document)
    own = azure_policy(needs(f"{AZURE}/cp/{JOB}", scope=tuple(AreaName)))
    assert may("delete", f"cp/{JOB}/{file}", own)
    assert not may("delete", f"cp/{JOB}/{file.rpartition('/')[0]}/_metadata", own)


EXPIRING = azure_policy(needs(f"{AZURE}/c*p", expire=True, search="storage"))


def test_where_checkpoints_expire_their_metadata_alone_may_go_and_come_back() -> None:
    """``chk-N`` of thirty-two characters without a slash: no other ``_metadata``."""
    for key in (*LIKELY, f"c*p/{JOB}/chk-7/a/_metadata", f"c*p/a/{JOB}/chk-7/_metadata"):
        job, folder, *name = [*key.removeprefix("c*p/").split("/"), ""]
        is_root = key.startswith("c*p/") and len(job) == 32 and name == ["_metadata", ""]
        is_root = is_root and folder.startswith("chk-")
        assert may("delete", key, EXPIRING) is (is_orphan(key) or is_root), key
        assert may("write", key, EXPIRING) is is_root, key
