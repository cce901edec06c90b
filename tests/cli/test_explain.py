"""``explain``: why one object has its verdict, for each reason there is."""

import os

import pytest
import yaml

from cli.helpers import AT_ONCE, DAY, ENDED, UUID_1, Bed, contents, flink, run, write
from cli.stories import make_story
from support.rest_server import RestServer


def explained(bed: Bed, path, *options) -> dict:
    ran = run("explain", path, "--root", bed.root, "--state", bed.state, *options)
    assert ran.code == 0, ran.err
    return ran.json


def verdict(document: dict) -> tuple[str, str]:
    return document["verdict"]["action"], document["verdict"]["reason"]


def test_it_names_every_root_that_refers_to_the_object(story) -> None:
    document = explained(story.bed, story.live[1], "--ended-job", "all")
    assert verdict(document) == ("keep", "referenced")
    assert [(each["checkpoint_id"], each["how"]) for each in document["referenced_by"]] == [
        (7, "path"),
        (8, "path"),
    ]
    assert document["referenced_by"][0]["root"] == str(story.job.folder / "chk-7")


def test_a_key_without_its_storage_root_says_what_is_missing(story) -> None:
    """It does not search all of the file system that the command runs in."""
    ran = run("explain", f"{story.job.id}/shared/{UUID_1}")
    assert (ran.code, "no file here: give --plan, --root, or the whole URI" in ran.err) == (2, True)


def test_a_configuration_says_all_of_the_storage_root(story) -> None:
    """The same answer as with the options; none where it names another root, or options beside."""
    config = story.bed.folder / "orphangc.yaml"
    root = {"root": str(story.bed.root), "state": str(story.bed.state), "ended_job": ["all"]}
    config.write_text(yaml.safe_dump({"storage_roots": [root]}))
    by_options = explained(story.bed, story.orphans[0], "--ended-job", "all")
    ran = run("explain", story.orphans[0], "--config", config)
    assert (ran.code, verdict(ran.json)) == (0, verdict(by_options))
    for more in (("--root", story.bed.folder / "other"), ("--ended-job", "all")):
        assert run("explain", story.orphans[0], "--config", config, *more).code == 2


def test_a_key_of_a_plan_is_explained_by_a_configuration(story) -> None:
    """Reports and logs name keys relative to the storage root; the file of one root needs no more.

    Of several, the one that is meant must be named.
    """
    config = story.bed.folder / "orphangc.yaml"
    root = {"root": str(story.bed.root), "state": str(story.bed.state), "ended_job": ["all"]}
    key = story.orphans[0].relative_to(story.bed.root)
    config.write_text(yaml.safe_dump({"storage_roots": [root]}))
    ran = run("explain", key, "--config", config)
    assert (ran.code, verdict(ran.json)) == (0, ("tombstone", "orphan"))
    other = root | {"root": str(story.bed.folder / "other")}
    config.write_text(yaml.safe_dump({"storage_roots": [other, root]}))
    ran = run("explain", key, "--config", config)
    assert (ran.code, "--root" in ran.err) == (2, True)
    assert verdict(run("explain", key, "--config", config, "--root", story.bed.root).json) == (
        "tombstone",
        "orphan",
    )


@pytest.mark.parametrize(
    ("spelling", "how"),
    [
        pytest.param("/elsewhere/shared/{name}", "base name", id="base name"),
        pytest.param("s3a://bucket/shared/{name}", "base name", id="of another store"),
        pytest.param("/elsewhere/shared/7_{name}", "uuid", id="uuid"),
    ],
)
def test_it_says_by_what_a_root_names_the_object(story, spelling, how) -> None:
    """Another path with the same base name, or the same UUID, counts as much."""
    story.job.checkpoint(9, *story.live, spelling.format(name=story.orphans[0].name))
    document = explained(story.bed, story.orphans[0], "--ended-job", "all")
    assert verdict(document) == ("keep", "referenced")
    assert [each["how"] for each in document["referenced_by"]] == [how]


def test_it_explains_an_orphan_by_its_bounds(story) -> None:
    """Every bound by name, the scheme, and no reference."""
    document = explained(story.bed, story.orphans[0], "--ended-job", "all")
    assert verdict(document) == ("tombstone", "orphan")
    assert document["referenced_by"] == []
    assert document["tombstone"] is None
    assert document["scheme"]["layout"] == "flat"
    assert document["scheme"]["scope"] == "shared"
    assert document["scheme"]["uuid"] == story.orphans[0].name.replace("-", "")
    assert [each["name"] for each in document["job"]["bounds"]] == ["grace_period", "quiet_period"]
    assert document["object"]["size"] == story.orphans[0].stat().st_size
    assert document["uri"] == str(story.orphans[0])


def test_it_explains_what_is_too_young(story) -> None:
    """The cutoff stands beside the object's time."""
    young = story.job.shared(age=DAY)
    document = explained(story.bed, young, "--ended-job", "all")
    assert verdict(document) == ("keep", "too_young")
    stored, cutoff = document["object"]["modified_at"], document["job"]["cutoff"]
    assert stored > cutoff
    assert [at[10] + at[-1] for at in (stored, cutoff)] == ["TZ", "TZ"]  # one spelling


