"""The policy that orphangc writes, enforced by a real server: enough for all that it does, and
for nothing else.
"""

import json
import re
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import boto3
import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from cli.helpers import metadata, run
from cli.stories_on_s3 import NO_MARGINS
from contracts.conftest import use
from contracts.places import S3Place
from contracts.servers.radosgw import ACCESS_KEY, SECRET_KEY
from support import speed

pytestmark = pytest.mark.s3

JOB = "1a" * 16
SHARED = rf"{JOB}/shared/[0-9a-f-]{{36}}"
OTHER = "2b" * 16  # an id that does not come back: what is stated of it is of its one run
HOSTILE = tuple(
    f"{folder}/{uuid.UUID(int=number)}"
    for number, folder in enumerate(
        (
            f"{OTHER}/shared/",
            f"{OTHER}/shared/.",
            f"{OTHER}/shared/..",
            f"{OTHER}/taskowned/../shared",
            f"../cp/{OTHER}/shared",
        )
    )
)
"""Keys that a file system would take for the place of an orphan."""


@dataclass
class Limited:
    """A user of whom nothing is known but a policy, and buckets that are not theirs.

    The state is in a bucket without versions: in others, radosgw 16 ignores ``If-None-Match``.
    """

    place: S3Place
    state: S3Place
    user: str
    client: Any
    iam: Any
    folder: Path
    plans: int = 0

    @property
    def options(self) -> tuple[str, ...]:
        return ("--state", self.state.uri, "--scope", "shared")

    def may(self, *options: str) -> None:
        """Give the user the policy that orphangc writes."""
        command = ("policy", "--provider", "ceph", "--root", self.place.uri, *self.options)
        ran = run(*command, *options, "--output", "json")
        assert ran.code == 0, ran.err
        self.iam.put_user_policy(UserName=self.user, PolicyName="p", PolicyDocument=ran.out)

    def plan(self) -> Path:
        """Plan as the user, a second after whatever was before."""
        time.sleep(1.1)
        self.plans += 1
        path = self.folder / f"plan-{self.plans}"
        said = ("--ended-job", "all", "--closed-world", *NO_MARGINS)
        ran = run("plan", self.place.uri, "--out", path, *self.options, *said)
        assert ran.code == 0, ran.err
        return path

    def sweep(self, plan: Path, *options: str) -> tuple[int, dict[str, Any]]:
        ran = run("sweep", plan, *options)
        assert ran.out, ran.err
        return ran.code, {name: each["objects"] for name, each in ran.json["counts"].items()}

    def is_refused(self, action: str, key: str = "", **more: object) -> bool:
        """Return whether the server refuses the user something."""
        request = {"Bucket": self.place.bucket, **({"Key": key} if key else {}), **more}
        try:
            getattr(self.client, action)(**request)
        except ClientError as err:
            return bool(err.response["ResponseMetadata"]["HTTPStatusCode"] == 403)
        return False

    def bulk(self, *keys: str) -> dict[str, str]:
        """Ask to delete many keys at once; return the code of each that stayed."""
        wanted = {"Objects": [{"Key": key} for key in keys]}
        answer = self.client.delete_objects(Bucket=self.place.bucket, Delete=wanted)
        return {each["Key"]: each["Code"] for each in answer.get("Errors", ())}


def _client(kind: str, url: str, access_key: str, secret_key: str) -> Any:
    keys = {"aws_access_key_id": access_key, "aws_secret_access_key": secret_key}
    return boto3.client(kind, endpoint_url=url, region_name="us-east-1", **keys)


def _make_user(url: str, name: str, access_key: str, secret_key: str) -> None:
    query = f"uid={name}&display-name={name}&access-key={access_key}&secret-key={secret_key}"
    asked = AWSRequest("PUT", f"{url}/admin/user?{query}")
    S3SigV4Auth(Credentials(ACCESS_KEY, SECRET_KEY), "s3", "us-east-1").add_auth(asked)
    with urlopen(
        Request(asked.url, method="PUT", headers=dict(asked.headers)), timeout=speed.command()
    ):
        pass


