"""``self-sustained`` and ``users-of``: may a snapshot go, and who still needs it?"""

import json
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from shutil import copytree, rmtree
from types import SimpleNamespace

import pytest

from cli.helpers import DAY, STARTING, UUID_1, UUID_2, Bed, Job, flink, metadata, now, run, write
from cli.redeploys import Redeploys
from cli.scheduled import Configured, settings_of
from cli.stories import a_snapshot_of
from flinkstate.files import mounts
from orphangc.app.commands.operate import self_sustained as self_sustaining
from orphangc.core.exporter.registry_format import write_snapshot
from orphangc.core.exporter.registry_snapshot import EntryKind, RegistryEntry
from support.flink_resources import a_resource
from support.kubernetes_server import a_config_map, retained
from support.rest_server import RestServer, as_json, configured

OVER = ("--ended-job", "all")
HA = ("--kubernetes-ha", "flink")
UNIQUE = int("deadbeef" * 4, 16)
"""Number of a job whose id no other run has: its HA metadata is its own, in any cluster."""
NONE = "no job needs it, and no pin that was given"
OPEN = "nobody has stated that these are all"
PENDING = (
    "none of the checkpoints that were read needs it; a job that is not over may, by a pending"
    " checkpoint or to begin with it again"
)


@pytest.fixture
def bed(tmp_path) -> Bed:
    """A storage root."""
    return Bed(tmp_path)


def asked(bed, job, *options) -> tuple[int, dict]:
    """Return exit code and document of ``self-sustained`` in a closed world."""
    return asked_openly(bed, job, "--closed-world", *options)


def asked_openly(bed, job, *options) -> tuple[int, dict]:
    """Return the same without that statement."""
    ran = run("self-sustained", bed.root, "--job", job.id, "--output", "json", *options)
    return ran.code, ran.json


def claimed(bed):
    """Return three jobs: the third claimed a checkpoint of the second, which claimed the first's.

    Returns the jobs and the file of the first that all of them name.
    """
    first, second, third = (bed.job(number) for number in (1, 2, 3))
    file = first.shared(UUID_1)
    first.checkpoint(5, file)
    second.checkpoint(7, file, second.shared(UUID_2))
    third.checkpoint(9, file)
    return (first, second, third), file


@contextmanager
def restored(bed, *, completed, job=None, path=""):
    """Yield a job and options by which Flink says that it was restored from a savepoint.

    ``path`` is said instead of the savepoint's, if it is not empty.
    """
    job = job or bed.job(UNIQUE)
    savepoint = bed.folder / "savepoints" / "savepoint-000000-000000000001"
    if not savepoint.exists():
        write(savepoint / "_metadata", metadata(4, [savepoint / UUID_1]), 30 * DAY)
        write(savepoint / UUID_1, b"state", 30 * DAY)
    source = path if path is None else path or savepoint
    is_new = completed is None
    routes = flink(job, completed=completed, restored=(4, source), restores_savepoint=is_new)
    with RestServer(routes) as server:
        yield job, savepoint, ("--flink-rest", server.url)


@pytest.fixture
def ha(kubernetes):
    """Return what lets HA metadata retain checkpoints of a job; the options that ask it."""

    def retaining(job, *ids):
        kubernetes.add(a_config_map(f"orders-{job.id}-config-map", *retained(*ids)))
        return HA

    return retaining


def mounted_twice(folder, tmp_path, monkeypatch) -> Path:
    """Return a second mount of a folder; a copy stands for it."""
    at = copytree(folder, tmp_path / "second")
    table = tmp_path / "mountinfo"
    table.write_text(
        f"1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 8:1 {folder} {at} rw - ext4 /dev/a rw\n"
    )
    monkeypatch.setattr(mounts, "TABLE", table)
    return at


@pytest.fixture
def second(bed, tmp_path, monkeypatch) -> Path:
    """Return the savepoint of ``a_savepoint`` by a second mount."""
    first = a_savepoint(bed)
    return mounted_twice(first.parent, tmp_path, monkeypatch) / first.name


# --- self-sustained


def test_references_reach_over_a_chain_of_jobs(bed) -> None:
    """A <- B <- C: the last one names a file of the first."""
    (first, second, third), file = claimed(bed)

    code, told = asked(bed, third)
    assert (code, told["state_self_sustained"]) == (0, False)
    everything, directory = told["looks"]
    assert everything["sample"] == directory["sample"] == [str(file)]
    assert (directory["kind"], directory["place"]) == ("directory", str(first.folder))
    assert directory["bytes"] == file.stat().st_size
    for snapshot in (first.folder / "chk-5", second.folder / "chk-7"):
        code, told = asked(bed, third, "--snapshot", snapshot)
        assert (code, told["state_self_sustained"], told["safe_to_delete"]) == (0, False, False)
    assert asked(bed, first, "--ended-job", "all")[1]["state_self_sustained"] is True


def test_no_before_the_first_checkpoint_and_yes_after_the_second_check(bed, ha) -> None:
    """NO_CLAIM, as a scenario; checks are stored in the state location."""
    bed.job(9).checkpoint(1)
    over = ("--ended-job", bed.job(9).id)
    options = ("--state", bed.state, "--extra-roots", bed.folder / "savepoints", *over)
    with restored(bed, completed=None) as (job, savepoint, rest):
        snapshot = ("--snapshot", savepoint)
        code, told = asked(bed, job, *options, *rest, *snapshot)
        assert (code, told["state_self_sustained"], told["safe_to_delete"]) == (0, False, False)
        assert "completed none of its own since" in told["why"]
    job.checkpoint(5, job.shared(), age=DAY)
    held = ha(job, 5)
    with restored(bed, completed=5) as (job, _, rest):
        for _ in range(2):
            code, told = asked(bed, job, *options, *rest, *held, *snapshot)
            assert (code, told["state_self_sustained"], told["seen"]["value"]) == (0, None, True)
            assert (told["confirmed"], told["safe_to_delete"]) == (False, None)
    since = told["since"]
    job.checkpoint(6, job.shared(), age=DAY / 2)
    ha(job, 6)
    with restored(bed, completed=6) as (job, _, rest):
        code, told = asked(bed, job, *options, *rest, *held, *snapshot)
    assert (code, told["confirmed"], told["safe_to_delete"]) == (0, True, True)
    assert (told["state_self_sustained"], told["seen"]["value"]) == (True, True)
    assert told["since"] == since


def test_waiting_is_a_second_check(bed, monkeypatch) -> None:
    """A newer checkpoint completes meanwhile."""
    job = bed.job()
    job.checkpoint(5, job.shared())
    pauses = []
    monkeypatch.setattr(self_sustaining.time, "sleep", pauses.append)
    assert asked(bed, job, "--wait", "10m")[1]["confirmed"] is False

    def complete(seconds: float) -> None:
        pauses.append(seconds)
        job.checkpoint(6, job.shared(), age=DAY)

    monkeypatch.setattr(self_sustaining.time, "sleep", complete)
    assert asked(bed, job, "--wait", "10m")[1]["confirmed"] is True
    assert pauses == [600, 600]


def test_what_scheduled_runs_saw_counts(bed) -> None:
    """Two runs with a newer checkpoint between make a yes of the daemon, and of the command."""
    job = bed.job()
    job.checkpoint(5, job.shared())
    story = SimpleNamespace(bed=bed)
    config = Configured.of(story, settings_of(story, ended_job=[]))
    (told,) = config.run().json[0]["jobs"]
    assert told["state_self_sustained"] is None
    assert (told["looks"][0]["value"], told["looks"][0]["confirmed_at"]) == (True, None)
    job.checkpoint(6, job.shared(), age=DAY)
    assert asked(bed, job, "--state", bed.state)[1]["confirmed"] is True
    (told,) = config.run().json[0]["jobs"]
    assert told["state_self_sustained"] is True
    assert told["looks"][0]["since_checkpoint_id"] == 5


def test_what_another_job_needs_may_not_go(bed) -> None:
    """The second job needs it no more, and the third does."""
    (first, second, third), _ = claimed(bed)
    second.checkpoint(7, second.shared())
    options = ("--snapshot", first.folder / "chk-5", "--ended-job", "all")
    told = asked(bed, second, *options)[1]
    assert (told["state_self_sustained"], told["safe_to_delete"]) == (True, False)
    assert third.id in told["why"]


def test_what_cannot_be_known_is_no_yes(bed) -> None:
    """An unreadable checkpoint may name any file; exit code 4, and the reason."""
    job = bed.job()
    job.checkpoint(5, job.shared())
    broken = bed.job(2).folder / "chk-1" / "_metadata"
    write(broken, b"torn", DAY)
    code, told = asked(bed, job)
    assert (code, told["state_self_sustained"], told["confirmed"]) == (4, None, None)
    assert str(broken) in told["why"]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--job", "x"), 2, "is no job id"),
        (("--job", "f" * 32), 4, "cannot be known"),
        (("--job", f"{1:032x}", "--wait", "soon"), 2, "--wait"),
        (("--job", f"{1:032x}", "--snapshot", "s3:x"), 2, "--snapshot"),
        (("--job", f"{1:032x}", "--snapshot", ""), 2, "--snapshot"),
    ],
)
def test_bad_input_is_one_line(bed, options, code, said) -> None:
    """What is wrong, and the code of it."""
    job = bed.job()
    job.checkpoint(5, job.shared())
    ran = run("self-sustained", bed.root, *options)
    assert ran.code == code
    assert said in ran.complaints[-1]


