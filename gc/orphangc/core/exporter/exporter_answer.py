"""What the exporter of one job answered in one cycle, and why it may not be relied upon (R14, R15).

E1 is read before the listing: it gives the oldest retained id and the issued ones, which only
exclude, so they must be old. Then a nonce is written, and E2 is the snapshot that repeats it: its
entries only protect, so they must be newer than the listing.

Two JobManagers that export one job and lived at once are two owners. An exporter writes
``<epoch>.began`` once, and ``<epoch>.alive`` again and again, before its first snapshot and however
slow its snapshots are. Only the store's times of these files count, so no two clocks are compared.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from flinkstate.places.locations import Location
from orphangc.core.exporter.registry_snapshot import (
    RegistrySnapshot,
    cycle_problem,
    identity_problem,
    order_problem,
)
from orphangc.core.model.types import JobId

REGISTRY_MAX_AGE = timedelta(hours=1)
"""A snapshot of a running job that is older was written by an exporter that has stopped (R15)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was read in the folder that the exporter of one job writes into.

    Attributes:
        baseline: Newest snapshot before the listing (E1), if there was one.
        response: Snapshot that repeats the nonce (E2); if none did, the newest that was seen, or
            the first that cannot follow E1.
        rival: The epoch of a JobManager that exports at the same time as E1's, as no successor
            does.
        successor: The epoch of a JobManager that began after E1's had given its last sign.
        nonce: Nonce that was written after the listing; "" if none was.
        asked_at: The store's time when the nonce was written first.
        contradiction: Reason why the snapshots cannot show the job's registry, by the checkpoints
            that were read.
        names: Names of all snapshots that the cycle has seen.
    """

    job_id: JobId
    baseline: RegistrySnapshot | None = None
    response: RegistrySnapshot | None = None
    unread: str | None = None
    rival: str | None = None
    successor: str | None = None
    nonce: str = ""
    unwritten: str | None = None
    waited: timedelta = timedelta(0)
    asked_at: datetime | None = None
    heard_at: datetime | None = None
    directories: frozenset[Location] = frozenset()
    contradiction: str | None = None
    names: frozenset[str] = frozenset()

    @property
    def snapshots(self) -> tuple[RegistrySnapshot, ...]:
        """Return what was read, in the order of reading."""
        if self.baseline is None or self.response is None or self.baseline == self.response:
            return tuple(each for each in (self.baseline or self.response,) if each is not None)
        return (self.baseline, self.response)

    @property
    def has_gone_on(self) -> bool:
        """Return whether the exporter wrote something during the handshake."""
        return self.response is not None and self.response != self.baseline


def exported_problem(exported: Exported, *, now: datetime, clock_skew: timedelta) -> str | None:
    """Return why nothing is known of a living job's registry, ``None`` if it is (R15).

    That no nonce could be written is no problem here: the order is unproven then, and the plan
    a report.
    """
    if exported.unread is not None:
        return f"the newest registry snapshot cannot be read: {exported.unread}"
    baseline = exported.baseline
    if baseline is None:
        return "its exporter has written no registry snapshot yet"
    response = exported.response or baseline
    return (
        _first_problem(
            baseline, now=now, read_by=max(now, exported.asked_at or now), clock_skew=clock_skew
        )
        or _rival_problem(exported, baseline)
        or identity_problem(baseline, response)
        or _successor_problem(exported, baseline)
        or (order_problem(baseline, response) if exported.has_gone_on else None)
        or _echo_problem(exported, response)
        or _clock_problem(exported, response, clock_skew)
        or exported.contradiction
    )


def order_unproven(exported: Exported) -> str | None:
    """Return why E2 may miss what the listing saw, ``None`` if it cannot (R14)."""
    if exported.unwritten is not None:
        return f"no nonce could be written, so no snapshot can repeat it: {exported.unwritten}"
    if exported.baseline is None or exported.response is None or not exported.nonce:
        return "its exporter was not asked to repeat a nonce"
    return cycle_problem(exported.baseline, exported.response, nonce=exported.nonce)


def _first_problem(
    baseline: RegistrySnapshot, *, now: datetime, read_by: datetime, clock_skew: timedelta
) -> str | None:
    """E1 may be written after the cycle began, but not after it was read."""
    age = now - baseline.taken_at
    taken = f"registry snapshot {baseline.sequence} of {baseline.taken_at.isoformat()}"
    if age > REGISTRY_MAX_AGE:
        return f"{taken} is older than {REGISTRY_MAX_AGE}: has the exporter stopped?"
    if baseline.taken_at - read_by > clock_skew:
        return f"{taken} is dated in the future: the JobManager's clock is ahead"
    return None


def _rival_problem(exported: Exported, baseline: RegistrySnapshot) -> str | None:
    if exported.rival is None:
        return None
    return (
        f"two JobManagers export its registry at once, epochs {baseline.jm_epoch} and"
        f" {exported.rival}: do two clusters run it, or is a JobManager that lost it not dead yet?"
    )


def _successor_problem(exported: Exported, baseline: RegistrySnapshot) -> str | None:
    """A JobManager that was killed says nothing; one that lost the job may go on for a while."""
    if exported.successor is None:
        return None
    return (
        f"its JobManager was replaced: epoch {exported.successor} began after the last sign of"
        f" epoch {baseline.jm_epoch}, and has written no registry snapshot yet. The job is judged"
        " again once it has; if that does not come, two clusters may run the job"
    )


def _echo_problem(exported: Exported, response: RegistrySnapshot) -> str | None:
    if exported.unwritten is not None or response.nonce == exported.nonce:
        return None
    if not exported.nonce:
        return "its exporter was not asked to repeat a nonce"
    seconds = f"{exported.waited.total_seconds():.0f} s"
    return (
        f"no registry snapshot repeated the nonce within {seconds}: is the JobManager dead, its"
        " exporter off, or registry_wait too short?"
    )


def _clock_problem(
    exported: Exported, response: RegistrySnapshot, clock_skew: timedelta
) -> str | None:
    """E2 was taken between the nonce and its echo, which bounds the difference of the clocks."""
    if exported.unwritten is not None:
        return None
    taken = f"registry snapshot {response.sequence} is dated {response.taken_at.isoformat()}"
    asked, heard = exported.asked_at, exported.heard_at
    if asked is not None and response.taken_at < asked - clock_skew:
        return f"{taken}, long before the nonce that it repeats: the JobManager's clock is behind"
    if heard is not None and response.taken_at > heard + clock_skew:
        return f"{taken}, in the future: the JobManager's clock is ahead"
    return None


_NAME = re.compile(r"([A-Za-z0-9-]{1,64})\.(began|alive)", re.ASCII)


def living_rival(
    markers: Mapping[str, datetime | None], epoch: str, *, now: datetime
) -> str | None:
    """Return the epoch of another JobManager that exported beside one, ``None`` if none did.

    A JobManager that was followed by another has written its last marker before the other's first.
    One whose last marker is older than an hour is dead, whatever was before.

    Args:
        markers: Store times of the files in the job's ``owners/``, by name.

    Source: ``deploy/flink-plugin``, ``OwnerMarkers``.
    """
    times = {name: at for name, at in markers.items() if _NAME.fullmatch(name)}
    living = list(_living(times, epoch, times.get(f"{epoch}.began"), now))
    return min(living, key=lambda each: has_followed(markers, epoch, each), default=None)


def has_followed(markers: Mapping[str, datetime | None], epoch: str, other: str) -> bool:
    """Return whether a JobManager began after another one's last marker: as a successor does.

    Args:
        markers: Store times of the files in the job's ``owners/``, by name.
        epoch: Epoch of the earlier JobManager.
        other: Epoch of the later one.
    """
    last = [markers.get(f"{epoch}.{ending}") for ending in ("alive", "began")]
    known = [at for at in last if at is not None]
    began = markers.get(f"{other}.began")
    return began is not None and bool(known) and max(known) < began


def _living(
    times: Mapping[str, datetime | None], epoch: str, began: datetime | None, now: datetime
) -> Iterator[str]:
    for other in sorted({name.rpartition(".")[0] for name in times} - {epoch}):
        shown = [times[name] for name in (f"{other}.alive", f"{other}.began") if name in times]
        known = [at for at in shown if at is not None]
        is_unknown = len(known) < len(shown)
        if is_unknown or (
            now - max(known) <= REGISTRY_MAX_AGE and (began is None or max(known) > began)
        ):
            yield other
