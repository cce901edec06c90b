"""A discovery as the JSON document of the contract."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from orphangc.core.discovery.discovered_facts import (
    SEARCHED_USES,
    DirectoryUse,
    Discovery,
    Origin,
    ResourceFacts,
)
from orphangc.core.discovery.remembered_facts import LostStatement, Succession, lineages
from orphangc.core.model.redaction import redacted


def discovery_document(
    discovery: Discovery, *, lost: Iterable[LostStatement] = (), over: Iterable[Succession] = ()
) -> dict[str, Any]:
    """Return every fact with its source, in ``from``: kind, namespace, name, field.

    Args:
        discovery: Facts of this cycle and earlier ones; ``present`` is false for earlier ones.
        lost: What earlier cycles read and nothing states now.
        over: Jobs that are over by their successors.

    """
    resources = discovery.resources
    successors = {each.job_id: each.successor for each in over}
    unclear = [each for one in resources for each in one.unclear]
    return {
        "storage_roots": _directories(resources, {DirectoryUse.CHECKPOINTS}),
        "extra_roots": _directories(resources, set(DirectoryUse) - {DirectoryUse.CHECKPOINTS}),
        "clusters": [
            {
                "uri": redacted(each.uri),
                "asked": each.is_asked and one.is_present,
                "from": _from(each.origin),
            }
            for one in resources
            for each in one.clusters
        ],
        "ha": [
            {
                "type": each.type,
                "where": each.where,
                "cluster_id": each.cluster_id,
                "from": _from(each.origin),
            }
            for one in resources
            for each in one.ha
        ],
        "pins": [
            {"uri": each.uri, "present": one.is_present, "from": _from(each.origin)}
            for one in resources
            for each in one.pins
        ],
        "jobs": [
            {
                "job_id": each.job_id,
                "name": each.name,
                "state": each.state,
                "present": each.is_present and one.is_present,
                "followed_by": successors.get(each.job_id),
                "from": _from(each.origin),
            }
            for one in resources
            for each in one.jobs
        ],
        "not_understood": [
            {
                "why": each.why,
                "blocks": ["everything"]
                if each.is_everywhere
                else [redacted(place) for place in each.reach],
                "present": each.is_present,
                "statement": each.statement,
                "from": _from(each.origin),
            }
            for each in (*discovery.unclear, *unclear)
        ],
        "lineage": [
            {"job_id": each.successor, "continues": each.job_id, "from": _from(each.origin)}
            for each in lineages(discovery)
        ],
        "lost": [{"what": each.what, "from": _from(each.origin)} for each in lost],
    }


def _directories(
    resources: Sequence[ResourceFacts], uses: set[DirectoryUse]
) -> list[dict[str, Any]]:
    return [
        {
            "uri": each.uri,
            "use": each.use.value,
            "searched": each.use in SEARCHED_USES,
            "present": one.is_present,
            "from": _from(each.origin),
        }
        for one in resources
        for each in one.directories
        if each.use in uses
    ]


def _from(origin: Origin) -> dict[str, str]:
    return origin.model_dump()
