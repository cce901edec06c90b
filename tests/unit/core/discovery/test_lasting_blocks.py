"""A part that was not understood blocks until it is explained: correcting it explains nothing."""

import pytest

from orphangc.core.discovery.discovered_world import world_of_discovery
from orphangc.core.discovery.remembered_facts import memory_of, merged_memories, united
from orphangc.core.discovery.silent_sources import silent_sources
from orphangc.core.discovery.sources.asked_clusters import cluster_resource
from orphangc.core.discovery.sources.read_resources import FileText, discovery_of
from orphangc.core.discovery.texts.flink_options import Reading
from support.discovered import ALL, ROOT, blocks_of, found, namespace
from support.flink_resources import (
    a_deployment,
    a_plain_deployment,
    a_status,
    configuration,
    mounted,
)

SUBDIRECTORY = "state.checkpoints.create-subdir"
TEMPLATE = "s3://prod/${TEAM}/checkpoints"


def statements_of(discovery):
    return [each.statement for one in discovery.resources for each in one.unclear]


def corrected():
    """Return what is known after a templated path was replaced by a plain one."""
    memory = memory_of(found([a_deployment(config=configuration(TEMPLATE))]))
    return united(found([a_deployment()]), memory)


def test_a_path_that_was_corrected_still_blocks_its_earlier_place() -> None:
    """Where the job's checkpoints were before, no cycle has ever read."""
    known = corrected()
    assert blocks_of(world_of_discovery(known)) == (ALL,)
    later = united(found([a_deployment()]), memory_of(known))
    assert blocks_of(world_of_discovery(later)) == (ALL,)


def test_a_statement_explains_one_part_of_one_resource() -> None:
    """Not the next template of it, and not what its name may stand for later."""
    known = corrected()
    (statement,) = statements_of(known)
    assert statement.startswith("FlinkDeployment/flink/orders#")
    assert blocks_of(world_of_discovery(known, explained=[statement])) == ()
    other = united(found([a_deployment(config=configuration("s3://x/${Y}/z"))]), memory_of(known))
    assert blocks_of(world_of_discovery(other, explained=[statement])) == (ALL,)


def test_without_state_explains_only_that_no_place_is_named() -> None:
    """A template that is written later is no absence."""
    name = ["FlinkDeployment/flink/orders"]
    silent = found([a_deployment(config={"parallelism.default": "2"})])
    assert blocks_of(world_of_discovery(silent)) == (ALL,)
    assert blocks_of(world_of_discovery(silent, without_state=name)) == ()
    templated = found([a_deployment(config=configuration("s3://${BUCKET}/checkpoints"))])
    assert blocks_of(world_of_discovery(templated, without_state=name)) == (ALL,)


def test_a_source_that_could_not_be_read_is_explained_by_reading_it() -> None:
    """A cluster without an answer, once; a ConfigMap that was not there yet."""
    silent = cluster_resource("http://jm:8081", "no answer", Reading())
    answers = cluster_resource("http://jm:8081", "no answer", Reading())
    answers = answers.model_copy(update={"unclear": ()})
    for first, second in ((silent, answers), *unread_and_read()):
        memory = memory_of(found([]).model_copy(update={"resources": (first,)}))
        assert first.unclear
        now = found([]).model_copy(update={"resources": (second,)})
        assert blocks_of(world_of_discovery(united(now, memory))) == ()
        assert blocks_of(world_of_discovery(united(found([]), memory))) == (ALL,)


def test_what_could_not_be_read_cannot_be_explained() -> None:
    """It may say something else as soon as it can be read."""
    problem = discovery_of([namespace([], problems=["forbidden"])], (), Reading())
    for each in (problem, found([next(unread_documents())])):
        parts = [*each.unclear, *(part for one in each.resources for part in one.unclear)]
        assert [part.statement for part in parts] == [""] * len(parts)
        stated = world_of_discovery(each, explained=["", *(p.code for p in parts)])
        assert blocks_of(stated) == (ALL,)


def unread_documents():
    yield a_plain_deployment(**mounted({"configMap": {"name": "conf"}}))
    yield a_deployment(config={"parallelism.default": "2"}, status=a_status())


def unread_and_read():
    """Yield resources before and after the ConfigMap that they need can be read."""
    text = {"flink-conf.yaml": f"state.checkpoints.dir: {ROOT}\n"}
    names = ("conf", "flink-config-orders")
    for document, name in zip(unread_documents(), names, strict=True):
        (before,) = found([document], {names[1]: {}}).resources
        (after,) = found([document], {name: text}).resources
        yield before, after


def test_what_one_writer_could_not_read_another_one_does_not_forget() -> None:
    """Merged memories block as much as each of them, whatever the order."""
    unread, read = next(unread_and_read())
    each = [memory_of(found([]).model_copy(update={"resources": (r,)})) for r in (unread, read)]
    for memories in (each, each[::-1]):
        gone = united(found([]), merged_memories(memories))
        assert blocks_of(world_of_discovery(gone)) == (ALL,)


@pytest.mark.parametrize(
    ("names", "selection"),
    [(["flnik"], ""), ([], "team=flnik"), ([], "every namespace"), (["flink", "flnik"], "")],
)
def test_a_namespace_that_shows_nothing_blocks_everything(names, selection) -> None:
    """It may be misspelled: the API server answers with an empty list for one that is not there."""
    shown = [namespace([a_deployment()] if name == "flink" else [], name=name) for name in names]
    (silent,) = silent_sources(shown, selection, ())
    assert silent.is_everywhere
    assert not list(silent_sources(shown, selection, {"flnik", "flink"}))
    discovery = found([a_deployment()]).model_copy(update={"unclear": (silent,)})
    assert blocks_of(world_of_discovery(discovery)) == (ALL,)
    stated = world_of_discovery(discovery, without_state=[silent.origin.resource])
    assert blocks_of(stated) == ()


def test_a_selected_namespace_without_flink_is_nothing_to_ask_about() -> None:
    """The API server has listed it: it is there, and others show resources."""
    shown = [
        namespace([], name="kube-system", is_selected=True),
        namespace([a_deployment()], name="flink", is_selected=True),
    ]
    assert not list(silent_sources(shown, "every namespace", ()))
    assert list(silent_sources(shown[:1], "every namespace", ()))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"state.savepoints.dir": [1]}, {"state.savepoints.dir": [2]}),
        ({"s3.endpoint": [1]}, {"s3.endpoint": [2]}),
        ({"state.backend.own": "jdbc://u:a@h"}, {"state.backend.own": "jdbc://u:b@h"}),
        ({SUBDIRECTORY: "false"}, {SUBDIRECTORY: "false", "state.savepoints.dir": "s3://b/c"}),
    ],
)
def test_a_statement_does_not_explain_another_value(one, other) -> None:
    """Not even where both are described in the same words."""
    documents = [a_deployment(config={**configuration(), **each}) for each in (one, other)]
    first, second = (found([each]) for each in documents)
    assert blocks_of(world_of_discovery(first, explained=statements_of(first))) == ()
    assert blocks_of(world_of_discovery(second, explained=statements_of(first)))


def test_a_statement_does_not_explain_what_a_file_says_later() -> None:
    """One with another name than those that Flink reads."""
    files = [[FileText(path="/conf/prod.yaml", text=text)] for text in ("a: 1", "a: 2")]
    first, second = (found([], files=each) for each in files)
    assert blocks_of(world_of_discovery(first, explained=statements_of(first))) == ()
    assert blocks_of(world_of_discovery(second, explained=statements_of(first))) == (ALL,)