def test_it_explains_what_is_not_older_than_the_oldest_retained(undeclared) -> None:
    """The id in the name, and the oldest retained one."""
    named = undeclared.job.shared(f"7_{UUID_1}")
    document = explained(undeclared.bed, named)
    assert verdict(document) == ("keep", "not_older_than_oldest_retained")
    assert document["scheme"]["checkpoint_id"] == 7
    assert document["job"]["oldest_retained_checkpoint_id"] == 7


def test_it_explains_what_is_unrecognised(story) -> None:
    """No scheme, no UUID."""
    odd = story.job.shared("000001.sst")
    document = explained(story.bed, odd, "--ended-job", "all")
    assert verdict(document) == ("keep", "unrecognised")
    assert (document["scheme"]["layout"], document["scheme"]["uuid"]) == ("unrecognised", None)


def test_it_explains_a_name_that_is_no_text(story) -> None:
    """As the plan spells it, by which its row is found."""
    odd = story.job.folder / "shared" / os.fsdecode(b"odd-\xff")
    write(odd, b"x", DAY)
    key = odd.relative_to(story.bed.root)
    found = run("explain", key, "--plan", story.bed.plan("--ended-job", "all").path)
    assert found.code == 0, found.err
    assert verdict(found.json) == ("keep", "unrecognised")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("completedCheckpoint0123456789ab", "recovery"),
        ("submittedExecutionPlan0123456789ab", "recovery"),
        (f"blob_p-{'a' * 40}-{'b' * 32}", "blob"),
        (f"{'c' * 32}.json", "evidence"),
        ("completedCheckpoint-mine", None),
    ],
)
def test_a_file_of_ha_storage_says_why_nothing_may_delete_it(story, name: str, word) -> None:
    """R52: no evidence shows every cluster that may point to it."""
    path = write(story.bed.root / "ha" / name, b"x", 30 * DAY)
    document = explained(story.bed, path)
    assert verdict(document) == ("keep", "unrecognised")
    remark = document["scheme"]["remark"]
    assert remark is None if word is None else word in remark


def test_it_explains_what_is_only_reported(story) -> None:
    """An area without a rule for the job's state, and why; with one, the verdict is its own."""
    path = write(story.job.folder / "taskowned" / UUID_1, b"t", 30 * DAY)
    document = explained(story.bed, path)
    assert verdict(document) == ("keep", "report_only")
    assert (document["scheme"]["scope"], document["scheme"]["area"]) == ("taskowned", "taskowned")
    kept = {each["area"]: each["kept_because"] for each in document["job"]["areas"]}
    assert kept["shared"] is None
    assert "materialisation" in kept["taskowned"]
    document = explained(story.bed, path, "--ended-job", "all")
    assert verdict(document) == ("tombstone", "orphan")
    assert {each["rule"] for each in document["job"]["areas"]} == {"R35", "R35, R37"}


def test_it_explains_a_checkpoint_by_what_it_is(story) -> None:
    """Its area has a rule, and nothing names it: it is what names others."""
    options = ("--root", story.bed.root, "--state", story.bed.state, "--output", "table")
    ran = run("explain", story.job.folder / "chk-8" / "_metadata", *options)
    assert "It is the _metadata of a checkpoint, which orphangc expire alone judges, or " in ran.out


def test_it_explains_a_refused_job_by_its_guard(story) -> None:
    """And says which folder it was."""
    (story.job.folder / "shared" / "op_x").mkdir()
    document = explained(story.bed, story.live[0])
    assert verdict(document) == ("keep", "job_refused")
    assert document["job"]["refused"]["guard"] == "unproven_layout"
    assert "op_x" in document["job"]["refused"]["message"]


def test_it_explains_a_quarantine_and_its_end(story) -> None:
    """Since when, by which plan."""
    bed = Bed(story.bed.folder, ENDED)
    plan, _ = bed.cycle()
    document = explained(bed, story.orphans[0], "--ended-job", "all")
    assert verdict(document) == ("keep", "in_quarantine")
    assert document["tombstone"]["plan_id"] == plan.document["plan_id"]
    over = bed.plan(*AT_ONCE)
    ran = run("explain", story.orphans[0], "--plan", over.path)
    assert verdict(ran.json) == ("delete", "quarantine_over")
    assert ran.json["tombstone"] == document["tombstone"]


def test_it_explains_a_revival(story) -> None:
    """The one reason that halts all."""
    story.bed.cycle()
    story.job.checkpoint(9, *story.live, story.orphans[0])
    document = explained(story.bed, story.orphans[0], "--ended-job", "all")
    assert verdict(document) == ("revive", "referenced")


def test_it_asks_flink_of_a_running_job(undeclared) -> None:
    """The same evidence as a plan's."""
    with RestServer(flink(undeclared.job, completed=8)) as server:
        options = ("--flink-rest", server.url)
        document = explained(undeclared.bed, undeclared.orphans[0], *options)
    assert document["job"]["state"] == "running"
    assert "oldest_own_root" in [each["name"] for each in document["job"]["bounds"]]


