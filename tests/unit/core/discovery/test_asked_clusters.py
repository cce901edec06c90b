"""What REST says of a cluster's directories, and of jobs whose checkpoints stay in memory."""

import pytest

from orphangc.core.cluster.job_facts import ClusterFacts, RestoredFacts
from orphangc.core.discovery.discovered_facts import (
    ClusterFact,
    DirectoryFact,
    DirectoryUse,
    HaFact,
    Origin,
    PinFact,
    ResourceFacts,
    UnclearFact,
)
from orphangc.core.discovery.discovered_world import world_of_discovery
from orphangc.core.discovery.remembered_facts import memory_of, united
from orphangc.core.discovery.sources.asked_clusters import cluster_resource, confirmed_in_memory
from orphangc.core.discovery.texts.flink_options import Reading
from support.builders import JOB, T0, a_checkpoint, some_facts
from support.discovered import ALL, ROOT, SAVEPOINTS, blocks_of, found
from support.flink_resources import a_deployment, a_plain_deployment, a_session_job, configuration

URI = "http://jm:8081"
MEMORY = {"checkpoint_storage": "JobManagerCheckpointStorage"}


def cluster(*jobs, **options) -> ClusterFacts:
    """Return the answer of a cluster, by its options with ``__`` for dots."""
    return ClusterFacts(
        uri=URI,
        flink_version="2.0.0",
        jobs={JOB if n == 0 else f"{n:032x}": job for n, job in enumerate(jobs)},
        cache_seconds=0,
        taken_at=T0,
        options={name.replace("__", "."): value for name, value in options.items()},
    )


def world(shown):
    resource = cluster_resource(URI, shown, Reading())
    return world_of_discovery(found([]).model_copy(update={"resources": (resource,)}))


def test_every_option_of_an_idle_session_cluster_is_read() -> None:
    """Its next job inherits them."""
    shown = world(
        cluster(
            execution__checkpointing__dir=ROOT,
            state__savepoints__dir=SAVEPOINTS,
            **{"high-availability": "zookeeper", "high-availability.zookeeper.quorum": "z"},
        )
    )
    assert (shown.storage_roots, shown.extra_roots) == ((ROOT,), (SAVEPOINTS,))
    assert (shown.zookeeper_ha, blocks_of(shown)) == (("z:2181/flink",), ())


def test_a_cluster_that_names_no_directory_blocks_everything_until_it_is_stated() -> None:
    """The code of each of its jobs may name one."""
    assert blocks_of(world(cluster())) == (ALL,)
    resource = cluster_resource(URI, cluster(), Reading())
    shown = found([]).model_copy(update={"resources": (resource,)})
    stated = world_of_discovery(shown, without_state=[f"Cluster/{URI}"])
    assert blocks_of(stated) == ()


def test_what_already_set_the_options_of_a_running_cluster_is_no_part_that_is_not_read() -> None:
    """REST shows them as they are."""
    more = {
        "kubernetes.jobmanager.entrypoint.args": "-Dx=y",
        "env.java.opts.all": "-DFLINK_CONF_DIR=/x",
    }
    assert blocks_of(world(cluster(**configuration(**more)))) == ()


def test_directories_that_only_a_jobs_code_names_are_known_while_it_runs() -> None:
    """By its checkpoints; a savepoint and what it was restored from are pinned."""
    paths = [
        f"s3://code/x/{JOB}/chk-1",
        "s3://saved/savepoint-1",
        "<checkpoint-not-externally-addressable>",
    ]
    shown = tuple(
        a_checkpoint(number, external_path=path, is_savepoint="saved" in path)
        for number, path in enumerate(paths, start=1)
    )
    restored = RestoredFacts(id=7, external_path="s3://old/savepoint-7", is_savepoint=True)
    job = some_facts(checkpoints=shown, restored=restored)
    known = world(cluster(job))
    assert known.storage_roots == ("s3://code/x",)
    assert set(known.pins) == {"s3://saved/savepoint-1", "s3://old/savepoint-7"}
    assert blocks_of(known) == ()


def test_a_checkpoint_path_that_is_not_known_here_blocks_everything() -> None:
    """It is a path of the cluster's machines."""
    job = some_facts(checkpoints=(a_checkpoint(1, external_path=f"file:/data/{JOB}/chk-1"),))
    assert blocks_of(world(cluster(job))) == (ALL,)


IN_MEMORY = {
    "application": [a_deployment(config={"state.checkpoint-storage": "jobmanager"})],
    "workload": [
        a_plain_deployment(
            container={"args": ["jobmanager", "-Dexecution.checkpointing.storage=jobmanager"]}
        )
    ],
}


