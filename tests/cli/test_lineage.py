"""``lineage`` and ``expire`` without a plan: what they report."""

import itertools
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cli.helpers import (
    AT_ONCE,
    DAY,
    STARTING,
    UUID_1,
    Job,
    Ran,
    contents,
    flink,
    metadata,
    now,
    run,
    write,
)
from cli.redeploys import Redeploys, numbered
from orphangc.collect.expire import assemble_report
from support.rest_server import RestServer, configured

AT_ONCE_ENDED = ("--ended-for", "0")
"""A cycle saw each of the jobs alive a moment ago."""


@pytest.fixture
def chain(tmp_path) -> Iterator[Redeploys]:
    with ExitStack() as stack:
        yield Redeploys.made(tmp_path, stack)


def verdicts(ran: Ran) -> dict[str, tuple[str, str]]:
    """Return action and reason of each checkpoint, by job number and checkpoint."""
    assert ran.code == 0, ran.err
    document = ran.json.get("expiry") or ran.json
    found = [each for lineage in document["lineages"] for each in lineage["checkpoints"]]
    return {
        f"{int(each['job_id'][:7])}/{each['checkpoint_id'] % 10}": (each["action"], each["reason"])
        for each in found
    }


def test_a_chain_is_one_lineage_even_when_flink_has_forgotten_its_jobs(chain) -> None:
    ran = run("lineage", *chain.options)
    assert ran.code == 0, ran.err
    (lineage,) = ran.json["lineages"]
    assert [job["job_id"] for job in lineage["jobs"]] == [job.id for job in chain.jobs]
    assert [job["state"] for job in lineage["jobs"]] == ["ended"] * 3 + ["running"]
    edges = {(each["older"], each["newer"], each["source"]) for each in lineage["continuations"]}
    folders = [str(job.folder) for job in chain.jobs]
    assert edges == {(a, b, "rest") for a, b in itertools.pairwise(folders)}
    shared = chain.jobs[0].folder / "shared"
    own = sum(each.stat().st_size for each in shared.iterdir())
    assert {job["bytes_only"] for job in lineage["jobs"]} == {own}
    by = {each["uri"]: each["restored_by"] for each in lineage["checkpoints"]}
    assert by[str(chain.folder_of("0/6"))] == [chain.jobs[1].id]
    assert by[str(chain.folder_of("0/5"))] == []


def test_without_a_policy_it_reports_what_nothing_living_needs(chain) -> None:
    before = contents(chain.bed.root)
    ran = chain.expire()
    assert {reason for _, reason in verdicts(ran).values()} == {"no_policy", "held", "job_not_over"}
    report: dict[str, Any] = ran.json["expiry"]
    assert (report["unneeded_objects"], report["expiring_objects"]) == (5, 0)
    assert contents(chain.bed.root) == before
    text = chain.expire("--output", "table", "--price", 1e9).out
    assert "Checkpoints that nothing living needs hold 210 bytes in 5 files" in text
    assert "No retention policy: nothing expires, not even what Flink was to delete." in text


def test_a_report_shows_the_picture_of_each_lineage(chain) -> None:
    for command in ("lineage", "expire"):
        page = chain.bed.folder / f"{command}.html"
        ran = run(command, *chain.options, "--report", page)
        assert ran.code == 0, ran.err
        assert page.read_text().count('<svg class="lineage"') == 1
        assert f"It continued {chain.jobs[2].id}" in page.read_text()
    inside = run("lineage", *chain.options, "--report", chain.bed.root / "page.html")
    assert inside.code == 2


def test_a_plan_says_what_expire_could_free(chain) -> None:
    """In JSON, on a terminal, and in the reports; of the collection itself nothing changes."""
    page, summary = chain.bed.folder / "page.html", chain.bed.folder / "summary.md"
    ran = run("plan", *chain.options, "--report", page, "--summary", summary)
    assert {key: ran.json["unneeded"][key] for key in ("checkpoints", "lineages", "objects")} == {
        "checkpoints": 5,
        "lineages": 1,
        "objects": 5,
    }
    report = chain.expire().json
    assert ran.json["unneeded"]["bytes"] == report["expiry"]["unneeded_bytes"]
    assert report["unneeded"] is None
    oldest = report["expiry"]["lineages"][0]["jobs"][0]
    assert oldest["last_life_at"] == ran.json["unneeded"]["last_life_at"]
    sentence = "Checkpoints that nothing living needs hold 210 bytes in 5 files, 0.00 USD a month."
    shown = " ".join(run("plan", *chain.options, "--output", "table").out.split())
    for text in (shown, page.read_text(), summary.read_text()):
        assert sentence in text


