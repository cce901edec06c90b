"""``doctor --prove``: try in a prefix of its own what a deletion relies on (R27).

Objects are judged by the listing and deleted by the code of a sweep: what passes here is what runs.
"""

import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flinkstate.files.paths import located
from flinkstate.places.locations import Location
from orphangc import __version__
from orphangc.adapters.open import open_state_files, open_storage
from orphangc.adapters.rows.temporary_folder import TemporaryFolder
from orphangc.app.commands.health import Check, CheckStatus, Finding, checked
from orphangc.app.wiring.clock import now
from orphangc.collect.delete.deletion import Deletion
from orphangc.collect.delete.rate_limiter import RateLimiter
from orphangc.collect.delete.retry_queue import RetryQueue
from orphangc.collect.revalidate.revalidation import Revalidation
from orphangc.collect.runs.journal import Journal
from orphangc.collect.state.storage_proof import StorageProof, write_proof
from orphangc.collect.state.store import RootState
from orphangc.core.columns.stored_objects import stored_objects
from orphangc.core.model.rate import DeletionRate
from orphangc.core.model.types import Action, AreaName, ObjectKey, Outcome, StoredObject
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.errors import OrphanGcError, SettingsError
from orphangc.ports import VERDICT_SCHEMA, DeletionStatus, Storage

PREFIX = "orphangc-proof-"
"""Beginning of the name of the folder of a proof."""

_ODD = (
    *("plain", "Case", "case", "with space", "per%41cent", "plus+plus", "a[1]", "a1", "star*"),
    *("q?mark", "q", "hash#tag", "equals=amp&", "tilde~", "\u00fcmlaut", "u\u0308mlaut"),
    *("\u65e5\u672c", "deep/er/file"),
)
"""Names that some client decodes, folds, cuts or expands."""
_MANY = tuple(f"many/{number:04d}" for number in range(1005))
"""More names than a page of most listings has."""
_AT_ONCE = 16
_MOST_SKEW = timedelta(minutes=1)
_MOST_SKEW_OF_HOSTS = timedelta(minutes=15)
"""The default of ``--clock-skew``: runs are refused beyond it."""
_A_SECOND = 1000.0


def prove(uri: str, state: str | None) -> list[dict[str, Any]]:
    """Return the finding of every check of a storage; keep the proof if all passed.

    Args:
        uri: Place that is there; a folder of its own is made in it, and removed afterwards.
        state: State location that keeps the proof; ``None``: it is only shown.

    Raises:
        SettingsError: A place is none, or the state location is inside the other.
        StorageUnreachableError: The place is not there.
    """
    place = located(uri)
    open_storage(place)  # writing would make it, and the removal leave it
    kept_in = None if state is None else located(state)
    proof = _Proof(place.child(f"{PREFIX}{uuid.uuid4().hex}"), place)
    try:
        findings = [*checked(str(place), proof.checks())]
    finally:
        removed = [*checked(str(place), {"removal": proof.removal})]
    findings += removed
    if kept_in is not None and not any(each.health is CheckStatus.BAD for each in findings):
        findings += checked(str(place), {"proof": lambda: proof.keep(kept_in, findings)})
    return [asdict(each) for each in findings]


