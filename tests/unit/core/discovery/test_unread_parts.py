"""What cannot be read blocks every storage root, and goes on until it is read or acknowledged."""

import pytest

from flinkstate.places.locations import parse_alias
from orphangc.core.discovery.discovered_facts import Origin, UnclearFact, digest_of, gathered_facts
from orphangc.core.discovery.discovered_world import silent_sources, world_of_discovery
from orphangc.core.discovery.remembered_facts import memory_of, united
from orphangc.core.discovery.sources.read_resources import FileText, discovery_of
from orphangc.core.discovery.texts.flink_options import Reading
from support.discovered import ALL, ROOT, acknowledged, blocks_of, found, namespace
from support.flink_resources import a_deployment, a_session_job, configuration, made_maps

TEMPLATE = "s3://prod/${TEAM}/checkpoints"
TEMPLATED = a_deployment(config=configuration(TEMPLATE))
PODS = "file:///flink-data/checkpoints"


def corrected():
    """Return what is known after a templated path was replaced by a plain one."""
    return united(found([a_deployment()]), memory_of(found([TEMPLATED])))


def test_a_path_that_was_corrected_or_is_gone_still_blocks() -> None:
    """Where the job's checkpoints were before, no cycle has ever read."""
    for now in ([a_deployment()], []):
        known = united(found(now), memory_of(found([TEMPLATED])))
        assert blocks_of(world_of_discovery(known)) == (ALL,)
        later = united(found(now), memory_of(known))
        assert blocks_of(world_of_discovery(later)) == (ALL,)
        (part,) = world_of_discovery(later).unclear
        assert not part.is_present


def test_an_acknowledgement_is_about_one_part_of_one_resource() -> None:
    """Not the next template of it, and not what its name may stand for later."""
    known = corrected()
    (what,) = acknowledged(known)
    assert what.startswith("FlinkDeployment/flink/orders#")
    assert blocks_of(world_of_discovery(known, acknowledged=[what])) == ()
    other = united(found([a_deployment(config=configuration("s3://x/${Y}/z"))]), memory_of(known))
    assert blocks_of(world_of_discovery(other, acknowledged=[what])) == (ALL,)


def test_an_acknowledgement_of_what_is_gone_says_nothing_once_it_is_back() -> None:
    """Its files were gone then; that of what is there holds when it is gone."""
    gone, there = corrected(), found([TEMPLATED])
    assert blocks_of(world_of_discovery(there, acknowledged=acknowledged(gone))) == (ALL,)
    assert blocks_of(world_of_discovery(gone, acknowledged=acknowledged(there))) == ()


def test_an_acknowledgement_is_not_about_the_next_resource_of_its_name() -> None:
    """Its template may stand for another place."""
    again = {**TEMPLATED, "metadata": {**TEMPLATED["metadata"], "uid": "uid-of-the-next"}}
    words = acknowledged(found([TEMPLATED]))
    assert blocks_of(world_of_discovery(found([again]), acknowledged=words)) == (ALL,)


def test_a_template_that_spec_and_configuration_repeat_is_acknowledged_once() -> None:
    """The operator writes what a spec says into the ConfigMap of its cluster."""
    made = {"flink-config-orders": {"flink-conf.yaml": f"state.checkpoints.dir: {TEMPLATE}"}}
    both = found([TEMPLATED], made)
    (what,) = acknowledged(both)
    assert blocks_of(world_of_discovery(both, acknowledged=[what])) == ()
    other = {"flink-config-orders": {"flink-conf.yaml": "state.savepoints.dir: s3://x/${Y}"}}
    assert len(acknowledged(found([TEMPLATED], other))) == 2


def test_a_path_that_is_read_by_an_alias_blocks_no_more() -> None:
    """The same text at the same place is what could not be read before."""
    pods = a_deployment(config=configuration(PODS))
    assert blocks_of(world_of_discovery(found([pods]))) == (ALL,)
    reading = Reading(aliases=(parse_alias(f"{PODS}={ROOT}"),))
    known = united(found([pods], reading=reading), memory_of(found([pods])))
    world = world_of_discovery(known)
    assert (world.storage_roots, blocks_of(world)) == ((ROOT,), ())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"state.savepoints.dir": [1]}, {"state.savepoints.dir": [2]}),
        ({"s3.endpoint": [1]}, {"s3.endpoint": [2]}),
        ({"state.backend.own": "jdbc://u:a@h"}, {"state.backend.own": "jdbc://u:b@h"}),
        ({"high-availability": "com.ours.A"}, {"high-availability": "com.ours.B"}),
    ],
)
def test_an_acknowledgement_is_not_about_another_value(one, other) -> None:
    """Not even where both are described in the same words."""
    first, second = (found([a_deployment(config={**configuration(), **e})]) for e in (one, other))
    words = acknowledged(first)
    assert blocks_of(world_of_discovery(first, acknowledged=words)) == ()
    assert blocks_of(world_of_discovery(second, acknowledged=words)) == (ALL,)