def test_where_no_job_lives_the_verdicts_say_what_checkpoints_hold(chain, monkeypatch) -> None:
    """The listing is not passed over once more, and the numbers are the same."""
    chain.server.routes.update(chain.cluster(status="CANCELED"))
    options = [*chain.options, "--ended-job", chain.running.id]
    report = chain.expire("--ended-job", chain.running.id).json["expiry"]
    monkeypatch.setattr(assemble_report, "HeldBytesPass", None)
    found = run("plan", *options).json["unneeded"]
    numbers = (report["unneeded_bytes"], report["unneeded_objects"])
    assert (found["bytes"], found["objects"]) == numbers
    assert numbers > (0, 0)


def test_a_plan_of_jobs_that_live_says_nothing_of_it(chain) -> None:
    options = [each for each in chain.options if each != "--ended-job"]
    options = [each for each in options if each not in {job.id for job in chain.jobs}]
    ran = run("plan", *options)
    assert ran.json["unneeded"] == {
        **dict.fromkeys(("checkpoints", "lineages", "objects", "bytes"), 0),
        "last_life_at": None,
    }
    assert "nothing living needs" not in run("plan", *options, "--output", "table").out


def test_a_policy_lets_go_what_the_running_job_superseded(chain) -> None:
    ran = chain.expire(*AT_ONCE_ENDED, "--keep-last", 3)
    assert verdicts(ran) == {
        **dict.fromkeys(["0/5", "0/6", "1/5", "1/6", "2/5"], ("expire", "superseded")),
        "2/6": ("keep", "held"),
        "3/5": ("keep", "job_not_over"),
        "3/6": ("keep", "held"),
    }
    assert ran.json["expiry"]["expiring_objects"] == 5
    four = chain.expire(*AT_ONCE_ENDED, "--keep-last", 5)
    assert verdicts(four)["1/5"] == ("expire", "superseded")
    assert verdicts(four)["2/5"] == ("keep", "keep_last")


def test_the_owner_can_say_what_no_source_shows(chain) -> None:
    """After the loss of the memory; a word that cannot be true is an error."""
    for file in (*chain.bed.state.rglob("world/*"), *chain.bed.state.rglob("remembers.json")):
        file.unlink()
    first, second, third = (job.id for job in chain.jobs[:3])
    before = ("--continued", f"{third}={chain.folder_of('1/6')}")
    for word, reason in ((first, "no_successor"), (f"{first}@6", "superseded")):
        known = ("--continued", f"{second}={word}", *before)
        kept = verdicts(chain.expire(*AT_ONCE_ENDED, "--keep-last", 3, *known))
        assert {kept["0/5"][1], kept["0/6"][1]} == {reason}, "alone, it lets nothing go"
    out = chain.bed.folder / "reversed"
    for word in (second, f"{second}@16", chain.folder_of("1/6")):
        ran = chain.expire(*AT_ONCE_ENDED, "--continued", f"{first}={word}", "--out", out)
        assert ran.code == 2
        assert "did not continue it: the newer job stands first" in ran.err
        assert not (out / "plan.json").exists()
    twice = ("--continued", f"{third}={first}", "--continued", f"{third}={second}")
    assert "one job has two origins" in chain.expire(*twice).err
    assert "cannot have continued itself" in chain.expire("--continued", f"{first}={first}@6").err
    ran = chain.expire("--continued", f"{first}=orders")
    what = "'orders' is no job id of 32 lower-case hex digits, no JOB@ID, no URI, and not 'nothing'"
    assert (ran.code, ran.complaints) == (2, [f"orphangc: --continued: {what}"])


HOUR = timedelta(hours=1)


def a_clone(chain: Redeploys, *, job_id: str = numbered(9), oldest: timedelta = HOUR) -> Job:
    """Return a job with a checkpoint of its own, which no source shows yet."""
    clone = Job(job_id, chain.bed.root / job_id)
    clone.shared(age=oldest)
    for number in (31, 32):
        clone.checkpoint(number, clone.shared(age=HOUR), age=HOUR)
    return clone


