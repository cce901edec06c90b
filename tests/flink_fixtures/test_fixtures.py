"""Plans and sweeps of 119 storages that real Flink left, judged by Flink's own reading of them."""

import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from cli.helpers import Ran, contents, run, run_process
from flink_fixtures.unpacked import NAMES, Storage, unpack
from support.grouped import for_each, grouped
from support.rest_server import RestServer, as_json, saved, saved_routes

STYLES = ("tree", "checkpoints")
"""ROOT is the whole tree; or the checkpoints alone, savepoints and logs being extra roots."""
IN_SHORT = 10
"""With README's command ROOT is the tree of one storage in so many, elsewhere the checkpoints."""


_LARGER = "larger"


def _group(named: tuple[str, str]) -> str:
    """Return the group of a storage and a style: of one release, one style and one class."""
    name, style = named
    is_larger = style == "tree" and NAMES.index(name) % IN_SHORT != 0
    return f"{name.partition('/')[0]}-{style}" + (f"-{_LARGER}" if is_larger else "")


_GROUPS = grouped(product(NAMES, STYLES), by=_group)
for_each_plan = for_each(
    "named",
    _GROUPS,
    shown="-".join,
    marks={group: [pytest.mark.ci] for group in _GROUPS if group.endswith(_LARGER)},
)
"""Gives a test each storage with each style, of which ``archive`` has the plan."""


NO_MARGINS = (
    *("--grace-period", "0", "--clock-skew", "0", "--quiet-period", "0"),
    "--allow-short-margins",
)
WITHOUT_WAITING = ("--quarantine-period", "0", "--max-delete-share", "1.0")
IS_NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
CYCLED = (
    "1.15.4/restore-claim",
    "1.18.1/jm-kill",
    "1.20.5/tm-kill",
    "2.0.2/restore-claim",
    "2.3.0/cancel-delete",
    "2.3.0/savepoint-claim-late",
)
CYCLED_BRIEFLY = [
    pytest.param(each, marks=[] if each == "2.3.0/savepoint-claim-late" else pytest.mark.ci)
    for each in CYCLED
]
REST_RELEASES = ("1.15.4", "1.20.5", "2.3.0")

Runner = Callable[..., Ran]


def plan_options(storage: Storage, style: str, *ended: str) -> list[str]:
    """Return ROOT and everything that is known of the storage."""
    tree = storage.tree
    root = tree if style == "tree" else tree / "checkpoints"
    options = [str(root), "--alias", f"{storage.truth['run_path']}={tree}", "--closed-world"]
    options += [part for job in ended or storage.ended_jobs for part in ("--ended-job", job)]
    if style == "checkpoints":
        extra = [tree / name for name in ("savepoints", "dstl") if (tree / name).is_dir()]
        options += [part for place in extra for part in ("--extra-roots", str(place))]
        empty = [place for place in extra if not any(place.rglob("_metadata"))]
        options += [part for place in empty for part in ("--empty-root", str(place))]
    return [*options, *NO_MARGINS, "--state", str(tree.parent / "state")]


@dataclass(frozen=True)
class Result:
    """One plan; paths are relative to the tree, whatever ROOT was."""

    storage: Storage
    style: str
    code: int
    plan: dict[str, Any]
    rows: dict[str, dict[str, Any]]

    @property
    def prefix(self) -> str:
        """Return what stands before a key to make it relative to the tree."""
        return "" if self.style == "tree" else "checkpoints/"

    @property
    def removals(self) -> set[str]:
        return {p for p, row in self.rows.items() if row["action"] in {"tombstone", "delete"}}


def planned(
    storage: Storage, style: str, *options: str, runner: Runner = run, ended: tuple[str, ...] = ()
) -> Result:
    out = Path(tempfile.mkdtemp(dir=storage.tree.parent, prefix="plan-"))
    ran = runner("plan", *plan_options(storage, style, *ended), "--out", out, *options)
    assert ran.code in {0, 4}, ran.err
    plan = json.loads((out / "plan.json").read_text())
    prefix = "" if style == "tree" else "checkpoints/"
    rows = {prefix + row["key"]: row for row in pq.read_table(out / "verdicts").to_pylist()}
    return Result(storage, style, ran.code, plan, rows)


@dataclass
class Archive:
    """Every storage, unpacked once, and planned once in each style."""

    folder: Path
    storages: dict[str, Storage] = field(default_factory=dict)
    results: dict[tuple[str, str], Result] = field(default_factory=dict)

    def storage(self, name: str) -> Storage:
        if name not in self.storages:
            self.storages[name] = unpack(name, self.folder / name.replace("/", "-"))
        return self.storages[name]

    def result(self, name: str, style: str) -> Result:
        if (name, style) not in self.results:
            self.results[name, style] = planned(self.storage(name), style)
        return self.results[name, style]