def test_an_acknowledgement_is_not_about_what_a_file_says_later() -> None:
    """One with another name than those that Flink reads."""
    files = [[FileText(path="/conf/prod.yaml", text=text)] for text in ("a: 1", "a: 2")]
    first, second = (found([], files=each) for each in files)
    words = acknowledged(first)
    assert blocks_of(world_of_discovery(first, acknowledged=words)) == ()
    assert blocks_of(world_of_discovery(second, acknowledged=words)) == (ALL,)


def test_a_source_that_cannot_be_read_is_not_acknowledged() -> None:
    """It may say something else as soon as it can be read; then it blocks no more."""
    problem = discovery_of([namespace([], problems=["forbidden"])], (), Reading())
    words = acknowledged(problem)
    assert blocks_of(world_of_discovery(problem, acknowledged=words)) == (ALL,)
    later = united(found([a_deployment()]), memory_of(problem))
    assert blocks_of(world_of_discovery(later)) == ()
    unread = found([], files=[FileText(path="/c/config.yaml", text=None, problem="is gone")])
    assert blocks_of(world_of_discovery(unread)) == (ALL,)


def test_a_session_job_of_its_own_directory_needs_its_cluster() -> None:
    """Savepoints and HA are the cluster's; to hide the cluster frees nothing that it blocks."""
    job = a_session_job(config=configuration("s3://prod/reports"))
    session = a_deployment("session")
    for known in (found([job]), united(found([job]), memory_of(found([session, job])))):
        (part,) = world_of_discovery(known).unclear
        assert "session cluster session, which is not seen" in part.why
    assert blocks_of(world_of_discovery(found([session, job]))) == ()


@pytest.mark.parametrize(
    ("template", "blocked"),
    [("{scheme}://{name}.example.org", (ALL,)), ("{scheme}://{name}.{namespace}.example.org", ())],
)
def test_two_clusters_at_one_address_block(template, blocked) -> None:
    """Only one of them answers there, and its answer says nothing of the other one."""
    document = a_deployment()
    spaces = [namespace([document], made_maps(document), name=each) for each in ("one", "two")]
    shown = discovery_of(spaces, (), Reading(rest=template))
    assert blocks_of(world_of_discovery(shown)) == blocked
    words = acknowledged(shown)
    assert blocks_of(world_of_discovery(shown, acknowledged=words)) == ()


@pytest.mark.parametrize(
    ("speaking", "names", "selection"),
    [((), ["flnik"], ""), ((), [], "team=flnik"), ({"flink"}, ["flink", "flnik"], "")],
)
def test_a_namespace_that_shows_nothing_blocks_everything(speaking, names, selection) -> None:
    """It may be misspelled: the API server answers with an empty list for one that is not there."""
    (silent,) = silent_sources(speaking, names, selection, ())
    assert not list(silent_sources(speaking, names, selection, {"flnik", "flink"}))
    discovery = found([a_deployment()]).model_copy(update={"unclear": (silent,)})
    assert blocks_of(world_of_discovery(discovery)) == (ALL,)


def test_a_selected_namespace_without_flink_is_nothing_to_ask_about() -> None:
    """The API server has listed it: it is there, and others show resources."""
    assert not list(silent_sources({"flink"}, [], "every namespace", ()))
    assert list(silent_sources((), [], "every namespace", ()))


def test_the_word_for_a_part_without_a_value_or_uid_stays_the_same() -> None:
    """A person may have acknowledged it."""
    origin = Origin(kind="File", namespace="", name="/conf/config.yaml").below("a")
    fact = UnclearFact(why="is no text", digest=digest_of(None), origin=origin)
    assert (origin.field, fact.digest) == ("a", "")
    assert gathered_facts(origin, [fact]).unclear == (fact,)
