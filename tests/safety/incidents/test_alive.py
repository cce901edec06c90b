"""Losses by taking for dead what is only suspended: told with HA metadata and Flink resources."""

from copy import deepcopy
from dataclasses import replace

import pytest

from cli.helpers import AT_ONCE, DAY, Bed, contents, flink, run, write
from cli.stories import Story, make_story
from orphangc.adapters.flink.ha_metadata import ZooKeeperHa
from orphangc.collect.observe.reported import Answers
from orphangc.core.cluster.ha_facts import HaFacts, PlaceNamed
from orphangc.core.cluster.zookeeper_paths import zookeeper_facts
from orphangc.core.model.settings import StorageRootSettings
from safety.incidents.essential import must_be_there
from safety.incidents.hooks import after_the_cycle, after_the_listing
from safety.incidents.test_world import claimer
from support.kubernetes_server import a_config_map, retained, saved, send
from support.rest_server import RestServer

ASKED = ("--kubernetes-ha", "flink")
IN_ZOOKEEPER = ("--zookeeper-ha", "zk:1/x")


def ha(story: Story, *ids: int, cluster: str = "orders") -> dict:
    """Return the HA ConfigMap of the story's job."""
    name = f"{cluster}-{story.job.id}-config-map"
    return a_config_map(name, *retained(*ids), "counter", cluster=cluster)


def deployment(story: Story, shape: str, **status: str) -> dict:
    """Return the job's FlinkDeployment, in one of the saved shapes, without savepoints."""
    document = deepcopy(saved(shape))
    document["status"]["jobStatus"] |= {"jobId": story.job.id, "savepointInfo": {}, **status}
    document["status"]["reconciliationStatus"].pop("lastReconciledSpec")
    document["status"]["reconciliationStatus"].pop("lastStableSpec")
    document["spec"]["job"].pop("initialSavepointPath")
    document["spec"].pop("flinkConfiguration")
    return document


def swept(story: Story, *options: object):
    """Lay tombstones and delete, as far as that goes."""
    story.bed.cycle(*options)
    plan, ran = story.bed.cycle(*options)
    return plan, ran


def pressed(story: Story, *options: object):
    """Do the same with a new checkpoint in between: tombstones of a living job are due then."""
    story.bed.cycle(*options)
    story.job.checkpoint(9, *story.live, age=0 * DAY)
    return story.bed.cycle(*options)


def are_there(story: Story) -> bool:
    """Return whether no orphan is gone."""
    return all(path.exists() for path in story.orphans)


def test_without_being_asked_for_the_orphans_of_this_story_would_go(story) -> None:
    """Otherwise nothing below would show anything."""
    _, ran = swept(story)
    assert (ran.code, are_there(story)) == (0, False)


@pytest.mark.parametrize("of_the_other", [(9,), ()])
@pytest.mark.answered_by("clusters_without_a_directory")
def test_two_application_clusters_have_one_id_and_one_of_them_claimed_elsewhere(
    story, kubernetes, of_the_other
) -> None:
    """Flink gives all of them the same id under HA; here lies the directory of one alone."""
    here = story.bed.job(0)
    here.checkpoint(9, here.shared())
    claimer(story, story.bed.folder / "red", 0)
    for cluster, ids in (("orders", of_the_other), ("red", (9,))):
        name = f"{cluster}-{here.id}-config-map"
        kubernetes.add(a_config_map(name, *retained(*ids), "counter", cluster=cluster))
    for _ in range(2):
        plan = story.bed.plan(*ASKED)
        story.bed.sweep(plan, "--delete")
    must_be_there(story.orphans[0])
    assert "remove the HA metadata" in plan.job(here)["refused"]["message"]