class _NothingNamed:
    """Stands for the evidence of a cycle: no checkpoint names what a proof wrote."""

    def check(self) -> Self:
        return self

    check_after = check

    def names(self, rows: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        return np.zeros(rows.num_rows, np.bool_)


class _Proof:
    def __init__(self, own: Location, place: Location) -> None:
        self._own, self._place = own, place
        self._files = open_state_files(own)
        self._begun_at = now()
        self._written: set[str] = set()

    def checks(self) -> dict[str, Check]:
        """Return the checks by name; the first one writes what others read."""
        return {
            "names": self.names,
            "order": self.order,
            "clock": self.clock,
            "lock": self.lock,
            "conditional delete": self.condition,
            "failures by key": self.failures,
            "undelete": self.undelete,
        }

    @cached_property
    def _storage(self) -> Storage:
        return open_storage(self._own, state=self._own.child("clock"))

    def names(self) -> tuple[CheckStatus, str]:
        """Check that what was written is listed at once, whole, and under its own name."""
        names = [*_ODD, *_MANY]
        self._each(lambda name: self._write(name, name.encode()), names)
        self._check_listing()
        for name, found in zip(_ODD, self._storage.stat([*map(ObjectKey, _ODD)]), strict=True):
            data = self._storage.read(ObjectKey(name), max_bytes=1000)
            if found is None or found.size != len(name.encode()) or data != name.encode():
                raise OrphanGcError(f"{name!r} is read as {data!r}")
        return CheckStatus.GOOD, f"{len(names)} objects are listed at once, each by its own name"

    def order(self) -> tuple[CheckStatus, str]:
        """Check that keys ascend, and that parts of the listing make the whole."""
        if not self._storage.is_ordered:
            return CheckStatus.NOTE, "listed as a whole, in no order"
        whole = self._range(EVERYTHING)
        cuts = (whole[len(whole) // 2], "many/05", "m", "\u00fc")
        for cut in cuts:
            if self._range(KeyRange(None, cut)) + self._range(KeyRange(cut)) != whole:
                raise OrphanGcError(
                    f"parts of the listing before and after {cut!r} are not the whole"
                )
        if whole != sorted(self._written):
            raise OrphanGcError("keys do not ascend by their bytes")
        return CheckStatus.GOOD, "keys ascend by their bytes; parts make the whole"

    def clock(self) -> tuple[CheckStatus, str]:
        """Check that the storage's time is that of all its objects, and near this machine's."""
        self._write("clocked", b"1")
        time = self._storage.now()
        if time.now is None or time.skew is None:
            raise OrphanGcError(f"it reports no time: {time.source}")
        if abs(time.skew) > _MOST_SKEW_OF_HOSTS:
            raise OrphanGcError(f"its clock says {time.now}, and this machine's {time.local}")
        first = time.now - (time.local - self._begun_at) - _MOST_SKEW
        for each in self._judged().values():
            if each.modified_at is None or not first <= each.modified_at <= time.now + _MOST_SKEW:
                raise OrphanGcError(
                    f"{each.key!r} is new and of {each.modified_at}; its clock says {time.now}"
                )
        return CheckStatus.GOOD, f"new objects have the time of its clock ({time.source})"

    def lock(self) -> tuple[CheckStatus, str]:
        """Check that of many that create one file, one does."""
        try:
            created = self._each(lambda who: self._files.create("lock", who.encode()), "abcdefgh")
            created.append(self._files.create("lock", b"late"))
        finally:
            self._files.remove("lock")
        if sum(created) != 1:
            raise OrphanGcError(f"{sum(created)} of {len(created)} created the same file")
        return CheckStatus.GOOD, "one of 8 creates a file"

    def condition(self) -> tuple[CheckStatus, str]:
        """Check that an object that was replaced stays."""
        self._write("replaced", b"old")
        before = self._shown("replaced")
        self._write("replaced", b"new")
        ((outcome, _),) = self._swept([before])
        data = self._storage.read(ObjectKey("replaced"), max_bytes=10)
        if outcome != Outcome.CHANGED or data != b"new":
            raise OrphanGcError(f"a replaced object was deleted, or may be ({outcome})")
        return CheckStatus.GOOD, "an object that was replaced is not deleted"

    def failures(self) -> tuple[CheckStatus, str]:
        """Check that each key has a result of its own, and that no other object goes."""
        for name in ("going", "stale"):
            self._write(name, b"1")
        absent = replace(self._shown("going"), key=ObjectKey("absent"))
        for is_alone in (True, False):
            self._write("going", b"1")
            asked = [absent, self._shown("going"), replace(self._shown("stale"), size=2)]
            parts = [[each] for each in asked] if is_alone else [asked]
            said = [outcome for part in parts for outcome, _ in self._swept(part)]
            self._written.discard("going")
            self._check_listing()
            if said != [Outcome.GONE, Outcome.DONE, Outcome.CHANGED]:
                raise OrphanGcError(f"one absent, one deleted, one changed, and it says {said}")
        ((bracket, _),) = self._swept([self._shown("a[1]")])
        if bracket == Outcome.DONE:
            self._written.discard("a[1]")
        self._check_listing()
        return CheckStatus.GOOD, "each key has its own result, and no other object goes"

    def undelete(self) -> tuple[CheckStatus, str]:
        """Check that a deletion can be undone, where the storage says so."""
        if not self._storage.is_versioned:
            return CheckStatus.NOTE, "no versions are kept: a deletion is final"
        plain = self._shown("plain")
        ((outcome, version),) = self._swept([plain])
        if version is None:
            raise OrphanGcError(f"the deletion has no version ({outcome})")
        self._storage.undelete([(plain.key, version)])
        if self._storage.read(plain.key, max_bytes=10) != b"plain":
            raise OrphanGcError("what was deleted did not come back")
        return CheckStatus.GOOD, "what was deleted came back"

    def removal(self) -> tuple[CheckStatus, str]:
        """Remove all that was written, and the folders."""
        self._each(self._files.remove, sorted(self._written))
        left = self._listed() if self._written else []
        if left:
            raise OrphanGcError(f"{self._own} could not be removed: {len(left)} objects are left")
        if not self._storage.has_folders:
            return CheckStatus.GOOD, "removed; a storage with versions or folders keeps those"
        for key in self._storage.empty_folders(self._storage.folder().folders, lambda _: True):
            self._storage.remove_empty(key)
        result = open_storage(self._place).remove_empty(self._own.name)
        if result.status is not DeletionStatus.DELETED:
            raise OrphanGcError(f"{self._own} could not be removed")
        return CheckStatus.GOOD, "removed"

    def keep(self, state: Location, findings: Sequence[Finding]) -> tuple[CheckStatus, str]:
        """Keep the proof in a state location; ``SettingsError`` if that is in its folder."""
        if self._own.contains(state):
            raise SettingsError(f"{state} is inside {self._own}")
        proof = StorageProof(
            storage=str(self._place.top),
            proven_at=now(),
            tool_version=__version__,
            client=self._storage.client,
            checks=tuple(each.check for each in findings),
        )
        write_proof(open_state_files(state), self._place, proof)
        return CheckStatus.GOOD, f"kept in {state}: {proof.words(now())}"

    def _write(self, name: str, data: bytes) -> None:
        self._written.add(name)
        self._files.write(name, data)
        if self._storage.stat([ObjectKey(name)]) == [None]:
            raise OrphanGcError(f"{name!r} was written and is not there")

    def _judged(self) -> dict[ObjectKey, StoredObject]:
        found = (each for batch in self._storage.objects() for each in stored_objects(batch))
        return {each.key: each for each in found if each.size is not None}

    def _shown(self, name: str) -> StoredObject:
        """Return an object as the listing shows it, which is how a sweep knows it."""
        found = self._judged().get(ObjectKey(name))
        if found is None:
            raise OrphanGcError(f"{name!r} was written and is not listed")
        return found

    def _listed(self) -> list[ObjectKey]:
        return sorted(self._judged())

    def _swept(self, judged: Sequence[StoredObject]) -> list[tuple[str, str | None]]:
        """Return outcome and version of each object, in order of keys, after a sweep of them.

        No checkpoint is asked: none names what the proof wrote.
        """
        rows = [
            {
                "job_id": "",
                "key": each.key,
                "scope": AreaName.SHARED,
                "size": each.size,
                "modified_at": each.modified_at,
                "etag": each.etag,
                "checkpoint_id": None,
                "action": Action.DELETE,
                "reason": "proof",
            }
            for each in sorted(judged, key=lambda each: each.key)
        ]
        outcomes: list[dict[str, Any]] = []
        due = pa.RecordBatch.from_pylist(rows, schema=VERDICT_SCHEMA)
        with TemporaryFolder() as folder:
            journal = Journal(RootState(open_state_files(str(Path(folder))), self._own), "proof")
            deletion = Deletion(
                storage=self._storage,
                revalidation=cast("Revalidation", _NothingNamed()),
                journal=journal,
                limiter=RateLimiter(DeletionRate.of(_A_SECOND, self._storage.batch_size)),
                at=now(),
                due=RetryQueue(iter([due])),
                record=lambda done: outcomes.extend(done.to_pylist()),
                progress=lambda *_: None,
            )
            stopped_by = deletion.carry_out()
        if stopped_by is not None:
            raise stopped_by
        outcomes.sort(key=lambda row: str(row["key"]))
        return [(row["outcome"], row["version_id"]) for row in outcomes]

    def _check_listing(self) -> None:
        listed, written = self._listed(), sorted(self._written)
        if listed != written:
            lacks = sorted({*written} - {*listed})[:3]
            raise OrphanGcError(
                f"{len(written)} objects were written and {len(listed)} listed: it lacks {lacks},"
                f" and has {sorted({*listed} - {*written})[:3]}"
            )

    def _range(self, within: KeyRange) -> list[str]:
        return [key for batch in self._storage.pages(within) for key in batch["key"].to_pylist()]

    @staticmethod
    def _each(work: Callable[[str], Any], names: Iterable[str]) -> list[Any]:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return [*pool.map(work, names)]