@pytest.fixture
def limited(radosgw_url, monkeypatch, tmp_path) -> Iterator[Limited]:
    """Two checkpoints of an ended job, three live files, two orphans, and the collector."""
    place = S3Place(radosgw_url, ACCESS_KEY, SECRET_KEY)
    place.enable_versions()
    state = S3Place(radosgw_url, ACCESS_KEY, SECRET_KEY, prefix="state/")
    names = [f"{JOB}/shared/{uuid.uuid4()}" for _ in range(5)]
    for name in names:
        place.put(name)
    time.sleep(1.1)
    paths = [f"{place.uri}/{name}" for name in names[:3]]
    place.put(f"{JOB}/chk-7/_metadata", metadata(7, paths[:2]))
    place.put(f"{JOB}/chk-8/_metadata", metadata(8, paths[1:]))
    for key in (f"{JOB}/taskowned/{uuid.UUID(int=1)}", *HOSTILE):
        place.put(key)
    place.client.put_object(Bucket=place.bucket, Key="other/file", Body=b"bytes")
    user, access_key, secret_key = f"u{uuid.uuid4().hex}", uuid.uuid4().hex, uuid.uuid4().hex
    _make_user(radosgw_url, user, access_key, secret_key)
    use(monkeypatch, radosgw_url, access_key, secret_key)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    client = _client("s3", radosgw_url, access_key, secret_key)
    iam = _client("iam", radosgw_url, ACCESS_KEY, SECRET_KEY)
    yield Limited(place, state, user, client, iam, tmp_path)
    client.close()
    iam.close()


def test_the_policy_is_enough_to_plan_to_lay_tombstones_to_delete_and_to_undelete(limited) -> None:
    """Every step, by a user who may do nothing else; the rest is as it was."""
    limited.may("--mode", "quarantine")
    assert limited.sweep(limited.plan()) == (0, {"tombstone/done": 2})
    before = limited.place.keys()
    limited.may("--mode", "delete")
    plan = limited.plan()
    assert limited.sweep(plan, "--delete") == (0, {"delete/done": 2})
    gone = before - limited.place.keys()
    assert len(gone) == 2
    assert {key.rpartition("/")[0] for key in gone} == {f"{JOB}/shared"}
    assert run("undelete", plan).code == 3
    assert limited.place.keys() == before - gone
    limited.may("--mode", "report", "--undelete")
    ran = run("undelete", plan)
    assert (ran.code, ran.json["counts"]) == (0, {"restored": 2})
    assert limited.place.keys() == before


def test_whoever_may_delete_orphans_may_do_nothing_else(limited) -> None:
    """The server refuses it, not orphangc."""
    limited.may("--mode", "delete")
    prefix = limited.place.prefix
    (live,) = [key for key in sorted(limited.place.keys()) if re.fullmatch(SHARED, key)][:1]
    untouchable = [
        *(
            f"{prefix}{key}"
            for key in sorted(limited.place.keys())
            if not re.fullmatch(SHARED, key)
        ),
        f"{prefix}{JOB}/shared/folder/{uuid.UUID(int=2)}",
        f"{prefix}{JOB}/shared/_metadata",
        f"{prefix}{JOB}/shared/",
        f"{prefix}{JOB[1:]}/shared/{uuid.UUID(int=2)}",
        "other/file",
        f"cp-2/{JOB}/shared/{uuid.UUID(int=2)}",
    ]
    for key in untouchable:
        assert limited.is_refused("delete_object", key), key
        assert limited.is_refused("put_object", key, Body=b""), key
    assert limited.bulk(*untouchable) == dict.fromkeys(untouchable, "AccessDenied")
    assert limited.is_refused("put_object", prefix + live, Body=b"")
    assert limited.is_refused("get_object", prefix + live)
    assert not limited.is_refused("list_objects_v2"), "a search lists the whole bucket"
    assert limited.is_refused("list_object_versions", Prefix=prefix)
    assert limited.is_refused(
        "put_bucket_versioning", VersioningConfiguration={"Status": "Enabled"}
    )
    for action in ("put_object", "get_object", "delete_object"):
        assert limited.is_refused(action, "state-of-others/1", Bucket=limited.state.bucket), action
    for near in ("", "stat", "state-of-others/"):
        assert limited.is_refused("list_objects_v2", Bucket=limited.state.bucket, Prefix=near), near
    assert not limited.is_refused("list_objects_v2", Prefix=prefix)
    limited.may("--mode", "delete", "--search", "places")
    assert not limited.is_refused("list_objects_v2", Prefix=prefix)
    assert limited.is_refused("list_objects_v2", Prefix="other/")
    assert limited.is_refused("list_objects_v2")
    assert not limited.is_refused("delete_object", prefix + live)


