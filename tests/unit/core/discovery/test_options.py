"""Options that name places, that lead to others, and that Flink is not known to have."""

import pytest

from orphangc.core.discovery.discovered_world import world_of_discovery
from support.discovered import ALL, blocks_of, found
from support.flink_resources import a_deployment, configuration


def world(config):
    return world_of_discovery(found([a_deployment(config={**configuration(), **config})]))


@pytest.mark.parametrize(
    ("option", "value", "blocks"),
    [
        ("state.checkpoint.dir", "/flink/checkpoints", (ALL,)),
        ("state.checkpoint.dir", "checkpoints", (ALL,)),
        ("state.checkpoint.dir", "s3://kept/x", ()),
        ("execution.checkpointing.directory", "/x", (ALL,)),
        ("execution.checkpointing.target", "bucket/x", (ALL,)),
        ("execution.savepoint-dir", "/x", (ALL,)),
        ("job-result-store.path", "/x", (ALL,)),
        ("high-availability.storage", "/x", (ALL,)),
        ("dstl.dfs.path", "/x", (ALL,)),
    ],
)
def test_a_place_in_an_unknown_option_of_state_is_searched_or_blocks(option, value, blocks) -> None:
    """A path without a scheme may be in any file system."""
    shown = world({option: value})
    assert blocks_of(shown) == blocks
    if blocks:
        assert option.rpartition(".")[2] in shown.unclear[0].why
    else:
        assert shown.extra_roots == (value,)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("state.backend.rocksdb.localdir", "/data/rocksdb"),
        ("state.backend.rocksdb.log.dir", "/data/log"),
        ("state.backend.forst.cache.dir", "file:///data/cache"),
        ("state.backend.forst.primary-dir", "local-dir"),
        ("execution.checkpointing.local-backup.dirs", "/data/local"),
        ("high-availability.zookeeper.path.jobgraphs", "/jobgraphs"),
        ("high-availability.cluster-id", "/orders"),
        ("state.backend.rocksdb.writebuffer.size", "64 mb"),
        ("execution.checkpointing.interval", "10 min"),
        ("state.checkpoints.num-retaned", "3"),
        ("taskmanager.state.local.root-dirs", "/data"),
        ("io.tmp.dirs", "/tmp"),
    ],
)
def test_an_option_that_names_no_place_of_checkpoints_blocks_nothing(option, value) -> None:
    """Local folders, ZooKeeper's nodes, sizes."""
    assert blocks_of(world({option: value})) == ()


@pytest.mark.parametrize("option", ["state.backend", "state.backend.type"])
def test_a_state_backend_of_another_maker_blocks_everything(option) -> None:
    """Where it keeps its files only its code knows."""
    assert blocks_of(world({option: "com.acme.BackendFactory"})) == (ALL,)
    for known in (
        "rocksdb",
        "HASHMAP",
        "forst",
        "filesystem",
        "org.apache.flink.contrib.streaming.state.EmbeddedRocksDBStateBackendFactory",
        "org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackendFactory",
    ):
        assert blocks_of(world({option: known})) == ()


@pytest.mark.parametrize(
    "value",
    [
        "s3://prod/ck # for orders",
        "s3://prod/ck\nstate.savepoints.dir: s3://kept/x",
        "s3://prod/@ENV@/ck",
        "s3://prod/#ENV#/ck",
        "s3://__BUCKET__/ck",
        "s3://prod/a b",
        "s3://prod/ck;s3://prod/x",
        "s3://prod/ck,s3://prod/x",
        "s3://prod/[[env]]/ck",
        "file:///prod/c\0k",
        "s3://prod/\ud800",
    ],
)
def test_a_value_that_a_release_cuts_or_a_tool_replaces_is_not_understood(value) -> None:
    """The older file ends a value at a number sign and at a line's end, the newer one does not."""
    shown = world({"state.checkpoints.dir": value})
    assert (shown.storage_roots, blocks_of(shown)) == ((), (ALL,))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("hdfs:///ck", "names no host"),
        ("s3:///ck", "names no bucket"),
        ("/ck", "is a path inside its pods"),
    ],
)
def test_a_place_is_said_to_lack_what_it_lacks(value: str, said: str) -> None:
    """Where another configuration says which host is meant, an alias says it here."""
    (unclear,) = world({"state.checkpoints.dir": value}).unclear
    assert f"{value!r} {said}" in unclear.why
    assert "discovery.alias" in unclear.why


@pytest.mark.parametrize(
    ("option", "value", "usual"),
    [
        ("fs.s3a.bucket.prod.accesspoint.arn", "arn:aws:s3:eu-west-1:1:accesspoint/x", ""),
        ("flink.hadoop.fs.s3a.accesspoint.arn", "arn:aws:s3:eu-west-1:1:accesspoint/x", ""),
        ("s3.bucket.prod.accesspoint.arn", "arn:aws:s3:eu-west-1:1:accesspoint/x", ""),
        ("fs.s3.impl", "com.acme.FileSystem", "org.apache.hadoop.fs.s3a.S3AFileSystem"),
        ("execution.checkpointing.storage", "com.acme.Storage", "filesystem"),
        ("state.checkpoint-storage", "com.acme.Storage", "jobmanager"),
        ("flink.hadoop.fs.s3a.impl", "com.acme.X", "org.apache.hadoop.fs.s3a.S3AFileSystem"),
    ],
)
def test_an_option_that_leads_elsewhere_blocks_everything(option, value, usual) -> None:
    """Another bucket or another file system behind a name, another maker's storage."""
    assert blocks_of(world({option: value})) == (ALL,)
    assert blocks_of(world({option: usual})) == ()
