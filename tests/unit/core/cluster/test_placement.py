"""Of which directory an answer speaks: by its own checkpoints, its configuration, its origin."""

from dataclasses import replace

import pytest

from flinkstate.places.locations import canonical, parse_alias
from orphangc.core.cluster.ha_facts import FolderNamed
from orphangc.core.cluster.job_facts import RestoredFacts
from orphangc.core.cluster.placement import Home, JobAnswer, holders_for, home_of, job_answers
from support.builders import JOB, a_checkpoint, a_cluster, a_hold, some_facts

HERE, THERE = canonical(f"s3://a/{JOB}"), canonical(f"s3://b/{JOB}")
BOTH = {"here": (HERE,), "there": (THERE,)}
ONE = {"here": (HERE,)}


def an_answer(*paths: str, restored: str | None = None, **changes: object) -> JobAnswer:
    """Return the answer of a cluster whose job has completed the checkpoints at these paths."""
    shown = tuple(
        a_checkpoint(number, external_path=path) for number, path in enumerate(paths, start=1)
    )
    origin = restored and RestoredFacts(id=7, external_path=restored, is_savepoint=False)
    facts = some_facts(checkpoints=shown, restored=origin or None)
    answer = JobAnswer(uri="u", job_id=JOB, before=facts, after=facts)
    return replace(answer, **changes)


PROVEN = Home(keys=frozenset({"here"}), is_proven=True)
LIKELY = Home(keys=frozenset({"here"}))
ELSEWHERE = Home(is_elsewhere=True)


@pytest.mark.parametrize(
    ("answer", "directories", "home"),
    [
        pytest.param(an_answer(f"{HERE}/chk-1"), BOTH, PROVEN, id="its own checkpoint"),
        pytest.param(an_answer("s3://c/x/chk-1"), ONE, ELSEWHERE, id="its own, elsewhere"),
        pytest.param(
            an_answer("s3://c/x/chk-1", checkpoint_directories=frozenset({"s3://a"})),
            ONE,
            ELSEWHERE,
            id="code outweighs the configuration",
        ),
        pytest.param(
            an_answer(checkpoint_directories=frozenset({"s3://a/"})),
            BOTH,
            PROVEN,
            id="the configuration",
        ),
        pytest.param(
            an_answer(checkpoint_directories=frozenset({"s3://c"})),
            ONE,
            ELSEWHERE,
            id="the configuration, elsewhere",
        ),
        pytest.param(an_answer(restored=f"{HERE}/chk-7"), BOTH, LIKELY, id="restored from here"),
        pytest.param(an_answer(restored="s3://c/savepoint"), ONE, LIKELY, id="the only directory"),
        pytest.param(an_answer(), ONE, LIKELY, id="nothing, and one directory"),
        pytest.param(an_answer(), BOTH, Home(), id="nothing, and two directories"),
        pytest.param(
            an_answer("<checkpoint-not-externally-addressable>"), BOTH, Home(), id="no place"
        ),
    ],
)
def test_an_answer_belongs_where_what_it_reports_lies(answer, directories, home) -> None:
    """Point 4 of issue 13; a neighbour whose name begins alike is another directory."""
    assert home_of(answer, directories, ()) == home


def test_an_alias_says_what_a_clusters_paths_mean() -> None:
    """A volume may be mounted elsewhere in the cluster."""
    answer = an_answer(f"file:/data/{JOB}/chk-1")
    assert home_of(answer, ONE, ()) == ELSEWHERE
    assert home_of(answer, ONE, (parse_alias("file:/data=s3://a"),)) == PROVEN


def test_a_savepoint_places_nothing() -> None:
    """It is where its trigger asked for it."""
    shown = (a_checkpoint(1, is_savepoint=True, external_path=f"{HERE}/savepoint-1"),)
    facts = some_facts(checkpoints=shown)
    answer = JobAnswer(uri="u", job_id=JOB, before=facts, after=None)
    assert home_of(answer, BOTH, ()) == Home()


def test_answers_of_one_cluster_are_one() -> None:
    """Also of a cluster that answered once only."""
    one = a_cluster(some_facts(), cluster_ids=frozenset({"orders"}))
    (answer,) = job_answers([one], [replace(one, jobs={})])[JOB]
    assert (answer.before, answer.after) == (some_facts(), None)
    assert (answer.cluster_ids, answer.is_living) == ({"orders"}, True)


def folder(path: str, by: str = "kubernetes:flink/FlinkDeployment/orders") -> FolderNamed:
    return FolderNamed(path, "state.checkpoints.dir", by)


@pytest.mark.parametrize(
    ("answers", "folders", "expected"),
    [
        pytest.param([], [], ({"here", "there"}, False, False), id="nothing places it"),
        pytest.param([], [folder("s3://b")], ({"there"}, True, False), id="its resource"),
        pytest.param(
            [], [folder("s3://c")], ({"here", "there"}, False, True), id="its resource, elsewhere"
        ),
        pytest.param(
            [],
            [folder("s3://b", "kubernetes:flink/FlinkDeployment/other")],
            ({"here", "there"}, False, False),
            id="another's resource",
        ),
        pytest.param(
            [("kubernetes:flink/orders", PROVEN)],
            [],
            ({"here"}, True, False),
            id="its cluster's answer",
        ),
        pytest.param(
            [("kubernetes:flink/orders", LIKELY)],
            [],
            ({"here", "there"}, False, False),
            id="an unproven answer",
        ),
        pytest.param(
            [("kubernetes:flink/orders", ELSEWHERE)],
            [],
            ({"here", "there"}, False, True),
            id="its cluster's answer, elsewhere",
        ),
        pytest.param(
            [("kubernetes:flink/others", PROVEN)],
            [],
            ({"here", "there"}, False, False),
            id="another's answer",
        ),
        pytest.param(
            [("kubernetes:staging/orders", PROVEN)],
            [],
            ({"here", "there"}, False, False),
            id="its namesake in another namespace",
        ),
    ],
)
def test_what_nothing_can_place_holds_every_directory(answers, folders, expected) -> None:
    """A hold keeps a job from being over, so that doubt makes it hold more."""
    placed = [(an_answer(cluster_ids=frozenset({name})), home) for name, home in answers]
    found = holders_for(a_hold(7), placed, folders, directories=BOTH, aliases=())
    assert (found.keys, found.is_proven, found.is_elsewhere) == expected