def shows(server: RestServer, clone: Job, restored: tuple[int, Path] | None, **more: Any) -> None:
    server.routes.clear()
    server.routes.update(flink(clone, completed=32, restored=restored, **more))


SEEN: dict[str, tuple[list[str | None], dict[str, Any]]] = {
    "never": ([], {}),
    "its own": (["own"], {}),
    "elsewhere": (["elsewhere"], {}),
    "starts": (["starting"], {}),
    "started": (["starting", "own"], {}),
    "an id that comes back": (["nothing", "own"], {"job_id": "0" * 31 + "9", "oldest": 300 * DAY}),
    "two places": (["0/6", "1/6", "own"], {}),
    "an older job": (["own"], {"oldest": 300 * DAY}),
    "nothing": (["nothing"], {}),
    "nothing, earlier": (["nothing", "own"], {}),
    "nothing, after its start": (["starting", "nothing", "own"], {}),
    "a checkpoint": (["2/6"], {}),
    "a checkpoint, earlier": (["2/6", "own"], {}),
}
"""What cycles saw of the origin of a clone, one after the other."""
HIDES = (
    "never",
    "its own",
    "elsewhere",
    "starts",
    "started",
    "an id that comes back",
    "two places",
)


@pytest.mark.parametrize("case", SEEN)
def test_a_job_holds_what_is_older_until_its_origin_was_seen(chain, case) -> None:
    """Since a failover Flink shows a checkpoint of the job's own; without HA it begins again."""
    sights, kind = SEEN[case]
    clone = a_clone(chain, **kind)
    with RestServer({}) as server:
        cluster = ("--flink-rest", server.url) if sights else ()
        for sight in sights:
            match sight:
                case "own":
                    shows(server, clone, (31, clone.folder / "chk-31"))
                case "elsewhere":
                    shows(server, clone, (6, Path("/mnt/old") / chain.jobs[0].id / "chk-6"))
                case "starting":
                    shows(server, clone, None, status="INITIALIZING", **STARTING)
                case "nothing":
                    shows(server, clone, None)
                case _:
                    origin = chain.folder_of(sight)
                    shows(server, clone, (int(origin.name.removeprefix("chk-")), origin))
            run("plan", *chain.options, *cluster)
        ran = chain.expire(*AT_ONCE_ENDED, "--keep-last", 3, *cluster)
    kept = {each for each, (action, _) in verdicts(ran).items() if action == "keep"}
    is_held = {"0/5", "0/6"} <= kept
    assert is_held == (case in HIDES)
    assert (f"job {clone.id} may begin with it again" in ran.out) == is_held


BESIDE = {
    "shared": f"{numbered(7)}/shared",
    "change log": f"{numbered(7)}/dstl",
    "change log of an id that comes back": f"{7:032x}/dstl",
    "ForSt": f"{numbered(7)}/op_map_1__1_2__attempt_0/db",
    "without its id": "orders/chk-1",
}
"""What shows a job that completed nothing, in a folder that the search walks through."""


@pytest.mark.parametrize("place", ["root", *BESIDE, "of no job"])
def test_a_job_without_a_checkpoint_may_begin_with_what_is_older(chain, place) -> None:
    """Its directory shows it, in the storage root or in a folder that the search walks through."""
    started = numbered(7)
    area = {
        "root": chain.bed.root / started / "shared",
        "of no job": chain.bed.folder / "other" / "libraries" / "dstl",
        **{name: chain.bed.folder / "other" / each for name, each in BESIDE.items()},
    }[place]
    write(area / UUID_1, b"state", 30 * DAY)
    found = verdicts(chain.expire(*AT_ONCE_ENDED, "--keep-last", 3))
    reasons = {found[each][1] for each in ("0/5", "0/6")}
    assert reasons == ({"superseded"} if place == "of no job" else {"origin_unknown"})
    if "orders" not in str(area):
        started = f"{7:032x}" if "comes back" in place else started
        found = verdicts(chain.expire(*AT_ONCE_ENDED, "--keep-last", 3, "--ended-job", started))
        assert found["0/6"][1] == "superseded"