def test_its_own_checkpoint_is_no_snapshot_to_ask_for(bed) -> None:
    """The question makes no sense."""
    job = bed.job()
    path = job.checkpoint(5, job.shared())
    ran = run("self-sustained", bed.root, "--job", job.id, "--snapshot", path)
    assert ran.code == 2
    assert "own directory" in ran.complaints[-1]


def test_its_own_checkpoint_is_none_by_a_second_mount_either(bed, tmp_path, monkeypatch) -> None:
    """The job needs it in another way than a snapshot of others."""
    job = bed.job()
    path = job.checkpoint(5, job.shared()).parent
    at = mounted_twice(bed.root, tmp_path, monkeypatch)
    ran = run("self-sustained", bed.root, "--job", job.id, "--snapshot", at / job.id / path.name)
    assert ran.code == 2
    assert "own directory" in ran.complaints[-1]


def test_a_maker_uses_its_older_checkpoint_by_a_second_mount_too(
    bed, tmp_path, monkeypatch
) -> None:
    """A newer one of its own names a file in the folder, by the other name."""
    maker = bed.job(9)
    file = maker.folder / "chk-5" / UUID_1
    write(file, b"state", DAY)
    maker.checkpoint(5)
    maker.checkpoint(6, file)
    snapshot = mounted_twice(bed.root, tmp_path, monkeypatch) / maker.id / "chk-5"
    assert {each["job_id"] for each in users(snapshot, bed.root)[1]["users"]} == {maker.id}
    assert second_check(bed, bed.job(1), snapshot)["safe_to_delete"] is False


def test_the_table_says_it_to_people(bed) -> None:
    """Yes, no, and what is still missing."""
    (_, second, third), file = claimed(bed)
    shown = run("self-sustained", bed.root, "--job", third.id, "--output", "table").out
    assert " no " in shown
    assert str(file.parent.parent)[:20] in shown
    second.checkpoint(7, second.shared())
    shown = run("self-sustained", bed.root, "--job", second.id, "--output", "table").out
    assert "yes (once)" in shown
    assert "seen once, not confirmed yet (exit code 0 all the same)" in " ".join(shown.split())
    told = ("--ended-job", "all", "--output", "table")
    shown = run("self-sustained", bed.root, "--job", second.id, *told).out
    assert "self-sustained: yes" in " ".join(shown.split())


def test_one_check_is_seen_and_no_answer_yet(bed) -> None:
    """As REST, which answers 503 then; the reason of the look stands beside it."""
    job = bed.job()
    job.checkpoint(5, job.shared())
    code, told = asked(bed, job)
    assert (code, told["state_self_sustained"], told["confirmed"]) == (0, None, False)
    assert told["seen"]["value"] is True
    assert "name" in told["seen"]["why"]
    assert "once" not in told["seen"]["why"]
    assert "once" in told["why"]


@pytest.mark.parametrize("below", ["", "savpoints"])
def test_a_mistyped_snapshot_is_none(bed, below) -> None:
    """Nothing needs what is not there; that is no yes."""
    job = bed.job()
    job.checkpoint(5, job.shared())
    options = ("--ended-job", "all", "--snapshot", bed.folder / below / "savepoint-typo")
    ran = run("self-sustained", bed.root, "--job", job.id, *options)
    assert ran.code == 2
    assert "there is no snapshot" in ran.complaints[-1]


def test_a_snapshot_that_went_is_known_by_what_was_seen(bed) -> None:
    """A look remembers it, or Flink says that the job was restored from it."""
    bed.job(9).checkpoint(1)
    with restored(bed, completed=5) as (job, savepoint, rest):
        job.checkpoint(5, job.shared())
        snapshot = ("--snapshot", savepoint, "--state", bed.state)
        assert asked(bed, job, *snapshot)[0] == 0
        rmtree(savepoint)
        assert asked(bed, job, *snapshot)[0] == 0
        assert asked(bed, job, "--snapshot", savepoint, *rest)[0] == 0
        assert run("self-sustained", bed.root, "--job", job.id, *snapshot[:2]).code == 2


def test_the_maker_of_a_snapshot_goes_back_to_it(bed) -> None:
    """Its only checkpoint may not go while it is not over; one with a newer one of its own may."""
    first, second = bed.job(1), bed.job(2)
    snapshot = first.checkpoint(5, first.shared())
    answer = second_check(bed, second, snapshot)
    assert answer["safe_to_delete"] is False
    assert first.id in answer["why"]
    assert second_check(bed, second, snapshot, "--ended-job", first.id)["safe_to_delete"] is True
    names_it = first.checkpoint(6, first.folder / "chk-5" / UUID_1)
    assert second_check(bed, second, snapshot)["safe_to_delete"] is False
    rmtree(names_it.parent)
    first.checkpoint(7, first.shared(), age=DAY)
    assert second_check(bed, second, snapshot)["safe_to_delete"] is True


@pytest.mark.parametrize(("options", "answer"), [((), False), (("--ended-job", f"{1:032x}"), True)])
def test_a_maker_in_no_listed_place_may_go_back_to_its_snapshot(bed, options, answer) -> None:
    """Its directory is below no storage root that is read."""
    elsewhere = bed.job(1, below=bed.folder / "elsewhere")
    snapshot = elsewhere.checkpoint(5, elsewhere.shared())
    assert second_check(bed, bed.job(2), snapshot, *options)["safe_to_delete"] is answer


@pytest.mark.parametrize(("days", "is_free"), [(200, False), (1, True)])
def test_a_higher_number_from_an_earlier_life_of_the_maker_is_no_newer_one(
    bed, days, is_free
) -> None:
    """Its id comes back, and no cluster shows it: it goes back to what it stored last."""
    maker, job = bed.job(5), bed.job(UNIQUE)
    maker.checkpoint(4711, maker.shared(age=200 * DAY), age=days * DAY)
    snapshot = maker.checkpoint(12, maker.shared(age=50 * DAY), age=50 * DAY).parent
    assert second_check(bed, job, snapshot)["safe_to_delete"] is is_free
    told = users(snapshot, bed.root, "--closed-world", "--ended-job", job.id)[1]
    doubts = [each["reason"] for each in told["unknown"] if maker.id in each["uri"]]
    assert any("its newest checkpoint" in each for each in doubts) is not is_free


BESIDE = {
    "in the storage root": ("checkpoints", "all", 30, True),
    "it is another one's": ("second", "all", 30, False),
    "it is over": ("second", f"{UNIQUE - 1:032x}", 30, True),
    "it writes on": ("second", f"{UNIQUE - 1:032x}", 0, False),
}
"""Folder around the maker's directory, job that is stated to be over, days for which it is still,
and the answer."""


@pytest.mark.parametrize("case", BESIDE)
def test_a_statement_ends_a_maker_beside_as_it_does_in_a_plan(bed, case) -> None:
    """L1, R34: ``all`` are those of the storage root, and one that writes on is not over."""
    below, over, days, answer = BESIDE[case]
    maker, job = bed.job(UNIQUE - 1, below=bed.folder / below), bed.job(UNIQUE)
    snapshot = maker.checkpoint(4, maker.shared()).parent
    maker.shared(age=days * DAY)
    job.checkpoint(5, job.shared())
    ended = ("--ended-job", over, "--ended-job", job.id)
    told = asked(bed, job, "--snapshot", snapshot, *ended)[1]
    assert (told["safe_to_delete"], f"but {maker.id}" in told["why"]) == (answer, not answer)


@pytest.mark.parametrize(
    ("named", "answer"), [("savepoint-000000-000000000001", False), ("", True)]
)
def test_what_a_run_found_a_configuration_to_restore_a_job_from_may_not_go(
    bed, named, answer
) -> None:
    """The command discovers nothing, and reads the state location of that run (R43)."""
    snapshot, job = a_savepoint(bed), bed.job(UNIQUE)
    job.checkpoint(5, job.shared())
    file = bed.folder / "config.yaml"
    file.write_text(f"execution.state-recovery.path: {snapshot.parent / named}\n" * bool(named))
    discovery = {
        "files": [str(file)],
        "state": str(bed.state),
        "alias": [f"{bed.folder}={bed.folder}"],
    }
    Configured.of(SimpleNamespace(bed=bed), discovery=discovery).run()
    assert second_check(bed, job, snapshot)["safe_to_delete"] is answer


def second_check(bed, job, snapshot, *options) -> dict:
    """Return what a job's second check of a snapshot says, after a newer checkpoint.

    ``users-of`` is asked the same, and contradicts in no story.
    """
    options = (*options, "--state", bed.state, "--snapshot", snapshot)
    known = len([*job.folder.glob("chk-*")])
    for number in (known + 7, known + 8):
        job.checkpoint(number, job.shared(), age=DAY / number)
        with from_nothing(job, options, completed=number) as rest:
            told = asked(bed, job, *options, *rest)[1]
            same = [snapshot, bed.root, *options[:-2], *rest]
            use = users(*same)[1]
    assert told["state_self_sustained"] is True
    assert told["safe_to_delete"] is not True or not use["users"]
    assert told["safe_to_delete"] is not False or use["has_users"] is not False
    return told


