"""Executors read an S3 Inventory report, and say of it what this process says."""

from datetime import UTC, datetime

import boto3
import pytest

from cli.helpers import run
from integration.harness.sparkbed import places
from integration.spark.conftest import IN_S3
from support.inventory_reports import FORMATS, a_report, a_row

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("spark_mode", ["cluster"], indirect=True)
def test_executors_read_an_inventory_as_this_process_does(spark_mode, made, form, tmp_path) -> None:
    """Five data files, of a bucket whose keys nobody expects; the same plan, row for row."""
    place, _ = made(IN_S3)
    bucket = place.options[0].split("/")[2]
    client = boto3.client("s3")  # of the session's server
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    listed = [each for page in pages for each in page["Contents"]]
    rows = [
        a_row(
            each["Key"],
            Bucket=bucket,
            Size=each["Size"],
            LastModifiedDate=each["LastModified"],
            ETag=each["ETag"].strip('"'),
        )
        for each in listed
    ]
    folder = f"inventory/{form}"
    now = datetime.now(UTC).replace(microsecond=0)  # noqa: TID251 - the server's clock
    parts = [rows[number::5] for number in range(5)]
    report = a_report(*parts, form=form, bucket=bucket, folder=folder, at=now)
    for key, data in report.objects().items():
        client.put_object(Bucket=bucket, Key=key, Body=data)
    chosen = ("--inventory", f"s3://{bucket}/{folder}")
    expected = places.plan(run, place, tmp_path / "local", "--engine", "local", *chosen)
    found = places.plan(spark_mode, place, tmp_path / "spark", "--engine", "spark", *chosen)
    assert found == expected
    assert found.document["inventory"]["objects"] == len(rows)
    assert len(found.rows) > 1000
