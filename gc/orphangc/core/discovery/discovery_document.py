"""A discovery as the JSON document of the contract."""

from collections.abc import Iterable
from typing import Any

from flinkstate.text.redaction import redacted
from orphangc.core.discovery.discovered_facts import (
    SEARCHED_USES,
    DirectoryUse,
    DiscoveredFact,
    Discovery,
    UnclearFact,
)
from orphangc.core.discovery.remembered_facts import Succession


def discovery_document(
    discovery: Discovery, *, unclear: Iterable[UnclearFact] = (), over: Iterable[Succession] = ()
) -> dict[str, Any]:
    """Return every fact with its source, in ``from``: kind, namespace, name, field."""
    resources = discovery.resources
    successors = {each.job_id: each.successor for each in over}
    directories = [each for one in resources for each in one.directories]
    return {
        "storage_roots": [
            _entry(each, use=each.use.value, searched=True)
            for each in directories
            if each.use is DirectoryUse.CHECKPOINTS
        ],
        "extra_roots": [
            _entry(each, use=each.use.value, searched=each.use in SEARCHED_USES)
            for each in directories
            if each.use is not DirectoryUse.CHECKPOINTS
        ],
        "clusters": [
            {
                "uri": redacted(each.uri),
                "asked": each.is_asked and one.is_present,
                "from": each.origin.model_dump(),
            }
            for one in resources
            for each in one.clusters
        ],
        "ha": [_entry(each) for one in resources for each in one.ha],
        "pins": [_entry(each) for one in resources for each in one.pins],
        "jobs": [
            _entry(each, followed_by=successors.get(each.job_id))
            for one in resources
            for each in one.jobs
        ],
        "not_understood": [_entry(each, blocks=["everything"], what=each.word) for each in unclear],
        "unnamed": [
            {"name": each.resource, "from": each.model_dump()} for each in discovery.unnamed
        ],
    }


_INSIDE = {"origin", "digest", "is_present", "is_fixed", "uid"}


def _entry(fact: DiscoveredFact, **more: Any) -> dict[str, Any]:
    shown = fact.model_dump(mode="json", exclude=_INSIDE)
    present = getattr(fact, "is_present", True)
    return {**shown, **more, "present": present, "from": fact.origin.model_dump()}