@pytest.mark.answered_by("condition:held_by_ha")
def test_a_last_state_suspended_deployment_is_not_dead_though_all_jobs_are_declared_ended(
    story, kubernetes
) -> None:
    """No pods, no REST, and an operator who says ``--ended-job all``: its metadata stays."""
    kubernetes.add(ha(story, 7, 8))
    kubernetes.add(deployment(story, "flinkdeployment-suspended"))
    before = contents(story.bed.root)
    plan, ran = pressed(story, *ASKED)
    assert plan.verdict(story.orphans[0]) == ("delete", "quarantine_over")
    assert plan.blocks(story.job) == ["held_by_ha"]
    assert plan.refusal(story.job) is None
    assert plan.job(story.job)["state"] == "suspended"
    assert ran.code == 4
    after = contents(story.bed.root)
    assert {name: after[name] for name in before if before[name]} == {
        name: kept for name, kept in before.items() if kept
    }


@pytest.mark.parametrize("shape", ["flinkdeployment-suspended", "flinkdeployment-running"])
@pytest.mark.answered_by("condition:held_by_ha")
def test_a_resource_alone_keeps_its_job_from_being_dead(story, kubernetes, shape) -> None:
    """Without HA a job that is not over for the operator is not over."""
    kubernetes.add(deployment(story, shape))
    plan, ran = pressed(story, *ASKED)
    assert (plan.blocks(story.job), ran.code) == (["held_by_ha"], 4)
    assert are_there(story)


STARTING = {
    "a newer spec": {"metadata": {"generation": 4}},
    "a starting JobManager": {"status": {"jobManagerDeploymentStatus": "DEPLOYING"}},
    "an upgrade": {"status": {"lifecycleState": "UPGRADING"}},
}


@pytest.mark.parametrize("what", STARTING)
@pytest.mark.answered_by("condition:held_by_ha")
def test_a_finished_job_that_is_about_to_start_again_is_not_over(story, kubernetes, what) -> None:
    """FINISHED is the old run; the operator has a newer spec, or starts a JobManager already."""
    document = deployment(story, "flinkdeployment-finished")
    for part, changes in STARTING[what].items():
        document[part] |= changes
    kubernetes.add(document)
    plan, ran = pressed(story, *ASKED)
    assert (plan.blocks(story.job), ran.code) == (["held_by_ha"], 4)
    assert are_there(story)


def test_a_job_that_has_finished_and_whose_resource_stays_is_over(story, kubernetes) -> None:
    """A finished FlinkDeployment is nobody's life; its orphans may go."""
    kubernetes.add(deployment(story, "flinkdeployment-finished"))
    plan, ran = swept(story, *ASKED)
    assert (plan.blocks(story.job), ran.code, are_there(story)) == ([], 0, False)


@pytest.mark.answered_by("condition:held_by_ha")
def test_rest_saying_that_a_job_is_over_does_not_outweigh_its_ha_metadata(
    undeclared, kubernetes
) -> None:
    """The old cluster says CANCELED; the metadata says that it goes on elsewhere."""
    kubernetes.add(ha(undeclared, 7, 8))
    with RestServer(flink(undeclared.job, completed=9, status="CANCELED")) as server:
        options = (*ASKED, "--closed-world", "--flink-rest", server.url)
        plan, ran = pressed(undeclared, *options)
    assert plan.blocks(undeclared.job) == ["held_by_ha"]
    assert ran.code in {0, 4}  # 0: no tombstone was laid while what REST reports was not found
    assert are_there(undeclared)


def test_the_plan_shows_what_the_evidence_is(story, kubernetes) -> None:
    """Design, section 4: source ``kubernetes``."""
    kubernetes.add(ha(story, 7, 8))
    plan = story.bed.plan(*ASKED)
    shown = [e for e in plan.job(story.job)["evidence"] if e["source"] == "kubernetes"]
    assert [(each["uri"], each["sequence"]) for each in shown] == [
        (f"kubernetes:flink/configmaps/orders-{story.job.id}-config-map", 8)
    ]
    assert plan.document["settings"]["kubernetes_ha"] == ["flink"]


@pytest.mark.answered_by("condition:held_by_ha")
def test_other_jobs_go_their_way(bed, kubernetes) -> None:
    """One suspended job blocks itself, not its neighbours."""
    held, free = make_story(bed, 1), make_story(bed, 2)
    kubernetes.add(ha(held, 7, 8))
    plan, _ = swept(held, *ASKED)
    assert (plan.blocks(held.job), plan.blocks(free.job)) == (["held_by_ha"], [])
    assert (are_there(held), are_there(free)) == (True, False)


