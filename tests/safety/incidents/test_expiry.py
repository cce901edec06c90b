"""Losses by expiry: a checkpoint that was wanted, or files that another one needs (R41, R44)."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta

import pytest

from cli.helpers import DAY, UUID_1, UUID_2, Job, flink, metadata, run, write
from cli.redeploys import Redeploys
from cli.savepoints import SHORT, Savepoints, distinct
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.collect.quarantine.quarantine import Quarantine
from orphangc.core.decision.guards import GUARDS
from orphangc.core.model.codes import Guard
from orphangc.core.model.naming import TEMPORARY
from safety.incidents.essential import must_be_there
from support.rest_server import RestServer, configured, listing
from unit.flinkstate.metadata.properties_by_hand import NEVER_RETAINED, checkpoint_properties

POLICY = ("--ended-for", "0", "--keep-last", "2")
MARGINS = ("--grace-period", "24h", "--quiet-period", "24h", "--clock-skew", "1h")


@pytest.fixture
def chain(tmp_path) -> Iterator[Redeploys]:
    """Return a job that ended, and one that continued it and runs."""
    with ExitStack() as stack:
        yield Redeploys.made(tmp_path, stack, count=2)


def crash(*_: object) -> None:
    """Stand for a kill."""
    raise RuntimeError("crash")


@pytest.mark.answered_by(
    "references_in_quarantine + condition:checkpoint_not_found + condition:job_directory_emptied"
)
def test_r44_what_is_in_quarantine_can_be_put_back_whole(chain) -> None:
    """Files first would leave a root that names what is gone."""
    files = list((chain.jobs[0].folder / "shared").iterdir())
    out = chain.expired(*POLICY)
    chain.collected()
    must_be_there(*files)
    assert run("undelete", out).json["counts"] == {"restored": 1}
    must_be_there(chain.folder_of("0/5") / "_metadata")


@pytest.mark.answered_by("markers_of_expiries")
def test_r44_a_state_location_that_is_lost_in_a_quarantine_blocks(chain) -> None:
    """Nothing but the marker beside it shows that the checkpoint may still come back."""
    files = list((chain.jobs[0].folder / "shared").iterdir())
    chain.expired(*POLICY)
    shutil.rmtree(chain.bed.state)
    chain.collected()
    must_be_there(*files)


@pytest.mark.answered_by("markers_of_expiries")
def test_r44_an_expiry_with_another_state_location_leaves_the_markers_of_the_first(chain) -> None:
    """It takes none of them for what an interrupted run of its own left."""
    files = list((chain.jobs[0].folder / "shared").iterdir())
    out = chain.expired(*POLICY)
    chain.bed.state = chain.bed.folder / "another"
    own = chain.bed.folder / "own"
    chain.expire("--out", own, *POLICY)
    run("sweep", own, "--delete")
    chain.collected("--max-delete-share", "1")
    must_be_there(*files)
    assert run("undelete", out).json["counts"] == {"restored": 1}


@pytest.mark.answered_by("markers_of_savepoints")
def test_r44_a_savepoint_in_quarantine_is_none_that_was_never_completed(tmp_path) -> None:
    """A second collector begins meanwhile, with a storage root around both and its own state."""
    with ExitStack() as stack:
        own = Savepoints(Redeploys.made(tmp_path / "data", stack, count=2, ids=distinct))
        chain, around = own.chain, own.chain.bed.folder
        chain.bed.folder = tmp_path
        chain.bed.state = chain.bed.state.rename(tmp_path / "state")
        pins = [option for n in ("0/5", "0/6") for option in ("--pin", chain.folder_of(n))]
        out = own.expire(*pins)
        files = [file for folder in own.folders for file in folder.glob("0*")]
        chain.bed.root, chain.bed.state = around, tmp_path / "another"
        chain.collected("--extra-roots", own.root, "--max-delete-share", "1")
    assert own.complete == [False] * 3
    must_be_there(*files)
    assert run("undelete", out).json["counts"] == {"restored": 3}


@pytest.mark.answered_by("markers_of_expiries")
def test_r44_a_job_directory_as_storage_root_sees_the_markers_around_it(tmp_path) -> None:
    """A claimer's checkpoint, which the storage root around it expired, names a file here."""
    with ExitStack() as stack:
        chain = Redeploys.made(tmp_path, stack, count=3)
        file = chain.jobs[0].shared(UUID_1, age=95 * DAY)
        chain.jobs[1].checkpoint(14, file, age=91 * DAY, properties=checkpoint_properties())
        pins = [option for n in ("0/5", "0/6") for option in ("--pin", chain.folder_of(n))]
        chain.expired("--ended-for", "0", "--keep-last", "3", *pins)
        assert not (chain.jobs[1].folder / "chk-14" / "_metadata").exists()
        chain.bed.root, chain.bed.state = chain.jobs[0].folder, chain.bed.folder / "another"
        chain.collected("--max-delete-share", "1")
    must_be_there(file)


