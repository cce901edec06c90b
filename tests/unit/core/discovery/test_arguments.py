"""Places that a job's arguments name: its code may keep checkpoints there."""

import pytest

from orphangc.core.discovery.discovered_world import world_of_discovery
from orphangc.core.discovery.remembered_facts import memory_of, united
from orphangc.core.discovery.texts.flink_options import Reading
from orphangc.core.model.locations import parse_alias
from support.discovered import ALL, ROOT, blocks_of, found
from support.flink_resources import (
    a_blue_green,
    a_deployment,
    a_plain_deployment,
    a_session_job,
    configuration,
    reconciled,
)

KEPT = "s3://kept/team"


def with_arguments(*words, **more):
    return a_deployment(job={"state": "running", "args": list(words)}, **more)


def world(*documents, **more):
    return world_of_discovery(found(documents, **more))


@pytest.mark.parametrize(
    "words",
    [
        ("--checkpoint-dir", KEPT),
        ("--checkpointDir", KEPT),
        (f"--checkpoint-dir={KEPT}",),
        (f"-Dstate.checkpoints.dir={KEPT}",),
        ("--conf", f"a=1,state.savepoints.dir={KEPT}/"),
        ("--state", f"'{KEPT}'"),
        ("--statePath", KEPT),
    ],
)
def test_an_argument_that_speaks_of_state_names_a_place_that_is_searched(words) -> None:
    """Whatever its bucket is."""
    shown = world(with_arguments(*words))
    assert (shown.extra_roots, blocks_of(shown)) == ((KEPT,), ())


@pytest.mark.parametrize(
    "place", ["jfs://vol/x", "ofs://om/vol/x", "alluxio://m:19998/x", "tos://b/x", "dbfs://b/x"]
)
def test_a_place_of_state_in_another_file_system_is_searched(place) -> None:
    """One that cannot be opened blocks where it is searched."""
    assert world(with_arguments("--state", place)).extra_roots == (place,)


def test_the_directory_of_a_job_is_a_place_of_state() -> None:
    """Flink names it by 32 digits; a longer number is no job."""
    place = f"{KEPT}/{'0a' * 16}"
    assert world(with_arguments("--from", f"{place}/")).extra_roots == (place,)
    assert world(with_arguments("--from", f"{place}0a")).extra_roots == ()


def test_a_path_that_speaks_of_state_is_searched_whatever_its_argument_is_called() -> None:
    """Two places in one argument, too."""
    one, other = "s3://other/flink-checkpoints", "gs://other/savepoints"
    shown = world(with_arguments("--x", f"{one},{other}", "--y", "s3://lake/input"))
    assert (shown.extra_roots, blocks_of(shown)) == ((one, other), ())


@pytest.mark.parametrize(
    "place", ["s3a://prod/team-x/", "s3://prod", "s3://prod/checked/x", "s3p://prod/%x"]
)
def test_another_place_in_a_discovered_bucket_blocks_until_it_is_searched(place) -> None:
    """It may be a storage root; what its job was restored from may be there, too."""
    shown = found([with_arguments("--out", place)])
    block = ("s3://prod/", ROOT) if place in {"s3://prod", "s3p://prod/%x"} else None
    (part,) = world_of_discovery(shown).unclear
    assert part.reach == (block or (place.rstrip("/").replace("s3a", "s3"), ROOT))
    assert "spec.job.args" in part.why
    statement = part.why.rpartition("(")[2].rstrip(")")
    assert blocks_of(world_of_discovery(shown, explained=[statement])) == ()


@pytest.mark.parametrize(
    "place", ["s3://$(BUCKET)/team", "s3a://{bucket}/x", "gs://user:pw@prod/x", "s3:///x"]
)
def test_another_place_in_a_bucket_that_is_not_known_blocks_everything(place) -> None:
    """It may be the bucket of any searched place."""
    shown = world(with_arguments("--out", place))
    assert blocks_of(shown) == (ALL,)
    assert "pw" not in shown.unclear[0].why