def running(story: Story):
    """Return the options and the cluster of a running job whose newest checkpoint is 8."""
    return RestServer(flink(story.job, completed=8))


def test_a_running_job_whose_retained_checkpoints_are_all_there_is_collected(
    undeclared, kubernetes
) -> None:
    """HA metadata of a running job is as it should be."""
    kubernetes.add(ha(undeclared, 7, 8))
    with running(undeclared) as server:
        options = (*ASKED, "--closed-world", "--flink-rest", server.url)
        undeclared.bed.cycle(*options)
        undeclared.job.checkpoint(9, *undeclared.live, age=0 * DAY)
        server.routes.update(flink(undeclared.job, completed=9))
        kubernetes.add(ha(undeclared, 8, 9))
        plan, ran = undeclared.bed.cycle(*options)
    assert (plan.blocks(undeclared.job), plan.refusal(undeclared.job)) == ([], None)
    assert (ran.code, are_there(undeclared)) == (0, False)


@pytest.mark.answered_by("guard:retained_root_missing")
def test_a_retained_checkpoint_that_nobody_sees_voids_the_job(undeclared, kubernetes) -> None:
    """Its metadata lies in a place that nobody named: then other roots may lie there too."""
    kubernetes.add(ha(undeclared, 6, 7, 8))
    with running(undeclared) as server:
        plan = undeclared.bed.plan(*ASKED, "--closed-world", "--flink-rest", server.url)
    assert plan.ran.code == 4
    assert plan.refusal(undeclared.job) == "retained_root_missing"
    message = plan.job(undeclared.job)["refused"]["message"]
    assert f"orders-{undeclared.job.id}-config-map retains checkpoint 6" in message


def test_one_that_was_subsumed_during_the_listing_is_not_missing(
    undeclared, kubernetes, monkeypatch
) -> None:
    """It was there, it is gone, and its entry too."""
    kubernetes.add(ha(undeclared, 6, 7, 8))
    after_the_listing(monkeypatch, lambda: kubernetes.add(ha(undeclared, 7, 8)))
    with running(undeclared) as server:
        plan = undeclared.bed.plan(*ASKED, "--closed-world", "--flink-rest", server.url)
    assert plan.refusal(undeclared.job) is None


@pytest.mark.answered_by("guard:retained_root_missing")
def test_a_claimed_checkpoint_in_another_jobs_directory_counts(bed, kubernetes) -> None:
    """The completed store retains it under the new job's id; Flink reports where it lies."""
    old = make_story(bed, 1)
    new = make_story(Bed(bed.folder, AT_ONCE), 2)
    kubernetes.add(ha(new, 5, 7, 8))
    claimed = old.job.checkpoint(5, old.live[0]).parent
    asked = (*ASKED, "--closed-world", "--ended-job", old.job.id)
    with RestServer(flink(new.job, completed=8, restored=(5, claimed))) as server:
        plan = new.bed.plan(*asked, "--flink-rest", server.url)
        assert plan.refusal(new.job) is None
        server.routes.update(flink(new.job, completed=8))
        plan = new.bed.plan(*asked, "--flink-rest", server.url)
        assert plan.refusal(new.job) == "retained_root_missing"


@pytest.mark.answered_by("guard:retained_root_missing + guard:two_owners")
def test_two_clusters_that_hold_one_job_void_it(undeclared, kubernetes) -> None:
    """Application clusters before 1.16 all had the same job id."""
    kubernetes.add(ha(undeclared, 7, 8))
    kubernetes.add(ha(undeclared, 8, cluster="returns"))
    with running(undeclared) as server:
        plan = undeclared.bed.plan(*ASKED, "--closed-world", "--flink-rest", server.url)
    assert plan.refusal(undeclared.job) == "retained_root_missing"


SAVEPOINTS = [
    ("flinkdeployment-finished", ("status", "jobStatus", "upgradeSavepointPath")),
    ("flinkdeployment-finished", ("spec", "job", "initialSavepointPath")),
    ("flinkstatesnapshot", ("spec", "savepoint", "path")),
    ("flinkstatesnapshot", ("status", "path")),
]


