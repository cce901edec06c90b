"""Hiding anything of a fleet in buckets deletes nothing more; beside ``test_monotonicity``.

Two storage roots of one run are in one bucket of a loopback server. Each of five retained
checkpoints needs one file of the first: in the second storage root, in a folder of the bucket that
nothing names, and in three other buckets, which a path in a checkpoint, a Kubernetes resource and a
cluster's answer name. After the run that saw all of it, some of it is hidden.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.helpers import metadata
from cli.own_environment import own_surroundings
from cli.scheduled import Configured
from cli.stories_on_s3 import JOB_ID, use_s3
from orphangc.adapters.object_store.object_storage import ObjectStorage
from orphangc.collect.observe.storage_search import StorageSearch
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.errors import StorageUnreachableError
from support.flink_resources import a_deployment, a_plain_deployment, a_status
from support.kubernetes_server import KubernetesServer
from support.rest_server import RestServer, as_json

__all__ = ["own_surroundings"]

SECOND, UNNAMED, PATH, RESOURCE, ANSWER = (f"{number:032x}" for number in range(2, 7))
"""Jobs with a retained checkpoint each, by what leads to it."""
SILENT = "http://127.0.0.1:1"


@dataclass
class Buckets:
    """The fleet."""

    client: Any  # speaks to the server
    patch: pytest.MonkeyPatch  # undone when the fleet is
    name: str  # the bucket of both storage roots; the others have its name and a letter
    kubernetes: KubernetesServer  # its API server
    configured: Configured  # the configuration file
    # key of the file of the first storage root that each job needs
    needed: dict[str, str] = field(default_factory=dict)
    spare: list[str] = field(default_factory=list)  # keys that nothing needs

    @classmethod
    def made(cls, url: str, folder: Path, stack: ExitStack) -> Buckets:
        """Return a fleet that no run has seen."""
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        client = use_s3(patch, url)
        kubernetes = stack.enter_context(KubernetesServer())
        patch.setenv("KUBECONFIG", str(kubernetes.kubeconfig(folder)))
        fleet = cls(client, patch, f"b-{uuid.uuid4().hex[:12]}", kubernetes, Configured(folder))
        fleet._fill()
        answers = {
            "/config": as_json({"flink-version": "1.20.0", "refresh-interval": 0}),
            "/jobs": as_json({"jobs": []}),
            "/jobmanager/config": as_json([_checkpoints_in(fleet.bucket("c"), as_pair=True)]),
        }
        rest = stack.enter_context(RestServer(answers)).url
        kubernetes.add(a_plain_deployment("flink-red", {"app": "red"}, container={"image": "x"}))
        fleet._configure(folder, rest)
        return fleet

    def bucket(self, letter: str = "") -> str:
        return f"{self.name}-{letter}" if letter else self.name

    def put(self, bucket: str, key: str, data: bytes) -> str:
        self.client.put_object(Bucket=bucket, Key=key, Body=data)
        return f"s3://{bucket}/{key}"

    def _file(self) -> tuple[str, str]:
        """Store a file in the first storage root; return its key and URI."""
        key = f"checkpoints/{JOB_ID}/shared/{uuid.uuid4()}"
        return key, self.put(self.name, key, key.encode())

    def _fill(self) -> None:
        for letter in ("", "a", "b", "c"):
            self.client.create_bucket(Bucket=self.bucket(letter))
        uris = {}
        for job in (JOB_ID, SECOND, UNNAMED, PATH, RESOURCE, ANSWER):
            self.needed[job], uris[job] = self._file()
        self.spare = [self._file()[0] for _ in range(2)]
        time.sleep(1.1)  # one store time for all would be a copied tree
        beside = f"s3://{self.bucket('a')}/origin/{PATH}/shared/{uuid.uuid4()}"
        own = metadata(7, [uris[JOB_ID], beside])
        self.put(self.name, f"checkpoints/{JOB_ID}/chk-7/_metadata", own)
        for job, (bucket, folder) in self.places.items():
            self.put(bucket, f"{folder}/{job}/chk-9/_metadata", metadata(9, [uris[job]]))
        of_red = _checkpoints_in(self.bucket("b"))
        gone = a_status(RESOURCE, "FINISHED", jobManagerDeploymentStatus="MISSING")
        self.kubernetes.operate(a_deployment("red", of_red))
        self.kubernetes.operate(a_deployment("red", of_red, status=gone))

    @property
    def places(self) -> dict[str, tuple[str, str]]:
        """Return bucket and folder of each job that needs a file of the first storage root."""
        return {
            SECOND: (self.name, "second"),
            UNNAMED: (self.name, "deep/down"),
            PATH: (self.bucket("a"), "deep"),
            RESOURCE: (self.bucket("b"), "red"),
            ANSWER: (self.bucket("c"), "red"),
        }

    def _configure(self, folder: Path, rest: str) -> None:
        margins = ("grace_period", "clock_skew", "quiet_period", "quarantine_period")
        shared = {"state": str(folder / "state"), "closed_world": True, "max_delete_share": "1"}
        shared |= {"allow_short_margins": True, **dict.fromkeys(margins, "0")}
        shared["ended_job"] = [JOB_ID, *self.places]
        discovery = {"namespaces": ["flink"], "rest": rest, "state": str(folder / "state")}
        self.configured.content = {
            "mode": "delete",
            "plans": str(folder / "plans"),
            "discovery": discovery | {"closed_world": True},
            "storage_roots": [
                {"root": f"s3://{self.name}/{name}", **shared} for name in ("checkpoints", "second")
            ],
        }

    def run(self) -> None:
        """Run the configured storage roots, a second after whatever was before, as S3 has them."""
        time.sleep(1.1)
        roots = [each["root"] for each in self.configured.content["storage_roots"]]
        self.configured.run(*(part for each in roots for part in ("--only", each)))

    def gone(self) -> set[str]:
        listed = self.client.list_objects_v2(Bucket=self.name, Prefix="checkpoints/")
        left = {each["Key"] for each in listed["Contents"]}
        return {*self.needed.values(), *self.spare} - left


def _checkpoints_in(bucket: str, *, as_pair: bool = False) -> dict[str, str]:
    """Return the option that names a folder of a bucket."""
    name, value = "execution.checkpointing.dir", f"s3://{bucket}/red"
    return {"key": name, "value": value} if as_pair else {name: value}


Hiding = Callable[[Buckets], None]


def _refuse_pages(letter: str) -> Hiding:
    """Let a bucket refuse to be listed whole; single folders of it can be."""

    def hide(fleet: Buckets) -> None:
        whole = f"s3://{fleet.bucket(letter)}/"
        pages = ObjectStorage.pages

        def refusing(
            self: ObjectStorage, within: KeyRange = EVERYTHING
        ) -> Iterator[pa.RecordBatch]:
            if str(self.location) == whole:
                raise StorageUnreachableError("access denied")
            return pages(self, within)

        fleet.patch.setattr(ObjectStorage, "pages", refusing)

    return hide


def _remove_bucket(letter: str) -> Hiding:
    def hide(fleet: Buckets) -> None:
        bucket = fleet.bucket(letter)
        for each in fleet.client.list_objects_v2(Bucket=bucket).get("Contents", ()):
            fleet.client.delete_object(Bucket=bucket, Key=each["Key"])
        fleet.client.delete_bucket(Bucket=bucket)

    return hide


def _cut_checkpoint(job: str) -> Hiding:
    def hide(fleet: Buckets) -> None:
        bucket, folder = fleet.places[job]
        fleet.client.put_object(Bucket=bucket, Key=f"{folder}/{job}/chk-9/_metadata", Body=b"cut")

    return hide


def _remove_checkpoint(job: str) -> Hiding:
    def hide(fleet: Buckets) -> None:
        bucket, folder = fleet.places[job]
        fleet.client.delete_object(Bucket=bucket, Key=f"{folder}/{job}/chk-9/_metadata")

    return hide


def _forget(*parts: str) -> Hiding:
    return lambda fleet: shutil.rmtree(fleet.configured.folder.joinpath("state", *parts), True)  # noqa: FBT003


def _forget_second_root(fleet: Buckets) -> None:
    del fleet.configured.content["storage_roots"][1]


def _search_places(fleet: Buckets) -> None:
    for root in fleet.configured.content["storage_roots"]:
        root["search"] = "places"


def _leave_out(fleet: Buckets) -> None:
    """Leave the second storage root's state behind, and all that no settings name."""
    fleet.configured.content["storage_roots"].reverse()


