"""Two hundred jobs of some months under a policy: what they free, and what stays with its reason.

Fifty applications of four jobs each, in five ways: restored from a retained checkpoint; from a
claimed one, which Flink deleted since; from a savepoint; rolled back to the first job; and forked,
where the loser is declared dead. At ``88c05888``, before the rule of what an edge covers, ten of
them freed 30,000 bytes; now they free 40,000: those of the forks, which were kept whole.
"""

from collections import Counter
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cli.helpers import DAY, Bed, Job, as_json, flink, metadata, now, run, write
from support.rest_server import RestServer
from unit.flinkstate.metadata.properties_by_hand import checkpoint_properties

SLOTS, JOBS, SIZE = 50, 4, 1_000
RETAINED, CLAIMED, SAVEPOINT, ROLLED_BACK, FORKED = range(5)


class Fleet:
    """Jobs that one session cluster ran, and still shows."""

    def __init__(self, bed: Bed) -> None:
        self.bed = bed
        self.dead: list[str] = []
        self.routes: dict[str, Any] = {}
        self._shown: list[dict[str, str]] = []
        for slot in range(SLOTS):
            self._run(slot, slot % 5)
        self.routes["/jobs"] = as_json({"jobs": self._shown})

    def _run(self, slot: int, way: int) -> None:
        jobs = [self._job(slot, number) for number in range(JOBS)]
        origin: tuple[int, Path] | None = None
        for number, job in enumerate(jobs):
            is_last, age = number == JOBS - 1, (200 - 40 * number) * DAY
            newest = timedelta(hours=1) if is_last else age - 30 * DAY
            base = 100 * (number + 1)
            if way == ROLLED_BACK and is_last:
                origin = (101, jobs[0].folder / "chk-101")
            if way == FORKED and number == JOBS - 2:
                self.dead.append(job.id)
            self._checkpoint(job, base, newest + timedelta(hours=2))
            self._checkpoint(job, base + 1, newest)
            restored = origin
            if not (way == FORKED and number == JOBS - 2):
                origin = self._next_origin(way, job, base + 1, newest, is_last=is_last)
            self._show(job, base + 1, age, restored, is_over=not is_last)

    def _next_origin(
        self, way: int, job: Job, newest: int, age: timedelta, *, is_last: bool
    ) -> tuple[int, Path]:
        folder = job.folder / f"chk-{newest}"
        if way == CLAIMED and not is_last:
            (folder / "_metadata").unlink()
            folder.rmdir()
        if way == SAVEPOINT and not is_last:
            folder = self._savepoint(job, newest)
            data = metadata(newest + 1, [])
            write(folder / "_metadata", data, age - timedelta(hours=1))
            return newest + 1, folder
        return newest, folder

    def _savepoint(self, job: Job, newest: int) -> Path:
        return self.bed.folder / "savepoints" / f"savepoint-{job.id[:6]}-{newest:012x}"

    def _job(self, slot: int, number: int) -> Job:
        job_id = f"{0xABCD00 + slot * JOBS + number:06x}" + "deadbeef" * 3 + "01"
        return Job(job_id, self.bed.root / job_id)

    def _checkpoint(self, job: Job, number: int, age: timedelta) -> None:
        name = f"{number:08x}-0000-4000-8000-{int(job.id[:6], 16):012x}"
        file = write(job.folder / "shared" / name, b"x" * SIZE, age)
        job.checkpoint(number, file, age=age, properties=checkpoint_properties())

    def _show(
        self,
        job: Job,
        newest: int,
        age: timedelta,
        origin: tuple[int, Path] | None,
        *,
        is_over: bool,
    ) -> None:
        began = int((now() - age).timestamp() * 1000)
        status = "CANCELED" if is_over else "RUNNING"
        routes = flink(job, completed=newest, started_ms=began, restored=origin, status=status)
        shown = None
        if origin is not None:
            shown = {"id": origin[0], "is_savepoint": False, "external_path": f"file:{origin[1]}"}
            shown["restore_timestamp"] = began
        completed = {
            "id": newest,
            "status": "COMPLETED",
            "is_savepoint": False,
            "trigger_timestamp": began + 1,
            "external_path": f"file:{job.folder}/chk-{newest}",
            "discarded": not (job.folder / f"chk-{newest}").exists(),
        }
        latest = {"completed": completed, "savepoint": None, "restored": shown}
        savepoint = completed | {"id": newest + 1, "is_savepoint": True, "discarded": False}
        savepoint["external_path"] = f"file:{self._savepoint(job, newest)}"
        taken = [savepoint] if self._savepoint(job, newest).exists() else []
        counts = {"in_progress": 0, "completed": newest}
        statistics = {"counts": counts, "latest": latest, "history": [*taken, completed]}
        routes[f"/jobs/{job.id}/checkpoints"] = as_json(statistics)
        self.routes |= routes
        self._shown.append({"id": job.id, "status": status})


@pytest.mark.ci
def test_what_two_hundred_jobs_free(tmp_path) -> None:
    fleet = Fleet(Bed(tmp_path))
    dead = [word for each in fleet.dead for word in ("--dead", each)]
    with ExitStack() as stack:
        server = stack.enter_context(RestServer(fleet.routes))
        place = (fleet.bed.root, "--state", fleet.bed.state, "--closed-world")
        extra = ("--extra-roots", tmp_path / "savepoints", "--flink-rest", server.url)
        first = run("plan", *place, *extra)
        assert first.code == 0, first.err
        ran = run("expire", *place, *extra, "--keep-last", "1", *dead)
    assert ran.code == 0, ran.err
    report = ran.json["expiry"]
    why: Counter[tuple[int, str]] = Counter()
    for lineage in report["lineages"]:
        for each in lineage["checkpoints"]:
            slot = (int(each["job_id"][:6] or "0", 16) - 0xABCD00) // JOBS
            why[slot % 5, each["reason"]] += 1
    each_slot = Counter({key: count // (SLOTS // 5) for key, count in why.items()})
    gone = {key: n for key, n in each_slot.items() if key[1] in {"superseded", "lineage_dead"}}
    assert gone == {
        (RETAINED, "superseded"): 5,
        (CLAIMED, "superseded"): 3,
        (SAVEPOINT, "superseded"): 6,
        (ROLLED_BACK, "superseded"): 1,
        (FORKED, "superseded"): 3,
        (FORKED, "lineage_dead"): 2,
    }
    assert each_slot[ROLLED_BACK, "no_successor"] == 4, "what the job wrote since is a branch"
    assert report["expiring_bytes"] == 20 * SIZE * SLOTS // 5
