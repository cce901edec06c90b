"""One soak: story, collectors and watcher at once; then every checkpoint is held to account."""

import gzip
import multiprocessing
import os
import random
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from integration.harness.flinkbed.cluster import Cluster, SavepointFormat
from integration.harness.flinkbed.exporting import QUICK_EXPORTS
from integration.harness.flinkbed.object_store import s3_jar, s3_settings
from integration.harness.flinkbed.plugin import plugin_jar
from integration.harness.flinkbed.settings import Workload
from integration.harness.flinkbed.truth import UUID
from integration.harness.flinkbed.waiting import FlinkbedError
from safety.soak.bucket import Bucket, witness
from safety.soak.collectors import Collectors, Commands, Told, by_hand, scheduled
from safety.soak.events import Deeds
from safety.soak.expected_state import audited
from safety.soak.layouts import LAYOUTS
from safety.soak.places import BucketPlaces, Place, Places
from safety.soak.reference_tracker import FLAT, Verdict, judge, removed_files, watch
from safety.soak.soak_scenario import INTERVAL, Story
from support import speed

WORKLOAD = Workload(keys=120, payload=300, records_per_second=150)
_LINES = 2
_SLOTS = 6
# a checkpoint stays for over four seconds; a listing, with Flink's cached answers, takes two
_CONFIG = {"execution.checkpointing.num-retained": "4"}
_CLEAN_SECONDS = 300.0
_CYCLE_SECONDS = 15.0
_MISSED = re.compile(r"FileNotFoundException: (?:s3:/)?(/\S+)(?: \(No such file|$)", re.MULTILINE)
_BUCKET_LOOK_SECONDS = 0.3

Kinds = Callable[[Places, str], Sequence[Commands]]
Tale = Callable[[Story, float], None]


def two_collectors(places: Places, rest: str) -> Sequence[Commands]:
    """Return a collector on schedule and one by hand, over the same state location."""
    return scheduled(places, rest), by_hand(places, rest)


@dataclass(slots=True)
class Report:
    """What a soak came to."""

    seconds: float  # the story took
    deeds: Deeds  # what happened to the jobs
    told: Told  # what collectors said
    verdict: Verdict  # what is true of them
    restored: int = 0  # checkpoints and savepoints that Flink restored and whose content was right
    # those that it did not restore, or with wrong content, and why
    failed: dict[str, str] = field(default_factory=dict)
    # those of which a file is gone that no collector removed
    damaged_by_flink: list[str] = field(default_factory=list)
    of_living: int = 0  # files that collectors removed while their job was alive
    records: int = 0  # numbers that the newest checkpoints have accounted for
    wrong_results: list[str] = field(default_factory=list)  # what jobs themselves found wrong
    left: set[str] = field(default_factory=set)  # orphans that were still there at the end

    def __str__(self) -> str:
        deeds, told = self.deeds, self.told
        return (
            f"{self.seconds:.0f} s, {deeds.checkpoints} checkpoints completed,"
            f" killed {_listed(deeds.kills)}, restored {_listed(deeds.restores)},"
            f" {deeds.rescales} rescales, savepoints {_listed(deeds.savepoints)},"
            f" {deeds.pruned} checkpoints deleted by hand; {told.cycles} cycles,"
            f" exits {_listed(told.codes)}, {told.killed} collectors killed,"
            f" refusals {_listed(told.refusals)}; {len(self.verdict.removed)} files collected"
            f" ({self.of_living} of living jobs),"
            f" {len(self.verdict.wrong)} WRONG, {len(self.left)} orphans left;"
            f" {self.verdict.checkpoints} checkpoints watched, {self.restored} restored and right,"
            f" {len(self.failed)} not, {len(self.damaged_by_flink)} damaged by Flink;"
            f" {self.records} records in the newest, {len(self.wrong_results)} wrong results"
        )


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {what}" for what, n in sorted(counts.items())) or "none"


