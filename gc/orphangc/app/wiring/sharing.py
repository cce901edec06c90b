"""What the storage roots of one configuration file read for each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from flinkstate.places.locations import Location
from orphangc.adapters.rows.earlier_storage import EarlierStorage
from orphangc.adapters.rows.spool import ArrowSpool
from orphangc.app.wiring.clock import now
from orphangc.collect.listing.shared_listings import SharedListings
from orphangc.collect.observe.shared_checkpoints import SharedCheckpoints
from orphangc.core.model.settings import StorageRootSettings
from orphangc.errors import SettingsError
from orphangc.ports import EarlierListing, Storage


def shared_checkpoints() -> SharedCheckpoints:
    """Return room for the checkpoints of one pass over a configuration file; none is read yet."""
    return SharedCheckpoints(now)


@dataclass(frozen=True, slots=True)
class PassSharing:
    """What the runs of one pass share: a sweep never rests on what its plan was made from."""

    plans: SharedCheckpoints = field(default_factory=shared_checkpoints)
    sweeps: SharedCheckpoints = field(default_factory=shared_checkpoints)


@contextmanager
def shared_in_pass(roots: Iterable[StorageRootSettings], plans: Path) -> Iterator[PassSharing]:
    """Yield what the runs of some storage roots share, one after the other."""
    with ExitStack() as stack:

        def new_spool() -> ArrowSpool:
            try:
                plans.mkdir(parents=True, exist_ok=True)
            except OSError as err:
                raise SettingsError(f"{plans} cannot be written: {err.strerror}") from err
            return stack.enter_context(ArrowSpool(above=plans))

        listings = SharedListings(roots=[each.location for each in roots], new_spool=new_spool)
        yield PassSharing(plans=SharedCheckpoints(now, listings=listings))


def listed_in_pass(
    shared: SharedCheckpoints | None, root: Location
) -> Callable[[Storage], Storage] | None:
    """Return what gives a storage root the listing of an earlier one's search.

    ``None`` if there is none, or it is too old.
    """
    kept = None if shared is None else shared.listings.listing_of(root, now())
    if kept is None:
        return None
    earlier = EarlierListing(source=f"the search of {kept.place}", begun_at=kept.begun_at)
    return partial(EarlierStorage, earlier=earlier, rows=partial(kept.rows, root))