def test_key_path_and_uri_mean_the_same_object(story) -> None:
    """Relative to the root, absolute, with a scheme, and as a path from here."""
    plan = story.bed.plan()
    key = str(story.orphans[0].relative_to(story.bed.root))
    shown = [
        run("explain", spelling, "--plan", plan.path)
        for spelling in (key, story.orphans[0], f"file://{story.orphans[0]}")
    ]
    assert {ran.code for ran in shown} == {0}
    assert {ran.json["key"] for ran in shown} == {key}
    assert explained(story.bed, key)["key"] == key


def test_a_relative_path_means_the_file_it_leads_to(story, monkeypatch) -> None:
    """From a folder above the root, or in it."""
    monkeypatch.chdir(story.bed.folder)
    path = story.orphans[0].relative_to(story.bed.folder)
    assert explained(story.bed, path)["uri"] == str(story.orphans[0])
    monkeypatch.chdir(story.job.folder)
    assert explained(story.bed, f"shared/{path.name}")["uri"] == str(story.orphans[0])


def test_the_root_is_found_by_the_key(story) -> None:
    """What holds the job directory is the root."""
    ran = run("explain", story.orphans[0], "--state", story.bed.state, "--ended-job", "all")
    assert (ran.code, verdict(ran.json)) == (0, ("tombstone", "orphan"))


def test_a_plan_is_explained_as_it_was_made(story) -> None:
    """Its verdict and bounds, not those of now."""
    plan = story.bed.plan("--grace-period", "40d")
    document = run("explain", story.orphans[0], "--plan", plan.path).json
    assert verdict(document) == ("keep", "too_young")


def test_explaining_changes_nothing(story) -> None:
    """Not in the state either."""
    story.bed.cycle()
    before = contents(story.bed.folder)
    explained(story.bed, story.orphans[0])
    assert contents(story.bed.folder) == before


@pytest.mark.parametrize("kind", ["absent", "outside", "folder", "no job directory", "no scheme"])
def test_what_cannot_be_explained_is_said_in_one_line(story, kind) -> None:
    """Exit 2."""
    plan = story.bed.plan()
    spelled = {
        "absent": (story.job.folder / "shared" / UUID_1, "--plan", plan.path),
        "outside": ("/elsewhere/x", "--plan", plan.path),
        "folder": (story.job.folder / "shared", "--plan", plan.path),
        "no job directory": (story.bed.folder / "x",),
        "no scheme": ("s3:relative", "--plan", plan.path),
    }[kind]
    ran = run("explain", *spelled)
    assert (ran.code, len(ran.complaints), ran.out) == (2, 1, "")


def test_only_the_tombstone_of_the_same_root_is_shown(story) -> None:
    """Two roots in one state location."""
    twin = Bed(story.bed.folder, story.bed.options)
    twin.root = story.bed.folder / "twin"
    other = make_story(twin)
    story.bed.cycle()
    assert explained(twin, other.orphans[0], "--ended-job", "all")["tombstone"] is None


def test_it_explains_with_the_world_of_the_plan(story) -> None:
    """A job of another storage root of the same state, and one that an earlier cycle saw."""
    bed = story.bed
    second = Bed(bed.folder, bed.options, plans=10)
    second.root = bed.folder / "second"
    sibling = second.job(2)
    sibling.checkpoint(9, *story.live, story.orphans[0], age=10 * DAY)
    second.cycle(delete=False)
    remembered = bed.job(3, below=bed.folder / "elsewhere")
    remembered.checkpoint(5, *story.live, story.orphans[1], age=10 * DAY)
    with RestServer(flink(remembered, completed=5)) as server:
        bed.plan("--flink-rest", server.url)
    plan = bed.plan()
    for orphan, job, number in ((0, sibling, 9), (1, remembered, 5)):
        named_by = str(job.folder / f"chk-{number}")
        for options in (("--plan", plan.path), ("--root", bed.root, "--state", bed.state)):
            ran = run("explain", story.orphans[orphan], *options)
            assert ran.code == 0, ran.err
            assert verdict(ran.json) == ("keep", "referenced")
            assert named_by in [each["root"] for each in ran.json["referenced_by"]]


def test_it_explains_without_a_sibling_that_is_out_of_reach(story) -> None:
    """The plan is blocked by it; what is known of the object is said all the same."""
    second = Bed(story.bed.folder, story.bed.options, plans=10)
    second.root = story.bed.folder / "second"
    second.job(2).checkpoint(9, *story.live, age=10 * DAY)
    second.cycle(delete=False)
    second.root.rename(story.bed.folder / "not-mounted")
    plan = story.bed.plan()
    assert "place_unreachable" in plan.blocks(story.job)
    ran = run("explain", story.live[1], "--plan", plan.path)
    assert (ran.code, verdict(ran.json)) == (0, ("keep", "referenced"))


def test_a_key_that_is_not_in_the_plan_is_refused_with_the_form_of_keys(story) -> None:
    """Such as one that is relative to the bucket."""
    plan = story.bed.plan()
    ran = run("explain", "checkpoints/shared/x", "--plan", plan.path)
    assert (ran.code, "relative to that, or the whole URI" in ran.err) == (2, True)
