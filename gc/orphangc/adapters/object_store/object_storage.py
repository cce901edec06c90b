"""One storage root in a bucket of an object store.

Present facts of many objects are taken from a listing where keys are close together, else by HEAD.
A HEAD request answers for one object; a page of a listing answers for a thousand and costs as much
as a dozen HEAD requests. Both show the present objects, with the same facts.

A deletion is sent once. The caller knows the rate of all requests, and retries more slowly.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
import structlog

from flinkstate.text.redaction import one_line
from orphangc.adapters.object_store.answer_clock import store_time
from orphangc.adapters.object_store.bucket import (
    UNSUPPORTED,
    Bucket,
    ConditionsRefusedError,
    PageRequest,
    RequestError,
    each,
    result_of,
)
from orphangc.adapters.object_store.listing import all_pages, range_rows
from orphangc.core.columns.stored_objects import stored_objects
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.errors import NotReportedError, StorageUnreachableError
from orphangc.ports import DeletionResult, DeletionStatus, Folder, StoreTime

_LAST = "\U0010ffff"
"""Sorts after every name."""
_NOTHING_DONE = {DeletionStatus.FAILED, DeletionStatus.GONE}
_PAGES_A_BATCH = 20
_NO_TEXT = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]|^$")
"""Keys that neither XML nor a URL can hold."""
_FEWEST = 32
"""Fewer objects get a HEAD request each, all at once."""
_KEYS_A_PAGE = 12
"""If a page holds fewer wanted objects, HEAD requests cost less."""
_ODD = re.compile(r"[^ -\[\]-~]")
"""A listing writes bytes that are no UTF-8 with a backslash, so such a key is ambiguous."""

HeadResult = StoredObject | Exception | None

_log = structlog.get_logger()


class ObjectStorage(Bucket):
    """One storage root in a bucket; may be used by several threads at once."""

    has_hidden = True
    at_once = 16
    buckets_right = "to list the buckets of the account"
    _may_list = True
    _is_head_refused = False

    @cached_property
    def is_ordered(self) -> bool:  # type: ignore[override]
        """Return whether the store lists in order from anywhere, as it shows itself."""
        with self.translated("list"):
            return self.shows_order()

    def objects(self, prefix: str = "") -> Iterator[pa.RecordBatch]:
        """Yield every object, and folders where they are real; see ``Storage``."""
        pages = (page.rows for page in all_pages(self, PageRequest(self._prefix(prefix))))
        while held := [*islice(pages, _PAGES_A_BATCH)]:  # single pages would be too many batches
            if any(rows.num_rows for rows in held):
                yield pa.concat_batches(held)

    def pages(self, within: KeyRange = EVERYTHING) -> Iterator[pa.RecordBatch]:
        """Yield the objects of a key range in ascending order, page by page; see ``Storage``."""
        return range_rows(self, within) if self.is_ordered else super().pages(within)

    def folder(self, prefix: str = "") -> Folder:
        """Return one level; the folder's own marker is left out.

        Raises:
            StorageUnreachableError: As ``Storage.folder``; also if the store shows other levels,
                as one does that knows no delimiter.
        """
        start = self._prefix(prefix)
        own = self.relative(start)
        folders: list[str] = []
        objects: list[StoredObject] = []
        for page in all_pages(self, PageRequest(start, delimiter="/")):
            found = [each for each in stored_objects(page.rows) if each.key != own]
            folders += [whole[len(start) :] for whole in page.folders]
            folders += [each.key[len(own) :] for each in found if each.size is None]  # its own row
            objects += [each for each in found if each.size is not None]
        odd = [each for each in folders if each.partition("/")[1:] != ("/", "")]
        odd += [each.key for each in objects if "/" in each.key[len(own) : -1]]
        if odd:
            raise StorageUnreachableError(f"the store shows {odd[0]!r} as one level of {start!r}")
        named = tuple(dict.fromkeys(each[:-1] for each in folders if each != "/"))
        return Folder(named, tuple(objects), has_nameless="/" in folders)

    def nameless(self, prefix: str) -> Iterator[pa.RecordBatch]:
        """Yield what is below a nameless folder; see ``Storage``."""
        for page in all_pages(self, PageRequest(f"{self._prefix(prefix)}/")):
            yield page.rows

    def all_folders(self) -> Callable[[str], Folder] | None:
        """Return what ``folder`` does, from one page; see ``Storage``."""
        if self._is_large:
            return None
        with self.translated("list"):
            page = self.page(PageRequest(self.root))
        objects = stored_objects(page.rows)
        self._is_large = bool(page.token or page.rows["size"].null_count)
        if self._is_large:
            return None
        levels = _levels_of(objects)
        return lambda prefix: levels.get(prefix, Folder((), ()))

    def later_folders(self, prefix: str, after: str) -> list[str]:
        """Return the last sub-folders of a folder, without its beginning; see ``Storage``.

        It is one request, unless very many objects follow.
        """
        if not self.is_ordered:
            return super().later_folders(prefix, after)
        above, _, name = prefix.rpartition("/")
        start = f"{above}/{name}" if above else name
        within = KeyRange(f"{start}/{after}", f"{start}/{_LAST}")
        found: set[str] = set()
        for rows in range_rows(self, within):
            for key in rows["key"].to_pylist():
                folder, slash, _ = key[len(start) + 1 :].partition("/")
                found.update([folder] if slash else [])
        return sorted(found)

    def avoid_listing(self) -> None:
        """Look no facts up in a listing; see ``Storage``."""
        self._may_list = False

    def heads(self, keys: Sequence[ObjectKey]) -> list[HeadResult]:
        """Return for each key the facts, ``None`` if absent, or the error; raises for a bucket."""
        found: dict[ObjectKey, HeadResult] = {}
        plain = [key for key in keys if key and not _ODD.search(key)]
        if len(plain) >= _FEWEST and self._may_list and self.is_ordered:
            found.update(self._listed(sorted(plain)))
        left = [key for key in keys if key not in found]
        asked = each(self.facts_of, left)
        if None in asked:
            self.check_bucket(left[asked.index(None)])
        found.update(zip(left, asked, strict=True))
        return [found[key] for key in keys]

    def stat(self, keys: Sequence[ObjectKey]) -> list[StoredObject | None]:
        """Return the fresh facts of each key; see ``Storage``."""
        found = self.heads(keys)
        for key, fact in zip(keys, found, strict=True):
            if isinstance(fact, Exception):
                raise self.explained(f"stat {key!r} in", fact) from fact
        return [fact if isinstance(fact, StoredObject) else None for fact in found]

    def check_bucket(self, key: str = "") -> list[str]:
        """List one name, as a policy may allow no more; return it, or none.

        Raises:
            StorageUnreachableError: It cannot be listed.
        """
        with self.translated("list"):
            found: list[str] = (
                self.page(PageRequest(self.root + key, most=1)).rows["key"].to_pylist()
            )
            return found

    def part(self, key: ObjectKey, *, start: int, size: int) -> bytes | None:
        """Return some bytes of an object; see ``Storage``."""
        if size < 1:
            return b""
        if self.unnameable.search(key):
            raise StorageUnreachableError(f"{key!r} cannot be named in a request")
        try:
            return self.get(self.root + key, start=start, size=size)
        except RequestError as err:
            if err.is_forbidden and self._shown(key) is None:
                return None  # a store refuses what is absent to those who may not read
            if not err.is_absent:
                raise self.explained(f"read {key!r} in", err) from err
            if key in self.check_bucket(key):  # a cache, or a copy that lags behind
                raise StorageUnreachableError(
                    f"{key!r} is listed, and a request for it finds nothing"
                ) from err
            return None

    def now(self) -> StoreTime:
        """Return the store's time by an answer of the last second; see ``Storage``."""
        if self.dated is None or not self.dated.is_fresh:
            self.check_bucket()
        return store_time(self.dated)

    def facts_of(self, key: ObjectKey) -> HeadResult:
        """Return the facts, ``None`` if absent, or the error.

        A listing shows them to those who may not read the object.
        """
        if self.unnameable.search(key):
            return self._shown(key)
        if self._is_head_refused and not isinstance(shown := self._shown(key), Exception):
            return shown
        try:
            return self.head(self.root + key)
        except RequestError as err:
            shown = self._shown(key) if err.is_forbidden else err
            self._is_head_refused = not isinstance(shown, Exception)
            return err if isinstance(shown, Exception) else shown

    def _shown(self, key: ObjectKey) -> HeadResult:
        """Return the facts of an object by a listing, ``None`` if no name starts with it."""
        try:
            page = self.page(PageRequest(self.root + key, most=1))
        except RequestError as err:
            return err
        for found in stored_objects(page.rows):
            if found.key == key:
                return found
        if page.rows.num_rows or page.token or not page.is_counted:
            return StorageUnreachableError(f"a listing does not tell whether there is {key!r}")
        return None

    def _listed(self, wanted: list[ObjectKey]) -> dict[ObjectKey, StoredObject | None]:
        """Return facts by listing, until its pages hold too few wanted keys."""
        listed: list[StoredObject] = []
        covered, value_set = 0, pa.array(wanted, pa.string())
        within = KeyRange(wanted[0][:-1], wanted[-1])
        try:
            for number, page in enumerate(range_rows(self, within), start=1):
                listed += stored_objects(page.filter(pc.is_in(page["key"], value_set=value_set)))
                covered = bisect_right(wanted, page["key"][-1].as_py())
                if covered < number * _KEYS_A_PAGE:
                    break
            else:
                covered = len(wanted)
        except StorageUnreachableError as err:
            _log.warning("heads.listing_failed", reason=str(err))
        found: dict[ObjectKey, StoredObject | None] = dict.fromkeys(wanted[:covered])
        found.update((each.key, each) for each in listed)
        return found

    def delete(self, objects: Sequence[StoredObject]) -> list[DeletionResult]:
        """Delete each object that still is the same; see ``Storage``.

        The identity is a condition of each deletion; all facts are compared before, as some stores
        ignore it.
        """
        if len(objects) > self.batch_size:
            raise ValueError(f"{len(objects)} keys are more than a batch of {self.batch_size}")
        results: dict[ObjectKey, DeletionResult] = {}
        same = self._still_the_same(objects, results)
        wanted = [(self.root + judged.key, judged.etag or "") for judged in same]
        try:
            with self.translated("delete in"):
                answers = self.send_deletions(wanted) if wanted else []
        except StorageUnreachableError as err:
            if isinstance(err.__cause__, ConditionsRefusedError):
                return self.delete(objects)  # after another look, which is all that is left
            raise
        self._check_access(answers)
        for judged, answer in zip(same, answers, strict=True):
            results[judged.key] = result_of(judged.key, answer)
        return [results[judged.key] for judged in objects]

    @cached_property
    def is_versioned(self) -> bool:
        """Return whether a deletion can be undone; see ``Storage``."""
        with self.translated("open"):
            return self.keeps_versions()

    def undelete(
        self, markers: Sequence[tuple[ObjectKey, str]], *, is_dry: bool = False
    ) -> list[DeletionResult]:
        """Restore exactly the objects that had these identities; see ``Storage``."""
        for key, _ in markers[:1]:
            self.check_bucket(key)  # one error of the store, not one for each object
        return each(partial(self._undelete, is_dry=is_dry), markers)

    def _undelete(self, marker: tuple[ObjectKey, str], *, is_dry: bool) -> DeletionResult:
        key, identity = marker
        try:
            if self._is_present(key):
                return DeletionResult(key=key, status=DeletionStatus.GONE)
            restore = self.restorable(self.root + key, identity)
            if restore is None:
                return _failed(key, f"the store has kept no deleted version {identity}")
            if not is_dry:
                restore()
                if not self._is_present(key):
                    return _failed(key, "it was restored and is still absent")
        except (RequestError, StorageUnreachableError) as err:
            return _failed(key, err)
        return DeletionResult(key=key, status=DeletionStatus.DELETED)

    def _is_present(self, key: ObjectKey) -> bool:
        found = self.facts_of(key)
        if isinstance(found, Exception):
            raise found
        return found is not None

    def buckets(self) -> tuple[str, ...] | None:
        """Return the buckets of the account; see ``Storage``."""
        try:
            return self.account_buckets()
        except RequestError as err:
            if not (err.is_forbidden or err.status in UNSUPPORTED):
                raise self.explained("list the buckets beside", err) from err
            said = f"{self.buckets_right} is not allowed ({one_line(err)})"
            raise NotReportedError(said, is_forbidden=True) from err

    def _still_the_same(
        self, objects: Sequence[StoredObject], results: dict[ObjectKey, DeletionResult]
    ) -> list[StoredObject]:
        """Return the objects that are unchanged; record the results of all others."""
        for key in (judged.key for judged in objects):
            if _NO_TEXT.search(key) or self.unnameable.search(key):
                results[key] = _failed(key, "the key cannot be named in a request")
        asked = [judged for judged in objects if judged.key not in results]
        facts = self.heads([judged.key for judged in asked])
        if facts and all(isinstance(fact, Exception) and not _is_throttled(fact) for fact in facts):
            self.check_bucket()
        same = []
        for judged, fact in zip(asked, facts, strict=True):
            if isinstance(fact, StoredObject) and fact.is_same_as(judged) and judged.etag:
                same.append(judged)
            else:
                results[judged.key] = _unfit(judged.key, fact)
        return same

    def _check_access(self, answers: Sequence[str | RequestError | None]) -> None:
        """Raise if nothing was deleted because the bucket is absent or refuses everything."""
        if answers and all(
            isinstance(each, RequestError) and each.deletion_status in _NOTHING_DONE
            for each in answers
        ):
            self.check_bucket()

    def _prefix(self, folder: str) -> str:
        return f"{self.root}{folder}/" if folder else self.root


