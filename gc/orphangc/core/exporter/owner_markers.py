"""Markers of the JobManagers that export one job: two that lived at once are two owners (R15).

An exporter writes ``<epoch>.began`` once, and ``<epoch>.alive`` again and again, before its first
snapshot and however slow its snapshots are. Only the store's times of these files count, so no two
clocks are compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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
        epoch: Epoch of the JobManager whose snapshots are judged.
        now: The store's time.

    Source: ``deploy/flink-plugin``, ``OwnerMarkers``.

    """
    times = {name: at for name, at in markers.items() if _NAME.fullmatch(name)}
    began = times.get(f"{epoch}.began")
    for other in sorted({name.rpartition(".")[0] for name in times} - {epoch}):
        shown = [times[name] for name in (f"{other}.alive", f"{other}.began") if name in times]
        known = [at for at in shown if at is not None]
        if len(known) < len(shown):
            return other
        last = max(known)
        if now - last <= REGISTRY_MAX_AGE and (began is None or last > began):
            return other
    return None