@pytest.mark.parametrize("name", IN_MEMORY)
def test_a_storage_in_memory_is_believed_while_rest_confirms_it(name) -> None:
    """A job's code may choose a directory, which no resource names."""
    shown = found(IN_MEMORY[name])
    (resource,) = shown.resources
    assert blocks_of(world_of_discovery(shown)) == (ALL,)
    (part,) = resource.unclear
    assert part.is_until_asked
    by_statement = world_of_discovery(shown, without_state=[resource.origin.resource])
    assert blocks_of(by_statement) == ()


@pytest.mark.parametrize(
    ("jobs", "is_confirmed"),
    [
        ([MEMORY], True),
        ([{"checkpoint_storage": "MemoryStateBackend"}], True),
        ([MEMORY, {"checkpoint_storage": None, "max_concurrent": None}], True),
        ([MEMORY, {"checkpoint_storage": "FileSystemCheckpointStorage"}], False),
        ([{"checkpoint_storage": None}], False),
        ([], False),
    ],
)
def test_every_job_of_the_cluster_must_keep_its_checkpoints_in_memory(jobs, is_confirmed) -> None:
    """An idle one says nothing of the code of its jobs."""
    shown = cluster(*(some_facts(**each) for each in jobs))
    assert confirmed_in_memory(shown) == is_confirmed


def test_a_confirmation_lasts_as_long_as_it_is_repeated() -> None:
    """Another job may run under the same name next time."""
    shown = found(IN_MEMORY["application"])
    (resource,) = shown.resources
    first = shown.model_copy(update={"resources": (resource.confirmed_by_rest(),)})
    assert blocks_of(world_of_discovery(united(first, memory_of(shown)))) == ()
    assert blocks_of(world_of_discovery(united(shown, memory_of(first)))) == (ALL,)


def test_a_session_job_inherits_the_doubt_of_its_cluster() -> None:
    """The cluster blocks; the job adds nothing."""
    documents = [
        a_deployment("session", {"state.checkpoint-storage": "jobmanager"}),
        a_session_job(),
    ]
    assert blocks_of(world_of_discovery(found(documents))) == (ALL,)


ORIGIN = Origin(kind="Cluster", namespace="", name=URI)


def test_a_cluster_that_did_not_answer_blocks_everything_until_it_is_read() -> None:
    """It stays a cluster of the world: it is asked again."""
    unclear = UnclearFact(why="refused", is_everywhere=True, is_until_read=True, origin=ORIGIN)
    found = cluster_resource(URI, "refused", Reading())
    cluster_fact = ClusterFact(uri=URI, origin=ORIGIN)
    assert found == ResourceFacts(origin=ORIGIN, clusters=(cluster_fact,), unclear=(unclear,))


def test_each_fact_of_a_cluster_names_the_job_that_states_it() -> None:
    """A checkpoint in no job's directory is pinned; one that Flink discards names no place."""
    shown = (
        a_checkpoint(1, external_path=f"s3://code/x/{JOB}/chk-1"),
        a_checkpoint(2, external_path="s3://code/flat/chk-2"),
        a_checkpoint(3, external_path=f"s3://gone/x/{JOB}/chk-3", discarded=True),
    )
    job = some_facts(checkpoints=shown, restored=None)
    found = cluster_resource(URI, cluster(job, **{"high-availability": "kubernetes"}), Reading())
    where = ORIGIN.of(f"jobs.{JOB}")
    assert found.directories == (
        DirectoryFact(uri="s3://code/x", use=DirectoryUse.CHECKPOINTS, origin=where),
    )
    assert found.pins == (PinFact(uri="s3://code/flat/chk-2", origin=where),)
    assert found.ha == (
        HaFact(
            type="kubernetes",
            where="default",
            cluster_id="default",
            origin=ORIGIN.of("high-availability.type"),
        ),
    )
    assert found.unclear == ()


def test_a_checkpoint_in_a_store_that_is_not_known_here_blocks_more_than_its_own_place() -> None:
    """Its checkpoints may refer to files of any storage root; of a savepoint only the place."""
    blocked = {}
    for is_savepoint in (False, True):
        shown = a_checkpoint(1, external_path=f"s3://far/x/{JOB}/chk-1", is_savepoint=is_savepoint)
        job = some_facts(checkpoints=(shown,), restored=None)
        stores = {"s3.endpoint": "http://elsewhere:9000", "execution.checkpointing.dir": ROOT}
        reading = Reading(endpoints=frozenset({"here:9000"}))
        found = cluster_resource(URI, cluster(job, **stores), reading)
        part = next(each for each in found.unclear if each.origin == ORIGIN.of(f"jobs.{JOB}"))
        blocked[is_savepoint] = (part.use, part.reach, part.is_everywhere)
    assert blocked == {
        False: (DirectoryUse.CHECKPOINTS, (), True),
        True: (None, (f"s3://far/x/{JOB}/chk-1",), False),
    }
