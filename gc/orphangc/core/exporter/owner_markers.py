"""Markers of the JobManagers that export one job: two that lived at once are two owners (R15).

An exporter writes ``<epoch>.began`` once, and ``<epoch>.alive`` again and again, before its first
snapshot and however slow its snapshots are. Only the store's times of these files count, so no two
clocks are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from orphangc.core.exporter.exporter_answer import REGISTRY_MAX_AGE

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