def test_checkpoints_may_expire_and_come_back_and_no_other_metadata_may(limited) -> None:
    """With ``--expire``; without it the same sweep is refused, and everything is as it was."""
    before, prefix = limited.place.keys(), limited.place.prefix
    said = ("--ended-job", "all", "--closed-world", *NO_MARGINS)
    policy = ("--dead", JOB, "--ended-for", "0", "--continued", f"{OTHER}=nothing")

    def expired(name: str) -> tuple[Path, int]:
        time.sleep(1.1)
        path = limited.folder / name
        made = run("expire", limited.place.uri, *limited.options[:2], *said, *policy, "--out", path)
        assert made.code == 0, made.err
        return path, run("sweep", path, "--delete").code

    limited.may("--mode", "delete")
    assert expired("refused")[1] != 0
    assert limited.place.keys() == before
    limited.may("--mode", "delete", "--expire")
    path, code = expired("allowed")
    assert code == 0
    assert before - limited.place.keys() == {f"{JOB}/chk-{n}/_metadata" for n in (7, 8)}
    ran = run("undelete", path)
    assert ran.json["counts"] == {"restored": 2}, ran.out
    assert limited.place.keys() == before
    for key in (f"{JOB}/shared/_metadata", f"{JOB}/_metadata", f"{JOB}/chk-7/sub/_metadata"):
        assert limited.is_refused("delete_object", prefix + key), key
        assert limited.is_refused("put_object", prefix + key, Body=b""), key


def test_whoever_reports_may_delete_nothing(limited) -> None:
    """A plan is made; its sweep with --delete lays tombstones, and then every key is refused."""
    limited.may("--mode", "report")
    before = limited.place.keys()
    assert limited.sweep(limited.plan()) == (0, {"tombstone/done": 2})
    code, counts = limited.sweep(limited.plan(), "--delete")
    assert (code, counts.get("delete/done", 0)) != (0, 2)
    assert limited.place.keys() == before
    shared = [f"{limited.place.prefix}{key}" for key in before if re.fullmatch(SHARED, key)]
    assert all(limited.is_refused("delete_object", key) for key in shared)
    assert all(
        limited.is_refused("get_object", key, Bucket=limited.state.bucket) for key in ("x", "stat")
    )


def test_doctor_reads_the_bucket_where_it_may_and_says_so_where_not(limited) -> None:
    """A rule that expires keys below the storage root is a warning; a missing right is a note."""
    owner = limited.place.client
    rules = [
        {
            "ID": "old",
            "Status": "Enabled",
            "Filter": {"Prefix": ""},
            "Expiration": {"Days": 90},
            "NoncurrentVersionExpiration": {"NoncurrentDays": 7},
        }
    ]
    owner.put_bucket_lifecycle_configuration(
        Bucket=limited.place.bucket, LifecycleConfiguration={"Rules": rules}
    )
    config = limited.folder / "orphangc.yaml"
    root = {"root": limited.place.uri, "state": limited.state.uri, "scope": ["shared"]}
    config.write_text(json.dumps({"storage_roots": [root]}))

    def said() -> tuple[str, str]:
        ran = run("doctor", "--config", config, "--output", "json")
        (found,) = [each for each in ran.json if each["check"] == "bucket"]
        return found["health"], found["message"]

    limited.may("--mode", "report")
    health, message = said()
    assert (health, "s3:GetLifecycleConfiguration" in message) == ("note", True)
    limited.may("--mode", "report", "--doctor")
    health, message = said()
    assert health == "warning"
    assert "lifecycle rule 'old' deletes Flink's files 90 days after they are stored" in message
    assert "undelete brings back what was deleted up to 7 days ago" in message
    assert limited.is_refused(
        "put_bucket_versioning", VersioningConfiguration={"Status": "Enabled"}
    )