@pytest.mark.answered_by("markers_of_expiries")
def test_r44_an_expiry_removes_no_marker_that_another_one_left_since(chain, monkeypatch) -> None:
    """Its cycle saw in that folder what an interrupted undelete had left; and then the first
    state location is lost.
    """
    files, first = list((chain.jobs[0].folder / "shared").iterdir()), chain.bed.state
    write(chain.folder_of("0/5") / f"{TEMPORARY}{UUID_1}", b"", DAY)
    chain.bed.state = second = chain.bed.folder / "second"
    carry_out = Quarantine.carry_out

    def raced(self, checkpoints):
        with monkeypatch.context() as patch:
            patch.setattr(Quarantine, "carry_out", carry_out)
            chain.bed.state = first
            chain.expired(*POLICY)
        chain.bed.state = second
        return carry_out(self, checkpoints)

    with monkeypatch.context() as patch:
        patch.setattr(Quarantine, "carry_out", raced)
        chain.expired("--ended-for", "0", "--keep-last", "9")
    shutil.rmtree(first)
    chain.bed.state = chain.bed.folder / "third"
    chain.collected("--max-delete-share", "1")
    must_be_there(*files)


@pytest.mark.answered_by("markers_of_expiries")
def test_r44_an_expiry_of_the_same_folder_by_another_name_leaves_the_markers(chain) -> None:
    """It knows of the quarantine by the first name; then the state location is lost."""
    files, real = list((chain.jobs[0].folder / "shared").iterdir()), chain.bed.root
    chain.expired(*POLICY)
    chain.bed.root = link = chain.bed.folder / "link"
    link.symlink_to(real)
    chain.expired("--ended-for", "0", "--keep-last", "9", "--alias", f"{real}={link}")
    chain.bed.root, chain.bed.state = real, chain.bed.folder / "another"
    chain.collected("--max-delete-share", "1")
    must_be_there(*files)


@pytest.mark.answered_by("condition:checkpoint_not_found")
def test_r44_a_quarantine_that_is_over_explains_no_loss_of_what_was_stored_again(chain) -> None:
    """A person took it from a backup; what hides it later is no expiry."""
    files, root = list((chain.jobs[0].folder / "shared").iterdir()), chain.folder_of("0/5")
    backup = shutil.copy(root / "_metadata", chain.bed.folder / "backup")
    for options in ((), SHORT):
        chain.expired(*POLICY, *options)
    shutil.copy(backup, root / "_metadata")
    run("plan", *chain.options)
    (root / "_metadata").unlink()
    chain.collected("--clock-skew", "0", "--max-delete-share", "1")
    must_be_there(*files)


@pytest.mark.answered_by("condition:checkpoint_not_found")
def test_r44_an_expiry_that_was_killed_explains_no_later_loss(chain, monkeypatch) -> None:
    """The checkpoint stayed, and its owner keeps it since."""
    files, root = list((chain.jobs[0].folder / "shared").iterdir()), chain.folder_of("0/5")
    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "delete", crash)
        with pytest.raises(RuntimeError, match="crash"):
            chain.expired(*POLICY)
    chain.expired("--keep-last", "9")
    (root / "_metadata").rename(chain.bed.folder / "for a moment")
    out = chain.bed.folder / "absent"
    chain.expire("--out", out, *POLICY, *SHORT)
    run("sweep", out, "--delete")
    chain.collected("--max-delete-share", "1")
    must_be_there(*files)


