"""``doctor --prove``: try in a prefix of its own what a deletion relies on (R27)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import timedelta
from functools import cached_property
from typing import Any

from flinkstate.files.paths import located
from flinkstate.places.locations import Location
from orphangc import __version__
from orphangc.adapters.open import open_state_files, open_storage
from orphangc.app.commands.health import Check, CheckStatus, Finding, checked
from orphangc.app.wiring.clock import now
from orphangc.collect.state.kept_proof import write_proof
from orphangc.core.documents.storage_proof import StorageProof
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.errors import OrphanGcError, SettingsError
from orphangc.ports import DeletionStatus, Storage

PREFIX = "orphangc-proof-"
"""Beginning of the name of the folder of a proof."""

_ODD = (
    *("plain", "Case", "case", "with space", "per%41cent", "plus+plus", "a[1]", "a1", "star*"),
    *(
        "q?mark",
        "q",
        "hash#tag",
        "equals=amp&",
        "tilde~",
        "\u00fcmlaut",
        "\u65e5\u672c",
        "deep/er/file",
    ),
)
"""Names that some client decodes, folds, cuts or expands."""
_MANY = tuple(f"many/{number:04d}" for number in range(1005))
"""More names than a page of most listings has."""
_AT_ONCE = 16
_MOST_SKEW = timedelta(minutes=1)


def prove(uri: str, state: str | None) -> list[dict[str, Any]]:
    """Return the finding of every check of a storage; keep the proof if all passed.

    Args:
        uri: Place in which a folder of its own is made, and removed afterwards.
        state: State location that keeps the proof; ``None``: it is only shown.

    Raises:
        SettingsError: A place is none, or the state location is inside the other.

    """
    place = located(uri)
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


class _Proof:
    """The folder of one proof; every object in it was written by it."""

    def __init__(self, own: Location, place: Location) -> None:
        self._own, self._place = own, place
        self._files = open_state_files(own)
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
        """Check that the storage's time is that of its objects."""
        time = self._storage.now()
        at = self._write("clocked", b"1").modified_at
        if time.now is None or at is None:
            raise OrphanGcError(f"it reports no time: {time.source}")
        if abs(at - time.now) > _MOST_SKEW:
            raise OrphanGcError(f"a new object is of {at}, and its clock says {time.now}")
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
        before = self._write("replaced", b"old")
        self._write("replaced", b"new")
        (result,) = self._storage.delete([before])
        data = self._storage.read(ObjectKey("replaced"), max_bytes=10)
        if result.status is not DeletionStatus.CHANGED or data != b"new":
            raise OrphanGcError(f"a replaced object was deleted, or may be ({result.status})")
        return CheckStatus.GOOD, "an object that was replaced is not deleted"

    def failures(self) -> tuple[CheckStatus, str]:
        """Check that each key has a result of its own, and that no other object goes."""
        going, stale = self._write("going", b"1"), self._write("stale", b"1")
        bracket = self._facts("a[1]")
        asked = [going, replace(going, key=ObjectKey("absent")), replace(stale, size=2), bracket]
        results = [r for each in asked for r in self._storage.delete([each])]
        if self._storage.batch_size >= len(asked):
            self._write("going", b"1")
            again = [self._facts("going"), *asked[1:3]]
            results[:3] = self._storage.delete(again)
        gone = [each.key for each in results if each.status is DeletionStatus.DELETED]
        self._written -= {*gone}
        self._check_listing()
        said = [each.status for each in results[:3]]
        if said != [DeletionStatus.DELETED, DeletionStatus.GONE, DeletionStatus.CHANGED]:
            raise OrphanGcError(f"one deleted, one absent, one changed, and it says {said}")
        return CheckStatus.GOOD, "each key has its own result, and no other object goes"

    def undelete(self) -> tuple[CheckStatus, str]:
        """Check that a deletion can be undone, where the storage says so."""
        if not self._storage.is_versioned:
            return CheckStatus.NOTE, "no versions are kept: a deletion is final"
        (deleted,) = self._storage.delete([self._facts("plain")])
        if deleted.version_id is None:
            raise OrphanGcError(f"the deletion has no version ({deleted.error})")
        self._storage.undelete([(deleted.key, deleted.version_id)])
        if self._storage.read(deleted.key, max_bytes=10) != b"plain":
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
        """Keep the proof in a state location.

        Raises:
            SettingsError: The state location is inside the proof's folder.

        """
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

    def _write(self, name: str, data: bytes) -> StoredObject:
        self._written.add(name)
        self._files.write(name, data)
        return self._facts(name)

    def _facts(self, name: str) -> StoredObject:
        (found,) = self._storage.stat([ObjectKey(name)])
        if found is None:
            raise OrphanGcError(f"{name!r} was written and is not there")
        return found

    def _listed(self) -> list[str]:
        batches = (batch.to_pylist() for batch in self._storage.objects())
        return sorted(row["key"] for rows in batches for row in rows if row["size"] is not None)

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