@contextmanager
def from_nothing(job, options=(), *, completed):
    """Yield the option that asks a cluster whose job began without a checkpoint, and runs."""
    with RestServer({} if "all" in options else flink(job, completed=completed)) as server:
        yield () if "all" in options else ("--flink-rest", server.url)


def a_savepoint(bed) -> Path:
    """Write a savepoint of no job, and return its folder."""
    savepoint = bed.folder / "savepoints" / "savepoint-000000-000000000001"
    write(savepoint / "_metadata", metadata(4, [savepoint / UUID_1]), 30 * DAY)
    write(savepoint / UUID_1, b"state", 30 * DAY)
    return savepoint


def a_deployment(job, savepoint, *, pin) -> dict:
    """Return a deployment of a job that is over, which names a savepoint in its spec or status."""
    spec = {"state": "running", "upgradeMode": "savepoint", "jarURI": "local:///x.jar"}
    status = {"jobId": job.id, "state": "FINISHED"}
    (spec if pin == "initialSavepointPath" else status)[pin] = f"file:{savepoint}"
    return {
        "apiVersion": "flink.apache.org/v1beta1",
        "kind": "FlinkDeployment",
        "metadata": {"name": "orders"},
        "spec": {"flinkVersion": "v1_20", "flinkConfiguration": {}, "job": spec},
        "status": {"lifecycleState": "STABLE", "jobStatus": status},
    }


def pinned(bed, kubernetes, pin, *, by=None):
    """Return a savepoint that a resource names, perhaps otherwise, and the options that ask it."""
    savepoint = a_savepoint(bed)
    kubernetes.add(a_deployment(bed.job(9), by or savepoint, pin=pin))
    return savepoint, (*HA, *OVER)


PINS = ["initialSavepointPath", "upgradeSavepointPath"]


@pytest.mark.parametrize("pin", PINS)
def test_what_a_resource_names_may_not_go(bed, kubernetes, pin) -> None:
    """R43: it starts from it, or goes on from it; ``expire`` holds it for the same reason."""
    savepoint, options = pinned(bed, kubernetes, pin)
    told = second_check(bed, bed.job(1), savepoint, *options)
    assert (told["safe_to_delete"], "orders still needs files" in told["why"]) == (False, True)


@contextmanager
def restoring(job, savepoint, *, completed, **changes):
    """Yield the option that asks a cluster whose configuration restores a job from a savepoint."""
    routes = flink(job, completed=completed, **changes)
    named = {"execution.savepoint.path": f"file:{savepoint}"}
    with RestServer(routes | configured(named)) as server:
        yield "--flink-rest", server.url


def test_what_a_configuration_restores_from_may_not_go(bed) -> None:
    """A JobManager that is lost without HA metadata begins with it again (R43)."""
    savepoint, job = a_savepoint(bed), bed.job(1)
    for number in (7, 8):
        job.checkpoint(number, job.shared())
        with restoring(job, savepoint, completed=number, restored=(4, savepoint)) as rest:
            told = asked(bed, job, *rest, "--state", bed.state, "--snapshot", savepoint)[1]
    assert (told["state_self_sustained"], told["safe_to_delete"]) == (True, False)
    assert "the configuration of http" in told["why"]


def test_a_configuration_that_restores_from_it_is_a_user(bed) -> None:
    """The job of its cluster is over, and goes on from the savepoint when that is started again."""
    savepoint, job = a_savepoint(bed), bed.job(1)
    job.checkpoint(7, job.shared())
    options = (savepoint, bed.root, "--closed-world", *OVER)
    with restoring(job, savepoint, completed=7, status="FAILED") as rest:
        code, told = users(*options, *rest)
    assert (code, told["has_users"], told["statement"]) == (0, True, "1 needs it")
    assert users(*options)[1]["statement"] == NONE


def test_a_job_that_a_resource_alone_shows_may_need_it(bed, kubernetes) -> None:
    """Its spec named the savepoint when it was deployed; it has completed no checkpoint since."""
    savepoint, job = a_savepoint(bed), bed.job(UNIQUE)
    bed.job(1).checkpoint(7)
    spec = {"deploymentName": "session", "job": {"state": "running"}}
    status = {"jobStatus": {"jobId": job.id, "state": "RUNNING"}}
    kubernetes.add(a_resource("FlinkSessionJob", "orders", spec, status))
    code, told = users(savepoint, bed.root, "--closed-world", *HA, *OVER)
    assert (code, told["has_users"]) == (4, None)
    assert f"job {job.id}" in {each["uri"] for each in told["unknown"]}
    status["jobStatus"]["state"] = "FINISHED"
    status["observedGeneration"] = 1
    kubernetes.add(a_resource("FlinkSessionJob", "orders", spec, status))
    assert users(savepoint, bed.root, "--closed-world", *HA, *OVER)[1]["confirmed"] is True


def test_it_is_not_safe_to_delete_while_a_cluster_does_not_answer(bed) -> None:
    """A job there may have been restored from it, and have completed nothing since."""
    savepoint, job = a_savepoint(bed), bed.job(1)
    options = ("--state", bed.state, "--snapshot", savepoint)
    for number in (7, 8):
        job.checkpoint(number, job.shared())
        with RestServer(flink(job, completed=number)) as server, RestServer({}) as silent:
            rest = ("--flink-rest", server.url, "--flink-rest", silent.url)
            told = asked(bed, job, *options, *rest)[1]
    assert (told["state_self_sustained"], told["safe_to_delete"]) == (True, None)
    assert silent.url in told["why"]


def test_what_a_job_of_another_root_needs_may_not_go(bed) -> None:
    """Its checkpoints were read, as the whole storage is; it has no directory below this root."""
    savepoint, other = a_savepoint(bed), bed.job(7, below=bed.folder / "other")
    other.checkpoint(9, savepoint / UUID_1)
    told = second_check(bed, bed.job(1), savepoint)
    assert told["safe_to_delete"] is False
    assert str(other.folder / "chk-9") in told["why"]


def test_what_another_job_was_restored_from_may_not_go(bed) -> None:
    """It has completed nothing since, and has older checkpoints of its own, to which it never goes
    back.
    """
    bed.job(2).checkpoint(3, bed.job(2).shared())
    with restored(bed, completed=None) as (other, savepoint, rest):
        told = second_check(bed, bed.job(1), savepoint, *rest)
    assert (told["safe_to_delete"], other.id in told["why"]) == (False, True)


def test_a_restore_by_a_second_mount_is_one_from_the_same_snapshot(bed, second) -> None:
    """Of the job itself, and of another one; both have older checkpoints of another life."""
    bed.job(2).checkpoint(3, bed.job(2).shared(), age=2000 * DAY)
    with restored(bed, completed=None, path=second) as (other, savepoint, rest):
        told = asked(bed, other, *rest, "--snapshot", savepoint)[1]
        assert told["state_self_sustained"] is False
        assert [(each["place"], each["restored_from"]) for each in told["looks"]] == [
            ("", False),
            (str(savepoint), True),
        ]
        assert [each["job_id"] for each in users(savepoint, bed.root, *rest)[1]["users"]] == [
            other.id
        ]
        told = second_check(bed, bed.job(1), savepoint, *rest)
        assert (told["safe_to_delete"], other.id in told["why"]) == (False, True)


def test_a_resource_may_name_a_snapshot_by_a_second_mount(bed, kubernetes, second) -> None:
    """Of one folder no name is the true one."""
    bed.job().checkpoint(5)
    savepoint, options = pinned(bed, kubernetes, PINS[0], by=second)
    told = users(savepoint, bed.root, "--closed-world", *options)[1]
    assert [each["place"].endswith("orders") for each in told["users"]] == [True]
    assert second_check(bed, bed.job(1), savepoint, *options)["safe_to_delete"] is False


def test_a_second_name_of_a_snapshot_is_no_user_of_it(bed, second, ha) -> None:
    """Flink restored from it by that name, and goes on without it."""
    other = bed.job(UNIQUE)
    other.checkpoint(5, other.shared())
    with RestServer(flink(other, completed=5, restored=(4, second))) as server:
        rest = ("--flink-rest", server.url, *ha(other, 5))
        assert users(a_savepoint(bed), bed.root, *rest)[1]["has_users"] is False
        assert second_check(bed, bed.job(1), a_savepoint(bed), *rest)["safe_to_delete"] is True


@pytest.mark.parametrize("is_shown", [False, True])
def test_a_job_that_starts_may_begin_with_it(bed, is_shown) -> None:
    """Flink does not show yet what it reads, or no cluster shows the job; it completed nothing."""
    other, savepoint, rest = bed.job(2), a_savepoint(bed), ()
    other.shared()
    bed.job(9).checkpoint(1)
    routes = flink(other, completed=None, status="INITIALIZING", **STARTING)
    with RestServer(routes) as server:
        if is_shown:
            rest = ("--flink-rest", server.url)
            code, told = users(savepoint, bed.root, "--closed-world", *rest)
            assert (code, told["has_users"]) == (4, None)
            assert f"job {other.id} starts" in told["statement"]
        told = second_check(bed, bed.job(1), savepoint, *rest)
        assert (told["safe_to_delete"], other.id in told["why"]) == (False, True)
    over = ("--ended-job", other.id, "--ended-job", bed.job(9).id)
    assert second_check(bed, bed.job(1), savepoint, *over)["safe_to_delete"] is True