@pytest.mark.answered_by("metadata_alone")
def test_r44_what_a_claimer_names_stays_when_its_maker_expires(tmp_path) -> None:
    """The newest checkpoint of the job after it, which stays, names a file in its directory."""
    with ExitStack() as stack:
        chain = Redeploys.made(tmp_path, stack, count=3, claims=True)
        (claimed,) = (chain.jobs[0].folder / "shared").glob("*5")
        chain.expired("--ended-for", "0", "--keep-last", "3")
    assert "0/5" not in chain.names()
    must_be_there(claimed)


@pytest.mark.answered_by(
    "quarantine_of_other_roots + markers_of_expiries + condition:checkpoint_not_found"
    " + condition:job_directory_emptied"
)
@pytest.mark.parametrize("is_inner", [False, True])
def test_r44_what_another_storage_root_has_in_quarantine_stays(chain, is_inner) -> None:
    """One storage root is a folder of the other: each collects files that the other one judges."""
    inner, outer = chain.jobs[0].folder, chain.bed.root
    files = list((inner / "shared").iterdir())
    over, policy = (), POLICY
    if is_inner:
        chain.server.routes.update(chain.cluster(status="CANCELED"))
        over = ("--ended-job", chain.running.id)
        dead = [option for job in chain.jobs for option in ("--dead", job.id)]
        chain.bed.root, policy = inner, ("--ended-for", "0", *dead)
    out = chain.expired(*policy, *over)
    chain.bed.root = outer if is_inner else inner
    assert not (inner / "chk-5" / "_metadata").exists()
    chain.collected("--max-delete-share", "1", *over)
    must_be_there(*files)
    assert set(run("undelete", out).json["counts"]) == {"restored"}


@pytest.mark.answered_by("origins_before_a_failover")
def test_r43_what_a_job_was_first_started_from_stays_after_a_failover(chain) -> None:
    """Without HA metadata a lost JobManager starts from it again; Flink shows the newest alone."""
    own = 16, chain.folder_of("1/6")
    chain.server.routes.update(flink(chain.running, completed=16, restored=own))
    chain.expired("--ended-for", "0", "--keep-last", "1")
    assert "0/5" not in chain.names(), "nothing was started from that one"
    must_be_there(chain.folder_of("0/6") / "_metadata")


@pytest.mark.answered_by("origins_in_configurations")
def test_r43_what_the_configuration_of_a_cluster_restores_from_stays(tmp_path) -> None:
    """Its job went on from another checkpoint; a new JobManager may not, and then cannot begin."""
    with ExitStack() as stack:
        own = Savepoints(Redeploys.made(tmp_path, stack, count=2, ids=distinct))
        named = {"execution.savepoint.path": f"file:{own.folders[0]}"}
        own.chain.server.routes.update(configured(named))
        own.expire()
        own.expire(*SHORT)
    assert own.files[1:] == [0, 0], "the others go"
    must_be_there(own.folders[0] / "_metadata")


@pytest.mark.answered_by("losses_that_concern_no_job_here")
def test_r42_a_savepoint_of_which_a_lost_checkpoint_names_a_file_stays(tmp_path) -> None:
    """An earlier cycle saw that checkpoint; its directory is gone from this machine."""
    with ExitStack() as stack:
        own = Savepoints(Redeploys.made(tmp_path, stack, count=2, ids=distinct))
        file = next(own.folders[0].glob("0*"))
        claimer = Job("beef" * 8, own.chain.bed.root / ("beef" * 8))
        claimer.checkpoint(99, file)
        own.expire(delete=False)
        shutil.rmtree(claimer.folder)
        own.expire()
        own.expire(*SHORT)
    must_be_there(file)


@pytest.mark.answered_by("namers_of_savepoints")
def test_r42_a_savepoint_that_a_checkpoint_was_restored_from_in_place_stays(tmp_path) -> None:
    """A checkpoint of the oldest job, which a pin keeps, names a file in its folder."""
    with ExitStack() as stack:
        own = Savepoints(Redeploys.made(tmp_path, stack, count=2, ids=distinct))
        file = next(own.folders[0].glob("*-*"))
        oldest = own.chain.jobs[0]
        oldest.checkpoint(10, file, age=95 * DAY)
        pin = ("--pin", oldest.folder / "chk-10")
        own.expire(*pin)
        own.expire(*pin, *SHORT)
    assert own.files[1:] == [0, 0], "the others go"
    must_be_there(file)