@pytest.mark.parametrize("is_named", [False, True])
@pytest.mark.parametrize("comes_back", [False, True])
def test_a_change_log_elsewhere_is_of_the_job_whose_checkpoint_names_it(
    chain, comes_back, is_named
) -> None:
    """An id that comes back says of nothing else there that it is of the run that is known."""
    living = chain.running if not comes_back else a_clone(chain, job_id=f"{9:032x}")
    changes = chain.bed.folder / "changes" / living.id / "dstl"
    write(changes / UUID_1, b"change", DAY)
    with RestServer({}) as server:
        if comes_back:
            shows(server, living, None)
        if is_named:
            living.checkpoint(33, changes / UUID_1)
        rest = ("--flink-rest", server.url) if comes_back else ()
        found = verdicts(chain.expire(*AT_ONCE_ENDED, "--keep-last", 3, *rest))
    is_another = comes_back and not is_named
    assert found["0/6"][1] == ("origin_unknown" if is_another else "superseded")


def test_a_job_beside_that_is_over_is_over_with_its_change_log_elsewhere(chain) -> None:
    other = Job(numbered(7), chain.bed.folder / "other" / numbered(7))
    other.checkpoint(3, other.shared(), age=30 * DAY)
    write(chain.bed.folder / "changes" / other.id / "dstl" / UUID_1, b"change", 30 * DAY)
    policy = (*AT_ONCE_ENDED, "--keep-last", 3)
    assert verdicts(chain.expire(*policy))["0/6"][1] == "origin_unknown"
    assert verdicts(chain.expire(*policy, "--ended-job", other.id))["0/6"][1] == "superseded"


def test_an_origin_that_a_cycle_saw_by_another_mount_is_held_once_an_alias_names_it(chain) -> None:
    clone = a_clone(chain)
    with RestServer({}) as server:
        cluster = ("--flink-rest", server.url)
        shows(server, clone, (6, Path("/mnt/old") / chain.jobs[0].id / "chk-6"))
        run("plan", *chain.options, *cluster)
        shows(server, clone, (31, clone.folder / "chk-31"))
        alias = ("--alias", f"/mnt/old={chain.bed.root}")
        found = verdicts(chain.expire(*AT_ONCE_ENDED, "--keep-last", 3, *cluster, *alias))
    assert found["0/6"] == ("keep", "held")
    assert "origin_unknown" not in {reason for _, reason in found.values()}


def test_a_copy_is_taken_for_a_checkpoint_of_a_job_until_its_folder_has_another_name(chain) -> None:
    """No job id names that job, so its owner can state nothing of it; what the copy names stays."""
    copy, oldest = chain.bed.folder / "other" / "backup" / "chk-6", chain.folder_of("0/6")
    shutil.copytree(oldest, copy)

    def fate() -> tuple[str, str]:
        ran = chain.expire(*AT_ONCE_ENDED, "--keep-last", 3)
        found = [e for lineage in ran.json["expiry"]["lineages"] for e in lineage["checkpoints"]]
        return next((e["reason"], e["why"]) for e in found if e["uri"] == str(oldest))

    assert fate() == ("origin_unknown", f"job {copy.parent} may begin with it again")
    copy.rename(copy.with_name("of-chk-6"))
    lost = ("checkpoint_not_found", copy)
    assert fate() == ("origin_unknown", f"{lost[0]}: a job that is not seen may begin with it")
    assert run("world", "acknowledge", chain.bed.root, *lost, "--state", chain.bed.state).code == 0
    assert fate()[0] == "superseded"
    for _ in range(2):
        chain.expired(*AT_ONCE_ENDED, "--keep-last", 3, *AT_ONCE)
    chain.collected()
    assert ("0/6" in chain.names(), "0/6" in chain.files()) == (False, True)


@pytest.mark.parametrize("stated", ["nothing", "OLDER@ID", "URI", "OLDER"])
def test_the_owner_states_what_a_job_began_with(chain, stated) -> None:
    """A checkpoint that is stated is held itself; a job without one states nothing."""
    clone = a_clone(chain)
    oldest = chain.jobs[0].id
    origin = {"OLDER": oldest, "OLDER@ID": f"{oldest}@6", "URI": str(chain.folder_of("0/6"))}
    word = ("--continued", f"{clone.id}={origin.get(stated, stated)}")
    assert verdicts(chain.expire(*AT_ONCE_ENDED, "--keep-last", 3))["0/6"][1] == "origin_unknown"
    found = verdicts(chain.expire(*AT_ONCE_ENDED, "--keep-last", 3, *word))
    gone = {each for each, (action, _) in found.items() if action == "expire"}
    of_others = {"1/5", "1/6", "2/5"}
    free = {"nothing": {"0/5", "0/6"} | of_others, "OLDER": set()}
    assert gone == free.get(stated, of_others)