@pytest.mark.parametrize("below", ["savepoints/jobs", "other"])
@pytest.mark.parametrize("is_named", [True, False])
def test_a_job_that_the_search_alone_shows_may_begin_with_it(bed, below, is_named) -> None:
    """It has no checkpoint yet, in a folder that no setting names; its name may be no job's.

    ``all`` covers the places that are named, as in a plan.
    """
    savepoint, other = a_savepoint(bed), bed.job(7, below=bed.folder / below)
    job = bed.job(9)
    job.checkpoint(1)
    if is_named:
        other.shared()
        write(other.folder / "taskowned" / UUID_1, b"state", 30 * DAY)
    else:
        write(bed.folder / below / "orders" / "chk-1" / UUID_1, b"state", 30 * DAY)
    said = (savepoint, bed.root, "--closed-world")
    at = other.folder if is_named else bed.folder / below / "orders"
    for over in (("--ended-job", job.id), OVER):
        code, told = users(*said, *over)
        assert (code, told["has_users"]) == (4, None)
        assert [each["uri"] for each in told["unknown"]] == [f"job {at}"]
    named = (bed.folder / below, "--empty-root", bed.folder / below)
    assert users(*said, *named, *OVER)[1]["statement"] == NONE
    told = second_check(bed, bed.job(1), savepoint)
    assert (told["safe_to_delete"], str(at) in told["why"]) == (False, True)
    if is_named:
        over = ("--ended-job", other.id, "--ended-job", job.id)
        assert second_check(bed, bed.job(1), savepoint, *over)["safe_to_delete"] is True


def test_a_folder_of_another_program_is_no_job(bed) -> None:
    """Many call a folder shared."""
    savepoint = a_savepoint(bed)
    bed.job(9).checkpoint(1)
    write(bed.folder / "libraries" / "shared" / "a.jar", b"jar", DAY)
    told = users(savepoint, bed.root, "--closed-world", "--ended-job", f"{9:032x}")[1]
    assert told["statement"] == NONE
    over = ("--ended-job", f"{9:032x}")
    assert second_check(bed, bed.job(1), savepoint, *over)["safe_to_delete"] is True


@pytest.mark.parametrize("own", [(), (3,)])
def test_a_suspended_job_that_completed_nothing_begins_with_it(bed, kubernetes, ha, own) -> None:
    """Only HA metadata shows it: its JobManager is gone, and goes on from what it was given."""
    savepoint = a_savepoint(bed)
    bed.job(9).checkpoint(1)
    suspended = bed.job(3)
    for number in own:
        suspended.checkpoint(number)
    kubernetes.add(a_config_map(f"orders-{suspended.id}-config-map", "jobGraph-0"))
    options = (savepoint, bed.root, "--closed-world", *HA)
    code, told = users(*options, *OVER)
    assert (code, told["has_users"]) == (4, None)
    assert suspended.id in told["unknown"][0]["uri"]
    told = second_check(bed, bed.job(1), savepoint, *HA)
    assert (told["safe_to_delete"], suspended.id in told["why"]) == (False, True)
    suspended.checkpoint(4)
    ha(suspended, 4)
    doubts = {e["reason"] for e in users(*options, *OVER)[1]["unknown"]}
    assert all(each.startswith("nothing shows what it begins with") for each in doubts), doubts


def test_it_is_not_safe_to_delete_before_the_world_is_stated_to_be_closed(bed) -> None:
    """R3a: it is said of all jobs; what this one needs its own checkpoints show."""
    savepoint, job = a_savepoint(bed), bed.job(1)
    second_check(bed, job, savepoint)
    options = ("--state", bed.state, "--snapshot", savepoint)
    with from_nothing(job, completed=8) as rest:
        told = asked_openly(bed, job, *options, *rest)[1]
        assert (told["state_self_sustained"], told["safe_to_delete"]) == (True, None)
        assert "(closed_world, --closed-world)" in told["why"]
        assert asked(bed, job, *options, *rest)[1]["safe_to_delete"] is True


def test_it_is_not_safe_to_delete_while_a_named_place_is_not_searched(bed) -> None:
    """A savepoint of another job may lie there, and name its files; the job itself needs none."""
    savepoint, job = a_savepoint(bed), bed.job(1)
    options = ("--state", bed.state, "--snapshot", savepoint)
    for number in (7, 8):
        job.checkpoint(number, job.shared())
        away = configured({"state.savepoints.dir": "file:/absent/savepoints"})
        with RestServer(flink(job, completed=number) | away) as server:
            told = asked(bed, job, *options, "--flink-rest", server.url)[1]
    assert (told["state_self_sustained"], told["safe_to_delete"]) == (True, None)
    assert "/absent/savepoints" in told["why"]


@pytest.mark.parametrize("is_emptied", [False, True])
def test_it_is_not_safe_to_delete_while_what_may_need_it_is_lost(bed, is_emptied) -> None:
    """Earlier cycles saw a job that needed it; that blocks its maker, and not the job itself."""
    maker, other, job = bed.job(3), bed.job(UNIQUE), bed.job(1)
    snapshot = maker.checkpoint(5, file := maker.shared()).parent
    maker.checkpoint(6, maker.shared())
    over = ("--ended-job", maker.id, "--state", bed.state)
    if is_emptied:
        other.checkpoint(9, file)
        run("plan", bed.root, *over)
        rmtree(other.folder)
    else:
        with restored(bed, completed=None, path=snapshot) as (_, _, rest):
            run("plan", bed.root, *over, *rest)
    told = second_check(bed, job, snapshot, *over)
    assert told["safe_to_delete"] is (None if is_emptied else False)
    assert other.id in told["why"]


@contextmanager
def second_life(bed, ha):
    """Yield the newest checkpoint of a job below a folder of its first life, and who shows that."""
    maker = bed.job(9)
    newest = maker.checkpoint(7, maker.shared(UUID_1)).parent
    maker.checkpoint(100, maker.shared(UUID_2), age=200 * DAY)
    with RestServer(flink(maker, completed=7)) as rest:
        yield newest, {"rest": ("--flink-rest", rest.url), "ha": ha(maker, 7)}


@pytest.mark.parametrize("source", ["rest", "ha"])
def test_the_maker_goes_back_to_what_flink_calls_its_newest(bed, ha, source) -> None:
    """Ids start again in each life of a job id: a higher one may be left from an earlier life."""
    with second_life(bed, ha) as (newest, sources):
        told = second_check(bed, bed.job(1), newest, *sources[source])
        assert told["safe_to_delete"] is False
        assert users(newest, *sources[source])[1]["has_users"] is not False


@pytest.mark.parametrize("is_scheduled", [False, True])
def test_what_another_job_needs_may_not_go_once_flink_forgot_the_restore(bed, is_scheduled) -> None:
    """A JobManager that was lost shows another origin; what cycles saw is asked about for ever."""
    savepoint, other = a_savepoint(bed), bed.job(1)
    other.checkpoint(5, savepoint / UUID_1)

    def looks(job, *rest: str) -> list[dict]:
        if not is_scheduled:
            return asked(bed, job, *rest, "--state", bed.state)[1]["looks"]
        story = SimpleNamespace(bed=bed)
        config = Configured.of(story, settings_of(story, ended_job=[], flink_rest=list(rest[1:])))
        (told,) = (each for each in config.run().json[0]["jobs"] if each["job_id"] == job.id)
        return told["looks"]

    with restored(bed, completed=5) as (job, _, rest):
        job.checkpoint(5, job.shared())
        looks(job, *rest)
    other.checkpoint(5, other.shared())
    for number in (6, 7):
        job.checkpoint(number, job.shared(), age=DAY / number)
        with RestServer(flink(job, completed=number)) as server:
            _, look = looks(job, "--flink-rest", server.url)
        assert (look["place"], look["value"]) == (str(savepoint), True)
        assert (other.id in look["also_named_by"]) is (number == 7)
        other.checkpoint(5, savepoint / UUID_1)


@pytest.mark.parametrize("shown", ["by its files", "by REST", "by its files, beside"])
def test_another_job_may_use_files_that_no_checkpoint_names(bed, shown) -> None:
    """R38: the database of a ForSt job goes on in the files that it was restored from."""
    savepoint = a_savepoint(bed)
    other = bed.job(7, below=bed.folder / "other" if shown.endswith("beside") else None)
    folder = "shared" if shown == "by REST" else "shared/op_x__1_4__attempt_0/db"
    other.checkpoint(5, write(other.folder / folder / UUID_2, b"state", 20 * DAY))
    backend = {"state_backend": "ForStStateBackend"} if shown == "by REST" else {}
    with RestServer(flink(other, completed=5, restored=(4, savepoint), **backend)) as server:
        rest = () if shown.endswith("beside") else ("--flink-rest", server.url)
        bed.job(9).checkpoint(1)
        code, told = users(savepoint, bed.root, "--closed-world", *rest)
        assert (code, told["has_users"]) == (4, True if rest else None)
        told = second_check(bed, bed.job(1), savepoint, *rest)
    assert (told["safe_to_delete"], other.id in told["why"]) == (False, True)
    over = ("--ended-job", other.id, "--ended-job", f"{9:032x}")
    assert second_check(bed, bed.job(1), savepoint, *over)["safe_to_delete"] is True