def _unfit(key: ObjectKey, fact: HeadResult) -> DeletionResult:
    if fact is None:
        return DeletionResult(key=key, status=DeletionStatus.GONE)
    if isinstance(fact, StoredObject):
        return DeletionResult(key=key, status=DeletionStatus.CHANGED)
    status = DeletionStatus.REFUSED if _is_throttled(fact) else DeletionStatus.FAILED
    return DeletionResult(key=key, status=status, error=one_line(fact))


def _is_throttled(fact: Exception) -> bool:
    return isinstance(fact, RequestError) and fact.deletion_status is DeletionStatus.REFUSED


def _failed(key: ObjectKey, error: object) -> DeletionResult:
    return DeletionResult(key=key, status=DeletionStatus.FAILED, error=one_line(error))


@dataclass(slots=True)
class _Level:
    folders: dict[str, None] = field(default_factory=dict)
    objects: list[StoredObject] = field(default_factory=list)

    @property
    def folder(self) -> Folder:
        named = tuple(name for name in self.folders if name)
        return Folder(named, tuple(self.objects), has_nameless="" in self.folders)


def _levels_of(objects: Sequence[StoredObject]) -> Mapping[str, Folder]:
    """Return every folder of one page of a listing by its key, as ``Storage.folder`` returns them.

    What is in a nameless folder is left out, as no key names such a folder.
    """
    levels: dict[tuple[str, ...], _Level] = {(): _Level()}
    for stored in objects:
        *parts, name = stored.key.split("/")
        for depth, part in enumerate(parts):
            levels.setdefault((*parts[:depth],), _Level()).folders[part] = None
        level = levels.setdefault((*parts,), _Level())
        if name:
            level.objects.append(stored)
    return {"/".join(parts): level.folder for parts, level in levels.items() if "" not in parts}