def test_that_a_job_began_from_nothing_is_no_word_against_a_restore_that_was_seen(chain) -> None:
    last = chain.running.id
    ran = chain.expire(*AT_ONCE_ENDED, "--continued", f"{last}=nothing")
    assert (ran.code, "a cycle saw it continue" in ran.err) == (2, True), ran.err


@pytest.mark.parametrize("status", ["INITIALIZING", "RUNNING"])
def test_a_job_that_starts_contradicts_no_word_on_its_origin(chain, status) -> None:
    """Until it runs Flink shows no origin of it; the control began from nothing."""
    clone = a_clone(chain)
    shown = {} if status == "RUNNING" else {"state_backend": None, "checkpoint_storage": None}
    started = int(now().timestamp() * 1000)
    routes = flink(clone, completed=132, status=status, started_ms=started, **shown)
    with RestServer(routes) as server:
        word = f"{clone.id}={chain.jobs[0].id}@6"
        ran = chain.expire(*AT_ONCE_ENDED, "--flink-rest", server.url, "--continued", word)
    is_contradicted = "a cycle saw it begin from nothing" in ran.err
    assert is_contradicted is (ran.code == 2) is (status == "RUNNING"), ran.err


def test_an_edge_that_is_known_from_the_memory_alone_counts(chain) -> None:
    """Without the memory, the oldest jobs are lineages of their own, and keep all they have."""
    for file in chain.bed.state.rglob("world/*"):
        file.unlink()
    for file in chain.bed.state.rglob("remembers.json"):
        file.unlink()
    assert verdicts(chain.expire(*AT_ONCE_ENDED, "--keep-last", 3))["0/6"] == (
        "keep",
        "no_successor",
    )


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--pin", "0/6"), "held"),
        (("--ended-for", "30d"), "ended_recently"),
        (("--dead", "0"), "lineage_lives"),
    ],
)
def test_what_the_owner_says_keeps(chain, options, reason) -> None:
    option, value = options
    places = {"0/6": str(chain.folder_of("0/6")), "0": chain.jobs[0].id}
    ran = chain.expire(*AT_ONCE_ENDED, "--keep-last", 1, option, places.get(value, value))
    assert verdicts(ran)["0/6"] == ("keep", reason)


@pytest.mark.parametrize("named_by", ["nothing", "pin", "restore"])
def test_what_is_named_without_a_link_is_held_in_a_storage_root_that_is_one(
    tmp_path, named_by
) -> None:
    """Flink wrote through the link, and a person or another cluster names the folder itself."""
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "checkpoints").symlink_to(real)
    with ExitStack() as stack:
        chain = Redeploys.made(tmp_path, stack, count=3)
        place = real / chain.jobs[0].id / "chk-5"
        if named_by == "restore":
            chain.server.routes.update(flink(chain.running, completed=26, restored=(5, place)))
        pin = ("--pin", place) if named_by == "pin" else ()
        chain.expired(*AT_ONCE_ENDED, "--keep-last", 1, *pin)
    assert ("0/5" in chain.names()) == (named_by != "nothing")


def test_a_job_that_may_run_keeps_its_own_and_those_before(chain) -> None:
    options = [each for each in chain.options if each not in {"--ended-job", chain.jobs[1].id}]
    ended = [o for job in (chain.jobs[0], chain.jobs[2]) for o in ("--ended-job", job.id)]
    own = [each for each in options if each not in {chain.jobs[0].id, chain.jobs[2].id}]
    kept = verdicts(run("expire", *own, *ended, *AT_ONCE_ENDED))
    assert kept["1/6"] == ("keep", "job_not_over")
    assert kept["0/6"] == ("keep", "held")
    assert kept["0/5"] == ("keep", "successor_needs_files")
    assert kept["2/5"] == ("expire", "superseded")