def test_a_checkpoint_of_the_maker_that_names_files_of_it_needs_it_though_that_is_over(bed) -> None:
    """As one of any other job that is over: a third one began from it, and has completed nothing.

    A changelog leaves what the older one wrote in its own folder as its materialized part.
    """
    maker = bed.job(3)
    snapshot = maker.checkpoint(5, maker.shared()).parent
    newer = maker.checkpoint(9, write(snapshot / UUID_2, b"state", 20 * DAY)).parent
    over = ("--ended-job", maker.id)
    with restored(bed, completed=None, path=newer) as (_, _, rest):
        assert users(snapshot, bed.root, "--closed-world", *rest, *over)[1]["has_users"] is True
        told = second_check(bed, bed.job(1), snapshot, *rest, *over)
    assert (told["safe_to_delete"], maker.id in told["why"]) == (False, True)


@pytest.mark.parametrize("pinned", ["the folder around it", "itself", "its _metadata"])
def test_what_a_pin_keeps_is_not_safe_to_delete(bed, pinned) -> None:
    """A person's, or one that discovery found in a configuration which restores a job from it."""
    savepoint, story = a_savepoint(bed), SimpleNamespace(bed=bed)
    bed.job(UNIQUE).checkpoint(4)
    assert users(savepoint, bed.root, "--closed-world", *OVER)[1]["statement"] == NONE
    pin = {"itself": savepoint, "its _metadata": savepoint / "_metadata"}.get(
        pinned, savepoint.parent
    )
    told = users(savepoint, bed.root, "--closed-world", *OVER, "--pin", pin)[1]
    assert f"the pin {pin}" in [each["place"] for each in told["users"]]
    pins = {"pin": [str(pin)]}
    with restored(bed, completed=5) as (job, _, rest):
        job.checkpoint(5, job.shared())
        told = settings_of(story, ended_job=[], flink_rest=[rest[1]], **pins)
        (known,) = Configured.of(story, told).run().json[0]["jobs"]
    _, look = known["looks"]
    assert look["place"] == str(savepoint)
    assert f"the pin {pin}" in look["also_named_by"]


def test_what_only_an_exported_registry_names_is_needed(bed, tmp_path) -> None:
    """By a pending checkpoint, as ``self-sustained`` says of the same job."""
    savepoint, job = a_savepoint(bed), bed.job()
    job.checkpoint(7, job.shared())
    named = RegistryEntry(f"file:{savepoint / UUID_1}", EntryKind.FILE, 1, 1, 1)
    exported = tmp_path / "snapshot.jsonl"
    exported.write_bytes(write_snapshot(a_snapshot_of(job, 7, entries=None), [named]))
    given = ("--closed-world", "--registry", exported)
    assert asked(bed, job, *given, "--snapshot", savepoint)[1]["seen"]["value"] is False
    (user,) = users(savepoint, bed.root, *given)[1]["users"]
    assert (user["job_id"], "registry" in user["why"]) == (job.id, True)


# --- the one relation of both, and of ``expire``


@pytest.mark.parametrize("case", ["shown", "remembered", "failed over", "not shown"])
@pytest.mark.parametrize("is_held", [False, True])
def test_no_command_gives_up_what_a_job_without_ha_metadata_begins_with_again(
    bed, ha, case, is_held
) -> None:
    """R43: it has completed more since, and names none of its files; HA metadata names its own."""
    clone, maker = bed.job(UNIQUE), bed.job(3)
    origin = maker.checkpoint(4, maker.shared(), age=60 * DAY).parent
    maker.checkpoint(5, maker.shared(), age=50 * DAY)
    for number in (7, 8):
        clone.checkpoint(number, clone.shared(), age=DAY / number)
    first, own = (4, origin), (7, clone.folder / "chk-7")
    options = ["--closed-world", "--ended-job", maker.id]
    asks = ("--state", bed.state, "--snapshot", origin)
    with RestServer(flink(clone, completed=8, restored=first if case == "shown" else own)) as now:
        options += [] if case == "not shown" else ["--flink-rest", now.url]
        if case == "remembered":
            with RestServer(flink(clone, completed=6, restored=first)) as before:
                run("plan", bed.root, "--state", bed.state, "--flink-rest", before.url)
        options += ha(clone, 8) if is_held else []
        policy = ("--state", bed.state, "--keep-last", "1")
        lineages = run("expire", bed.root, *options, *policy).json["expiry"]["lineages"]
        found = {e["uri"]: e for each in lineages for e in each["checkpoints"]}
        second = second_check(bed, bed.job(1), origin, *options)
        told = asked(bed, clone, *options, *asks)[1]
        use = users(origin, bed.root, *options)[1]
    is_free = is_held and case != "not shown"
    is_needed = found[str(origin)]["reason"] in {"held", "origin_unknown"}
    assert is_needed is not is_free
    assert (second["safe_to_delete"] is True) is is_free
    assert is_free or told["safe_to_delete"] is False
    concerned = {each["job_id"] for each in use["users"]}
    concerned |= {each["uri"].removeprefix("job ") for each in use["unknown"]}
    assert (clone.id in concerned) is not is_free
    assert use["confirmed"] is False


# --- users-of


def users(*arguments) -> tuple[int, dict]:
    """Return exit code and document of ``users-of``."""
    ran = run("users-of", *arguments, "--output", "json")
    return ran.code, ran.json


@pytest.mark.parametrize("has_job", [True, False])
def test_users_are_unknown_while_a_cluster_does_not_answer(bed, has_job) -> None:
    """One of its jobs may have been restored from it, whatever jobs the storage root has."""
    savepoint = bed.root / "savepoint-000000-000000000001"
    write(savepoint / "_metadata", metadata(4, [savepoint / UUID_1]), 30 * DAY)
    if has_job:
        bed.job(9).checkpoint(1)
    said = (savepoint, bed.root, "--closed-world", *OVER)
    assert users(*said)[1]["statement"] == NONE
    with RestServer({}) as server:
        silent = ("--flink-rest", server.url)
    code, told = users(*said, *silent)
    assert (code, told["has_users"]) == (4, None)
    assert "no usable answer" in told["statement"]


def test_users_are_the_checkpoints_that_name_a_file_of_it(bed) -> None:
    """By job, with counts; the storage root is found by the snapshot's own place."""
    (first, second, third), file = claimed(bed)
    third.checkpoint(10, third.shared())
    code, told = users(first.folder / "chk-5", *OVER)
    assert (code, told["has_users"], told["read"]) == (0, True, [str(bed.root)])
    assert [(each["job_id"], each["references"]) for each in told["users"]] == [
        (second.id, 1),
        (third.id, 1),
    ]
    assert [each["checkpoint_id"] for each in told["users"][1]["checkpoints"]] == [9]
    assert told["users"][0]["sample"] == [str(file)]
    assert told["users"][0]["bytes"] == file.stat().st_size


@pytest.mark.parametrize(
    ("options", "statement"),
    [
        (OVER, f"none among the checkpoints that were read; {OPEN}"),
        ((*OVER, "--closed-world"), NONE),
        ((), f"{PENDING}; {OPEN}"),
        (("--closed-world",), PENDING),
    ],
)
def test_it_is_unneeded_only_in_a_closed_world(bed, options, statement) -> None:
    """R3a: a job with an unlisted base is invisible; one that is not over may need it yet."""
    job, savepoint = bed.job(), a_savepoint(bed)
    job.checkpoint(5, job.shared())
    with from_nothing(job, options, completed=5) as rest:
        code, told = users(savepoint, bed.root, *options, *rest)
    assert (code, told["has_users"], told["statement"]) == (0, False, statement)
    assert told["confirmed"] is ("--ended-job" in options)


def test_a_job_of_which_nothing_shows_with_what_it_began_leaves_it_unknown(bed) -> None:
    """No cluster shows it, and no one declares it over: as in ``self-sustained`` and ``expire``."""
    job, savepoint = bed.job(), a_savepoint(bed)
    job.checkpoint(5, job.shared())
    code, told = users(savepoint, bed.root, "--closed-world")
    assert (code, told["has_users"]) == (4, None)
    assert [each["uri"] for each in told["unknown"]] == [f"job {job.id}"]
    over = ("--ended-job", job.id)
    assert users(savepoint, bed.root, "--closed-world", *over)[1]["statement"] == NONE


@pytest.mark.parametrize("way", ["not shown", "HA metadata", "over", "another state"])
def test_a_job_that_an_earlier_cycle_saw_restored_from_it_may_begin_with_it_again(
    bed, ha, way
) -> None:
    """R43: no cluster shows it now; the state location knows it, as for all other commands."""
    with restored(bed, completed=5) as (job, savepoint, rest):
        job.checkpoint(5, job.shared())
        run("plan", bed.root, "--state", bed.state, *rest)
    state = bed.folder / "other" if way == "another state" else bed.state
    options = (savepoint, bed.root, "--closed-world", "--state", state)
    job.checkpoint(6, job.shared())
    own = (5, job.folder / "chk-5")
    with RestServer(flink(job, completed=6, restored=own)) as server:
        more = {"HA metadata": ("--flink-rest", server.url, *ha(job, 6))}
        more["over"] = ("--ended-job", job.id)
        code, told = users(*options, *more.get(way, ()))
    if way == "not shown":
        assert (code, [each["job_id"] for each in told["users"]]) == (4, [job.id])
        assert "alive" in told["unknown"][0]["reason"], "and its cluster is not asked any more"
    elif way == "another state":
        assert (code, told["has_users"], told["unknown"][0]["uri"]) == (4, None, f"job {job.id}")
    else:
        assert (code, told["has_users"], told["confirmed"]) == (0, False, way == "over")