@pytest.mark.parametrize("ending", ["", "/", "/_metadata"])
@pytest.mark.parametrize(("shape", "path"), SAVEPOINTS, ids=lambda each: str(each)[-30:])
@pytest.mark.answered_by("reported_roots")
def test_a_savepoint_that_a_resource_names_protects_what_it_refers_to(  # noqa: PLR0917 - fixtures
    story, kubernetes, shape, path, ending
) -> None:
    """Outside every given root; the folder, or its metadata file."""
    orphan, other = story.orphans
    other_place = story.bed.folder / "elsewhere"
    elsewhere = Bed(story.bed.folder).job(1, below=other_place)
    elsewhere.checkpoint(5, orphan)
    document = deployment(story, shape) if "deployment" in shape else deepcopy(saved(shape))
    if "deployment" not in shape:
        document["spec"]["savepoint"]["path"] = ""
        document["status"]["path"] = ""
    inner = document
    for each in path[:-1]:
        inner = inner[each]
    inner[path[-1]] = f"file://{elsewhere.folder}/chk-5{ending}"
    kubernetes.add(document)
    plan, ran = swept(story, *ASKED)
    assert plan.verdict(orphan) == ("keep", "referenced")
    assert (ran.code, orphan.exists(), other.exists()) == (0, True, False)


@pytest.mark.parametrize("has_its_own", [False, True], ids=["alone", "beside another"])
@pytest.mark.answered_by("reported_roots")
def test_a_copied_metadata_file_of_another_name_protects_what_it_refers_to(
    story, kubernetes, has_its_own
) -> None:
    """Flink restores from any file whose path it is given; its folder may hold another one."""
    orphan, other = story.orphans
    elsewhere = Bed(story.bed.folder).job(1, below=story.bed.folder / "elsewhere")
    folder = elsewhere.checkpoint(5, orphan).parent
    (folder / "_metadata").rename(folder / "copy")
    if has_its_own:
        elsewhere.checkpoint(5)
    document = deployment(story, "flinkdeployment-finished")
    document["spec"]["job"]["initialSavepointPath"] = f"file://{folder}/copy"
    kubernetes.add(document)
    plan, ran = swept(story, *ASKED)
    assert plan.verdict(orphan) == ("keep", "referenced")
    assert (ran.code, orphan.exists(), other.exists()) == (0, True, False)


@pytest.mark.answered_by("guard:unreadable_root")
def test_a_savepoint_that_is_gone_is_no_root_and_one_that_is_broken_voids_all(
    story, kubernetes
) -> None:
    """R4, R6: as what REST reports."""
    document = deepcopy(saved("flinkstatesnapshot"))
    broken = story.bed.folder / "savepoint"
    document["spec"]["savepoint"]["path"] = f"file://{story.bed.folder}/gone"
    document["status"]["path"] = f"file://{broken}"
    kubernetes.add(document)
    assert story.bed.plan(*ASKED).refusal(story.job) is None
    write(broken / "_metadata", b"half", DAY)
    plan = story.bed.plan(*ASKED)
    assert (plan.ran.code, plan.refusal(story.job)) == (4, "unreadable_root")


@pytest.mark.parametrize("path", ["relative/savepoint", "nosuchscheme://x/savepoint"])
@pytest.mark.answered_by("guard:unreadable_root")
def test_a_place_that_cannot_be_asked_voids_all(story, kubernetes, path: str) -> None:
    """It may hold a root."""
    document = deepcopy(saved("flinkstatesnapshot"))
    document["spec"]["savepoint"]["path"] = path
    document["status"]["path"] = ""
    kubernetes.add(document)
    assert story.bed.plan(*ASKED).refusal(story.job) == "unreadable_root"


@pytest.mark.answered_by("condition:gate_not_seen")
def test_a_namespace_that_may_not_be_read_blocks_everything(story, kubernetes) -> None:
    """Forbidden is unknown, and unknown is alive."""
    story.bed.cycle(*ASKED)
    kubernetes.denied.add("flinkdeployments")
    plan, ran = story.bed.cycle(*ASKED)
    assert (plan.blocks(story.job), ran.code) == (["gate_not_seen"], 4)
    assert "flinkdeployments" in plan.job(story.job)["blocked"][0]["message"]
    assert are_there(story)