@pytest.mark.parametrize(
    ("alias", "place", "meant"),
    [
        ("file:///flink=/mnt/flink", "file:///flink/out", "/mnt/flink/out"),
        ("s3://old=s3://prod", "s3://old/out", "s3://prod/out"),
    ],
)
def test_another_place_is_where_an_alias_says(alias, place, meant) -> None:
    """A local one counts where an alias says what it means; any other one is inside a pod."""
    reading = Reading(aliases=(parse_alias(alias),))
    root = "file:///flink/ck" if place.startswith("file") else ROOT
    deployed = with_arguments("--out", place, config=configuration(root))
    shown = world(deployed, reading=reading)
    assert [each.reach[0] for each in shown.unclear] == [meant]
    local = with_arguments("--out", "file:///tmp/out", config=configuration(root))
    assert blocks_of(world(local, reading=reading)) == ()


def test_a_place_that_is_searched_already_blocks_nothing() -> None:
    """By another resource, or by hand."""
    below, beside = f"{ROOT}/x", "s3://prod/reports"
    assert blocks_of(world(with_arguments("--out", below))) == ()
    other = a_deployment("other", configuration(beside))
    assert blocks_of(world(with_arguments("--out", f"{beside}/y"), other)) == ()
    shown = found([with_arguments("--out", beside)])
    assert blocks_of(world_of_discovery(shown, by_hand=[beside])) == ()
    assert blocks_of(world_of_discovery(shown, by_hand=[f"{beside}/y"])) == ((beside, ROOT),)


@pytest.mark.parametrize(
    "words",
    [
        ("--input", "s3://lake/events", "--broker", "kafka:9092"),
        ("--schema", "http://prod/checkpoints", "--jdbc", "jdbc:postgresql://prod/state"),
        ("--config", "/opt/flink/usrlib/state.yaml"),
        ("--checkpoint-interval", "10000"),
    ],
)
def test_an_argument_that_names_no_such_place_blocks_nothing(words) -> None:
    """Another bucket, another protocol, a file of the image."""
    shown = world(with_arguments(*words))
    assert (shown.extra_roots, blocks_of(shown)) == ((), ())


@pytest.mark.parametrize("name", ["chk-7", "savepoint-5d2f1c-0e9a8b7c6d5e", "chk-7/_metadata"])
def test_a_checkpoint_in_an_argument_is_pinned(name) -> None:
    """Its job starts from it; a checkpoint directory is not what it names."""
    place = f"{KEPT}/{name}"
    shown = world(with_arguments("--fromSavepoint", place))
    assert (shown.extra_roots, shown.pins) == ((), (place.removesuffix("/_metadata"),))


def test_a_place_below_a_searched_one_is_not_searched_twice() -> None:
    """It is a part of a storage root, of a savepoint directory."""
    saved = {**configuration(), "state.savepoints.dir": KEPT}
    words = ("--checkpoint-dir", f"{ROOT}/x", "--savepoint-dir", f"{KEPT}/y")
    shown = world(with_arguments(*words, config=saved))
    assert (shown.extra_roots, blocks_of(shown)) == ((KEPT,), ())
    shown = world(with_arguments("--checkpoint-dir", "s3://prod"))
    assert (shown.extra_roots, blocks_of(shown)) == (("s3://prod/",), ())


@pytest.mark.parametrize(
    "value", ["/flink/data", "file:///flink/data", "s3://${BUCKET}/x", "s3:///x", "$(DIR)/x"]
)
def test_a_checkpoint_directory_in_an_argument_that_is_not_known_here_blocks_everything(
    value,
) -> None:
    """As the same path in an option does."""
    assert blocks_of(world(with_arguments("--checkpoint-dir", value))) == (ALL,)


@pytest.mark.parametrize(
    "words",
    [
        ("--checkpoint-bucket", "kept"),
        ("--checkpoints.s3.prefix=kept",),
        ("--savepoints", "kept/team"),
        ("CKPT_ROOT=kept",),
    ],
)
def test_a_part_of_a_checkpoint_directory_blocks_everything(words) -> None:
    """Only the job's code knows the whole."""
    assert blocks_of(world(with_arguments(*words))) == (ALL,)