def test_what_undelete_put_back_is_as_old_as_it_was(tmp_path) -> None:
    """What a job may have begun with: ``self-sustained`` and ``expire`` date it so, too."""
    with ExitStack() as stack:
        chain = Redeploys.made(tmp_path, stack, count=3)
        assert run("undelete", chain.expired("--ended-for", "0", "--keep-last", "1")).code == 0
        hidden, snapshot = chain.bed.job(UNIQUE), chain.folder_of("0/5")
        for number, age in ((50, 50 * DAY), (51, DAY / 48)):
            hidden.checkpoint(number, hidden.shared(age=age), age=age)
        told = users(snapshot, *chain.options)[1]
        job = ("--job", chain.running.id, "--snapshot", snapshot, "--output", "json")
        told |= run("self-sustained", *chain.options, *job).json
    assert [each["uri"] for each in told["unknown"]] == [f"job {hidden.id}"]
    assert (told["has_users"], told["safe_to_delete"]) == (None, False)


def test_what_undelete_put_back_is_no_newer_checkpoint_of_its_job(tmp_path) -> None:
    """A higher number that an earlier run left: a later one goes back to its own newest one."""
    with ExitStack() as stack:
        chain = Redeploys.made(tmp_path, stack, count=3)
        assert run("undelete", chain.expired("--ended-for", "0", "--keep-last", "1")).code == 0
        maker = chain.jobs[0]
        newest = maker.checkpoint(3, maker.shared(age=DAY), age=DAY).parent
        shown = [*chain.options]
        del shown[shown.index(maker.id) - 1 : shown.index(maker.id) + 1]
        told = users(newest, *shown)[1]
    assert [each["uri"] for each in told["unknown"]] == [f"job {maker.id}"]


@pytest.mark.parametrize("completed", [None, 5])
def test_a_job_that_is_shown_to_begin_with_it_again_is_known_in_each_later_cycle(
    bed, completed
) -> None:
    """That an earlier cycle saw it restored from it, too, makes it no unknown user as well."""
    bed.job(9).checkpoint(1)
    with restored(bed, completed=completed) as (job, savepoint, rest):
        if completed:
            job.checkpoint(completed, job.shared())
        options = ("--state", bed.state, "--ended-job", bed.job(9).id, *rest)
        run("plan", bed.root, *options)
        code, told = users(savepoint, bed.root, *options)
    assert [each["job_id"] for each in told["users"]] == [job.id]
    assert (code, told["unknown"], told["is_complete"]) == (0, [], True)


@pytest.mark.parametrize("trace", ["none", "taskowned", "memory"])
def test_all_covers_no_job_of_which_nothing_shows_that_flink_wrote_its_directory(
    bed, trace
) -> None:
    """Its first checkpoint may be pending, and it may begin with the snapshot: as in a plan."""
    savepoint, job = a_savepoint(bed), bed.job(7)
    bed.job(9).checkpoint(1)
    job.shared()
    if trace == "taskowned":
        write(job.folder / "taskowned" / UUID_1, b"state", 30 * DAY)
    if trace == "memory":
        checkpoint = job.checkpoint(1)
        bed.plan(*OVER)
        rmtree(checkpoint.parent)
        word = ("checkpoint_not_found", checkpoint.parent, "--state", bed.state)
        bed.plan(*OVER)
        run("world", "acknowledge", bed.root, *word)
        run("world", "acknowledge", bed.root, "job_directory_emptied", job.folder, *word[2:])
        bed.plan(*OVER)
    said = users(savepoint, bed.root, "--state", bed.state, "--closed-world", *OVER)[1]
    assert said["confirmed"] is (trace != "none")


@pytest.mark.parametrize("was_seen", [True, False])
def test_a_later_run_that_another_cluster_showed_outweighs_an_end_of_its_id(bed, was_seen) -> None:
    """That cluster is not asked now: a plan says so too (R34)."""
    job = bed.job(UNIQUE)
    job.checkpoint(7, job.shared())
    with (
        RestServer(flink(job, completed=7, status="CANCELED")) as first,
        RestServer(flink(job, completed=7, started_ms=9_000)) as second,
    ):
        one = ("--closed-world", "--flink-rest", first.url)
        bed.plan(*one, *(("--flink-rest", second.url) if was_seen else ()))
        code, told = users(job.folder / "chk-7", bed.root, "--state", bed.state, *one)
    expected = (4, None, False) if was_seen else (0, False, True)
    assert (code, told["has_users"], told["confirmed"]) == expected


@pytest.mark.parametrize("ended", [25 * DAY, 0 * DAY])
def test_an_end_before_the_life_that_an_earlier_cycle_saw_is_of_another_run(bed, ended) -> None:
    """Another cluster has that one's address now; a run that began with it stored nothing yet."""
    job, savepoint, other = bed.job(UNIQUE), a_savepoint(bed), bed.job(9)
    job.checkpoint(3, job.shared(), age=30 * DAY)
    other.checkpoint(1)
    place = ("--state", bed.state, "--closed-world", "--ended-job", other.id)
    began, at = (int((now() - age).timestamp() * 1000) for age in (DAY / 24, ended))
    source = {"restored": (4, savepoint), "restores_savepoint": True}
    with RestServer(flink(job, completed=None, started_ms=began, **source)) as server:
        options = (*place, "--flink-rest", server.url)
        run("plan", bed.root, *options)
        server.routes.update(flink(job, completed=3, status="CANCELED", ended_ms=at))
        told = [users(savepoint, bed.root, *options)[1]]
        run("plan", bed.root, *options)
        told.append(users(savepoint, bed.root, *options)[1])
    assert [(each["has_users"], each["confirmed"]) for each in told] == [
        (bool(ended), not ended)
    ] * 2


@pytest.mark.parametrize("below", ["other", "checkpoints"])
@pytest.mark.parametrize("is_over", [False, True])
def test_users_are_unknown_while_a_directory_lacks_what_a_plan_saw_there(
    bed, below, is_over
) -> None:
    """Its volume is not mounted now; an older checkpoint may be left of another one."""
    savepoint, other = a_savepoint(bed), bed.job(7, below=bed.folder / below)
    bed.job(9).checkpoint(1)
    newest = other.checkpoint(9, savepoint / UUID_1)
    place = ("--state", bed.state, "--closed-world")
    over = ("--ended-job", bed.job(9).id, *(("--ended-job", other.id) if is_over else ()))
    planned = (*over, *(("--extra-root", bed.folder / below) if below == "other" else ()))
    bed.plan(*planned)
    rmtree(newest.parent)
    for _ in range(2):
        code, told = users(savepoint, bed.root, *place, *over)
        assert (code, told["has_users"], told["confirmed"]) == (4, None, False)
        assert any(str(other.folder) in each["reason"] for each in told["unknown"])
        other.checkpoint(8)
    word = ("checkpoint_not_found", newest.parent, "--state", bed.state)
    bed.plan(*planned)
    run("world", "acknowledge", bed.root, *word)
    bed.plan(*planned)
    assert users(savepoint, bed.root, *place, *over)[1]["confirmed"] is is_over


@pytest.mark.parametrize("was_seen", [True, False])
def test_a_job_that_only_an_earlier_plan_saw_alive_is_not_over(bed, was_seen) -> None:
    """Its cluster is not asked now, and no checkpoint of it was ever found."""
    savepoint, job = a_savepoint(bed), bed.job(9)
    job.checkpoint(1)
    place = ("--state", bed.state, "--closed-world", "--ended-job", job.id)
    with RestServer(flink(bed.job(UNIQUE), completed=None)) as server:
        bed.plan("--ended-job", job.id, *(("--flink-rest", server.url) if was_seen else ()))
    assert users(savepoint, bed.root, *place)[1]["confirmed"] is not was_seen
    ended = ("--ended-job", bed.job(UNIQUE).id)
    assert users(savepoint, bed.root, *place, *ended)[1]["confirmed"] is True


def test_users_are_unknown_where_the_memory_is_damaged(bed) -> None:
    """What earlier cycles saw restored from it, nothing shows then."""
    bed.job(9).checkpoint(1)
    run("plan", bed.root, "--state", bed.state)
    for path in bed.state.glob("**/world/*"):
        path.write_bytes(b"torn")
    code, told = users(a_savepoint(bed), bed.root, "--state", bed.state, *OVER)
    assert (code, told["has_users"]) == (4, None)
    assert "memory" in told["statement"]


def test_a_job_without_a_checkpoint_is_one_that_is_not_over(bed) -> None:
    """Only its directory shows it."""
    bed.job(1).checkpoint(5)
    bed.job(2).shared()
    code, told = users(a_savepoint(bed), bed.root, "--closed-world", "--ended-job", f"{1:032x}")
    assert (code, told["has_users"]) == (4, None)
    assert {each["uri"] for each in told["unknown"]} == {f"job {2:032x}"}