def cut_off(handler) -> None:
    """Answer with the first page of a listing, and with no way to the others."""
    send(handler, 200, {"kind": "List", "metadata": {"remainingItemCount": 1}, "items": []})


@pytest.mark.parametrize("fault", [404, cut_off])
@pytest.mark.answered_by("condition:gate_not_seen")
def test_an_answer_that_shows_less_than_there_is_blocks_everything(
    story, kubernetes, fault
) -> None:
    """A suspended job is in the part that is not shown."""
    kubernetes.add(deployment(story, "flinkdeployment-suspended"))
    kubernetes.faults["flinkdeployments"] = fault
    plan, ran = swept(story, *ASKED)
    assert (plan.blocks(story.job), ran.code) == (["gate_not_seen"], 4)
    assert are_there(story)


@pytest.mark.answered_by("condition:gate_not_seen")
def test_a_resource_of_a_kind_that_is_not_known_blocks_everything(story, kubernetes) -> None:
    """A later operator's: it may stand for a job that is suspended."""
    kubernetes.further = ("flinkfleets",)
    document = deployment(story, "flinkdeployment-suspended")
    kubernetes.add({**document, "kind": "FlinkFleet"})
    plan, ran = swept(story, *ASKED)
    assert (plan.blocks(story.job), ran.code) == (["gate_not_seen"], 4)
    assert "flinkfleets" in plan.job(story.job)["blocked"][0]["message"]
    assert are_there(story)


@pytest.mark.answered_by("condition:gate_not_seen")
def test_an_answer_that_comes_only_once_blocks_too(story, kubernetes, monkeypatch) -> None:
    """Before and after the listing, as REST."""
    after_the_listing(monkeypatch, lambda: kubernetes.denied.add("configmaps"))
    assert story.bed.plan(*ASKED).blocks(story.job) == ["gate_not_seen"]


def warnings(story) -> list[str]:
    found = story.bed.plan(*ASKED).document["warnings"]
    return [each for each in found if "kubernetes" in each or "FlinkDeployment" in each]


def test_a_namespace_that_shows_nothing_is_worth_a_warning(story, kubernetes) -> None:
    """Mistyped, maybe: whoever has a role in all namespaces gets an empty answer."""
    (warning,) = warnings(story)
    assert "kubernetes:flink shows nothing of Flink's" in warning
    kubernetes.add(a_config_map("x-cluster-config-map"))
    assert warnings(story) == []


@pytest.mark.parametrize(
    "case", [(asked, is_seen) for asked in (ASKED, IN_ZOOKEEPER) for is_seen in (False, True)]
)
def test_a_namespace_that_shows_nothing_ends_no_job(
    undeclared, kubernetes, monkeypatch, case
) -> None:
    """A job of the same fixed id is over elsewhere; only a place of Flink's says: nor here.

    A path of ZooKeeper's may be another program's, full of nodes.
    """
    asked, is_seen = case
    other = undeclared.bed.job(2)
    left = other.shared()
    if is_seen:
        kubernetes.add(a_config_map("x-cluster-config-map"))
    nodes = ["/x/brokers/ids/0", *["/x/leader/dispatcher/connection_info"] * is_seen]
    monkeypatch.setattr(ZooKeeperHa, "observe", lambda own: zookeeper_facts(own.uri, "zk:1", nodes))
    with RestServer(flink(other, completed=None, status="CANCELED")) as server:
        options = (*asked, "--closed-world", "--flink-rest", server.url, "--max-delete-share", "1")
        swept(Story(undeclared.bed, other, [], []), *options)
    assert left.exists() != is_seen