def test_an_unsound_world_stops_it(chain) -> None:
    options = [each for each in chain.options if each != "--closed-world"]
    kept = verdicts(run("expire", *options, "--keep-last", 1))
    assert kept["0/6"] == ("keep", "stopped")


@pytest.mark.parametrize("case", ["a silent cluster", "a job that is lost", "an unknown maker"])
def test_what_an_unseen_job_may_begin_with_is_not_called_unneeded(chain, case) -> None:
    """R43: people read what nothing living needs, and act."""
    options = list(chain.options)
    savepoint = chain.bed.root / "savepoint-fedcba-000000000001"
    if case == "an unknown maker":
        write(savepoint / "_metadata", metadata(4, []), 300 * DAY)
    if case == "a job that is lost":
        other = Job(numbered(7), chain.bed.folder / "other" / numbered(7))
        with RestServer(flink(other, completed=0, restored=(6, chain.folder_of("0/6")))) as server:
            run("plan", *options, "--flink-rest", server.url)
    elif case == "an unknown maker":
        a_clone(chain)
    with RestServer({}) as silent:
        options += ["--flink-rest", silent.url] if case == "a silent cluster" else []
        ran, plan = run("lineage", *options), run("plan", *options).json
    assert (ran.json["unneeded_objects"], plan["unneeded"]["checkpoints"]) == (0, 0)
    assert '"origin_unknown"' in ran.out


@pytest.mark.parametrize(
    "case",
    [
        "the world is not closed",
        "the world is not closed, and a layout stops its job first",
        "its checkpoint is not read",
        "any checkpoint is not read",
    ],
)
def test_what_an_unknown_checkpoint_may_name_is_not_called_unneeded(chain, case) -> None:
    """What stops the plan says that its files may be needed; the report says nothing else."""
    options = list(chain.options)
    if "not closed" in case:
        options.remove("--closed-world")
        if "layout" in case:
            write(chain.jobs[0].folder / "shared" / "x" / UUID_1, b"", 100 * DAY)
    else:
        place = chain.running.folder / "chk-37" if "its" in case else chain.bed.folder / "beside"
        write(place / "_metadata", b"Iggz and nothing of a checkpoint", 2 * HOUR)
        options += ["--extra-roots", chain.bed.folder / "beside"] if "any" in case else []
    ran, plan = run("lineage", *options), run("plan", *options).json
    assert (ran.json["unneeded_objects"], ran.json["unneeded_bytes"]) == (0, 0)
    assert plan["unneeded"]["checkpoints"] == 0
    assert '"stopped"' in ran.out


def test_a_running_job_of_a_configured_id_is_not_said_to_continue_nothing(chain) -> None:
    """The operator configures a new id for each start: which run of it lives, nothing shows.

    No statement lifts that, and the table promises none that does.
    """
    chain.server.routes.update(configured({"$internal.pipeline.job-id": chain.running.id}))
    policy = (*AT_ONCE_ENDED, "--keep-last", 3)
    ran = chain.expire(*policy)
    assert verdicts(ran)["0/6"] == ("keep", "no_successor")
    assert f"job {chain.running.id} may have continued it" in ran.out
    assert "no running job with a checkpoint continued it" not in ran.out
    table = " ".join(chain.expire(*policy, "--output", "table").out.split())
    assert "of a job whose id never comes back" in table


def test_what_a_job_that_is_stopped_may_need_is_not_called_unneeded(tmp_path) -> None:
    """A claimer of one of its files is refused: which other ones that needs is not known."""
    with ExitStack() as stack:
        chain = Redeploys.made(tmp_path, stack, claims=True)
        before = run("plan", *chain.options).json["unneeded"]["checkpoints"]
        chain.jobs[1].shared(age=-5 * DAY)
        after, ran = run("plan", *chain.options).json["unneeded"]["checkpoints"], chain.expire()
    assert verdicts(ran)["0/5"] == ("keep", "stopped")
    assert (before, after) == (5, 1), "without those of both jobs"


def test_a_policy_must_keep_one() -> None:
    ran = run("expire", "/nowhere", "--keep-last", 0)
    assert (ran.code, ran.complaints) == (
        2,
        ["orphangc: --keep-last: Input should be greater than or equal to 1"],
    )