@pytest.fixture(scope="session")
def archive(tmp_path_factory) -> Iterator[Archive]:
    above = tmp_path_factory.mktemp("storages")
    with tempfile.TemporaryDirectory(dir=above) as name:
        yield Archive(Path(name))


def test_all_storages_are_here() -> None:
    """None was lost on the way into the repository."""
    assert len(NAMES) == 119


@for_each_plan
def test_nothing_that_flink_needs_is_planned_for_removal(named, archive) -> None:
    """Referenced, pending, and misresolved files alike."""
    result = archive.result(*named)
    assert not result.removals & result.storage.untouchable()


@for_each_plan
def test_only_orphans_are_planned_for_removal(named, archive) -> None:
    """Or what Flink removed itself some seconds later; files of Flink's areas, nothing else."""
    result = archive.result(*named)
    assert result.removals <= result.storage.removable()
    for path in result.removals:
        place, job_id, area, *inner, name = path.split("/")
        assert place in {"checkpoints", "dstl"}
        assert len(job_id) == 32
        scope = {"dstl": "changelog"}.get(area, "exclusive" if area.startswith("chk-") else area)
        assert result.rows[path]["scope"] == scope
        assert len(inner) <= 2
        assert len(name) == 36


ENDED_BRIEFLY = ("1.20.5/live-pending", "1.20.5/changelog", "2.3.0/merge-within")
"""With README's command; the others in class ci."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in ENDED_BRIEFLY else [pytest.mark.ci]) for name in NAMES],
)
def test_every_orphan_of_every_area_is_found_once_all_jobs_are_declared_ended(
    archive, name: str
) -> None:
    """R35, E6: 95 % of each area at least, and no file that a checkpoint needs."""
    storage = archive.storage(name)
    truth = storage.truth
    found = planned(storage, "tree", ended=("all",)).removals
    assert not found & {*truth["referenced"], *truth["unsafe"]}
    orphans = Counter(map(area_of, truth["orphaned"]))
    lacking = Counter(map(area_of, set(truth["orphaned"]) - found))
    assert all(lacking[area] <= number * 0.05 for area, number in orphans.items()), lacking


def area_of(path: str) -> str:
    """Return the area of a file by the folders that it is in: a word of ``--scope``."""
    place, _, area, *inner = path.split("/")
    if place != "checkpoints":
        return "changelog"
    if inner[0].startswith("job_"):
        return "merged"
    if inner[0].startswith("op_"):
        return "forst"
    return "exclusive" if area.startswith("chk-") else area


@for_each_plan
def test_every_collectable_orphan_is_found(named, archive) -> None:
    result = archive.result(*named)
    below = {path for path in result.storage.collectable() if path.startswith(result.prefix)}
    assert not below - result.removals


@for_each_plan
def test_every_object_has_one_verdict(named, archive) -> None:
    """The rows are the listing, and the tallies add up to it in objects and bytes."""
    result = archive.result(*named)
    root = result.storage.tree if result.style == "tree" else result.storage.tree / "checkpoints"
    sizes = {
        result.prefix + str(path.relative_to(root)): path.stat().st_size
        for path in root.rglob("*")
        if path.is_file()
    }
    assert {path: row["size"] for path, row in result.rows.items()} == sizes
    assert result.plan["objects_listed"] == len(sizes)
    assert result.plan["bytes_listed"] == sum(sizes.values())
    tallies = {
        (each["scope"], each["action"], each["reason"]): (each["objects"], each["bytes"])
        for each in result.plan["tallies"]
    }
    objects, size = Counter(), Counter()
    for row in result.rows.values():
        kind = (row["scope"], row["action"], row["reason"])
        objects[kind] += 1
        size[kind] += row["size"]
    assert tallies == {kind: (objects[kind], size[kind]) for kind in objects}


@for_each_plan
def test_missing_files_are_those_that_flink_does_not_find(named, archive) -> None:
    """Named by a checkpoint of the job's own directory, below ROOT, and not there.

    A savepoint belongs to no job directory, so what a claimed savepoint lacks stands with no
    job; and a job's missing log files lie outside ROOT if only the checkpoints are ROOT.
    """
    result = archive.result(*named)
    shown = {result.prefix + key for job in result.plan["jobs"] for key in job["missing"]}
    assert shown == result.storage.missing(result.prefix)


@for_each_plan
def test_every_checkpoint_that_flink_reads_is_a_root(named, archive) -> None:
    """All of them, with the same ids, wherever ROOT begins."""
    result = archive.result(*named)
    tree = str(result.storage.tree) + "/"
    read = {
        (each["uri"].removeprefix(tree), each["checkpoint_id"]) for each in result.plan["roots"]
    }
    truth = result.storage.truth["checkpoints"]
    assert read == {(each["dir"], each["checkpoint_id"]) for each in truth}


@for_each_plan
def test_a_job_is_self_sustained_exactly_if_flink_reads_no_file_of_others(named, archive) -> None:
    """By path, and where Flink wrote a wrong path by base name; what is void is never a yes.

    A changelog leaves nothing unknown about the files of others.
    """
    result = archive.result(*named)
    is_changelog = "changelog" in result.storage.name
    for job in result.plan["jobs"]:
        needs = result.storage.needs_others(job["job_id"])
        refused = job["refused"] and job["refused"]["guard"]
        is_void = refused is not None and not (is_changelog and refused == "unproven_layout")
        is_refused = is_void or not job["retained_checkpoint_ids"]
        expected = False if needs else None if needs is None or is_refused else True
        assert job["state_self_sustained"] is expected, job["looks"]
        everything, *places = job["looks"]
        assert any(look["value"] is False for look in places) is (needs is True)
        tree = str(result.storage.tree) + "/"
        named = {
            each["uri"].removeprefix(tree): each["references"] for each in everything["named_by"]
        }
        assert named == result.storage.names_of_others(job["job_id"])


@for_each_plan
def test_a_plan_is_refused_as_a_whole_only_if_every_job_is(named, archive) -> None:
    """Exit code 4 says so."""
    result = archive.result(*named)
    are_refused = [job["refused"] is not None for job in result.plan["jobs"]]
    assert (result.code == 4) == all(are_refused)


TOTALS = {"checkpoints": (1395, 1347), "tree": (1397, 1347)}
"""Removals, and those that must be found; the log of the changelog is below the tree only."""


@pytest.mark.parametrize("style", [pytest.param("tree", marks=pytest.mark.ci), "checkpoints"])
def test_the_totals_of_all_storages(archive, style: str) -> None:
    """As many orphans as Flink really left behind, whichever folder is ROOT."""
    results = [archive.result(name, style) for name in NAMES]
    totals = Counter()
    for each in results:
        truth = each.storage.truth
        totals["rows"] += len(each.rows)
        totals["removals"] += len(each.removals)
        totals["collectable"] += len(each.storage.collectable())
        totals["lost"] += len(each.removals & each.storage.untouchable())
        totals["missing"] += sum(len(job["missing"]) for job in each.plan["jobs"])
        for kind in ("referenced", "pending", "unsafe", "orphaned"):
            totals[kind] += len(truth[kind])
    print(f"\n{style}: {dict(totals)}")
    assert (totals["removals"], totals["collectable"]) == TOTALS[style]
    assert (totals["lost"], totals["referenced"], totals["pending"]) == (0, 13173, 380)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "name",
    ["1.20.5/restore-claim-live", pytest.param("2.3.0/merge-across-live", marks=pytest.mark.ci)],
)
def test_a_process_plans_the_same(name, style, tmp_path) -> None:
    """The installed command, as a user starts it."""
    storage = unpack(name, tmp_path)
    here, there = planned(storage, style), planned(storage, style, runner=run_process)
    assert there.rows == here.rows
    assert there.code == here.code
    for part in ("jobs", "roots", "tallies", "live_set_sha256"):
        assert _without_times(there.plan[part]) == _without_times(here.plan[part])


def _without_times(part: Any) -> Any:
    """Return a part of a plan without what the moment of planning decides."""
    if isinstance(part, list):
        return [_without_times(each) for each in part]
    if isinstance(part, dict):
        return {
            k: _without_times(v) for k, v in part.items() if k not in {"cutoff", "at", "taken_at"}
        }
    return part


@pytest.mark.parametrize("style", [pytest.param("tree", marks=pytest.mark.ci), "checkpoints"])
@pytest.mark.parametrize("name", CYCLED_BRIEFLY)
def test_a_full_cycle_removes_exactly_the_planned_files(name, style, tmp_path) -> None:
    """Plan, tombstones, plan, deletion: every other byte and time stays as it was.

    Of folders only those go that hold nothing, inside the directory of a job that is over (R53).
    """
    storage = unpack(name, tmp_path)
    before = contents(storage.tree)
    first = _swept(storage, style, *WITHOUT_WAITING, delete=False)
    assert contents(storage.tree) == before
    assert set(first.values()) <= {("tombstone", "done")}
    second = _swept(storage, style, *WITHOUT_WAITING, delete=True)
    assert set(second) == set(first)
    assert set(second.values()) <= {("delete", "done")}
    gone = {f"checkpoints/{key}" if style == "checkpoints" else key for key in second}
    assert gone == storage.collectable()
    left = contents(storage.tree)
    assert left == {k: v for k, v in before.items() if k in left}
    went = before.keys() - left.keys() - gone
    assert all(before[key] is None and _is_of_an_ended_job(key, storage) for key in went)
    assert gone.isdisjoint(left)
    assert all((storage.tree / path).is_file() for path in storage.truth["referenced"])


def _is_of_an_ended_job(key: str, storage: Storage) -> bool:
    """Return whether a folder is inside the directory of a job that is declared over."""
    parts = key.split("/")
    return len(parts) > 2 and parts[1] in storage.ended_jobs


@pytest.mark.parametrize("name", NAMES if IS_NIGHTLY else CYCLED[:2])
def test_a_sweep_by_the_plans_listing_does_what_one_that_lists_does(name, tmp_path) -> None:
    """Tombstones, then deletions: the same codes, the same outcomes, and the same files left."""
    ways: list[list[object]] = []
    for way in ((), ("--relist",)):
        folder = tmp_path / str(len(ways))
        folder.mkdir()
        storage = unpack(name, folder)
        found = [
            _outcomes(storage, "checkpoints", *WITHOUT_WAITING, delete=delete, way=way)
            for delete in (False, True)
        ]
        ways.append([*found, sorted(contents(storage.tree))])
    assert ways[0] == ways[1]


def _swept(storage: Storage, style: str, *options: str, delete: bool) -> dict[str, tuple[str, str]]:
    """Plan and sweep; return what was asked of each key, and what became of it."""
    code, found = _outcomes(storage, style, *options, delete=delete)
    assert code == 0
    return found


def _outcomes(
    storage: Storage, style: str, *options: str, delete: bool, way: tuple[str, ...] = ()
) -> tuple[int, dict[str, tuple[str, str]]]:
    """Plan and sweep; return the exit code, and what became of each key that was asked for."""
    out = Path(tempfile.mkdtemp(dir=storage.tree.parent, prefix="plan-"))
    ran = run("plan", *plan_options(storage, style), "--out", out, *options)
    assert ran.code in {0, 4}, ran.err
    ran = run("sweep", out, *(["--delete"] if delete else []), *way)
    if not (out / "outcomes.parquet").exists():
        return ran.code, {}
    rows = pq.read_table(out / "outcomes.parquet").to_pylist()
    return ran.code, {row["key"]: (row["action"], row["outcome"]) for row in rows}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("release", REST_RELEASES)
def test_a_running_job_that_flink_shows_is_collected(release, style, tmp_path) -> None:
    """With the answers that Flink gave at the moment of the picture, nothing blocks the job."""
    storage = unpack(f"{release}/live-pending", tmp_path)
    with RestServer(saved_routes(f"{release}/live-pending")) as server:
        result = planned(storage, style, "--flink-rest", server.url)
    (job,) = result.plan["jobs"]
    assert (job["job_id"], job["state"]) == (storage.live_job, "running")
    assert (job["refused"], job["blocked"]) == (None, [])
    assert {"source": "rest", "uri": server.url} == {
        name: job["evidence"][-1][name] for name in ("source", "uri")
    }
    assert result.removals == storage.collectable()
    assert len(result.removals) > 9


@pytest.mark.parametrize("release", REST_RELEASES)
def test_a_job_with_two_concurrent_checkpoints_is_refused(release, tmp_path) -> None:
    """Its roots prove nothing: one pending checkpoint may need what no retained one names."""
    scenario = f"{release}/live-pending"
    storage = unpack(scenario, tmp_path)
    config = saved(scenario, "job-checkpoints-config") | {"max_concurrent": 2}
    routes = saved_routes(scenario)
    routes |= {f"/jobs/{storage.live_job}/checkpoints/config": as_json(config)}
    with RestServer(routes) as server:
        result = planned(storage, "tree", "--flink-rest", server.url)
    (job,) = result.plan["jobs"]
    assert (job["state"], job["refused"]["guard"], result.code) == ("running", "gate", 4)
    assert not result.removals
    shared = [row for row in result.rows.values() if row["job_id"] and row["scope"] == "shared"]
    assert {row["reason"] for row in shared} == {"job_refused"}


@pytest.mark.parametrize("release", REST_RELEASES)
def test_without_flinks_answers_a_running_job_is_only_reported(release, tmp_path) -> None:
    """Its orphans are shown, and no sweep deletes one."""
    storage = unpack(f"{release}/live-pending", tmp_path)
    result = planned(storage, "tree")
    (job,) = result.plan["jobs"]
    assert (job["state"], job["refused"]) == ("unknown", None)
    assert "job_state_unknown" in [each["condition"] for each in job["blocked"]]