@pytest.mark.answered_by("self_contained_savepoints")
def test_r42_a_savepoint_is_not_taken_for_self_contained(tmp_path) -> None:
    """Its name says so; a checkpoint in its folder that names more is put back only with that."""
    with ExitStack() as stack:
        own = Savepoints(Redeploys.made(tmp_path, stack, count=2, ids=distinct))
        file = write(own.root / "elsewhere" / UUID_1, b"moved by hand", 103 * DAY)
        folder = own.folders[0]
        write(folder / "_metadata", metadata(2, [*folder.glob("*-*"), file]), 103 * DAY)
        own.expire()
        own.expire(*SHORT)
    must_be_there(folder / "_metadata")


@pytest.mark.answered_by(
    "makers_of_savepoints + other_makers_of_savepoints + state_that_is_taken_over"
)
@pytest.mark.parametrize("is_alike", [False, True])
def test_r42_a_savepoint_of_a_job_that_is_not_known_stays(tmp_path, is_alike) -> None:
    """Its id has the first six digits of a job that is; it may even run the same code."""
    with ExitStack() as stack:
        own = Savepoints(Redeploys.made(tmp_path, stack, count=2, ids=distinct))
        folder = own.folders[1]
        files = list(folder.glob("*-*"))
        data = metadata(5 if is_alike else 3, files)
        other = data if is_alike else data.replace(bytes(range(16)), bytes(range(16, 32)))
        write(folder / "_metadata", other, 102 * DAY)
        own.expire()
        own.expire(*SHORT)
    must_be_there(folder / "_metadata", *files)
    assert own.files == [0, 2, 0], "the others go"


@pytest.mark.answered_by("places_of_other_roots")
def test_r42_a_savepoint_in_another_storage_root_stays(tmp_path) -> None:
    """Runs of that one do not know the quarantine, and take its files for those of none (R33)."""
    with ExitStack() as stack:
        chain = Redeploys.made(tmp_path, stack, count=2, ids=distinct)
        other = tmp_path / "other"
        job = Job("e" * 32, other / ("e" * 32))

        job.checkpoint(1, job.shared(UUID_1, age=200 * DAY), age=200 * DAY)
        assert run("plan", other, "--state", chain.bed.state).code == 0
        own = Savepoints(chain)
        own.root = own.root.rename(other / "savepoints")
        own.folders = [own.root / each.name for each in own.folders]
        for number, folder in enumerate(own.folders):
            files = list(folder.glob("*-*"))
            write(folder / "_metadata", metadata(2 + number, files), (103 - number) * DAY)
        own.expire("--ended-job", job.id)
    must_be_there(*(folder / "_metadata" for folder in own.folders))


@pytest.mark.answered_by("rules_of_a_lineage")
def test_r41_the_newest_of_a_directory_may_not_be_restorable(chain) -> None:
    """No running job continued it, and its newest checkpoint lacks a file."""
    (lost,) = (chain.jobs[0].folder / "shared").glob("*6")
    lost.unlink()
    chain.server.routes.update(chain.cluster(status="CANCELED"))
    chain.expired("--ended-for", "0", "--ended-job", chain.running.id)
    must_be_there(chain.folder_of("0/5") / "_metadata")


@pytest.mark.answered_by("what_fails_with_its_job")
def test_r41_what_flink_deletes_when_a_job_fails_stands_for_nothing(tmp_path) -> None:
    """By default it retains no checkpoint of a job that fails; an older one is the last then."""
    with ExitStack() as stack:
        chain = Redeploys.made(tmp_path, stack, count=1)
        last = chain.jobs[0].shared(f"{0:08x}-0000-4000-8000-{7:012x}", age=timedelta(hours=90))
        chain.jobs[0].checkpoint(7, last, age=timedelta(hours=90))
        late = Job("abcd" * 8, chain.bed.root / ("abcd" * 8))
        age = timedelta(hours=80)
        file = late.shared(age=age)
        late.checkpoint(16, file, age=age, properties=checkpoint_properties(NEVER_RETAINED))
        chain.jobs.append(late)
        origin = (7, chain.folder_of("0/7"))
        chain.server.routes.update(flink(late, completed=16, restored=origin))
        chain.expired("--ended-for", "0", "--keep-last", "2", *MARGINS)
    assert not chain.folder_of("0/5").joinpath("_metadata").exists()
    must_be_there(chain.folder_of("0/6") / "_metadata")


