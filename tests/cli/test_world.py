"""``world``: every place that is searched or named; and what ``doctor`` says of it."""

import shlex
from pathlib import Path

import yaml

from cli.helpers import contents, flink, run
from cli.stories import Story, make_story
from support.rest_server import RestServer, configured

KEYS = {"storages", "places", "outside", "clusters", "changed", "closed_world"}


def world(story: Story, *options: object) -> dict:
    ran = run("world", story.bed.root, "--state", story.bed.state, *options, "--output", "json")
    assert ran.code == 0, ran.err
    return ran.json


def config_of(bed, *roots: Path, **settings: object) -> Path:
    path = bed.folder / "orphangc.yaml"
    places = [{"root": str(each), "state": str(bed.state), **settings} for each in roots]
    path.write_text(yaml.safe_dump({"storage_roots": places}))
    return path


def test_every_place_is_shown_with_what_was_found_in_it(story) -> None:
    """The storage root, and an extra root that holds nothing."""
    empty = story.bed.folder / "savepoints"
    empty.mkdir()
    shown = world(story, "--extra-roots", empty, "--closed-world")
    assert set(shown) == {*KEYS, "buckets", "resources", "unasked"}
    places = {each["uri"]: each for each in shown["places"]}
    own = places[str(story.bed.root)]
    assert (own["kind"], own["job_directories"], own["checkpoints"]) == ("storage_root", 1, 2)
    assert (places[str(empty)]["kind"], places[str(empty)]["checkpoints"]) == ("extra_root", 0)
    assert shown["closed_world"] == {"stated": True, "covers": [str(story.bed.folder)]}


def test_a_cluster_is_shown_with_its_jobs(undeclared) -> None:
    with RestServer(dict(flink(undeclared.job, completed=8))) as server:
        (cluster,) = world(undeclared, "--flink-rest", server.url)["clusters"]
    assert (cluster["jobs"], cluster["answers"]) == ([undeclared.job.id], True)
    assert cluster["problem"] is None


def test_a_cluster_that_does_not_answer_is_shown_with_the_cause(story) -> None:
    """In a document and in a table."""
    with RestServer({}) as server:
        (cluster,) = world(story, "--flink-rest", server.url)["clusters"]
        options = ("--flink-rest", server.url, "--output", "table")
        shown = run("world", story.bed.root, "--state", story.bed.state, *options).out
    assert (cluster["uri"], cluster["answers"]) == (server.url, False)
    assert "answered 404" in cluster["problem"]
    assert "answered 404" in shown


def test_where_a_cluster_is_configured_to_store_is_shown(story) -> None:
    """Before the first checkpoint of its job, in a place that is not searched."""
    job = story.bed.job(2, below=story.bed.folder / "unknown")
    started = flink(job, completed=None, restored=(8, story.job.folder / "chk-8"))
    option = {"execution.checkpointing.dir": f"file:{job.folder.parent}"}
    with RestServer(started | configured(option)) as server:
        options = ("--flink-rest", server.url, "--search", "places")
        (path,) = world(story, *options)["outside"]
        plan = story.bed.plan(*options)
    assert path["uri"] == str(job.folder)
    assert path["named_by"] == [f"the configuration of {server.url}"]
    assert path["jobs"] == [job.id]
    assert "dependent_job" in plan.blocks(story.job)


def test_it_changes_nothing(story) -> None:
    """Neither the storage, nor what a later cycle remembers."""
    story.bed.plan()
    before = contents(story.bed.root), contents(story.bed.state)
    world(story)
    assert (contents(story.bed.root), contents(story.bed.state)) == before


def test_what_disappeared_is_shown_and_can_be_acknowledged(story) -> None:
    """Exactly that one fact; then the plan says so, too."""
    extra = story.bed.folder / "elsewhere"
    story.bed.job(7, below=extra).checkpoint(3)
    story.bed.plan("--extra-roots", extra)
    (extra / f"{7:032x}").rename(story.bed.folder / "taken-away")
    lost = world(story, "--extra-roots", extra)["changed"][0]
    assert not lost["acknowledged"]
    story.bed.plan("--extra-roots", extra)
    ran = run(
        *("world", "acknowledge", story.bed.root, lost["condition"], lost["what"]),
        *("--state", story.bed.state),
    )
    assert ran.code == 0, ran.err
    known = {each["what"]: each for each in world(story, "--extra-roots", extra)["changed"]}
    assert known[lost["what"]]["acknowledged"]


