"""Why no cycle lists only the id ranges that changed (decision 26): what it deletes, one loss.

The lister that was proposed stands here, as generous as it can be: new ids, ids of which any file
was dropped, and all that is outside ``shared/`` are listed, and the rest comes from the last full
listing. The full cycle is the referee.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orphangc.adapters.rows.earlier_storage import EarlierStorage
from orphangc.core.model.types import StoredObject
from orphangc.ports import EarlierListing
from safety.simulation.cloud import COLLECTED, Storage, _batch, facts
from safety.simulation.collecting import Collector, Saved
from safety.simulation.faults import LossError
from safety.simulation.flinks import STEPS, Job
from safety.simulation.world import World

_STEPS = sorted(STEPS.keys() - {"savepoint"})


class IdRanges(EarlierStorage):
    """Lists ranges of changed ids, and takes the others from an earlier full listing."""

    def __init__(
        self, storage: Storage, before: list[StoredObject], changed: set[str], now: datetime
    ) -> None:
        super().__init__(storage, is_inventoried=False)
        self.before, self.changed, self.now_ = before, changed, now

    @property
    def earlier(self) -> EarlierListing:
        """Call it as new as the cycle: no bound of an inventory keeps new files."""
        directories = {f"s3://b/ck/{each.key.partition('/')[0]}" for each in self.before}
        return EarlierListing(
            source="id ranges", begun_at=self.now_, directories=frozenset(directories)
        )

    def listed(self) -> Iterator[pa.RecordBatch]:
        """Yield what range requests show, and the earlier rows of all other ranges."""
        for batch in self._storage.objects():
            yield batch.filter(pa.array([self._is_asked(key) for key in batch["key"].to_pylist()]))
        yield _batch([each for each in self.before if not self._is_asked(each.key)])

    def later_folders(self, prefix: str, after: str) -> list[str]:
        """Return what S3 can list without listing the files: the folders behind all names."""
        return [name for name in self._storage.folder(prefix).folders if name > after]

    def _is_asked(self, key: str) -> bool:
        return "/shared/" not in key or id_of(key) in self.changed


def id_of(key: str) -> str:
    """Return the checkpoint id that a name in ``shared/`` begins with."""
    return key.partition("/shared/")[2].partition("_")[0]


class Bucket(World):
    """One job whose file names begin with ids, and both ways to list."""

    def __init__(self) -> None:
        super().__init__()
        self.set_up(0, order=0)
        self.job = self.flinks.start("ck", "s3://b/", retained_most=2, has_ids=1)
        self._go_on(Job.round, Job.grow, Job.round, Job.round)
        self.before = self.everything()

    def everything(self) -> list[StoredObject]:
        """Return what a full listing shows."""
        blobs = sorted(self.flinks.cloud.blobs.items())
        return [facts(key[3:], blob) for key, blob in blobs if key.startswith("ck/")]

    def changed(self) -> set[str]:
        """Return new ids, and those of files that no checkpoint names (any more)."""
        old = {id_of(each.key) for each in self.before}
        dropped = {id_of(e.key) for e in self.before if f"ck/{e.key}" not in self.flinks.needed()}
        new = {str(number) for number in range(self.job.next_id + 1)} - old
        return dropped | (new - {"0"})

    def full(self, verb: Callable[[Collector], object]) -> object:
        """Return what a collector does that lists everything."""
        return self.good_run(verb)

    def by_ids(self, verb: Callable[[Collector], object]) -> object:
        """Return what a collector does that lists id ranges."""

        def limited(collector: Collector) -> object:
            make = collector._environment
            changed, now = self.changed(), self.flinks.cloud.now

            def environment():
                found = make()
                return replace(found, storage=IdRanges(found.storage, self.before, changed, now))

            collector._environment = environment
            return verb(collector)

        return self.good_run(limited)

    def keep_in_shared(self) -> None:
        """Let a person keep a checkpoint's metadata in a folder that sorts among the ids."""
        root = self.job.retained[0][0]
        copy = replace(root, folder=f"{self.job.directory}/shared/0_keep")
        self.flinks.cloud.put(copy.key, self.flinks.cloud.blobs[root.key].data)
        self.flinks.roots[copy.folder] = copy

    def leave_it_behind(self) -> None:
        """Let the job drop the files of that checkpoint, and forget to delete them."""
        self._go_on(Job.compact, Job.compact, Job.round, Job.round, Job.round)
        for key in [each for each in self.job.chores if each.endswith("_metadata")]:
            self.flinks.cloud.drop(key)
        self._go_on(Job.kill_jobmanager, Job.round, Job.round, Job.round)


def days(bucket: Bucket, way: Callable) -> None:
    """Make a run a day: tombstones, then deletions."""
    for _ in range(3):
        way(lambda collector: collector.run())
        bucket._go_on(Job.round)
        bucket.flinks.cloud.passes(bucket.site.settings.quarantine_period)
    bucket.flinks.check()


def test_what_was_left_behind_goes_either_way() -> None:
    """Without the kept checkpoint, both lists show the orphans: the stories below are of it."""
    for way in ("full", "by_ids"):
        bucket = Bucket()
        bucket.leave_it_behind()
        days(bucket, getattr(bucket, way))
        assert bucket.flinks.cloud.collected, way


def test_a_full_listing_keeps_what_a_checkpoint_in_shared_names() -> None:
    """It shows the folder, which refuses the job (R2), and the ``_metadata``, which is read."""
    bucket = Bucket()
    bucket.keep_in_shared()
    bucket.leave_it_behind()
    days(bucket, bucket.full)
    assert not bucket.flinks.cloud.collected


def test_a_listing_of_id_ranges_deletes_what_a_checkpoint_in_shared_names() -> None:
    """Its folder is in no range that changed; tombstone and deletion rest on one old listing."""
    bucket = Bucket()
    bucket.keep_in_shared()
    bucket.leave_it_behind()
    with pytest.raises(LossError, match="a root names it"):
        days(bucket, bucket.by_ids)


def removals(saved: Saved) -> set[str]:
    rows = pa.Table.from_batches(saved.rows).to_pylist() if saved.rows else []
    return {row["key"] for row in rows if row["action"] in {"tombstone", "delete"}}


@settings(max_examples=12)
@given(st.lists(st.sampled_from(_STEPS), min_size=5, max_size=25))
def test_where_nobody_keeps_anything_in_shared_both_find_the_same_orphans(steps) -> None:
    """Over histories of one job, on objects that are there: so that one loss is all there is."""
    bucket = Bucket()
    bucket.let_work([(0, step) for step in steps])
    bucket._go_on(Job.leak, Job.kill_jobmanager, Job.round, Job.round, Job.round)
    by_full = removals(bucket.full(lambda collector: collector.plan()))
    by_ids = removals(bucket.by_ids(lambda collector: collector.plan()))
    assert by_ids == by_full
    assert all(COLLECTED.fullmatch(f"ck/{key}") for key in by_ids)