@pytest.mark.answered_by("edges_of_lineages")
def test_r41_a_lineage_that_is_declared_dead_and_goes_on_keeps_all(chain) -> None:
    """The owner names the oldest job; a job that continued it still runs."""
    chain.expired("--ended-for", "0", "--dead", chain.jobs[0].id)
    must_be_there(chain.folder_of("0/5") / "_metadata")


@pytest.mark.answered_by("points_of_restores")
def test_r41_a_branch_did_not_continue_what_was_stored_after_it_began(chain) -> None:
    """A test job started from the older job, which went on after that, and then ended."""
    last = f"{0:08x}-0000-4000-8000-{7:012x}"
    age = timedelta(hours=90)
    chain.jobs[0].checkpoint(7, chain.jobs[0].shared(last, age=age), age=age)
    newer = f"{1:08x}-0000-4000-8000-{17:012x}"
    chain.running.checkpoint(
        17, chain.running.shared(newer, age=DAY), age=DAY, properties=checkpoint_properties()
    )
    origin = (6, chain.folder_of("0/6"))
    chain.server.routes.update(flink(chain.running, completed=17, restored=origin))
    chain.expired("--ended-for", "0", "--keep-last", "1", *MARGINS)
    assert "0/5" not in chain.names(), "the branch began from a later one"
    must_be_there(chain.folder_of("0/7") / "_metadata")


@pytest.mark.answered_by("ends_that_are_contradicted", not_for=["control"])
@pytest.mark.parametrize("says", [None, "its exporter goes on"], ids=["control", "contradicted"])
def test_r43_what_a_job_began_with_stays_while_anything_says_that_it_lives(
    chain, monkeypatch, says
) -> None:
    """It is declared ended, its cluster has forgotten it, and a guard found that it goes on."""
    clone = Job("7" * 32, chain.bed.root / ("7" * 32))
    clone.checkpoint(30, clone.shared(), age=20 * DAY)
    began = flink(clone, completed=30, restored=(5, chain.folder_of("0/5")))
    with RestServer(began) as server:
        both = ("--flink-rest", server.url)
        assert run("plan", *chain.options, *both).code == 0
        server.routes.update(listing())
        monkeypatch.setitem(
            GUARDS, Guard.REGISTRY, lambda job, _: says if job.job_id == clone.id else None
        )
        chain.expired(*POLICY, *both, "--ended-job", clone.id)
    origin = chain.folder_of("0/5") / "_metadata"
    assert origin.exists() is (says is not None)


@pytest.mark.answered_by("quarantine_of_other_roots + condition:checkpoint_not_found")
def test_r44_what_the_storage_root_around_has_of_a_claimer_in_quarantine_stays(tmp_path) -> None:
    """It was in no folder of the inner one; and it is known there, so that it blocks nothing."""
    with ExitStack() as stack:
        chain = Redeploys.made(tmp_path, stack, count=3)
        file, orphan = (chain.jobs[0].shared(each, age=95 * DAY) for each in (UUID_1, UUID_2))
        chain.jobs[1].checkpoint(14, file, age=91 * DAY, properties=checkpoint_properties())
        pins = [option for n in ("0/5", "0/6") for option in ("--pin", chain.folder_of(n))]
        out = chain.expired("--ended-for", "0", "--keep-last", "3", *pins)
        assert not (chain.jobs[1].folder / "chk-14" / "_metadata").exists()
        chain.bed.root = chain.jobs[0].folder
        chain.collected("--max-delete-share", "1")
    must_be_there(file)
    assert not orphan.exists()
    assert set(run("undelete", out).json["counts"]) == {"restored"}