def test_what_one_call_leaves_out_is_neither_silent_nor_lost(undeclared) -> None:
    """A person asks with less than the scheduled run; a plan with as little is blocked."""
    bed, extra = undeclared.bed, undeclared.bed.folder / "elsewhere"
    places = ("--search", "places")
    bed.job(7, below=extra).checkpoint(3)
    with RestServer(dict(flink(undeclared.job, completed=8))) as server:
        options = (*places, "--flink-rest", server.url, "--extra-roots", extra)
        bed.plan(*options)
        assert world(undeclared, *options)["unasked"] == []
        bare = world(undeclared, *places)
        found = {(each["condition"], each["what"]) for each in bare["unasked"]}
        assert found == {("cluster_silent", server.url), ("place_lost", str(extra))}
        assert bare["changed"] == []
        said = run("world", bed.root, "--state", bed.state, *places, "--output", "table").out
        assert "not given in this call" in " ".join(said.split())
    silent = world(undeclared, *options)
    assert [each["condition"] for each in silent["changed"]] == ["cluster_silent"]
    assert {"cluster_silent", "place_lost"} <= set(bed.plan(*places).blocks(undeclared.job))


def test_a_place_that_no_cycle_remembers_is_known_since_no_day(story) -> None:
    assert [each["since"] for each in world(story)["places"]] == [None]
    story.bed.plan()
    (known,) = (each["since"] for each in world(story)["places"])
    assert known is not None


def test_the_command_that_a_blocked_plan_names_is_the_one_that_lifts_it(story) -> None:
    """Word by word as it stands there, the state location included."""
    extra = story.bed.folder / "the savepoints"
    story.bed.job(7, below=extra).checkpoint(3)
    story.bed.plan("--extra-roots", extra)
    (extra / f"{7:032x}").rename(story.bed.folder / "taken-away")
    planned = story.bed.plan("--extra-roots", extra)
    blocked = {e["condition"]: e["message"] for e in planned.job(story.job)["blocked"]}
    command = shlex.split(blocked["place_lost"].partition("run: ")[2])
    assert command[:3] == ["orphangc", "world", "acknowledge"]
    asked = ("world", story.bed.root, "--state", story.bed.state, "--extra-root", extra)
    lines = run(*asked, "--output", "table").out.splitlines()
    assert command in [shlex.split(each) for each in lines if each.startswith("  orphangc ")]
    ran = run(*command[1:])
    assert ran.code == 0, ran.err
    assert "place_lost" not in story.bed.plan("--extra-roots", extra).blocks(story.job)


def test_storage_roots_of_one_file_are_one_world(bed) -> None:
    """One document of the contract's form, and beside it that of each storage root."""
    make_story(bed)
    other = bed.folder / "other"
    bed.job(5, below=other).checkpoint(4)
    ran = run("world", "--config", config_of(bed, bed.root, other), "--output", "json")
    assert ran.code == 0, ran.err
    assert set(ran.json) == {*KEYS, "resources", "storage_roots"}
    kinds = {each["uri"]: each["kind"] for each in ran.json["places"]}
    assert kinds == {str(bed.root): "storage_root", str(other): "storage_root"}
    of_other = ran.json["storage_roots"][str(other)]["places"]
    assert {each["kind"] for each in of_other} == {"storage_root", "sibling"}


def test_the_table_says_what_a_closed_world_covers(story) -> None:
    empty = story.bed.folder / "savepoints"
    empty.mkdir()
    options = ("--state", story.bed.state, "--extra-roots", empty, "--output", "table")
    said = " ".join(run("world", story.bed.root, *options).out.split())
    assert "closed world not stated" in said
    assert f"all of {story.bed.folder} (2 checkpoints)" in said
    assert "0 CHECKPOINTS" in said


def test_without_a_storage_root_nothing_is_guessed(bed) -> None:
    """Exit 2; the help is one word away."""
    assert run("world", "--output", "json").code == 2
    assert run("world", "--help").code == 0
    assert run("world", bed.root / "absent").code == 10


def findings(bed, *roots: Path, **settings: object) -> dict[str, str]:
    ran = run("doctor", "--config", config_of(bed, *roots, **settings), "--output", "json")
    own = [each for each in ran.json if each["root"] == str(roots[0])]
    return {each["check"]: each["message"] for each in own}


def test_the_doctor_says_job_by_job_what_can_never_be_collected(bed) -> None:
    """And the one setting that would change it."""
    first, second = make_story(bed), make_story(bed, 2)
    found = findings(bed, bed.root, closed_world=True, ended_job=[first.job.id])
    assert f"job {first.job.id}" not in found
    message = found[f"job {second.job.id}"]
    assert "never collected with this configuration (job_state_unknown)" in message
    assert "--flink-rest" in message


def test_the_doctor_says_once_what_holds_for_all_jobs(bed) -> None:
    """A fleet of hundreds is no reason for hundreds of lines."""
    jobs = [make_story(bed, number).job.id for number in (1, 2, 3)]
    found = findings(bed, bed.root, ended_job=jobs)
    assert "closed_world" in found["all 3 jobs"]
    assert not [check for check in found if check.startswith("job ")]


def test_the_doctor_is_content_with_what_can_be_collected(bed) -> None:
    found = findings(bed, bed.root, closed_world=True, ended_job=[make_story(bed).job.id])
    assert found["the only job"] == "can be collected"
    assert found["world"].startswith("closed world: ")