def test_a_checkpoint_folder_that_nobody_named_is_worth_a_warning(story, kubernetes) -> None:
    """The operator stated a closed world, and a resource shows a door."""
    document = deployment(story, "flinkdeployment-finished")
    document["spec"]["flinkConfiguration"] = {
        "state": {"checkpoints": {"dir": f"file://{story.bed.root}"}},
        "execution.checkpointing.savepoint-dir": "s3://other/savepoints",
    }
    kubernetes.add(document)
    (warning,) = warnings(story)
    assert "FlinkDeployment/orders sets execution.checkpointing.savepoint-dir" in warning


@pytest.mark.answered_by("looking_again")
def test_a_job_that_is_taken_up_during_the_sweep_stops_it(story, kubernetes, monkeypatch) -> None:
    """R18: looked at before each batch."""
    kubernetes.add(a_config_map("x-cluster-config-map"))
    story.bed.cycle(*ASKED)
    plan = story.bed.plan(*ASKED)
    after_the_cycle(monkeypatch, lambda: kubernetes.add(ha(story, 8)))
    ran = story.bed.sweep(plan, "--delete")
    assert (ran.code, are_there(story)) == (4, True)
    assert "holds job" in ran.err


@pytest.mark.answered_by("looking_again")
def test_a_namespace_that_answers_no_more_during_the_sweep_stops_it(
    story, kubernetes, monkeypatch
) -> None:
    """Who is alive is unknown from then on."""
    story.bed.cycle(*ASKED)
    plan = story.bed.plan(*ASKED)
    after_the_cycle(monkeypatch, lambda: kubernetes.denied.add("configmaps"))
    ran = story.bed.sweep(plan, "--delete")
    assert ran.code != 0
    assert are_there(story)


@pytest.mark.answered_by("looking_again")
def test_a_savepoint_that_a_resource_names_during_the_sweep_is_protected(
    story, kubernetes, monkeypatch
) -> None:
    """Someone starts a job from it now."""
    orphan, other = story.orphans
    story.bed.cycle(*ASKED)
    plan = story.bed.plan(*ASKED)
    elsewhere = Bed(story.bed.folder).job(1, below=story.bed.folder / "elsewhere")
    document = deepcopy(saved("flinkstatesnapshot"))
    document["spec"]["savepoint"]["path"] = f"file://{elsewhere.folder}/chk-5"
    document["status"]["path"] = ""

    def name() -> None:
        elsewhere.checkpoint(5, orphan)
        kubernetes.add(document)

    after_the_cycle(monkeypatch, name)
    story.bed.sweep(plan, "--delete")
    assert (orphan.exists(), other.exists()) == (True, False)


def test_a_local_path_that_is_none_in_a_bucket_is_not_taken_for_a_local_one() -> None:
    """Flink's default file system is another than ours: the place would look gone."""
    named = HaFacts(
        uri="kubernetes:flink",
        places=(PlaceNamed("/savepoints/sp-1", "kubernetes:flink/FlinkDeployment/orders"),),
    )
    settings = StorageRootSettings(root="s3://lake/checkpoints")
    answers = Answers(settings=settings, ha=(named,))
    places, (broken,) = answers.reported()
    assert places == []
    assert "FlinkDeployment/orders" in broken.reason
    meant = settings.model_copy(update={"alias": ("/savepoints=s3://lake/savepoints",)})
    places, unusable = replace(answers, settings=meant).reported()
    assert ([str(each) for each in places], unusable) == (["s3://lake/savepoints/sp-1"], [])


def test_the_doctor_looks_at_it(story, kubernetes) -> None:
    """Permissions are missed before they are needed."""
    config = story.bed.folder / "orphangc.yaml"
    config.write_text(
        f"storage_roots:\n- root: {story.bed.root}\n  state: {story.bed.state}\n"
        "  closed_world: true\n  kubernetes_ha: [flink]\n"
    )

    def finding() -> tuple[str, str]:
        found = {each["check"]: each for each in run("doctor", "--config", config).json}
        return found["kubernetes flink"]["health"], found["kubernetes flink"]["message"]

    assert finding()[0] == "warning"
    kubernetes.add(ha(story, 7, 8))
    assert finding() == (
        "good",
        "1 thing listed: 1 job not over, 0 checkpoints and savepoints named",
    )
    kubernetes.denied.add("flinksessionjobs")
    assert finding()[0] == "bad"