@pytest.mark.parametrize(("name", "blocks"), [("CHECKPOINT_DIR", (ALL,)), ("PASSWORD", ())])
def test_a_variable_of_a_secret_may_name_a_checkpoint_directory(name, blocks) -> None:
    """Its value is not readable; its name says what it is."""
    variables = [{"name": name, "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]
    main = {"name": "flink-main-container", "env": variables}
    deployed = a_deployment(podTemplate={"spec": {"containers": [main]}})
    assert blocks_of(world(deployed)) == blocks


def test_an_alias_says_what_a_path_in_an_argument_means() -> None:
    """As of a path in an option."""
    reading = Reading(aliases=(parse_alias("file:///flink=/mnt/flink"),))
    shown = world(with_arguments("--checkpoint-dir=/flink/x"), reading=reading)
    assert (shown.extra_roots, blocks_of(shown)) == (("/mnt/flink/x",), ())


def env(name, value):
    return [{"name": name, "value": value}]


NATIVE_ARGUMENTS = "$internal.application.program-args"
SOURCES = {
    "a session job": [
        a_deployment("session"),
        {
            **a_session_job(),
            "spec": {"deploymentName": "session", "job": {"args": ["--ckpt", "s3://kept/ckpt"]}},
        },
    ],
    "the last reconciled spec": [
        a_deployment(
            status={
                "jobManagerDeploymentStatus": "READY",
                "reconciliationStatus": {
                    "lastReconciledSpec": reconciled(
                        configuration(), args=["--ckpt", "s3://kept/ckpt"]
                    )
                },
            }
        )
    ],
    "a variable of a pod template": [
        a_deployment(
            podTemplate={
                "spec": {
                    "containers": [
                        {"name": "flink-main-container", "env": env("CKPT", "s3://kept/ckpt")}
                    ]
                }
            }
        )
    ],
    "a variable of a workload": [
        a_plain_deployment(
            container={
                "args": ["standalone-job", f"-Dstate.checkpoints.dir={ROOT}"],
                "env": env("CKPT", "s3://kept/ckpt"),
            }
        )
    ],
    "an argument of a workload": [
        a_plain_deployment(
            container={
                "args": [
                    "standalone-job",
                    f"-Dstate.checkpoints.dir={ROOT}",
                    "--ckpt",
                    "s3://kept/ckpt",
                ]
            }
        )
    ],
    "arguments in the effective configuration": [
        a_deployment(config={**configuration(), NATIVE_ARGUMENTS: "--ckpt;s3://kept/ckpt"})
    ],
    "a list of them": [
        a_deployment(config={**configuration(), NATIVE_ARGUMENTS: ["--ckpt", "s3://kept/ckpt"]})
    ],
    "parameters of the job": [
        a_deployment(
            config={**configuration(), "pipeline.global-job-parameters": "ckpt:s3://kept/ckpt,a:b"}
        )
    ],
    "an option of the job's own": [
        a_deployment(config={**configuration(), "orders.checkpoint.dir": "s3://kept/ckpt"})
    ],
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_of_arguments_is_read(name) -> None:
    """And its place stays in the world."""
    shown = found(SOURCES[name])
    assert world_of_discovery(shown).extra_roots == ("s3://kept/ckpt",)
    assert blocks_of(world_of_discovery(shown)) == ()
    later = united(found([a_deployment("other")]), memory_of(shown))
    assert "s3://kept/ckpt" in world_of_discovery(later).extra_roots


def test_a_pair_has_arguments_too() -> None:
    """Its template has a spec of a deployment."""
    pair = a_blue_green()
    pair["spec"]["template"]["spec"]["job"]["args"] = ["--ckpt", "s3://kept/ckpt"]
    assert world(pair).extra_roots == ("s3://kept/ckpt",)


def test_arguments_of_another_type_block_everything() -> None:
    """Each may be a place."""
    for wrong in ("--ckpt s3://kept/ckpt", [{"a": "b"}]):
        document = a_deployment(job={"state": "running", "args": wrong})
        assert blocks_of(world(document)) == (ALL,)


def test_a_place_that_was_mentioned_once_blocks_on_when_it_is_mentioned_no_more() -> None:
    """The files are where they were."""
    memory = memory_of(found([with_arguments("--out", "s3://prod/x")]))
    now = world_of_discovery(united(found([a_deployment()]), memory))
    assert blocks_of(now) == (("s3://prod/x", ROOT),)
