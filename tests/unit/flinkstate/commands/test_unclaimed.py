"""How a pruned checkpoint names the files that stay where they are."""

import pytest

from flinkstate.commands.unclaimed import as_flink_spells
from flinkstate.places.locations import canonical


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("/ck/chk-7", "file:/ck/chk-7"),
        ("file:///ck//chk-7/", "file:/ck/chk-7"),
        ("s3://b/ck/chk-7", "s3://b/ck/chk-7"),
        ("s3a://b/ck/chk-7", "s3a://b/ck/chk-7"),
        ("S3P://b/ck/chk-7", "s3p://b/ck/chk-7"),
        ("hdfs:///ck/chk-7", "hdfs:/ck/chk-7"),
        ("hdfs://nn:8020/ck/chk-7", "hdfs://nn:8020/ck/chk-7"),
        ("abfss://c@a.dfs.core.windows.net/x%41", "abfss://c@a.dfs.core.windows.net/x%41"),
        (
            "wasbs://c@a.blob.core.windows.net/ck/chk-7",
            "wasbs://c@a.blob.core.windows.net/ck/chk-7",
        ),
        ("file://localhost/ck/chk-7", "file:/ck/chk-7"),
    ],
)
def test_scheme_and_authority_stay_the_callers(uri: str, expected: str) -> None:
    """One place to us may be two file systems to a cluster, or one that it lacks."""
    assert as_flink_spells(uri, canonical(uri)) == expected


def test_what_an_alias_leads_to_is_named_by_what_it_stands_for() -> None:
    """A bucket that is mounted here is a bucket to the cluster."""
    alias = ["s3a://b/ck=/mnt/ck"]
    assert as_flink_spells("/mnt/ck/chk-7", canonical("/mnt/ck/chk-7"), alias) == "s3a://b/ck/chk-7"
    assert as_flink_spells("/x/chk-7", canonical("/x/chk-7"), alias) == "file:/x/chk-7"
    alias = ["wasb://c@a.blob.core.windows.net/ck=/mnt/ck"]
    expected = "wasb://c@a.blob.core.windows.net/ck/chk-7"
    assert as_flink_spells("/mnt/ck/chk-7", canonical("/mnt/ck/chk-7"), alias) == expected
