"""``expire``, ``sweep`` and ``undelete``: ``_metadata`` first and alone, files last (R44)."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import yaml

from cli.helpers import (
    AT_ONCE,
    DAY,
    STARTING,
    Job,
    Planned,
    Ran,
    contents,
    flink,
    millis_ago,
    now,
    outcomes,
    run,
    write,
)
from cli.redeploys import Redeploys
from cli.stories_on_s3 import JOB_ID, NO_MARGINS, S3Story
from flinkstate.places.locations import canonical
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.adapters.files.state_files import LocalStateFiles, cannot_lock
from orphangc.adapters.open import open_state_files
from orphangc.app.render.advice import LIFT_HALT, condition_advice
from orphangc.app.runner import lineages
from orphangc.app.runner.run_root import _ScheduledRun
from orphangc.app.runner.sweep_plan import lock_folder
from orphangc.app.wiring.clock import this_process
from orphangc.collect.listing.local_engine import LocalEngine
from orphangc.collect.quarantine import expired_records, quarantine
from orphangc.collect.quarantine.checkpoint_folders import CheckpointFolders
from orphangc.collect.quarantine.expired_records import Leftovers
from orphangc.collect.quarantine.quarantine import ExpiryEvidence, Quarantine
from orphangc.collect.runs import planned_run
from orphangc.collect.state.lock import acquire
from orphangc.collect.state.store import RootState
from orphangc.collect.world.memory_files import read_memory
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint
from orphangc.core.model.naming import EXPIRY_MARKER, TEMPORARY
from orphangc.errors import StorageUnreachableError
from support import speed
from support.rest_server import listing
from unit.core.lineage.lineage_builders import NOW

ALL = {f"{number}/{checkpoint}" for number in range(3) for checkpoint in (5, 6)}
SHORT = ("--quarantine-period", "0", "--allow-short-margins")


@pytest.fixture
def chain(tmp_path) -> Iterator[Redeploys]:
    with ExitStack() as stack:
        yield Redeploys.made(tmp_path, stack, count=3)


GO = {"0/5", "0/6", "1/5"}


def expire(chain: Redeploys, *options: object, delete: bool = True) -> Path:
    """Expire by a policy that lets three checkpoints go."""
    return chain.expired("--ended-for", "0", "--keep-last", "3", *options, delete=delete)


def test_metadata_goes_alone_and_what_it_names_stays(chain) -> None:
    files = chain.files()
    out = expire(chain)
    assert chain.names() == {"1/6", "2/5", "2/6"}
    assert outcomes(Planned(chain.expire(), out)) == dict.fromkeys(
        [f"{chain.folder_of(name).relative_to(chain.bed.root)}/_metadata" for name in GO], "done"
    )
    chain.collected()
    assert chain.files() == files, "they can be put back, so what they name is in use"


def test_a_folder_is_there_while_its_metadata_may_come_back(chain) -> None:
    """R53: it holds nothing else, and goes once the quarantine is over."""
    expire(chain)
    chain.collected()
    assert all(chain.folder_of(name).is_dir() for name in GO)
    expire(chain, *SHORT)
    chain.collected()
    assert not any(chain.folder_of(name).exists() for name in GO)


def test_nothing_goes_without_delete(chain) -> None:
    before = contents(chain.bed.root)
    out = expire(chain, delete=False)
    assert contents(chain.bed.root) == before
    assert set(outcomes(Planned(chain.expire(), out)).values()) == {"planned"}


def test_the_plan_has_a_row_for_each_checkpoint(chain) -> None:
    out = expire(chain, delete=False)
    plan = Planned(chain.expire(), out)
    rows = {
        f"{int(row['job_id'][:7])}/{row['checkpoint_id'] % 10}": row for row in plan.rows.values()
    }
    assert {name for name, row in rows.items() if row["action"] == "expire"} == GO
    assert {row["scope"] for row in rows.values()} == {"checkpoint"}
    assert rows["1/6"]["reason"] == "held"
    tallies = plan.document["tallies"]
    assert sum(each["objects"] for each in tallies) == plan.document["objects_listed"] == 6
    key = f"{chain.folder_of('0/6').relative_to(chain.bed.root)}/_metadata"
    assert key in plan.rows


def test_a_metadata_of_another_name_has_a_row_of_its_own(chain) -> None:
    """With its own key and size, in the storage root and beside it."""
    data = (chain.folder_of("0/6") / "_metadata").read_bytes()
    own = write(chain.folder_of("0/6") / "m.bak", data, 90 * DAY)
    beside = write(chain.bed.folder / "b" / "old_metadata", data, 90 * DAY)
    rows = Planned(chain.expire(), expire(chain, "--search", "storage", delete=False)).rows
    row = rows[str(own.relative_to(chain.bed.root))]
    assert (row["size"], row["action"], row["reason"]) == (len(data), "keep", "unknown_job")
    assert rows[str(beside)]["reason"] == "unknown_job"


def test_a_name_in_the_policy_that_no_lineage_bears_is_worth_a_warning(chain) -> None:
    ran = chain.expire("--ended-for", "0", "--dead", "prod/ordres")
    assert "the retention policy names prod/ordres" in "".join(ran.json["warnings"])
    policy = {"ended_for": "0", "jobs": {"prod/ordres": {"keep_last": 6}, chain.jobs[0].id: {}}}
    scheduled(chain)
    assert scheduled(chain, expire=policy)["expiry"]["expired"] == 0


def test_a_name_that_was_given_up_and_is_in_use_is_worth_a_warning(chain) -> None:
    """A policy is written once, and ids come back; the oldest job is over."""
    old, living = chain.jobs[0].id, chain.running.id
    ran = chain.expire("--ended-for", "0", "--dead", old, "--dead", living)
    warned = [each for each in ran.json["warnings"] if "is not over" in each]
    assert [living in each for each in warned] == [True]


def test_after_its_quarantine_only_what_it_alone_named_goes(chain) -> None:
    expire(chain)
    again = chain.expired("--ended-for", "0", "--keep-last", "3")
    rows = Planned(chain.expire(), again).rows.values()
    assert {row["reason"] for row in rows if row["action"] == "expire"} == set()
    assert sum(row["reason"] == "in_quarantine" for row in rows) == 3
    expire(chain, *SHORT)
    chain.collected()
    assert chain.files() == {"1/6", "2/5", "2/6"}
    assert chain.names() == {"1/6", "2/5", "2/6"}


@pytest.mark.parametrize("is_copied", [False, True])
def test_files_of_one_store_time_go_after_their_metadata_unless_they_were_copied(
    chain, is_copied
) -> None:
    """S3 shows whole seconds: without its ``_metadata`` a small checkpoint looks like a copy."""
    files, at = [*(chain.jobs[0].folder / "shared").iterdir()], now().timestamp() - 100 * 86400 - 7
    for path in files:
        os.utime(path, (at, at))
    expire(chain)
    expire(chain, *SHORT)
    for path in files if is_copied else ():
        os.utime(path, (at - 2 * 86400, at - 2 * 86400))
    chain.collected()
    assert [path.exists() for path in files] == [is_copied, is_copied]


def test_what_the_storage_root_around_has_in_quarantine_stands_for_nothing(chain) -> None:
    """A storage root inside lets none of it go, and keeps others as if it were not there."""
    expire(chain)
    chain.bed.root = chain.jobs[0].folder
    report = chain.expire("--ended-for", "0", "--keep-last", "1").json["expiry"]
    found = {e["checkpoint_id"]: e for each in report["lineages"] for e in each["checkpoints"]}
    assert [found[number]["is_restorable"] for number in (5, 6, 15)] == [False] * 3
    assert found[5]["reason"] == "not_collectable"
    assert "another storage root" in found[5]["why"]


def test_any_plan_of_the_storage_root_puts_a_checkpoint_back(chain) -> None:
    """Of scheduled runs three plans are kept, and in a pod none; a quarantine lasts a day."""
    policy = {"ended_for": "0", "keep_last": 3}
    for expires in (None, policy, policy):
        scheduled(chain, expire=expires)
    newest = max(chain.bed.folder.glob("plans/*/*/plan.json")).parent
    assert run("undelete", newest / "expiry").code == 4, "it expired nothing itself"
    kept, gone = (("--checkpoint", chain.folder_of(name)) for name in ("2/5", "0/5"))
    assert run("undelete", newest, *kept, *gone).code == 4
    assert f"put {kept[1]} into quarantine" in run("undelete", newest, *kept).err
    assert chain.names() == {"1/6", "2/5", "2/6"}
    assert run("undelete", newest, "--checkpoint", "chk-5").code == 2
    back = run("undelete", newest, *gone)
    assert back.json["counts"] == {"restored": 1}
    assert chain.names() == {"0/5", "1/6", "2/5", "2/6"}
    assert run("undelete", newest, *gone).code == 4


def test_what_is_stored_anew_in_the_place_of_one_in_quarantine_stays(chain) -> None:
    """A later run of the id completes the checkpoint of that number; each is weighed once."""
    expire(chain)
    file = chain.jobs[0].shared(age=100 * DAY)
    anew = chain.jobs[0].checkpoint(5, file, age=100 * DAY)
    for _ in range(2):
        expire(chain, *SHORT)
    chain.collected()
    assert anew.exists()
    assert file.exists()


def test_undelete_puts_it_back(chain) -> None:
    before = contents(chain.bed.root)
    out = expire(chain)
    ran = run("undelete", out)
    assert (ran.code, ran.json["counts"]) == (0, {"restored": 3})
    assert ran.json["warning"] is None
    digests = {name: each and each[0] for name, each in contents(chain.bed.root).items()}
    assert digests == {name: each and each[0] for name, each in before.items()}
    assert run("undelete", out).code == 4, "nothing is left to put back"
    kept = chain.expire("--ended-for", "0", "--keep-last", "3").json["expiry"]["lineages"]
    assert {each["action"] for each in kept[0]["checkpoints"]} == {"keep"}, "its age begins again"


def test_undelete_puts_it_back_where_a_store_takes_no_conditions(chain, monkeypatch) -> None:
    """Some refuse to create an object only once; none is there, as a look before has shown."""
    out, create = expire(chain), LocalStateFiles.create

    def conditional(self, name: str, data: bytes) -> bool:
        if str(self.location) == str(chain.bed.root):
            raise cannot_lock(self.location, "NotImplemented")
        return create(self, name, data)

    monkeypatch.setattr(LocalStateFiles, "create", conditional)
    ran = run("undelete", out)
    assert (ran.code, ran.json["counts"]) == (0, {"restored": 3})
    assert chain.names() == ALL


def test_an_undelete_that_lost_its_lock_puts_nothing_more_back(chain, monkeypatch) -> None:
    """The run that took it over may just now be ending these quarantines."""
    out, put_back = expire(chain), CheckpointFolders.put_back

    def taken_over(self, record, data):
        put_back(self, record, data)
        state = RootState(open_state_files(str(chain.bed.state)), canonical(str(chain.bed.root)))
        acquire(state.files, lock_folder(state), this_process(), is_dead=lambda _: True)

    monkeypatch.setattr(CheckpointFolders, "put_back", taken_over)
    ran = run("undelete", out)
    assert (ran.code, ran.json["counts"]) == (3, {"restored": 1, "failed": 2})
    assert "taken over by another run" in ran.json["failed"][0]["error"]
    assert len(chain.names() & GO) == 1


def test_what_was_put_back_is_as_old_for_a_policy_as_before(chain) -> None:
    """Its store time is the newest of all, and it stands for none that was written after it."""
    out = expire(chain)
    assert run("undelete", out).code == 0
    expire(chain, "--grace-period", "0", "--quiet-period", "0", "--clock-skew", "0", *SHORT)
    assert chain.names() == {"1/6", "2/5", "2/6"}


def test_undelete_after_the_quarantine_needs_every_file(chain) -> None:
    out = expire(chain)
    expire(chain, *SHORT)
    lost = next((chain.jobs[0].folder / "shared").glob(f"*{5:012x}"))
    lost.unlink()
    ran = run("undelete", out)
    assert (ran.code, ran.json["counts"]) == (3, {"restored": 2, "failed": 1})
    assert "cannot be restored" in ran.json["failed"][0]["error"]
    assert ran.json["warning"] is None, "no file of it has a tombstone"
    assert chain.names() == {"0/6", "1/5", "1/6", "2/5", "2/6"}


def test_undelete_after_the_release_halts_where_its_files_have_tombstones(chain) -> None:
    """Their deletion was decided on without it: a person looks before anything is deleted."""
    out = expire(chain)
    expire(chain, *SHORT)
    assert run("sweep", chain.collection()).code == 0, "tombstones are laid"
    files = chain.files()
    ran = run("undelete", out)
    assert (ran.code, ran.json["counts"]) == (0, {"restored": 3})
    assert LIFT_HALT in ran.json["warning"]
    chain.collected()
    assert chain.files() == files
    halted = run("plan", *chain.options)
    assert "had a tombstone and is referred to again" in halted.out
    for job in halted.json["jobs"]:
        assert "halted" in {each["condition"] for each in job["blocked"]}
    assert condition_advice("halted").text.endswith(LIFT_HALT)
    clear = ("--delete", "--unsafe-clear-halt", "--output", "table")
    cleared = run("sweep", chain.collection(), *clear)
    assert (cleared.code, "while halted stands" in cleared.out + cleared.err) == (0, False)
    assert chain.files() == files
    assert "had a tombstone" not in run("plan", *chain.options).out


def test_a_copy_that_is_damaged_stops_everything(chain) -> None:
    expire(chain)
    next(chain.bed.state.rglob("*.metadata")).write_bytes(b"x")
    ran = run("plan", *chain.options)
    assert (ran.code, {job["refused"]["guard"] for job in ran.json["jobs"]}) == (
        4,
        {"unreadable_root"},
    )


@pytest.mark.parametrize("harm", ["removed", "damaged"])
def test_a_memory_that_is_lost_and_given_up_ends_no_quarantine(chain, harm) -> None:
    files, out = chain.files(), expire(chain)
    lose_memory(chain, harm)
    chain.collected()
    assert chain.files() == files
    assert run("undelete", out).json["counts"] == {"restored": 3}
    assert chain.names() == ALL


def test_a_quarantine_that_was_over_does_not_begin_again_with_the_memory(chain) -> None:
    for options in ((), SHORT):
        expire(chain, *options)
    lose_memory(chain, "removed")
    chain.collected()
    assert chain.files() == ALL - GO


def test_a_copy_that_nothing_knows_of_stops_everything_until_a_person_gives_it_up(chain) -> None:
    files, _ = chain.files(), expire(chain)
    (record, *_) = chain.bed.state.glob("*/expired/*.json")
    record.unlink()
    assert not unmet(run("plan", *chain.options)), "the memory has a record, too"
    shutil.rmtree(*chain.bed.state.glob("*/world"))
    of_copy = blocking(chain)
    assert f"expired/{record.stem}.metadata" in of_copy
    give_up(of_copy)
    chain.collected()
    assert chain.files() == files, "the rest of the memory is lost, too"
    give_up(blocking(chain))
    chain.collected()
    assert len(chain.files()) == len(files) - 1


def lose_memory(chain: Redeploys, harm: str) -> None:
    """Remove or damage the memory of earlier cycles, and acknowledge that it is lost."""
    (memory,) = chain.bed.state.glob("*/world")
    if harm == "removed":
        shutil.rmtree(memory)
    else:
        for file in memory.iterdir():
            file.write_bytes(file.read_bytes()[:-20])
    give_up(blocking(chain))


def blocking(chain: Redeploys) -> str:
    plan = run("plan", *chain.options)
    said = {each["message"] for job in plan.json["jobs"] for each in job["blocked"]}
    (command,) = {each.partition("run: ")[2] for each in said} - {""}
    return command


def give_up(command: str) -> None:
    ran = run(*shlex.split(command)[1:])
    assert ran.code == 0, ran.err


def markers(chain: Redeploys) -> list[str]:
    found = chain.bed.root.glob(f"*/chk-*/{EXPIRY_MARKER}*")
    return sorted(f"{int(each.parent.parent.name[:7])}/{each.parent.name[-1]}" for each in found)


def test_a_marker_stands_beside_what_is_in_quarantine_and_for_as_long(chain) -> None:
    expire(chain)
    assert markers(chain) == sorted(GO)
    assert all(each.stat().st_size == 0 for each in chain.bed.root.rglob(f"{EXPIRY_MARKER}*"))
    assert not unmet(run("plan", *chain.options))
    expire(chain, *SHORT)
    assert markers(chain) == []
    assert not unmet(run("plan", *chain.options))


def test_another_state_location_blocks_while_a_quarantine_of_the_first_one_lasts(chain) -> None:
    """Until it is given, or a person gives it up; then the markers go with the next expiry."""
    out, first = expire(chain), chain.bed.state
    chain.bed.state = chain.bed.folder / "another"
    plan = run("plan", *chain.options)
    (said,) = {
        each["message"]
        for job in plan.json["jobs"]
        for each in job["blocked"]
        if each["condition"] == "state_lost"
    }
    assert "has the marker of an expiry by state" in said
    assert str(chain.bed.state) in said
    own = chain.bed.folder / "own"
    chain.expire("--out", own, "--ended-for", "0")
    ran = run("sweep", own, "--delete")
    assert (ran.code, said in ran.err, markers(chain)) == (4, True, sorted(GO))
    give_up(said.partition("run: ")[2])
    assert "state_lost" not in unmet(run("plan", *chain.options))
    chain.bed.state = first
    assert not unmet(run("plan", *chain.options))
    assert run("undelete", out).code == 0
    assert markers(chain) == []


def test_what_another_team_has_in_quarantine_beside_blocks_nothing(chain) -> None:
    """Neither of both storage roots is in the other one, so nothing of it names files here."""
    other = Job("e" * 32, chain.bed.folder / "another team" / ("e" * 32))
    other.checkpoint(1, other.shared(age=200 * DAY), age=200 * DAY)
    expire(chain)
    chain.bed.root, chain.bed.state = other.folder.parent, chain.bed.folder / "another"
    assert "state_lost" not in unmet(run("plan", *chain.options, "--ended-job", other.id))


def test_a_quarantine_of_the_storage_root_beside_blocks_nothing(chain) -> None:
    """Each job directory is a storage root; one state location knows of every quarantine."""
    chain.server.routes.update(chain.cluster(status="CANCELED"))
    over = ("--ended-job", chain.running.id)
    dead = [option for job in chain.jobs for option in ("--dead", job.id)]
    chain.bed.root = chain.jobs[0].folder
    chain.expired("--ended-for", "0", *dead, *over)
    assert len([*chain.bed.root.glob(f"chk-*/{EXPIRY_MARKER}*")]) == 2
    chain.bed.root = chain.jobs[1].folder
    assert "state_lost" not in unmet(run("plan", *chain.options, *over))


def test_a_marker_that_an_interrupted_run_left_goes_with_the_next_expiry(
    chain, monkeypatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(CheckpointFolders, "unmark", crash)
        with pytest.raises(RuntimeError, match="crash"):
            run("undelete", expire(chain))
    back = chain.names() & GO
    assert (len(back), markers(chain)) == (1, sorted(GO))
    assert "state_lost" not in unmet(run("plan", *chain.options))
    expire(chain)
    assert markers(chain) == sorted(GO - back)


def test_a_marker_stays_while_another_checkpoint_of_its_path_is_in_quarantine(chain) -> None:
    """A later run of the id completed one of the same number, which expired as well."""
    chain.server.routes.update(chain.cluster(status="CANCELED"))
    over = ("--ended-job", chain.running.id, *SHORT)
    dead = [option for job in chain.jobs for option in ("--dead", job.id)]
    first = ("--quarantine-period", "9d", "--ended-for", "0", *dead, *over[:2])
    chain.expired(*first)
    chain.jobs[0].checkpoint(5, chain.jobs[0].shared(age=9 * DAY), age=9 * DAY)
    chain.expired(*first)
    assert chain.names() == {"2/5", "2/6"}
    chain.expired("--ended-for", "0", *dead, *over)
    assert markers(chain) == ["0/5"]
    chain.expired("--ended-for", "0", *dead, *over)
    assert markers(chain) == []


def table(*args: object) -> str:
    """Return what a command prints on a terminal, in one line."""
    ran = run(*args, "--output", "table")
    assert ran.code == 0, ran.err
    return " ".join(ran.out.split())


def test_a_person_sees_how_long_a_job_must_be_over(chain) -> None:
    """The number in force, which may be a default: an option's name alone says no time."""
    shown = table("expire", *chain.options, "--keep-last", "1", "--ended-for", "200d")
    assert "200d have passed since the job's last sign of life (--ended-for)" in shown


