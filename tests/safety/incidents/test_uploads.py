"""Losses by aborted uploads (R50): nothing brings one back, and a checkpoint may be one.

Each story runs against a server that speaks S3, and completes in the end what was pending.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cli.helpers import flink, metadata
from cli.stories_on_s3 import JOB_ID, S3Story
from support.rest_server import RestServer


@dataclass(frozen=True)
class Shown:
    """The job as Flink shows it: in its own spelling of the bucket."""

    id: str = JOB_ID
    folder: Path = Path(f"/flink/{JOB_ID}")


def begun(story: S3Story, key: str) -> tuple[str, str]:
    """Begin an upload, send a part, and return its key and id; moto dates it in 2010."""
    named = {"Bucket": story.bucket, "Key": f"checkpoints/{JOB_ID}/{key}"}
    upload = story.client.create_multipart_upload(**named)["UploadId"]
    story.client.upload_part(**named, UploadId=upload, PartNumber=1, Body=b"part")
    return named["Key"], upload


def unfinished(story: S3Story) -> set[str]:
    found = story.client.list_multipart_uploads(Bucket=story.bucket).get("Uploads", ())
    return {each["UploadId"] for each in found}


def finish(story: S3Story, key: str, upload: str) -> None:
    """Complete an upload, as Flink does, if the store has it still."""
    named = {"Bucket": story.bucket, "Key": key, "UploadId": upload}
    with suppress(ClientError):
        parts = story.client.list_parts(**named)["Parts"]
        parts = [{"ETag": each["ETag"], "PartNumber": each["PartNumber"]} for each in parts]
        story.client.complete_multipart_upload(**named, MultipartUpload={"Parts": parts})


def swept(story: S3Story, completed: int, *options: str) -> Any:
    """Plan and sweep while the job runs; return the outcome."""
    with RestServer(flink(Shown(), completed=completed)) as server:
        plan = story.plan(
            *(
                "--flink-rest",
                server.url,
                "--alias",
                f"file:/flink=s3://{story.bucket}/checkpoints",
            ),
            *("--max-delete-share", "1", "--abort-uploads", *options),
        )
        ran = story.sweep(plan, "--delete", "--output", "json")
    assert ran.code == 0, ran.err
    return ran.json


@pytest.fixture
def running(on_s3: S3Story) -> S3Story:
    """The same, of a job that runs."""
    return S3Story(on_s3.client, on_s3.bucket, on_s3.folder, on_s3.orphans, ended=())


def complete(story: S3Story, number: int) -> None:
    live = [key for key in story.contents() if "/shared/" in key and key not in story.orphans]
    paths = [f"s3a://{story.bucket}/checkpoints/{key}" for key in live]
    story.put(f"{JOB_ID}/chk-{number}/_metadata", metadata(number, paths))


@pytest.mark.ci
@pytest.mark.answered_by("rule_of_chk_n")
def test_r50_a_checkpoint_that_is_being_completed_is_an_upload(running: S3Story) -> None:
    """Since Flink 1.15 each one begins an upload of ``chk-<n>/_metadata``, whatever its age."""
    pending, dead = begun(running, "chk-12/_metadata"), begun(running, "chk-5/_metadata")
    swept(running, 8)
    assert {pending[1], dead[1]} == unfinished(running), "a first sweep aborts nothing"
    complete(running, 10)
    outcome = swept(running, 10)
    finish(running, *pending)
    assert f"{JOB_ID}/chk-12/_metadata" in running.contents()
    assert dead[1] not in unfinished(running)
    assert outcome["uploads"] == {"done": 1}


@pytest.mark.ci
@pytest.mark.answered_by("pinned_keys")
def test_r50_an_upload_below_a_pinned_place_is_kept_as_a_file_is(running: S3Story) -> None:
    """A person wants what it becomes; no listing shows it yet."""
    pinned, dead = begun(running, "chk-5/_metadata"), begun(running, "chk-4/_metadata")
    pin = ("--pin", f"{running.root}/{JOB_ID}/chk-5")
    swept(running, 8, *pin)
    complete(running, 10)
    outcome = swept(running, 10, *pin)
    finish(running, *pinned)
    assert f"{JOB_ID}/chk-5/_metadata" in running.contents()
    assert dead[1] not in unfinished(running)
    assert outcome["uploads"] == {"done": 1}