def test_the_job_that_made_a_checkpoint_goes_back_to_it(bed) -> None:
    """Its newest one it needs; of an older one its siblings say by name whether."""
    job = bed.job()
    older = job.checkpoint(4, job.shared())
    newest = job.checkpoint(5, job.shared(UUID_2))
    with RestServer(flink(job, completed=5)) as server:
        rest = ("--closed-world", "--flink-rest", server.url)
        code, told = users(newest, *rest)
        assert (code, [each["job_id"] for each in told["users"]]) == (0, [job.id])
        assert "not over" in told["users"][0]["why"]
        code, told = users(older, *rest)
        assert (code, told["has_users"], told["confirmed"]) == (0, False, False)
    code, told = users(newest, "--closed-world")
    assert (code, told["has_users"], told["users"]) == (4, None, [])
    assert "newest checkpoint" in told["unknown"][0]["reason"]
    assert users(newest, "--closed-world", *OVER)[1]["statement"] == NONE


@pytest.mark.parametrize("is_fixed", [False, True])
def test_an_end_of_an_id_that_comes_back_is_no_end_of_its_newest_run(bed, is_fixed) -> None:
    """R34: another cluster, which is not asked, may have started it again from the savepoint."""
    job_id = "0" * 32 if is_fixed else "deadbeef" * 4
    savepoint, job = a_savepoint(bed), Job(job_id, bed.root / job_id)
    newest = job.checkpoint(5, job.shared(UUID_2))
    with RestServer(flink(job, completed=5, status="CANCELED")) as server:
        rest = ("--flink-rest", server.url)
        told = asked(bed, job, *rest, "--snapshot", savepoint)[1]
        assert told["safe_to_delete"] is not is_fixed
        assert ("the job id is a fixed one" in told["why"]) is is_fixed
        told = asked(bed, job, *rest, *OVER, "--snapshot", savepoint)[1]
        assert (told["confirmed"], told["safe_to_delete"]) == (True, True)
        assert users(newest, "--closed-world", *rest, *OVER)[1]["statement"] == NONE
        told = users(newest, "--closed-world", *rest)[1]
        assert told["statement"] == NONE or is_fixed
        assert told["confirmed"] is not is_fixed
        run("plan", bed.root, *rest, "--state", bed.state, "--out", bed.folder / "plan")
    (part,) = json.loads((bed.folder / "plan" / "plan.json").read_text())["jobs"]
    assert (part["state"], part["looks"][0]["is_over"]) == ("ended", not is_fixed)


def test_a_snapshot_that_is_asked_for_by_a_link_is_no_user_of_itself(bed) -> None:
    """Nor does its maker go back to it for want of its newer ones."""
    job, link = bed.job(), bed.folder / "link"
    link.symlink_to(bed.root)
    asked_for = link / job.id / job.checkpoint(5, job.shared()).parent.name
    assert users(asked_for, bed.root, "--closed-world", *OVER)[1]["statement"] == NONE
    job.checkpoint(6)
    with RestServer(flink(job, completed=6)) as server:
        assert users(asked_for, bed.root, "--flink-rest", server.url)[1]["has_users"] is False


def test_a_checkpoint_beside_one_that_lies_in_no_storage_root_needs_its_files(bed) -> None:
    """Its job is over, and what it retained is to be restored from."""
    bed.job(9).checkpoint(1)
    job = bed.job(UNIQUE, below=bed.folder / "away")
    file = write(job.folder / "chk-5" / UUID_1, b"state", 30 * DAY)
    snapshot = job.checkpoint(5, file, age=30 * DAY).parent
    job.checkpoint(6, file, age=30 * DAY)
    over = ("--ended-job", bed.job(9).id, "--ended-job", job.id)
    told = users(snapshot, bed.root, "--closed-world", "--search", "places", *over)[1]
    assert [each["checkpoints"][0]["checkpoint_id"] for each in told["users"]] == [6]


def test_what_flink_calls_the_newest_is_the_newest(bed) -> None:
    """A newer folder that another life of the job left proves nothing."""
    job = bed.job()
    asked_for = job.checkpoint(5, job.shared())
    job.checkpoint(9, job.shared(UUID_2))
    with RestServer(flink(job, completed=5)) as server:
        told = users(asked_for, "--flink-rest", server.url)[1]
    assert [each["job_id"] for each in told["users"]] == [job.id]


@pytest.mark.parametrize(
    ("days", "said"), [(20, "Flink completed checkpoint 12"), (5, "another one writes here too")]
)
def test_a_higher_number_from_an_earlier_life_is_not_what_flink_completed(bed, days, said) -> None:
    """Its id comes back. What it completed is elsewhere, or was subsumed by what is read."""
    other, savepoint = bed.job(3), a_savepoint(bed)
    other.checkpoint(4711, other.shared(), age=days * DAY)
    started_ms = int((now() - 10 * DAY).timestamp() * 1000)
    with RestServer(flink(other, completed=12, started_ms=started_ms)) as rest:
        code, told = users(savepoint, bed.root, "--closed-world", "--flink-rest", rest.url)
    assert (code, told["has_users"]) == (4, None)
    assert any(said in each["reason"] for each in told["unknown"])


def test_a_checkpoint_that_flink_reports_elsewhere_is_read(bed) -> None:
    """R4: CLAIM, and a checkpoint outside all storage roots that names the snapshot's files."""
    bed.job(9).checkpoint(1)
    away = bed.job(2, below=bed.folder / "away")
    with restored(bed, completed=5, job=away) as (_, savepoint, shown):
        rest = (*shown, "--ended-job", bed.job(9).id)
        code, told = users(savepoint, bed.root, "--closed-world", *rest)
        assert (code, told["has_users"]) == (4, True)
        assert f"job {away.id} completed {away.folder}/chk-5" in told["unknown"][0]["reason"]
        away.checkpoint(5, savepoint / UUID_1)
        told = users(savepoint, bed.root, "--closed-world", *rest)[1]
        assert [each["job_id"] for each in told["users"]] == [away.id]
        write(away.folder / "chk-5" / "_metadata", b"torn", DAY)
        code, told = users(savepoint, bed.root, *rest)
        torn = str(away.folder / "chk-5" / "_metadata")
        assert (code, told["unknown"][0]["uri"]) == (4, torn)


def test_a_mount_point_without_its_mount_leaves_the_users_unknown(bed) -> None:
    """A cluster keeps checkpoints there, and one of them may name the snapshot's files."""
    job, place = bed.job(), write(bed.folder / "team-b" / "ck" / "NOT-MOUNTED", b"", DAY).parent
    snapshot = job.checkpoint(5, job.shared()).parent
    option = {"key": "execution.checkpointing.dir", "value": f"file://{place}"}
    routes = flink(job, completed=5) | {"/jobs": as_json({"jobs": []})}
    with RestServer(routes | {"/jobmanager/config": as_json([option])}) as server:
        asked_for = (snapshot, bed.root, "--closed-world", *OVER, "--flink-rest", server.url)
        code, told = users(*asked_for)
        assert (code, told["has_users"], told["confirmed"]) == (4, None, False)
        assert [str(place) in each["reason"] for each in told["unknown"]] == [True]
        code, told = users(*asked_for, "--empty-root", place)
        assert (code, told["statement"]) == (0, NONE)


@pytest.mark.parametrize("path", [None, "savepoints/gone"])
def test_a_restore_from_what_was_not_read_leaves_it_unknown(bed, path) -> None:
    """The job rests on it alone, and it may have named the snapshot's files."""
    bed.job(9).checkpoint(1)
    with restored(bed, completed=None, path=path and bed.folder / path) as (job, snapshot, rest):
        code, told = users(snapshot, bed.root, "--closed-world", *rest)
    assert (code, told["has_users"]) == (4, None)
    assert f"job {job.id}" in {each["uri"] for each in told["unknown"]}


def test_a_copy_under_the_same_name_is_no_use(bed) -> None:
    """Flink keeps the names of files that it copies; one that is gone may be the snapshot's."""
    job = bed.job()
    copy = job.shared(UUID_1)
    job.checkpoint(5, copy)
    savepoint = bed.folder / "savepoints" / "savepoint-1"
    write(savepoint / "_metadata", metadata(4, [savepoint / UUID_1]), DAY)
    assert users(savepoint, bed.root, *OVER)[1]["has_users"] is False
    copy.unlink()
    assert users(savepoint, bed.root, *OVER)[1]["has_users"] is True


@pytest.mark.parametrize("folder", ["shared", "chk-5"])
def test_a_job_uses_a_file_of_its_own_older_checkpoint(bed, folder) -> None:
    """By the same path, or by any path below the snapshot, though the file is at home."""
    job = bed.job()
    file = job.folder / folder / UUID_1
    write(file, b"state", DAY)
    asked_for = job.checkpoint(5, *([file] if folder == "shared" else []))
    job.checkpoint(6, file)
    told = users(asked_for, *OVER)[1]
    assert [(each["job_id"], each["references"]) for each in told["users"]] == [(job.id, 1)]


def test_a_running_job_without_a_checkpoint_needs_what_it_was_restored_from(bed, ha) -> None:
    """Only Flink knows of it; once HA metadata names one of its own, it goes on from that."""
    bed.job().checkpoint(5)
    with restored(bed, completed=None) as (job, savepoint, rest):
        told = users(savepoint, bed.root, *rest)[1]
    assert [(each["job_id"], each["references"]) for each in told["users"]] == [(job.id, 0)]
    held = (*ha(job, 5), "--ended-job", bed.job().id)
    with restored(bed, completed=5) as (job, savepoint, rest):
        assert users(savepoint, bed.root, *rest, *held)[1]["has_users"] is True, "chk-5 is unread"
        job.checkpoint(5, job.shared())
        assert users(savepoint, bed.root, *rest, *held)[1]["has_users"] is False
        assert users(savepoint, bed.root, *rest)[1]["has_users"] is True