def test_a_person_sees_what_would_go_why_and_what_comes_next(chain) -> None:
    place, out = ("expire", *chain.options), chain.bed.folder / "seen"
    policy = ("--ended-for", "0", "--keep-last", "3")
    shown = table(*place, *policy)
    size = next((chain.jobs[0].folder / "shared").iterdir()).stat().st_size
    assert f"{chain.jobs[1].id} 15 (checkpoint) 90d ago {size} bytes superseded: chk-26" in shown
    assert "kept because: held checkpoints: 2, what would change that: what holds it" in shown
    assert "what would change that" in shown
    assert "saves a plan, which a sweep carries out" in shown
    shown = table(*place, *policy, "--out", out)
    assert f"Next: put 3 checkpoints into quarantine, now or later orphangc sweep {out}" in shown
    swept = table("sweep", out, "--delete")
    assert "3 checkpoints expired, exit code 0" in swept
    assert swept.index("Next: expire again from 20") < swept.index(f"orphangc undelete {out}")
    assert swept.count("Next:") == swept.count("Undo:") == 1
    waiting = table(*place, *policy)
    assert "in_quarantine: until 20" in waiting
    assert "Next: expire again from" in waiting
    over = table(*place, *policy, *SHORT, "--out", chain.bed.folder / "over")
    assert "Next: end the quarantine of 3 checkpoints, now or later" in over
    ended = table("sweep", chain.bed.folder / "over", "--delete")
    assert ended.count("Next:") == 1
    assert "undelete" not in ended


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--dead", ""), "dead: a name is empty"),
        (("--savepoints", "/elsewhere"), "savepoints: /elsewhere is in no extra root"),
    ],
)
def test_a_policy_that_cannot_be_meant_is_an_error(chain, options, said) -> None:
    out = chain.bed.folder / "none"
    ran = chain.expire(*options, "--out", out)
    assert (ran.code, out.exists()) == (2, False)
    assert said in ran.err


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_what_it_writes_never_lies_in_the_storage_root(chain, option) -> None:
    """Nothing is planned then, and nothing written."""
    place = chain.bed.root / "none"
    ran = chain.expire(option, place)
    assert (ran.code, place.exists()) == (2, False)
    assert "is inside the storage root" in ran.err