def _silence(fleet: Buckets) -> None:
    fleet.configured.content["discovery"]["rest"] = SILENT


def _forget_resources(fleet: Buckets) -> None:
    fleet.kubernetes.objects.clear()


HIDINGS: dict[str, Hiding] = {
    "the listing of the bucket": _refuse_pages(""),
    "the listing of the bucket that a path names": _refuse_pages("a"),
    "the listing of the bucket that a resource names": _refuse_pages("b"),
    "the listing of the bucket that an answer names": _refuse_pages("c"),
    "the bucket that a path names": _remove_bucket("a"),
    "the bucket that a resource names": _remove_bucket("b"),
    "the bucket that an answer names": _remove_bucket("c"),
    "the checkpoint of the second storage root": _remove_checkpoint(SECOND),
    "the checkpoint in a folder that nothing names": _remove_checkpoint(UNNAMED),
    "the checkpoint in another bucket": _remove_checkpoint(PATH),
    "the end of the second storage root's checkpoint": _cut_checkpoint(SECOND),
    "the end of the checkpoint in a folder": _cut_checkpoint(UNNAMED),
    "the end of the checkpoint in another bucket": _cut_checkpoint(RESOURCE),
    "the second storage root": _forget_second_root,
    "the order of the storage roots": _leave_out,
    "the wide search": _search_places,
    "the cluster": _silence,
    "the resources": _forget_resources,
    "what was read": _forget("read-checkpoints"),
    "the state": _forget(),
}