def test_a_root_that_cannot_be_read_leaves_it_unknown(bed) -> None:
    """It may name any file; the users that were found are still reported."""
    (first, second, _), _ = claimed(bed)
    write(bed.job(4).folder / "chk-1" / "_metadata", b"torn", DAY)
    code, told = users(first.folder / "chk-5", "--closed-world")
    assert (code, told["is_complete"], told["has_users"]) == (4, False, True)
    assert second.id in {each["job_id"] for each in told["users"]}
    assert "cannot be known" in told["statement"]


@pytest.mark.parametrize("place", ["in no directory", "of a job that is over"])
@pytest.mark.parametrize("names_it", [True, False])
def test_a_broken_checkpoint_that_is_acknowledged_still_names_its_files(
    bed, place, names_it
) -> None:
    """R6: every UUID in its bytes stays in use, whatever else of it cannot be read."""
    savepoint, over, job = a_savepoint(bed), bed.job(UNIQUE - 1), bed.job(UNIQUE)
    folder = over.folder / "chk-9" if place.startswith("of") else bed.folder / "copies" / "broken"
    torn = metadata(9, [savepoint / (UUID_1 if names_it else UUID_2)])[:-9]
    broken = write(folder / "_metadata", torn, 30 * DAY)
    known = f"{folder}/_metadata={sha256(torn).hexdigest()}"
    job.checkpoint(5, job.shared())
    said = ("--unsafe-acknowledge-root", known, *OVER)
    told = asked(bed, job, "--snapshot", savepoint, *said)[1]
    assert (told["safe_to_delete"], str(broken) in told["why"]) == (not names_it, names_it)
    code, told = users(savepoint, bed.root, "--closed-world", *said)
    assert (code, told["has_users"]) == ((4, None) if names_it else (0, False))


def test_a_snapshot_whose_metadata_is_gone_leaves_it_unknown(bed) -> None:
    """What is left in its folder is still looked for."""
    job = bed.job()
    left = bed.folder / "savepoints" / "savepoint-1" / UUID_1
    write(left, b"state", DAY)
    job.checkpoint(5, job.folder / "chk-5" / UUID_1)  # FLINK-39964
    code, told = users(left.parent, bed.root)
    assert (code, told["has_users"], told["checkpoint_id"]) == (4, True, None)
    assert told["users"][0]["bytes"] == 5


def test_a_checkpoint_whose_metadata_is_gone_may_be_its_makers_way_back(bed) -> None:
    """Its folder gives the owner."""
    job = bed.job()
    left = job.folder / "chk-5" / UUID_1
    write(left, b"state", DAY)
    told = users(left.parent, bed.root)[1]
    assert {each["uri"] for each in told["unknown"]} == {str(left.parent), f"job {job.id}"}


@pytest.mark.parametrize(
    ("made", "code", "said"),
    [(None, 2, "holds no file"), (b"torn", 4, "cannot be known"), ("no root", 2, "name the")],
)
def test_a_snapshot_that_is_none_is_said_in_one_line(bed, made, code, said) -> None:
    """Absent, unreadable, or in no job's directory and no storage root given."""
    bed.job().checkpoint(5)
    savepoint = bed.folder / "savepoints" / "savepoint-1"
    savepoint.mkdir(parents=True)
    if isinstance(made, bytes):
        write(savepoint / "_metadata", made, DAY)
    ran = run("users-of", savepoint, *(() if made == "no root" else (bed.root,)))
    assert ran.code == code
    assert said in ran.complaints[-1]


def test_a_job_that_ha_metadata_holds_has_not_ended_whatever_is_declared(bed, ha) -> None:
    """The evidence of a plan asks HA metadata, and so must this answer: one rule for both."""
    job = bed.job()
    older = job.checkpoint(7, job.shared(UUID_1)).parent
    job.checkpoint(8, job.shared(UUID_2))
    said = (older, "--closed-world", *OVER)
    assert users(*said)[1]["statement"] == NONE
    told = users(*said, *ha(job, 7, 8))[1]
    assert (told["confirmed"], told["statement"]) == (False, PENDING)


def test_a_job_that_is_declared_ended_and_still_writes_has_not_ended(bed) -> None:
    """As in a plan: the statement is not believed while checkpoints come."""
    job = bed.job()
    older = job.checkpoint(7, job.shared(UUID_1)).parent
    job.checkpoint(8, job.shared(UUID_2), age=DAY)
    assert users(older, "--closed-world", *OVER)[1]["confirmed"] is False


def test_users_are_shown_to_people(bed) -> None:
    """A line each."""
    (first, second, _), _ = claimed(bed)
    shown = run("users-of", first.folder / "chk-5", "--output", "table").out
    assert second.id in shown
    assert "2 need it" in " ".join(shown.split())  # wherever a long path broke the line


def test_one_user_of_files_that_are_not_there_has_no_size(bed) -> None:
    """It was moved: nothing says how large its files are, and 0 bytes would be a guess."""
    job = bed.job()
    gone = job.folder / "shared" / UUID_1
    folder = job.checkpoint(5, gone).parent
    gone.unlink(missing_ok=True)
    other = bed.job()
    other.checkpoint(9, gone)
    gone.unlink(missing_ok=True)
    told = users(folder, bed.root)[1]
    assert [each["bytes"] for each in told["users"]] == [None]
    assert told["statement"].startswith("1 needs it")
    assert told["users"][0]["why"] == "1 checkpoint names its files"


@pytest.mark.parametrize("pin", PINS)
def test_a_resource_that_names_it_needs_it(bed, kubernetes, pin) -> None:
    """R43, whatever is said of its job."""
    bed.job().checkpoint(5)
    savepoint, options = pinned(bed, kubernetes, pin)
    told = users(savepoint, bed.root, "--closed-world", *options)[1]
    assert [(each["job_id"], each["references"]) for each in told["users"]] == [("", 0)]
    assert told["users"][0]["place"].endswith("orders")


def test_the_statement_of_a_closed_world_covers_what_is_searched(bed) -> None:
    """As in a plan: the storage of each root, whole; less what is stated to hold no checkpoint."""
    bed.job().checkpoint(5)
    savepoint, other = a_savepoint(bed), bed.job(7, below=bed.folder / "other")
    other.checkpoint(9, savepoint / UUID_1)
    said = (savepoint, bed.root, "--closed-world", *OVER)
    assert [each["job_id"] for each in users(*said)[1]["users"]] == [other.id]
    told = users(*said, "--search-except", other.folder.parent)[1]
    assert told["statement"] == NONE
    write(other.folder / "chk-10" / "_metadata", b"torn", DAY)
    code, told = users(*said)
    assert (code, told["is_complete"]) == (4, False)


def test_a_checkpoint_in_quarantine_may_come_back_and_need_it(tmp_path) -> None:
    """``undelete`` puts it back; which files it names, the state location alone knows."""
    with ExitStack() as stack:
        chain = Redeploys.made(tmp_path, stack, claims=True)
        snapshot = chain.folder_of("0/5")
        out = chain.expired("--ended-for", "0", "--keep-last", 1, "--pin", snapshot)
        assert "1/6" not in chain.names(), "it names a file of the snapshot"
        code, told = users(snapshot, "--closed-world", *OVER)
        assert (code, told["has_users"]) == (4, None)
        assert any("in quarantine" in each["reason"] for each in told["unknown"])
        run("undelete", out)
        told = users(snapshot, "--closed-world", *OVER)[1]
    assert [each["job_id"] for each in told["users"]] == [chain.jobs[1].id]


def test_a_checkpoint_in_quarantine_in_another_storage_root_may_come_back_and_need_it(
    tmp_path,
) -> None:
    """The state location of that storage root alone knows which files it names."""
    with ExitStack() as stack:
        chain, bed = Redeploys.made(tmp_path, stack, claims=True), Bed(tmp_path / "own")
        snapshot = chain.folder_of("0/5")
        pins = [option for n in ("0/5", "1/5") for option in ("--pin", chain.folder_of(n))]
        out = chain.expired("--ended-for", "0", "--keep-last", 1, *pins)
        over = ("--ended-job", chain.jobs[0].id)
        told = second_check(bed, bed.job(1), snapshot, *over)
        _, look = told["looks"]
        assert (told["safe_to_delete"], "in quarantine" in look["unsearched"]) == (False, True)
        run("undelete", out)
        told = second_check(bed, bed.job(2), snapshot, *over)
        assert (told["safe_to_delete"], str(chain.folder_of("1/6")) in told["why"]) == (False, True)


def test_a_job_that_is_declared_ended_and_writes_has_not_ended_without_a_checkpoint(bed) -> None:
    """It may begin with any snapshot: its first checkpoint is pending (R34)."""
    savepoint, other = a_savepoint(bed), bed.job(3)
    bed.job(9).checkpoint(1)
    other.shared(age=DAY / 24)
    write(other.folder / "taskowned" / UUID_1, b"state", 30 * DAY)
    said = (savepoint, bed.root, "--closed-world", *OVER)
    assert [each["uri"] for each in users(*said)[1]["unknown"]] == [f"job {other.id}"]
    other.shared(next(other.folder.glob("shared/*")).name)
    assert users(*said)[1]["statement"] == NONE