KILLED = """
import os, signal, sys
from pathlib import Path
where = sys.argv.pop(1)
link, replace = os.link, Path.replace
def killed(real):
    def call(source, target, *more):
        if where in str(target):
            os.kill(os.getpid(), signal.SIGKILL)
        return real(source, target, *more)
    return call
os.link, Path.replace = killed(link), killed(replace)
from orphangc.app.cli import main
main()
"""


@pytest.mark.parametrize("where", ["_metadata", "/expired/", "/world/"])
@pytest.mark.parametrize("goes_on", [True, False])
def test_what_a_killed_undelete_left_goes_with_the_next_command(chain, where, goes_on) -> None:
    """It is finished by the next one, or the next expiry removes what it began."""
    out = expire(chain)
    command = [sys.executable, "-c", KILLED, where, "undelete", str(out)]
    done = subprocess.run(command, capture_output=True, timeout=speed.command(), check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert leftovers(chain)
    if goes_on:
        assert run("undelete", out).code == 0
        assert chain.names() == ALL
    else:
        expire(chain)
    assert leftovers(chain) == []


def leftovers(chain: Redeploys) -> list[Path]:
    places = (chain.bed.root, chain.bed.state)
    return [each for place in places for each in place.rglob(f"{TEMPORARY}*")]


def test_where_no_marker_can_be_written_nothing_expires(chain, monkeypatch) -> None:
    written = LocalStateFiles.write

    def denied(self, name, data):
        if EXPIRY_MARKER in name:
            raise StorageUnreachableError("no right to write there")
        return written(self, name, data)

    out = chain.bed.folder / "denied"
    chain.expire("--out", out, "--ended-for", "0", "--keep-last", "3")
    monkeypatch.setattr(LocalStateFiles, "write", denied)
    ran = run("sweep", out, "--delete")
    assert (ran.code, chain.names()) == (4, ALL)
    assert "so nothing expires; orphangc policy has that right" in ran.err


def test_where_no_marker_can_be_removed_the_quarantine_lasts(chain, monkeypatch) -> None:
    def denied(*_: object) -> None:
        raise StorageUnreachableError("no right to remove there")

    files = chain.files()
    expire(chain)
    out = chain.bed.folder / "denied"
    chain.expire("--out", out, "--ended-for", "0", "--keep-last", "3", *SHORT)
    remove = LocalStateFiles.remove
    monkeypatch.setattr(
        LocalStateFiles, "remove", lambda s, n: (denied if EXPIRY_MARKER in n else remove)(s, n)
    )
    ran = run("sweep", out, "--delete")
    assert ran.code == 4
    assert "until it is, the quarantine lasts; orphangc policy has that right" in ran.err
    assert not unmet(run("plan", *chain.options))
    chain.collected()
    assert chain.files() == files


def test_a_running_job_that_fails_between_plan_and_sweep_keeps_all(chain) -> None:
    out = chain.bed.folder / "late"
    chain.expire("--out", out, "--ended-for", "0", "--keep-last", "3")
    chain.server.routes.update(chain.cluster(status="FAILED"))
    ran = run("sweep", out, "--delete")
    assert ran.code == 0, ran.err
    assert chain.names() == ALL
    assert set(outcomes(Planned(ran, out)).values()) == {"changed"}


def test_an_expired_checkpoint_is_not_missed(chain) -> None:
    """The memory of earlier cycles knows why it is gone: nothing is to be acknowledged."""
    expire(chain)
    for options in ((), SHORT):
        expire(chain, *options)
        plan = run("plan", *chain.options)
        assert plan.code == 0, plan.err
        assert not unmet(plan)
        assert plan.json["world"]["changed"] == []


def unmet(plan: Ran) -> set[str]:
    return {each["condition"] for job in plan.json["jobs"] for each in job["blocked"]}


def test_what_the_owner_did_not_let_go_counts_for_the_share_that_may_go(chain) -> None:
    """Files that an expired checkpoint named are expected to go, and no others of its job (R20)."""
    for options in ((), SHORT):
        expire(chain, *options)
    margins = ("--grace-period", "0", "--quiet-period", "0", *AT_ONCE)
    assert not unmet(run("plan", *chain.options, *margins))
    for _ in range(3):
        chain.jobs[0].shared(age=timedelta(days=200))
    assert unmet(run("plan", *chain.options, *margins)) == {"max_delete_share"}


@pytest.mark.parametrize("harm", ["gone", "damaged"])
def test_without_its_copy_no_file_of_an_expired_checkpoint_is_expected_to_go(chain, harm) -> None:
    for options in ((), SHORT):
        expire(chain, *options)
    for copy in chain.bed.state.rglob("*.metadata"):
        copy.unlink() if harm == "gone" else copy.write_bytes(b"x" + copy.read_bytes())
    chain.collected()
    assert chain.files() == ALL - {"1/5"}, "of the first job all would go, of the second one half"


def test_a_crash_before_the_deletion_leaves_the_checkpoint(chain, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "delete", crash)
        with pytest.raises(RuntimeError, match="crash"):
            expire(chain)
    assert chain.names() == ALL
    expire(chain)
    assert chain.names() == {"1/6", "2/5", "2/6"}


def test_a_crash_after_the_deletion_leaves_what_can_be_put_back(chain, monkeypatch) -> None:
    files, plans = chain.files(), chain.bed.plans
    with monkeypatch.context() as patch:
        patch.setattr(Quarantine, "_put_back_what_is_named", crash)
        with pytest.raises(RuntimeError, match="crash"):
            expire(chain)
    assert chain.names() == {"1/6", "2/5", "2/6"}
    chain.collected()
    assert chain.files() == files
    ran = run("undelete", chain.bed.folder / f"expiry-{plans + 1}")
    assert (ran.code, chain.names()) == (0, ALL)


def journal(chain: Redeploys) -> dict[str, list[dict[str, object]]]:
    files = chain.bed.state.rglob("runs/*/expiry-*.jsonl")
    return {each.stem: [*map(json.loads, each.read_text().splitlines())] for each in files}


def what_lets_nothing_expire(chain) -> str:
    """Return why a sweep of an expiry stops, at which everything stays as it is."""
    out = chain.bed.folder / "stopped"
    chain.expire("--out", out, "--ended-for", "0", "--keep-last", "3")
    ran = run("sweep", out, "--delete")
    assert (ran.code, chain.names(), markers(chain), [*expired(chain)]) == (4, ALL, [], [])
    return str(ran.json["stopped"])


def test_a_metadata_that_changed_since_the_cycle_stays(chain, monkeypatch) -> None:
    """No cycle has judged the bytes that are stored now, and nothing keeps what they name."""
    place, copied = chain.folder_of("0/6") / "_metadata", Quarantine._copied

    def changed(self, record):
        if record.uri == str(place.parent):
            place.write_bytes(place.read_bytes() + b"more")
        return copied(self, record)

    monkeypatch.setattr(Quarantine, "_copied", changed)
    assert "changed since the cycle" in what_lets_nothing_expire(chain)


def test_without_a_copy_that_reads_back_nothing_expires(chain, monkeypatch) -> None:
    """Neither ``undelete`` nor what protects its files could go by it."""
    read = LocalStateFiles.read

    def damaged(self, name):
        data = read(self, name)
        return data and data[:-1] if name.endswith(".metadata") else data

    monkeypatch.setattr(LocalStateFiles, "read", damaged)
    assert "is not what was written there" in what_lets_nothing_expire(chain)


def test_everything_is_written_down_before_it_expires_and_once_it_has(chain, monkeypatch) -> None:
    """R23: a crash leaves no checkpoint that went without a line."""
    delete, seen = LocalStorage.delete, []

    def written(self, objects):
        seen.append(journal(chain))
        return delete(self, objects)

    monkeypatch.setattr(LocalStorage, "delete", written)
    expire(chain)
    keys = {f"{chain.folder_of(name).relative_to(chain.bed.root)}/_metadata" for name in GO}
    assert [each.keys() for each in seen] == [{"expiry-000000"}] * 3
    assert {line["key"] for line in seen[0]["expiry-000000"]} == keys
    done = journal(chain)["expiry-000000-done"]
    assert {(line["key"], line["outcome"]) for line in done} == {(key, "done") for key in keys}


def test_a_run_that_lost_its_lock_ends_no_quarantine_of_the_next_one(chain, monkeypatch) -> None:
    """It saw the checkpoints stored, before the other run took them away."""
    carry_out = Quarantine.carry_out

    def late(self, checkpoints):
        monkeypatch.setattr(Quarantine, "carry_out", carry_out)
        shutil.rmtree(next(chain.bed.state.glob("*/lock")))
        expire(chain)
        return carry_out(self, checkpoints)

    monkeypatch.setattr(Quarantine, "carry_out", late)
    out = chain.bed.folder / "slow"
    chain.expire("--out", out, "--keep-last", "9")
    run("sweep", out, "--delete")
    assert chain.names() == ALL - GO
    assert not unmet(run("plan", *chain.options))


def test_an_error_after_the_first_deletion_hides_none_of_them(chain, monkeypatch) -> None:
    delete, calls = LocalStorage.delete, []

    def second_fails(self, objects):
        calls.append(objects)
        if len(calls) == 2:
            raise StorageUnreachableError("gone for a moment")
        return delete(self, objects)

    out = chain.bed.folder / "partly"
    chain.expire("--out", out, "--ended-for", "0", "--keep-last", "3")
    monkeypatch.setattr(LocalStorage, "delete", second_fails)
    ran = run("sweep", out, "--delete")
    assert sorted(outcomes(Planned(ran, out)).values()) == ["done", "done", "failed"]
    assert (ran.code, len(chain.names())) == (3, 4)


def test_what_is_restored_from_meanwhile_is_put_back_and_halts(chain, monkeypatch) -> None:
    def named(_: ExpiryEvidence) -> frozenset[str]:
        gone = not (chain.folder_of("0/6") / "_metadata").exists()
        return frozenset({str(chain.folder_of("0/6"))} if gone else ())

    out = chain.bed.folder / "raced"
    chain.expire("--out", out, "--ended-for", "0", "--keep-last", "3")
    with monkeypatch.context() as patch:
        patch.setattr(ExpiryEvidence, "newly_named", named)
        patch.setattr(quarantine, "_BATCH", 1)
        ran = run("sweep", out, "--delete")
    assert ran.code != 0
    assert "0/6" in chain.names()
    told = outcomes(Planned(ran, out))
    assert len(told) == 3, "also what came after it has a row"
    assert told[f"{chain.folder_of('0/6').relative_to(chain.bed.root)}/_metadata"] == "planned"
    away = GO - chain.names()
    assert markers(chain) == sorted(away), "what is put back is in quarantine no more"
    known = {each.uri for each in expired(chain) if each.is_in_quarantine}
    assert known == {str(chain.folder_of(name)) for name in away}
    assert "expired while something restored it" in run("plan", *chain.options).out


def test_a_batch_is_put_back_whole_though_no_marker_can_be_removed(chain, monkeypatch) -> None:
    def all_named(_: ExpiryEvidence) -> frozenset[str]:
        folders = map(chain.folder_of, sorted(GO))
        return frozenset(str(each) for each in folders if not (each / "_metadata").exists())

    def refused(*_: object, **__: object) -> None:
        raise StorageUnreachableError("read-only")

    with monkeypatch.context() as patch:
        patch.setattr(ExpiryEvidence, "newly_named", all_named)
        patch.setattr(CheckpointFolders, "unmark", refused)
        out = chain.bed.folder / "raced"
        chain.expire("--out", out, "--ended-for", "0", "--keep-last", "3")
        assert run("sweep", out, "--delete").code != 0
    assert chain.names() == ALL
    assert "expired while something restored it" in run("plan", *chain.options).out


def test_one_that_cannot_be_put_back_keeps_no_other_one_away(chain, monkeypatch) -> None:
    """Something was stored in its place; the others are restored from just now."""
    put_back, places = CheckpointFolders.put_back, sorted(map(str, map(chain.folder_of, GO)))

    def refused(self, record, data):
        if record.uri == places[0]:
            raise StorageUnreachableError("not now")
        put_back(self, record, data)

    with monkeypatch.context() as patch:
        patch.setattr(ExpiryEvidence, "newly_named", lambda _: _gone(places))
        patch.setattr(CheckpointFolders, "put_back", refused)
        out = chain.bed.folder / "raced"
        chain.expire("--out", out, "--ended-for", "0", "--keep-last", "3")
        assert run("sweep", out, "--delete").code != 0
    assert _gone(places) == {places[0]}
    assert "expired while something restored it" in run("plan", *chain.options).out


def _gone(places: Iterable[str]) -> frozenset[str]:
    """Return the folders of checkpoints without a ``_metadata``."""
    return frozenset(each for each in places if not Path(each, "_metadata").exists())


def crash(*_: object, **__: object) -> None:
    raise RuntimeError("crash")


def expired(chain: Redeploys) -> Sequence[ExpiredCheckpoint]:
    place, root = canonical(str(chain.bed.state)), canonical(str(chain.bed.root))
    return read_memory(RootState(open_state_files(place), root)).memory.expired


def copies(chain: Redeploys) -> int:
    return len([*chain.bed.state.rglob("expired/*.metadata")])


def test_copies_of_what_cannot_be_restored_go_in_time(chain, monkeypatch) -> None:
    """The state location does not grow with every redeploy; what can come back still can."""
    out = expire(chain)
    expire(chain, *SHORT)
    (lost,) = (chain.jobs[0].folder / "shared").glob(f"*{5:012x}")
    lost.unlink()
    expire(chain)
    assert copies(chain) == 3, "for a month whatever became of the files"
    monkeypatch.setattr(expired_records, "KEPT_FOR", timedelta(0))
    expire(chain)
    assert copies(chain) == 2, "all files of these are stored"
    ran = run("undelete", out)
    assert (ran.code, ran.json["counts"]) == (3, {"restored": 2, "failed": 1})
    assert "so is the copy" in ran.json["failed"][0]["error"]


def test_a_copy_of_what_was_put_back_goes_in_time(chain, monkeypatch) -> None:
    run("undelete", expire(chain))
    monkeypatch.setattr(expired_records, "KEPT_FOR", timedelta(0))
    expire(chain)
    assert (copies(chain), chain.names()) == (0, ALL)


def test_max_deletes_is_a_limit(chain) -> None:
    out = chain.bed.folder / "many"
    chain.expire("--out", out, "--ended-for", "0", "--keep-last", "3", "--max-deletes", "2")
    ran = run("sweep", out, "--delete")
    assert (ran.code, chain.names()) == (4, ALL)
    assert "more than max_deletes allows (2)" in ran.err


def scheduled(chain: Redeploys, *, code: int = 0, **changes: object) -> dict[str, object]:
    """Run the storage root by a configuration file, and return the record of the run."""
    file = chain.bed.folder / "orphangc.yaml"
    settings = {
        "root": str(chain.bed.root),
        "state": str(chain.bed.state),
        "closed_world": True,
        "flink_rest": [chain.server.url],
        "ended_job": [job.id for job in chain.jobs[:-1]],
        "mode": "delete",
        **changes,
    }
    content = {"storage_roots": [settings], "plans": str(chain.bed.folder / "plans")}
    file.write_text(yaml.safe_dump(content))
    ran = run("run", "--config", file, "--output", "json")
    assert ran.code == code, ran.err
    return ran.json["runs"][0] if "runs" in ran.json else ran.json[0]


def test_a_schedule_expires_only_where_a_policy_is_configured(chain) -> None:
    policy = {"ended_for": "0", "keep_last": 3}
    assert scheduled(chain)["expiry"] is None
    assert chain.names() == ALL
    assert scheduled(chain, mode="report", expire=policy)["expiry"]["expired"] == 0
    assert chain.names() == ALL
    record = scheduled(chain, expire=policy)["expiry"]
    assert (record["expired"], record["in_quarantine"], record["in_use"]) == (3, 0, 0)
    assert chain.names() == {"1/6", "2/5", "2/6"}
    short = {"quarantine_period": "0", "allow_short_margins": True}
    again = scheduled(chain, expire=policy, **short)["expiry"]
    assert (again["expired"], again["released"], again["in_quarantine"]) == (0, 3, 3)


def test_a_run_lists_the_storage_root_once(chain, monkeypatch) -> None:
    """The policy is carried out by the cycle of the collection, as its verdicts are."""
    listings: list[str] = []
    list_all = LocalEngine.list_all

    def counted(self, storage, *args):
        listings.append(str(storage.location))
        return list_all(self, storage, *args)

    scheduled(chain)
    monkeypatch.setattr(LocalEngine, "list_all", counted)
    record = scheduled(chain, expire={"ended_for": "0", "keep_last": 3})
    assert record["expiry"]["expired"] == 3
    assert listings == [str(chain.bed.root)]


def halt(chain: Redeploys) -> None:
    """Stop all collection, as a broken rule does."""
    place, root = canonical(str(chain.bed.state)), canonical(str(chain.bed.root))
    RootState(open_state_files(place), root).halt("by hand", NOW)


LATE = {
    "the job that continued them fails": lambda chain: chain.server.routes.update(
        chain.cluster(status="FAILED")
    ),
    "what was to stay is gone": lambda chain: (chain.folder_of("1/5") / "_metadata").unlink(),
    "something halts the collection": halt,
}


@pytest.mark.parametrize("what", LATE)
def test_what_happens_after_the_cycle_of_a_run_keeps_all(chain, monkeypatch, what) -> None:
    """The sweep may take hours; what the fates rest on is read again before anything expires."""
    sweep = _ScheduledRun._sweep

    def slow(self):
        code = sweep(self)
        LATE[what](chain)
        return code

    scheduled(chain)
    monkeypatch.setattr(_ScheduledRun, "_sweep", slow)
    policy = {"ended_for": "0", "keep_last": 4 if "stay" in what else 3}
    record = scheduled(chain, code=1, expire=policy)
    assert record["expiry"] is None or record["expiry"]["expired"] == 0
    assert chain.names() >= {"0/5", "0/6"}


def test_a_quarantine_begins_when_it_begins(chain, monkeypatch) -> None:
    """The cycle of a run may be hours old by then."""
    scheduled(chain)
    sweep, now = _ScheduledRun._sweep, LocalStorage.now

    def slow(self):
        code = sweep(self)
        later = timedelta(hours=6)
        monkeypatch.setattr(
            LocalStorage, "now", lambda own: replace(now(own), now=now(own).local + later)
        )
        return code

    monkeypatch.setattr(_ScheduledRun, "_sweep", slow)
    started = scheduled(chain, expire={"ended_for": "0", "keep_last": 3})["started_at"]
    times = {each.expired_at for each in expired(chain)}
    assert min(times) > datetime.fromisoformat(started) + timedelta(hours=5)


@pytest.mark.ci
def test_in_a_bucket_it_is_the_same(on_s3: S3Story) -> None:
    """Also where a bucket keeps versions: the copy in the state location is what comes back."""
    on_s3.plan()
    before, out = on_s3.contents(), on_s3.folder / "expiry"
    place = (on_s3.root, "--state", f"s3://{on_s3.bucket}/state", "--closed-world")
    policy = ("--ended-job", "all", "--dead", JOB_ID, "--ended-for", "0")
    made = run("expire", *place, *policy, *NO_MARGINS, "--out", out)
    assert made.code == 0, made.err
    assert run("sweep", out, "--delete").code == 0
    gone = set(before) - set(on_s3.contents())
    assert gone == {key for key in before if key.endswith("_metadata")}
    assert run("undelete", out).json["counts"] == {"restored": len(gone)}
    assert on_s3.contents() == before


def test_what_an_ended_job_still_shows_and_a_new_one_is_restored_from_stays(
    chain, monkeypatch
) -> None:
    """A session cluster shows the checkpoints of an ended job as well, so their place is known."""
    old, late = chain.jobs[0], Job("abcd" * 8, chain.bed.root / ("abcd" * 8))
    shown = flink(old, completed=6, status="CANCELED") | chain.cluster()
    started = flink(late, completed=7, restored=(6, chain.folder_of("0/6")))
    listed = [(old.id, "CANCELED"), (chain.running.id, "RUNNING"), (late.id, "RUNNING")]
    chain.server.routes.update(shown | listing(*listed[:2]))
    sweep = _ScheduledRun._sweep

    def slow(self):
        code = sweep(self)
        chain.server.routes.update(started | shown | listing(*listed))
        return code

    scheduled(chain)
    monkeypatch.setattr(_ScheduledRun, "_sweep", slow)
    scheduled(chain, code=1, expire={"ended_for": "0", "keep_last": 3})
    assert "0/6" in chain.names()


@pytest.mark.parametrize("is_later_run", [False, True])
def test_what_a_sweep_released_is_not_missed_while_its_cluster_still_shows_it(
    chain, is_later_run
) -> None:
    """But another run of the id that completed its number, unseen, is."""
    old = chain.jobs[0]

    def shows(triggered: timedelta) -> None:
        of_old = flink(old, completed=6, status="CANCELED", triggered_ms=millis_ago(triggered))
        jobs = listing((old.id, "CANCELED"), (chain.running.id, "RUNNING"))
        chain.server.routes.update(of_old | chain.cluster() | jobs)

    shows(100 * DAY)
    for margins in ((), SHORT):
        expire(chain, *margins)
    shows(DAY if is_later_run else 100 * DAY)
    assert ("checkpoint_not_found" in unmet(run("plan", *chain.options))) == is_later_run


@pytest.mark.parametrize("late", ["before the cycle", "after the deletion"])
def test_while_a_job_starts_and_does_not_show_its_origin_nothing_expires(
    chain, monkeypatch, late
) -> None:
    """Flink reads the ``_metadata`` before the job has an execution graph to show."""
    job = Job("abcd" * 8, chain.bed.root / ("abcd" * 8))
    started = flink(job, completed=None, status="INITIALIZING", **STARTING)
    started |= chain.cluster()
    started |= listing((chain.running.id, "RUNNING"), (job.id, "INITIALIZING"))
    taken_away = Quarantine._taken_away

    def starts(self, record):
        done = taken_away(self, record)
        chain.server.routes.update(started)
        return done

    scheduled(chain)
    if late == "before the cycle":
        chain.server.routes.update(started)
    else:
        monkeypatch.setattr(Quarantine, "_taken_away", starts)
    is_late = late == "after the deletion"
    scheduled(chain, code=1 if is_late else 0, expire={"ended_for": "0", "keep_last": 3})
    assert chain.names() == ALL


def test_a_signal_waits_for_the_check_after_a_deletion(chain, monkeypatch) -> None:
    """What was restored from meanwhile is put back, as in a run that nothing interrupts (R22)."""
    place, out = chain.folder_of("0/6"), chain.bed.folder / "signalled"
    delete = LocalStorage.delete

    def signalled(self, objects):
        results = delete(self, objects)
        if not (place / "_metadata").exists():
            os.kill(os.getpid(), signal.SIGTERM)
        return results

    def named(_: ExpiryEvidence) -> frozenset[str]:
        return frozenset(() if (place / "_metadata").exists() else {str(place)})

    chain.expire("--out", out, "--ended-for", "0", "--keep-last", "3")
    with monkeypatch.context() as patch:
        patch.setattr(ExpiryEvidence, "newly_named", named)
        patch.setattr(LocalStorage, "delete", signalled)
        assert run("sweep", out, "--delete").code == 143
    assert not list(chain.bed.state.rglob("open/*.json"))
    assert "0/6" in chain.names()
    assert "expired while something restored it" in run("plan", *chain.options).out


def test_a_signal_lets_no_further_batch_begin(chain, monkeypatch) -> None:
    """What is left expires in the next run."""
    taken_away, out = Quarantine._taken_away, chain.bed.folder / "signalled"

    def signalled(self, record):
        os.kill(os.getpid(), signal.SIGTERM)
        assert self.run.stopped.wait(speed.patience())
        return taken_away(self, record)

    chain.expire("--out", out, "--ended-for", "0", "--keep-last", "3")
    cleared: list[object] = []
    monkeypatch.setattr(Leftovers, "remove_markers", lambda *of: cleared.append(of))
    monkeypatch.setattr(quarantine, "_BATCH", 1)
    monkeypatch.setattr(Quarantine, "_taken_away", signalled)
    ran = run("sweep", out, "--delete")
    assert ran.code == 143
    assert "interrupted: 1 objects were deleted" in ran.err
    assert sorted(outcomes(Planned(ran, out)).values()) == ["done", "planned", "planned"]
    assert cleared == []


def test_a_cycle_that_is_not_remembered_lets_nothing_expire(chain, monkeypatch) -> None:
    """Later cycles protect by what it saw."""
    out = chain.bed.folder / "forgotten"
    chain.expire("--out", out, "--ended-for", "0", "--keep-last", "3")
    monkeypatch.setattr(planned_run, "not_kept", lambda *_: "the memory cannot be written")
    ran = run("sweep", out, "--delete")
    assert (ran.code, chain.names()) == (4, ALL)
    assert "the memory cannot be written" in ran.err


def test_a_scheduled_cycle_that_is_not_remembered_lets_nothing_expire(chain, monkeypatch) -> None:
    """Nor is anything collected; what expires must be protected by the next cycle."""
    scheduled(chain)
    monkeypatch.setattr(lineages, "not_kept", lambda *_: "the memory cannot be written")
    record = scheduled(chain, code=4, expire={"ended_for": "0", "keep_last": 3})
    assert (record["expiry"], chain.names()) == (None, ALL)


def test_nothing_is_begun_while_the_collection_is_halted(chain) -> None:
    """Neither a copy nor a marker is left of it."""
    out = chain.bed.folder / "halted"
    chain.expire("--out", out, "--ended-for", "0", "--keep-last", "3")
    halt(chain)
    ran = run("sweep", out, "--delete")
    assert (ran.code, chain.names(), markers(chain), copies(chain)) == (4, ALL, [], 0)
    assert "by hand" in ran.err