def soak(
    version: str,
    work: Path,
    *,
    seconds: float,
    seed: int,
    kinds: Kinds = two_collectors,
    tale: Tale = Story.go_on,
    has_registry: bool = False,
    layout: str = "flat",
    concurrent: int = 1,
    bucket: Bucket | None = None,
) -> Report:
    """Soak one version; return what came of it, right or wrong.

    Args:
        version: Of Flink.
        work: An empty folder.
        seconds: How long things happen; what is begun is brought to its end.
        seed: Of all that is random, but not of what Flink does and when.
        kinds: The collectors.
        tale: What happens.
        has_registry: Whether registries are exported; then four checkpoints may be pending at once.
        layout: Name of the layout in which the jobs write their files.
        concurrent: Checkpoints that may be pending at once, 1 or 4.
        bucket: A new bucket for all of it; a folder otherwise.

    """
    with ExitStack() as stack:
        places = _places(work.resolve(), layout, bucket, stack)
        places.make()
        if has_registry:
            places.registry.mkdir()
        settings = places.layout.settings(places.flink_root, 4 if has_registry else concurrent)
        cluster = _cluster(version, places, settings, bucket, has_registry=has_registry)
        stack.enter_context(cluster)
        collectors = Collectors(places, kinds(places, cluster.rest_url), seed)
        collectors.is_sparing = tale is Story.only_stall
        story = Story(
            cluster,
            places,
            random.Random(seed),
            calm=lambda cycles: collectors.wait_for(cycles, cycles * speed.scaled(_CYCLE_SECONDS)),
            config=settings,
        )
        with _watched(places):
            story.begin(_LINES)
            begun = time.monotonic()
            with collectors.at_work():
                tale(story, begun + seconds)
                lasted = time.monotonic() - begun
                newest = story.finish()
                is_full = not collectors.is_sparing
                collectors.is_sparing = True
                left = _cleaned(places, collectors.told) if is_full else set()
        told, verdict = collectors.told, judge(places.seen, places.removals, _folders(places))
        report = Report(lasted, story.deeds, told, verdict, left=left)
        report.of_living = sum(
            places.was_alive(path, at) for at, path in removed_files(places.removals)
        )
        _restore_all(cluster, places, settings, report)
        for checkpoint in newest:
            _go_on_from(cluster, places, checkpoint, report, settings=settings)
        report.wrong_results = [each.read_text() for each in cluster.control.glob("wrong-*")]
    return report


def _places(work: Path, layout: str, bucket: Bucket | None, stack: ExitStack) -> Places:
    if bucket is None:
        return Places(work, LAYOUTS[layout])
    stack.callback(bucket.close)
    url = stack.enter_context(witness(bucket.url, work / "removals.tsv"))
    return BucketPlaces(work, LAYOUTS[layout], bucket=bucket, collected_at=url)


def _folders(places: Places) -> str:
    """Return the pattern of the names of folders of which files may go."""
    more = {"changelog": "|dstl|taskowned", "forst": "|db"}
    return FLAT + more.get(places.layout.name, "")


def _cluster(
    version: str,
    places: Places,
    settings: Mapping[str, str],
    bucket: Bucket | None,
    *,
    has_registry: bool,
) -> Cluster:
    plugins = [plugin_jar(version)] if has_registry else []
    exporting = QUICK_EXPORTS | {"orphangc.registry.dir": f"file://{places.registry}"}
    config = _CONFIG | dict(settings) | (exporting if has_registry else {})
    libraries = [*plugins]
    if bucket is not None:
        config |= s3_settings(bucket.url, bucket.access_key, bucket.secret_key)
        libraries.append(s3_jar(version, places.work))
    return Cluster(
        version,
        places.work / "flink",
        config=config,
        slots=_SLOTS,
        workload=WORKLOAD,
        libraries=libraries,
        jobmanager_options=[f"-javaagent:{jar}" for jar in plugins],
        job=places.layout.job,
        job_parts=places.layout.parts,
    )


@contextmanager
def _watched(places: Places) -> Iterator[None]:
    """Have every checkpoint written down."""
    spawned = multiprocessing.get_context("spawn")
    stop = spawned.Event()
    pauses = [_BUCKET_LOOK_SECONDS] if isinstance(places, BucketPlaces) else []
    arguments = (list(places.trees), places.seen, stop, *pauses)
    watcher = spawned.Process(target=watch, args=arguments)
    watcher.start()
    try:
        yield
        assert watcher.is_alive(), "the watcher has ended: nothing is proven"
    finally:
        stop.set()
        watcher.join(speed.command())
        watcher.kill()