def lost(url: str, hidden: list[str]) -> tuple[set[str], set[str]]:
    """Return the jobs that lose a file, and the keys that are gone, after something is hidden."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        fleet = Buckets.made(url, Path(folder), stack)
        fleet.run()
        for name in hidden:
            HIDINGS[name](fleet)
        fleet.run()
        fleet.run()
        gone = fleet.gone()
        return {job for job, key in fleet.needed.items() if key in gone}, gone & {*fleet.spare}


@pytest.mark.nightly
def test_what_nothing_needs_goes_where_nothing_is_hidden(moto_url) -> None:
    """Without this the property would hold of a collector that does nothing."""
    jobs, spare = lost(moto_url, [])
    assert (jobs, len(spare)) == (set(), 2)


@pytest.mark.nightly
def test_without_the_search_of_storages_a_job_loses_its_file(moto_url, monkeypatch) -> None:
    """The property sees it."""
    monkeypatch.setattr(StorageSearch, "_read", lambda *_: [])
    assert {UNNAMED, PATH} <= lost(moto_url, [])[0]


several = st.lists(st.sampled_from(sorted(HIDINGS)), min_size=1, max_size=3, unique=True)


@pytest.mark.ci
@settings(max_examples=2)
@given(several)
def test_hiding_something_of_buckets_deletes_nothing_more(moto_url, hidden: list[str]) -> None:
    """Storages, listings, resources, clusters, checkpoints, memories, several at once."""
    assert lost(moto_url, hidden)[0] == set()


@pytest.mark.nightly
@settings(max_examples=20)
@given(several)
def test_hiding_much_of_buckets_deletes_nothing_more(moto_url, hidden: list[str]) -> None:
    assert lost(moto_url, hidden)[0] == set()


@pytest.mark.nightly
@pytest.mark.parametrize("hidden", sorted(HIDINGS))
def test_hiding_one_thing_of_buckets_deletes_nothing_more(moto_url, hidden: str) -> None:
    assert lost(moto_url, [hidden])[0] == set()