def _cleaned(places: Places, told: Told) -> set[str]:
    """Wait until nothing of the jobs, which are all over, is left that no root names.

    And until the collectors have met at their lock, which takes them long on a busy machine.
    """
    end = time.monotonic() + speed.scaled(_CLEAN_SECONDS)
    while (left := _unnamed(places)) or not told.lock_refusals:
        if time.monotonic() > end:
            break
        time.sleep(1)
    return left


def _unnamed(places: Places) -> set[str]:
    snapshots = places.registry.glob("*/snapshots/*")  # of ended jobs as well
    texts = (gzip.decompress(each.read_bytes()).decode() for each in snapshots)
    return places.unnamed({hit for text in texts for hit in UUID.findall(text)})


def _restore_all(
    cluster: Cluster, places: Places, settings: Mapping[str, str], report: Report
) -> None:
    """Restore all that is retained; Flink is to blame only for what no collector removed."""
    removed = {path for _, path in removed_files(places.removals)}
    for name, why in list(report.deeds.unexplained.items()):
        if is_flinks_own(why, removed, places.exists):
            report.damaged_by_flink.append(name)
            del report.deeds.unexplained[name]
    there = places.checkpoints()
    damaged = {str(each): gone for each in there if (gone := places.gone_from(each))}
    for name, gone in (damaged | report.deeds.damaged).items():
        if gone & removed:
            report.failed[name] = f"{min(gone & removed)} was removed"
        else:
            report.damaged_by_flink.append(name)
    for checkpoint in sorted((each for each in there if str(each) not in damaged), key=str):
        why = _failure(cluster, checkpoint, places, settings)
        if not why:
            report.restored += 1
        elif is_flinks_own(why, removed, places.exists):
            report.damaged_by_flink.append(str(checkpoint))
        else:
            report.failed[str(checkpoint)] = why


def is_flinks_own(
    why: str, removed: Collection[str], exists: Callable[[str], bool] = os.path.exists
) -> bool:
    """Return whether Flink misses a file that is not there, and no collector removed one so named.

    After a restore from a native savepoint, checkpoints of 1.20 go on naming the savepoint's files
    by relative paths, as if they lay beside their own ``_metadata``.
    """
    missed = set(_MISSED.findall(why))
    names = {path.rpartition("/")[2] for path in removed}
    return bool(missed) and not any(
        exists(path) or path.rpartition("/")[2] in names for path in missed
    )


def _failure(
    cluster: Cluster, checkpoint: Place, places: Places, settings: Mapping[str, str]
) -> str:
    try:
        audited(cluster, checkpoint, places.work / "audit", settings).check(WORKLOAD.keys)
    except (AssertionError, FlinkbedError) as err:
        return str(err)
    return ""


def _go_on_from(
    cluster: Cluster,
    places: Places,
    checkpoint: Place,
    report: Report,
    *,
    settings: Mapping[str, str],
) -> None:
    """Let a job run on for a while, from its sources' offsets as well; its results are right."""
    layout = places.layout
    try:
        before = audited(cluster, checkpoint, places.work / "audit", settings).records
        job = cluster.submit(
            places.work / "after",
            checkpoint,
            "CLAIM" if layout.has_log else "NO_CLAIM",
            parallelism=3,
            interval=INTERVAL,
            config=settings,
        )
        cluster.wait_for_checkpoints(job, 2)
        how: SavepointFormat = "CANONICAL" if layout.is_canonical else "NATIVE"
        last = cluster.stop_with_savepoint(job, places.work / "last", how)
        audit = audited(cluster, last, places.work / "audit", settings)
        audit.check(WORKLOAD.keys)
        assert audit.records > before, "no record came after it"
        report.records += audit.records
    except (AssertionError, FlinkbedError) as err:
        removed = {path for _, path in removed_files(places.removals)}
        if not is_flinks_own(str(err), removed, places.exists):
            report.failed[f"{checkpoint}, gone on from"] = str(err)
